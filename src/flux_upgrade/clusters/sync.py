"""The sync of a cluster with this repository: its interval, and whether it goes through artifacts."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from datetime import timedelta

from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.model.go_durations import nanoseconds
from flux_upgrade.pins.pin import Role
from flux_upgrade.policy.rings import Sync
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot

_SYNC = "gotk-sync.yaml"  # As `flux bootstrap` names it
_OCI = "OCIRepository"
_DEFAULT = "1m"
"""Interval of a FluxInstance's sync: https://fluxoperator.dev/docs/crd/fluxinstance/#sync-configuration."""


def sync_of(cluster: Cluster, tree: Snapshot) -> Sync:
    """Return what the cluster's `gotk-sync.yaml`, or its FluxInstance, says. ``tree``: the whole repository."""
    paths = (member.path for member in cluster.members if member.pin.role is Role.INSTALLS)
    syncs = [sync for path in paths for sync in _syncs(path, tree)]
    intervals = [sync.interval for sync in syncs if sync.interval is not None]
    return Sync(max(intervals, default=None), any(sync.is_oci for sync in syncs))


def _syncs(path: str, tree: Snapshot) -> Iterator[Sync]:
    instance, sync = tree.at(path), tree.at(posixpath.join(posixpath.dirname(path), _SYNC))
    if instance is not None and b"FluxInstance" in instance.content:
        yield from _of_instance(instance)
    for item in sync.readable if sync is not None else ():
        yield Sync(_duration(item.text_at("spec", "interval")), item.text_at("kind") == _OCI)


def _of_instance(file: File) -> Iterator[Sync]:
    for item in file.readable:
        if item.text_at("kind") == "FluxInstance" and item.has("spec", "sync"):
            interval = _duration(item.text_at("spec", "sync", "interval") or _DEFAULT)
            yield Sync(interval, item.text_at("spec", "sync", "kind") == _OCI)


def _duration(text: str) -> timedelta | None:
    length = nanoseconds(text)
    return None if length is None else timedelta(microseconds=length // 1000)
