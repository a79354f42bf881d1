"""Approvals, refusals, merges and reverts by users have the effect that the documentation describes."""

from __future__ import annotations

import pytest
from github_stand_in import FAULTS, to
from github_stand_in.people import People

from convergence.asking import SUMMARY, Opens, held_by, newer, open_in, reasons, require_rest, state_of
from convergence.fleet import CONFIG, MINOR, PATCH, PATH, Fleet, manifest
from error_names import require_error
from flux_upgrade.model import markers
from flux_upgrade.model.errors import ForbiddenByForge, UsageError

# Approval


def test_a_draft_that_is_marked_ready_is_approved_and_kept_current(draft: Fleet) -> None:
    draft.people.mark_ready(1)
    draft.run()
    assert (state_of(draft).pending, state_of(draft).approval) == (False, "2.9")
    require_rest(draft)
    before = draft.repository.head(MINOR)
    newer(draft)
    ran = draft.run()
    assert "GRAPHQL updateRefs" in ran.writes
    assert draft.repository.head(MINOR) != before
    assert held_by(draft, MINOR) == manifest("v2.9.4")
    assert (open_in(draft), draft.repository.pulls[1].is_draft) == ([1], False)
    assert state_of(draft).target == "v2.9.4"
    require_rest(draft)


def test_a_draft_that_nobody_approves_is_kept_current_as_a_draft(draft: Fleet) -> None:
    newer(draft)
    draft.run()
    assert (state_of(draft).target, draft.repository.pulls[1].is_draft) == ("v2.9.4", True)
    assert draft.repository.pulls[1].title.startswith("Upgrade Flux to v2.9.4")
    require_rest(draft)


def test_the_label_approves_and_is_taken_off(draft: Fleet) -> None:
    draft.people.label(1, "flux-upgrade/approved")
    draft.run()
    pull = draft.repository.pulls[1]
    assert (pull.is_draft, pull.labels) == (False, [])
    assert state_of(draft).approval == "2.9"
    require_rest(draft)


def test_a_minor_is_approved_by_dispatch_with_its_later_patches(draft: Fleet) -> None:
    draft.run(approve="2.9", event="workflow_dispatch")
    assert not draft.repository.pulls[1].is_draft
    newer(draft)
    draft.run()
    assert (state_of(draft).target, state_of(draft).approval) == ("v2.9.4", "2.9")
    assert not draft.repository.pulls[1].is_draft
    require_rest(draft)


@pytest.mark.parametrize("approve", ["production=2.9", "clusters/production=2.9", "2.9, production=v2.9.3"])
def test_an_approval_by_dispatch_can_name_the_cluster(approve: str, draft: Fleet) -> None:
    assert "-f approve=clusters/production=2.9`" in draft.repository.pulls[1].body
    draft.run(approve=approve, event="workflow_dispatch")
    assert not draft.repository.pulls[1].is_draft
    require_rest(draft)


def test_an_approval_for_a_cluster_that_is_not_there_changes_nothing(draft: Fleet) -> None:
    ran = draft.run(approve="prodution=2.9", event="workflow_dispatch")
    require_error(UsageError, ran.code, ran.log)
    assert ran.writes == ()
    assert "there is no group or cluster 'prodution', did you mean 'production'?" in ran.log
    assert draft.repository.pulls[1].is_draft


@pytest.mark.parametrize("approve", ["v2.9.3", "2.9.3"])
def test_one_version_is_approved_by_dispatch_and_no_other(approve: str, draft: Fleet) -> None:
    draft.run(approve=approve, event="workflow_dispatch")
    assert (state_of(draft).approval, draft.repository.pulls[1].is_draft) == ("v2.9.3", False)
    newer(draft)
    assert reasons(draft) == {"v2.9.4": "needs-approval"}
    assert held_by(draft, MINOR) == manifest("v2.9.3")


def test_one_version_below_the_newest_can_be_approved(draft: Fleet) -> None:
    newer(draft)
    draft.run()
    draft.run(approve="v2.9.3")
    assert (held_by(draft, MINOR), state_of(draft).target) == (manifest("v2.9.3"), "v2.9.3")
    assert not draft.repository.pulls[1].is_draft
    assert reasons(draft) == {"v2.9.4": "needs-approval"}


def test_an_approval_before_there_is_a_draft_opens_it_ready(opens: Opens) -> None:
    fleet = opens("v2.8.8", tags=("v2.8.8", "v2.9.3"))
    fleet.run(approve="2.9")
    assert (open_in(fleet), fleet.repository.pulls[1].is_draft) == ([1], False)
    require_rest(fleet)


def test_a_draft_again_waits_again(draft: Fleet) -> None:
    draft.run(approve="2.9")
    draft.people.to_draft(1)
    draft.run()
    assert draft.repository.pulls[1].is_draft
    assert state_of(draft).pending
    require_rest(draft)
    draft.people.mark_ready(1)
    draft.run()
    assert not state_of(draft).pending
    require_rest(draft)


def test_a_patch_that_is_made_a_draft_is_on_hold(patch: Fleet) -> None:
    patch.people.to_draft(1)
    require_rest(patch)
    newer(patch)
    patch.run()
    assert (state_of(patch).target, patch.repository.pulls[1].is_draft) == ("v2.8.8", True)
    require_rest(patch)


def test_a_policy_that_becomes_wider_makes_the_draft_ready(draft: Fleet) -> None:
    draft.people.push("main", {CONFIG: b"policy: minor\n"}, "Let minors go\n")
    draft.run()
    assert not draft.repository.pulls[1].is_draft
    require_rest(draft)


def test_what_waits_can_be_shown_in_the_summary_alone(opens: Opens) -> None:
    fleet = opens("v2.8.8", SUMMARY, ("v2.8.8", "v2.9.3"))
    ran = fleet.run()
    assert (ran.writes, ran.outcome) == ((), "held")
    assert "| needs approval |" in ran.summary
    assert "approve=2.9" in ran.summary


def test_a_draft_is_closed_when_it_is_to_be_shown_in_the_summary(draft: Fleet) -> None:
    draft.people.push("main", {CONFIG: SUMMARY.encode()}, "No drafts\n")
    assert draft.run().outcome == "closed"
    assert state_of(draft).closed == "summary"
    assert reasons(draft) == {"v2.9.3": "needs-approval"}
    draft.people.push("main", {CONFIG: b"{}\n"}, "Drafts\n")
    draft.run()
    assert len(open_in(draft)) == 1, "a pull request that we closed is no answer"


# Labels, assignees, reviewers

NAMES = "labels: [flux]\nassignees: [alice]\nreviewers: [bob, acme/platform]\n"


def configure(fleet: Fleet, config: str) -> None:
    fleet.people.push("main", {CONFIG: config.encode()}, "Configure\n")


def given(fleet: Fleet, number: int = 1) -> tuple[list[str], ...]:
    pull = fleet.repository.pulls[number]
    return (pull.labels, pull.assignees, pull.reviewers, pull.team_reviewers)


def test_what_is_unknown_costs_the_rest_nothing_and_is_given_with_the_next_commit(opens: Opens) -> None:
    tags = ("v2.8.6", "v2.8.7")
    fleet = opens(
        tags=tags, config=SUMMARY + "labels: [flux]\nassignees: [carol, alice]\nreviewers: [carol, bob, acme/new]\n"
    )
    ran = fleet.run()
    assert (ran.code, ran.outcome) == (0, "opened")
    assert len([warning for pull in ran.report["pull-requests"] for warning in pull["warnings"]]) == 3
    assert given(fleet) == (["flux"], ["alice"], ["bob"], [])
    ran = fleet.run()
    assert (ran.code, ran.outcome) == (0, "none")
    assert (ran.writes, "carol" in ran.summary) == ((), False)
    fleet.repository.settings.collaborators += ("carol",)
    fleet.repository.settings.teams += ("new",)
    require_rest(fleet)
    fleet.people.tick(1, "rebase")
    assert fleet.run().outcome == "updated"
    assert given(fleet) == (["flux"], ["alice", "carol"], ["bob", "carol"], ["new"])
    require_rest(fleet)


def test_what_the_config_adds_is_given_to_open_pull_requests(patch: Fleet) -> None:
    configure(patch, SUMMARY + NAMES)
    patch.run()
    assert given(patch) == (["flux"], ["alice"], ["bob"], ["platform"])
    require_rest(patch)
    patch.people.unlabel(1, "flux")
    patch.repository.pulls[1].reviewers.clear()
    require_rest(patch)
    configure(patch, SUMMARY + NAMES.replace("[flux]", "[flux, more]"))
    patch.run()
    assert given(patch) == (["more"], ["alice"], [], ["platform"])
    require_rest(patch)
    newer(patch)
    patch.run()
    assert given(patch) == (["more"], ["alice"], [], ["platform"])


@pytest.mark.parametrize("how", ["ready", "label", "dispatch", "one version"])
def test_nobody_is_asked_to_review_a_draft_before_it_is_ready(how: str, opens: Opens) -> None:
    fleet = opens("v2.8.8", NAMES, ("v2.8.8", "v2.9.3"))
    fleet.run()
    assert given(fleet) == (["flux"], ["alice"], [], [])
    require_rest(fleet)
    if how == "ready":
        fleet.people.mark_ready(1)
    elif how == "label":
        fleet.people.label(1, "flux-upgrade/approved")
    fleet.run(approve={"dispatch": "2.9", "one version": "v2.9.3"}.get(how, ""))
    assert not fleet.repository.pulls[1].is_draft
    assert given(fleet) == (["flux"], ["alice"], ["bob"], ["platform"])
    require_rest(fleet)


def test_nobody_is_asked_to_review_an_own_pull_request(opens: Opens) -> None:
    fleet = opens(config=SUMMARY + "reviewers: [Bob, alice]\n")
    fleet.token = fleet.hub.token("classic", login="bob", scopes=("repo",))
    fleet.repository.settings.collaborators += ("Bob",)
    fleet.run()
    assert given(fleet) == ([], [], ["alice"], [])
    require_rest(fleet)


# Refusal


def test_a_closed_minor_mutes_it_with_its_later_patches_until_it_is_approved(draft: Fleet) -> None:
    draft.people.close(1)
    assert reasons(draft) == {"v2.9.3": "closed-by-human"}
    newer(draft)
    assert "closed-by-human" in reasons(draft).values()
    assert open_in(draft) == []
    draft.run(approve="2.9")
    assert open_in(draft) == [2]
    assert (draft.repository.pulls[2].is_draft, state_of(draft, 2).target) == (False, "v2.9.4")
    require_rest(draft)


def test_a_closed_patch_mutes_that_version_and_no_later_one(patch: Fleet) -> None:
    patch.people.close(1)
    assert reasons(patch)["v2.8.7"] == "closed-by-human"
    patch.run(approve="v2.8.7")
    assert open_in(patch) == [2]
    patch.people.close(2)
    newer(patch)
    patch.run()
    assert (open_in(patch), state_of(patch, 3).target) == ([3], "v2.8.8")
    require_rest(patch)


def test_a_pull_request_that_is_opened_again_counts_again(patch: Fleet) -> None:
    patch.people.close(1)
    assert reasons(patch)["v2.8.7"] == "closed-by-human"
    patch.people.reopen(1)
    assert patch.run().writes == ("PATCH /pulls/1",), "who reopened it is recorded"
    require_rest(patch)
    assert open_in(patch) == [1]


@pytest.mark.parametrize("bot", ["github-actions[bot]", "stale[bot]"])
def test_a_draft_that_a_bot_closed_is_opened_again(bot: str, draft: Fleet) -> None:
    draft.hub.clock.advance(days=60)
    People(draft.repository, bot).close(1)
    assert draft.run().outcome == "opened"
    assert (open_in(draft), draft.repository.pulls[2].is_draft) == ([2], True)
    require_rest(draft)
    draft.people.close(2)
    assert reasons(draft) == {"v2.9.3": "closed-by-human"}


def test_a_box_that_is_ticked_counts_though_a_bot_closes(draft: Fleet) -> None:
    draft.people.tick(1, "skip")
    People(draft.repository, "stale[bot]").close(1)
    assert reasons(draft) == {"v2.9.3": "closed-by-human"}


def test_a_deleted_branch_is_a_refusal(patch: Fleet) -> None:
    patch.people.delete_branch(PATCH)
    assert reasons(patch)["v2.8.7"] == "closed-by-human"
    assert open_in(patch) == []


def test_the_box_closes_and_mutes(draft: Fleet) -> None:
    draft.people.tick(1, "skip")
    assert draft.run().outcome == "closed"
    assert state_of(draft).closed == markers.SKIP
    assert "**Closed:** It is not proposed again because you ticked its skip box." in draft.repository.pulls[1].body
    assert reasons(draft) == {"v2.9.3": "closed-by-human"}
    draft.run(approve="2.9")
    assert open_in(draft) == [2]


@pytest.mark.parametrize("is_pushed", [False, True])
def test_a_pull_request_that_the_box_closed_goes_on_once_it_is_opened_again(draft: Fleet, *, is_pushed: bool) -> None:
    if is_pushed:
        draft.people.push(MINOR, {"NOTES.md": b"mine\n"})
    draft.people.tick(1, "skip")
    draft.run()
    assert open_in(draft) == []
    assert not markers.is_ticked(draft.repository.pulls[1].body, markers.SKIP)
    draft.people.reopen(1)
    draft.run()
    assert (open_in(draft), draft.repository.pulls[1].is_draft) == ([1], True)
    require_rest(draft)
    newer(draft)
    draft.run()
    assert (open_in(draft), state_of(draft).target) == ([1], "v2.9.3" if is_pushed else "v2.9.4")


def test_the_box_closes_a_branch_that_another_user_pushed_to(patch: Fleet) -> None:
    pushed = patch.people.push(PATCH, {"NOTES.md": b"mine\n"})
    patch.people.tick(1, "skip")
    assert patch.run().outcome == "closed"
    assert patch.repository.head(PATCH) == pushed


def test_who_opens_an_older_one_again_takes_back_what_was_said_of_the_newer(draft: Fleet) -> None:
    draft.repository.close(draft.repository.pulls[1], by="stale[bot]")
    draft.run()
    assert open_in(draft) == [2]
    draft.people.close(2)
    assert reasons(draft) == {"v2.9.3": "closed-by-human"}
    draft.people.reopen(1)
    assert draft.run().report["installations"][0]["decisions"][0]["action"] == "upgrade"
    newer(draft)
    draft.run()
    assert (open_in(draft), state_of(draft).target) == ([1], "v2.9.4")
    require_rest(draft)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_the_label_on_a_closed_draft_approves_it(draft: Fleet, *, is_deleted: bool) -> None:
    draft.people.close(1)
    if is_deleted:
        draft.people.delete_branch(MINOR)
    assert reasons(draft) == {"v2.9.3": "closed-by-human"}
    draft.hub.clock.advance(hours=1)
    draft.people.label(1, "flux-upgrade/approved")
    assert draft.run().outcome == "opened"
    assert (open_in(draft), draft.repository.pulls[2].is_draft) == ([2], False)
    assert state_of(draft, 2).approval == "2.9"
    require_rest(draft)
    # The label is still there, and what was done since is newer.
    draft.people.close(2)
    assert reasons(draft) == {"v2.9.3": "closed-by-human"}
    assert open_in(draft) == []


def test_who_closes_what_is_labelled_has_changed_their_mind(draft: Fleet) -> None:
    draft.people.label(1, "flux-upgrade/approved")
    draft.hub.clock.advance(hours=1)
    draft.people.close(1)
    assert reasons(draft) == {"v2.9.3": "closed-by-human"}
    assert open_in(draft) == []


# Merge and revert


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
@pytest.mark.parametrize("is_deleted", [True, False])
def test_after_a_merge_the_next_patch_has_a_pull_request_of_its_own(
    method: str, is_deleted: object, opens: Opens
) -> None:
    fleet = opens(config=SUMMARY, delete_branch_on_merge=is_deleted)
    fleet.run()
    fleet.people.merge(1, method)
    assert reasons(fleet) == {"v2.9.3": "needs-approval"}
    newer(fleet)
    fleet.run()
    assert open_in(fleet) == [2]
    assert (state_of(fleet, 2).target, held_by(fleet, PATCH)) == ("v2.8.8", manifest("v2.8.8"))
    require_rest(fleet)


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_revert_is_respected_until_it_is_approved(method: str, is_deleted: object, opens: Opens) -> None:
    fleet = opens(config=SUMMARY, delete_branch_on_merge=is_deleted)
    fleet.run()
    fleet.people.revert(fleet.people.merge(1, method))
    assert fleet.repository.files()[PATH] == manifest("v2.8.6")
    assert reasons(fleet)["v2.8.7"] == "reverted"
    fleet.run(approve="v2.8.7")
    assert open_in(fleet) == [2]
    assert held_by(fleet, PATCH) == manifest("v2.8.7")
    require_rest(fleet)
    fleet.people.merge(2, method)
    assert reasons(fleet) == {"v2.9.3": "needs-approval"}


def test_a_revert_is_of_what_was_merged_whatever_the_body_says(patch: Fleet) -> None:
    newer(patch)
    patch.hub.fail(FAULTS["403 permission"], to("PATCH", "/pulls/"))
    ran = patch.run()
    require_error(ForbiddenByForge, ran.code, ran.log)
    assert (held_by(patch, PATCH), state_of(patch).target) == (manifest("v2.8.8"), "v2.8.7")
    patch.people.revert(patch.people.merge(1, "squash"))
    assert reasons(patch)["v2.8.8"] == "reverted"


def test_a_reverted_minor_is_muted_with_its_patches(draft: Fleet) -> None:
    draft.people.mark_ready(1)
    draft.run()
    draft.people.revert(draft.people.merge(1, "squash"))
    newer(draft)
    assert "reverted" in reasons(draft).values()
    assert open_in(draft) == []


def test_a_patch_is_closed_when_the_minor_is_merged(opens: Opens) -> None:
    fleet = opens()
    fleet.run(approve="2.9")
    assert len(open_in(fleet)) == 2
    patch, minor = sorted(open_in(fleet), key=lambda number: state_of(fleet, number).subject != "patch")
    assert not fleet.repository.pulls[minor].is_draft
    fleet.people.merge(minor)
    assert fleet.run().outcome == "closed"
    assert (open_in(fleet), state_of(fleet, patch).closed) == ([], "done")
    require_rest(fleet)


def test_what_was_done_by_hand_is_closed_and_no_refusal(patch: Fleet) -> None:
    patch.people.push("main", {PATH: manifest("v2.8.7")}, "By hand\n")
    assert patch.run().outcome == "closed"
    assert "**Closed:**" in patch.repository.pulls[1].body
    newer(patch)
    patch.run()
    assert state_of(patch, 2).target == "v2.8.8"


def test_a_patch_is_closed_when_the_minor_that_it_is_of_is_reverted(draft: Fleet) -> None:
    draft.people.mark_ready(1)
    draft.run()
    merged = draft.people.merge(1, "squash")
    newer(draft)
    draft.run()
    assert (open_in(draft), state_of(draft, 2).target) == ([2], "v2.9.4")
    draft.people.revert(merged)
    assert draft.run().outcome == "closed"
    assert (open_in(draft), state_of(draft, 2).closed) == ([], "other-size")


def test_a_patch_that_is_refused_stays_refused_after_another_tool_upgraded_to_an_approved_minor(draft: Fleet) -> None:
    draft.people.mark_ready(1)
    draft.run()
    draft.people.push(MINOR, {"NOTES.md": b"mine\n"})
    draft.people.push("main", {PATH: manifest("v2.9.3")}, "Upgrade Flux\n")
    newer(draft)
    draft.run()
    assert state_of(draft, 2).target == "v2.9.4"
    draft.people.close(2)
    draft.run()
    assert open_in(draft) == [1], "the approval of 2.9 that #1 carries is older than the refusal of v2.9.4"


def test_a_rebase_of_what_is_no_longer_needed_closes_it(draft: Fleet) -> None:
    draft.people.push(MINOR, {"NOTES.md": b"mine\n"})
    draft.people.push("main", {PATH: manifest("v2.9.3")}, "Upgrade Flux\n")
    draft.run()
    assert open_in(draft) == [1], "the commit of another user is on it"
    draft.people.tick(1, "rebase")
    assert draft.run().outcome == "closed"
    assert state_of(draft).closed == "done"
