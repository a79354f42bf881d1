"""``inspect`` names every line of real repositories that sets a version of Flux: a search finds no other.

Each line that the search finds and ``inspect`` does not name fits a rule of ``flux_names.RULES``, or is one of the
lines that are known to be missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cases_on_disk import run_in
from conformance.flux_names import RULES, Found, Place, is_named, named_by, searched
from conformance.real_files import rows, tell, unpacked
from error_names import error_names

NOTHING_FOUND = 6


class Missing(NamedTuple):
    """Lines that do set a version, and that ``inspect`` does not name."""

    path: str  # How it ends
    text: str  # What the line contains
    reason: str
    lines: int  # How many


MISSING = (
    Missing(
        "fluxcd.yaml",
        "fluxcd_version:",
        "a variable of an Ansible role that is in another repository: only the role knows what it installs",
        2,
    ),
    Missing("fluxcd_hosts/values.yaml", "fluxcd_version:", "the same variable, for other hosts", 2),
    Missing(
        ".devcontainer/devcontainer.json",
        "dev-container-features/flux2:1",
        "a feature of a development container: it installs the newest Flux CLI, and 1 is its own release",
        1,
    ),
)


class Explained(NamedTuple):
    found: int
    named: int
    rules: Counter[str]
    missing: Counter[Missing]
    left: Sequence[Found]


def explained(root: Path, report: Mapping[str, Any]) -> Explained:
    """What the search finds below a directory, against what ``inspect --json`` reports of it."""
    places = named_by(report)
    found = [*searched(root)]
    others = [each for each in found if not is_named(each, places)]
    rules: Counter[str] = Counter()
    missing: Counter[Missing] = Counter()
    left = []
    for each in others:
        rule = next((rule.name for rule in RULES if rule.fits(each, places)), "")
        known = next((row for row in MISSING if each.path.endswith(row.path) and row.text in each.text), None)
        if rule:
            rules[rule] += 1
        elif known is not None:
            missing[known] += 1
        else:
            left.append(each)
    return Explained(len(found), len(found) - len(others), rules, missing, left)


@pytest.mark.real_part("shared data")
def test_no_line_of_a_real_repository_is_left_unexplained(tmp_path: Path, releases: Path, conformance: Path) -> None:
    trees = unpacked("trees.tar.xz", tmp_path)
    rules: Counter[str] = Counter()
    missing: Counter[Missing] = Counter()
    left = []
    for root in sorted(trees.iterdir()):
        ran = run_in(root, releases, ["inspect", "--json"])
        assert ran.exit_code in (0, NOTHING_FOUND), ran.err
        assert error_names(ran.err) <= {"nothing-found"}
        found = explained(root, json.loads(ran.out))
        rules += found.rules
        missing += found.missing
        left += [f"{root.name}/{each.path}:{each.line}: {each.text.strip()[:200]}" for each in found.left]
        named = f"{found.found} lines, {found.named} named by inspect"
        why = [f"{name}: {count}" for name, count in found.rules.most_common()]
        why += [f"missing, {row.text.rstrip(':')}: {count}" for row, count in found.missing.items()]
        tell(f"lines: {root.name}: {'; '.join([named, *why])}")
    for rule in RULES:
        tell(f"lines: {rules[rule.name]:4} {rule.name}: {rule.reason}")
    for row in MISSING:
        tell(f"lines: {missing[row]:4} missing, {row.text.rstrip(':')}: {row.reason}")

    assert not left, "inspect names none of these, and no rule explains them"
    assert not [rule.name for rule in RULES if not rules[rule.name]], "these rules explain nothing"
    assert {row: missing[row] for row in MISSING} == {row: row.lines for row in MISSING}
    assert len([*trees.iterdir()]) == len(rows(conformance / "trees.jsonl")) == 14


LEFT = {
    "an image in a file of another format": ("x.hcl", 'image = "ghcr.io/fluxcd/flux-cli:v2.8.8"\n'),
    "a chart of an unknown object": ("x.yaml", "kind: Chart\nspec:\n  chart: flux2\n  version: 2.17.1\n"),
    "a version next to a name": ("x.yaml", "name: flux-operator\nversion: 0.58.1\n---\na: b\n"),
    "a download": ("x.txt", "https://github.com/fluxcd/flux2/releases/download/v2.8.8/install.yaml\n"),
    "a variable": ("x.ini", "FLUX_VERSION = 2.8.8\n"),
}


@pytest.mark.parametrize("name", LEFT)
def test_a_line_that_no_rule_explains_is_left(name: str, tmp_path: Path) -> None:
    path, text = LEFT[name]
    (tmp_path / path).write_text(text)
    nothing: dict[str, Any] = {"installations": [], "pins": []}

    assert [each.path for each in explained(tmp_path, nothing).left] == [path]


def test_a_line_in_the_object_of_a_place_is_named(tmp_path: Path) -> None:
    text = "kind: HelmRelease\nmetadata:\n  name: flux2\nspec:\n  version: 2.17.1\n---\nkind: X\nname: flux2:1\n"
    (tmp_path / "x.yaml").write_text(text)
    first, second = searched(tmp_path)

    assert is_named(first, [Place("x.yaml", 5, "helm-chart")])
    assert not is_named(second, [Place("x.yaml", 5, "helm-chart")])
    assert not is_named(first, [Place("y.yaml", 5, "helm-chart")])
    assert is_named(second, [Place("x.yaml", 0, "gotk-components")])
