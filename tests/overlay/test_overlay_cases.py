"""Adding a folder to ``tests/overlay`` adds a test: ``pytest --update-golden`` writes what it should give."""

from __future__ import annotations

from pathlib import Path

import pytest

from built_overlays import Kustomize, evaluated, objects
from flux_upgrade.impact.overlay.check import check_overlay
from flux_upgrade.impact.overlay.result import OverlayVerdict
from memory import MemoryTree
from overlay_cases import OverlayCase, all_cases, write
from real_parts import require_program

CASES = all_cases()
PARAMETERS = [pytest.param(case, id=case.name) for case in CASES]


@pytest.mark.parametrize("case", PARAMETERS)
def test_each_entry_gets_its_verdict(case: OverlayCase, request: pytest.FixtureRequest) -> None:
    found = check_overlay(
        MemoryTree({**case.files, case.path: case.old}), case.path, case.old, case.new, None
    )
    assert found is not None
    if request.config.getoption("--update-golden"):
        write(case, found.findings)

    assert found.findings == case.findings


@pytest.mark.real_part("kustomize")
@pytest.mark.parametrize("case", PARAMETERS)
def test_kustomize_says_the_same(case: OverlayCase, tmp_path: Path) -> None:
    """It builds what does not fail here, to the same objects, and nothing else."""
    if case.compared == "nothing":
        pytest.skip("it would go online")
    kustomize = Kustomize(require_program("kustomize"), tmp_path)
    sides = evaluated(case.files, case.root, case.path, case.old, case.new)
    for manifest, ours, builds in zip((case.old, case.new), sides, case.builds, strict=True):
        built = kustomize.build({**case.files, case.path: manifest}, case.root)
        assert (built.error == "") == builds, built.error
        if builds and case.compared == "objects":
            assert built.objects == objects(ours)


def test_every_verdict_has_cases() -> None:
    assert {each.verdict for case in CASES for each in case.findings} == set(OverlayVerdict)
