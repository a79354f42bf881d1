"""A rollback moves the tag to what was promoted before, and holds the release that it left until it is approved."""

from __future__ import annotations

import pytest

from flows import manifest
from flux_upgrade.artifacts.promote import Rollback, plan_rollback, roll_back
from flux_upgrade.model.errors import NothingFound, NoWayBack, Overtaken, UsageError
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump
from memory_registry import FILE, MemoryRegistry
from promotion.promoting import ADDRESS, files, registry, run

TAG = ADDRESS.tag


def back(using: MemoryRegistry, to: str = "") -> Rollback:
    planned = plan_rollback(ADDRESS, to, using)
    roll_back(planned, using)
    return planned


def test_the_tag_stands_for_the_same_manifest_as_before() -> None:
    using = registry("v2.8.7")
    before = using.named[TAG]
    promoted = run(using).promoted

    planned = back(using)

    assert using.named[TAG] == before
    assert planned.rejected == "v2.8.8"
    assert using.named[f"{TAG}.rejected-v2.8.8"] == promoted


def test_the_rejected_version_is_held() -> None:
    using = registry("v2.8.7")
    run(using)
    back(using)
    before = using.named[TAG]

    outcome = run(using)

    assert [(hold.reason, hold.target) for hold in outcome.plan.plan.holds] == [(HoldReason.ROLLED_BACK, "v2.8.8")]
    assert using.named[TAG] == before


def test_a_newer_version_goes_on_by_itself() -> None:
    using = registry("v2.8.7")
    run(using, policy=MaxBump.MINOR, tags=("v2.8.7", "v2.9.3"))
    back(using)

    run(using, policy=MaxBump.MINOR, tags=("v2.8.7", "v2.9.3", "v2.9.4"))

    assert using.files(TAG)[FILE] == manifest("v2.9.4")


def test_an_approval_has_the_rejected_version_after_all() -> None:
    using = registry("v2.8.7")
    promoted = run(using).promoted
    back(using)

    run(using, approve=["v2.8.8"])

    assert using.named[TAG] == promoted


def test_a_minor_that_was_rolled_back_does_not_come_by_itself_nor_does_an_older_patch_of_it() -> None:
    using = registry("v2.8.8")
    run(using, policy=MaxBump.MINOR)
    assert using.files(TAG)[FILE] == manifest("v2.9.4")
    back(using)

    held = run(using, policy=MaxBump.MINOR)

    assert [hold.reason for hold in held.plan.plan.holds] == [HoldReason.ROLLED_BACK]
    assert using.files(TAG)[FILE] == manifest("v2.8.8")


def test_what_was_approved_late_goes_back_to_what_was_promoted_between() -> None:
    using = registry("v2.8.7")
    run(using)  # the minor is pushed, made from v2.8.7; the patch is promoted
    patch = using.named[TAG]
    run(using, approve=["2.9"])
    assert using.files(TAG)[FILE] == manifest("v2.9.4")

    back(using)

    assert using.named[TAG] == patch


def test_a_tag_or_a_digest_can_be_named() -> None:
    using = registry("v2.8.7")
    kept = run(using).kept
    run(using, approve=["2.9"])

    assert back(using, kept).rejected == "v2.9.4"
    assert using.files(TAG)[FILE] == manifest("v2.8.7")


def test_what_somebody_else_pushed_has_no_known_way_back() -> None:
    using = registry("v2.8.7")
    run(using)
    using.add(TAG, files("v2.8.8"))

    with pytest.raises(NoWayBack, match="was not promoted by flux-upgrade") as raised:
        back(using)
    assert "v2.8.7-" in raised.value.hint


def test_a_way_back_that_has_been_deleted_is_said() -> None:
    using = registry("v2.8.7")
    before = using.named[TAG]
    run(using)
    del using.manifests[before]

    with pytest.raises(NoWayBack, match=r"no longer has sha256:"):
        back(using)


def test_going_back_to_the_same_is_refused() -> None:
    using = registry("v2.8.7")
    run(using)
    with pytest.raises(NoWayBack, match=r"already points to "):
        back(using, TAG)


def test_without_the_tag_there_is_nothing_to_roll_back() -> None:
    with pytest.raises(NothingFound):
        back(MemoryRegistry())


def test_a_tag_that_moves_meanwhile_is_left_alone() -> None:
    using = registry("v2.8.7")
    run(using)
    theirs = using.add("theirs", {**files("v2.8.8"), "new.yaml": b"kind: New\n"})

    def move(call: str) -> None:
        if call == f"digest {TAG}":
            using.named[TAG] = theirs.digest

    using.before = move
    with pytest.raises(Overtaken):
        back(using)
    assert using.named[TAG] == theirs.digest


def test_a_release_that_is_rejected_again_is_noted_once() -> None:
    using = registry("v2.8.7")
    first = run(using).promoted
    back(using)
    using.add(TAG, {**files("v2.8.7"), "new.yaml": b"kind: New\n"})
    run(using, approve=["v2.8.8"])

    back(using)

    assert using.named[f"{TAG}.rejected-v2.8.8"] == first


def test_a_note_about_an_earlier_promotion_does_not_lead_astray() -> None:
    using = registry("v2.8.7")
    first = using.named[TAG]
    run(using)
    run(using, approve=["2.9"])  # in place of the patch, which is noted
    back(using)
    back(using)
    assert using.named[TAG] == first
    run(using, approve=["v2.9.4"])  # in place of the first one, from which it was made

    back(using)

    assert using.named[TAG] == first


def test_what_is_newer_is_no_way_back() -> None:
    using = registry("v2.8.7")
    run(using)
    newer = next(tag for tag in using.named if tag.startswith("v2.9.4-"))
    before = using.named[TAG]

    with pytest.raises(UsageError, match=r"v2\.9\.4 is newer than v2\.8\.8"):
        back(using, newer)
    assert using.named[TAG] == before


def test_what_nobody_knows_the_release_of_keeps_a_tag_too_when_it_is_left() -> None:
    using = registry("v2.8.7")
    kept = run(using).kept
    theirs = using.add(TAG, files("v2.9.3"))

    planned = back(using, kept)

    assert not planned.rejected
    assert using.named[planned.noted] == theirs.digest
    assert not run(using, tags=("v2.8.7",)).plan.plan.upgrades


def test_a_change_of_flags_that_was_rolled_back_stays_so() -> None:
    using = registry("v2.9.3")
    flags = {"network-policy": "false"}
    run(using)
    before = using.named[TAG]
    run(using, flags=flags)
    assert using.named[TAG] != before
    back(using)
    assert using.named[TAG] == before

    run(using, flags=flags)

    assert using.named[TAG] == before


def test_a_change_of_flags_that_was_rolled_back_is_reported_and_can_be_approved() -> None:
    using = registry("v2.9.3")
    flags = {"network-policy": "false"}
    run(using)
    changed = run(using, flags=flags).promoted
    back(using)

    held = run(using, flags=flags)
    assert [(hold.reason, hold.target) for hold in held.plan.plan.holds] == [(HoldReason.ROLLED_BACK, "v2.9.4")]
    run(using, flags=flags, approve=["v2.9.4"])
    assert using.named[TAG] == changed


def test_who_has_the_rejected_release_after_all_can_change_flags() -> None:
    using = registry("v2.9.3")
    rejected = run(using).promoted
    back(using)
    run(using, approve=["v2.9.4"])
    assert using.named[TAG] == rejected

    run(using, flags={"network-policy": "false"})

    assert using.named[TAG] != rejected
