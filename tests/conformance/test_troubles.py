"""Repositories on the day before an upgrade that went wrong: what the plan says, beside what people had to do.

Each upgrade is approved, as it was then. Where the repair changed lines, the plan names each of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cases_on_disk import run_in
from conformance.real_files import tell, unpacked
from real_parts import require_shared

pytestmark = pytest.mark.real_part("shared data")


@pytest.fixture(scope="module")
def troubles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("troubles.tar.xz", tmp_path_factory.mktemp("troubles"))


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    lines = require_shared("conformance", "troubles.jsonl").read_text().splitlines()
    return {row["case"]: row for row in map(json.loads, lines)}


def places(value: Any) -> Iterator[tuple[str, int]]:
    """Each file and line that a plan names."""
    if isinstance(value, dict):
        if isinstance(value.get("path"), str) and isinstance(value.get("line"), int):
            yield value["path"], value["line"]
        for each in value.values():
            yield from places(each)
    elif isinstance(value, list):
        for each in value:
            yield from places(each)


def resources_to_move(plan: Any) -> str:
    """How many resources are moved first, and how many files no cluster reads."""
    moved = sum(use["action"] == "move" for each in plan["migrations"] for use in each["uses"])
    unread = {path for each in decisions(plan) for path in (each.get("impact") or {}).get("unread", ())}
    return f"{moved} to move, {len(unread)} files that nothing reads"


def upgrades(plan: Any) -> str:
    """What is upgraded, and to what."""
    made = [(each["path"], what) for each in plan["installations"] for what in each["decisions"]]
    return ", ".join(f"{path} to {each['target']}" for path, each in made if each["action"] == "upgrade")


def decisions(plan: Any) -> Iterator[Any]:
    return (what for each in plan["installations"] for what in each["decisions"])


def automation(plan: Any) -> str:
    """The same as ``resources_to_move``, with the line of the template that stalls."""
    is_named = ("kubernetes/clusters/tilia/image-update-automation.yaml", 20) in set(places(plan))
    return f"{resources_to_move(plan)}, the template is {'' if is_named else 'not '}named"


SAID: dict[str, tuple[Callable[[Any], str], str]] = {
    # People moved 48 resources.
    "many-helmreleases": (resources_to_move, "41 to move, 7 files that nothing reads"),
    # People moved 37 manifests and mended the template.
    "terraform-owned": (automation, "37 to move, 0 files that nothing reads, the template is named"),
    # People reverted, and moved both pins together.
    "two-pins": (upgrades, "flux/flux-system/gotk-components.yaml to v2.6.1, terraform/flux.tf to v2.6.1"),
}


@pytest.mark.parametrize(
    "case",
    [
        "broken-already",
        "index-patch-over-a-pin",
        "late-helmrepositories",
        "many-helmreleases",
        "terraform-owned",
        "two-pins",
    ],
)
def test_the_plan_of_the_day_before_says_what_people_had_to_do(
    case: str, troubles: Path, rows: dict[str, dict[str, Any]], releases: Path
) -> None:
    row = rows[case]
    ran = run_in(troubles / case, releases, ["plan", "--json", f"--approve={row['to']}"])
    assert ran.exit_code == 0, ran.err
    plan = json.loads(ran.out)
    repaired = {(each["path"], each["line"]) for each in row["lines"]}
    missed = repaired - set(places(plan))
    said = f"{len(repaired) - len(missed)} of {len(repaired)} repaired lines are named"
    if case in SAID:
        say, expected = SAID[case]
        said = say(plan)
        assert said == expected
    tell(f"trouble {case}: {row['people']} | {said}")
    assert not missed
    assert repaired or case in SAID
