"""Each policy merges the right releases on the right days, from v2.0.0 on over Flux's real releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest

from conformance.real_files import tell
from flux_upgrade.adapters.releases.directory import parse_releases
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.policy.decision import Bump, BumpKind, Feedback, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy, decide
from flux_upgrade.policy.semver_range import Constraint
from real_parts import require_shared

pytestmark = pytest.mark.real_part("shared data")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "policy-walk.md"
HOUR = time(6, tzinfo=UTC)
FIRST, LAST = date(2023, 7, 4), date(2026, 9, 8)
COOL_DOWN = timedelta(days=7)
PATCH, MINOR = Policy(), Policy(MaxBump.MINOR)
TWO = Policy(MaxBump.MAJOR, Constraint("2.x"))  # a range without a policy is the whole policy


@dataclass
class Day:
    """What a run does, and what is merged after it."""

    day: date
    current: str
    """Before the run."""
    candidates: list[Bump]
    holds: list[Hold]
    opened: list[Bump] = field(default_factory=list)
    updated: list[Bump] = field(default_factory=list)
    readied: list[Bump] = field(default_factory=list)
    closed: list[BumpKind] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)

    @property
    def acts(self) -> bool:
        return bool(self.opened or self.updated or self.readied or self.closed)


@pytest.fixture(scope="module")
def listed() -> tuple[Release, ...]:
    path = require_shared("conformance", "releases", "releases.json")
    return parse_releases(path.read_bytes(), path.name)


@pytest.fixture(scope="module")
def walks(listed: tuple[Release, ...]) -> dict[str, list[Day]]:
    return {
        "patch": list(walk(listed, PATCH)),
        "patch, approved": list(walk(listed, PATCH, approved_after=timedelta(days=2))),
        "minor": list(walk(listed, MINOR)),
        "2.x": list(walk(listed, TWO)),
    }


def walk(listed: tuple[Release, ...], policy: Policy, approved_after: timedelta | None = None) -> Iterator[Day]:
    """One run a day. What is approved is merged on that day; a draft stays until it is approved."""
    current, today = "v2.0.0", FIRST
    open_pulls: dict[BumpKind, Bump] = {}
    drafted: dict[str, date] = {}
    while today <= LAST:
        now = datetime.combine(today, HOUR)
        known = tuple(each for each in listed if published(each) <= now)
        due = (
            minor for minor, since in drafted.items() if approved_after is not None and since + approved_after <= today
        )
        decisions = decide(Version(current), known, policy, Feedback(approved=tuple(due)), now)
        done = Day(
            today,
            current,
            [each for each in decisions if isinstance(each, Bump)],
            [each for each in decisions if isinstance(each, Hold)],
        )
        take(done, open_pulls)
        for each in open_pulls.values():
            drafted.setdefault(minor_of(each.target), today)
        for each in done.candidates:
            if each.approved:
                del open_pulls[each.bump_kind]
                done.merged.append(each.target)
                current = each.target
        yield done
        today += timedelta(days=1)


def take(done: Day, open_pulls: dict[BumpKind, Bump]) -> None:
    """What the run does with the pull requests that are open."""
    wanted = {each.bump_kind: each for each in done.candidates}
    done.closed = [subject for subject in open_pulls if subject not in wanted]
    for subject in done.closed:
        del open_pulls[subject]
    for subject, each in wanted.items():
        before = open_pulls.get(subject)
        if before is None:
            done.opened.append(each)
        else:
            if before.target != each.target:
                done.updated.append(each)
            if each.approved and not before.approved:
                done.readied.append(each)
        open_pulls[subject] = each


def published(release: Release) -> datetime:
    return datetime.fromisoformat(release.published_at)


def minor_of(tag: str) -> str:
    return tag[1:].rpartition(".")[0]


def number(tag: str) -> tuple[int, ...]:
    return tuple(int(each) for each in tag[1:].split("."))


# What is true of the walks, computed without decide().


@dataclass(frozen=True)
class Calendar:
    """When the 38 stable releases of Flux 2 came out."""

    dates: dict[str, datetime]

    def cooled(self, tag: str) -> datetime:
        """When the minor of ``tag`` has cooled."""
        return self.dates[f"v{minor_of(tag)}.0"] + COOL_DOWN

    def out(self, now: datetime) -> list[str]:
        return [tag for tag, moment in self.dates.items() if moment <= now]

    def newest_patch(self, current: str, now: datetime) -> str:
        same = [tag for tag in self.out(now) if minor_of(tag) == minor_of(current)]
        return max([current, *same], key=number)

    def newest_cooled(self, now: datetime) -> str:
        return max((tag for tag in self.out(now) if self.cooled(tag) <= now), key=number, default="")


def first_run(after: datetime) -> date:
    """The day of the first run at that time or later."""
    return after.date() if after <= datetime.combine(after.date(), HOUR) else after.date() + timedelta(days=1)


@pytest.fixture(scope="module")
def calendar(listed: tuple[Release, ...]) -> Calendar:
    tags = [each for each in listed if each.tag.startswith("v2.") and "-" not in each.tag]
    assert len(tags) == 38
    assert max((each.tag for each in tags), key=number) == "v2.9.4"
    return Calendar({each.tag: published(each) for each in tags})


@pytest.mark.parametrize("name", ["patch", "patch, approved", "minor", "2.x"])
def test_no_day_of_any_walk_proposes_a_wrong_release(
    name: str, walks: dict[str, list[Day]], calendar: Calendar
) -> None:
    for each in walks[name]:
        now = datetime.combine(each.day, HOUR)
        for candidate in each.candidates:
            assert calendar.dates[candidate.target] <= now
            assert number(candidate.target) > number(each.current)
            if candidate.bump_kind is BumpKind.PATCH:
                assert candidate.target == calendar.newest_patch(each.current, now)
            else:
                assert candidate.bump_kind is BumpKind.MINOR
                assert candidate.target == calendar.newest_cooled(now)
                assert calendar.cooled(candidate.target) <= now
        for hold in each.holds:
            if hold.reason is HoldReason.COOLING_DOWN:
                assert datetime.fromisoformat(hold.until) == calendar.cooled(hold.target) > now
        assert {hold.reason for hold in each.holds} <= {HoldReason.UP_TO_DATE, HoldReason.COOLING_DOWN}


@pytest.mark.parametrize("name", ["patch", "patch, approved", "minor", "2.x"])
def test_no_day_of_any_walk_leaves_out_what_should_be_proposed(
    name: str, walks: dict[str, list[Day]], calendar: Calendar
) -> None:
    for each in walks[name]:
        now = datetime.combine(each.day, HOUR)
        targets = {candidate.target for candidate in each.candidates} | {hold.target for hold in each.holds}
        patch, cooled = calendar.newest_patch(each.current, now), calendar.newest_cooled(now)
        newest = max(calendar.out(now), key=number, default="")
        if cooled and number(cooled) > number(patch):
            assert cooled in targets
        if patch != each.current and (name.startswith("patch") or patch == cooled):
            assert patch in targets
        if newest and number(newest) > number(each.current):
            assert newest in targets


def test_under_policy_patch_one_patch_is_merged_and_all_else_is_one_draft(
    walks: dict[str, list[Day]], calendar: Calendar
) -> None:
    days = walks["patch"]
    assert [(each.day, each.merged) for each in days if each.merged] == [(date(2023, 7, 12), ["v2.0.1"])]
    opened = [(each.day, pull.target, pull.approved) for each in days for pull in each.opened]
    assert opened == [(date(2023, 7, 12), "v2.0.1", True), (date(2023, 9, 1), "v2.1.0", False)]
    updates = [pull.target for each in days for pull in each.updated]
    # One update for each release after v2.1.0, but for those that a newer one overtook while the minor cooled.
    assert updates == [tag for tag in reached(calendar) if number(tag) > (2, 1, 0)]
    assert not any(each.closed or each.readied for each in days)
    assert days[-1].candidates[0].target == "v2.9.4"
    tell(f"walk, patch: 1 pull request, 1 draft, {len(updates)} updates of it in {len(days)} days")


def reached(calendar: Calendar) -> list[str]:
    """Releases that were at some run the newest of their minor, and their minor had cooled."""
    return [tag for tag in sorted(calendar.dates, key=number) if passed_by(calendar, tag) is None]


def passed_by(calendar: Calendar, tag: str) -> str | None:
    """The patch that overtook ``tag`` before there was a run that could have proposed it."""
    run = datetime.combine(first_run(max(calendar.dates[tag], calendar.cooled(tag))), HOUR)
    newest = calendar.newest_patch(tag, run)
    return None if newest == tag else newest


@pytest.mark.parametrize("name", ["minor", "2.x"])
def test_under_policy_minor_each_release_is_merged_when_it_can_be_or_was_overtaken(
    name: str, walks: dict[str, list[Day]], calendar: Calendar
) -> None:
    merged = {tag: each.day for each in walks[name] for tag in each.merged}
    fates = {"v2.0.0": "start"}
    for tag in sorted(calendar.dates, key=number)[1:]:
        newer = passed_by(calendar, tag)
        # The repository starts in 2.0, so that this minor has no cool-down to wait for.
        due = calendar.dates[tag] if minor_of(tag) == "2.0" else max(calendar.dates[tag], calendar.cooled(tag))
        if tag in merged:
            assert merged[tag] == first_run(due)
            fates[tag] = "merged"
        else:
            assert newer is not None
            assert newer in merged
            assert calendar.dates[newer] <= datetime.combine(first_run(calendar.cooled(tag)), HOUR)
            fates[tag] = "overtaken"
    assert len(fates) == 38
    assert list(merged) == sorted(merged, key=number)
    assert not any(each.updated or each.readied or each.closed for each in walks[name])
    counted = {fate: list(fates.values()).count(fate) for fate in ("merged", "overtaken")}
    assert sum(counted.values()) == 37
    tell(f"walk, {name}: {counted['merged']} merged, {counted['overtaken']} overtaken while their minor cooled")


def test_a_range_alone_is_the_whole_policy(walks: dict[str, list[Day]]) -> None:
    assert walks["2.x"] == walks["minor"]


def test_with_approvals_every_minor_is_merged_two_days_after_its_draft(
    walks: dict[str, list[Day]], calendar: Calendar
) -> None:
    days = walks["patch, approved"]
    drafts = {minor_of(pull.target): each.day for each in days for pull in each.opened if not pull.approved}
    assert list(drafts) == [f"2.{minor}" for minor in range(1, 10)]
    for minor, since in drafts.items():
        assert since == first_run(calendar.dates[f"v{minor}.0"] + COOL_DOWN)
        entered = next(each for each in days if any(minor_of(tag) == minor for tag in each.merged))
        assert entered.day == since + timedelta(days=2)
        now = datetime.combine(entered.day, HOUR)
        assert entered.merged[-1] == calendar.newest_patch(f"v{minor}.0", now)
    assert days[-1].current == "v2.9.4"
    assert days[-1].candidates == []


def test_the_page_shows_the_walks(walks: dict[str, list[Day]], request: pytest.FixtureRequest) -> None:
    text = page(walks)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text


# The page.

TITLES = {
    "patch": ("patch, no approvals", "`policy: patch`, no minor is approved"),
    "patch, approved": ("patch, with approvals", "`policy: patch`, each minor is approved two days after its draft"),
    "minor": ("minor", "`policy: minor`"),
}
"""Of each walk: its section in the chart, and its row in the table."""
INTRO = f"""\
<!-- Written by `make test PYTEST_ARGS=--update-golden`, from Flux's release list: change the code, not this page. -->

# The policies compared

This page is for you if you choose a [policy](../how-to/approve-minors.md#policy). The chart shows which minor of \
Flux your cluster would have run with each policy, from {FIRST} to {LAST}.

```yaml
# .github/flux-upgrade.yaml
policy: patch
```
"""
METHOD = f"""\
The releases and their dates are those of Flux. The repository starts at v2.0.0, and flux-upgrade runs every day at \
{HOUR:%H:%M} UTC. The cool-downs are the defaults: none for a patch, {COOL_DOWN.days} days for a minor. A pull request \
that needs no approval is merged on the same day. No pull request is closed or reverted.
"""


def page(walks: dict[str, list[Day]]) -> str:
    overtaken = {name: never_proposed(days) for name, days in walks.items()}
    assert len(set(map(tuple, overtaken.values()))) == 1
    assert walks["2.x"] == walks["minor"]
    skipped = overtaken["minor"]
    return "\n".join(
        [
            INTRO,
            chart(walks),
            table(walks),
            "`range: 2.x` gives the same result as `policy: minor`, because there is no Flux 3.\n",
            (
                "On all other days, a run changes nothing. Without approvals, there is one draft, which is kept up to "
                f"date. {len(skipped)} releases are never proposed, because a patch followed during the cool-down of "
                f"their minor: {', '.join(skipped)}.\n"
            ),
            "## How it is computed\n",
            METHOD,
        ]
    )


def chart(walks: dict[str, list[Day]]) -> str:
    """A bar for each minor that the cluster runs."""
    lines = ["```mermaid", "gantt", "  dateFormat YYYY-MM-DD", "  axisFormat %Y"]
    for name, (section, _) in TITLES.items():
        lines.append(f"  section {section}")
        begins = dict[str, date]()
        for each in walks[name]:
            for tag in [each.current, *each.merged]:
                begins.setdefault(minor_of(tag), each.day)
        ends = [*begins.values(), LAST][1:]
        lines += [f"  {minor} :{begin}, {end}" for (minor, begin), end in zip(begins.items(), ends, strict=True)]
    return "\n".join([*lines, "```", ""])


def table(walks: dict[str, list[Day]]) -> str:
    lines = [
        "| Policy | Pull requests | Drafts among them | Updates of open ones | Merged | Days with a change | Ends at |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, (_, title) in TITLES.items():
        days = walks[name]
        pulls = [pull for each in days for pull in each.opened]
        cells = (
            title,
            len(pulls),
            sum(not pull.approved for pull in pulls),
            sum(len(each.updated) for each in days),
            sum(len(each.merged) for each in days),
            f"{sum(each.acts for each in days)} of {len(days)}",
            max([days[-1].current, *days[-1].merged], key=number),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, ""])


def never_proposed(days: list[Day]) -> list[str]:
    """A patch overtook them while their minor cooled down."""
    seen = {pull.target for each in days for pull in each.candidates}
    held = {hold.target for each in days for hold in each.holds if hold.target}
    return sorted(held - seen, key=number)
