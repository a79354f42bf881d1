"""Groups that come after others: what they wait for, and what ends the wait."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from flows import fleet, listed, path_in
from flux_upgrade.model import markers
from flux_upgrade.model.forge import BaseCommit
from flux_upgrade.planning.plan import UpgradeRequest
from flux_upgrade.policy.decision import HealthStatus, Ring
from flux_upgrade.policy.feedback import APPROVED
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import Policy
from flux_upgrade.policy.ring_facts import RingFacts
from flux_upgrade.policy.ring_health import fits
from flux_upgrade.policy.rings import report_of
from rings import CONTEXT, FLUX, HEALTHY, MINORS, RingRepository, group

STAGING, PRODUCTION = "staging/minor", "production/minor"
BOX = re.compile(rf"- \[(.)\] <!-- flux-upgrade:({markers.ACCEPT}-[0-9a-f]+) -->")


def rings(
    *, soak: int = 3, healthy: HealthStatus | None = None, policy: Policy = MINORS, staging: str = "v2.8.8"
) -> RingRepository:
    """Staging, and production after it."""
    before = group("staging", ring=Ring(healthy=healthy))
    after = group("production", policy, Ring(("staging",), timedelta(days=soak)))
    return RingRepository((before, after), {"staging": staging, "production": "v2.8.8"})


def test_the_next_group_is_a_draft_that_says_what_it_waits_for() -> None:
    one = rings()
    assert one.run() == {STAGING: "opened", PRODUCTION: "opened"}
    assert not one.pull(STAGING).is_draft
    pull = one.pull(PRODUCTION)
    assert pull.is_draft
    assert "waits for `staging`" in pull.body.splitlines()[1]
    assert "- staging runs v2.8.8" in pull.body
    assert one.run() == {}


def test_it_becomes_ready_once_the_same_release_was_merged_and_has_soaked() -> None:
    one = rings()
    one.run()
    one.merge(STAGING)
    assert one.later(hours=1) == {PRODUCTION: "updated"}
    assert "- staging has run v2.9.4 since 2026-09-01, and the soak ends on 2026-09-04" in one.pull(PRODUCTION).body
    assert one.later(days=1) == {}, "the text is the same every day"
    assert one.pull(PRODUCTION).is_draft
    assert one.later(days=2) == {PRODUCTION: "updated"}
    assert not one.pull(PRODUCTION).is_draft
    assert "waits for" not in one.pull(PRODUCTION).body
    assert one.run() == {}


def test_an_upgrade_by_other_means_begins_to_wait_when_a_run_first_sees_it() -> None:
    one = rings(staging="v2.9.4")
    assert one.later(days=3) == {PRODUCTION: "opened"}
    assert one.pull(PRODUCTION).is_draft
    one.later(days=3)
    assert not one.pull(PRODUCTION).is_draft


def test_a_wait_that_is_over_is_not_even_begun() -> None:
    one = rings()
    one.run()
    one.forge.close_pull(one.pull(PRODUCTION).number)
    one.merge(STAGING)
    one.world.releases = (*one.world.releases, *listed("v2.10.0"))
    one.world.asked = UpgradeRequest(approve=("production=2.9",))
    assert one.later(days=3)[PRODUCTION] == "opened"
    assert not one.pull(PRODUCTION).is_draft


def test_the_group_before_may_go_on_while_the_next_one_takes_what_it_has_passed() -> None:
    one = rings(staging="v2.9.3")
    assert one.run() == {"staging/patch": "opened", PRODUCTION: "opened"}
    one.later(days=4)
    assert one.pull(PRODUCTION).title == "Upgrade Flux to v2.9.3 in production"
    assert not one.pull(PRODUCTION).is_draft


def test_a_change_of_the_group_before_begins_the_soak_anew() -> None:
    one = rings(staging="v2.9.4")
    one.later(days=2)
    path = path_in("clusters/staging/one")
    content = one.forge.files[path]
    one.forge.push_to_base({path: content.replace(b"--log-level=info", b"--log-level=debug")})
    one.run()
    one.later(days=2)
    assert one.pull(PRODUCTION).is_draft
    one.later(days=1)
    assert not one.pull(PRODUCTION).is_draft


def test_another_change_does_not() -> None:
    one = rings(staging="v2.9.4")
    one.run()
    one.later(days=2)
    one.forge.push_to_base({"apps/readme.md": b"Hello\n"})
    one.later(days=1)
    assert not one.pull(PRODUCTION).is_draft


BUSY = [
    BaseCommit(f"{at:040x}", f"2026-08-20T{23 - at // 5:02}:{59 - at % 5 * 12:02}:00Z", {"gotk.yaml": "new"})
    for at in range(100)
]
"""As many commits as are read, a commit every twelve minutes. None of them changes Flux."""


@pytest.mark.parametrize(
    ("merged_at", "commits", "since"),
    [
        ("2026-08-01T12:00:00Z", BUSY, "2026-08-01"),
        # It may have been changed shortly before.
        ("", BUSY, "2026-08-20"),
        # Its files were changed after the merge.
        ("2026-08-01T12:00:00Z", [*BUSY[:-1], BUSY[-1]._replace(blobs={"gotk.yaml": "old"})], "2026-08-20"),
    ],
)
def test_a_soak_begins_at_the_merge_however_many_commits_come_after_it(
    merged_at: str, commits: list[BaseCommit], since: str
) -> None:
    facts = RingFacts("staging", ("v2.9.4",), ("gotk.yaml",), merged_at)
    report = report_of(facts, commits, timedelta(days=60), datetime(2026, 8, 21, tzinfo=UTC))
    assert report.detail.startswith(f"staging has run v2.9.4 since {since},")


HEALTH = {
    "healthy": ((CONTEXT, "success", FLUX), ""),
    "case": ((CONTEXT, "success", FLUX.upper()), ""),
    "missing": (None, f"Flux has not posted {CONTEXT}"),
    "other-context": ((f"{CONTEXT}-2", "success", FLUX), f"Flux has not posted {CONTEXT}"),
    "forged": ((CONTEXT, "success", "mallory"), f"{CONTEXT} was posted by mallory"),
    "gone-account": ((CONTEXT, "success", ""), f"{CONTEXT} was posted by an unknown user"),
    "pending": ((CONTEXT, "pending", FLUX), f"{CONTEXT} is pending"),
    "failure": ((CONTEXT, "failure", FLUX), f"Flux reports a failure in staging ({CONTEXT})"),
    "error": ((CONTEXT, "error", FLUX), f"Flux reports a failure in staging ({CONTEXT})"),
}


@pytest.mark.parametrize("name", HEALTH)
def test_only_flux_says_that_a_group_is_healthy(name: str) -> None:
    posted, why = HEALTH[name]
    one = rings(healthy=HEALTHY, staging="v2.9.4")
    one.run()
    if posted is not None:
        one.forge.post(*posted)
    one.later(days=3)
    pull = one.pull(PRODUCTION)
    assert pull.is_draft is bool(why)
    assert why in pull.body


def test_a_forged_status_does_not_hide_behind_an_older_one() -> None:
    one = rings(healthy=HEALTHY, staging="v2.9.4")
    one.run()
    one.forge.post(CONTEXT, "success", FLUX)
    one.forge.push_to_base({"apps/readme.md": b"Hello\n"})
    one.forge.post(CONTEXT, "success", "mallory")
    one.later(days=3)
    assert "was posted by mallory" in one.pull(PRODUCTION).body


def test_a_status_counts_only_while_the_release_is_there() -> None:
    one = rings(healthy=HEALTHY)
    one.forge.post(CONTEXT, "success", FLUX)
    one.run()
    one.merge(STAGING)
    one.later(days=3)
    assert f"Flux has not posted {CONTEXT}" in one.pull(PRODUCTION).body
    one.forge.push_to_base({"apps/readme.md": b"Hello\n"})
    one.forge.post(CONTEXT, "success", FLUX)
    one.run()
    assert not one.pull(PRODUCTION).is_draft


def test_the_newest_commit_with_a_status_decides() -> None:
    one = rings(healthy=HEALTHY, staging="v2.9.4")
    one.run()
    one.forge.post(CONTEXT, "failure", FLUX)
    one.later(days=3)
    assert one.pull(PRODUCTION).is_draft
    one.forge.push_to_base({"apps/fix.yaml": b"a: 1\n"})
    one.run()
    assert one.pull(PRODUCTION).is_draft
    one.forge.post(CONTEXT, "success", FLUX)
    one.run()
    assert not one.pull(PRODUCTION).is_draft


def test_each_context_must_be_there_and_a_pattern_may_stand_for_several() -> None:
    one = rings(healthy=HealthStatus(("kustomization/*/eu-*", "kustomization/*/us"), FLUX), staging="v2.9.4")
    one.run()
    one.forge.post("kustomization/flux-system/eu-1", "success", FLUX)
    one.forge.post("kustomization/flux-system/eu-2", "success", FLUX)
    one.later(days=3)
    assert "Flux has not posted kustomization/\\*/us" in one.pull(PRODUCTION).body
    one.forge.post("kustomization/flux-system/us", "success", FLUX)
    one.run()
    assert not one.pull(PRODUCTION).is_draft
    one.forge.post("kustomization/flux-system/eu-2", "failure", FLUX)
    one.run()
    assert one.pull(PRODUCTION).is_draft


def test_the_groups_before_do_not_approve_a_minor() -> None:
    one = rings(staging="v2.9.4", policy=Policy())
    one.run()
    one.later(days=3)
    pull = one.pull(PRODUCTION)
    assert pull.is_draft
    assert "waits for" not in pull.body
    one.forge.label(pull.number, APPROVED)
    one.run()
    assert not one.pull(PRODUCTION).is_draft


def test_an_approval_does_not_end_the_wait_and_is_not_forgotten() -> None:
    one = rings(policy=Policy())
    one.run()
    one.forge.edit(one.pull(PRODUCTION).number, is_draft=False)
    one.run()
    pull = one.pull(PRODUCTION)
    assert pull.is_draft
    assert "needs approval" not in pull.body
    assert "waits for `staging`" in pull.body
    one.merge(STAGING)
    one.later(days=3)
    assert not one.pull(PRODUCTION).is_draft


def test_the_box_ends_the_wait_for_one_release() -> None:
    one = rings()
    one.run()
    ((mark, name),) = BOX.findall(one.pull(PRODUCTION).body)
    assert mark == " "
    one.forge.tick(one.pull(PRODUCTION).number, name)
    assert one.run() == {PRODUCTION: "updated"}
    assert not one.pull(PRODUCTION).is_draft
    assert BOX.findall(one.pull(PRODUCTION).body) == [("x", name)]
    assert one.run() == {}


def test_the_box_ends_the_wait_though_it_was_over_for_a_while() -> None:
    one = rings(healthy=HEALTHY, staging="v2.9.4", soak=1)
    one.later(hours=1)
    ((_, name),) = BOX.findall(one.pull(PRODUCTION).body)
    one.forge.tick(one.pull(PRODUCTION).number, name)
    one.forge.post(CONTEXT, "success", FLUX)
    one.later(days=2)
    assert BOX.findall(one.pull(PRODUCTION).body) == [("x", name)]
    assert "**This does not wait for `staging`**, because you ticked the box.\n" in one.pull(PRODUCTION).body
    one.forge.push_to_base({"apps/readme.md": b"Hello\n"})
    one.forge.post(CONTEXT, "success", "mallory")
    assert one.later(hours=1) == {PRODUCTION: "updated"}
    assert not one.pull(PRODUCTION).is_draft


def merge_and_revert(one: RingRepository, branch: str) -> None:
    before = dict(one.forge.files)
    one.merge(branch)
    one.later(hours=1)
    one.forge.push_to_base(before)


def test_what_was_reverted_before_is_held() -> None:
    one = rings(staging="v2.8.8")
    one.run()
    merged = one.pull(STAGING).url
    merge_and_revert(one, STAGING)
    assert one.later(hours=1) == {PRODUCTION: "updated"}
    pull = one.pull(PRODUCTION)
    assert pull.is_draft
    assert f"v2.9.4 was merged and reverted: {merged} (staging)" in pull.body
    assert HoldReason.GROUP_REVERTED in one.reasons


def test_a_rebase_that_has_nothing_to_discard_does_not_discard_what_is_pushed_later() -> None:
    one = rings(staging="v2.8.8")
    one.run()
    merge_and_revert(one, STAGING)
    one.later(hours=1)
    one.forge.tick(one.pull(PRODUCTION).number, markers.REBASE)
    assert one.run() == {PRODUCTION: "updated"}
    assert not markers.is_ticked(one.pull(PRODUCTION).body, markers.REBASE)
    assert one.run() == {}
    pushed = one.forge.push(f"flux-upgrade/{PRODUCTION}", {"NOTES.md": b"mine\n"})
    one.world.asked = UpgradeRequest(approve=("2.9",))
    one.run()
    assert one.forge.heads[f"flux-upgrade/{PRODUCTION}"] == pushed


def test_a_rebase_box_of_a_closed_pull_request_is_open_again() -> None:
    one = rings()
    one.run()
    number = one.pull(PRODUCTION).number
    one.forge.tick(number, markers.REBASE)
    one.forge.push_to_base(fleet({"clusters/production/one": "v2.9.4"}))
    assert one.run()[PRODUCTION] == "closed"
    assert not markers.is_ticked(one.forge.pulls[number][1].body, markers.REBASE)


def test_a_patch_that_was_reverted_before_does_not_hold_the_older_one_that_has_passed() -> None:
    one = rings(staging="v2.9.3")
    one.run()
    merge_and_revert(one, "staging/patch")
    one.later(days=1)
    one.later(days=3)
    pull = one.pull(PRODUCTION)
    assert (pull.title, pull.is_draft) == ("Upgrade Flux to v2.9.3 in production", False)
    one.merge(PRODUCTION)
    one.later(days=1)
    assert one.reasons >= {HoldReason.REVERTED, HoldReason.GROUP_REVERTED}, "the newer one is held in both"


def behind(staging: str) -> RingRepository:
    """Production is older than staging by a minor, and there is a newer minor."""
    one = rings(staging=staging)
    return RingRepository(one.groups, {"staging": staging, "production": "v2.7.1"})


def test_what_was_refused_here_keeps_no_newer_release_away() -> None:
    one = behind("v2.8.8")
    one.run()
    one.later(days=4)
    pull = one.pull(PRODUCTION)
    assert (pull.title, pull.is_draft) == ("Upgrade Flux to v2.8.8 in production", False)
    one.forge.close_pull(pull.number)
    assert one.later(days=1) == {PRODUCTION: "opened"}
    pull = one.pull(PRODUCTION)
    assert (pull.title, pull.is_draft) == ("Upgrade Flux to v2.9.4 in production", True)
    assert "- staging runs v2.8.8" in pull.body


def test_an_approval_of_what_was_refused_proposes_at_once_what_has_passed() -> None:
    one = rings(staging="v2.9.3")
    one.run()
    one.later(days=4)
    one.forge.close_pull(one.pull(PRODUCTION).number)
    one.later(days=1)
    one.world.asked = UpgradeRequest(approve=("production=2.9",))
    assert one.later(days=1) == {PRODUCTION: "opened"}
    pull = one.pull(PRODUCTION)
    assert (pull.title, pull.is_draft) == ("Upgrade Flux to v2.9.3 in production", False)


def test_what_was_refused_here_and_reverted_before_is_not_proposed() -> None:
    one = behind("v2.8.8")
    one.world.releases = listed("v2.7.1", "v2.8.8", "v2.9.3")
    one.run()
    merge_and_revert(one, STAGING)
    one.later(days=4)
    assert one.pull(PRODUCTION).title == "Upgrade Flux to v2.8.8 in production"
    one.forge.close_pull(one.pull(PRODUCTION).number)
    one.later(days=1)
    assert one.forge.open_pull(f"flux-upgrade/{PRODUCTION}") is None
    assert one.reasons >= {HoldReason.CLOSED_BY_HUMAN, HoldReason.GROUP_REVERTED}


def test_a_wait_that_the_box_ended_does_not_begin_with_an_older_release() -> None:
    one = behind("v2.8.8")
    one.later(hours=1)
    ((_, name),) = BOX.findall(one.pull(PRODUCTION).body)
    one.forge.tick(one.pull(PRODUCTION).number, name)
    assert one.run() == {PRODUCTION: "updated"}
    one.later(days=4)
    pull = one.pull(PRODUCTION)
    assert (pull.title, pull.is_draft) == ("Upgrade Flux to v2.9.4 in production", False)


def test_one_comment_says_that_flux_reports_a_failure() -> None:
    one = rings(healthy=HEALTHY)
    one.run()
    number = one.pull(STAGING).number
    one.merge(STAGING)
    one.forge.post(CONTEXT, "failure", FLUX)
    assert one.later(hours=1) == {STAGING: "updated", PRODUCTION: "updated"}
    ((where, text),) = one.forge.comments
    assert where == number
    assert text.startswith(f"<!-- flux-upgrade:failed {one.forge.base_commits[0].oid} -->\n")
    assert "`production` waits until it reports success on a later commit." in text
    assert one.later(days=1) == {}
    one.forge.push_to_base({"apps/readme.md": b"Hello\n"})
    one.forge.post(CONTEXT, "failure", FLUX)
    one.run()
    assert len(one.forge.comments) == 1
    one.forge.post(CONTEXT, "success", FLUX)
    one.later(days=3)
    assert not one.pull(PRODUCTION).is_draft


def test_a_failure_of_another_release_is_not_reported_where_no_group_waits() -> None:
    """Canary runs what staging runs, so that only canary's files are looked at: production waits for it."""
    groups = (
        group("staging", ring=Ring(healthy=HEALTHY)),
        group("canary", ring=Ring(("staging",))),
        group("production", ring=Ring(("canary",))),
    )
    one = RingRepository(groups, {"staging": "v2.8.8", "canary": "v2.9.3", "production": "v2.7.1"})
    one.world.releases = listed("v2.8.8", "v2.9.3")
    one.run()
    one.merge(STAGING)
    upgraded = dict(one.forge.files)
    one.forge.push_to_base(fleet({"clusters/staging/one": "v2.9.4"}))
    one.forge.post(CONTEXT, "failure", FLUX)
    one.forge.push_to_base(upgraded)
    one.later(hours=1)
    assert one.forge.comments == []


def test_a_merged_text_that_was_changed_is_left_alone() -> None:
    one = rings(healthy=HEALTHY)
    one.run()
    pull = one.pull(STAGING)
    one.merge(STAGING)
    one.forge.edit(pull.number, body=pull.body.replace('"subject": "minor"', '"subject": "anything"'))
    one.forge.post(CONTEXT, "failure", FLUX)
    assert one.later(hours=1) == {PRODUCTION: "updated"}
    assert (one.forge.comments, one.errors) == ([], ())


def test_a_run_about_one_group_leaves_the_comment_to_others() -> None:
    one = rings(healthy=HEALTHY)
    one.run()
    one.merge(STAGING)
    one.forge.post(CONTEXT, "failure", FLUX)
    one.world.asked = one.world.asked._replace(branch=f"flux-upgrade/{PRODUCTION}")
    one.later(hours=1)
    assert one.forge.comments == []
    one.world.asked = one.world.asked._replace(branch=f"flux-upgrade/{STAGING}")
    one.run()
    assert len(one.forge.comments) == 1


def test_all_groups_before_must_have_the_same_release() -> None:
    after = group("production", ring=Ring(("one", "two")))
    one = RingRepository(
        (group("one"), group("two"), after), {"one": "v2.9.4", "two": "v2.9.3", "production": "v2.8.8"}
    )
    one.run()
    assert one.pull(PRODUCTION).is_draft
    assert "- two runs v2.9.3" in one.pull(PRODUCTION).body
    one.merge("two/patch")
    one.run()
    assert not one.pull(PRODUCTION).is_draft


def test_a_group_that_is_not_there_is_waited_for() -> None:
    one = RingRepository((group("staging"), group("production", ring=Ring(("staging",)))), {"production": "v2.8.8"})
    one.run()
    assert "the group staging has no installation here" in one.pull(PRODUCTION).body


@pytest.mark.parametrize(
    ("pattern", "text", "is_fit"),
    [
        ("a", "a", True),
        ("a", "ab", False),
        ("*", "", True),
        ("a*", "abc", True),
        ("a*c", "abc", True),
        ("a*c", "ac", True),
        ("ab*b", "ab", False),
        ("*b*", "abc", True),
        ("a*b*c", "axbxc", True),
        ("a*b*c", "acb", False),
        ("a*bb*b", "abb", False),
        ("*" * 50, "x" * 50, True),
    ],
)
def test_a_star_stands_for_any_characters(pattern: str, text: str, *, is_fit: bool) -> None:
    assert fits(pattern, text) is is_fit
