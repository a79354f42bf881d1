"""The schedule of the config file through a day, by the Action on the stand-in for GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from convergence.fleet import Fleet, fleet_at, installation

CONFIG = """\
schedule: "* 9-15 * * *"
timezone: Europe/Berlin
policy: patch
auto-merge: patch
"""
MERGES: dict[str, Any] = {"auto_merge": True, "required_contexts": ("ci",)}


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Fleet]:
    with fleet_at(tmp_path, installation("v2.8.7"), CONFIG, **MERGES) as fleet:
        yield fleet


def until(fleet: Fleet, hour: int) -> None:
    """Move the clock on to an hour of UTC."""
    clock = fleet.hub.clock
    now = clock.now
    clock.advance(seconds=3600 * ((hour - now.hour - 1) % 24 + 1) - 60 * now.minute - now.second)


def test_what_waits_is_reported_and_opened_inside(day: Fleet) -> None:
    until(day, 3)
    ran = day.run()
    assert (ran.code, ran.outcome, ran.writes) == (0, "held", ())
    waiting = {each["reason"]: each for each in ran.report["pull-requests"]}
    begins = day.hub.clock.now.date()
    assert waiting.keys() == {"outside-schedule"}
    assert waiting["outside-schedule"]["detail"] == f"`schedule` begins on {begins} at 09:00 (Europe/Berlin)"
    assert "waits: **outside-schedule**" in ran.summary
    assert f"begins on {begins} at 09:00 (Europe/Berlin)" in ran.summary
    until(day, 10)
    assert day.run().outcome == "opened"
    assert {pull.is_draft for pull in day.repository.pulls.values()} == {False, True}


def test_what_is_approved_is_opened_outside(day: Fleet) -> None:
    until(day, 3)
    assert day.run(approve="2.9").outcome == "opened"
    (pull,) = day.repository.pulls.values()
    assert ("2.9" in pull.title, pull.is_draft, pull.auto_merge) == (True, False, "")


def test_auto_merge_is_off_in_the_night(day: Fleet) -> None:
    until(day, 10)
    day.run()
    patch = next(pull for pull in day.repository.pulls.values() if not pull.is_draft)
    assert (patch.auto_merge, patch.auto_merge_by) == ("merge", "github-actions[bot]")
    until(day, 15)
    assert "GRAPHQL disablePullRequestAutoMerge" in day.run().writes
    assert (patch.state, patch.auto_merge) == ("open", "")
    assert day.run().writes == ()
    until(day, 10)
    assert "GRAPHQL enablePullRequestAutoMerge" in day.run().writes
    assert patch.auto_merge == "merge"
    assert day.run().writes == ()


def test_auto_merge_of_a_user_is_not_touched(day: Fleet) -> None:
    until(day, 3)
    day.run(approve="2.9")
    day.people.enable_auto_merge(1)
    until(day, 15)
    day.run()
    assert day.repository.pulls[1].auto_merge_by == "alice"


def test_auto_merge_that_a_user_turned_off_stays_off(day: Fleet) -> None:
    until(day, 10)
    day.run()
    number = next(pull.number for pull in day.repository.pulls.values() if not pull.is_draft)
    day.people.disable_auto_merge(number)
    for hour in (11, 3, 10):
        until(day, hour)
        assert day.run().writes == ()
    assert day.repository.pulls[number].auto_merge == ""
