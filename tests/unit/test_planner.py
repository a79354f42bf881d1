"""Each update group gets its plan, with the policy of its group and the feedback of its pull requests."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flows import World, counting, fleet, listed, manifest, path_in
from flux_upgrade.clusters.groups import branches_of
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.model.errors import CheckoutDiffers, FluxUpgradeError, ReleaseNotFound
from flux_upgrade.model.forge import BaseFile, Repository
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import Plan, UpgradeRequest
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.policy.feedback import APPROVED
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from flux_upgrade.pullrequests.apply import question_of
from memory_forge import MemoryForge
from planned import change_of
from replacing import replace

MINORS = Policy(MaxBump.MINOR)
TERRAFORM = b'resource "flux_bootstrap_git" "x" {\n  path    = "clusters/a"\n  version = var.flux\n}\n'


def plans(world: World, repository: Repository | None = None) -> dict[str, Plan]:
    """Folder → plan."""
    found = (plan for team in plan_update_groups(world.gathered(), repository) for plan in team.plans)
    return {plan.path.removesuffix("/flux-system/gotk-components.yaml"): plan for plan in found}


def decisions_of(plan: Plan) -> list[str]:
    """Decisions in a few words."""
    holds = [f"{hold.reason} {hold.target}".strip() for hold in plan.holds]
    return [f"{each.target}{'' if each.approved else ' pending'}" for each in plan.upgrades] + holds


def seen(world: World, forge: MemoryForge | None = None) -> Repository:
    """What a forge whose base is the checkout tells."""
    return (forge or MemoryForge(dict(world.files))).fetch(question_of(world.gathered()))


def test_each_group_has_its_policy() -> None:
    config = Config(
        default=Group(governance=Governance(policy=Policy(MaxBump.NONE))),
        groups=(Group("staging", ("clusters/s*/",), Governance(policy=MINORS)), Group("prod", ("clusters/p*/",))),
        ignore=("clusters/old/",),
    )
    versions = dict.fromkeys(("clusters/old", "clusters/p1", "clusters/s1", "clusters/s2", "other"), "v2.8.7")
    found = plans(World(fleet(versions), config))
    assert {folder: decisions_of(plan) for folder, plan in found.items()} == {
        "clusters/p1": ["v2.8.8", "v2.9.4 pending"],
        "clusters/s1": ["v2.9.4"],
        "clusters/s2": ["v2.9.4"],
        "other": ["v2.8.8 pending", "v2.9.4 pending"],
    }


def test_teams_come_in_the_order_of_the_tree() -> None:
    config = Config(groups=(Group("all", ("clusters/",)),))
    world = World(fleet({"a": "v2.9.4", "clusters/b": "v2.9.4", "clusters/d": "v2.9.4", "m": "v2.9.4"}), config)
    teams = plan_update_groups(world.gathered())
    assert [(each.update_group.slug, len(each.plans)) for each in teams] == [("a", 1), ("all", 2), ("m", 1)]
    assert branches_of(teams[1].update_group, config) == (
        "flux-upgrade/all/patch",
        "flux-upgrade/all/minor",
        "flux-upgrade/all/major",
        "flux-upgrade/all/migration",
    )


def test_identical_installations_are_planned_once() -> None:
    using, releases = counting()
    one = World(fleet({"clusters/a": "v2.8.7"}), using=using)
    plans(one)
    alone = len(releases.asked)
    using, releases = counting()
    many = World(fleet({f"clusters/{each:02}": "v2.8.7" for each in range(30)}), using=using)
    found = plans(many)
    assert len(releases.asked) == alone
    assert len({id(plan.upgrades[0].change) for plan in found.values()}) == 1
    assert [plan.path for plan in found.values()] == [path_in(f"clusters/{each:02}") for each in range(30)]


def test_those_of_other_terms_are_planned_by_themselves() -> None:
    config = Config(groups=(Group("staging", ("clusters/s*/",), Governance(policy=MINORS)),))
    found = plans(World(fleet({"clusters/p": "v2.8.7", "clusters/s": "v2.8.7"}), config))
    assert decisions_of(found["clusters/p"]) == ["v2.8.8", "v2.9.4 pending"]
    assert decisions_of(found["clusters/s"]) == ["v2.9.4"]


def test_an_answer_is_one_of_its_team() -> None:
    world = World(fleet({"clusters/a": "v2.8.8", "clusters/b": "v2.8.8"}))
    forge = MemoryForge(dict(world.files))
    world.run(forge)
    forge.label(1, APPROVED)
    forge.close_pull(2)
    found = plans(world, seen(world, forge))
    assert decisions_of(found["clusters/a"]) == ["v2.9.4"]
    assert decisions_of(found["clusters/b"]) == ["closed-by-human v2.9.4"]


def test_a_run_approves_for_all() -> None:
    world = World(fleet({"clusters/a": "v2.8.8", "clusters/b": "v2.6.4"}), asked=UpgradeRequest(approve=("2.9",)))
    for repository in (None, seen(world)):
        found = plans(world, repository)
        assert [decisions_of(plan) for plan in found.values()] == [["v2.9.4"], ["v2.9.4"]]


# Guards


def test_an_orphan_is_left_alone() -> None:
    found = plans(World(fleet({"clusters/a": "v2.8.8", "old": "v2.8.8"}, orphans=["old"])))
    assert decisions_of(found["clusters/a"]) == ["v2.9.4 pending"]
    assert decisions_of(found["old"]) == ["orphan"]
    assert found["old"].holds[0].error is None


@pytest.mark.parametrize(
    ("asked", "is_named"), [(UpgradeRequest(to=Version("v2.9.4")), False), (UpgradeRequest(), True)]
)
def test_what_is_named_is_no_orphan(asked: UpgradeRequest, *, is_named: bool) -> None:
    world = World(fleet({"old": "v2.8.8"}, orphans=["old"]), asked=asked, is_named=is_named)
    assert [each.target for each in plans(world)["old"].upgrades] == ["v2.9.4"]


def test_an_orphan_that_cannot_be_read_is_an_orphan() -> None:
    """It is nobody's, so that nobody's run ends red for it."""
    files = {path_in("old"): b"<<<<<<< HEAD\n" + manifest("v2.8.8")}
    assert decisions_of(plans(World(files | fleet({"clusters/a": "v2.9.4"})))["old"]) == ["orphan"]


def test_what_terraform_writes_is_left_alone() -> None:
    files = {**fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.7"}), "infra/flux.tf": TERRAFORM}
    found = plans(World(files))
    assert decisions_of(found["clusters/a"]) == ["owned-by-terraform v2.8.8", "owned-by-terraform v2.9.4"]
    assert [hold.hint for hold in found["clusters/a"].holds] == [
        "infra/flux.tf:3: set var.flux to v2.8.8",
        "infra/flux.tf:3: set var.flux to v2.9.4, if you approve this minor",
    ]
    assert decisions_of(found["clusters/b"]) == ["v2.8.8", "v2.9.4 pending"]
    assert [
        each.target for each in plans(World(files, asked=UpgradeRequest(to=Version("v2.9.4"))))["clusters/a"].upgrades
    ] == ["v2.9.4"]


def test_what_terraform_writes_moves_with_its_version() -> None:
    literal = TERRAFORM.replace(b"var.flux", b'"v2.8.7"')
    files = {**fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.7"}), "infra/flux.tf": literal}
    teams = plan_update_groups(World(files).gathered())
    assert [[plan.path for plan in team.plans if plan.approved] for team in teams] == [
        [path_in("clusters/a"), "infra/flux.tf"],
        [path_in("clusters/b")],
    ]


@pytest.mark.parametrize("elsewhere", [{}, {"clusters/b": "v2.8.7"}], ids=["one cluster", "two clusters"])
def test_a_resource_that_may_write_a_manifest_moves_no_more_than_that(elsewhere: dict[str, str]) -> None:
    vague = b'resource "flux_bootstrap_git" "x" {\n  path    = var.path\n  version = "v2.8.7"\n}\n'
    files = {**fleet({"clusters/a": "v2.8.7", **elsewhere}), "infra/flux.tf": vague}
    teams = plan_update_groups(World(files).gathered())
    assert [plan.path for team in teams for plan in team.plans if plan.approved] == []


def test_what_terraform_writes_and_is_up_to_date_is_up_to_date() -> None:
    files = {**fleet({"clusters/a": "v2.9.4"}), "infra/flux.tf": TERRAFORM}
    assert decisions_of(plans(World(files))["clusters/a"]) == ["up-to-date"]


@pytest.mark.parametrize(
    ("history", "decisions"),
    [
        (("Update Flux manifests",), ["owned-by-terraform v2.8.8", "owned-by-terraform v2.9.4"]),
        (("Add Flux v2.8.7 component manifests",), ["v2.8.8", "v2.9.4 pending"]),
        (("Upgrade Flux\n\nFlux-Upgrade-Group: a", "Update Flux manifests"), ["v2.8.8", "v2.9.4 pending"]),
        ((), ["v2.8.8", "v2.9.4 pending"]),
    ],
    ids=["Terraform", "bootstrap", "handed over", "unknown"],
)
def test_the_history_of_a_file_says_who_wrote_it_before(history: Sequence[str], decisions: list[str]) -> None:
    world = World(fleet({"clusters/a": "v2.8.7"}))
    repository = seen(world)
    file = replace(repository.files[path_in("clusters/a")], history=tuple(history))
    found = plans(world, replace(repository, files={path_in("clusters/a"): file}))
    assert decisions_of(found["clusters/a"]) == decisions


@pytest.mark.parametrize(
    "at_base", [manifest("v2.8.8"), manifest("v2.8.7") + b"\n", None], ids=["another", "nearly", "none"]
)
def test_a_checkout_that_differs_from_the_base_is_held(at_base: bytes | None) -> None:
    world = World(fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.7"}))
    files = dict(world.files)
    if at_base is None:
        del files[path_in("clusters/a")]
    else:
        files[path_in("clusters/a")] = at_base
    found = plans(world, seen(world, MemoryForge(files)))
    (hold,) = found["clusters/a"].holds
    assert (hold.reason, hold.error, hold.target) == (HoldReason.CHECKOUT_DIFFERS, CheckoutDiffers, "")
    assert decisions_of(found["clusters/b"]) == ["v2.8.8", "v2.9.4 pending"]


def test_a_checkout_that_differs_where_nothing_is_done_does_no_harm() -> None:
    world = World(fleet({"clusters/a": "v2.9.4"}))
    repository = replace(seen(world), files={path_in("clusters/a"): BaseFile("0" * 40)})
    assert decisions_of(plans(world, repository)["clusters/a"]) == ["up-to-date"]


def test_the_checkout_is_looked_at_before_terraform() -> None:
    world = World({**fleet({"clusters/a": "v2.8.7"}), "infra/flux.tf": TERRAFORM})
    repository = replace(seen(world), files={path_in("clusters/a"): BaseFile("0" * 40)})
    assert decisions_of(plans(world, repository)["clusters/a"]) == ["checkout-differs"]


# What was asked for by name


@pytest.mark.parametrize(
    ("to", "decisions"),
    [("v2.8.8", ["v2.8.8"]), ("v2.9.3", ["v2.9.3"]), ("v2.8.7", ["up-to-date"]), ("v2.7.1", ["downgrade"])],
)
def test_a_version_that_is_asked_for_is_the_one(to: str, decisions: list[str]) -> None:
    config = Config(Group(governance=Governance(policy=Policy(MaxBump.NONE))))
    assert (
        decisions_of(
            plans(World(fleet({"clusters/a": Version("v2.8.7")}), config, asked=UpgradeRequest(to=Version(to))))[
                "clusters/a"
            ]
        )
        == decisions
    )


def test_a_version_that_is_asked_for_and_is_not_there_concerns_all() -> None:
    with pytest.raises(ReleaseNotFound):
        plans(World(fleet({"clusters/a": Version("v2.8.7")}), asked=UpgradeRequest(to=Version("v2.8.99"))))


@pytest.mark.parametrize(("to", "subject"), [("v2.8.8", BumpKind.PATCH), ("v2.9.4", BumpKind.MINOR)])
def test_what_is_asked_for_has_the_branch_of_its_size(to: str, subject: BumpKind) -> None:
    world = World(fleet({"clusters/a": Version("v2.8.7")}), asked=UpgradeRequest(to=Version(to)))
    assert [each.bump_kind for each in plans(world)["clusters/a"].upgrades] == [subject]


# One that fails stops no other


def test_each_installation_is_decided_by_itself() -> None:
    files = fleet(dict.fromkeys(("a", "b", "c", "d"), "v2.8.8"))
    files[path_in("b")] = b"<<<<<<< HEAD\n" + files[path_in("b")]
    files[path_in("c")] = files[path_in("c")].replace(b"cpu: 1000m", b"cpu: 1500m")
    found = plans(World(files))
    errors: dict[str, list[type[FluxUpgradeError] | None]] = {
        folder: [hold.error for hold in plan.holds] for folder, plan in found.items()
    }
    assert {folder: [each.slug for each in found if each] for folder, found in errors.items()} == {
        "a": [],
        "b": ["unreadable"],
        "c": ["edit-conflict"],
        "d": [],
    }


def test_edits_may_be_given_up() -> None:
    files = fleet({"a": "v2.8.8"})
    files[path_in("a")] = files[path_in("a")].replace(b"cpu: 1000m", b"cpu: 1500m")
    world = World(files, asked=UpgradeRequest(approve=("2.9",)))
    assert decisions_of(plans(world)["a"]) == ["edit-conflict v2.9.4"]
    assert list(plans(world)["a"].tried) == [BumpKind.MINOR]
    world.config = Config(Group(governance=Governance(take_release=True)))
    assert decisions_of(plans(world)["a"]) == ["v2.9.4"]


def test_flags_change_what_is_newest_already() -> None:
    config = Config(Group(governance=Governance(policy=Policy(MaxBump.NONE), flags={"log-level": "debug"})))
    plan = plans(World(fleet({"a": "v2.9.4"}), config))["a"]
    assert decisions_of(plan) == ["v2.9.4"]
    assert plan.upgrades[0].flags == (("log-level", "info", "debug"),)
    assert decisions_of(
        plans(World({**fleet({"a": "v2.9.4"}), path_in("a"): change_of(plan.upgrades[0]).new}, config))["a"]
    ) == ["up-to-date"]


def test_without_releases_nothing_is_newer() -> None:
    assert decisions_of(plans(World(fleet({"a": "v2.8.7"}), releases=()))["a"]) == ["up-to-date"]
    assert decisions_of(plans(World(fleet({"a": "v2.8.7"}), releases=listed("v2.6.4")))["a"]) == ["up-to-date"]
