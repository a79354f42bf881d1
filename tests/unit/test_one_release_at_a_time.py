"""A group that keeps its release until the groups after it run it, too."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from flows import listed, path_in
from flux_upgrade.model import markers
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.policy.decision import HealthStatus, Ring
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Pending, Policy
from rings import CONTEXT, FLUX, HEALTHY, MINORS, RingRepository, group

BOX = re.compile(rf"- \[ \] <!-- flux-upgrade:({markers.ACCEPT}-[0-9a-f]+) -->")
STAGING, PRODUCTION = "staging/patch", "production/minor"


def rings(
    staging: str = "v2.9.3", production: str = "v2.8.8", policy: Policy = MINORS, healthy: HealthStatus | None = None
) -> RingRepository:
    first = group("staging", ring=Ring(healthy=healthy, one_release_at_a_time=True))
    after = group("production", policy, Ring(("staging",), timedelta(days=3)))
    return RingRepository((first, after), {"staging": staging, "production": production})


def test_a_group_keeps_its_release_until_the_next_one_has_it() -> None:
    one = rings()
    one.run()
    pull = one.pull(STAGING)
    assert pull.is_draft
    assert "**This stays a draft, because v2.9.4 waits for `production`:**\n- production runs v2.8.8" in pull.body
    assert "This needs you" not in pull.body
    one.later(days=3)
    assert one.pull(STAGING).is_draft
    one.merge(PRODUCTION)
    one.later(days=1)
    assert not one.pull(STAGING).is_draft


def test_the_box_ends_the_wait() -> None:
    one = rings()
    one.run()
    (box,) = BOX.findall(one.pull(STAGING).body)
    one.forge.tick(one.pull(STAGING).number, box)
    one.later(hours=1)
    assert not one.pull(STAGING).is_draft


def test_a_release_that_fails_is_not_waited_for() -> None:
    one = rings(healthy=HEALTHY)
    one.run()
    one.forge.post(CONTEXT, "failure", FLUX)
    one.later(minutes=30)
    assert one.pull(STAGING).is_draft, "Flux tries again"
    one.later(hours=1)
    assert not one.pull(STAGING).is_draft


def test_a_group_after_it_that_never_upgrades_needs_a_user() -> None:
    one = rings(policy=Policy(bump=MaxBump.NONE))
    one.run()
    body = one.pull(STAGING).body
    assert "- production runs v2.8.8, and production has policy none" in body
    assert "**This needs you:**" in body


def test_a_group_after_it_that_runs_a_newer_release_is_not_waited_for() -> None:
    one = rings(production="v2.9.4")
    one.run()
    assert not one.pull(STAGING).is_draft


def test_a_group_after_it_that_a_user_has_to_look_at_needs_a_user() -> None:
    one = rings(healthy=HEALTHY)
    one.run()
    assert "This needs you" not in one.pull(STAGING).body
    one.later(days=5)
    assert "**This needs you:**" in one.pull(STAGING).body


def test_a_group_after_it_that_is_held_needs_a_user() -> None:
    one = rings()
    path = path_in("clusters/production/one")
    content = one.forge.files[path]
    one.forge.push_to_base({path: content.replace(b"v2.8.8\n  name: allow-webhooks", b"v9\n  name: allow-webhooks")})
    one.run()
    assert "- production runs v2.8.8, and production is held: edit-conflict" in one.pull(STAGING).body
    assert "**This needs you:**" in one.pull(STAGING).body


def test_a_group_after_it_that_waits_for_an_approval_nobody_sees_needs_a_user() -> None:
    one = rings(policy=Policy(pending=Pending.SUMMARY))
    one.run()
    assert "and production is held: needs-approval" in one.pull(STAGING).body
    assert "**This needs you:**" in one.pull(STAGING).body


def test_a_group_after_it_that_went_back_needs_a_user() -> None:
    one = rings()
    one.run()
    before = dict(one.forge.files)
    one.later(days=4)
    one.merge(PRODUCTION)
    one.later(hours=1)
    one.forge.push_to_base(before)
    one.later(days=1)
    assert "and production has gone back from v2.9.3" in one.pull(STAGING).body
    assert "**This needs you:**" in one.pull(STAGING).body


def test_a_release_that_another_group_before_has_left_is_not_waited_for() -> None:
    ring = Ring(one_release_at_a_time=True)
    after = group("production", MINORS, Ring(("a", "b"), timedelta(days=3)))
    versions = {"a": "v2.9.3", "b": "v2.9.4", "production": "v2.8.8"}
    one = RingRepository((group("a", ring=ring), group("b", ring=ring), after), versions)
    one.run()
    assert not one.pull("a/patch").is_draft


def test_a_release_that_is_never_proposed_is_not_waited_for() -> None:
    one = rings()
    one.world.releases = listed("v2.8.8", "v2.9.4")
    one.run()
    assert not one.pull(STAGING).is_draft


def test_a_push_during_the_run_is_no_defect() -> None:
    one = rings()
    one.run()
    path = path_in("clusters/staging/one")
    one.forge.push_to_base({path: one.forge.files[path].replace(b"--log-level=info", b"--log-level=debug")})
    done = one.world.run(one.forge)
    reasons = {hold.reason for team in done.plans for plan in team.plans for hold in plan.holds}
    assert HoldReason.UNEXPECTED not in reasons


def test_in_a_checkout_it_is_held() -> None:
    one = rings()
    plans = plan_update_groups(replace(one.world, files=dict(one.forge.files)).gathered())
    holds = [hold for team in plans for plan in team.plans for hold in plan.holds]
    assert [each.detail for each in holds if each.reason is HoldReason.WAITS_FOR_GROUP][:1] == [
        "production runs v2.8.8"
    ]


def test_a_held_release_of_the_group_before_needs_a_user() -> None:
    one = RingRepository(
        (group("staging"), group("production", MINORS, Ring(("staging",)))),
        {"staging": "v2.8.8", "production": "v2.8.8"},
    )
    path = path_in("clusters/staging/one")
    content = one.forge.files[path]
    one.forge.push_to_base({path: content.replace(b"v2.8.8\n  name: allow-webhooks", b"v9\n  name: allow-webhooks")})
    one.run()
    assert "and staging is held: edit-conflict" in one.pull(PRODUCTION).body
    assert "**This needs you:**" in one.pull(PRODUCTION).body


def test_a_minor_that_only_the_summary_shows_needs_a_user() -> None:
    one = RingRepository(
        (group("staging", Policy(pending=Pending.SUMMARY)), group("production", MINORS, Ring(("staging",)))),
        {"staging": "v2.8.8", "production": "v2.8.8"},
    )
    one.world.releases = listed("v2.8.8", "v2.9.4")
    one.run()
    assert "and staging is held: needs-approval" in one.pull(PRODUCTION).body
    assert "**This needs you:**" in one.pull(PRODUCTION).body
