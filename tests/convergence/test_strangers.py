"""What a user without write access tries: forged bodies, boxes in odd places, and bots that close what was reopened."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from github_stand_in.people import People

from convergence.asking import Opens, installations, open_in
from convergence.dashboards import dashboard
from convergence.fleet import CONFIG, MINOR, PATCH, Fleet, fleet_at
from convergence.scenarios import RINGS, SCENARIOS
from flux_upgrade.model import markers
from flux_upgrade.model.markers import MarkerState

_APPROVE = markers.APPROVED_LABEL
_NEXT = ("v2.8.8", "v2.9.3")
_REBASE_BOX = "- [x] <!-- flux-upgrade:rebase --> x"
_MERGING = {"auto_merge": True, "required_contexts": ("ci",)}


def _mallory(fleet: Fleet) -> People:
    fleet.repository.settings.roles["mallory"] = "triage"
    return People(fleet.repository, "mallory")


def _parts(fleet: Fleet, number: int = 1) -> tuple[MarkerState, str, str]:
    body = fleet.repository.issue_or_pull(number).body
    state, text = markers.state_of(body), markers.text_of(body)
    assert state is not None
    assert text is not None
    return state, text, body


def _forge(fleet: Fleet, number: int = 1, **changes: Any) -> None:
    """Change the hidden state of a body."""
    state, text, body = _parts(fleet, number)
    forged = markers.replaced(body, markers.block(text, state._replace(**changes)))
    assert forged is not None
    _mallory(fleet).edit(number, body=forged)


def _configure(fleet: Fleet, text: str) -> None:
    fleet.people.push("main", {CONFIG: text.encode()}, "Configure\n")


def _add(fleet: Fleet, text: str, login: str = "") -> None:
    """Add text below the body."""
    fleet.hub.clock.advance(minutes=1)
    user = People(fleet.repository, login) if login else _mallory(fleet)
    user.edit(1, body=f"{fleet.repository.pulls[1].body}\n{text}\n")


@pytest.fixture
def merging(opens: Opens) -> Fleet:
    """A patch is open, and would be merged by itself."""
    fleet = opens(config="pending: summary\nauto-merge: patch\n", **_MERGING)
    assert fleet.run().outcome == "opened"
    return fleet


@pytest.fixture
def issues(tmp_path: Path) -> Iterator[Fleet]:
    """Two clusters whose minors are shown in issues, because there are no drafts."""
    files = installations(a="v2.8.8", b="v2.8.8")
    with fleet_at(tmp_path, files, tags=_NEXT, drafts=False) as fleet:
        fleet.run()
        yield fleet


# Bodies


def test_a_block_without_its_end_is_not_believed(draft: Fleet) -> None:
    state, text, _ = _parts(draft)
    forged = markers.block(text, state._replace(pending=True, approval="2.9")).replace("<!-- /flux-upgrade -->", "")
    _mallory(draft).edit(1, body=forged)
    for _ in range(2):
        draft.run()
    assert draft.repository.pulls[1].is_draft


@pytest.mark.parametrize("is_early", [False, True])
def test_a_box_outside_of_our_text_discards_nothing(patch: Fleet, *, is_early: bool) -> None:
    if is_early:
        _add(patch, _REBASE_BOX)
        for _ in range(2):
            patch.run()
    pushed = patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    if not is_early:
        patch.run()
        _add(patch, _REBASE_BOX)
    for _ in range(3):
        patch.run()
    assert patch.repository.head(PATCH) == pushed


def test_a_box_outside_of_our_text_ends_no_wait_for_a_group(tmp_path: Path) -> None:
    (scenario,) = [each for each in SCENARIOS if each.config == RINGS]
    with fleet_at(tmp_path, scenario.files, scenario.config) as fleet:
        scenario.prepare(fleet)
        fleet.run()
        number = next(number for number in open_in(fleet) if "staging" in fleet.repository.pulls[number].head)
        body = fleet.repository.pulls[number].body
        boxes = [line for line in body.splitlines() if "- [ ] <!-- flux-upgrade:accept" in line]
        assert boxes
        ticked = "\n".join(line.replace("[ ]", "[x]") for line in boxes)
        _mallory(fleet).edit(number, body=f"{body}\n{ticked}\n")
        for _ in range(2):
            fleet.run()
        fleet.people.label(number, _APPROVE)
        fleet.run()
        assert fleet.repository.pulls[number].is_draft


def test_what_a_user_made_a_draft_stays_one(merging: Fleet) -> None:
    People(merging.repository, "bob").to_draft(1)
    merging.run()
    _forge(merging, held="draft")
    merging.run()
    pull = merging.repository.pulls[1]
    assert (pull.is_draft, pull.auto_merge) == (True, "")


def test_a_forged_hold_keeps_nothing_from_becoming_a_draft(opens: Opens) -> None:
    config = "policy: minor\nauto-merge: minor\n"
    fleet = opens("v2.8.8", config=config, tags=_NEXT, **_MERGING)
    fleet.run()
    _forge(fleet, held="said")
    _configure(fleet, f"{config}kubernetes-version: '1.20'\n")
    for _ in range(2):
        fleet.run()
    assert fleet.repository.pulls[1].is_draft


def test_what_we_marked_ready_is_not_approved_by_a_lost_text(opens: Opens) -> None:
    fleet = opens("v2.8.8", config="policy: minor\n", tags=_NEXT)
    fleet.run()
    for config, is_draft in (("policy: minor\nkubernetes-version: '1.20'\n", True), ("policy: minor\n", False)):
        _configure(fleet, config)
        fleet.run()
        assert fleet.repository.pulls[1].is_draft == is_draft
    _mallory(fleet).edit(1, body="gone")
    _configure(fleet, "policy: patch\n")
    fleet.run()
    assert fleet.repository.pulls[1].is_draft


@pytest.mark.parametrize("how", ["ready", "label"])
def test_an_app_that_edits_the_text_costs_no_approval(how: str, draft: Fleet) -> None:
    bob = People(draft.repository, "bob")
    bob.mark_ready(1) if how == "ready" else bob.label(1, _APPROVE)
    for _ in range(2):
        draft.run()
    _add(draft, "## Summary", "reviews[bot]")
    for _ in range(3):
        draft.run()
    assert not draft.repository.pulls[1].is_draft


def test_an_app_that_edits_the_text_first_costs_no_approval(draft: Fleet) -> None:
    _add(draft, "## Summary", "reviews[bot]")
    People(draft.repository, "bob").mark_ready(1)
    for _ in range(3):
        draft.run()
    assert not draft.repository.pulls[1].is_draft


def test_another_workflow_approves_nothing_where_an_app_runs(draft: Fleet) -> None:
    draft.token = draft.hub.token("app")
    draft.run()
    People(draft.repository, "github-actions[bot]").label(1, _APPROVE)
    draft.run()
    assert all(pull.is_draft for pull in draft.repository.pulls.values())


def test_a_forged_migration_is_not_taken_over(patch: Fleet) -> None:
    patch.people.merge(1)
    for _ in range(2):
        patch.run()
    _forge(patch, migrate="v2.9.9")
    for _ in range(2):
        patch.run()
    assert _parts(patch)[0].migrate == ""


# Refusals


@pytest.mark.parametrize("is_run", [False, True])
def test_a_bot_that_closes_what_a_stranger_reopened_withdraws_nothing(merging: Fleet, *, is_run: bool) -> None:
    merging.people.close(1)
    merging.run()
    _mallory(merging).reopen(1)
    if is_run:
        merging.run()
    People(merging.repository, "stale[bot]").close(1)
    for _ in range(2):
        merging.run()
    assert open_in(merging) == []


def test_what_we_close_after_a_stranger_reopened_it_stays_declined(opens: Opens) -> None:
    fleet = opens(config="auto-merge: patch\n", **_MERGING)
    fleet.run()
    numbers = {pull.head: number for number, pull in fleet.repository.pulls.items()}
    fleet.people.close(numbers[PATCH])
    fleet.run()
    _mallory(fleet).reopen(numbers[PATCH])
    fleet.people.label(numbers[MINOR], _APPROVE)
    fleet.run()
    merged = fleet.people.merge(numbers[MINOR])
    fleet.run()
    fleet.people.revert(merged)
    for _ in range(2):
        fleet.run()
    assert open_in(fleet) == []


@pytest.mark.parametrize("how", ["target", "gone"])
def test_a_refusal_of_a_branch_with_a_commit_of_a_user_stays(patch: Fleet, how: str) -> None:
    patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    patch.run()
    patch.people.close(1)
    patch.people.delete_branch(PATCH)
    patch.run()
    if how == "gone":
        _mallory(patch).edit(1, body="gone")
    else:
        _forge(patch, target=type(_parts(patch)[0].target)("v2.7.0"))
    for _ in range(2):
        patch.run()
    assert open_in(patch) == []


def test_a_refusal_outlives_an_edit_and_another_name_of_the_group(draft: Fleet) -> None:
    draft.people.close(1)
    draft.run()
    _add(draft, "hello")
    draft.run()
    _configure(draft, "groups:\n  staging:\n    paths: ['clusters/**']\n")
    for _ in range(3):
        draft.run()
    assert open_in(draft) == []


def test_a_refusal_is_not_drowned_by_forks(merging: Fleet) -> None:
    merging.people.close(1)
    merging.run()
    first = merging.people.open_from_fork(PATCH, {"x": b"1\n"}, "fork")
    _mallory(merging).close(first.number)
    for number in range(100, 620):
        other = copy.copy(first)
        other.number, other.created_at = number, merging.hub.clock.text
        merging.repository.pulls[number] = other
    merging.repository.pulls[1].created_at = "2020-01-01T00:00:00Z"
    ran = merging.run()
    assert open_in(merging) == []
    assert "so many pull requests" in ran.log


# Issues, dashboards and comments


def test_an_issue_that_a_stranger_edited_approves_nothing(issues: Fleet) -> None:
    first, second = issues.repository.issues
    state, *_ = _parts(issues, first)
    _forge(issues, second, group=state.group, paths=state.paths)
    issues.people.label(second, _APPROVE)
    for _ in range(2):
        issues.run()
    assert open_in(issues) == []


def test_an_issue_that_a_stranger_reopened_stays_declined(issues: Fleet) -> None:
    number, *_ = issues.repository.issues
    issues.people.close(number)
    issues.run()
    _mallory(issues).reopen(number)
    ran = issues.run()
    decisions = [each for found in ran.report["installations"] for each in found["decisions"]]
    assert "closed-by-human" in {each.get("reason") for each in decisions}


def test_many_boxes_of_the_dashboard_count_at_once(tmp_path: Path) -> None:
    files = installations(**{f"c{number}": "v2.8.8" for number in range(12)})
    with fleet_at(tmp_path, files, "dashboard: true\nlimits: {drafts: 0, new-drafts: 0}\n", _NEXT) as fleet:
        fleet.run()
        bob = People(fleet.repository, "bob")
        for number in range(12):
            fleet.hub.clock.advance(seconds=5)
            lines = dashboard(fleet).body.splitlines()
            line = next(each for each in lines if "- [ ] <!-- flux-upgrade:approve-" in each and f"/c{number}`" in each)
            bob.tick(dashboard(fleet).number, line.partition("-->")[2].strip())
        fleet.run()
        assert not any(pull.is_draft for pull in fleet.repository.pulls.values())


def test_a_comment_of_a_stranger_silences_none_of_ours(patch: Fleet) -> None:
    pushed = patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    pull = patch.repository.pulls[1]
    patch.repository.comment(pull, f"<!-- flux-upgrade:stopped {pushed} -->\nhi", "mallory")
    patch.run()
    assert [comment.author for comment in pull.comments] == ["mallory", "github-actions[bot]"]


@pytest.mark.parametrize("how", ["comment", "state"])
def test_a_failure_is_told_whatever_a_stranger_writes(how: str, tmp_path: Path) -> None:
    (scenario,) = [each for each in SCENARIOS if each.config == RINGS]
    with fleet_at(tmp_path, scenario.files, scenario.config) as fleet:
        scenario.prepare(fleet)
        (merged,) = [pull for pull in fleet.repository.pulls.values() if pull.merged_at]
        if how == "comment":
            fleet.repository.comment(merged, f"<!-- flux-upgrade:failed {fleet.repository.head()} -->\nhi", "mallory")
        else:
            _forge(fleet, merged.number, failed="x")
        fleet.run()
        assert "github-actions[bot]" in [comment.author for comment in merged.comments]
