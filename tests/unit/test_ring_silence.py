"""Silence of a cluster is no health, and a wait that does not end by itself asks for a user."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from flows import fleet, listed
from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.clusters.sync import sync_of
from flux_upgrade.config.config import Governance
from flux_upgrade.model.forge import BaseCommit, CommitStatus
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import Pin, PinChange, Role
from flux_upgrade.planning.plan import Plan, Terms, Upgrade, UpgradeRequest
from flux_upgrade.planning.rings import Rings
from flux_upgrade.policy.decision import Bump, BumpKind, HealthStatus, Hold, Ring
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from flux_upgrade.policy.ring_facts import RingFacts, RingReport, RingState, Sync
from flux_upgrade.policy.rings import report_of
from flux_upgrade.policy.semver_range import Constraint
from flux_upgrade.pullrequests.apply import question_of
from flux_upgrade.snapshot.snapshot import in_memory
from rings import CONTEXT, FLUX, HEALTHY, MINORS, RingRepository, group

STAGING, PRODUCTION, PATCH = "staging/minor", "production/minor", "production/patch"
NOW = datetime(2026, 9, 10, tzinfo=UTC)
SUCCESS = {CONTEXT: CommitStatus("success", FLUX)}


def commits(*statuses: dict[str, CommitStatus], minutes: int = 24 * 60) -> list[BaseCommit]:
    """Commits with the release and, as the oldest, one without it; a day apart, the newest half an hour old."""
    newest = NOW - timedelta(minutes=30)
    return [
        BaseCommit(
            str(index) * 40,
            (newest - index * timedelta(minutes=minutes)).isoformat(),
            {"gotk.yaml": "old" if index == len(statuses) - 1 else "new"},
            posted,
        )
        for index, posted in enumerate(statuses)
    ]


def report(history: list[BaseCommit], *, sync: Sync = Sync(), healthy: HealthStatus = HEALTHY) -> RingReport:  # noqa: B008
    facts = RingFacts("staging", ("v2.8.4",), ("gotk.yaml",), "", healthy, (sync,))
    return report_of(facts, history, timedelta(0), NOW)


def test_silence_after_a_success_is_no_health() -> None:
    staging = report(commits({}, {}, {}, SUCCESS, SUCCESS))
    assert (staging.state, staging.is_stuck) == (RingState.UNKNOWN, True)
    assert staging.detail == f"staging is not known to be healthy: Flux has reported nothing on {CONTEXT} since 3333333"


def test_a_success_on_the_newest_commit_is_health() -> None:
    assert report(commits(SUCCESS, {}, {}, SUCCESS, SUCCESS)).state is RingState.PASSED


@pytest.mark.parametrize(
    ("interval", "state"),
    [(timedelta(minutes=10), RingState.UNKNOWN), (timedelta(minutes=20), RingState.PASSED), (None, RingState.PASSED)],
)
def test_flux_has_twice_the_interval_to_report(interval: timedelta | None, state: RingState) -> None:
    staging = report(commits({}, SUCCESS, SUCCESS), sync=Sync(interval))
    assert (staging.state, staging.is_stuck) == (state, False)


def test_an_artifact_is_not_pushed_for_every_commit() -> None:
    assert report(commits({}, SUCCESS, {}, SUCCESS), sync=Sync(is_oci=True)).state is RingState.PASSED
    assert report(commits({}, {}, SUCCESS, SUCCESS), sync=Sync(is_oci=True)).state is RingState.UNKNOWN


def test_each_context_of_a_pattern_has_to_report_again() -> None:
    three = {f"kustomization/staging-{name}": CommitStatus("success", FLUX) for name in "abc"}
    healthy = HealthStatus(("kustomization/staging-*",), FLUX)
    one = {"kustomization/staging-a": CommitStatus("success", FLUX)}
    staging = report(commits(one, three), healthy=healthy)
    assert (staging.state, staging.is_stuck) == (RingState.UNKNOWN, False)
    assert "Flux has not posted kustomization/staging-b since 1111111" in staging.detail
    assert report(commits(one, one, one, three), healthy=healthy).is_stuck
    assert report(commits(three, three), healthy=healthy).state is RingState.PASSED


def test_what_another_user_posted_before_the_release_is_not_waited_for() -> None:
    forged = {"kustomization/staging-x": CommitStatus("success", "mallory"), **SUCCESS}
    healthy = HealthStatus((CONTEXT, "kustomization/*"), FLUX)
    assert report(commits(SUCCESS, forged), healthy=healthy).state is RingState.PASSED


def test_one_artifact_does_not_excuse_the_silence_of_other_clusters() -> None:
    both = {f"kustomization/staging-{name}": CommitStatus("success", FLUX) for name in ("git", "oci")}
    alone = {"kustomization/staging-oci": CommitStatus("success", FLUX)}
    facts = RingFacts("staging", ("v2.9.4",) * 2, ("gotk.yaml",), "", HealthStatus(("kustomization/*",), FLUX))
    facts = facts._replace(syncs=(Sync(timedelta(minutes=1)), Sync(timedelta(minutes=1), is_oci=True)))
    staging = report_of(facts, commits(alone, alone, both, both), timedelta(0), NOW)
    assert staging.state is RingState.UNKNOWN
    assert "reported nothing on kustomization/staging-git" in staging.detail


@pytest.mark.parametrize("statuses", [[], [{}] * 10])
def test_a_cluster_that_never_reports_needs_a_user_however_many_commits_there_are(
    statuses: list[dict[str, CommitStatus]],
) -> None:
    facts = RingFacts("staging", ("v2.9.4",), ("gotk.yaml",), "2026-08-01T12:00:00Z", HEALTHY)
    busy = [commit._replace(blobs={"gotk.yaml": "new"}) for commit in commits(*statuses, minutes=10)]
    assert report_of(facts, busy, timedelta(0), NOW).is_stuck
    assert not report_of(facts._replace(merged_at="2026-09-09T23:00:00Z"), busy, timedelta(0), NOW).is_stuck


def test_a_date_in_the_future_hides_no_silence_and_begins_no_soak() -> None:
    history = commits({}, SUCCESS, SUCCESS)
    history[0] = history[0]._replace(committed_at="2036-08-01T00:00:00+00:00")
    assert report(history).state is RingState.UNKNOWN
    history = commits(SUCCESS, SUCCESS)
    history[0] = history[0]._replace(committed_at="2036-08-01T00:00:00+00:00")
    staging = report(history)
    assert (staging.state, staging.is_stuck) == (RingState.SOAKING, True)


def test_a_version_that_is_not_known_needs_a_user() -> None:
    facts = RingFacts("staging", ("v2.9.4", ""))
    staging = report_of(facts, (), timedelta(0), NOW)
    assert (staging.detail, staging.is_stuck) == ("staging runs v2.9.4, and a version that is not known", True)
    assert not report_of(facts._replace(versions=("v2.9.4", "v2.9.3")), (), timedelta(0), NOW).is_stuck


@pytest.mark.parametrize("posted", [{}, SUCCESS])
def test_a_release_that_posts_nothing_needs_a_user(posted: dict[str, CommitStatus]) -> None:
    facts = RingFacts("staging", ("v2.8.0",), ("gotk.yaml",), "", HEALTHY)
    staging = report_of(facts, commits(posted, SUCCESS), timedelta(0), NOW)
    assert staging.is_stuck
    assert staging.detail == "staging is not known to be healthy: Flux v2.8.0 posts no commit statuses"


def test_without_successes_a_group_needs_a_user_at_once() -> None:
    staging = report(commits({}, SUCCESS), sync=Sync(lacks_successes=True))
    assert (staging.state, staging.is_stuck) == (RingState.UNKNOWN, True)
    assert staging.detail.endswith(
        ", and the feature gate DisableCommitStatusEvent keeps kustomize-controller from posting successes"
    )
    assert report(commits(SUCCESS, SUCCESS), sync=Sync(lacks_successes=True)).state is RingState.PASSED


def rings(versions: dict[str, str], staging: Policy = MINORS, production: Policy = MINORS) -> RingRepository:
    """Staging, and production after it."""
    groups = (group("staging", staging), group("production", production, Ring(("staging",))))
    return RingRepository(groups, versions)


def test_a_patch_of_a_minor_that_the_group_before_has_left_needs_a_user() -> None:
    one = rings({"staging": "v2.9.4", "production": "v2.8.7"}, production=Policy())
    governance = Governance(policy=Policy(), auto_merge=MaxBump.PATCH)
    one.groups = (one.groups[0], one.groups[1]._replace(governance=governance))
    one.run()
    pull = one.pull(PATCH)
    assert pull.is_draft
    assert "- staging runs v2.9.4, which is newer" in pull.body
    assert "**This needs you:** it does not pass by itself" in pull.body


def test_a_group_that_never_upgrades_by_itself_needs_a_user() -> None:
    one = rings({"staging": "v2.8.8", "production": "v2.8.8"}, staging=Policy(bump=MaxBump.NONE))
    one.run()
    assert "- staging runs v2.8.8, and staging has policy none" in one.pull(PRODUCTION).body
    assert "**This needs you:**" in one.pull(PRODUCTION).body


RANGE = b"""apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec:
  distribution: {version: 2.x, registry: ghcr.io/fluxcd}
"""


@pytest.mark.parametrize("name", ["staging", "production"])
def test_a_group_that_follows_a_range_has_no_release_to_wait_for(name: str) -> None:
    one = rings({"staging": "v2.8.7", "production": "v2.8.7"})
    files = {path: content for path, content in one.forge.files.items() if name not in path}
    one.forge.files.clear()
    one.forge.push_to_base({**files, f"clusters/{name}/flux.yaml": RANGE})
    one.run()
    if name == "staging":
        assert "- staging runs no known version" in one.pull(PRODUCTION).body
        assert "**This needs you:**" in one.pull(PRODUCTION).body


def test_a_release_outside_of_the_range_of_a_group_before_needs_a_user() -> None:
    within = Policy(bump=MaxBump.MINOR, range=Constraint("<2.9.0"))
    one = rings({"staging": "v2.8.8", "production": "v2.8.8"}, staging=within)
    one.run()
    assert "and v2.9.4 is outside of the range of staging" in one.pull(PRODUCTION).body


def test_a_minor_that_was_declined_before_stays_declined_with_its_next_patch() -> None:
    one = rings({"staging": "v2.8.8", "production": "v2.8.8"})
    one.world.releases = listed("v2.8.7", "v2.8.8", "v2.9.3")
    one.run()
    one.forge.close_pull(one.pull(STAGING).number)
    one.world.releases = listed("v2.8.7", "v2.8.8", "v2.9.3", "v2.9.4")
    one.later(days=49)
    assert "**This needs you:**" in one.pull(PRODUCTION).body


def test_a_release_that_was_declined_before_needs_a_user() -> None:
    one = rings({"staging": "v2.8.8", "production": "v2.8.8"})
    one.run()
    assert "This needs you" not in one.pull(PRODUCTION).body
    closed = one.pull(STAGING)
    one.forge.close_pull(closed.number)
    one.later(days=1)
    assert f"- staging runs v2.8.8, and a user closed {closed.url}" in one.pull(PRODUCTION).body.replace("\\", "")
    assert "**This needs you:**" in one.pull(PRODUCTION).body


GIT = b"""apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
spec:
  interval: 1m0s
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
spec:
  interval: 10m0s
"""
GATE = b"- op: add\n  path: /spec/args/-\n  value: --feature-gates=DisableCommitStatusEvent=true\n"
INSTANCE = b"""apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
spec:
  sync:
    kind: OCIRepository
"""


@pytest.mark.parametrize(
    ("files", "sync"),
    [
        ({"flux/gotk-components.yaml": b"", "flux/gotk-sync.yaml": GIT}, Sync(timedelta(minutes=10))),
        ({"flux/gotk-components.yaml": b""}, Sync()),
        ({"flux/gotk-components.yaml": b"", "flux/gotk-sync.yaml": b"spec: {interval: ${X}}\n"}, Sync()),
        (
            {"flux/gotk-components.yaml": b"", "flux/gotk-sync.yaml": GIT + b"---\nkind: OCIRepository\n"},
            Sync(timedelta(minutes=10)),
        ),
        ({"flux/gotk-components.yaml": b"", "flux/patches/gate.yaml": GATE}, Sync(lacks_successes=True)),
        ({"flux/gotk-components.yaml": b"", "apps/gate.yaml": GATE}, Sync()),
        ({"gotk-components.yaml": b"", "apps/gate.yaml": GATE}, Sync()),
        ({"gotk-components.yaml": b"", "gate.yaml": GATE}, Sync(lacks_successes=True)),
        ({"flux/instance.yaml": INSTANCE}, Sync(timedelta(minutes=1), is_oci=True)),
        ({"flux/instance.yaml": INSTANCE.replace(b"kind: OCI", b"interval: 5m\n    kind: OCI")}, Sync(timedelta(minutes=5), is_oci=True)),
    ],
)  # fmt: skip
def test_the_interval_of_a_sync(files: dict[str, bytes], sync: Sync) -> None:
    path = next(iter(files))
    pin = Pin(path, "written", files[path], role=Role.INSTALLS)
    assert sync_of(Cluster("flux", path, (Member(pin, path),)), in_memory(files)) == sync


def test_a_status_of_another_user_on_each_commit_does_not_hide_the_silence_of_flux() -> None:
    forged = {CONTEXT: CommitStatus("success", "mallory")}
    assert report(commits(forged, forged, forged, SUCCESS)).is_stuck
    assert not report(commits(forged, SUCCESS, SUCCESS)).is_stuck


def test_a_silence_is_told_while_the_soak_lasts() -> None:
    after = group("production", MINORS, Ring(("staging",), timedelta(days=14)))
    groups = (group("staging", ring=Ring(healthy=HEALTHY)), after)
    one = RingRepository(groups, {"staging": "v2.8.8", "production": "v2.8.8"})
    one.run()
    one.merge(STAGING)
    one.later(hours=2)
    assert "This needs you" not in one.pull(PRODUCTION).body
    one.later(days=2)
    assert f"the soak ends on 2026-09-15, and staging is not known to be healthy: Flux has not posted {CONTEXT}" in (
        one.pull(PRODUCTION).body
    )
    assert "**This needs you:**" in one.pull(PRODUCTION).body


def test_a_refusal_that_was_taken_back_needs_no_user() -> None:
    one = rings({"staging": "v2.8.8", "production": "v2.8.8"})
    one.world.releases = listed("v2.8.8", "v2.9.3")
    one.run()
    one.forge.close_pull(one.pull(STAGING).number)
    one.world.asked = UpgradeRequest(approve=("staging=2.9",))
    one.later(hours=1)
    one.world.asked = UpgradeRequest()
    one.merge(STAGING)
    one.later(days=1)
    one.forge.push_to_base(fleet({"clusters/production/one": "v2.9.3"}))
    one.world.releases = listed("v2.8.8", "v2.9.3", "v2.9.4")
    one.later(days=1)
    assert "staging runs v2.9.3" in one.pull(PATCH).body
    assert "This needs you" not in one.pull(PATCH).body


def test_a_hold_of_a_whole_minor_is_no_defect() -> None:
    one = rings({"staging": "v2.8.8", "production": "v2.8.8"})
    one.run()
    inventory = one.world.gathered()
    repository = one.forge.fetch(question_of(inventory))
    waiting = Rings(inventory.update_groups, inventory.config, repository, one.now)
    (production,) = [each for each in inventory.update_groups if each.name == "production"]
    member = production.clusters[0].members[0]
    hold = Hold(HoldReason.CLOSED_BY_HUMAN, "", target=Version("2.9"))
    upgrade = Upgrade(Bump(BumpKind.MINOR, Version("v2.9.4"), approved=True), PinChange())
    plan = waiting.waiting(
        Plan(member.pin, member.path, (hold, upgrade)), production, Terms(production.group.governance)
    )
    assert plan.decisions[0] == hold
    assert plan.upgrades[0].waits
