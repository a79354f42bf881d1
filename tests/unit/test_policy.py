"""The policy decides on each release by bump, range, cool-down, approvals and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.model.versions import Release, Version
from flux_upgrade.policy.decision import Bump, BumpKind, Feedback, Hold, Rejection
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Pending, Policy, decide
from flux_upgrade.policy.semver_range import Constraint
from replacing import replace

# Dates of these releases are made up: the n-th is published n days after the first.
PATCHES = ("v2.8.0", "v2.8.1", "v2.8.3", "v2.8.7", "v2.8.8")
TWO_NINE = (*PATCHES, "v2.9.0", "v2.9.1", "v2.9.4")
TWO_TEN = (*TWO_NINE, "v2.10.0", "v2.10.1")
THREE = (*TWO_TEN, "v3.0.0", "v3.0.1")
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = START + timedelta(days=100)
FAR = "https://example.com/pull/7"

PATCH, MINOR, MAJOR = MaxBump.PATCH, MaxBump.MINOR, MaxBump.MAJOR


def listed(*tags: str) -> tuple[Release, ...]:
    return tuple(
        Release(Version(tag), prerelease="-" in tag, published_at=f"{START + timedelta(days=at):%Y-%m-%dT%H:%M:%SZ}")
        for at, tag in enumerate(tags)
    )


def day(number: float) -> datetime:
    """A second after that many days."""
    return START + timedelta(days=number, seconds=1)


def rejection(tag: str, subject: BumpKind, reason: HoldReason = HoldReason.CLOSED_BY_HUMAN) -> Rejection:
    return Rejection(subject, Version(tag), reason, "2026-02-01T00:00:00Z", FAR)


def in_words(decisions: Sequence[Bump | Hold]) -> str:
    """Decisions as a table has them: ``minor v2.9.4?`` needs approval, ``!`` after a person's approval."""
    words = []
    for each in decisions:
        if isinstance(each, Bump):
            mark = f"!{each.approval}" if each.approval else "" if each.approved else "?"
            words.append(f"{each.bump_kind} {each.target}{mark}")
        else:
            words.append(f"({each.reason} {each.target})" if each.target else f"({each.reason})")
    return ", ".join(words)


def decided(
    current: str, tags: Sequence[str], policy: Policy, answers: Feedback | None = None, now: datetime = LATER
) -> str:
    return in_words(decide(Version(current), listed(*tags), policy, answers or Feedback(), now))


@pytest.mark.parametrize(
    ("current", "tags", "bump", "expected"),
    [
        # nothing newer
        ("v2.8.8", PATCHES, PATCH, "(up-to-date)"),
        ("v2.8.9", PATCHES, PATCH, "(up-to-date)"),
        ("v3.0.0", TWO_NINE, MAJOR, "(up-to-date)"),
        ("v2.9.0-rc.1", PATCHES, MAJOR, "(up-to-date)"),
        ("v2.8.8", (), PATCH, "(up-to-date)"),
        # the patch, and what waits
        ("v2.8.3", PATCHES, PATCH, "patch v2.8.8"),
        ("v2.8.3", TWO_NINE, PATCH, "patch v2.8.8, minor v2.9.4?"),
        ("v2.8.8", TWO_NINE, PATCH, "minor v2.9.4?"),
        ("v2.8.8", TWO_TEN, PATCH, "minor v2.10.1?"),
        ("v2.8.8", THREE, PATCH, "minor v2.10.1?, major v3.0.1?"),
        ("v2.8.3", THREE, PATCH, "patch v2.8.8, minor v2.10.1?, major v3.0.1?"),
        ("v2.8.2", TWO_NINE, PATCH, "patch v2.8.8, minor v2.9.4?"),
        ("v2.7.5", TWO_NINE, PATCH, "minor v2.9.4?"),
        ("v1.0.0", THREE, PATCH, "major v3.0.1?"),
        # nothing without a person
        ("v2.8.3", TWO_NINE, MaxBump.NONE, "patch v2.8.8?, minor v2.9.4?"),
        ("v2.8.3", THREE, MaxBump.NONE, "patch v2.8.8?, minor v2.10.1?, major v3.0.1?"),
        # a larger bump that is covered makes the smaller ones obsolete
        ("v2.8.3", TWO_NINE, MINOR, "minor v2.9.4"),
        ("v2.8.3", PATCHES, MINOR, "patch v2.8.8"),
        ("v2.8.3", THREE, MINOR, "minor v2.10.1, major v3.0.1?"),
        ("v2.8.3", THREE, MAJOR, "major v3.0.1"),
        ("v2.8.3", TWO_TEN, MAJOR, "minor v2.10.1"),
        # prereleases
        ("v2.8.8", (*PATCHES, "v2.8.9-rc.1", "v2.9.0-rc.1"), MAJOR, "(up-to-date)"),
        ("v2.8.0-rc.3", PATCHES, PATCH, "patch v2.8.8"),
        ("v2.8.0-rc.3", TWO_NINE, PATCH, "patch v2.8.8, minor v2.9.4?"),
        # odd tags, another order, a yanked version, a back-port after the next minor
        ("v2.8.3", (*PATCHES, "v2.8.9+build"), PATCH, "patch v2.8.8"),
        ("v2.8.3", tuple(reversed(TWO_TEN)), PATCH, "patch v2.8.8, minor v2.10.1?"),
        ("v2.8.3", ("v2.8.7", "v2.10.1", "v2.8.0", "v2.9.4"), PATCH, "patch v2.8.7, minor v2.10.1?"),
        ("v2.8.8", (*TWO_NINE, "v2.8.9"), PATCH, "patch v2.8.9, minor v2.9.4?"),
        ("v2.8.8", (*TWO_NINE, "v2.8.9"), MINOR, "minor v2.9.4"),
        ("v2.9.4", (*TWO_NINE, "v2.8.9"), PATCH, "(up-to-date)"),
    ],
)
def test_the_policy_alone(current: str, tags: Sequence[str], bump: MaxBump, expected: str) -> None:
    assert decided(current, tags, Policy(bump)) == expected


@pytest.mark.parametrize(
    ("bump", "limits", "tags", "expected"),
    [
        (MAJOR, "2.x", TWO_NINE, "minor v2.9.4"),
        (MAJOR, "2.x", THREE, "minor v2.10.1, (out-of-range v3.0.1)"),
        (MAJOR, "<2.10", THREE, "minor v2.9.4, (out-of-range v3.0.1)"),
        (MAJOR, "~2.8", TWO_NINE, "patch v2.8.8, (out-of-range v2.9.4)"),
        (MAJOR, "!=2.9.4", TWO_NINE, "minor v2.9.1, (out-of-range v2.9.4)"),
        (MAJOR, "!=2.8.8 <2.9", TWO_NINE, "patch v2.8.7, (out-of-range v2.9.4)"),
        (PATCH, "2.x", THREE, "patch v2.8.8, minor v2.10.1?, (out-of-range v3.0.1)"),
        (PATCH, "~2.8", TWO_NINE, "patch v2.8.8, (out-of-range v2.9.4)"),
        (PATCH, "2.8.3 || 2.9", TWO_NINE, "minor v2.9.4?"),
        (MINOR, "<2.8.4", PATCHES, "(out-of-range v2.8.8)"),
        (MAJOR, ">=3", TWO_NINE, "(out-of-range v2.9.4)"),
        (MAJOR, "<2.8 >2.9", TWO_NINE, "(out-of-range v2.9.4)"),
        (MAJOR, ">=2.8.0-0", (*TWO_NINE, "v2.10.0-rc.1"), "minor v2.9.4"),
    ],
)
def test_a_range_narrows_the_candidates(bump: MaxBump, limits: str, tags: Sequence[str], expected: str) -> None:
    assert decided("v2.8.3", tags, Policy(bump, Constraint(limits))) == expected


@pytest.mark.parametrize(
    ("bump", "approved", "tags", "expected"),
    [
        # a minor and its patches
        (PATCH, "2.9", TWO_NINE, "patch v2.8.8, minor v2.9.4!2.9"),
        (PATCH, "2.9", (*TWO_NINE, "v2.9.5"), "patch v2.8.8, minor v2.9.5!2.9"),
        (PATCH, "2.9", TWO_TEN, "patch v2.8.8, minor v2.9.4!2.9, (needs-approval v2.10.1)"),
        (PATCH, "2.1", TWO_TEN, "patch v2.8.8, minor v2.10.1?"),
        (PATCH, "2.10", TWO_TEN, "patch v2.8.8, minor v2.10.1!2.10"),
        (PATCH, "3.0", THREE, "patch v2.8.8, minor v2.10.1?, major v3.0.1!3.0"),
        (MaxBump.NONE, "2.8", TWO_NINE, "patch v2.8.8!v2.8.8, minor v2.9.4?"),
        # one version alone
        (PATCH, "v2.9.4", TWO_NINE, "patch v2.8.8, minor v2.9.4!v2.9.4"),
        (PATCH, "2.9.4", TWO_NINE, "patch v2.8.8, minor v2.9.4!v2.9.4"),
        (PATCH, "v2.9.1", TWO_NINE, "patch v2.8.8, minor v2.9.1!v2.9.1, (needs-approval v2.9.4)"),
        (
            PATCH,
            "v2.9.1",
            TWO_TEN,
            "patch v2.8.8, minor v2.9.1!v2.9.1, (needs-approval v2.10.1), (needs-approval v2.9.4)",
        ),
        (PATCH, "v2.8.7", TWO_NINE, "patch v2.8.7!v2.8.7, (needs-approval v2.8.8), minor v2.9.4?"),
        (MaxBump.NONE, "v2.8.8", TWO_NINE, "patch v2.8.8!v2.8.8, minor v2.9.4?"),
        # several: the highest that there is
        (PATCH, "2.9 v2.9.1", TWO_NINE, "patch v2.8.8, minor v2.9.4!2.9"),
        (PATCH, "2.9 v2.9.4", TWO_NINE, "patch v2.8.8, minor v2.9.4!2.9"),
        (PATCH, "2.9 v2.10.0", TWO_TEN, "patch v2.8.8, minor v2.10.0!v2.10.0, (needs-approval v2.10.1)"),
        (PATCH, "2.9 2.11", TWO_TEN, "patch v2.8.8, minor v2.9.4!2.9, (needs-approval v2.10.1)"),
        (MaxBump.NONE, "v2.8.8 2.9", TWO_NINE, "patch v2.8.8!v2.8.8, minor v2.9.4!2.9"),
        # nothing to approve: in place, older, missing, a prerelease, no version
        (PATCH, "v2.8.3", TWO_NINE, "patch v2.8.8, minor v2.9.4?"),
        (PATCH, "v2.8.1 2.7", TWO_NINE, "patch v2.8.8, minor v2.9.4?"),
        (PATCH, "2.11 v2.9.3", TWO_NINE, "patch v2.8.8, minor v2.9.4?"),
        (PATCH, "v2.10.0-rc.1", (*TWO_NINE, "v2.10.0-rc.1"), "patch v2.8.8, minor v2.9.4?"),
        (PATCH, "2 x v latest 2.9.4.1", TWO_NINE, "patch v2.8.8, minor v2.9.4?"),
        # the last word, also where the policy would go farther by itself
        (MINOR, "2.9", TWO_TEN, "minor v2.9.4!2.9, (needs-approval v2.10.1)"),
        (MINOR, "v2.8.8", TWO_NINE, "patch v2.8.8!v2.8.8, minor v2.9.4"),
        (MAJOR, "2.9", THREE, "minor v2.9.4!2.9, major v3.0.1"),
    ],
)
def test_what_a_person_approved(bump: MaxBump, approved: str, tags: Sequence[str], expected: str) -> None:
    assert decided("v2.8.3", tags, Policy(bump), Feedback(approved=tuple(approved.split()))) == expected


@pytest.mark.parametrize("approved", ["2.9", "v2.9.0"])
def test_an_approval_overrides_range_cool_down_and_refusal(approved: str) -> None:
    policy = Policy(PATCH, Constraint("~2.8"))
    answers = Feedback((rejection("v2.9.0", BumpKind.MINOR),), (approved,))
    tags = (*PATCHES, "v2.9.0")
    assert decided("v2.8.8", tags, policy, answers, day(5)) == f"minor v2.9.0!{approved}"
    assert decided("v2.8.8", tags, policy, now=day(5)) == "(out-of-range v2.9.0)"


def test_what_comes_after_an_approved_minor_is_reported() -> None:
    answers = Feedback(approved=("2.9",))
    *_, hold = decide(Version("v2.8.8"), listed(*TWO_TEN), Policy(), answers, LATER)
    assert hold == Hold(
        HoldReason.NEEDS_APPROVAL,
        "2.9 is approved and must be merged first",
        "approve 2.10 to upgrade now",
        bump_kind=BumpKind.MINOR,
        target=Version("v2.10.1"),
        since="2026-01-16T12:00:00Z",
    )
    refusing = Feedback((rejection("v2.10.0", BumpKind.MINOR),), ("2.9",))
    assert decided("v2.8.8", TWO_TEN, Policy(), refusing) == "minor v2.9.4!2.9"
    narrow = Policy(range=Constraint("<2.10"))
    assert decided("v2.8.8", TWO_TEN, narrow, answers) == "minor v2.9.4!2.9, (out-of-range v2.10.1)"


@pytest.mark.parametrize(
    ("number", "bump", "expected"),
    [
        # v2.8.8 is out on day 4, v2.9.0, v2.9.1 and v2.9.4 on days 5, 6 and 7
        (4, PATCH, "patch v2.8.8"),
        (5, PATCH, "patch v2.8.8, (cooling-down v2.9.0)"),
        (11, PATCH, "patch v2.8.8, (cooling-down v2.9.4)"),
        (11.99, MINOR, "patch v2.8.8, (cooling-down v2.9.4)"),
        (12, PATCH, "patch v2.8.8, minor v2.9.4?"),
        (12, MINOR, "minor v2.9.4"),
    ],
)
def test_a_minor_cools_by_the_age_of_its_first_release(number: float, bump: MaxBump, expected: str) -> None:
    now = day(number)
    tags = [each.tag for each in listed(*TWO_NINE) if datetime.fromisoformat(each.published_at) <= now]
    assert decided("v2.8.3", tags, Policy(bump), now=now) == expected


def test_a_cool_down_is_over_at_its_last_second() -> None:
    assert decided("v2.8.8", TWO_NINE, Policy(MINOR), now=START + timedelta(days=12)) == "minor v2.9.4"


def test_without_its_first_release_a_minor_cools_by_the_first_that_is_listed() -> None:
    tags = (*PATCHES, "v2.9.1", "v2.9.4")
    assert decided("v2.8.8", tags, Policy(MINOR), now=day(11.9)) == "(cooling-down v2.9.4)"
    assert decided("v2.8.8", tags, Policy(MINOR), now=day(12)) == "minor v2.9.4"


def test_a_major_cools_as_a_minor_does() -> None:
    assert decided("v2.10.1", THREE, Policy(MAJOR), now=day(16.9)) == "(cooling-down v3.0.1)"
    assert decided("v2.10.1", THREE, Policy(MAJOR), now=day(17)) == "major v3.0.1"


def test_the_minor_before_one_that_cools_is_proposed() -> None:
    now = day(13)
    assert decided("v2.8.8", TWO_TEN, Policy(), now=now) == "minor v2.9.4?, (cooling-down v2.10.1)"
    assert decided("v2.8.8", TWO_TEN, Policy(MINOR), now=now) == "minor v2.9.4, (cooling-down v2.10.1)"


def test_a_patch_cools_by_its_own_age() -> None:
    policy = Policy(patch_cool_down=timedelta(days=2))
    assert decided("v2.8.1", PATCHES, policy, now=day(4)) == (
        "patch v2.8.3, (cooling-down v2.8.8), (cooling-down v2.8.7)"
    )
    assert decided("v2.8.1", PATCHES, policy, now=day(5)) == "patch v2.8.7, (cooling-down v2.8.8)"
    assert decided("v2.8.1", PATCHES, policy, now=day(6)) == "patch v2.8.8"
    assert decided("v2.8.7", PATCHES, policy, now=day(5)) == "(cooling-down v2.8.8)"


def test_a_hold_for_the_cool_down_says_when_it_ends() -> None:
    (hold,) = decide(
        Version("v2.8.8"), listed(*PATCHES, Version("v2.9.0"), Version("v2.9.1")), Policy(), Feedback(), day(6)
    )
    assert hold == Hold(
        HoldReason.COOLING_DOWN,
        "2.9 was released on 2026-01-06, and the cool-down ends on 2026-01-13",
        "approve 2.9 to upgrade now",
        bump_kind=BumpKind.MINOR,
        target=Version("v2.9.1"),
        since="2026-01-06T12:00:00Z",
        until="2026-01-13T12:00:00Z",
        needs_approval=True,
    )


@pytest.mark.parametrize("published", ["", "soon", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+05:00"])
def test_a_release_of_unknown_age_has_cooled(published: str) -> None:
    policy = Policy(MINOR, patch_cool_down=timedelta(days=3))
    for tag, subject in (("v2.8.8", BumpKind.PATCH), ("v2.9.0", BumpKind.MINOR)):
        (found,) = decide(Version("v2.8.3"), [Release(Version(tag), published_at=published)], policy, Feedback(), LATER)
        assert found == Bump(subject, Version(tag), approved=True, why=f"{tag} is newer than v2.8.3")


def test_dates_are_read_with_and_without_a_zone_and_however_far_off() -> None:
    policy = Policy(patch_cool_down=timedelta(days=1))
    for published, until in (
        ("2026-01-01T23:30:00-02:00", "2026-01-03T01:30:00Z"),
        ("2026-01-01T23:30:00", "2026-01-02T23:30:00Z"),
        ("9999-12-31T23:30:00Z", "9999-12-31T23:59:59Z"),
    ):
        (found,) = decide(
            Version("v2.8.3"), [Release(Version("v2.8.8"), published_at=published)], policy, Feedback(), START
        )
        assert isinstance(found, Hold)
        assert found.until == until


def test_a_clock_that_is_behind_holds_nothing_where_there_is_no_cool_down() -> None:
    assert decided("v2.8.3", PATCHES, Policy(), now=START) == "patch v2.8.8"


@pytest.mark.parametrize(
    ("current", "mute", "tags", "bump", "expected"),
    [
        # a patch: that version, and the older ones that nobody asked for
        ("v2.8.3", rejection("v2.8.8", BumpKind.PATCH), PATCHES, PATCH, "(REASON v2.8.8)"),
        ("v2.8.3", rejection("v2.8.7", BumpKind.PATCH), PATCHES, PATCH, "patch v2.8.8"),
        ("v2.8.3", rejection("v2.8.8", BumpKind.PATCH), (*PATCHES, "v2.8.9"), PATCH, "patch v2.8.9"),
        ("v2.8.3", rejection("v2.8.8", BumpKind.PATCH), TWO_NINE, PATCH, "(REASON v2.8.8), minor v2.9.4?"),
        ("v2.8.3", rejection("v2.8.8", BumpKind.PATCH), TWO_NINE, MINOR, "minor v2.9.4"),
        ("v2.8.3", rejection("v2.8.8", BumpKind.PATCH), PATCHES[:-1], PATCH, "(REASON v2.8.8)"),
        ("v2.8.8", rejection("v2.8.8", BumpKind.PATCH), TWO_NINE, PATCH, "minor v2.9.4?"),
        ("v2.9.0", rejection("v2.8.8", BumpKind.PATCH), TWO_NINE, PATCH, "patch v2.9.4"),
        # a minor: all of its patches, but no other minor
        ("v2.8.8", rejection("v2.9.0", BumpKind.MINOR), TWO_NINE, PATCH, "(REASON v2.9.0)"),
        ("v2.8.8", rejection("v2.9.4", BumpKind.MINOR), TWO_TEN, PATCH, "minor v2.10.1?"),
        ("v2.8.8", rejection("v2.10.0", BumpKind.MINOR), TWO_TEN, PATCH, "minor v2.9.4?, (REASON v2.10.0)"),
        ("v2.8.3", rejection("v2.9.4", BumpKind.MINOR), TWO_NINE, MINOR, "patch v2.8.8, (REASON v2.9.4)"),
        ("v2.9.0", rejection("v2.9.0", BumpKind.MINOR), TWO_NINE, PATCH, "patch v2.9.4"),
        ("v2.10.1", rejection("v3.0.0", BumpKind.MAJOR), THREE, MAJOR, "(REASON v3.0.0)"),
        ("v2.10.1", rejection("v3.0.0", BumpKind.MAJOR), (*THREE, "v3.1.0"), MAJOR, "major v3.1.0"),
        ("v2.10.1", rejection("v3.0.0", BumpKind.MINOR), THREE, MAJOR, "(REASON v3.0.0)"),
        # an answer to a minor says nothing of its patches, once a person went there; and the other way round
        ("v2.8.3", rejection("v2.8.8", BumpKind.MINOR), PATCHES, PATCH, "patch v2.8.8"),
        ("v2.7.5", rejection("v2.8.8", BumpKind.PATCH), PATCHES, MINOR, "minor v2.8.8"),
        # no release
        ("v2.8.3", rejection("x", BumpKind.PATCH), PATCHES, PATCH, "patch v2.8.8"),
        ("v2.8.3", rejection("", BumpKind.MINOR), TWO_NINE, MINOR, "minor v2.9.4"),
    ],
)
def test_what_a_person_refused(
    current: str, mute: Rejection, tags: Sequence[str], bump: MaxBump, expected: str
) -> None:
    for reason in (HoldReason.CLOSED_BY_HUMAN, HoldReason.REVERTED):
        answers = Feedback((replace(mute, reason=reason),))
        assert decided(current, tags, Policy(bump), answers) == expected.replace("REASON", reason)


def test_a_refusal_is_reported_before_a_cool_down() -> None:
    answers = Feedback((rejection("v2.9.0", BumpKind.MINOR),))
    assert decided("v2.8.8", (*PATCHES, "v2.9.0"), Policy(), answers, day(6)) == "(closed-by-human v2.9.0)"


def test_of_two_answers_to_one_release_the_later_is_reported() -> None:
    first = Rejection(BumpKind.PATCH, Version("v2.8.8"), HoldReason.REVERTED, "2026-01-09T00:00:00Z", "z")
    second = Rejection(BumpKind.PATCH, Version("v2.8.8"), HoldReason.CLOSED_BY_HUMAN, "2026-01-20T00:00:00Z", "a")
    for order in ((first, second), (second, first)):
        (hold,) = decide(Version("v2.8.3"), listed(*PATCHES), Policy(), Feedback(order), LATER)
        assert isinstance(hold, Hold)
        assert (hold.reason, hold.since) == (second.reason, second.since)


def test_a_refusal_says_where_and_since_when_and_how_to_override_it() -> None:
    first = Rejection(BumpKind.PATCH, Version("v2.8.7"), HoldReason.CLOSED_BY_HUMAN, "2026-03-01T00:00:00Z", "other")
    answers = Feedback((first, rejection("v2.8.8", BumpKind.PATCH, HoldReason.REVERTED)))
    for order in (answers.rejections, answers.rejections[::-1]):
        (hold,) = decide(Version("v2.8.3"), listed(*PATCHES), Policy(), Feedback(order), LATER)
        assert hold == Hold(
            HoldReason.REVERTED,
            f"v2.8.8 was merged and reverted: {FAR}",
            "approve v2.8.8 to upgrade now",
            target=Version("v2.8.8"),
            since="2026-02-01T00:00:00Z",
        )
    closed = Feedback((rejection("v2.9.0", BumpKind.MINOR),))
    (hold,) = decide(Version("v2.8.8"), listed(*TWO_NINE), Policy(), closed, LATER)
    assert isinstance(hold, Hold)
    assert (hold.detail, hold.hint) == (f"v2.9.0 was declined: {FAR}", "approve 2.9 to upgrade now")


def test_what_waits_can_be_reported_in_the_summary_instead() -> None:
    policy = Policy(pending=Pending.SUMMARY)
    assert decided("v2.8.3", TWO_NINE, policy) == "patch v2.8.8, (needs-approval v2.9.4)"
    assert decided("v2.8.3", TWO_NINE, Policy(MINOR, pending=Pending.SUMMARY)) == "minor v2.9.4"
    (hold,) = decide(Version("v2.8.8"), listed(*TWO_NINE), policy, Feedback(), LATER)
    assert hold == Hold(
        HoldReason.NEEDS_APPROVAL,
        "a minor upgrade needs approval under policy patch",
        "approve 2.9 to upgrade now",
        bump_kind=BumpKind.MINOR,
        target=Version("v2.9.4"),
        since="2026-01-13T12:00:00Z",
    )


def test_a_release_out_of_range_is_reported_once() -> None:
    policy = Policy(MAJOR, Constraint("2.x"))
    *_, hold = decide(Version("v2.8.8"), listed(*THREE), policy, Feedback(), LATER)
    assert hold == Hold(
        HoldReason.OUT_OF_RANGE,
        "v3.0.1 is outside the range 2.x",
        "widen `range`, or approve 3.0 to upgrade now",
        bump_kind=BumpKind.MAJOR,
        target=Version("v3.0.1"),
    )


@pytest.mark.parametrize(
    ("current", "tags", "detail"),
    [
        ("v2.8.8", PATCHES, "v2.8.8 is the newest stable release"),
        ("v2.8.9", PATCHES, "v2.8.9 is newer than any stable release listed"),
    ],
)
def test_up_to_date_says_which_release_it_is(current: str, tags: Sequence[str], detail: str) -> None:
    assert decide(Version(current), listed(*tags), Policy(), Feedback(), LATER) == (
        Hold(HoldReason.UP_TO_DATE, detail),
    )


@pytest.mark.parametrize(
    ("current", "tags", "why"),
    [
        ("v2.8.3", PATCHES, "v2.8.8 was released on 2026-01-05"),
        ("v2.8.8", TWO_NINE, "2.8 has had no patch since v2.9.0 was released (2026-01-06)"),
        ("v2.8.3", TWO_TEN, "2.8 has had no patch since v2.9.0 was released (2026-01-06)"),
        ("v2.8.9", (*TWO_NINE, "v2.8.9"), "v2.9.0 was released on 2026-01-06, and v2.9.4 on 2026-01-08"),
        ("v2.7.5", TWO_NINE, "v2.9.0 was released on 2026-01-06, and v2.9.4 on 2026-01-08"),
        ("v2.7.5", (*PATCHES, "v2.9.1", "v2.9.4"), "v2.9.1 was released on 2026-01-06, and v2.9.4 on 2026-01-07"),
        ("v2.7.5", (*PATCHES, "v2.9.0"), "v2.9.0 was released on 2026-01-06"),
        ("v1.9.0", ("v1.9.0", "v2.0.0"), "v2.0.0 was released on 2026-01-02"),
    ],
)
def test_why_now_is_explained_with_dates(current: str, tags: Sequence[str], why: str) -> None:
    found = decide(Version(current), listed(*tags), Policy(MAJOR), Feedback(), LATER)
    assert [each.why for each in found if isinstance(each, Bump)] == [why]
    assert found == decide(Version(current), listed(*tags), Policy(MAJOR), Feedback(), LATER + timedelta(days=400))


# What holds for any list, policy and answers.

_number = st.integers(0, 3)
_tags = st.builds("v{}.{}.{}{}".format, st.integers(1, 3), _number, _number, st.sampled_from(["", "", "", "-rc.1"]))
_releases = st.lists(
    st.builds(
        Release,
        _tags.map(Version),
        st.sampled_from([False, False, True]),
        st.sampled_from(["", *(each.published_at for each in listed(*map(str, range(20))))]),
    ),
    max_size=20,
)
_ranges = st.sampled_from(["2.x", "~2.1", "<3 !=2.2", "^1.2 || 3.0.x", ">=2.0.0-0"]).map(Constraint)
_waits = st.sampled_from([timedelta(0), timedelta(days=3), timedelta(days=7)])
_policies = st.builds(Policy, st.sampled_from(MaxBump), st.none() | _ranges, st.sampled_from(Pending), _waits, _waits)
_mutes = st.builds(
    rejection, _tags, st.sampled_from(BumpKind), st.sampled_from([HoldReason.CLOSED_BY_HUMAN, HoldReason.REVERTED])
)
_approvals = _tags | st.builds("{}.{}".format, st.integers(1, 3), _number)
_answers = st.builds(
    partial(Feedback), st.lists(_mutes, max_size=3).map(tuple), st.lists(_approvals, max_size=2).map(tuple)
)
_moments = st.builds(day, st.integers(0, 25))
anything = given(_tags, _releases, _policies, _answers, _moments)


def version(tag: str) -> Version:
    found = Version.parse(tag)
    assert found is not None
    return found


def candidates(found: Sequence[Bump | Hold]) -> list[Bump]:
    return [each for each in found if isinstance(each, Bump)]


@anything
def test_there_is_always_an_answer_and_at_most_one_candidate_for_a_subject(
    current: str, releases: list[Release], policy: Policy, answers: Feedback, now: datetime
) -> None:
    found = decide(Version(current), releases, policy, answers, now)
    subjects = [each.bump_kind for each in candidates(found)]
    assert found
    assert sorted(set(subjects), key=list(BumpKind).index) == subjects
    assert len(set(found)) == len(found)
    if any(isinstance(each, Hold) and each.reason is HoldReason.UP_TO_DATE for each in found):
        assert len(found) == 1


@anything
def test_never_a_downgrade_and_never_a_prerelease(
    current: str, releases: list[Release], policy: Policy, answers: Feedback, now: datetime
) -> None:
    stable = {each.tag for each in releases if not each.prerelease and "-" not in each.tag}
    for each in candidates(decide(Version(current), releases, policy, answers, now)):
        assert each.target in stable
        assert version(each.target) > version(current)


@anything
def test_what_is_approved_is_within_the_policy_or_was_approved_by_a_person(
    current: str, releases: list[Release], policy: Policy, answers: Feedback, now: datetime
) -> None:
    bumps = list(MaxBump)
    for each in candidates(decide(Version(current), releases, policy, answers, now)):
        if each.approval:
            assert each.approved
            assert {each.approval, each.target.minor} & set(answers.approved)
            assert each.bump_kind is not BumpKind.PATCH or each.approval == each.target
            assert f"{each.target}.".startswith((f"v{each.approval}.", f"{each.approval}."))
        else:
            assert policy.range is None or policy.range.allows(version(each.target))
            assert each.approved == (bumps.index(policy.bump) >= bumps.index(MaxBump(each.bump_kind)))


@anything
def test_the_order_of_the_list_does_not_matter(
    current: str, releases: list[Release], policy: Policy, answers: Feedback, now: datetime
) -> None:
    found = decide(Version(current), releases, policy, answers, now)
    assert found == decide(Version(current), releases[::-1], policy, answers, now)
    assert found == decide(Version(current), sorted(releases, key=lambda each: each.published_at), policy, answers, now)


@anything
def test_a_larger_bump_takes_no_approval_away(
    current: str, releases: list[Release], policy: Policy, answers: Feedback, now: datetime
) -> None:
    highest, by_people = version("v0.0.0"), set[tuple[BumpKind, Version]]()
    for bump in MaxBump:
        wider = replace(policy, bump=bump)
        approved = [
            each for each in candidates(decide(Version(current), releases, wider, answers, now)) if each.approved
        ]
        reached = max((version(each.target) for each in approved), default=version("v0.0.0"))
        asked = {(each.bump_kind, each.target) for each in approved if each.approval}
        assert reached >= highest
        assert asked >= by_people
        highest, by_people = reached, asked
