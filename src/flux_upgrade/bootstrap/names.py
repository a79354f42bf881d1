"""What things are called that a bootstrap makes outside the tree: deploy keys, secrets."""

from __future__ import annotations

import re

from flux_upgrade.bootstrap.options import BootstrapOptions

_SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = "GITHUB_"
_MOST = 255
"""Characters of a secret's name (docs.github.com, "Naming your secrets")."""


def deploy_key_title(options: BootstrapOptions) -> str:
    """By this the next run finds the key, and so does ``flux bootstrap``.

    Source: fluxcd/flux2 ``pkg/bootstrap/bootstrap_provider.go``.
    """
    # --path is there as the flag's own type prints it, or not at all.
    path = options.sync_path if options.path.strip() else ""
    return "-".join(filter(None, (options.namespace, options.branch, options.secret_name, path)))


def actions_secret_name(name: str, cluster: str = "") -> str:
    """The secret of GitHub Actions for one of several clusters: ``FLUX`` and ``eu-1`` make ``FLUX_EU_1``.

    GitHub keeps such names in upper case; without ``cluster`` it is ``name`` in upper case.
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", "_".join(filter(None, (name, cluster)))).upper()


def actions_secret_problem(name: str) -> str:
    """Why GitHub would not take a secret of that name; empty where it would."""
    if not _SECRET_NAME.fullmatch(name) or len(name) > _MOST:
        return f"'{name}' has to be letters, digits and '_', and must not begin with a digit"
    if name.upper().startswith(_RESERVED):
        return f"'{name}' must not begin with {_RESERVED}"
    return ""


def secret_file_name(path: str, cluster: str = "") -> str:
    """The file for one of several clusters in the folder ``path``; without ``cluster`` it is ``path``."""
    return f"{path.rstrip('/')}/{cluster}.yaml" if cluster else path
