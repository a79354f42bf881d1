"""Flux v0: the message about it, wherever its version is written."""

from __future__ import annotations

import re

from flux_upgrade.model.versions import Version, is_tag

FIRST = Version("v2.0.0")
_OLDEST = Version("v0.16.0")
"""From this release on, v2.0.0 has each version that a CRD stores, the image controllers' included."""
UPGRADE = "https://fluxcd.io/flux/installation/upgrade/"
# Flux v2.0.0 release notes: v1 of GitRepository, Kustomization and Receiver alone.
HELM = "Leave HelmRepository at v1beta2: v2.0.0 does not serve v1 of it"
_HELM = f"{HELM[0].lower()}{HELM[1:]}"
BY_CLI = f"upgrade to v2.0.0 with the Flux CLI first ({UPGRADE}), and {_HELM}"
IN_FILE = f"set v2.0.0 in the file first ({UPGRADE}), and {_HELM}"


def is_older(version: str) -> bool:
    """Return whether a version is of Flux v0; a development build may be of any."""
    return re.match(r"v?0\.", version) is not None and re.match(r"v?0\.0\.0-", version) is None


def leads_to_first(version: str) -> bool:
    """Return whether the API server takes the CRDs of v2.0.0 in the place of a release's."""
    return is_tag(version) and is_older(version) and Version(version) >= _OLDEST


def older(version: str) -> str:
    return f"Flux {version} is older than v2.0.0"
