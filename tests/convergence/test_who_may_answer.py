"""Who may answer what: approvals count only from users who may write, refusals from anybody.

The stand-in lets every user do everything: which deeds GitHub itself refuses is not what keeps a pull request safe.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from github_stand_in import FAULTS, to
from github_stand_in.model import Pull, Rule
from github_stand_in.people import People

from convergence.asking import Opens, newer, open_in, require_rest, state_of
from convergence.dashboards import dashboard
from convergence.fleet import CONFIG, MINOR, PATCH, Fleet, fleet_at, installation
from flux_upgrade.model import markers

WRITERS = ("write", "maintain", "admin")
OTHERS = ("none", "read", "triage", "gone", "app")
"""``none``: an outsider of a private repository; ``gone``: an account that was deleted; ``app``: another program."""
_APPROVE, _REBASE = markers.APPROVED_LABEL, markers.REBASE_LABEL
_NEXT = ("v2.8.8", "v2.9.3")


def _user(fleet: Fleet, role: str) -> People:
    """A user with a role, who is not the one that owns the repository."""
    login = "helper[bot]" if role == "app" else "carol"
    if role != "app":
        fleet.repository.settings.roles[login] = role
    return People(fleet.repository, login)


def _permissions_asked(calls: tuple[str, ...]) -> int:
    return sum("/permission" in call for call in calls)


# Approvals and lifts


def _ready(_: Fleet, user: People) -> None:
    user.mark_ready(1)


def _label(_: Fleet, user: People) -> None:
    user.label(1, _APPROVE)


def _edited_state(fleet: Fleet, user: People) -> None:
    """Claim in the block of the body that the minor is approved, and mark it ready as nobody."""
    body = fleet.repository.pulls[1].body
    state = markers.state_of(body)
    text = markers.text_of(body)
    assert state is not None
    assert text is not None
    user.edit(1, body=markers.block(text, state._replace(approval="2.9", pending=False)))


def _closed_and_labelled(fleet: Fleet, user: People) -> None:
    fleet.people.close(1)
    fleet.hub.clock.advance(hours=1)
    user.label(1, _APPROVE)


def _closed_and_reopened_ready(fleet: Fleet, user: People) -> None:
    fleet.people.mark_ready(1)
    fleet.run()
    fleet.people.close(1)
    user.reopen(1)


def _without_our_text(_: Fleet, user: People) -> None:
    """Take the block away, so that only the commit tells what it was, and mark it ready."""
    user.edit(1, body="Nothing to see here.")
    user.mark_ready(1)


_APPROVALS = (_ready, _label, _closed_and_labelled, _closed_and_reopened_ready, _without_our_text)


def _is_approved(fleet: Fleet) -> bool:
    """Whether a pull request of ours for the minor is open, ready, and not held."""
    ran = fleet.run()
    assert ran.code == 0, ran.log
    decisions = [each for found in ran.report["installations"] for each in found["decisions"]]
    reasons = {each["reason"] for each in decisions if each["action"] == "hold"}
    ready = [pull for pull in fleet.repository.pulls.values() if pull.state == "open" and not pull.is_draft]
    return bool(ready) and not reasons & {"needs-approval", "closed-by-human"}


@pytest.mark.parametrize("role", WRITERS)
@pytest.mark.parametrize("approve", _APPROVALS)
def test_an_approval_of_a_user_who_may_write_counts(approve: Callable[..., None], role: str, draft: Fleet) -> None:
    approve(draft, _user(draft, role))
    assert _is_approved(draft)
    fleet_rests(draft)


@pytest.mark.parametrize("role", OTHERS)
@pytest.mark.parametrize("approve", [*_APPROVALS, _edited_state])
def test_an_approval_of_anybody_else_does_not_count(approve: Callable[..., None], role: str, draft: Fleet) -> None:
    approve(draft, _user(draft, role))
    assert not _is_approved(draft)
    fleet_rests(draft)
    newer(draft)
    assert not _is_approved(draft)


def fleet_rests(fleet: Fleet) -> None:
    """A further run makes one call, and writes nothing: who answered is recorded."""
    fleet.run()
    ran = fleet.run()
    assert (ran.code, ran.calls) == (0, ("GRAPHQL query",)), ran.log


@pytest.mark.parametrize("role", [*WRITERS, *OTHERS])
@pytest.mark.parametrize("how", ["label", "box"])
def test_only_users_who_may_write_have_pushed_commits_discarded(how: str, role: str, patch: Fleet) -> None:
    pushed = patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    patch.run()
    user = _user(patch, role)
    user.label(1, _REBASE) if how == "label" else user.tick(1, "rebase")
    patch.run()
    assert (patch.repository.head(PATCH) != pushed) == (role in WRITERS)
    fleet_rests(patch)


@pytest.mark.parametrize("role", OTHERS)
def test_a_box_without_our_text_around_it_asks_for_nothing(role: str, patch: Fleet) -> None:
    pushed = patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    patch.run()
    _user(patch, role).edit(1, body=f"Please.\n\n- [x] <!-- flux-upgrade:{markers.REBASE} --> now\n")
    for _ in range(3):
        patch.run()
        assert patch.repository.head(PATCH) == pushed


def test_a_box_outside_of_our_text_asks_for_nothing_once_we_have_written_the_body_again(patch: Fleet) -> None:
    body = patch.repository.pulls[1].body
    _user(patch, "triage").edit(1, body=f"- [x] <!-- flux-upgrade:{markers.REBASE} --> now\n\n{body}")
    patch.run()
    pushed = patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    for _ in range(3):
        patch.run()
        assert patch.repository.head(PATCH) == pushed


@pytest.mark.parametrize("role", [*WRITERS, *OTHERS])
def test_only_users_who_may_write_withdraw_a_refusal(role: str, patch: Fleet) -> None:
    patch.people.close(1)
    _user(patch, role).reopen(1)
    newer(patch)
    patch.release("v2.8.6", "v2.8.7")
    ran = patch.run()
    decisions = [each for found in ran.report["installations"] for each in found["decisions"]]
    is_declined = "closed-by-human" in {each.get("reason") for each in decisions}
    assert is_declined == (role not in WRITERS)
    fleet_rests(patch)


@pytest.mark.parametrize("role", [*WRITERS, *OTHERS])
def test_only_users_who_may_write_approve_on_the_dashboard(role: str, tmp_path: Path) -> None:
    with fleet_at(tmp_path, installation("v2.8.8"), "dashboard: true\n", _NEXT) as fleet:
        fleet.run()
        _user(fleet, role).tick(dashboard(fleet).number, "Approve 2.9")
        fleet.run()
        assert fleet.repository.pulls[1].is_draft == (role not in WRITERS)
        assert markers.ticked(dashboard(fleet).body) == frozenset()
        fleet_rests(fleet)


@pytest.mark.parametrize("role", [*WRITERS, *OTHERS])
def test_only_users_who_may_write_approve_an_issue_that_stands_for_a_draft(role: str, tmp_path: Path) -> None:
    with fleet_at(tmp_path, installation("v2.8.8"), tags=_NEXT, drafts=False) as fleet:
        fleet.run()
        (number,) = fleet.repository.issues
        _user(fleet, role).label(number, _APPROVE)
        fleet.run()
        assert bool(open_in(fleet)) == (role in WRITERS)
        fleet_rests(fleet)


# Refusals


@pytest.mark.parametrize("role", [*WRITERS, *OTHERS])
@pytest.mark.parametrize("how", ["close", "skip", "draft"])
def test_a_refusal_counts_from_anybody(how: str, role: str, patch: Fleet) -> None:
    user = _user(patch, role)
    if how == "close":
        user.close(1)
    elif how == "skip":
        user.tick(1, "skip")
    else:
        user.to_draft(1)
    patch.run()
    pull = patch.repository.pulls[1]
    # A program that closes what is stale gives no opinion.
    if how == "close" and role == "app":
        assert open_in(patch) == [2]
    else:
        assert pull.is_draft if how == "draft" else open_in(patch) == []
    fleet_rests(patch)


@pytest.mark.parametrize("role", ["triage", "gone"])
def test_a_refusal_holds_after_whoever_gave_it_has_left(role: str, draft: Fleet) -> None:
    bob = People(draft.repository, "bob")
    bob.close(1)
    draft.run()
    draft.repository.settings.roles["bob"] = role
    newer(draft)
    draft.run()
    assert open_in(draft) == []


@pytest.mark.parametrize("how", ["target", "paths", "closed"])
def test_an_edited_body_withdraws_no_refusal(how: str, draft: Fleet) -> None:
    draft.people.close(1)
    body = draft.repository.pulls[1].body
    state, text = markers.state_of(body), markers.text_of(body)
    assert state is not None
    assert text is not None
    forged = {
        "target": state._replace(target=type(state.target)("v2.7.0")),
        "paths": state._replace(paths=("0123456789abcdef",)),
        "closed": state._replace(closed="done"),
    }[how]
    _user(draft, "triage").edit(1, body=markers.block(text, forged))
    draft.run()
    assert open_in(draft) == []
    newer(draft)
    draft.run()
    assert open_in(draft) == []


def test_an_approval_stays_after_whoever_gave_it_has_left(draft: Fleet) -> None:
    People(draft.repository, "bob").mark_ready(1)
    draft.run()
    draft.repository.settings.roles["bob"] = "gone"
    newer(draft)
    draft.run()
    assert not draft.repository.pulls[1].is_draft
    assert state_of(draft).target == "v2.9.4"
    fleet_rests(draft)


# What is asked, and what it costs


def test_two_new_answers_cost_a_call_each_and_the_next_run_asks_nothing(draft: Fleet) -> None:
    People(draft.repository, "bob").mark_ready(1)
    draft.people.edit(1, body=f"Please review.\n\n{draft.repository.pulls[1].body}")
    ran = draft.run()
    assert _permissions_asked(ran.calls) == 2
    assert state_of(draft).answers != ()
    assert draft.run().calls == ("GRAPHQL query",)


@pytest.mark.parametrize("fault", ["500", "403 permission", "reset"])
def test_who_cannot_be_told_does_not_approve_until_github_tells(fault: str, draft: Fleet) -> None:
    draft.people.label(1, _APPROVE)
    draft.hub.fail(FAULTS[fault], to("GET", "/permission"), times=50)
    ran = draft.run()
    assert (ran.code, ran.writes) == (0, ())
    assert "permissions of alice" in ran.log
    assert draft.repository.pulls[1].is_draft
    draft.undisturbed()
    draft.run()
    assert not draft.repository.pulls[1].is_draft


def test_the_author_association_is_not_believed(draft: Fleet) -> None:
    """It names whoever ever committed, or a member of the organization who may only read."""
    _user(draft, "read").label(1, _APPROVE)
    draft.run()
    assert draft.repository.pulls[1].is_draft
    assert not any("author_association" in call for call in draft.run().calls)


def test_the_log_names_who_may_not_write(draft: Fleet) -> None:
    _user(draft, "triage").mark_ready(1)
    ran = draft.run()
    assert "carol marked it ready for review in" in ran.log
    assert "may not write to the repository" in ran.log
    assert "carol" not in draft.run().log


# Pull requests that others opened


def _stranger(fleet: Fleet, branch: str, body: str, base: str = "", *, is_draft: bool = False) -> Pull:
    mallory = People(fleet.repository, "mallory")
    return mallory.open_pull(branch, "Upgrade Flux", body, base=base, is_draft=is_draft)


@pytest.fixture
def merging(opens: Opens) -> Fleet:
    """A patch is open, and would be merged by itself."""
    fleet = opens(config="pending: summary\nauto-merge: patch\n", auto_merge=True, required_contexts=("ci",))
    assert fleet.run().outcome == "opened"
    return fleet


def test_a_declined_patch_is_not_adopted_from_a_stranger(merging: Fleet) -> None:
    body = merging.repository.pulls[1].body
    merging.people.close(1)
    stranger = _stranger(merging, PATCH, body)
    ran = merging.run()
    assert (stranger.state, stranger.auto_merge) == ("closed", "")
    assert open_in(merging) == []
    assert "mallory" in ran.summary
    assert [comment.author for comment in stranger.comments] == ["github-actions[bot]"]
    require_rest(merging)


def test_a_declined_minor_is_not_approved_by_a_stranger(draft: Fleet) -> None:
    draft.people.close(1)
    draft.run()
    _stranger(draft, MINOR, "An ordinary text.")
    draft.run()
    assert open_in(draft) == []
    require_rest(draft)


def test_a_stranger_refuses_nothing(patch: Fleet) -> None:
    body = patch.repository.pulls[1].body
    state, text = markers.state_of(body), markers.text_of(body)
    assert state is not None
    assert text is not None
    patch.people.push("flux-upgrade/other", {"NOTES.md": b"mine\n"})
    merged = patch.people.merge(1)
    patch.run()
    patch.people.force_push(PATCH, merged)
    patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    forged = markers.block(text, state._replace(target=type(state.target)("v2.8.8")))
    People(patch.repository, "mallory").close(_stranger(patch, PATCH, forged).number)
    patch.people.delete_branch(PATCH)
    newer(patch)
    patch.run()
    assert [patch.repository.pulls[number].author for number in open_in(patch)] == ["github-actions[bot]"]
    assert state_of(patch, open_in(patch)[0]).target == "v2.8.8"


def test_a_pull_request_into_another_base_holds_nothing(patch: Fleet) -> None:
    patch.people.force_push("release", patch.repository.head())
    stranger = _stranger(patch, PATCH, "Backport", base="release")
    newer(patch)
    assert patch.run().outcome == "updated"
    assert stranger.state == "open"
    assert state_of(patch).target == "v2.8.8"


def test_a_pull_request_of_a_stranger_makes_way_for_ours(patch: Fleet) -> None:
    """A bot closed ours, and a stranger was faster than the next run."""
    People(patch.repository, "stale[bot]").close(1)
    stranger = _stranger(patch, PATCH, "Mine now.")
    ran = patch.run()
    assert (ran.code, stranger.state) == (0, "closed")
    assert [patch.repository.pulls[number].author for number in open_in(patch)] == ["github-actions[bot]"]
    assert "mallory" in ran.summary
    require_rest(patch)


def test_where_closing_is_refused_a_hold_names_the_pull_request(patch: Fleet) -> None:
    People(patch.repository, "stale[bot]").close(1)
    stranger = _stranger(patch, PATCH, "Mine now.")
    patch.hub.fail(FAULTS["403 permission"], to("PATCH", f"/pulls/{stranger.number}"), times=9)
    ran = patch.run()
    (held,) = [each for each in ran.report["pull-requests"] if each["reason"]]
    assert held["reason"] == "branch-blocked"
    assert f"mallory opened {patch.hub.url}/acme/fleet/pull/{stranger.number}" in ran.log
    assert ran.code == 0


@pytest.mark.parametrize("is_configured", [False, True])
def test_pull_requests_of_a_former_account_count_if_the_config_names_it(opens: Opens, *, is_configured: bool) -> None:
    fleet = opens(config="pending: summary\n")
    own = fleet.token
    fleet.token = fleet.hub.token("classic", login="bob", scopes=("repo",))
    fleet.run()
    fleet.people.close(1)
    fleet.token = own
    if is_configured:
        fleet.people.push("main", {CONFIG: b"pending: summary\naccounts: [Bob]\n"}, "Name bob\n")
    fleet.run()
    assert open_in(fleet) == ([] if is_configured else [2])
    require_rest(fleet)


# Branches


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_merged_branch_is_deleted(method: str, patch: Fleet) -> None:
    patch.people.merge(1, method)
    patch.run()
    assert patch.repository.head(PATCH) == ""
    require_rest(patch)


def test_a_closed_branch_stays_so_that_it_can_be_reopened(patch: Fleet) -> None:
    patch.people.close(1)
    patch.run()
    assert patch.repository.head(PATCH)
    patch.people.reopen(1)
    patch.run()
    assert open_in(patch) == [1]


def test_a_merged_branch_with_a_commit_of_a_user_stays(patch: Fleet) -> None:
    patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    patch.people.merge(1)
    patch.run()
    assert patch.repository.head(PATCH)
    require_rest(patch)


@pytest.mark.parametrize("is_classic", [False, True])
def test_a_branch_that_may_not_be_deleted_stays(patch: Fleet, *, is_classic: bool) -> None:
    patch.repository.settings.rules = (Rule("DELETION", "flux-upgrade/**/*", is_classic=is_classic),)
    patch.people.merge(1)
    ran = patch.run()
    assert (ran.code, ran.writes) == (0, ())
    assert patch.repository.head(PATCH)
