"""Each entry of a kustomization gets the verdict of its case, and the real kustomize agrees."""

from __future__ import annotations

from pathlib import Path

import pytest

import txtar
from built_overlays import Kustomize, evaluated, objects
from flux_upgrade.impact.overlay.check import check_overlay
from flux_upgrade.impact.overlay.result import OverlayVerdict
from flux_upgrade.model.unknown import known_or
from memory import MemoryTree
from overlay_cases import CASES, case_of
from real_parts import require_program


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_gives_its_findings(path: Path, *, update_golden: bool) -> None:
    case = case_of(path)
    tree = MemoryTree({**case.files, case.path: case.old})
    found = known_or(check_overlay(tree, case.path, case.old, case.new, None), None)
    assert found is not None
    if update_golden:
        txtar.write(path, case.with_result(found.findings))
    assert txtar.render(case.with_result(found.findings)) == path.read_text()


@pytest.mark.real_part("kustomize")
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_kustomize_agrees(path: Path, tmp_path: Path) -> None:
    """It builds what does not fail here, to the same objects, and nothing else."""
    case = case_of(path)
    if case.compared == "nothing":
        pytest.skip("it would go online")
    kustomize = Kustomize(require_program("kustomize"), tmp_path)
    sides = evaluated(case.files, case.root, case.path, case.old, case.new)
    for name, manifest, ours, builds in zip(("before", "after"), (case.old, case.new), sides, case.builds, strict=True):
        built = kustomize.build({**case.files, case.path: manifest}, case.root)
        assert (built.error == "") == builds, f"{name}: {built.error}"
        if builds and case.compared == "objects":
            assert built.objects == objects(ours), name


def test_every_verdict_has_cases() -> None:
    assert {each["verdict"] for path in CASES for each in case_of(path).findings} == set(OverlayVerdict)
