"""The graphs of real repositories."""

from __future__ import annotations

from pathlib import Path

from conformance.real_files import regenerator_of
from flux_upgrade.adapters.local.files import Directory
from flux_upgrade.clusters.clusters import Member, clusters_of
from flux_upgrade.clusters.graph.graph import ClusterGraph
from flux_upgrade.clusters.roots import roots_of
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import discover
from flux_upgrade.pins.pin import Role
from flux_upgrade.snapshot.snapshot import Snapshot
from memory import MemoryArtifacts, MemoryCharts


def url_of(folder: Path) -> str:
    return f"https://github.com/{folder.name.replace('+', '/')}"


def graph_of(folder: Path, releases: Path) -> ClusterGraph:
    tree = Snapshot(Directory(str(folder)))
    context = PinContext(tree, regenerator_of(releases), MemoryArtifacts({}), MemoryCharts({}))
    members = [Member(each, each.path) for each in discover(context) if each.role is not Role.REPORTED]
    return ClusterGraph(tree, roots_of(clusters_of(members, tree), tree), [url_of(folder)])
