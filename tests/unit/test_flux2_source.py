"""A range of flux2's own Git tags says nothing while the list of releases cannot be reached."""

from __future__ import annotations

from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.versions import Release
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.pin import PinState
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.pins.remote_base import pin as remote_base
from flux_upgrade.snapshot.file import File
from kind_cases import ListedReleases
from memory import MemoryArtifacts, MemoryCharts, MemoryTree, NoFlux

FILE = File(
    "flux.yaml",
    b"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux, namespace: flux-system}
spec:
  url: https://github.com/fluxcd/flux2
  ref: {semver: 2.x}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux, namespace: flux-system}
spec:
  path: ./manifests/install
  sourceRef: {kind: GitRepository, name: flux}
""",
)


class UnreachableReleases(ListedReleases):
    def __init__(self) -> None:
        super().__init__((), {})

    def list(self) -> tuple[Release, ...]:
        raise SourceUnavailable("the releases cannot be reached", hint="run again later")


def test_a_range_is_unknown_while_the_releases_cannot_be_reached() -> None:
    context = PinContext(
        MemoryTree({}), Regenerator(UnreachableReleases(), NoFlux()), MemoryArtifacts(), MemoryCharts()
    )

    (pin,) = remote_base.find([FILE], context)

    assert (pin.state, pin.version) == (PinState.UNKNOWN, "")
    assert (pin.reason, pin.hint) == ("the releases cannot be reached", "run again later")
