"""A reference to Flux's OCI artifact asks the registry or the releases only where the file does not decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from flux_upgrade.model.errors import ReleaseNotFound, SourceUnavailable, UntrustedArchive
from flux_upgrade.model.versions import Release
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.flux_manifests import pin as flux_manifests
from flux_upgrade.pins.flux_manifests.registry_contents import lets_through
from flux_upgrade.pins.pin import Pin, PinState
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.snapshot.file import File
from kind_cases import TAGS, ListedReleases
from memory import MemoryArtifacts, MemoryCharts, MemoryTree, NoFlux

NAME = "ghcr.io/fluxcd/flux-manifests"
STATED = {
    f"{NAME}:{tag}": {"digest": f"sha256:{number:064}", "revision": f"{tag}@sha1:0"} for number, tag in enumerate(TAGS)
}


class UnreachableReleases(ListedReleases):
    """Releases of which neither the list nor, with few exceptions, the published manifests can be reached."""

    def __init__(self, error: Exception, published: Mapping[str, str] = {}) -> None:
        super().__init__(TAGS, published)
        self.error = error
        self.asked: list[str] = []

    def list(self) -> tuple[Release, ...]:
        raise self.error

    def published(self, tag: str) -> str | None:
        self.asked.append(tag)
        text = super().published(tag)
        if text is None:
            raise self.error
        return text


def context_of(artifacts: MemoryArtifacts, releases: ListedReleases | None = None) -> PinContext:
    regenerator = Regenerator(releases or ListedReleases(TAGS, {}), NoFlux())
    return PinContext(MemoryTree({}), regenerator, artifacts, MemoryCharts())


def found(ref: str, context: PinContext) -> Pin:
    content = (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: flux}\n"
        f"spec:\n  url: oci://{NAME}\n  ref: {{{ref}}}\n"
    )
    (pin,) = flux_manifests.find([File("flux.yaml", content.encode())], context)
    return pin


@pytest.mark.parametrize(
    "ref", ["tag: v2.9.3", f"tag: v2.9.3, digest: 'sha256:{'0' * 64}'", "semver: 2.x", "semver: 2.9.3", "tag: latest"]
)
def test_nothing_is_asked_where_the_file_decides(ref: str) -> None:
    artifacts = MemoryArtifacts(STATED)
    assert found(ref, context_of(artifacts)).state is not PinState.UNKNOWN
    assert artifacts.asked == []


def test_a_digest_alone_is_asked_for() -> None:
    artifacts = MemoryArtifacts(STATED)
    pin = found(f"digest: '{STATED[f'{NAME}:v2.9.3']['digest']}'", context_of(artifacts))
    assert (pin.state, pin.version) == (PinState.EXACT, "v2.9.3")
    assert len(artifacts.asked) == 1


@pytest.mark.parametrize(
    "error", [SourceUnavailable("it is away", hint="wait"), UntrustedArchive("it is away", hint="wait")]
)
def test_a_range_whose_releases_cannot_be_listed(error: Exception) -> None:
    pin = found("semver: 2.x", context_of(MemoryArtifacts(STATED), UnreachableReleases(error)))
    assert (pin.state, pin.version) == (PinState.UNKNOWN, "")
    assert "it is away" in pin.reason
    assert pin.hint == "wait"


@pytest.mark.parametrize("error", [SourceUnavailable("it is away"), UntrustedArchive("it is away")])
def test_components_that_cannot_be_compared_do_not_stop_a_change(error: Exception) -> None:
    context = context_of(MemoryArtifacts(STATED), UnreachableReleases(error))
    change = flux_manifests.change(found("tag: v2.8.0", context), "v2.9.4", context)
    (remark,) = change.remarks
    assert remark.startswith("As of v2.9.3, the artifact also contains source-watcher")
    change = flux_manifests.change(found("tag: v2.9.3", context), "v2.9.4", context)
    assert change.remarks == ()


def test_what_was_published_is_asked_for_once() -> None:
    header = "# Flux Version: x\n# Components: source-controller,kustomize-controller\n"
    releases = UnreachableReleases(SourceUnavailable("it is away"), {"v2.9.3": header, "v2.9.4": header})
    context = context_of(MemoryArtifacts(STATED), releases)
    for _ in range(2):
        assert flux_manifests.change(found("tag: v2.9.3", context), "v2.9.4", context).remarks == ()
    assert releases.asked == ["v2.9.3", "v2.9.4"]


@pytest.mark.parametrize("ref", ["tag: v2.9.3", "semver: 2.9.3"])
def test_a_folder_of_releases_speaks_for_an_artifact_that_cannot_be_asked(ref: str) -> None:
    context = replace(context_of(MemoryArtifacts(STATED, unreachable=[NAME])), is_offline=True)
    change = flux_manifests.change(found(ref, context), "v2.9.4", context)
    assert change.replacements
    assert change.remarks[0] == f"The registry is unreachable, so v2.9.4 in {NAME} was not checked."


def test_a_folder_of_releases_knows_no_digest() -> None:
    context = replace(context_of(MemoryArtifacts(STATED, unreachable=[NAME])), is_offline=True)
    pin = found(f"tag: v2.9.3, digest: 'sha256:{'0' * 64}'", context)
    with pytest.raises(SourceUnavailable):
        flux_manifests.change(pin, "v2.9.4", context)


def test_what_is_reachable_is_asked_with_a_folder_of_releases_too() -> None:
    context = replace(context_of(MemoryArtifacts({})), is_offline=True)
    with pytest.raises(ReleaseNotFound):
        flux_manifests.change(found("tag: v2.9.3", context), "v2.9.4", context)


@pytest.mark.parametrize(
    ("pattern", "tag", "through"),
    [
        ("", "v2.9.4", True),
        ("^v2", "v2.9.4", True),
        (r"\.4$", "v2.9.4", True),
        ("-rc", "v2.9.4", False),
        ("(", "v2.9.4", False),
        (r"2\.(?=9)", "v2.9.4", False),  # Go's expressions have no lookaround
    ],
)
def test_a_filter(pattern: str, tag: str, through: bool) -> None:  # noqa: FBT001  (a row of a table)
    assert lets_through(pattern, tag) is through
