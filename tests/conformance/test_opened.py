"""A run opens each file of a repository at most once, whatever it looks for in it."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases_on_disk import run_in
from conformance.real_files import tell
from opened import repeated
from real_parts import require_shared

pytestmark = pytest.mark.real_part("shared data")

LARGEST = "wahooli+gitops-repo"
"""The repository in the shared data with the most files."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    with tarfile.open(require_shared("conformance", "trees.tar.xz")) as archive:
        archive.extractall(folder, of_largest(archive), filter="data")
    return folder / LARGEST


def of_largest(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    return (member for member in archive if member.name.startswith(f"{LARGEST}/"))


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(["plan", "--details", "--json", "--approve=v2.9.4"], id="plan"),
        pytest.param(["check", "--json"], id="check"),
        pytest.param(["inspect", "--graph"], id="graph"),
    ],
)
def test_each_file_is_opened_at_most_once(args: list[str], tree: Path, releases: Path) -> None:
    reads = run_in(tree, releases, args).reads
    assert len(reads) > 1000
    tell(f"opened by {args[0]}: {len(reads)} files, {sum(reads.values())} times, at most {max(reads.values())}")
    assert not repeated(reads)
