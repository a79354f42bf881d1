"""Flux v0: the message about it, wherever its version is written."""

from __future__ import annotations

FIRST = "v2.0.0"
UPGRADE = "https://fluxcd.io/flux/installation/upgrade/"
# Flux v2.0.0 release notes: v1 of GitRepository, Kustomization and Receiver alone.
HELM = "Leave HelmRepository at v1beta2: v2.0.0 does not serve v1 of it"
_HELM = f"{HELM[0].lower()}{HELM[1:]}"
BY_CLI = f"upgrade to v2.0.0 with the Flux CLI first ({UPGRADE}), and {_HELM}"
IN_FILE = f"set v2.0.0 in the file first ({UPGRADE}), and {_HELM}"


def older(version: str) -> str:
    return f"Flux {version} is older than v2.0.0"
