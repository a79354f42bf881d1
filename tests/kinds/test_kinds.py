"""Adding a folder to ``tests/kinds/<kind>`` adds a test: ``pytest --update-golden`` writes what it should give."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from flux_upgrade.pins.cli import cli_image, devbox, tool_versions, workflow
from flux_upgrade.pins.eksctl import pin as eksctl
from flux_upgrade.pins.flux_instance import pin as flux_instance
from flux_upgrade.pins.flux_manifests import pin as flux_manifests
from flux_upgrade.pins.flux_operator import pin as flux_operator
from flux_upgrade.pins.gardener import pin as gardener
from flux_upgrade.pins.helm_chart import pin as helm_chart
from flux_upgrade.pins.own_artifact import pin as artifact
from flux_upgrade.pins.registry import PIN_KINDS, KindModule
from flux_upgrade.pins.remote_base import pin as remote_base
from flux_upgrade.pins.reported import commands, flux_v1, other_installers, single_controllers
from flux_upgrade.pins.terraform import pin as terraform
from kind_cases import KindCase, all_cases, carry_out
from spans import assert_kept_outside

CASES = all_cases()
PARAMETERS = [pytest.param(case, id=case.name) for case in CASES]
NAMED_ONLY = ("commands", "flux-v1", "other-installers", "single-controllers")
"""Kinds whose pins are recognised and never changed."""


@pytest.mark.parametrize("case", PARAMETERS)
def test_a_case_gives_its_tree_and_its_pins(case: KindCase, request: pytest.FixtureRequest) -> None:
    before = case.files("before")
    carried = carry_out(case, before)
    if request.config.getoption("--update-golden"):
        _write(case, before, carried.files, carried.text)

    assert carried.text == (case.folder / "pins.txt").read_text()
    assert carried.files == (case.files("after") if case.is_change else before)


@pytest.mark.parametrize("case", PARAMETERS)
def test_applied_twice_equals_applied_once(case: KindCase) -> None:
    once = carry_out(case, case.files("before")).files

    assert carry_out(case, once).files == once


@pytest.mark.parametrize("case", PARAMETERS)
def test_every_byte_outside_the_spans_stays(case: KindCase) -> None:
    before = case.files("before")
    carried = carry_out(case, before)

    for path, content in before.items():
        spans = [each for pin, change in carried.changes if pin.path == path for each in change.replacements]
        assert_kept_outside(content, carried.files[path], spans)


@pytest.mark.parametrize("case", PARAMETERS)
def test_a_case_lies_in_the_folder_of_its_kind(case: KindCase) -> None:
    assert case.kind in {kind.name for kind in PIN_KINDS}


@pytest.mark.parametrize("name", [kind.name for kind in PIN_KINDS])
def test_each_kind_has_its_changes_and_no_ops(name: str) -> None:
    own = [case for case in CASES if case.kind == name]

    assert name in NAMED_ONLY or sum(case.is_change for case in own) >= 12
    assert sum(not case.is_change for case in own) >= 8


def _write(case: KindCase, before: Mapping[str, bytes], after: Mapping[str, bytes], text: str) -> None:
    (case.folder / "pins.txt").write_text(text)
    root = case.folder / "after"
    shutil.rmtree(root, ignore_errors=True)
    if after != before:
        for path, content in after.items():
            target = Path(root, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


MODULES: tuple[KindModule, ...] = (
    artifact,
    cli_image,
    commands,
    devbox,
    eksctl,
    flux_instance,
    flux_manifests,
    flux_operator,
    flux_v1,
    gardener,
    helm_chart,
    other_installers,
    remote_base,
    single_controllers,
    terraform,
    tool_versions,
    workflow,
)
"""As type checkers see them: at run time each is imported where there is a file for it."""


def test_each_row_names_its_module() -> None:
    assert {style.name: style.module for style in PIN_KINDS} == {module.NAME: module for module in MODULES}
