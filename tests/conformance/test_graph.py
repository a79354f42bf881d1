"""What each cluster of real repositories reads: against a table of all of them, and against kustomize."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.real_files import tell, unpacked
from conformance.real_graphs import graph_of
from flux_upgrade.clusters.graph.graph import ClusterGraph
from real_parts import require_program

pytestmark = pytest.mark.real_part("shared data")

JUDGED = tomllib.loads((Path(__file__).parent / "judged_graphs.toml").read_text())
MOST_BUILDS = 6  # of a repository


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("trees.tar.xz", tmp_path_factory.mktemp("trees"))


@pytest.fixture(scope="module")
def graphs(trees: Path, releases: Path) -> dict[str, ClusterGraph]:
    return {each.name: graph_of(each, releases) for each in sorted(trees.iterdir())}


def test_each_cluster_reads_what_the_table_says(graphs: dict[str, ClusterGraph]) -> None:
    found = {
        name: {
            "unread": len(graph.unread),
            "clusters": {
                each.name: {
                    "roots": [root.folder for root in each.roots],
                    "kustomizations": len(each.reconciliations),
                    "files": len(each.files),
                    "other-sources": list(each.elsewhere),
                    "unresolved": len(each.troubles),
                }
                for each in graph.clusters
            },
        }
        for name, graph in graphs.items()
    }
    for name, each in found.items():
        for cluster, read in each["clusters"].items():  # type: ignore[attr-defined]
            tell(f"graph: {name} {cluster}: {read['kustomizations']} Kustomizations, {read['files']} files")
    assert found == JUDGED


def builds(graphs: dict[str, ClusterGraph]) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Repository, folder with a kustomization, and the files that its build reads."""
    for name, graph in graphs.items():
        steps = {each.folder: each.files for cluster in graph.clusters for each in cluster.reconciliations}
        whole = [(folder, files) for folder, files in sorted(steps.items()) if f"{folder}/kustomization.yaml" in files]
        yield from ((name, folder, files) for folder, files in whole[:MOST_BUILDS])


def test_kustomize_builds_the_same_from_the_files_that_are_read(
    graphs: dict[str, ClusterGraph], trees: Path, tmp_path: Path
) -> None:
    program, built = require_program("kustomize"), 0

    def build(folder: Path) -> subprocess.CompletedProcess[bytes]:
        command = [program, "build", "--load-restrictor=LoadRestrictionsNone", str(folder)]
        return subprocess.run(command, capture_output=True, check=False, timeout=60)  # noqa: S603

    for name, folder, files in builds(graphs):
        whole = build(trees / name / folder)
        if whole.returncode:
            continue  # it wants the network, or files that the data leave out
        alone = tmp_path / str(built)
        for path in files:
            (alone / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(trees / name / path, alone / path)
        part = build(alone / folder)
        assert part.stdout == whole.stdout, (name, folder, part.stderr.decode())
        built += 1
    tell(f"graph: {built} directories build alike from the files that are read")
    assert built
