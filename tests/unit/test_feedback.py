"""Pull requests, labels, boxes and commits are read as approvals and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from flux_upgrade.model import markers
from flux_upgrade.model.forge import Branch, Issue, PullRequest, PullState
from flux_upgrade.model.versions import Version
from flux_upgrade.policy.decision import BumpKind, Feedback, Rejection
from flux_upgrade.policy.feedback import APPROVED, REBASE, feedback_of, state_of
from flux_upgrade.policy.hold_reasons import HoldReason
from pulls import CLOSED, branch, issue, marker, our_commit, pull, their_commit

PATH = "clusters/staging/flux-system/gotk-components.yaml"
URL = "https://github.com/acme/fleet/pull/1"
MERGED, SHUT = PullState.MERGED, PullState.CLOSED


def feedback_on(
    *pulls: PullRequest,
    issues: Sequence[Issue] = (),
    approve: Sequence[str] = (),
    current: str = "v2.8.8",
    others: Sequence[Branch] = (),
) -> Feedback:
    return feedback_of(
        [branch(*pulls), *others], issues, group="staging", path=PATH, current=Version(current), asked=approve
    )


def rejected(reason: HoldReason, *, since: str = CLOSED, target: str = "v2.9.4", subject: str = "minor") -> Feedback:
    return Feedback(rejections=(Rejection(BumpKind(subject), Version(target), reason, since, URL),))


def approved(*versions: str) -> Feedback:
    return Feedback(approved=versions)


NOTHING = Feedback()
REFUSED = rejected(HoldReason.CLOSED_BY_HUMAN)
# When it was reverted is not known: it was merged before.
REVERTED = rejected(HoldReason.REVERTED, since="")
PENDING, GIVEN, PLAIN = marker(pending=True), marker(approval="2.9"), marker()
TRAILERS = {"Group": "staging", "Subject": "minor", "Target": "v2.9.4"}


@dataclass(frozen=True)
class Row:
    """One pull request, and what it answers."""

    name: str
    pull: PullRequest
    answer: Feedback
    current: str = "v2.8.8"
    approve: tuple[str, ...] = field(default=())


TABLE = (
    # Open
    Row("a draft that waits", pull(PENDING, is_draft=True), NOTHING),
    Row("the draft marked ready", pull(PENDING), approved("2.9")),
    Row("the draft, labelled", pull(PENDING, is_draft=True, labels=(APPROVED,)), approved("2.9")),
    Row("the draft, labelled otherwise", pull(PENDING, is_draft=True, labels=("flux", REBASE)), NOTHING),
    Row("one that was approved and is ready", pull(GIVEN), approved("2.9")),
    Row("one version that was approved", pull(marker(approval="v2.9.4")), approved("v2.9.4")),
    Row("ready, its body rewritten", pull(None, head=our_commit(**TRAILERS)), approved("2.9")),
    Row("a draft, its body rewritten", pull(None, is_draft=True, head=our_commit(**TRAILERS)), NOTHING),
    Row(
        "one version that was approved, its body rewritten",
        pull(None, head=our_commit(**TRAILERS, Approval="v2.9.4")),
        approved("v2.9.4"),
    ),
    Row(
        "merged as far as it goes, with others that go farther",
        pull(marker(paths=(markers.path_entry(PATH, "v2.8.8", "v2.9.4"),)), at=MERGED),
        NOTHING,
    ),
    Row("what was approved, put back to draft", pull(GIVEN, is_draft=True), NOTHING),
    Row("one that needs nobody", pull(PLAIN), NOTHING),
    Row("one that needs nobody, held as a draft", pull(PLAIN, is_draft=True), NOTHING),
    Row("one that needs nobody, labelled", pull(PLAIN, labels=(APPROVED,)), approved("2.9")),
    Row(
        "skipped by its box",
        pull(PENDING, is_draft=True, ticked=markers.SKIP),
        rejected(HoldReason.CLOSED_BY_HUMAN, since=""),
    ),
    Row(
        "skipped after it was approved",
        pull(GIVEN, ticked=markers.SKIP),
        rejected(HoldReason.CLOSED_BY_HUMAN, since=""),
    ),
    Row(
        "skipped and labelled: the refusal wins",
        pull(PENDING, labels=(APPROVED,), ticked=markers.SKIP),
        rejected(HoldReason.CLOSED_BY_HUMAN, since=""),
    ),
    Row("to be rebased", pull(PENDING, is_draft=True, ticked=markers.REBASE), NOTHING),
    # Closed
    Row("closed by a person", pull(PENDING, at=SHUT, is_draft=True), REFUSED),
    Row("closed by a person once approved", pull(GIVEN, at=SHUT), REFUSED),
    Row("closed by a person, labelled before", pull(PENDING, at=SHUT, labels=(APPROVED,)), REFUSED),
    Row("closed by us: superseded", pull(marker(closed="superseded"), at=SHUT), NOTHING),
    Row("closed by us: done", pull(marker(closed="done"), at=SHUT), NOTHING),
    Row("closed by us: out of range", pull(marker(closed="out-of-range"), at=SHUT), NOTHING),
    Row("closed by us for a person who ticked", pull(marker(closed=markers.SKIP), at=SHUT), REFUSED),
    Row("closed by a person, state in the commit", pull(None, at=SHUT, head=our_commit(**TRAILERS)), REFUSED),
    Row("closed by us, then its body rewritten", pull(None, at=SHUT, head=their_commit()), NOTHING),
    # Merged
    Row("merged and reverted", pull(PLAIN, at=MERGED), REVERTED),
    Row("merged and reverted, state in the commit", pull(None, at=MERGED, head=our_commit(**TRAILERS)), REVERTED),
    Row("merged and there", pull(PLAIN, at=MERGED), NOTHING, current="v2.9.4"),
    Row("merged, and gone beyond", pull(PLAIN, at=MERGED), NOTHING, current="v2.10.0"),
    Row("merged, and what is there is unknown", pull(PLAIN, at=MERGED), NOTHING, current=""),
    Row("merged with an odd target", pull(marker(target="newest"), at=MERGED), NOTHING),
    # Not ours to read
    Row("somebody else's", pull(None), NOTHING),
    Row("somebody else's, closed", pull(None, at=SHUT), NOTHING),
    Row("about other installations", pull(marker(paths=(markers.digest_of("other"),)), at=SHUT), NOTHING),
    Row("about this installation", pull(marker(paths=(markers.digest_of("other"), markers.digest_of(PATH))), at=SHUT),
        rejected(HoldReason.CLOSED_BY_HUMAN)),
    Row("about a subject that there is not", pull(marker(subject="everything"), at=SHUT), NOTHING),
    # With the run's own approval
    Row("approved by the run", pull(PENDING, is_draft=True), approved("2.9"), approve=("2.9",)),
    Row("approved by the run and the label", pull(PENDING, labels=(APPROVED,)), approved("2.9"), approve=("2.9",)),
    Row(
        "refused once, approved now",
        pull(PENDING, at=SHUT),
        Feedback(REFUSED.rejections, ("v2.9.4",)),
        approve=("v2.9.4",),
    ),
)  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_pull_request_is_an_answer(row: Row) -> None:
    assert feedback_on(row.pull, current=row.current, approve=row.approve) == row.answer


def test_an_open_pull_request_comes_after_all_that_was_closed() -> None:
    open_, older = pull(PLAIN, number=2), pull(PLAIN, at=SHUT)
    assert feedback_on(open_, older) == NOTHING
    assert feedback_on(pull(PLAIN, number=2, at=SHUT), older).rejections[0].where.endswith("/2")


def test_each_of_several_refusals_is_reported_once() -> None:
    first, second = pull(PLAIN, at=SHUT), pull(marker(target="v2.9.3"), number=2, at=MERGED)
    assert [(each.target, each.reason) for each in feedback_on(second, first, first).rejections] == [
        ("v2.9.3", HoldReason.REVERTED),
        ("v2.9.4", HoldReason.CLOSED_BY_HUMAN),
    ]


@pytest.mark.parametrize(
    ("at", "reason"), [(MERGED, HoldReason.REVERTED), (SHUT, HoldReason.CLOSED_BY_HUMAN)], ids=["reverted", "closed"]
)
def test_an_open_pull_request_for_a_later_patch_does_not_propose_a_refused_one(
    at: PullState, reason: HoldReason
) -> None:
    later = pull(marker("patch", "v2.8.10"), number=2)
    found = feedback_on(later, pull(marker("patch", "v2.8.9"), at=at)).rejections
    assert [(each.target, each.reason) for each in found] == [("v2.8.9", reason)]


def test_a_patch_that_is_open_again_is_not_refused() -> None:
    again = marker("patch", "v2.8.9")
    assert feedback_on(pull(again, number=2), pull(again, at=SHUT)).rejections == ()


def test_answers_of_all_branches_of_a_team_count() -> None:
    patch = branch(pull(marker("patch", "v2.8.9"), at=SHUT), name="flux-upgrade/staging/patch")
    answers = feedback_on(pull(PENDING), others=[patch])
    assert answers.approved == ("2.9",)
    assert [each.bump_kind for each in answers.rejections] == [BumpKind.PATCH]


# A run that ended after it had made the branch


def test_an_approval_is_not_lost_with_the_run_that_was_cut_off() -> None:
    head = our_commit(**TRAILERS, Opening="2.9")
    cut_off = branch(name="flux-upgrade/staging/minor", head=head)
    assert feedback_on(others=[cut_off]) == approved("2.9")
    opened = branch(pull(PENDING, is_draft=True, head=head), head=head)
    assert feedback_on(others=[opened]) == NOTHING
    assert feedback_on(others=[branch(head=our_commit(**TRAILERS))]) == NOTHING


def test_an_approved_pull_request_that_is_closed_while_its_commit_is_replaced_stays_closed() -> None:
    refused = pull(marker(approval="2.9"), at=PullState.CLOSED, head=our_commit("old", **TRAILERS))
    replaced = our_commit("new", **TRAILERS, Approval="2.9")
    assert feedback_on(others=[branch(refused, head=replaced)]).approved == ()


def test_what_somebody_else_says_in_a_commit_approves_nothing() -> None:
    forged = our_commit(**TRAILERS, Opening="2.9")
    message = forged.message.replace("Opening: 2.9", "Opening: 9.9")
    assert feedback_on(others=[branch(head=type(forged)("x", forged.tree, forged.parents, message))]) == NOTHING


# Issues in the place of drafts


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        (issue(PENDING), NOTHING),
        (issue(PENDING, APPROVED), approved("2.9")),
        (issue(marker(pending=True, target="v3.0.1"), APPROVED), approved("3.0")),
        (issue(None, APPROVED), NOTHING),
        (issue(markers.MarkerState("production", "minor", Version("v2.9.4")), APPROVED), NOTHING),
    ],
    ids=["it waits", "labelled", "of a major", "somebody else's", "of another team"],
)
def test_an_issue_is_answered_by_its_label(found: Issue, answer: Feedback) -> None:
    assert feedback_on(issues=[found]) == answer


# Where `flux migrate` ran


def test_a_box_says_nothing_of_manifests_that_were_migrated_later() -> None:
    step = marker(target="v2.8.8", migrate="v2.8.8")
    ticked = pull(step, at=MERGED, ticked=markers.MIGRATED, number=1)
    moved = marker("migration")
    later = pull(moved, at=MERGED, number=2, closed_at="2026-03-03T06:00:00Z")
    earlier = pull(moved, at=MERGED, number=2, closed_at="2026-03-01T06:00:00Z")
    for other, since in ((later, ()), (earlier, ("v2.8.8",))):
        found = feedback_on(ticked, other)
        assert found.migrated == ("v2.8.8",)
        assert found.migrated_since == since
    upgrade = pull(marker(migrate="v2.8.8"), ticked=markers.MIGRATED, number=3)
    assert feedback_on(ticked, later, upgrade).migrated_since == ("v2.8.8",)


# What is known of a pull request


def test_the_body_tells_before_the_commit_does() -> None:
    head = our_commit(Group="staging", Subject="minor", Target="v2.9.3")
    assert state_of(pull(PLAIN, head=head)) == PLAIN
    assert state_of(pull(None, head=head)) == marker(target="v2.9.3")
    assert state_of(pull(None, head=our_commit(Group="staging", Target="v2.9.3"))) is None
    assert state_of(pull(None)) is None
