"""A rate limit ends what a run writes: it stays green, and says until when. The next run continues."""

from __future__ import annotations

from pathlib import Path

import pytest
from github_stand_in import FAULTS, Fault, to

from convergence.asking import OLD, SUMMARY, Opens, installations, newer, open_in, require_rest
from convergence.fleet import Fleet, fleet_at
from flux_upgrade.model.errors import ForgeUnavailable

HOUR = Fault("an hour", 403, FAULTS["403 secondary limit"].message, {"Retry-After": "3600"})
MUTE = Fault("no header", 403, FAULTS["403 secondary limit"].message)
ENDS = ((HOUR, "2026-03-02 07:00:"), (MUTE, "2026-03-02 06:01:"), (FAULTS["403 primary limit"], "2026-03-02 07:00:"))
"""Faults, and the minute in which each limit ends."""


@pytest.mark.parametrize(("fault", "ends"), ENDS, ids=[fault.name for fault, _ in ENDS])
@pytest.mark.parametrize("at", ["/git/trees", "/git/refs", "/pulls"])
def test_what_is_limited_waits_and_nothing_more_is_written(at: str, fault: Fault, ends: str, tmp_path: Path) -> None:
    with fleet_at(tmp_path, installations(a="v2.8.6", b="v2.8.6"), SUMMARY, OLD) as fleet:
        fleet.hub.fail(fault, to("POST", at), times=9)
        ran = fleet.run()
        assert (ran.code, open_in(fleet)) == (0, [])
        assert len([write for write in ran.writes if write.endswith(at)]) == 1
        assert ran.writes[-1].endswith(at)
        assert f"limited: 2 pull requests wait: GitHub's API rate limit is exceeded until {ends}" in ran.log
        assert {each["reason"] for each in ran.report["pull-requests"]} == {"limited"}
        fleet.undisturbed()
        fleet.hub.clock.advance(hours=1)
        fleet.run()
        assert len(open_in(fleet)) == 2
        require_rest(fleet)


@pytest.mark.parametrize("at", ["updateRefs", "/pulls/1", "/statuses/"])
def test_an_update_that_is_limited_is_completed_by_the_next_run(at: str, patch: Fleet) -> None:
    newer(patch)
    patch.hub.fail(HOUR, lambda request: at in request.path or at == request.operation, times=9)
    ran = patch.run()
    assert (ran.code, ran.outcome) == (0, "held")
    assert "rate limit is exceeded until 2026-03-02 07:00:" in ran.summary
    patch.undisturbed()
    patch.hub.clock.advance(hours=1)
    assert patch.run().outcome == "updated"
    require_rest(patch)


@pytest.mark.parametrize("at", ["/issues/1", "/requested_reviewers", "/statuses/"])
def test_what_is_opened_before_the_limit_is_reported_and_completed_later(at: str, opens: Opens) -> None:
    fleet = opens(config=f"{SUMMARY}labels: [flux]\nreviewers: [bob]\n")
    fleet.hub.fail(HOUR, lambda request: at in request.path, times=9)
    ran = fleet.run()
    assert (ran.code, ran.outcome, open_in(fleet)) == (0, "opened", [1])
    assert ran.log.count("warning: GitHub's API rate limit is exceeded until 2026-03-02 07:00:") == 1
    fleet.undisturbed()
    fleet.hub.clock.advance(hours=1)
    fleet.run()
    pull = fleet.repository.pulls[1]
    assert (pull.labels, pull.reviewers, len(fleet.repository.statuses)) == (["flux"], ["bob"], 1)
    require_rest(fleet)


def test_an_approval_that_is_limited_is_red_since_no_later_run_remembers_it(draft: Fleet) -> None:
    draft.hub.fail(HOUR, to("POST", "markPullRequestReadyForReview"), times=9)
    ran = draft.run(approve="2.9")
    assert (ran.code, draft.repository.pulls[1].is_draft) == (ForgeUnavailable.exit_code, True)
    assert "rate limit is exceeded until 2026-03-02 07:00:" in ran.log
    assert "approve 2.9 again in the next run" in ran.log
