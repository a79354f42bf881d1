"""The sync of a cluster with this repository: its interval, and whether it goes through artifacts."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from datetime import timedelta

from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.model.go_durations import nanoseconds
from flux_upgrade.pins.pin import Role
from flux_upgrade.policy.ring_facts import Sync
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot

_SYNC = "gotk-sync.yaml"  # As `flux bootstrap` names it
_GIT, _OCI = "GitRepository", "OCIRepository"
_GATE = b"DisableCommitStatusEvent=true"
"""Source: fluxcd/kustomize-controller #1755 and #1756."""
_DEFAULT = "1m"
"""Interval of a FluxInstance's sync: https://fluxoperator.dev/docs/crd/fluxinstance/#sync-configuration."""


def sync_of(cluster: Cluster, tree: Snapshot) -> Sync:
    """Return what the cluster's `gotk-sync.yaml`, or its FluxInstance, says. ``tree``: the whole repository.

    If it has both, the cluster follows Git, of which Flux reports every commit.
    """
    paths = (member.path for member in cluster.members if member.pin.role is Role.INSTALLS)
    syncs = [sync for path in paths for sync in _syncs(path, tree)]
    intervals = [interval for _, interval in syncs if interval is not None]
    kinds = {kind for kind, _ in syncs}
    is_oci = _OCI in kinds and _GIT not in kinds
    return Sync(max(intervals, default=None), is_oci=is_oci, lacks_successes=_lacks_successes(cluster, tree))


def _lacks_successes(cluster: Cluster, tree: Snapshot) -> bool:
    """Whether a file next to the installation, or below, sets the feature gate: a patch of the controller."""
    directories = {posixpath.dirname(member.path) for member in cluster.members if member.pin.role is Role.INSTALLS}
    paths = (path for directory in directories for path in tree.candidates(directory))
    # Below the root of the repository are all of its files.
    files = (tree.at(path) for path in paths if "" not in directories or "/" not in path)
    return any(file is not None and _GATE in file.content for file in files)


def _syncs(path: str, tree: Snapshot) -> Iterator[tuple[str, timedelta | None]]:
    """Yield the kind and the interval of each object of a sync."""
    instance, sync = tree.at(path), tree.at(posixpath.join(posixpath.dirname(path), _SYNC))
    if instance is not None and b"FluxInstance" in instance.content:
        yield from _of_instance(instance)
    for item in sync.readable if sync is not None else ():
        yield item.text_at("kind"), _duration(item.text_at("spec", "interval"))


def _of_instance(file: File) -> Iterator[tuple[str, timedelta | None]]:
    for item in file.readable:
        if item.text_at("kind") == "FluxInstance" and item.has("spec", "sync"):
            yield item.text_at("spec", "sync", "kind"), _duration(item.text_at("spec", "sync", "interval") or _DEFAULT)


def _duration(text: str) -> timedelta | None:
    length = nanoseconds(text)
    return None if length is None else timedelta(microseconds=length // 1000)
