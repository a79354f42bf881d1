"""Each state of a branch, its pull request and its issue leads to the right steps, and no step is taken twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flux_upgrade.config.config import Governance, Group
from flux_upgrade.model import markers
from flux_upgrade.model.forge import (
    ClosePull,
    CommentPull,
    Extras,
    OpenIssue,
    OpenPull,
    Question,
    Repository,
    RevertPull,
    Step,
    UpdateIssue,
    UpdatePull,
)
from flux_upgrade.planning.proposal import Proposal, ProposalContext
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.policy.feedback import APPROVED, REBASE, issue_of
from flux_upgrade.policy.policy import MaxBump
from flux_upgrade.pullrequests.desired import Reconciliation
from flux_upgrade.pullrequests.reconcile import instead_of_draft, reconcile, reconcile_without
from flux_upgrade.pullrequests.text import commit
from memory_forge import MemoryForge
from planned import change_of
from replacing import replace
from written_proposals import PATH, Stated, proposal, proposal_context

CONTEXT = proposal_context()
DRAFT = proposal(approved=False)
READY = replace(DRAFT, upgrades=tuple(
    (plan, replace(upgrade, bump=replace(upgrade.bump, approved=True, approval="2.9")))
    for plan, upgrade in DRAFT.upgrades
))  # fmt: skip
NEXT = proposal(Stated(target="v2.9.4"), approved=False)
OLDER = proposal(Stated(target="v2.9.3"), approved=False)
PATCH = proposal(Stated(version="v2.8.7", target="v2.8.8"), subject=BumpKind.PATCH)
BRANCH = DRAFT.branch


def forge_for(proposed: Proposal = DRAFT, *, has_drafts: bool = True) -> MemoryForge:
    files = {plan.path: plan.pin.content for plan, _ in proposed.upgrades}
    return MemoryForge({"README.md": b"Fleet\n", **files}, has_drafts=has_drafts)


def fetched(forge: MemoryForge, proposed: Proposal = DRAFT) -> Repository:
    return forge.fetch(Question((proposed.branch,), tuple(plan.path for plan, _ in proposed.upgrades)))


def reconciled(
    forge: MemoryForge, proposed: Proposal = DRAFT, surroundings: ProposalContext = CONTEXT
) -> Reconciliation:
    return reconcile(proposed, surroundings, fetched(forge, proposed))


def apply_steps(forge: MemoryForge, found: Reconciliation) -> None:
    for step in found.steps:
        forge.apply(step)


def with_pull_request(proposed: Proposal = DRAFT) -> MemoryForge:
    forge = forge_for(proposed)
    apply_steps(forge, reconciled(forge, proposed))
    forge.steps.clear()
    return forge


def number_of(forge: MemoryForge) -> int:
    (pull,) = forge.open_pulls()
    return pull.number


def steps_of(found: Reconciliation) -> str:
    """A convergence in a few words."""
    hold = [f"hold {found.hold.reason}"] if found.hold is not None else []
    return "; ".join([*hold, *map(_in_words, found.steps)])


def _in_words(step: Step) -> str:
    match step:
        case OpenPull():
            parts = ["open", "draft" * step.is_draft, "commit" * (step.commit is not None), "over" * bool(step.before)]
        case UpdatePull():
            names = ("commit", "title", "body", "status")
            parts = ["update", *(name for name in names if getattr(step, name) is not None)]
            parts += [
                "ready" * step.make_ready,
                "draft" * step.make_draft,
                *(f"-{label.rpartition('/')[2]}" for label in step.drop_labels),
            ]
        case ClosePull():
            parts = ["close"]
        case CommentPull():
            parts = ["comment"]
        case RevertPull():
            parts = ["revert"]
        case OpenIssue():
            parts = ["open issue"]
        case UpdateIssue():
            parts = ["close issue" if step.close else "update issue"]
    return " ".join(filter(None, parts))


# Without a pull request


def _nothing(_: MemoryForge) -> None:
    pass


def _cut_off(forge: MemoryForge) -> None:
    """A run that ended once it had made the branch."""
    apply_steps(forge, reconciled(forge))
    del forge.pulls[number_of(forge)]


def _cut_off_long_ago(forge: MemoryForge) -> None:
    apply_steps(forge, reconciled(forge, OLDER))
    del forge.pulls[number_of(forge)]


def _branch_of_another_user(forge: MemoryForge) -> None:
    forge.push(BRANCH, {"a.txt": b"mine\n"})


def _commit_of_another_user_on_top(forge: MemoryForge) -> None:
    _cut_off(forge)
    forge.push(BRANCH, {"a.txt": b"mine\n"})


def _closed(forge: MemoryForge) -> None:
    apply_steps(forge, reconciled(forge))
    forge.close_pull(number_of(forge))


def _closed_after_a_push(forge: MemoryForge) -> None:
    _closed(forge)
    forge.push(BRANCH, {"a.txt": b"mine\n"})


def _branch_deleted(forge: MemoryForge) -> None:
    apply_steps(forge, reconciled(forge))
    forge.delete(BRANCH)


def _merged_and_reverted(forge: MemoryForge) -> None:
    apply_steps(forge, reconciled(forge))
    before = dict(forge.files)
    forge.merge(number_of(forge))
    forge.push_to_base(before)


def _merged_with_a_push_and_reverted(forge: MemoryForge) -> None:
    apply_steps(forge, reconciled(forge))
    before = dict(forge.files)
    forge.push(BRANCH, {"a.txt": b"mine\n"})
    forge.merge(number_of(forge))
    forge.push_to_base(before)


def _issue(forge: MemoryForge) -> None:
    forge.apply(instead_of_draft(DRAFT, CONTEXT))


def _issue_out_of_date(forge: MemoryForge) -> None:
    forge.apply(instead_of_draft(OLDER, CONTEXT))


def _unrelated_issue(forge: MemoryForge) -> None:
    forge.apply(OpenIssue("Flux?", "When do we upgrade?", ()))


@pytest.mark.parametrize(
    ("prepare", "steps", "steps_when_approved"),
    [
        (_nothing, "open draft commit", "open commit"),
        (_cut_off, "open draft over", "open over"),
        (_cut_off_long_ago, "open draft commit over", "open commit over"),
        (_branch_of_another_user, "hold branch-edited", "hold branch-edited"),
        (_commit_of_another_user_on_top, "hold branch-edited", "hold branch-edited"),
        (_closed, "open draft over", "open over"),
        (_closed_after_a_push, "hold branch-edited", "hold branch-edited"),
        (_branch_deleted, "open draft commit", "open commit"),
        (_merged_and_reverted, "open draft commit over", "open commit over"),
        (_merged_with_a_push_and_reverted, "open draft commit over", "open commit over"),
        (_issue, "", "open commit; close issue"),
        (_issue_out_of_date, "update issue", "open commit; close issue"),
        (_unrelated_issue, "open draft commit", "open commit"),
    ],
    ids=lambda each: each.__name__.strip("_") if callable(each) else "",
)
def test_where_no_pull_request_is_open(
    prepare: Callable[[MemoryForge], None], steps: str, steps_when_approved: str
) -> None:
    forge = forge_for()
    prepare(forge)
    assert steps_of(reconciled(forge)) == steps
    assert steps_of(reconciled(forge, READY)) == steps_when_approved


# With one


def _title_edited(forge: MemoryForge) -> None:
    forge.edit(number_of(forge), title="Flux, finally")


def _text_around(forge: MemoryForge) -> None:
    number = number_of(forge)
    forge.edit(number, body=f"Do not merge on a Friday.\r\n\r\n{forge.pulls[number][1].body}\r\nThanks")


def _line_ends(forge: MemoryForge) -> None:
    number = number_of(forge)
    forge.edit(number, body=forge.pulls[number][1].body.replace("\n", "\r\n"))


def _text_within(forge: MemoryForge) -> None:
    number = number_of(forge)
    forge.edit(number, body=forge.pulls[number][1].body.replace("**Why now:**", "**Why not:**"))


def _body_rewritten(forge: MemoryForge) -> None:
    forge.edit(number_of(forge), body="LGTM")


def _marked_ready(forge: MemoryForge) -> None:
    forge.edit(number_of(forge), is_draft=False)


def _labelled(forge: MemoryForge) -> None:
    forge.label(number_of(forge), APPROVED)


def _other_labels(forge: MemoryForge) -> None:
    forge.label(number_of(forge), "flux")


def _pushed(forge: MemoryForge) -> None:
    forge.push(BRANCH, {"a.txt": b"mine\n"})


def _pushed_and_rebase_asked_by_box(forge: MemoryForge) -> None:
    _pushed(forge)
    forge.tick(number_of(forge), markers.REBASE)


def _pushed_and_rebase_asked_by_label(forge: MemoryForge) -> None:
    _pushed(forge)
    forge.label(number_of(forge), REBASE)


def _conflicting(forge: MemoryForge) -> None:
    forge.edit(number_of(forge), is_conflicting=True)


def _conflicting_by_a_push(forge: MemoryForge) -> None:
    _pushed(forge)
    _conflicting(forge)


def _base_moved_elsewhere(forge: MemoryForge) -> None:
    forge.push_to_base({"README.md": b"More\n"})


def _status_lost(forge: MemoryForge) -> None:
    head = forge.heads[BRANCH]
    forge.commits[head] = replace(forge.commits[head], statuses={})


def _status_red(forge: MemoryForge) -> None:
    head = forge.heads[BRANCH]
    forge.commits[head] = replace(forge.commits[head], statuses={commit.status(DRAFT).context: "failure"})


def _branch_gone(forge: MemoryForge) -> None:
    """The forge has not closed the pull request yet."""
    del forge.heads[BRANCH]


@pytest.mark.parametrize(
    ("prepare", "steps", "steps_when_approved"),
    [
        (_nothing, "", "update body ready"),
        (_title_edited, "", "update body ready"),
        (_text_around, "", "update body ready"),
        (_line_ends, "", "update body ready"),
        (_text_within, "update body", "update body ready"),
        (_body_rewritten, "update body", "update body"),
        (_marked_ready, "update draft", "update body"),  # what is ready and waits was never approved
        (_labelled, "update -approved", "update body ready -approved"),
        (_other_labels, "", "update body ready"),
        (_pushed, "hold branch-edited; comment", "hold branch-edited; comment"),
        (_pushed_and_rebase_asked_by_box, "update commit body status", "update commit body status ready"),
        (_pushed_and_rebase_asked_by_label, "update commit status -rebase", "update commit body status ready -rebase"),
        (_conflicting, "update commit status", "update commit body status ready"),
        (_conflicting_by_a_push, "hold branch-edited; comment", "hold branch-edited; comment"),
        (_base_moved_elsewhere, "", "update body ready"),
        (_status_lost, "update status", "update body status ready"),
        (_status_red, "update status", "update body status ready"),
        (_branch_gone, "", ""),
    ],
    ids=lambda each: each.__name__.strip("_") if callable(each) else "",
)
def test_where_a_draft_is_open(prepare: Callable[[MemoryForge], None], steps: str, steps_when_approved: str) -> None:
    forge = with_pull_request()
    prepare(forge)
    assert steps_of(reconciled(forge)) == steps
    assert steps_of(reconciled(forge, READY)) == steps_when_approved


def test_what_was_approved_is_not_made_a_draft_again() -> None:
    forge = with_pull_request()
    apply_steps(forge, reconciled(forge, READY))
    assert not forge.pulls[1][1].is_draft
    assert steps_of(reconciled(forge, READY)) == ""


def test_who_converts_to_draft_holds_it() -> None:
    forge = with_pull_request(PATCH)
    forge.edit(number_of(forge), is_draft=True)
    assert steps_of(reconciled(forge, PATCH)) == ""


def test_who_approves_again_lets_go_what_a_person_holds() -> None:
    forge = with_pull_request(PATCH)
    forge.edit(number_of(forge), is_draft=True)
    assert steps_of(reconciled(forge, replace(PATCH, is_asked=True))) == "update ready"


def test_another_target_makes_the_commit_anew() -> None:
    forge = with_pull_request(OLDER)
    found = reconciled(forge, NEXT)
    assert steps_of(found) == "update commit title body status"
    apply_steps(forge, found)
    assert forge.pulls[1][1].title == commit.title(NEXT, CONTEXT)
    assert forge.trees[forge.heads[BRANCH]][PATH] == change_of(NEXT.upgrades[0][1]).new


def test_a_title_of_a_person_stays_when_the_target_changes() -> None:
    forge = with_pull_request(OLDER)
    _title_edited(forge)
    apply_steps(forge, reconciled(forge, NEXT))
    assert forge.pulls[1][1].title == "Flux, finally"
    # And that stays so: the digest in the body is still that of the title that we gave.
    assert steps_of(reconciled(forge, NEXT)) == ""


def test_a_commit_has_the_base_as_its_parent_and_its_modes() -> None:
    forge = forge_for()
    repository = fetched(forge)
    files = {PATH: replace(repository.files[PATH], mode="100755")}
    (step,) = reconcile(DRAFT, CONTEXT, replace(repository, files=files)).steps
    assert isinstance(step, OpenPull)
    assert step.commit is not None
    assert (step.commit.parent, step.commit.parent_tree) == (repository.base_oid, repository.base_tree)
    assert step.commit.files == {PATH: ("100755", change_of(DRAFT.upgrades[0][1]).new)}


@pytest.mark.parametrize(
    ("group", "proposed", "extras"),
    [
        (Group(), PATCH, Extras()),
        (
            Group(governance=Governance(labels=("flux",), reviewers=("acme/platform",), assignees=("ann",))),
            DRAFT,
            Extras(("flux",), ("ann",)),
        ),
        (Group(governance=Governance(reviewers=("acme/platform",))), PATCH, Extras(reviewers=("acme/platform",))),
        (Group(governance=Governance(auto_merge=MaxBump.PATCH)), PATCH, Extras(auto_merge=True)),
        (Group(governance=Governance(auto_merge=MaxBump.PATCH)), DRAFT, Extras()),
        (Group(governance=Governance(auto_merge=MaxBump.PATCH)), READY, Extras()),
    ],
    ids=["none", "people", "reviewers", "a patch merges by itself", "a draft does not", "a minor does not"],
)
def test_extras(group: Group, proposed: Proposal, extras: Extras) -> None:
    (step,) = reconciled(forge_for(proposed), replace(proposed, group=group)).steps
    assert isinstance(step, OpenPull)
    assert step.extras == extras


def test_a_patch_that_waits_for_approval_does_not_merge_by_itself() -> None:
    waiting = proposal(Stated(version="v2.8.7", target="v2.8.8"), subject=BumpKind.PATCH, approved=False)
    (step,) = reconciled(
        forge_for(waiting), replace(waiting, group=Group(governance=Governance(auto_merge=MaxBump.PATCH)))
    ).steps
    assert isinstance(step, OpenPull)
    assert not step.extras.auto_merge


# Idempotence


@pytest.mark.parametrize(
    "prepare",
    [
        _nothing, _cut_off, _cut_off_long_ago, _closed, _branch_deleted, _merged_and_reverted,
        _merged_with_a_push_and_reverted, _issue, _issue_out_of_date, _unrelated_issue,
    ],
    ids=lambda each: each.__name__.strip("_"),
)  # fmt: skip
@pytest.mark.parametrize("proposed", [DRAFT, READY], ids=["draft", "ready"])
def test_what_was_done_is_not_done_again(prepare: Callable[[MemoryForge], None], proposed: Proposal) -> None:
    forge = forge_for()
    prepare(forge)
    apply_steps(forge, reconciled(forge, proposed))
    assert steps_of(reconciled(forge, proposed)) == ""
    assert len(forge.open_pulls(BRANCH)) <= 1


@pytest.mark.parametrize(
    "prepare",
    [
        _title_edited, _text_around, _line_ends, _text_within, _body_rewritten, _marked_ready, _labelled,
        _pushed_and_rebase_asked_by_box, _pushed_and_rebase_asked_by_label, _base_moved_elsewhere, _status_lost,
    ],
    ids=lambda each: each.__name__.strip("_"),
)  # fmt: skip
@pytest.mark.parametrize("proposed", [DRAFT, READY], ids=["draft", "ready"])
def test_what_was_updated_is_not_updated_again(prepare: Callable[[MemoryForge], None], proposed: Proposal) -> None:
    forge = with_pull_request()
    prepare(forge)
    apply_steps(forge, reconciled(forge, proposed))
    assert steps_of(reconciled(forge, proposed)) == ""


# What is no longer needed


def no_longer_needed(forge: MemoryForge, closed: str = "done") -> Reconciliation:
    repository = fetched(forge)
    issue = issue_of(repository, DRAFT.slug, DRAFT.bump_kind)
    return reconcile_without(repository.branches[BRANCH], issue, closed, "It is not needed any more.")


@pytest.mark.parametrize(
    ("prepare", "steps", "steps_when_skipped"),
    [
        (_nothing, "close", "close"),
        (_title_edited, "close", "close"),
        (_text_around, "close", "close"),
        (_body_rewritten, "close", "close"),
        (_pushed, "hold branch-edited", "close"),
        (_issue, "close; close issue", "close; close issue"),
    ],
    ids=lambda each: each.__name__.strip("_") if callable(each) else "",
)
def test_what_is_no_longer_needed_is_closed(
    prepare: Callable[[MemoryForge], None], steps: str, steps_when_skipped: str
) -> None:
    forge = with_pull_request()
    prepare(forge)
    assert steps_of(no_longer_needed(forge)) == steps
    assert steps_of(no_longer_needed(forge, markers.SKIP)) == steps_when_skipped
    found = no_longer_needed(forge)
    apply_steps(forge, found)
    if found.hold is None:
        assert steps_of(no_longer_needed(forge)) == ""


def test_closing_says_why_and_that_it_was_us() -> None:
    forge = with_pull_request()
    _text_around(forge)
    apply_steps(forge, no_longer_needed(forge, "superseded"))
    body = forge.pulls[1][1].body
    state = markers.state_of(body)
    assert state is not None
    assert state.closed == "superseded"
    assert body.startswith("Do not merge on a Friday.\r\n\r\n<!--")
    assert body.endswith("\r\nThanks")
    assert "**Closed:** It is not needed any more." in body


def test_a_pull_request_that_is_not_ours_is_not_closed() -> None:
    forge = forge_for()
    head = forge.push(BRANCH, {"a.txt": b"mine\n"})
    forge.apply(OpenPull(BRANCH, "main", head, None, "Mine", "By hand.", is_draft=False, status=commit.status(DRAFT)))
    found = no_longer_needed(forge)
    assert (found.steps, found.pull is not None) == ((), True)


def test_nothing_is_closed_where_nothing_is_open() -> None:
    assert no_longer_needed(forge_for()).steps == ()
    forge = with_pull_request()
    forge.close_pull(number_of(forge))
    assert no_longer_needed(forge).steps == ()


# The issue in the place of a draft


def test_an_issue_is_found_by_its_state() -> None:
    forge = forge_for()
    _issue(forge)
    _unrelated_issue(forge)
    repository = fetched(forge)
    assert issue_of(repository, DRAFT.slug, BumpKind.MINOR) == forge.issues[1]
    assert issue_of(repository, DRAFT.slug, BumpKind.MAJOR) is None
    assert issue_of(repository, "other", BumpKind.MINOR) is None


def test_text_around_an_issue_stays() -> None:
    forge = forge_for()
    forge.apply(instead_of_draft(OLDER, CONTEXT))
    forge.issues[1] = replace(forge.issues[1], body=f"On Monday.\n\n{forge.issues[1].body}")
    apply_steps(forge, reconciled(forge))
    assert forge.issues[1].body.startswith("On Monday.\n\n<!--")
    assert "v2.9.4" in forge.issues[1].body
    assert steps_of(reconciled(forge)) == ""
