"""An artifact that Git pins is pushed first, and then proposed by pull request."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from flows import World, listed
from flux_upgrade.clusters.groups import is_seen_to
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.model.errors import (
    EditConflict,
    FluxUpgradeError,
    ForbiddenByRegistry,
    Overtaken,
    RegistryUnavailable,
    ReleaseNotFound,
    Unreadable,
    UnsupportedPin,
    UnsupportedRelease,
    UntrustedArchive,
    Unverified,
)
from flux_upgrade.model.forge import Done, OpenPull, Step
from flux_upgrade.model.oci.reference import parse_address
from flux_upgrade.pins.context import RebasedArtifact
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.planning.proposal import Action, Result, Round
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.policy import MaxBump
from memory_forge import MemoryForge
from own_artifacts import MemoryOwnArtifacts

OLD = f"sha256:{'7' * 64}"
TAG = "v2.8.7-0123456789ab"
PATCH, MINOR = (f"flux-upgrade/clusters.production.oci-909314/{each}" for each in ("patch", "minor"))
PATH = "clusters/production/components.yaml"


def pinned(ref: str = f"{{tag: {TAG}, digest: '{OLD}'}}", more: str = "") -> bytes:
    return (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\n"
        "metadata: {name: flux-components, namespace: flux-system}\n"
        f"spec:\n  interval: 10m\n  url: oci://ghcr.io/acme/flux\n  ref: {ref} # one line\n{more}"
    ).encode()


def one_cluster(content: bytes = pinned(), *, path: str = PATH) -> tuple[World, MemoryForge, MemoryOwnArtifacts]:
    own = MemoryOwnArtifacts(stated={TAG: {"digest": OLD, "version": "v2.8.7"}})
    files = {path: content}
    return World(files, own=own), MemoryForge(dict(files)), own


def actions(done: Round) -> dict[str, str]:
    return {each.branch: str(each.action) for each in done.results if each.action is not Action.NONE}


def result(done: Round, branch: str) -> Result:
    return next(each for each in done.results if each.branch == branch)


def successor(own: MemoryOwnArtifacts, target: str, reference: str = OLD) -> RebasedArtifact:
    made = own.rebased(reference, target, PATH)
    assert isinstance(made, RebasedArtifact)
    return made


def content(forge: MemoryForge, branch: str, path: str = PATH) -> bytes:
    return forge.trees[forge.heads[branch]][path]


def test_a_patch_and_a_draft_are_opened_with_tag_and_digest_of_the_new_artifact() -> None:
    world, forge, own = one_cluster()
    assert actions(world.run(forge)) == {PATCH: "opened", MINOR: "opened"}
    for branch, target in ((PATCH, "v2.8.8"), (MINOR, "v2.9.4")):
        new = successor(own, target)
        assert content(forge, branch) == pinned(f"{{tag: {new.tag}, digest: '{new.digest}'}}")
    assert [pull.is_draft for pull in forge.open_pulls()] == [True, False]


@pytest.mark.parametrize(
    ("ref", "reference", "form"),
    [
        (f"{{tag: {TAG}}}", TAG, "{{tag: {0.tag}}}"),
        (f"{{digest: '{OLD}'}}", OLD, "{{digest: '{0.digest}'}}"),
        (f"{{tag: '{TAG}@{OLD}'}}", OLD, "{{tag: '{0.tag}@{0.digest}'}}"),
    ],
)
def test_the_form_stays(ref: str, reference: str, form: str) -> None:
    world, forge, own = one_cluster(pinned(ref))
    world.run(forge)
    assert content(forge, PATCH) == pinned(form.format(successor(own, "v2.8.8", reference)))


@dataclass
class NotingForge(MemoryForge):
    """Notes what had been pushed when a pull request was opened."""

    own: MemoryOwnArtifacts = field(default_factory=MemoryOwnArtifacts)
    seen: list[tuple[str, ...]] = field(default_factory=list)

    def apply(self, step: Step) -> Done:
        if isinstance(step, OpenPull):
            self.seen.append(tuple(self.own.pushed))
        return super().apply(step)


def test_each_artifact_is_pushed_before_it_is_proposed() -> None:
    world, _, own = one_cluster()
    forge = NotingForge(dict(world.files), own=own)
    world.run(forge)
    patch, minor = (successor(own, target).tag for target in ("v2.8.8", "v2.9.4"))
    assert forge.seen == [(patch,), (patch, minor)]


def test_a_second_run_pushes_and_changes_nothing() -> None:
    world, forge, own = one_cluster()
    world.run(forge)
    own.pushed.clear()
    before = len(forge.steps)
    assert actions(world.run(forge)) == {PATCH: "unchanged", MINOR: "unchanged"}
    assert (own.pushed, forge.steps[before:]) == ([], [])


def test_once_merged_there_is_nothing_left_to_do() -> None:
    world, forge, own = one_cluster()
    world.releases = listed("v2.8.7", "v2.8.8")
    world.run(forge)
    (pull,) = forge.open_pulls()
    forge.merge(pull.number)
    own.pushed.clear()
    world.files = dict(forge.files)
    assert actions(world.run(forge)) == {}
    assert own.pushed == []


def test_a_newer_patch_updates_the_pull_request_that_is_open() -> None:
    world, forge, own = one_cluster()
    world.releases = listed("v2.8.7", "v2.8.8")
    world.run(forge)
    world.releases = listed("v2.8.7", "v2.8.8", "v2.8.9")
    assert actions(world.run(forge)) == {PATCH: "updated"}
    assert successor(own, "v2.8.9").digest.encode() in content(forge, PATCH)
    assert own.pushed == [successor(own, tag).tag for tag in ("v2.8.8", "v2.8.9")]


@pytest.mark.parametrize("ref", ["{tag: production}", "{semver: '>= 2.8.0-0'}", "{tag: '${tag}'}", "{}"])
def test_what_pins_no_artifact_is_not_proposed(ref: str) -> None:
    world, forge, own = one_cluster(pinned(ref))
    assert actions(world.run(forge)) == {}
    assert (own.asked, own.pushed) == ([], [])


# What goes wrong


def test_a_push_that_fails_fails_its_proposal_and_no_step_is_taken() -> None:
    world, forge, own = one_cluster()
    own.failure = ForbiddenByRegistry("ghcr.io does not let you push", hint="use a token that may")
    done = world.run(forge)
    assert actions(done) == {PATCH: "failed", MINOR: "failed"}
    assert (result(done, PATCH).error, result(done, PATCH).attempted) == (own.failure, Action.OPENED)
    assert (forge.steps, forge.heads) == ([], {})
    own.failure = None
    assert actions(world.run(forge)) == {PATCH: "opened", MINOR: "opened"}


@dataclass
class RefusingRegistry(MemoryOwnArtifacts):
    """Some releases cannot be pushed, so many times."""

    refused: dict[str, int] = field(default_factory=dict)
    error: FluxUpgradeError = field(default_factory=lambda: RegistryUnavailable("no answer"))

    def push(self, reference: str, target: str, path: str) -> None:
        if self.refused.get(target, 0):
            self.refused[target] -= 1
            raise self.error
        super().push(reference, target, path)


def refusing(error: FluxUpgradeError, times: int) -> tuple[World, MemoryForge]:
    world, forge, own = one_cluster()
    world.own = RefusingRegistry(stated=own.stated, refused={"v2.8.8": times}, error=error)
    return world, forge


def test_a_push_that_fails_stops_no_other_proposal() -> None:
    world, forge = refusing(RegistryUnavailable("no answer"), 9)
    assert actions(world.run(forge)) == {PATCH: "failed", MINOR: "opened"}


def test_who_is_overtaken_looks_again() -> None:
    world, forge = refusing(Overtaken("another run pushed it"), 1)
    assert actions(world.run(forge)) == {PATCH: "opened", MINOR: "opened"}


@dataclass
class UnsupportedArtifacts(MemoryOwnArtifacts):
    """Nothing can be rebased."""

    error: FluxUpgradeError = field(default_factory=lambda: UnsupportedPin("no"))

    def rebased(self, reference: str, target: str, path: str) -> RebasedArtifact | Hold:
        del reference, target, path
        raise self.error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (EditConflict("yours and theirs"), "edit-conflict"),
        (UnsupportedRelease("too new"), "unsupported-release"),
        (ReleaseNotFound("not yet"), "unsupported-release"),
        (Unreadable("two manifests"), "unreadable"),
        (Unverified("of no release"), "unverified"),
        (UntrustedArchive("other bytes"), "untrusted-artifact"),
        (RegistryUnavailable("no answer"), "source-unavailable"),
        (UnsupportedPin("odd"), "unsupported-pin"),
    ],
    ids=lambda each: each.slug if isinstance(each, FluxUpgradeError) else "",
)
def test_what_cannot_be_rebased_is_held_for_its_reason(error: FluxUpgradeError, reason: str) -> None:
    world, forge, own = one_cluster()

    world.own = UnsupportedArtifacts(stated=own.stated, error=error)
    assert actions(world.run(forge)) == {}
    ((plan,),) = (team.plans for team in plan_update_groups(world.gathered()))
    assert {(str(hold.reason), hold.target) for hold in plan.holds} == {(reason, "v2.8.8"), (reason, "v2.9.4")}


def test_a_hold_keeps_its_reason_and_tells_its_target() -> None:
    world, forge, own = one_cluster()
    own.held = {"v2.8.8": "images-missing"}
    assert actions(world.run(forge)) == {MINOR: "opened"}
    ((plan,),) = (team.plans for team in plan_update_groups(world.gathered()))
    assert [(hold.reason, hold.target, hold.bump_kind) for hold in plan.holds] == [
        ("images-missing", "v2.8.8", "patch")
    ]


# What the pull request says


def test_title_and_text_say_what_moves_and_what_the_new_artifact_is() -> None:
    world, forge, own = one_cluster()
    world.run(forge)
    pull, new = forge.open_pull(PATCH), successor(own, "v2.8.8")
    assert pull is not None
    assert pull.title == "Upgrade Flux to v2.8.8 in clusters/production"
    assert f"| `{PATH}:7` | artifact | `{TAG}@sha256:777777777777…` | `{new.tag}@{new.digest[:19]}…` |" in pull.body
    assert f"ghcr.io/acme/flux:{new.tag} has Flux's manifest at v2.8.8" in pull.body
    assert "no action required" in pull.body


def test_a_cluster_that_verifies_has_a_signature_to_wait_for() -> None:
    world, forge, own = one_cluster(pinned(more="  verify: {provider: cosign}\n"))
    world.run(forge)
    pull, new = forge.open_pull(PATCH), successor(own, "v2.8.8")
    assert pull is not None
    assert f"1. Sign ghcr.io/acme/flux:{new.tag} by its digest, {new.digest}: Flux verifies" in pull.body
    own.signed = ("v2.8.8",)
    assert actions(world.run(forge))[PATCH] == "updated"
    pull = forge.open_pull(PATCH)
    assert pull is not None
    assert "Sign " not in pull.body


def test_what_waits_for_a_signature_does_not_merge_by_itself() -> None:
    for more, merges in (("", True), ("  verify: {provider: cosign}\n", False)):
        world, forge, _ = one_cluster(pinned(more=more))
        world.config = Config(default=Group(governance=Governance(auto_merge=MaxBump.PATCH)))
        world.run(forge)
        assert [step.extras.auto_merge for step in forge.steps if isinstance(step, OpenPull)] == [merges, False]


# Beside other runs


def test_another_artifact_has_branches_of_its_own() -> None:
    world, _, _ = one_cluster()
    other = World(
        {PATH: pinned().replace(b"acme/flux", b"acme/other")},
        own=MemoryOwnArtifacts(parse_address("oci://ghcr.io/acme/other")),
    )
    slugs = {team.slug for each in (world, other) for team in each.gathered().update_groups}
    assert len(slugs) == 2
    assert not any(is_seen_to(slug, "") for slug in slugs)
    assert is_seen_to("clusters.production", "")
