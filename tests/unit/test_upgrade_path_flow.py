"""An upgrade in several steps proposes each step after the one before it was merged and migrated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from flows import PATH, World, listed
from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.config.config import ALL, Config, Governance, Group, Migrate
from flux_upgrade.model import markers
from flux_upgrade.model.errors import ApiRemoved
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.forge import PullRequest, PullState
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.plan import Plan, UpgradeRequest
from flux_upgrade.planning.planner import unused_approvals
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from memory import MemoryHistory, NoFlux
from memory_forge import MemoryForge
from small_api_server import RefusedError, SmallApiServer
from written_histories import TAGS, manifest, releases

MIGRATION = "flux-upgrade/clusters.staging/migration"
MINOR = "flux-upgrade/clusters.staging/minor"
KUSTOMIZATION = "clusters/staging/flux-system/kustomization.yaml"
APPS = "apps/sync.yaml"
USING = Regenerator(releases(), NoFlux())
RELEASES = listed(*TAGS)
TOGETHER = {"migrate": Migrate.WITH_UPGRADE}
GIT_REPOSITORY = ("source", "v1beta2", "GitRepository")
"""Of which no version is served by the first release and by the last."""
USES = (
    GIT_REPOSITORY,
    ("kustomize", "v1beta1", "Kustomization"),
    ("kustomize", "v1beta2", "Kustomization"),
    ("helm", "v2beta1", "HelmRelease"),
    ("helm", "v2beta2", "HelmRelease"),
    ("notification", "v1beta1", "Alert"),
    ("notification", "v1beta2", "Alert"),
)
BRIDGED = USES[1:]
NEWEST = {("source", "v1"), ("kustomize", "v1"), ("helm", "v2"), ("notification", "v1beta3")}


def resources(*uses: tuple[str, str, str]) -> bytes:
    """A document each."""
    return b"---\n".join(
        f"apiVersion: {group}.toolkit.fluxcd.io/{version}\nkind: {kind}\n"
        f"metadata:\n  name: {kind.lower()}-{version}\nspec:\n  interval: 5m\n".encode()
        for group, version, kind in uses
    )


@dataclass
class ClusterRepository:
    """A repository, its cluster, and one run after the other on what is at its base."""

    uses: tuple[tuple[str, str, str], ...] = USES
    at: str = "v2.5.1"
    settings: dict[str, Any] = field(default_factory=dict)
    past: list[FileRevision] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        files = {
            PATH: manifest(self.at),
            KUSTOMIZATION: b"resources: [gotk-components.yaml]\n",
            APPS: resources(*self.uses),
        }
        self.forge = MemoryForge(files)
        self.cluster = SmallApiServer()
        self.reconcile()

    def reconcile(self) -> None:
        """What Flux does in the cluster with what is at the base."""
        content = self.forge.files[PATH]
        if not self.past or self.past[-1].content != content:
            self.past.append(FileRevision(f"{len(self.past):040}", f"20{21 + len(self.past)}-03-01T09:00:00Z", content))
        self.cluster.apply(content)
        faults = [fault for each in yaml.safe_load_all(self.forge.files[APPS]) for fault in self.cluster.faults(each)]
        assert not faults

    def run(self, asked: UpgradeRequest | None = None) -> dict[str, str]:
        """One run; branch → what was done."""
        group = Group(governance=Governance(policy=Policy(bump=MaxBump.MINOR))._replace(**self.settings))
        world = World(dict(self.forge.files), Config(default=group), RELEASES, USING, asked or UpgradeRequest())
        world.history = MemoryHistory({PATH: FileRevisions(tuple(self.past))})
        done = world.run(self.forge)
        self.warnings = tuple(unused_approvals(world.gathered(), done.plans))
        self.plans = [plan for team in done.plans for plan in (*team.plans, *team.migrations)]
        return {each.branch: str(each.action) for each in done.results if each.action != "none"}

    def pull(self, branch: str) -> PullRequest:
        """The newest of a branch."""
        return next(pull for name, pull in reversed(self.forge.pulls.values()) if name == branch)

    def merge(self, branch: str) -> None:
        pull = self.pull(branch)
        assert pull.state is PullState.OPEN
        self.forge.merge(pull.number)
        self.reconcile()

    def push(self, files: dict[str, bytes]) -> None:
        """People's own commit."""
        self.forge.push_to_base(files)
        self.reconcile()

    def migrate(self) -> None:
        """`flux migrate` in the cluster, and the box."""
        self.cluster.migrate()
        self.tick()

    def tick(self) -> None:
        """The box in the newest pull request."""
        self.forge.tick(self.pull(MINOR).number, markers.MIGRATED)
        assert markers.is_ticked(self.pull(MINOR).body, markers.MIGRATED)

    def untick(self) -> None:
        """The same box."""
        pull = self.pull(MINOR)
        box = f"<!-- flux-upgrade:{markers.MIGRATED} -->"
        self.forge.edit(pull.number, body=pull.body.replace(f"- [x] {box}", f"- [ ] {box}"))

    @property
    def upgrades(self) -> list[tuple[BumpKind, str]]:
        return [(each.bump_kind, each.target) for plan in self.plans for each in plan.upgrades]

    @property
    def holds(self) -> dict[HoldReason, Hold]:
        return {hold.reason: hold for plan in self.plans for hold in plan.holds}

    @property
    def versions(self) -> set[tuple[str, str]]:
        """Those that the manifests name."""
        named = (each["apiVersion"] for each in yaml.safe_load_all(self.forge.files[APPS]))
        return {(each.partition(".")[0], each.partition("/")[2]) for each in named}

    @property
    def impact(self) -> Assessment:
        """Of the one upgrade to another minor, whether it is held or not."""
        (found,) = {
            id(each): each
            for plan in self.plans
            for each in (*plan.impacts.values(), *(one.impact for one in plan.upgrades if one.impact is not None))
        }.values()
        return found


def test_what_is_proposed_one_after_the_other() -> None:
    repository = ClusterRepository()
    assert repository.run() == {MIGRATION: "opened"}
    assert repository.impact.upgrade_path == ("v2.7.5", "v2.9.4")
    repository.merge(MIGRATION)
    assert repository.run() == {MINOR: "opened"}
    assert repository.upgrades == [(BumpKind.MINOR, "v2.7.5")]
    assert "**Multi-step upgrade:** step 1 of 2: v2.7.5, then v2.9.4" in repository.pull(MINOR).body
    assert repository.run() == {MINOR: "unchanged"}
    repository.merge(MINOR)
    # GitRepositories were stored in a version that v2.9.4 lacks, and the manifests name it.
    assert repository.run() == {MIGRATION: "opened"}
    repository.merge(MIGRATION)
    assert repository.run() == {}
    assert repository.holds.keys() == {HoldReason.MIGRATION_PENDING}
    assert repository.pull(MINOR).url in repository.holds[HoldReason.MIGRATION_PENDING].hint
    repository.migrate()
    assert repository.run() == {MINOR: "opened"}
    assert repository.upgrades == [(BumpKind.MINOR, "v2.9.4")]
    assert repository.run() == {MINOR: "unchanged"}
    repository.merge(MINOR)
    assert repository.run() == {}
    assert repository.versions == NEWEST


def test_moved_with_the_hops() -> None:
    repository = ClusterRepository(settings=TOGETHER)
    for target in ("v2.7.5", "v2.9.4"):
        assert repository.run() == {MINOR: "opened"}
        assert repository.upgrades == [(BumpKind.MINOR, target)]
        repository.merge(MINOR)
        if target != "v2.9.4":
            assert repository.run() == {}
            repository.migrate()
    assert repository.run() == {}
    assert repository.versions == NEWEST


def test_a_box_that_is_ticked_before_the_merge_counts_after_it() -> None:
    """Somebody ticks all that there is, and then merges."""
    repository = ClusterRepository(BRIDGED, settings=TOGETHER)
    repository.run()
    repository.tick()
    assert repository.run() == {MINOR: "unchanged"}
    repository.merge(MINOR)
    repository.cluster.migrate()
    assert repository.run() == {MINOR: "opened"}
    assert repository.upgrades == [(BumpKind.MINOR, "v2.9.4")]
    repository.merge(MINOR)


def moved_by_hand(**settings: Any) -> ClusterRepository:
    """From v2.5.1 to v2.7.5, without a pull request of ours."""
    repository = ClusterRepository((GIT_REPOSITORY,), settings=settings)
    repository.push({PATH: manifest("v2.7.5"), APPS: resources(("source", "v1", "GitRepository"))})
    return repository


def test_after_a_history_by_hand_there_is_nothing_to_wait_for_and_something_to_do() -> None:
    repository = moved_by_hand()
    assert repository.run() == {MINOR: "opened"}
    assert repository.upgrades == [(BumpKind.MINOR, "v2.9.4")]
    body = repository.pull(MINOR).body
    assert "Run `flux migrate` in this cluster, with the Flux CLI 2.7" in body
    assert "v2.5.1 ran here from 2021-03-01 and stored `GitRepository` as `v1beta2`" in body
    # Without it, the API server refuses what the pull request warned of.
    with pytest.raises(RefusedError):
        repository.merge(MINOR)


def test_the_box_of_an_open_pull_request_stays_ticked() -> None:
    repository = moved_by_hand()
    repository.run()
    repository.migrate()
    assert repository.run() == {MINOR: "updated"}
    body = repository.pull(MINOR).body
    assert "Run `flux migrate`" not in body
    assert markers.is_ticked(body, markers.MIGRATED)
    assert repository.run() == {MINOR: "unchanged"}
    repository.merge(MINOR)
    assert repository.run() == {}


def test_a_box_that_is_not_ticked_any_more_is_a_thing_to_do_again() -> None:
    repository = moved_by_hand()
    repository.run()
    before = repository.pull(MINOR).body
    repository.tick()
    repository.run()
    repository.untick()
    assert repository.run() == {MINOR: "updated"}
    assert repository.pull(MINOR).body == before


def test_one_who_runs_the_program_may_say_so_as_well() -> None:
    repository = moved_by_hand()
    repository.run(UpgradeRequest(migrated=True))
    assert repository.impact.stored.refused == ()
    assert repository.impact.stored.resolved


def test_no_steps_for_those_who_want_one_jump() -> None:
    repository = ClusterRepository(BRIDGED, settings={**TOGETHER, "multi_step": False})
    assert repository.run() == {MINOR: "opened"}
    assert repository.upgrades == [(BumpKind.MINOR, "v2.9.4")]
    assert repository.impact.stored.after_migrate
    body = repository.pull(MINOR).body
    assert "Upgrade to a release in between first" in body
    assert "stored `GitRepository` as `v1beta2`" in body
    assert "Multi-step" not in body
    assert f"flux-upgrade:{markers.MIGRATED}" not in body
    with pytest.raises(RefusedError):
        repository.merge(MINOR)


def test_no_jump_over_what_no_release_bridges() -> None:
    repository = ClusterRepository((GIT_REPOSITORY,), settings={**TOGETHER, "multi_step": False})
    assert repository.run() == {}
    assert repository.holds.keys() == {HoldReason.BLOCKED_BY_API_REMOVAL}
    assert (
        "upgrade to v2.7.5 first, which serves v1beta2 and v1"
        in repository.holds[HoldReason.BLOCKED_BY_API_REMOVAL].hint
    )


@pytest.mark.parametrize(("ladder", "expected"), [(True, []), (False, [(BumpKind.MINOR, "v2.9.4")])])
def test_what_was_asked_for_by_name_is_not_gone_to_in_steps(
    expected: list[tuple[BumpKind, str]], *, ladder: bool
) -> None:
    repository = ClusterRepository(BRIDGED, settings={**TOGETHER, "multi_step": ladder})
    repository.run(UpgradeRequest(to=Version("v2.9.4")))
    assert repository.upgrades == expected
    for hold in repository.holds.values():
        assert (hold.reason, hold.error) == (HoldReason.BLOCKED_BY_API_REMOVAL, ApiRemoved)
        assert "v2.7.5 → v2.9.4" in hold.detail
    # The first step by its name is one step.
    repository.run(UpgradeRequest(to=Version("v2.7.5")))
    assert repository.upgrades == [(BumpKind.MINOR, "v2.7.5")]


TERRAFORM = b"""\
resource "flux_bootstrap_git" "flux" {
  path    = "clusters/staging"
  version = var.flux_version
}
"""


@pytest.mark.parametrize("migrate", [Migrate.BEFORE, Migrate.WITH_UPGRADE])
def test_terraform_makes_the_same_steps(migrate: Migrate) -> None:
    repository = ClusterRepository(BRIDGED, settings={"migrate": migrate, "include": ALL})
    repository.push({"infra/flux.tf": TERRAFORM})
    # Terraform migrates no manifests: that comes first, whatever the settings say.
    assert repository.run() == {MIGRATION: "opened"}
    assert repository.holds[HoldReason.MIGRATION_PENDING].target == "v2.7.5"
    repository.merge(MIGRATION)
    assert repository.run() == {}
    hold = repository.holds[HoldReason.OWNED_BY_TERRAFORM]
    assert (hold.target, hold.hint) == (
        "v2.7.5",
        "infra/flux.tf:3: set var.flux_version to v2.7.5. Once it runs, continue with v2.9.4",
    )
    assert repository.impact.upgrade_path == ("v2.7.5", "v2.9.4")
    # Terraform's own commit, and the step after it.
    repository.push({PATH: manifest("v2.7.5")})
    repository.cluster.migrate()
    assert repository.run() == {MIGRATION: "opened"}
    repository.merge(MIGRATION)
    assert repository.run(UpgradeRequest(migrated=True)) == {}
    assert repository.holds[HoldReason.OWNED_BY_TERRAFORM].hint == "infra/flux.tf:3: set var.flux_version to v2.9.4"
    repository.push({PATH: manifest("v2.9.4")})
    assert repository.versions == NEWEST - {("source", "v1")}


@pytest.mark.parametrize("more", [{}, {"infra/flux.tf": TERRAFORM}], ids=["migration-pending", "owned-by-terraform"])
def test_an_approval_whose_first_step_is_held_has_an_effect(more: dict[str, bytes]) -> None:
    repository = ClusterRepository(BRIDGED if more else USES, settings={"policy": Policy(bump=MaxBump.PATCH)})
    repository.push(more)
    repository.run(UpgradeRequest(approve=("2.9",)))
    assert next(iter(repository.holds.values())).target == "v2.7.5"
    assert repository.warnings == ()


@pytest.mark.parametrize("answer", ["close", "skip", "revert"])
def test_a_step_that_a_person_refuses_is_not_proposed_again(answer: str) -> None:
    repository = ClusterRepository(BRIDGED, settings=TOGETHER)
    repository.run()
    number = repository.pull(MINOR).number
    if answer == "close":
        repository.forge.close_pull(number)
    elif answer == "skip":
        repository.forge.tick(number, markers.SKIP)
    else:
        before = dict(repository.forge.files)
        repository.merge(MINOR)
        assert "the older CRDs do not have. The API server rejects them" in repository.pull(MINOR).body
        with pytest.raises(RefusedError):
            repository.push(before)
    repository.run()
    assert (repository.run(), repository.upgrades) == ({}, [])
    expected = HoldReason.REVERTED if answer == "revert" else HoldReason.CLOSED_BY_HUMAN
    assert repository.holds.keys() == {expected}
    assert repository.run(UpgradeRequest(approve=("2.7",))) == {MINOR: "opened"}
    assert repository.upgrades == [(BumpKind.MINOR, "v2.7.5")]


@pytest.mark.parametrize("by", ["ready", "2.7", "2.9"])
def test_each_step_waits_for_its_approval(by: str) -> None:
    """Whichever way it is given, the pull request goes on telling what comes next."""
    repository = ClusterRepository(BRIDGED, settings={**TOGETHER, "policy": Policy(bump=MaxBump.PATCH)})
    repository.run()
    pull = repository.pull(MINOR)
    assert pull.is_draft
    if by == "ready":
        repository.forge.edit(pull.number, is_draft=False)
        repository.run()
    else:
        repository.run(UpgradeRequest(approve=(by,)))
    pull = repository.pull(MINOR)
    assert not pull.is_draft
    assert "**Multi-step upgrade:** step 1 of 2: v2.7.5, then v2.9.4" in pull.body
    assert repository.run() == {MINOR: "unchanged"}
    repository.merge(MINOR)
    assert repository.run() == {}
    assert repository.holds.keys() == {HoldReason.MIGRATION_PENDING}
    repository.migrate()
    repository.run()
    assert repository.upgrades == [(BumpKind.MINOR, "v2.9.4")]
    assert repository.pull(MINOR).is_draft
