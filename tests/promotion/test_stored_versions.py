"""A tag moves to a release without an API version that may be stored only once an approval says that `flux migrate` ran."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import nullcontext

import pytest

from flux_upgrade.artifacts.older_crds import require_stored, require_way_back
from flux_upgrade.artifacts.promote import ArtifactOutcome, plan_rollback, roll_back
from flux_upgrade.artifacts.pull import pull
from flux_upgrade.artifacts.report_text import artifact_plan_text, artifact_text
from flux_upgrade.artifacts.tag_history import TagState, history_of
from flux_upgrade.impact.stored_versions.refused import release_of
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import RegistryUnavailable, StoredVersionLost, UsageError
from flux_upgrade.model.oci import reference as names
from flux_upgrade.planning.approvals import for_tag
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump
from promotion.channel import ALL, LOSING_TWICE, NEVER_STORED, TAG, Channel, Versions
from promotion.promoting import ADDRESS, ports


def holds(outcome: ArtifactOutcome) -> list[tuple[HoldReason, str]]:
    assert outcome.failure is None
    return [(hold.reason, hold.target) for hold in outcome.plan.plan.holds]


PENDING = [(HoldReason.MIGRATION_PENDING, "v2.9.4")]


def test_a_version_that_an_earlier_artifact_stored_is_not_left_by_policy() -> None:
    channel = Channel("v2.6.4")
    assert channel.run().promoted
    assert channel.version == "v2.8.8"

    held = channel.run()

    assert holds(held) == PENDING
    assert channel.version == "v2.8.8"
    text = artifact_text(held, written=True)
    assert "before the tag moves: run `flux migrate` with the Flux CLI 2.8 in the cluster" in text
    assert "v2.6.4 ran here and stored " in text
    assert (
        "to unblock: run `flux migrate` with the Flux CLI 2.8 in every cluster that follows the tag, then approve it "
        "with --approve production=2.9+migrated\n"
    ) in text


@pytest.mark.parametrize("approval", ["2.9", "production=2.9", "v2.9.4", "2.8+migrated", "v2.9.3+migrated"])
def test_an_approval_that_does_not_say_it_of_this_release_moves_nothing(approval: str) -> None:
    channel = Channel("v2.6.4")
    channel.run()
    # Without its patches, an exact version would be the target.
    tags = [tag for tag in ALL if tag != "v2.9.3"]
    assert holds(channel.run(approval, tags=tags)) == PENDING
    assert channel.version == "v2.8.8"


@pytest.mark.parametrize(
    "approval", ["2.9+migrated", "production=2.9+migrated", "org/flux:production=2.9+migrated", "v2.9.4+migrated"]
)
def test_an_approval_that_says_that_flux_migrate_ran_moves_the_tag(approval: str) -> None:
    channel = Channel("v2.6.4")
    channel.run()
    before = channel.registry.at(TAG)

    outcome = channel.run(approval, policy=MaxBump.PATCH)

    assert not holds(outcome)
    assert channel.version == "v2.9.4"
    assert channel.registry.at(names.migrated(TAG, before.digest)) == before
    assert "`flux migrate` ran in the cluster: you confirmed it" in artifact_plan_text(outcome.plan)


def test_an_artifact_that_does_not_say_what_was_before_may_have_stored_anything() -> None:
    channel = Channel("v2.8.8")
    held = channel.run()
    assert holds(held) == PENDING
    assert "the registry does not record what production pointed to before sha256:" in artifact_text(held, written=True)
    assert channel.run("2.9+migrated").promoted


@pytest.mark.parametrize("name", ["staging", "other/flux:production", "lux:production", "clusters/production"])
def test_an_approval_of_another_tag_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"--approve: this run moves the tag 'production', not '{name}'"):
        for_tag(("2.9", f"{name}=2.9+migrated"), ADDRESS.repository, TAG)


@pytest.mark.parametrize("name", ["production", "flux:production", str(ADDRESS)])
def test_an_approval_may_name_the_tag(name: str) -> None:
    approved = for_tag(("2.8", f"{name}=v2.9.4+migrated"), ADDRESS.repository, TAG)
    assert (approved.approved, approved.approved_migrated) == (("2.8", "v2.9.4"), ("v2.9.4",))


def test_a_predecessor_that_is_gone_or_unreadable_is_said() -> None:
    channel = Channel("v2.7.1")
    first = channel.registry.named[TAG]
    channel.run(tags=ALL[:4])
    assert channel.version == "v2.8.8"

    def fail(call: str) -> None:
        if call == f"manifest {first}":
            raise RegistryUnavailable("the registry is down")

    channel.registry.before = fail
    held = channel.run()
    assert holds(held) == PENDING
    assert "the registry is down" in artifact_text(held, written=True)

    channel.registry.before = str
    del channel.registry.manifests[first]
    assert f"the registry no longer has {first[:19]}" in artifact_text(channel.run(), written=True)


def test_a_version_that_no_release_stored_since_the_last_migration_is_left_by_policy() -> None:
    channel = Channel("v2.6.4", NEVER_STORED)
    assert holds(channel.run(tags=ALL[:2])) == [(HoldReason.MIGRATION_PENDING, "v2.7.1")]
    first = channel.run("2.7+migrated")
    assert "needs-approval: 2.7 is approved and must be merged first\n  to unblock: " in artifact_text(
        first, written=True
    )
    channel.run(tags=ALL[:4])
    assert channel.version == "v2.8.8"

    assert not holds(channel.run())
    assert channel.version == "v2.9.4"


def test_what_was_stored_after_the_last_migration_is_held_again() -> None:
    channel = Channel("v2.6.4", LOSING_TWICE)
    channel.run("2.7+migrated", tags=ALL[:2])
    channel.run(tags=ALL[:4])
    assert channel.version == "v2.8.8"

    held = channel.run()

    assert holds(held) == PENDING
    assert "v2.6.4 ran here and stored " in artifact_text(held, written=True)


def test_an_approval_of_the_goal_does_not_speak_for_the_step_before_it() -> None:
    versions = {"2.6": "v1beta2 v1beta1 v1", "2.7": "v1 v1beta2", "2.8": "v1 v1beta2", "2.9": "v1"}
    channel = Channel("v2.6.4", versions)
    held = channel.run("2.9+migrated")
    assert holds(held) == [(HoldReason.MIGRATION_PENDING, "v2.8.8")]
    assert "with --approve production=2.8+migrated\n" in artifact_text(held, written=True)
    assert channel.run("2.8+migrated").promoted
    assert channel.version == "v2.8.8"
    assert holds(channel.run("2.8+migrated")) == PENDING


def test_a_patch_is_promoted_while_its_minor_is_held() -> None:
    channel = Channel("v2.8.7")
    assert holds(channel.run()) == PENDING
    assert channel.version == "v2.8.8"


def test_a_version_that_was_asked_for_is_held_too() -> None:
    channel = Channel("v2.8.8")
    assert holds(channel.run(to="v2.9.4")) == PENDING
    assert channel.run("2.9+migrated", to="v2.9.4").promoted


def test_a_minor_that_waits_is_pushed_and_says_what_its_approval_has_to_say() -> None:
    channel = Channel("v2.8.8")
    outcome = channel.run(policy=MaxBump.PATCH)
    assert [each.successor.version for each in outcome.pushed] == ["v2.9.4"]
    text = artifact_text(outcome, written=True)
    approving = "then approve it with --approve production=2.9+migrated\n"
    assert f"to unblock: run `flux migrate` in every cluster that follows the tag, {approving}" in text


@pytest.mark.parametrize(
    ("version", "tags", "policy", "is_promoted"),
    [
        ("v2.8.7", ALL[:4], MaxBump.MINOR, True),
        ("v2.7.1", ALL[:4], MaxBump.MINOR, True),
        ("v2.8.8", ALL, MaxBump.PATCH, False),
    ],
    ids=["a patch", "a minor that loses nothing", "a minor that waits"],
)
def test_the_history_is_not_read_for(version: str, tags: Sequence[str], policy: MaxBump, *, is_promoted: bool) -> None:
    channel = Channel("v2.6.4")
    channel.push(version)
    outcome = channel.run(tags=tags, policy=policy)
    assert bool(outcome.promoted) is is_promoted
    reads = [call.split()[0] for call in channel.registry.calls if not call.startswith(("put_", "digest"))]
    assert reads == ["manifest", "blob", "tags"]


def test_the_suffix_changes_nothing_where_no_version_is_lost() -> None:
    channel = Channel("v2.7.1")
    assert channel.run("2.8+migrated", tags=ALL[:4], policy=MaxBump.PATCH).promoted
    assert not [tag for tag in channel.registry.named if ".migrated-" in tag]


def test_the_history_of_a_tag() -> None:
    channel = Channel("v2.6.4")
    channel.run(tags=ALL[:2])
    channel.run(tags=ALL[:4])
    rejected = channel.registry.named[TAG]
    roll_back(plan_rollback(ADDRESS, "", channel.registry), channel.registry)
    assert channel.version == "v2.7.1"

    using = ports(channel.registry, channel.releases)
    pulled = pull(ADDRESS, using)
    pasts = history_of(TagState(TAG, pulled.stored, pulled.tags), using.registry, using.spool)

    assert [(release_of(each.content), each.is_aside) for each in pasts.versions] == [
        ("v2.6.4", False),
        ("v2.8.8", True),
    ]
    assert pasts.versions[1].commit == rejected
    assert "does not record what production pointed to before" in str(pasts.missing)


# -- back, and by a bootstrap


def go_back(channel: Channel, to: str = "") -> None:
    """Roll the tag back, if its clusters can follow."""
    planned = plan_rollback(ADDRESS, to, channel.registry)
    require_way_back(planned, channel.registry, io.BytesIO)
    roll_back(planned, channel.registry)


def refusal(channel: Channel, to: str = "") -> tuple[str, str]:
    """Return why the tag stays, and what to do."""
    before = channel.registry.named[TAG]
    with pytest.raises(StoredVersionLost) as raised:
        go_back(channel, to)
    assert channel.registry.named[TAG] == before
    return raised.value.message, raised.value.hint


ONE_LATER: Versions = {"2.6": "v1beta2", "2.7": "v1 v1beta2", "2.8": "v1 v1beta2", "2.9": "v1"}


def test_the_tag_does_not_go_back_to_crds_without_what_is_stored() -> None:
    channel = Channel("v2.6.4", ONE_LATER)
    channel.run(tags=ALL[:2])
    assert channel.version == "v2.7.1"

    message, hint = refusal(channel)

    assert message.startswith(f"{ADDRESS} stays: the older release does not have API versions in which clusters may ")
    assert "GitRepository v1" in message
    assert hint == (
        "choose a release that has them to go back to with --to; or run with --accept-breaks if no cluster has applied "
        "v2.7.1"
    )


def test_the_tag_goes_back_to_crds_with_what_is_stored() -> None:
    channel = Channel("v2.7.1", ONE_LATER)
    channel.run(tags=ALL[:4])
    assert channel.version == "v2.8.8"
    go_back(channel)
    assert channel.version == "v2.7.1"


def test_what_ran_in_between_counts_until_it_was_migrated() -> None:
    versions = {"2.6": "v1 v1beta1", "2.7": "v1beta2 v1 v1beta1", "2.8": "v1 v1beta2 v1beta1", "2.9": "v1"}
    channel = Channel("v2.6.4", versions)
    first = channel.registry.named[TAG]
    channel.run(tags=ALL[:2])
    channel.run(tags=ALL[:4])
    assert channel.version == "v2.8.8"
    message, hint = refusal(channel, first)
    assert "GitRepository v1beta2" in message
    assert hint == (
        "run `flux migrate` with the Flux CLI 2.8 in every cluster that follows the tag, then run with --accept-breaks"
    )


def test_an_artifact_that_is_not_recorded_may_have_stored_anything() -> None:
    versions = {"2.6": "v1", "2.7": "v1 v1beta2", "2.8": "v1 v1beta2", "2.9": "v1"}
    channel = Channel("v2.6.4", versions)
    channel.registry.named["kept"] = channel.registry.named[TAG]
    channel.push("v2.7.1")
    message, hint = refusal(channel, "kept")
    assert "may lack API versions in which clusters have stored objects: the registry does not record" in message
    assert hint == "run with --accept-breaks if no cluster has applied what the tag points to"


def test_an_artifact_without_flux_is_unknown() -> None:
    channel = Channel("v2.6.4")
    channel.registry.named["kept"] = channel.registry.named[TAG]
    channel.registry.add(TAG, {"app.yaml": b"kind: App\n"})
    assert "has no readable Flux manifest" in refusal(channel, "kept")[0]


@pytest.mark.parametrize(("begin", "is_refused"), [("v2.6.4", True), ("v2.8.8", True), ("v2.9.3", False)])
def test_a_bootstrap_does_not_move_a_tag_past_what_may_be_stored(begin: str, *, is_refused: bool) -> None:
    channel = Channel(begin)
    using = ports(channel.registry, channel.releases)
    new = using.regenerator.regenerate(InstallOptions("v2.9.4")).text.encode()
    expected = pytest.raises(StoredVersionLost, match=r"stays: v2\.9\.4 ") if is_refused else nullcontext()
    with expected as raised:
        require_stored(pull(ADDRESS, using), new, "v2.9.4", using.registry, using.spool)
    if raised is not None:
        assert raised.value.hint == (
            f"run `flux-upgrade upgrade {ADDRESS} --approve v2.9.4`, then run the bootstrap again"
        )
