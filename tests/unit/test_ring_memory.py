"""The record in a draft about the groups before: since when they have their files, and the contexts that Flux reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from flows import fleet, path_in
from flux_upgrade.model import markers
from flux_upgrade.model.forge import BaseCommit, CommitStatus, Issue
from flux_upgrade.planning.plan import UpgradeRequest
from flux_upgrade.policy.decision import HealthStatus, Ring
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Pending, Policy
from flux_upgrade.policy.ring_facts import RingFacts, RingMemory, RingState, memory_in
from flux_upgrade.policy.rings import report_of
from rings import CONTEXT, FLUX, HEALTHY, MINORS, RingRepository, group

PRODUCTION = "production/minor"
NOW = datetime(2026, 9, 10, tzinfo=UTC)
OLD = "2026-01-01T00:00:00Z"
SOAK = timedelta(days=3)
SUCCESS = {CONTEXT: CommitStatus("success", FLUX)}


def rings(soak: int = 3) -> RingRepository:
    after = group("production", MINORS, Ring(("staging",), timedelta(days=soak)))
    return RingRepository((group("staging"), after), {"staging": "v2.8.8", "production": "v2.8.8"})


def upgrade_by_hand(one: RingRepository, date: str = "") -> None:
    one.forge.push_to_base(fleet({"clusters/staging/one": "v2.9.4"}), date)


def work(one: RingRepository, commits: int) -> None:
    for number in range(commits):
        one.forge.push_to_base({"apps/readme.md": f"{one.now} {number}\n".encode()})


def test_an_old_commit_date_does_not_end_a_soak_at_once() -> None:
    one = rings()
    one.run()
    upgrade_by_hand(one, OLD)
    one.later(days=1)
    pull = one.pull(PRODUCTION)
    assert pull.is_draft
    assert "staging has run v2.9.4 since 2026-09-02, and the soak ends on 2026-09-05" in pull.body
    one.later(days=2)
    assert one.pull(PRODUCTION).body == pull.body
    one.later(days=1)
    assert not one.pull(PRODUCTION).is_draft


def test_a_commit_date_in_the_future_begins_the_soak_now() -> None:
    one = rings()
    one.run()
    upgrade_by_hand(one, "2036-01-01T00:00:00Z")
    one.run()
    assert one.later(hours=1) == {}
    assert "since 2026-09-01, and the soak ends on 2026-09-04" in one.pull(PRODUCTION).body
    one.later(days=3)
    assert not one.pull(PRODUCTION).is_draft


def test_a_soak_ends_however_many_commits_come_after_the_upgrade() -> None:
    one = rings()
    one.run()
    upgrade_by_hand(one)
    one.run()
    for _ in range(3):
        assert one.pull(PRODUCTION).is_draft
        assert "staging has run v2.9.4 since 2026-09-01, and the soak ends on 2026-09-04" in one.pull(PRODUCTION).body
        work(one, 60)
        one.later(days=1)
    assert not one.pull(PRODUCTION).is_draft
    work(one, 120)
    assert one.later(days=1) == {}


def test_an_edit_begins_the_soak_again_however_many_commits_come_after_it() -> None:
    one = rings()
    one.run()
    one.merge("staging/minor")
    one.later(days=1)
    path = path_in("clusters/staging/one")
    one.forge.push_to_base({path: one.forge.files[path].replace(b"--log-level=info", b"--log-level=debug")})
    work(one, 150)
    one.later(days=1)
    assert "since 2026-09-03" in one.pull(PRODUCTION).body
    one.later(days=2)
    assert one.pull(PRODUCTION).is_draft
    one.later(days=1)
    assert not one.pull(PRODUCTION).is_draft


def test_a_merge_counts_from_its_own_time() -> None:
    one = rings()
    one.run()
    one.merge("staging/minor")
    one.later(days=3)
    assert not one.pull(PRODUCTION).is_draft


def test_a_draft_of_an_earlier_version_takes_the_dates_of_the_commits() -> None:
    one = rings()
    upgrade_by_hand(one)
    one.run()
    number, body = one.pull(PRODUCTION).number, one.pull(PRODUCTION).body
    state, text = markers.state_of(body), markers.text_of(body)
    assert state is not None
    assert text is not None
    assert state.rings
    one.forge.edit(number, body=markers.replaced(body, markers.block(text, state._replace(rings=()))))
    one.later(days=3)
    assert not one.pull(PRODUCTION).is_draft


def test_a_record_survives_a_checkout_that_is_behind() -> None:
    one = rings()
    one.run()
    upgrade_by_hand(one)
    one.run()
    (entry,) = recorded(one)
    path = path_in("clusters/staging/one")
    one.forge.push_to_base({path: one.forge.files[path].replace(b"--log-level=info", b"--log-level=debug")})
    one.world.run(one.forge)
    assert "differs between this checkout and the base branch" in one.pull(PRODUCTION).body
    assert recorded(one) == (entry,)


def test_a_group_that_is_new_before_another_begins_to_soak_at_first_sight() -> None:
    one = rings()
    one.run()
    upgrade_by_hand(one, OLD)
    before, after = one.groups
    after = after._replace(ring=after.ring._replace(after=("stage",)))
    one.world.config = one.world.config._replace(groups=(before._replace(name="stage"), after))
    one.later(days=1)
    assert one.pull(PRODUCTION).is_draft


def test_the_next_pull_request_takes_over_the_record() -> None:
    one = rings()
    one.run()
    upgrade_by_hand(one)
    one.run()
    one.forge.close_pull(one.pull(PRODUCTION).number)
    one.later(days=1)
    one.world.asked = UpgradeRequest(approve=("production=2.9",))
    one.later(days=2)
    assert not one.pull(PRODUCTION).is_draft


def test_a_dashboard_hides_no_record() -> None:
    one = rings()
    one.forge.issues[900] = Issue(900, "", "Dashboard", "", (markers.DASHBOARD,), is_own=True)
    one.run()
    upgrade_by_hand(one)
    one.run()
    one.forge.close_pull(one.pull(PRODUCTION).number)
    one.forge.edit(1, is_closed_by_bot=True)
    one.forge.edit(2, is_closed_by_bot=True)
    one.later(days=3)
    assert not one.pull(PRODUCTION).is_draft


def test_without_a_draft_the_dates_of_the_commits_count() -> None:
    before, after = rings().groups
    policy = Policy(bump=MaxBump.MINOR, pending=Pending.SUMMARY)
    after = after._replace(governance=after.governance._replace(policy=policy))
    one = RingRepository((before, after), {"staging": "v2.8.8", "production": "v2.8.8"})
    one.run()
    upgrade_by_hand(one)
    one.later(days=2)
    assert HoldReason.WAITS_FOR_GROUP in one.reasons
    assert one.later(days=1)[PRODUCTION] == "opened"


def test_where_there_are_no_drafts_the_issue_is_kept() -> None:
    one = rings()
    one.forge.has_drafts = False
    for _ in range(4):
        one.later(days=1)
    (issue,) = [issue for issue in one.forge.issues.values() if "production" in issue.title]
    assert issue.is_open
    assert "To upgrade without waiting, run `flux-upgrade upgrade --to v2.9.4` in a checkout." in issue.body
    upgrade_by_hand(one)
    one.later(days=1)
    assert not one.later(days=2)
    assert one.later(days=1)[PRODUCTION] == "opened"


def test_a_long_record_keeps_its_date() -> None:
    entry = RingMemory("v2.9.4", "1", OLD, tuple(f"kustomization/{number:060}" for number in range(500))).entry(
        "staging"
    )
    assert len(entry) < 10_000
    memory = memory_in([entry], "staging", "1")
    assert memory is not None
    assert (memory.since, memory.contexts[0]) == (OLD, f"kustomization/{0:060}")


def recorded(one: RingRepository) -> tuple[str, ...]:
    """Return what the draft records."""
    state = markers.state_of(one.pull(PRODUCTION).body)
    assert state is not None
    return state.rings


def history(*statuses: dict[str, CommitStatus]) -> list[BaseCommit]:
    """Return commits of the last hours, all with the release."""
    dates = (NOW - timedelta(minutes=10 * number + 5) for number in range(len(statuses)))
    return [
        BaseCommit(f"{number}", date.isoformat(), {"gotk.yaml": "new"}, posted)
        for number, (date, posted) in enumerate(zip(dates, statuses, strict=True))
    ]


def facts(**more: Any) -> RingFacts:
    known = RingFacts("staging", ("v2.9.4",), ("gotk.yaml",), "", HEALTHY, files="1", changed_at="2026-09-01T00:00:00Z")
    return known._replace(**more)


def test_without_a_date_in_the_commits_that_are_read_git_is_asked() -> None:
    commits = history(*[SUCCESS] * 100)
    assert report_of(facts(), commits, SOAK, NOW).state is RingState.PASSED
    assert report_of(facts(changed_at="2026-09-09T00:00:00Z"), commits, SOAK, NOW).state is RingState.SOAKING
    edited = facts(merged_at="2026-08-01T00:00:00Z", changed_at="2026-09-09T00:00:00Z")
    assert report_of(edited, commits, SOAK, NOW).state is RingState.SOAKING


def test_a_context_is_not_forgotten_with_its_last_commit() -> None:
    healthy = HealthStatus(("kustomization/staging-*",), FLUX)
    one = {"kustomization/staging-a": CommitStatus("success", FLUX)}
    both = {**one, "kustomization/staging-b": CommitStatus("success", FLUX)}
    first = report_of(facts(healthy=healthy), history(both), SOAK, NOW)
    assert first.memory == RingMemory("v2.9.4", "1", "2026-09-01T00:00:00Z", tuple(sorted(both)))
    later = report_of(facts(healthy=healthy, memory=first.memory), history(*[one] * 100), SOAK, NOW)
    assert (later.state, later.is_stuck) == (RingState.UNKNOWN, True)
    assert "Flux has not posted kustomization/staging-b on the last 100 commits" in later.detail
    assert later.memory == first.memory


def test_what_others_posted_is_not_recorded() -> None:
    healthy = HealthStatus(("kustomization/*",), FLUX)
    forged = {**SUCCESS, "kustomization/x": CommitStatus("success", "mallory")}
    memory = report_of(facts(healthy=healthy), history(forged), SOAK, NOW).memory
    assert memory is not None
    assert memory.contexts == (CONTEXT,)


def test_what_is_configured_is_not_recorded() -> None:
    memory = report_of(facts(), history(SUCCESS), SOAK, NOW).memory
    assert memory is not None
    assert memory.contexts == ()


@pytest.mark.parametrize(
    "entry",
    ["", "staging", "staging\t\t1", "staging\t\t1\tyesterday", "staging\t\t1\t2026-09-01", "other\t\t1\t" + OLD],
)
def test_an_entry_that_cannot_be_read_is_none(entry: str) -> None:
    assert memory_in([entry], "staging", "1") is None


def test_an_entry_about_the_files_of_now_goes_first() -> None:
    entries = [
        RingMemory("v2.9.4", "2", "2026-09-05T00:00:00Z", ("b",)).entry("staging"),
        RingMemory("v2.9.4", "1", OLD, ("a",)).entry("staging"),
    ]
    assert memory_in(entries, "staging", "1") == RingMemory("v2.9.4", "1", OLD, ("a", "b"))
    assert memory_in(entries, "staging", "3") == RingMemory("v2.9.4", "2", "2026-09-05T00:00:00Z", ("a", "b"))
