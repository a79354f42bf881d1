"""200 clusters: whatever happens, there is little to review, GitHub's pace is kept, and an idle run writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from github_stand_in import StandIn
from many_clusters import COUNT, MOST_PAUSES, MOST_READS, Fleet, Run, runs, without_limits

FLEET = [
    # name, writes, opened, updated, open afterwards, waiting
    ("first run", 50, 10, 0, 10, 390),
    ("second run", 50, 10, 0, 20, 380),
    ("idle run", 0, 0, 0, 20, 380),
    ("new patches of both minors", 100, 0, 20, 20, 380),
    ("a new minor", 50, 0, 10, 20, 380),
    ("idle run after it", 0, 0, 0, 20, 380),
    # The drafts of these four clusters begin at another release now. Their merged branches are deleted.
    ("four were merged", 44, 4, 4, 20, 376),
]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Run]:
    return list(runs(tmp_path_factory.mktemp("fleet")))


def test_a_few_pull_requests_at_a_time(fleet: Sequence[Run]) -> None:
    found = [
        (each.name, each.writes, each.done["opened"], each.done["updated"], each.is_open, each.done["limited"])
        for each in fleet
    ]
    assert found == FLEET


def test_no_run_pauses_for_long(fleet: Sequence[Run]) -> None:
    assert {each.name: each.pauses for each in fleet if each.pauses > 120} == {}


def test_a_run_reads_all_of_them_in_few_calls(fleet: Sequence[Run]) -> None:
    assert COUNT * 4 / 50 == MOST_READS
    for each in fleet:
        # Before a body is replaced, it is looked at once more.
        assert each.reads == MOST_READS + each.done["updated"], each


def test_without_other_limits_the_time_ends_a_run(tmp_path: Path) -> None:
    first = without_limits(tmp_path)
    assert 400 < first.pauses < MOST_PAUSES
    assert first.done["opened"] + first.done["limited"] == 2 * COUNT
    # All of them are patches: there was no time for a draft.
    assert first.is_open == first.done["opened"] < COUNT


def test_a_dashboard_has_room_for_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with StandIn(tmp_path / "hub") as hub:
        fleet = Fleet(tmp_path, hub, "dashboard: true\n")
        fleet.run("first run")
        second = fleet.run("second run")
        (issue,) = fleet.repository.issues.values()
        listed = {line for line in issue.body.splitlines() if line.startswith("| `clusters/")}
        assert len(listed) == COUNT
        assert issue.body.count("flux-upgrade:approve-") == COUNT
        # The issue is looked at before it is changed; after a run that wrote, all is read once more.
        assert second.reads == 2 * MOST_READS + 1
        assert fleet.run("idle run").writes == 0
