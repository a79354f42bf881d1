"""A label, a box or a new state of a pull request is acted on when its event comes, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from convergence.asking import installations, open_in, require_rest, state_of
from convergence.events import answered, payload_of
from convergence.fleet import PATH, Fleet, fleet_at

_LOOK = "GRAPHQL query"
_ASK = "GET /collaborators/alice/permission"
_EDIT = ("GET /pulls/1", "PATCH /pulls/1")
_READY = "GRAPHQL markPullRequestReadyForReview"
_TAGS = ("v2.8.8", "v2.9.3")
_PRODUCTION, _STAGING = 1, 2


@pytest.fixture
def drafts(tmp_path: Path) -> Iterator[Fleet]:
    """A draft in each of two clusters."""
    with fleet_at(tmp_path, installations(production="v2.8.8", staging="v2.8.8"), tags=_TAGS) as fleet:
        assert fleet.run().outcome == "opened"
        assert open_in(fleet) == [_PRODUCTION, _STAGING]
        yield fleet


def _label(fleet: Fleet) -> None:
    fleet.people.label(_PRODUCTION, "flux-upgrade/approved")


def _skip(fleet: Fleet) -> None:
    fleet.people.tick(_PRODUCTION, "skip")


def _ready(fleet: Fleet) -> None:
    fleet.people.mark_ready(_PRODUCTION)


def _close(fleet: Fleet) -> None:
    fleet.people.close(_PRODUCTION)


def _reopen(fleet: Fleet) -> None:
    fleet.people.close(_PRODUCTION)
    assert answered(fleet, _PRODUCTION, "closed").calls == (_LOOK,)
    fleet.people.reopen(_PRODUCTION)


def _draft_again(fleet: Fleet) -> None:
    fleet.people.mark_ready(_PRODUCTION)
    assert answered(fleet, _PRODUCTION, "ready_for_review").calls == (_LOOK, _ASK, *_EDIT)
    fleet.people.to_draft(_PRODUCTION)


def _unlabel(fleet: Fleet) -> None:
    fleet.people.label(_PRODUCTION, "documentation")
    fleet.people.unlabel(_PRODUCTION, "documentation")


@pytest.mark.parametrize(
    ("do", "action", "calls", "state"),
    [
        pytest.param(
            *(_label, "labeled"),
            (_LOOK, _ASK, _READY, *_EDIT, "DELETE /issues/1/labels/flux-upgrade%2Fapproved"),
            ("open", False, "2.9"),
            id="labeled",
        ),
        pytest.param(_unlabel, "unlabeled", (_LOOK,), ("open", True, ""), id="unlabeled"),
        pytest.param(_skip, "edited", (_LOOK, _ASK, *_EDIT), ("closed", True, ""), id="edited"),
        pytest.param(_close, "closed", (_LOOK,), ("closed", True, ""), id="closed"),
        pytest.param(_reopen, "reopened", (_LOOK, _ASK, *_EDIT), ("open", True, ""), id="reopened"),
        pytest.param(_ready, "ready_for_review", (_LOOK, _ASK, *_EDIT), ("open", False, "2.9"), id="ready_for_review"),
        pytest.param(_draft_again, "converted_to_draft", (_LOOK, *_EDIT), ("open", True, ""), id="converted_to_draft"),
    ],
)
def test_an_answer_is_acted_on_at_once(
    do: Callable[[Fleet], None], action: str, calls: tuple[str, ...], state: tuple[str, bool, str], drafts: Fleet
) -> None:
    do(drafts)
    ran = answered(drafts, _PRODUCTION, action)
    pull = drafts.repository.pulls[_PRODUCTION]
    assert (ran.code, ran.calls) == (0, calls), ran.log
    assert (pull.state, pull.is_draft, state_of(drafts).approval) == state
    # It was all that there was to do.
    require_rest(drafts)


def test_the_other_pull_requests_wait_for_the_schedule(drafts: Fleet) -> None:
    drafts.people.label(_STAGING, "flux-upgrade/approved")
    drafts.people.tick(_PRODUCTION, "skip")
    ran = answered(drafts, _PRODUCTION, "edited")
    assert (ran.outcome, ran.writes) == ("closed", ("PATCH /pulls/1",))
    assert {each["update-group"] for each in ran.report["installations"]} == {"clusters.production"}
    assert "staging" not in ran.log + ran.summary
    assert drafts.repository.pulls[_STAGING].is_draft
    assert drafts.run().outcome == "updated"
    assert not drafts.repository.pulls[_STAGING].is_draft


def test_after_a_merge_the_group_goes_on(tmp_path: Path) -> None:
    files = installations(production="v2.8.7", staging="v2.8.7")
    with fleet_at(tmp_path, files, tags=("v2.8.7", "v2.8.8", "v2.9.3")) as fleet:
        fleet.run()
        numbers = {pull.head: number for number, pull in fleet.repository.pulls.items()}
        assert len(numbers) == 4
        minor = numbers["flux-upgrade/clusters.production/minor"]
        fleet.people.mark_ready(minor)
        answered(fleet, minor, "ready_for_review")
        fleet.people.merge(minor)
        ran = answered(fleet, minor, "closed")
        patch = numbers["flux-upgrade/clusters.production/patch"]
        assert (ran.code, ran.writes) == (0, (f"PATCH /pulls/{patch}", "GRAPHQL updateRefs")), ran.log
        assert "flux-upgrade/clusters.production/minor" not in fleet.repository.store.refs("refs/heads/"), "merged"
        assert set(open_in(fleet)) == set(numbers.values()) - {minor, patch}


def test_a_cluster_that_is_gone_ends_with_its_own_event(drafts: Fleet) -> None:
    drafts.people.push("main", dict.fromkeys(installations(production="v2.8.8")), "Remove the cluster\n")
    ran = answered(drafts, _PRODUCTION, "labeled")
    assert (ran.code, ran.writes) == (0, ("PATCH /pulls/1",)), ran.log
    assert "No cluster or group has the branch of this pull request." in ran.summary
    assert open_in(drafts) == [_STAGING]


def test_a_pull_request_from_a_fork_is_none_of_ours(drafts: Fleet) -> None:
    branch = drafts.repository.pulls[_PRODUCTION].head
    pull = drafts.people.open_from_fork(branch, {PATH: b"evil\n"}, "Upgrade Flux")
    ran = drafts.run(event=payload_of(drafts, pull, "labeled"))
    assert (ran.code, ran.outcome, ran.calls) == (0, "none", ())
    assert f"nothing to do: the branch of pull request #{pull.number} is not in acme/fleet\n" in ran.log


def test_a_fork_that_is_deleted_is_none_of_ours(drafts: Fleet) -> None:
    payload = payload_of(drafts, drafts.repository.pulls[_PRODUCTION], "closed")
    payload["pull_request"]["head"]["repo"] = None
    ran = drafts.run(event=payload)
    assert (ran.code, ran.outcome, ran.calls) == (0, "none", ())


def test_a_pull_request_of_another_branch_is_none_of_ours(drafts: Fleet) -> None:
    drafts.people.push("feature", {"README.md": b"Hello.\n"})
    pull = drafts.people.open_pull("feature", "A feature")
    ran = answered(drafts, pull.number, "labeled")
    assert (ran.code, ran.outcome, ran.calls) == (0, "none", ())
    assert "its branch is not flux-upgrade/" in ran.log


def test_a_branch_with_the_prefix_and_no_cluster_is_left_as_it_is(drafts: Fleet) -> None:
    drafts.people.push("flux-upgrade/of-mine", {"README.md": b"Hello.\n"})
    pull = drafts.people.open_pull("flux-upgrade/of-mine", "Mine")
    ran = answered(drafts, pull.number, "labeled")
    assert (ran.code, ran.outcome, ran.writes) == (0, "none", ())


@pytest.mark.parametrize("sender", ["github-actions[bot]", "flux-upgrade-app[bot]"])
def test_what_a_bot_did_starts_nothing(sender: str, drafts: Fleet) -> None:
    _label(drafts)
    ran = answered(drafts, _PRODUCTION, "unlabeled", sender)
    assert (ran.code, ran.outcome, ran.calls) == (0, "none", ())
    assert "nothing to do: a bot changed pull request #1" in ran.log
    assert answered(drafts, _PRODUCTION, "labeled").writes


def test_our_own_changes_with_the_token_of_a_user_end_with_a_run_that_writes_nothing(drafts: Fleet) -> None:
    _label(drafts)
    answered(drafts, _PRODUCTION, "labeled")
    for action in ("ready_for_review", "edited", "unlabeled"):
        assert answered(drafts, _PRODUCTION, action, "fleet-robot").calls == (_LOOK,)


def test_text_in_a_pull_request_is_no_command(drafts: Fleet) -> None:
    hostile = "x\n::error::owned\n::set-output name=outcome::failed\n$(touch /tmp/owned) ${{ github.token }} `id`"
    drafts.people.label(_PRODUCTION, hostile.replace("\n", "%0A"))
    drafts.people.edit(_PRODUCTION, title=hostile, body=f"{hostile}\n\n{drafts.repository.pulls[_PRODUCTION].body}")
    _label(drafts)
    ran = answered(drafts, _PRODUCTION, "labeled")
    assert (ran.code, ran.outcome) == (0, "updated")
    assert "owned" not in ran.log + ran.summary + str(ran.outputs)
    assert drafts.repository.pulls[_PRODUCTION].title == hostile


def test_the_name_of_a_branch_is_no_command(drafts: Fleet) -> None:
    payload = payload_of(drafts, drafts.repository.pulls[_PRODUCTION], "edited")
    payload["pull_request"]["head"]["ref"] = "flux-upgrade/a`id`::error::$(id)\n::error::owned"
    ran = drafts.run(event=payload)
    assert (ran.code, ran.outcome, ran.writes) == (0, "none", ())
    assert "owned" not in ran.log


@pytest.mark.parametrize("payload", [{}, {"pull_request": None, "sender": {}}, {"pull_request": {"number": "x"}}, []])
def test_an_event_that_says_nothing_is_an_error(payload: Any, drafts: Fleet) -> None:
    ran = drafts.run(event=payload)
    assert (ran.outcome, ran.calls) == ("failed", ())
    assert "GITHUB_EVENT_PATH is not the payload of a pull request" in ran.log


def test_a_dry_run_writes_nothing(drafts: Fleet) -> None:
    _label(drafts)
    payload = payload_of(drafts, drafts.repository.pulls[_PRODUCTION], "labeled")
    ran = drafts.run(event=payload, dry_run="true")
    assert (ran.outcome, ran.calls) == ("held", (_LOOK, _ASK))
