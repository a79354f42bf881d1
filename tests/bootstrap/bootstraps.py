"""Options of a bootstrap, for tests: one plain cluster, and what differs."""

from __future__ import annotations

from typing import Any

from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider
from flux_upgrade.manifests.options import InstallOptions


def options(version: str = "v2.9.4", /, **given: Any) -> BootstrapOptions:
    """Of ``ssh://git@github.com/example/fleet`` at ``clusters/staging``; ``install``: its own fields."""
    install = InstallOptions(version)._replace(**given.pop("install", {}))
    plain: dict[str, Any] = {
        "provider": Provider.GITHUB,
        "auth": Auth.SSH,
        "owner": "example",
        "repository": "fleet",
        "path": "clusters/staging",
    }
    return BootstrapOptions(install=install, **{**plain, **given})
