"""Kustomizations that take in a file, and what they make of an object that installs Flux."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from flux_upgrade.assessment.evidence import Evidence
from flux_upgrade.clusters.graph.builds import Build, PlacedItem
from flux_upgrade.clusters.graph.flux_objects import BuiltObject, kustomization_of
from flux_upgrade.kustomize.kustomization import Kustomization
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object

_UNCERTAIN = Unknown("a kustomization over the object cannot be built")


def overlays_of(path: str, tree: Snapshot) -> dict[str, Kustomization]:
    """Return the kustomizations that take in the file at ``path``, by their paths; the nearest come first."""
    waiting = {file.path: Kustomization(file.path, file.content, each, tree) for file, each in tree.kustomizations()}
    overlays: dict[str, Kustomization] = {}
    folder, name = posixpath.split(path)
    taken_in = {folder} if name in NAMES else {path}
    while above := {key: overlay for key, overlay in waiting.items() if any(map(overlay.leads_to, taken_in))}:
        overlays |= above
        taken_in = {overlay.folder for overlay in above.values()}
        waiting = {key: overlay for key, overlay in waiting.items() if key not in above}
    return overlays


def built_objects(path: str, written: Object, evidence: Evidence) -> Sequence[Mapping[str, Any] | Unknown]:
    """Return what is built of an object in the file at ``path``, once for each place where it is applied.

    Empty: the repository shows no other place than the file itself.
    """
    clusters = [reads for reads in evidence.graph.clusters if path in reads.files]
    known = [built for reads in clusters for built in reads.installing]
    key = path, written.text_at("kind"), written.text_at("metadata", "name")
    every = known if clusters else _without_a_root(path, evidence)
    same = [built for built in every if (built.path, built.kind, built.name) == key]
    return [built.data if built.is_certain else _UNCERTAIN for built in same]


def _without_a_root(path: str, evidence: Evidence) -> Iterator[BuiltObject]:
    """Yield the objects of a file that no known cluster reads, by all kustomizations that may build it."""
    overlays = overlays_of(path, evidence.tree)
    for overlay in overlays.values():
        if not any(other.leads_to(overlay.folder) for other in overlays.values()):
            yield from _installing(evidence.graph.builds.of(overlay.folder, {}))
    for _, written in evidence.tree.flux_kustomizations:
        with suppress(Unreadable):  # A template, or a value that Flux rejects
            data = written.data()
            applying = kustomization_of(data if isinstance(data, dict) else {})
            if applying is not None and path in evidence.graph.builds.of(applying.folder, {}).files:
                yield from _installing(evidence.graph.builds.of(applying.folder, applying.spec))


def _installing(build: Build) -> Iterator[BuiltObject]:
    for item in build.items:
        if isinstance(item, PlacedItem):
            with suppress(Unreadable):  # A step made something of it that is no object
                yield item.built(item.data)
