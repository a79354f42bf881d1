"""What one cluster is bootstrapped with: Flux's flags, with Flux's names and defaults.

Source: fluxcd/flux2 ``cmd/flux/bootstrap.go`` and ``bootstrap_<provider>.go``.
"""

from __future__ import annotations

import posixpath
import re
from enum import StrEnum

from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.text import repository_path
from flux_upgrade.model.values import NamedTuple

# The files that `flux bootstrap` writes into the folder of a cluster.
COMPONENTS_FILE = "gotk-components.yaml"
SYNC_FILE = "gotk-sync.yaml"
KUSTOMIZATION_FILE = "kustomization.yaml"


class Provider(StrEnum):
    """The subcommands of ``flux bootstrap``."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    BITBUCKET_SERVER = "bitbucket-server"
    GIT = "git"


class Source(StrEnum):
    """What Flux reconciles the cluster from."""

    GIT = "git"
    OCI = "oci"


class Auth(StrEnum):
    """How Flux gets at its source."""

    SSH = "ssh"
    TOKEN = "token"  # noqa: S105 not one
    APP = "github-app"


class Team(NamedTuple):
    """``--team slug[:permission]`` of GitHub and GitLab, ``--group`` of Bitbucket Server."""

    slug: str
    permission: str = "maintain"


class OciOptions(NamedTuple):
    """The flags of the RFC for ``flux bootstrap oci``, less those that every bootstrap has."""

    url: str
    cluster_url: str = ""  # Of the artifact that holds the cluster's own manifests; empty: Flux alone is reconciled
    cluster_path: str = ""
    kustomization: str = ""
    """A ``kustomization.yaml`` for Flux, a file of the user's; empty: one that has the components alone."""
    provider: str = "generic"
    allow_insecure_http: bool = False


class BootstrapOptions(NamedTuple):
    """Everything that the files of one cluster follow from. Names are the flags' with ``_``."""

    provider: Provider
    auth: Auth
    install: InstallOptions
    url: str = ""  # As it stands in `gotk-sync.yaml`; made from the others where the provider has an owner
    owner: str = ""
    repository: str = ""
    hostname: str = ""
    branch: str = "main"
    path: str = ""  # As it was given; `sync_path` and `folder` are made from it
    interval: str = "1m0s"
    secret_name: str = "flux-system"  # noqa: S105 the name of one
    recurse_submodules: bool = False
    sparse_checkout: tuple[str, ...] = ()
    username: str = "git"
    ssh_hostname: str = ""
    allow_insecure_http: bool = False
    with_bearer_token: bool = False
    personal: bool = False
    visibility: str = "private"  # Of a repository that is created: `private`, `internal` or `public`
    teams: tuple[Team, ...] = ()
    read_write_key: bool = False
    reconcile: bool = False
    force: bool = False
    ca_file: str = ""
    private_key_file: str = ""
    author_name: str = "Flux"
    author_email: str = ""
    commit_message_appendix: str = ""
    registry_creds: str = ""  # `user:password` for `--image-pull-secret`; shown nowhere
    app_id: str = ""  # Of a GitHub App; with it, `auth` is `APP`. The flags of `flux create secret githubapp`.
    app_installation_id: str = ""
    app_installation_owner: str = ""
    app_base_url: str = ""
    oci: OciOptions | None = None
    is_latest: bool = False
    """``--version=latest``; ``version`` is empty until it is known which one that is. Where neither was
    given, what is there keeps its version."""

    def __repr__(self) -> str:
        return f"BootstrapOptions({self.provider}, {self.sync_path})"  # without what may hold a secret

    @property
    def source(self) -> Source:
        return Source.GIT if self.oci is None else Source.OCI

    @property
    def namespace(self) -> str:
        return self.install.namespace

    @property
    def sync_path(self) -> str:
        """``spec.path``: ``./clusters/staging``; ``./`` for the root of the repository."""
        return f"./{repository_path(self.path.strip())}"

    @property
    def folder(self) -> str:
        """Where the three files are, relative to the repository's root: ``clusters/staging/flux-system``."""
        return posixpath.join(self.sync_path.removeprefix("./"), self.namespace)


_SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = "GITHUB_"
_MOST = 255  # Characters of a secret's name (docs.github.com, "Naming your secrets")


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
        return f"'{name}' may only have letters, digits and '_', and must not begin with a digit"
    if name.upper().startswith(_RESERVED):
        return f"'{name}' must not begin with {_RESERVED}"
    return ""


def secret_file_name(path: str, cluster: str = "") -> str:
    """The file for one of several clusters in the folder ``path``; without ``cluster`` it is ``path``."""
    return f"{path.rstrip('/')}/{cluster}.yaml" if cluster else path
