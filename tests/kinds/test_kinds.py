"""Every kind of version reference is found and changed as its cases say, and nothing else in a repository is.

A new ``tests/kinds/KIND/NAME.txtar`` is a new test, see ``tests/kind_cases.py``; ``--update-golden`` writes its
``after/`` and ``report``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import txtar
from flux_upgrade.pins.also import pin as also
from flux_upgrade.pins.cli import cli_image, commands, devbox, operator_cli, tool_versions, workflow
from flux_upgrade.pins.eksctl import pin as eksctl
from flux_upgrade.pins.flux_instance import pin as flux_instance
from flux_upgrade.pins.flux_manifests import pin as flux_manifests
from flux_upgrade.pins.flux_operator import pin as flux_operator
from flux_upgrade.pins.gardener import pin as gardener
from flux_upgrade.pins.helm_chart import pin as helm_chart
from flux_upgrade.pins.own_artifact import pin as artifact
from flux_upgrade.pins.registry import PIN_KINDS, KindModule
from flux_upgrade.pins.remote_base import pin as remote_base
from flux_upgrade.pins.reported import flux_v1, other_installers, single_controllers
from flux_upgrade.pins.terraform import pin as terraform
from kind_cases import PATHS, KindCase, Upgraded, cases_of, read, upgrade_checked

REPORTED_ONLY = ("flux-operator-cli", "flux-v1", "other-installers", "single-controllers")
"""Kinds whose pins are found and never changed."""


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_case_gives_its_tree_and_its_pins(path: Path, *, update_golden: bool) -> None:
    case = read(path)
    upgraded = upgrade_checked(case, case.before)
    found = _as_found(case, upgraded)
    if update_golden:
        txtar.write(path, found)

    assert txtar.render(found) == path.read_text(), (
        "the case has another tree or other pins, or is not laid out as --update-golden does it"
    )


def test_every_case_lies_in_the_directory_of_a_kind() -> None:
    assert {path.parent.name for path in PATHS} == {kind.name for kind in PIN_KINDS}


@pytest.mark.parametrize("name", [kind.name for kind in PIN_KINDS])
def test_each_kind_has_cases_with_changes_and_without(name: str) -> None:
    changes = [case.is_change for case in cases_of(name)]

    assert name in REPORTED_ONLY or changes.count(True) >= 12
    assert changes.count(False) >= 8


def _as_found(case: KindCase, upgraded: Upgraded) -> txtar.Archive:
    """The case with the result of its upgrade, laid out as all cases are."""
    settings = case.archive.files.get("settings.toml")
    files = {"settings.toml": settings} if settings else {}
    files |= {f"before/{path}": content for path, content in case.before.items()}
    files |= {f"after/{path}": new for path, new in upgraded.files.items() if new != case.before[path]}
    return replace(case.archive, files={**files, "report": upgraded.report.encode()})


MODULES: tuple[KindModule, ...] = (
    also,
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
    operator_cli,
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
