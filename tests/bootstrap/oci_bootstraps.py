"""Bootstraps from a registry in memory, with written releases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from flux_upgrade.bootstrap.components import RenderedComponents
from flux_upgrade.bootstrap.oci_plan import OciOutcome, OciPlan, plan_oci, push_oci
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, OciOptions, Provider
from flux_upgrade.manifests.options import InstallOptions
from memory import regenerator
from memory_registry import MemoryRegistry
from promotion.promoting import ports

URL = "oci://registry.example.com/org/flux:production"
CLUSTER = "oci://registry.example.com/org/fleet:production"
TAG = "production"
FILE = "flux-system/gotk-components.yaml"


@cache
def components() -> RenderedComponents:
    """Of the written releases."""
    return RenderedComponents(regenerator())


def options(version: str = "", oci: OciOptions | None = None, **flags: Any) -> BootstrapOptions:
    """``flags``: of ``flux install``."""
    install = InstallOptions(version)._replace(**flags)
    named = oci or OciOptions(URL, CLUSTER, "clusters/production")
    return BootstrapOptions(Provider.GIT, Auth.TOKEN, install, oci=named)


class Site:
    """The two repositories of a cluster, and who bootstraps it."""

    def __init__(self) -> None:
        self.flux, self.fleet = MemoryRegistry(), MemoryRegistry()

    def plan(self, asked: BootstrapOptions | None = None, kustomization: Mapping[str, bytes] | None = None) -> OciPlan:
        return plan_oci(asked or options(), kustomization, components(), ports(self.flux), self.fleet)

    def run(
        self, asked: BootstrapOptions | None = None, kustomization: Mapping[str, bytes] | None = None
    ) -> OciOutcome:
        """One bootstrap."""
        self.flux.calls.clear()
        self.fleet.calls.clear()
        return push_oci(self.plan(asked, kustomization), ports(self.flux), self.fleet)

    @property
    def writes(self) -> list[str]:
        """Since the last run began."""
        return [call for call in (*self.fleet.calls, *self.flux.calls) if call.startswith("put_")]
