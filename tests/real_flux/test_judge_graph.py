"""`flate get ks` and the graph, on each cluster of real repositories: the same Kustomizations, paths and sources.

flate renders repositories of Flux without a cluster: https://github.com/home-operations/flate
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conformance.real_files import unpacked
from conformance.real_graphs import graph_of, url_of
from flux_upgrade.clusters.graph.reads import ClusterReads, Reconciliation
from flux_upgrade.model.text import repository_path
from real_flux.programs import require_built
from real_parts import require_program, require_shared

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data, unshare")]

KNOWN = tomllib.loads(Path(__file__).with_name("flate_differences.toml").read_text())
_TREES = 14
_REMOTE = '[core]\n\trepositoryformatversion = 0\n[remote "origin"]\n\turl = {}\n'


@pytest.fixture
def graphs(tmp_path: Path) -> dict[Path, tuple[ClusterReads, ...]]:
    """Return the clusters of each tree, as a checkout of its repository."""
    trees, releases = unpacked("trees.tar.xz", tmp_path / "trees"), require_shared("conformance", "releases")
    clusters: dict[Path, tuple[ClusterReads, ...]] = {}
    for tree in sorted(trees.iterdir()):
        checkout = tmp_path / "checkouts" / tree.name.replace("+", "/")  # kustomize writes to no directory with a `+`
        checkout.parent.mkdir(parents=True, exist_ok=True)
        clusters[checkout] = graph_of(tree, releases).clusters
        git = tree / ".git"
        for folder in (git / "objects", git / "refs"):
            folder.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text(_REMOTE.format(url_of(tree)))
        tree.rename(checkout)
    assert len(clusters) == _TREES
    return clusters


def test_each_cluster_has_the_kustomizations_that_flate_lists(
    graphs: Mapping[Path, tuple[ClusterReads, ...]], tmp_path: Path
) -> None:
    pairs = [(tree, reads) for tree, clusters in graphs.items() for reads in clusters]
    with ThreadPoolExecutor(2) as threads:  # each waits for a process
        listings = threads.map(lambda pair: listing(pair[0], pair[1], tmp_path / "cache"), pairs)
        rows: list[str] = []
        compared = 0
        for (tree, reads), theirs in zip(pairs, listings, strict=True):
            ours = graph_side(reads)
            compared += len({*ours, *theirs})
            rows += (f"{'/'.join(tree.parts[-2:])} {reads.name}: {row}" for row in differences(ours, theirs))
    known = [row for difference in KNOWN["difference"] for row in difference["rows"]]
    assert sorted(set(rows) - set(known)) == [], "differences without a reason"
    assert sorted(set(known) - set(rows)) == [], "rows that are gone"
    assert (len(pairs), compared, len(known)) == (KNOWN["clusters"], KNOWN["kustomizations"], len(rows))
    assert all(difference["reason"] for difference in KNOWN["difference"])


def graph_side(reads: ClusterReads) -> dict[str, str]:
    """Return name → path and source. The root has no name if no file has its Kustomization."""
    side: dict[str, str] = {}
    for step in reads.reconciliations:
        place = _spelled(step.folder, step)
        side[step.name] = f"{side[step.name]} and {place}" if step.name in side else place
    side |= {step.name: f"not followed, {_spelled(step.spec.get('path'), step)}" for step in reads.others}
    for root in reads.roots if not reads.reconciliations else ():
        side[""] = f"{root.folder}, not there"
    return side


def _spelled(path: Any, step: Reconciliation) -> str:
    return _side(path, *step.source)


def _side(path: Any, kind: str, namespace: str, name: str) -> str:
    return f"{repository_path(str(path or '')) or '.'} of {kind} {namespace}/{name}"


def listing(tree: Path, reads: ClusterReads, cache: Path) -> dict[str, str]:
    """Return what flate lists for a cluster, as ``graph_side``. Without a network: no other source is rendered."""
    side: dict[str, str] = {}
    folders = [tree / root.folder for root in reads.roots] or [tree / reads.name]
    for folder in filter(Path.is_dir, folders):  # flate refuses what is not there
        for item in _flate("get", "ks", "--output=json", f"--path={folder}", f"--cache-dir={cache}"):
            source = item["sourceRef"]
            place = _side(item["path"], source["kind"], source["namespace"], source["name"])
            side[f"{item['namespace']}/{item['name']}"] = place
    return side


def _flate(*arguments: str) -> list[dict[str, Any]]:
    unshare, program = require_program("unshare"), str(require_built("flate"))
    command = [unshare, "--map-root-user", "--net", program, *arguments, "--source-retry-attempts=1"]
    # flate ends with 1 if a source or chart cannot be fetched.
    env = {"HOME": "/nonexistent", "PATH": os.defpath}
    ran = subprocess.run(command, check=False, capture_output=True, timeout=300, env=env)  # noqa: S603  (ours)
    items: list[dict[str, Any]] = json.loads(ran.stdout)
    return items


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*ours, *theirs}):
        graph, flate = ours.get(name, "nothing"), theirs.get(name, "nothing")
        if graph != flate:
            yield f"{name or 'the root'}: {graph} | {flate}"
