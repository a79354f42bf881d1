"""An upgrade that fails in one group, from its merge to the merged revert, on the stand-in for GitHub."""

from __future__ import annotations

from pathlib import Path

import pytest

from convergence.fleet import Fleet, fleet_at, manifest
from convergence.scenarios import RINGS, SCENARIOS, Scenario

(SCENARIO,) = [each for each in SCENARIOS if each.config == RINGS]
CANARY = "clusters/production/flux-system/gotk-components.yaml"


def _reverted(fleet: Fleet, scenario: Scenario, method: str) -> None:
    """The revert was opened as a draft, marked ready and merged."""
    scenario.prepare(fleet)
    assert fleet.repository.files()[CANARY] == manifest("v2.9.4")
    fleet.run()
    (draft,) = [each for each in fleet.repository.pulls.values() if each.head == scenario.branch]
    assert draft.is_draft
    fleet.people.mark_ready(draft.number)
    fleet.people.merge(draft.number, method)


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_merged_revert_holds_the_release_for_the_next_group(method: str, tmp_path: Path) -> None:
    with fleet_at(tmp_path, SCENARIO.files, SCENARIO.config) as fleet:
        _reverted(fleet, SCENARIO, method)
        assert fleet.repository.files()[CANARY] == manifest("v2.8.8")
        ran = fleet.run()
        assert ran.code == 0
        reasons = {hold["reason"] for each in ran.report["installations"] for hold in each["decisions"]}
        assert {"reverted", "group-reverted"} <= reasons
        assert all(each.is_draft for each in fleet.repository.pulls.values() if each.state == "open")
        count = len(fleet.repository.pulls)
        assert fleet.run().writes == ()
        assert len(fleet.repository.pulls) == count
        assert len(fleet.repository.pulls[1].comments) == 1


def test_a_draft_that_is_closed_and_whose_branch_is_deleted_is_not_opened_again(tmp_path: Path) -> None:
    with fleet_at(tmp_path, SCENARIO.files, SCENARIO.config) as fleet:
        SCENARIO.prepare(fleet)
        fleet.run()
        count = len(fleet.repository.pulls)
        fleet.people.delete_branch(SCENARIO.branch)
        fleet.people.advance_base()
        fleet.people.post_status("kustomization/flux-system/canary", "failure")
        for _ in range(2):
            assert fleet.run().writes == ()
        assert len(fleet.repository.pulls) == count


def test_a_draft_that_is_held_and_that_a_user_has_edited_is_not_written_again(tmp_path: Path) -> None:
    with fleet_at(tmp_path, SCENARIO.files, SCENARIO.config) as fleet:
        _reverted(fleet, SCENARIO, "squash")
        fleet.run()
        (held,) = [each for each in fleet.repository.pulls.values() if each.state == "open"]
        assert "**Do not merge this now** (`group-reverted`)" in held.body
        fleet.people.edit(held.number, body=f"Wait for the next release.\n\n{held.body}")
        assert fleet.run().writes == (f"PATCH /pulls/{held.number}",), "that all who edited it may write is recorded"
        assert fleet.run().writes == ()
