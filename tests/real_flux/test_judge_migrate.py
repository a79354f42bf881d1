"""`flux migrate -f` of the real CLI and `flux-upgrade migrate` on real repositories: each file, byte by byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bootstrap.cli_runs import Laptop
from conformance.real_files import members, rows, unpacked
from real_flux import differences
from real_flux.programs import FLUX, run_flux
from real_parts import require_shared

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

COMMAND = "flux migrate -f"
_TREES = 20


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """Whole repositories, and each folder of the single files that use removed API versions."""
    folder = tmp_path / "before"
    unpacked("trees.tar.xz", folder)
    unpacked("troubles.tar.xz", folder)
    assert len(list(folder.iterdir())) == _TREES
    index = {row["file"]: row for row in rows(require_shared("conformance", "resources.jsonl"))}
    for name, content in members(require_shared("conformance", "resources.tar.xz")):
        path = Path(index[name]["path"])
        tree = folder / f"{index[name]['repo']}/{path.parent}".replace("/", "+")
        tree.mkdir(exist_ok=True)
        (tree / path.name).write_bytes(content)
    return folder


def test_each_tree_is_migrated_the_same(trees: Path, tmp_path: Path, *, update_golden: bool) -> None:
    theirs, ours = (shutil.copytree(trees, tmp_path / name, symlinks=True) for name in ("theirs", "ours"))
    laptop = Laptop(require_shared("conformance", "releases"))
    found: list[str] = []
    files = 0
    for tree in sorted(each.name for each in trees.iterdir()):
        ran = run_flux("migrate", "-f", ".", "--yes", at=theirs / tree)
        assert ran.returncode == 0, ran.stderr
        words = (f"--release-source={laptop.source}", f"--to={FLUX}", "--include=all", "--json")
        said = json.loads(laptop.run("migrate", ours / tree, *words).out)
        for path in sorted(each for each in (ours / tree).rglob("*") if each.is_file() and not each.is_symlink()):
            files += 1
            name = str(path.relative_to(ours / tree))
            flux = (theirs / tree / name).read_bytes()
            if path.read_bytes() != flux:
                uses = [use for use in said["uses"] if use["path"] == name]
                was = (trees / tree / name).read_bytes()
                found += sorted(reasons(uses, was, flux)) or [f"not explained: {tree}/{name}"]
    differences.assert_known(COMMAND, files, found, update=update_golden)


def reasons(uses: Iterable[Mapping[str, Any]], was: bytes, flux: bytes) -> set[str]:
    """Why a file differs. ``flux``: what became of it under `flux migrate`, which replaces versions in their lines."""
    before, after = was.splitlines(), flux.splitlines()
    found = {"`fields`" for use in uses if use["fields"]}
    for use in uses:
        is_left, is_replaced = use["action"] == "leave", before[use["line"] - 1] != after[use["line"] - 1]
        if is_left == is_replaced:
            found.add(f"`{use['reason'] if is_left else use['place']}`")
    return found
