"""An artifact that Git pins by tag or digest is rebased first and pushed later, and no tag that is there moves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flows import listed, manifest
from flux_upgrade.artifacts.pinned_artifacts import PinnedArtifacts
from flux_upgrade.config.config import Governance
from flux_upgrade.model.errors import Overtaken, RegistryUnavailable, UntrustedArchive
from flux_upgrade.pins.context import RebasedArtifact
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.plan import Terms
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from memory import MemoryArtifacts
from memory_registry import FILE, MemoryRegistry
from promotion.promoting import ADDRESS, NOW, TAGS, files, ports, registry

TAG = ADDRESS.tag
PATH = "clusters/production/source.yaml"


def own(using: MemoryRegistry, later: timedelta = timedelta(0)) -> PinnedArtifacts:
    given = ports(using)._replace(now=NOW + later)
    planner = ManifestPlanner(given.regenerator, MemoryArtifacts(), listed(*TAGS), NOW)
    return PinnedArtifacts(ADDRESS, planner, lambda _: Terms(), given)


def rebased(artifacts: PinnedArtifacts, reference: str, target: str) -> RebasedArtifact:
    found = artifacts.rebased(reference, target, PATH)
    assert isinstance(found, RebasedArtifact)
    return found


@pytest.mark.parametrize("by_digest", [True, False])
def test_what_a_tag_or_a_digest_holds_is_reported(by_digest: bool) -> None:  # noqa: FBT001 a parameter
    using = registry("v2.8.7")
    digest = using.named[TAG]

    held = own(using).at(digest if by_digest else TAG)

    assert (held.version, held.reason, held.digest) == ("v2.8.7", "", digest)


def test_what_is_not_there_is_reported_with_the_reason() -> None:
    held = own(registry()).at("v2.8.6-0123456789ab")

    assert not held.version
    assert "the artifact oci://registry.example.com/org/flux:v2.8.6-0123456789ab does not exist" in held.reason


def test_nothing_is_written_before_it_is_pushed() -> None:
    using = registry("v2.8.7")
    artifacts = own(using)

    named = rebased(artifacts, TAG, "v2.8.8")
    assert not [call for call in using.calls if call.startswith("put_")]

    artifacts.push(TAG, "v2.8.8", PATH)
    assert using.named[named.tag] == named.digest
    assert using.files(named.digest) == {**files("v2.8.7"), FILE: manifest("v2.8.8")}


def test_no_tag_that_is_there_moves_and_what_was_pinned_keeps_one() -> None:
    using = registry("v2.8.7")
    before = dict(using.named)
    artifacts = own(using)
    rebased(artifacts, TAG, "v2.8.8")

    artifacts.push(TAG, "v2.8.8", PATH)

    assert {tag: using.named[tag] for tag in before} == before
    assert before[TAG] in [using.named[tag] for tag in using.named if tag.startswith("v2.8.7-")]


def test_pushed_twice_it_is_put_once() -> None:
    using = registry("v2.8.7")
    artifacts = own(using)
    named = rebased(artifacts, TAG, "v2.8.8")
    artifacts.push(TAG, "v2.8.8", PATH)
    artifacts.push(TAG, "v2.8.8", PATH)

    assert using.calls.count(f"put_manifest {named.tag}") == 1


def test_what_was_pushed_before_is_named_with_its_own_digest_and_signature() -> None:
    using = registry("v2.8.7")
    first = own(using)
    named = rebased(first, TAG, "v2.8.8")
    first.push(TAG, "v2.8.8", PATH)
    using.signed.add(named.digest)

    again = rebased(own(using), TAG, "v2.8.8")

    assert again == named._replace(is_signed=True)


def test_two_targets_do_not_get_into_each_others_way() -> None:
    using = registry("v2.8.7")
    artifacts = own(using)

    tags = [rebased(artifacts, TAG, target).tag for target in ("v2.8.8", "v2.9.4", "v2.9.3")]

    assert [tag.partition("-")[0] for tag in tags] == ["v2.8.8", "v2.9.4", "v2.9.3"]


def test_a_release_that_is_not_higher_is_held() -> None:
    found = own(registry("v2.9.4")).rebased(TAG, "v2.8.8", PATH)

    assert isinstance(found, Hold)
    assert found.reason is HoldReason.DOWNGRADE


def test_what_does_not_hold_what_its_tag_says_is_refused() -> None:
    using = registry("v2.8.7")
    named = rebased(own(using), TAG, "v2.8.8")
    using.add(named.tag, {FILE: b"kind: Something\n"})

    with pytest.raises(UntrustedArchive, match="does not match its name"):
        own(using).rebased(TAG, "v2.8.8", PATH)


def test_what_somebody_else_pushed_in_the_meantime_is_not_overwritten_and_named_next() -> None:
    using = registry("v2.8.7")
    slow = own(using)
    slow_named = rebased(slow, TAG, "v2.8.8")
    using.add(slow_named.tag, {**files("v2.8.7"), FILE: manifest("v2.8.8")})
    theirs = using.named[slow_named.tag]

    with pytest.raises(Overtaken):
        slow.push(TAG, "v2.8.8", PATH)

    assert using.named[slow_named.tag] == theirs
    assert rebased(slow, TAG, "v2.8.8").digest == theirs != slow_named.digest


def test_a_push_that_fails_can_be_tried_again() -> None:
    using = registry("v2.8.7")
    artifacts = own(using)
    named = rebased(artifacts, TAG, "v2.8.8")

    def fail(call: str) -> None:
        if call == f"put_manifest {named.tag}":
            raise RegistryUnavailable(f"{call} failed")

    using.before = fail
    with pytest.raises(RegistryUnavailable):
        artifacts.push(TAG, "v2.8.8", PATH)
    using.before = str

    artifacts.push(TAG, "v2.8.8", PATH)

    assert using.named[named.tag] == named.digest


def test_a_tag_and_a_digest_of_the_same_artifact_have_one_successor_pushed_once() -> None:
    using = registry("v2.8.7")
    artifacts, digest = own(using), using.named[TAG]
    for target in ("v2.8.8", "v2.9.4"):
        assert rebased(artifacts, TAG, target) == rebased(artifacts, digest, target)

    for target in ("v2.8.8", "v2.9.4"):
        artifacts.push(digest, target, PATH)
        artifacts.push(TAG, target, PATH)

    assert len([call for call in using.calls if call.startswith("put_manifest v2.8.8-")]) == 1


def test_what_two_others_pushed_is_named_next() -> None:
    using = registry("v2.8.7")
    slow, fast = own(using), own(using, later=timedelta(minutes=1))
    for target in ("v2.8.8", "v2.9.4"):
        assert rebased(slow, TAG, target).digest != rebased(fast, TAG, target).digest
        fast.push(TAG, target, PATH)
    for target in ("v2.8.8", "v2.9.4"):
        with pytest.raises(Overtaken):
            slow.push(TAG, target, PATH)

    assert rebased(slow, TAG, "v2.9.4").digest == using.named[rebased(slow, TAG, "v2.9.4").tag]


def test_the_settings_of_the_pin_govern_the_manifest() -> None:
    using = registry("v2.8.7")
    given = ports(using)
    planner = ManifestPlanner(given.regenerator, MemoryArtifacts(), listed(*TAGS), NOW)
    flags = {"network-policy": "false"}
    artifacts = PinnedArtifacts(
        ADDRESS, planner, lambda path: Terms(Governance(flags=flags if path == PATH else {})), given
    )

    plain, other = artifacts.rebased(TAG, "v2.8.8", "other.yaml"), rebased(artifacts, TAG, "v2.8.8")

    assert isinstance(plain, RebasedArtifact)
    assert plain.tag != other.tag
    assert other.remarks == ("The install flag network-policy goes from true to false.",)


def test_two_clusters_that_are_overtaken_look_again_together() -> None:
    using = registry("v2.8.7")
    slow, fast = own(using), own(using, later=timedelta(minutes=1))
    for artifacts in (slow, fast):
        rebased(artifacts, TAG, "v2.8.8")
    fast.push(TAG, "v2.8.8", PATH)

    for _ in ("one cluster", "another with the same pin"):
        with pytest.raises(Overtaken):
            slow.push(TAG, "v2.8.8", PATH)

    found = rebased(slow, TAG, "v2.8.8")
    slow.push(TAG, "v2.8.8", PATH)
    assert using.named[found.tag] == found.digest


def test_a_push_whose_answer_was_lost_is_taken_for_ones_own() -> None:
    using = registry("v2.8.7")
    artifacts = own(using)
    named = rebased(artifacts, TAG, "v2.8.8")
    artifacts.push(TAG, "v2.8.8", PATH)
    again = own(using)
    using.named.pop(named.tag)
    rebased(again, TAG, "v2.8.8")
    using.named[named.tag] = named.digest

    again.push(TAG, "v2.8.8", PATH)

    assert using.named[named.tag] == named.digest
