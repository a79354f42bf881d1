"""Manifests that an upgrade would break are migrated before it or with it, or hold it."""

from __future__ import annotations

from typing import Any

import pytest

from cluster_repository import APPS, MIGRATION, MINOR, NEW, OLD, ClusterRepository
from flows import PATH, fleet
from flux_upgrade.config.config import Config, Governance, Group, Migrate
from flux_upgrade.model import markers
from flux_upgrade.model.file_history import Mentions
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from memory import MemoryHistory
from replacing import replace
from written_unverified import CRDS, unverified


def test_manifests_are_moved_before_and_the_upgrade_waits() -> None:
    repository = ClusterRepository()
    assert repository.run() == {MIGRATION: "opened"}
    assert repository.reasons == {HoldReason.MIGRATION_PENDING}
    assert repository.run() == {MIGRATION: "unchanged"}
    repository.merge(MIGRATION)
    assert repository.forge.files[APPS] == NEW
    assert repository.run() == {MINOR: "opened"}
    repository.merge(MINOR)
    assert repository.run() == {}


def first_step(repository: ClusterRepository) -> str:
    """The first numbered item of the upgrade's pull request."""
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    return next((line for line in pull.body.splitlines() if line.startswith("1. ")), "")


def test_after_a_migration_flux_migrate_is_the_first_thing_to_do_before_merging() -> None:
    repository = ClusterRepository()
    repository.run()
    repository.merge(MIGRATION)
    repository.run()
    step = first_step(repository)
    assert step.startswith("1. Run `flux migrate` in this cluster (Flux CLI 2.8) before merging.")
    assert repository.run() == {MINOR: "unchanged"}
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    repository.forge.tick(pull.number, markers.MIGRATED)
    assert repository.run() == {MINOR: "updated"}
    assert not first_step(repository)
    repository.merge(MINOR)
    assert repository.run() == {}


def test_moved_with_the_upgrade_flux_migrate_runs_right_after_the_merge() -> None:
    repository = ClusterRepository(migrate=Migrate.WITH_UPGRADE)
    assert repository.run() == {MINOR: "opened"}
    step = first_step(repository)
    assert step.startswith(
        "1. **After merging:** run `flux migrate` in this cluster (Flux CLI 2.9) as soon as v2.9.4 runs there."
    )
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    assert "· **1 action required**" in pull.body


@pytest.mark.parametrize("migrate", [Migrate.BEFORE, Migrate.WITH_UPGRADE, Migrate.OFF])
def test_what_the_repository_never_used_needs_no_flux_migrate(migrate: Migrate) -> None:
    repository = ClusterRepository({APPS: NEW}, migrate=migrate)
    assert repository.run() == {MINOR: "opened"}
    assert not first_step(repository)
    # The versions that v2.9.4 drops were searched for, once.
    (searched,) = repository.history.searched
    assert "kustomize.toolkit.fluxcd.io/v1beta2" in searched


@pytest.mark.parametrize(
    ("mentions", "first"),
    [
        (Mentions((APPS,)), "1. Run `flux migrate`"),
        (Mentions(missing=Unknown("the checkout is shallow")), "1. Run `flux migrate`"),
        (Mentions(("clusters/production/app.yaml",)), ""),
        (Mentions(("examples/app.yaml",)), ""),
    ],
)
def test_what_the_repository_used_once_is_in_its_history(mentions: Mentions, first: str) -> None:
    other = fleet({"clusters/production": "v2.9.4"})
    repository = ClusterRepository({APPS: NEW, **other}, include=("**", "!examples/**"))
    repository.history = repository.world.history = MemoryHistory(mentions=mentions)
    repository.run()
    assert first_step(repository)[:21] == first


def test_a_migration_waits_for_the_approval_of_its_upgrade() -> None:
    repository = ClusterRepository(policy=Policy(bump=MaxBump.PATCH))
    assert repository.run() == {MIGRATION: "opened"}
    pull = repository.forge.open_pull(MIGRATION)
    assert pull is not None
    assert pull.is_draft
    repository.forge.edit(pull.number, is_draft=False)
    assert repository.run() == {MIGRATION: "updated"}
    repository.merge(MIGRATION)
    # What was approved is the minor, by whichever of its pull requests.
    assert repository.run() == {MINOR: "opened"}
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    assert not pull.is_draft
    assert repository.run() == {MINOR: "unchanged"}
    # What is said of the upgrade itself counts from now on.
    repository.forge.close_pull(pull.number)
    assert repository.run() == {}


def test_a_hold_that_comes_later_makes_a_draft_of_what_is_open() -> None:
    repository = ClusterRepository({APPS: NEW})
    repository.run()
    repository.config = Config(
        Group(governance=repository.config.default.governance._replace(kubernetes_version="1.30"))
    )
    assert repository.run() == {MINOR: "updated"}
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    assert pull.is_draft
    assert "kubernetes-too-old" in pull.body.partition("</")[0][:600]
    assert repository.run() == {MINOR: "unchanged"}
    repository.config = Config(
        Group(governance=repository.config.default.governance._replace(kubernetes_version="1.34"))
    )
    assert repository.run() == {MINOR: "updated"}
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    assert not pull.is_draft
    assert "kubernetes-too-old" not in pull.body


def test_whoever_closes_a_migration_moves_by_hand() -> None:
    repository = ClusterRepository()
    repository.run()
    pull = repository.forge.open_pull(MIGRATION)
    assert pull is not None
    repository.forge.close_pull(pull.number)
    assert repository.run() == {}
    assert repository.reasons == {HoldReason.MIGRATION_PENDING}
    assert pull.url in next(hold.hint for plan in repository.plans for hold in plan.holds)
    repository.forge.push_to_base({APPS: NEW})
    assert repository.run() == {MINOR: "opened"}


def test_a_migration_that_was_reverted_is_not_proposed_again() -> None:
    repository = ClusterRepository()
    repository.run()
    repository.merge(MIGRATION)
    repository.forge.push_to_base({APPS: OLD})
    assert repository.run() == {}
    assert repository.reasons == {HoldReason.MIGRATION_PENDING}
    # Something else that has to be moved is another matter.
    repository.forge.push_to_base({APPS: OLD + b"# new\n"})
    assert repository.run() == {MIGRATION: "opened"}


def test_a_team_that_moves_nothing_leaves_its_files_to_others() -> None:
    off = Group(
        "a",
        ("clusters/staging/**",),
        Governance(policy=Policy(bump=MaxBump.MINOR), migrate=Migrate.OFF, kubernetes_version="1.30"),
    )
    repository = ClusterRepository(fleet({"clusters/production": "v2.8.8"}), migrate=Migrate.WITH_UPGRADE)
    repository.config = replace(repository.config, groups=(off,))
    assert repository.run() == {"flux-upgrade/clusters.production/minor": "opened"}
    repository.merge("flux-upgrade/clusters.production/minor")
    assert repository.forge.files[APPS] == NEW


def test_who_is_approved_moves_before_who_waits() -> None:
    waits = Group("a", ("clusters/a/**",), Governance(policy=Policy(bump=MaxBump.PATCH)))
    repository = ClusterRepository(fleet({"clusters/a": "v2.8.8"}))
    repository.config = replace(repository.config, groups=(waits,))
    assert repository.run() == {MIGRATION: "opened"}


def test_files_of_another_cluster_are_its_own_affair() -> None:
    theirs = "clusters/production/apps.yaml"
    repository = ClusterRepository({APPS: NEW, theirs: OLD, **fleet({"clusters/production": "v2.8.8"})})
    assert repository.run() == {MINOR: "opened", "flux-upgrade/clusters.production/migration": "opened"}


OLD_CLUSTER = "clusters/old/flux-system/gotk-components.yaml"
SERVES_BOTH = {**CRDS, "kustomizations.kustomize.toolkit.fluxcd.io": "v1beta2 v1*"}


@pytest.mark.parametrize("migrate", [Migrate.BEFORE, Migrate.WITH_UPGRADE])
@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(unverified(), id="flux-v0"),
        pytest.param(unverified(""), id="install-yaml"),
        pytest.param(unverified(crds={}), id="no-crds"),
        pytest.param(b"<<<<<<< HEAD\n" + unverified(), id="merge-conflict"),
    ],
)
def test_what_an_unverified_cluster_may_read_stays(manifest: bytes, migrate: Migrate) -> None:
    own = "clusters/staging/own.yaml"
    repository = ClusterRepository({OLD_CLUSTER: manifest, own: OLD, "clusters/old/own.yaml": OLD}, migrate=migrate)
    expected = {MIGRATION: "opened"} if migrate is Migrate.BEFORE else {}
    assert repository.run() == expected
    assert HoldReason.BLOCKED_BY_API_REMOVAL in repository.reasons
    details = {left.detail for plan in repository.plans for each in plan.impacts.values() for left in each.lefts}
    assert any(OLD_CLUSTER in detail for detail in details)
    if expected:
        repository.merge(MIGRATION)
        assert repository.forge.files[own] == NEW
    assert repository.forge.files[APPS] == repository.forge.files["clusters/old/own.yaml"] == OLD


def test_what_an_unverified_cluster_serves_as_well_is_moved() -> None:
    repository = ClusterRepository({OLD_CLUSTER: unverified(crds=SERVES_BOTH)})
    assert repository.run() == {MIGRATION: "opened"}
    repository.merge(MIGRATION)
    assert repository.forge.files[APPS] == NEW


def test_edited_crds_hold_the_manifests_of_their_own_cluster() -> None:
    """The release serves v1, and the cluster does not."""
    repository = ClusterRepository()
    served = b"  - name: v1\n"
    at = repository.forge.files[PATH].index(b"  name: kustomizations.kustomize.toolkit.fluxcd.io\n")
    begin = repository.forge.files[PATH].index(served, at)
    text = repository.forge.files[PATH][begin:].replace(b"    served: true\n", b"    served: false\n", 1)
    repository.forge.push_to_base({PATH: repository.forge.files[PATH][:begin] + text})
    repository.run()
    assert repository.forge.open_pull(MIGRATION) is None
    assert HoldReason.BLOCKED_BY_API_REMOVAL in repository.reasons


def test_what_nobody_needs_any_more_is_closed() -> None:
    repository = ClusterRepository()
    repository.run()
    repository.forge.push_to_base({APPS: NEW})
    assert repository.run() == {MIGRATION: "closed", MINOR: "opened"}


def test_moved_with_the_upgrade() -> None:
    repository = ClusterRepository(migrate=Migrate.WITH_UPGRADE)
    assert repository.run() == {MINOR: "opened"}
    repository.merge(MINOR)
    assert repository.forge.files[APPS] == NEW
    assert b"v2.9.4" in repository.forge.files[PATH]
    assert repository.run() == {}


def test_moved_by_people() -> None:
    repository = ClusterRepository(migrate=Migrate.OFF)
    assert repository.run() == {}
    assert repository.reasons == {HoldReason.BLOCKED_BY_API_REMOVAL}
    repository.forge.push_to_base({APPS: NEW})
    assert repository.run() == {MINOR: "opened"}


def test_what_cannot_be_moved_blocks_and_the_rest_is_moved() -> None:
    broken = OLD.replace(b"spec: {}", b"spec: {{ .Values.spec }}")
    repository = ClusterRepository({"charts/sync.yaml": broken})
    assert repository.run() == {MIGRATION: "opened"}
    assert repository.reasons == {HoldReason.BLOCKED_BY_API_REMOVAL}
    repository.merge(MIGRATION)
    assert repository.forge.files["charts/sync.yaml"] == broken
    assert repository.run() == {}


@pytest.mark.parametrize("settings", [{"include": ("clusters/**",)}, {"include": ("/**", "!apps/")}])
def test_only_what_is_searched_is_moved(settings: dict[str, Any]) -> None:
    assert ClusterRepository(**settings).run() == {MINOR: "opened"}


def test_ignored_files_are_left_alone() -> None:
    repository = ClusterRepository()
    repository.config = replace(repository.config, ignore=("apps/**",))
    assert repository.run() == {MINOR: "opened"}


def test_a_checkout_that_differs_moves_nothing() -> None:
    repository = ClusterRepository()
    repository.forge.push_to_base({APPS: OLD + b"# newer\n"})
    done = repository.world
    done.config = repository.config
    found = done.run(repository.forge)
    assert not [each for each in found.results if each.action == "opened"]
    held = {hold.reason for team in found.plans for plan in team.migrations for hold in plan.holds}
    assert held == {HoldReason.CHECKOUT_DIFFERS}


def test_a_file_is_moved_once_for_several_clusters() -> None:
    repository = ClusterRepository(fleet({"clusters/production": "v2.8.8"}))
    assert repository.run() == {"flux-upgrade/clusters.production/migration": "opened"}
    repository.merge("flux-upgrade/clusters.production/migration")
    assert repository.run() == {MINOR: "opened", "flux-upgrade/clusters.production/minor": "opened"}


METRICS = b"""\
kind: CustomResourceStateMetrics
spec:
  resources:
    - groupVersionKind:
        group: kustomize.toolkit.fluxcd.io
        version: v1beta2
        kind: Kustomization
"""
CHANGE_METRICS = "1. Change the metrics of API versions that v2.9.4 no longer serves:"


def test_a_metric_is_migrated_with_an_upgrade_and_no_cluster_waits_for_it() -> None:
    production = "flux-upgrade/clusters.production/minor"
    repository = ClusterRepository({APPS: METRICS, **fleet({"clusters/production": "v2.8.8"})})
    assert repository.run() == {MINOR: "opened", production: "opened"}
    # The first cluster has it in its commit, and a metric is no reason for `flux migrate`.
    assert first_step(repository) == CHANGE_METRICS
    repository.merge(production)
    assert repository.forge.files[APPS] == METRICS.replace(b"v1beta2", b"v1")
    assert repository.run() == {MINOR: "updated"}
    assert not first_step(repository)


def test_a_metric_waits_for_nobody_if_users_migrate() -> None:
    repository = ClusterRepository({APPS: METRICS}, migrate=Migrate.OFF)
    assert repository.run() == {MINOR: "opened"}
    assert first_step(repository) == CHANGE_METRICS
    repository.merge(MINOR)
    assert repository.forge.files[APPS] == METRICS


def test_a_metric_that_nothing_can_replace_holds_nothing() -> None:
    repository = ClusterRepository({APPS: METRICS, OLD_CLUSTER: unverified()})
    assert repository.run() == {MINOR: "opened"}
    assert first_step(repository) == CHANGE_METRICS


@pytest.mark.parametrize(
    ("declared", "expected"),
    [("1.32", {HoldReason.KUBERNETES_TOO_OLD}), ("1.33", set[HoldReason]()), ("", set[HoldReason]())],
)
def test_kubernetes_too_old(declared: str, expected: set[HoldReason]) -> None:
    repository = ClusterRepository({APPS: NEW}, kubernetes_version=declared)
    repository.run()
    assert repository.reasons == expected


def test_a_component_in_use_is_not_taken_away() -> None:
    policy = OLD.replace(b"kustomize.", b"notification.").replace(b"Kustomization", b"Alert")
    components = "source-controller,kustomize-controller,helm-controller"
    repository = ClusterRepository({APPS: policy.replace(b"v1beta2", b"v1")}, flags={"components": components})
    assert repository.run() == {}
    assert repository.reasons == {HoldReason.COMPONENT_IN_USE}
    repository.forge.push_to_base({APPS: NEW})
    assert MINOR in repository.run()


def test_content_that_needs_approval_makes_a_patch_wait() -> None:
    repository = ClusterRepository(fleet({"clusters/staging": "v2.9.3"}), needs_approval=("network-policy",))
    repository.run()
    (pull,) = repository.forge.open_pulls()
    changes = [
        known_or(upgrade.impact.changes, None)
        for plan in repository.plans
        for upgrade in plan.upgrades
        if upgrade.impact
    ]
    assert changes
    is_narrowed = any(each is not None and "network-policy" in each.contents for each in changes)
    assert pull.is_draft is is_narrowed


def test_patches_come_while_a_larger_bump_is_held() -> None:
    repository = ClusterRepository(fleet({"clusters/staging": "v2.8.7"}), kubernetes_version="1.32")
    repository.run()
    assert repository.reasons == {HoldReason.KUBERNETES_TOO_OLD}
    assert repository.forge.open_pull("flux-upgrade/clusters.staging/patch") is not None


def test_moved_with_the_upgrade_after_it_was_reverted() -> None:
    repository = ClusterRepository()
    repository.run()
    repository.merge(MIGRATION)
    repository.forge.push_to_base({APPS: OLD})
    repository.config = Config(
        Group(governance=repository.config.default.governance._replace(migrate=Migrate.WITH_UPGRADE))
    )
    assert repository.run() == {MINOR: "opened"}
    repository.merge(MINOR)
    assert repository.forge.files[APPS] == NEW


def held_repository(*, has_drafts: bool = True) -> ClusterRepository:
    """An upgrade that was open when Kubernetes was found to be too old."""
    repository = ClusterRepository({APPS: NEW})
    repository.forge.has_drafts = has_drafts
    repository.run()
    repository.config = Config(
        Group(governance=repository.config.default.governance._replace(kubernetes_version="1.30"))
    )
    return repository


def test_where_there_are_no_drafts_a_hold_is_no_approval() -> None:
    repository = held_repository(has_drafts=False)
    assert repository.run() == {MINOR: "updated"}
    assert repository.run() == {MINOR: "unchanged"}
    repository.config = Config(default=Group(governance=Governance(policy=Policy(bump=MaxBump.PATCH))))
    repository.run()
    pull = repository.forge.open_pull(MINOR)
    assert pull is None or '"approval"' not in pull.body


def test_a_draft_of_a_persons_stays_one() -> None:
    repository = held_repository()
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    repository.forge.edit(pull.number, is_draft=True)
    assert repository.run() == {MINOR: "updated"}
    repository.config = Config(
        Group(governance=repository.config.default.governance._replace(kubernetes_version="1.34"))
    )
    assert repository.run() == {MINOR: "updated"}
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    assert pull.is_draft


def test_who_marks_it_ready_all_the_same_is_not_argued_with() -> None:
    repository = held_repository()
    repository.run()
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    repository.forge.edit(pull.number, is_draft=False)
    assert repository.run() == {MINOR: "unchanged"}


def test_a_hold_keeps_the_text_that_a_browser_sent_back() -> None:
    repository = held_repository()
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    repository.forge.edit(pull.number, body=pull.body.replace("\n", "\r\n"))
    repository.run()
    again = repository.forge.open_pull(MINOR)
    assert again is not None
    assert "Decline" in again.body
    assert "Do not merge this now" in again.body
    assert repository.run() == {MINOR: "unchanged"}


def test_a_hold_is_shown_though_a_person_removed_our_text() -> None:
    repository = held_repository()
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    repository.forge.edit(pull.number, body="Mine.")
    assert repository.run() == {MINOR: "updated"}
    held = repository.forge.open_pull(MINOR)
    assert held is not None
    assert held.is_draft
    assert held.body.startswith("Mine.\n\n<!-- flux-upgrade {")
    assert "Do not merge this now" in held.body
    assert repository.run() == {MINOR: "unchanged"}
    repository.config = Config(
        Group(governance=repository.config.default.governance._replace(kubernetes_version="1.34"))
    )
    assert repository.run() == {MINOR: "updated"}
    pull = repository.forge.open_pull(MINOR)
    assert pull is not None
    assert not pull.is_draft
    assert "Do not merge this now" not in pull.body
    assert repository.run() == {MINOR: "unchanged"}


def test_a_migration_that_is_closed_later_takes_the_approval_back() -> None:
    repository = ClusterRepository(policy=Policy(bump=MaxBump.PATCH))
    repository.run()
    pull = repository.forge.open_pull(MIGRATION)
    assert pull is not None
    repository.forge.edit(pull.number, is_draft=False)
    repository.run()
    repository.merge(MIGRATION)
    repository.forge.push_to_base({"more.yaml": OLD})
    assert repository.run() == {MIGRATION: "opened"}
    pull = repository.forge.open_pull(MIGRATION)
    assert pull is not None
    repository.forge.close_pull(pull.number)
    assert repository.run() == {}
