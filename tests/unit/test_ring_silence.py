"""Silence of a cluster is no health, and a wait that does not end by itself asks for a user."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.clusters.sync import sync_of
from flux_upgrade.config.config import Governance
from flux_upgrade.model.forge import BaseCommit, CommitStatus
from flux_upgrade.pins.pin import Pin, Role
from flux_upgrade.policy.decision import HealthStatus, Ring
from flux_upgrade.policy.policy import MaxBump, Policy
from flux_upgrade.policy.rings import RingFacts, RingReport, RingState, Sync, report_of
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


def test_a_release_that_posts_nothing_needs_a_user() -> None:
    facts = RingFacts("staging", ("v2.8.0",), ("gotk.yaml",), "", HEALTHY)
    staging = report_of(facts, commits({}, {}, SUCCESS), timedelta(0), NOW)
    assert staging.is_stuck
    assert staging.detail == "staging is not known to be healthy: Flux v2.8.0 posts no commit statuses"


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
        ({"flux/instance.yaml": INSTANCE}, Sync(timedelta(minutes=1), is_oci=True)),
        ({"flux/instance.yaml": INSTANCE.replace(b"kind: OCI", b"interval: 5m\n    kind: OCI")}, Sync(timedelta(minutes=5), is_oci=True)),
    ],
)  # fmt: skip
def test_the_interval_of_a_sync(files: dict[str, bytes], sync: Sync) -> None:
    path = next(iter(files))
    pin = Pin(path, "written", files[path], role=Role.INSTALLS)
    assert sync_of(Cluster("flux", path, (Member(pin, path),)), in_memory(files)) == sync
