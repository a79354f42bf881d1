"""HelmReleases that a release concerns."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.breaks.row import Found
from flux_upgrade.resources.flux_file import FluxObject

_ACTIONS = ("install", "upgrade")
_TRUE = ("true", "yes", "on")
_DROPPED = ("patchesStrategicMerge", "patchesJson6902")


def post_rendered(release: FluxObject) -> Iterator[Found]:
    """Those that post-render."""
    if release.count("spec", "postRenderers"):
        yield Found(release.key_line_at("spec", "postRenderers"))


def waiting(release: FluxObject) -> Iterator[Found]:
    """Those that wait for what they install, as all do unless told otherwise."""
    off = (release.text_at("spec", action, "disableWait").lower() in _TRUE for action in _ACTIONS)
    if not all(off):
        yield from any_release(release)


def any_release(release: FluxObject) -> Iterator[Found]:
    """All of them."""
    if release.keys("spec"):
        yield Found(release.line_at("spec"))


def dropped_fields(resource: FluxObject) -> Iterator[Found]:
    """Fields that are read no longer; of a HelmRelease, or of a HelmChart."""
    chart = ("spec",) if resource.kind == "HelmChart" else ("spec", "chart", "spec")
    file = resource.text_at(*chart, "valuesFile")
    if file:
        # It was merged before the others, and is the first of them now.
        others = (resource.text_at(*chart, "valuesFiles", at) for at in range(_files(resource, *chart)))
        line = resource.key_line_at(*chart, "valuesFile")
        yield Found(line, f"valuesFiles: [{', '.join((file, *others))}]")
    for at in range(resource.count("spec", "postRenderers")):
        for name in _DROPPED:
            path = ("spec", "postRenderers", at, "kustomize", name)
            if resource.count(*path):
                yield Found(resource.key_line_at(*path))


def _files(resource: FluxObject, *chart: str) -> int:
    return resource.count(*chart, "valuesFiles")
