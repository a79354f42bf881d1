"""Plans become proposals, one for each update group and bump, and old proposals are closed with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from flows import PATH, World, fleet, listed, path_in
from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan, Upgrade, UpgradeRequest
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.planning.proposal import Proposal, ProposalContext
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from flux_upgrade.policy.semver_range import Constraint
from flux_upgrade.pullrequests.left_out import is_held
from flux_upgrade.pullrequests.propose import no_longer_needed, proposals_of
from flux_upgrade.pullrequests.text import body as pages
from flux_upgrade.pullrequests.text import commit
from memory import rendered
from pinned import base, tools
from replacing import replace

PATCH, MINOR, MAJOR, _ = BumpKind
PINS = (HoldReason.FLOATING, HoldReason.FOLLOWS, HoldReason.DRIFT)
"""Reasons of pins that wait for nobody: their cluster decides."""
ALL = Config(groups=(Group("all", ("/clusters/",)),))
CHANGE = plan_update_groups(World(fleet({"clusters/a": "v2.8.7"})).gathered())[0].plans[0].upgrades[0].change


def proposals(world: World) -> dict[BumpKind, Proposal]:
    (planned,) = plan_update_groups(world.gathered())
    return proposals_of(planned, world.config, world.asked.approve)


def targets(proposed: Proposal) -> dict[str, str]:
    return {plan.path.split("/")[1]: upgrade.target for plan, upgrade in proposed.upgrades}


def test_a_group_has_a_proposal_for_each_subject() -> None:
    found = proposals(World(fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.8"}), ALL))
    assert list(found) == [PATCH, MINOR]
    assert targets(found[PATCH]) == {"a": "v2.8.8"}
    assert targets(found[MINOR]) == {"a": "v2.9.4", "b": "v2.9.4"}
    assert [found[each].branch for each in found] == ["flux-upgrade/all/patch", "flux-upgrade/all/minor"]
    assert [found[each].is_pending for each in found] == [False, True]


def test_targets_may_differ_within_a_group() -> None:
    versions = {"clusters/a": "v2.6.3", "clusters/b": "v2.8.7", "clusters/c": "v2.9.3"}
    found = proposals(World(fleet(versions), ALL, listed("v2.6.3", "v2.6.4", "v2.8.7", "v2.8.8", "v2.9.3", "v2.9.4")))
    assert targets(found[PATCH]) == {"a": "v2.6.4", "b": "v2.8.8", "c": "v2.9.4"}
    assert found[PATCH].target == "v2.9.4"
    assert targets(found[MINOR]) == {"a": "v2.9.4", "b": "v2.9.4"}


def _texts(found: Proposal) -> tuple[str, str, str]:
    """Title, first line, and all that follows."""
    first, _, rest = pages.body(found, ProposalContext(()), commit.state_for(found, ProposalContext(()))).partition(
        "\n\n"
    )
    return commit.title(found, ProposalContext(())), first.rpartition("\n")[2], rest


def test_a_cluster_that_another_pull_request_upgrades_is_named() -> None:
    found = proposals(World(fleet({"clusters/a": "v2.8.8", "clusters/b": "v2.9.3"}), ALL))
    title, first, rest = _texts(found[MINOR])
    assert title == "Upgrade Flux to v2.9.4 in all (1 of 2 clusters)"
    assert "· 1 of 2 clusters ·" in first
    assert rest.count("`clusters/b`: v2.9.3 → v2.9.4 is a patch, which has its own pull request") == 1
    assert _texts(found[PATCH])[0] == "Upgrade Flux to v2.9.4 in all (1 of 2 clusters)"


def test_a_cluster_that_is_held_at_one_size_is_named_though_it_has_another() -> None:
    files = fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.7"})
    (planned,) = plan_update_groups(World(files, ALL).gathered())
    a, b = planned.plans
    hold = Hold(HoldReason.EDIT_CONFLICT, "you edited it", "drop the edits", None, MINOR, Version("v2.9.4"))
    b = b._replace(decisions=(*(each for each in b.upgrades if each.bump_kind is PATCH), hold))
    found = proposals_of(planned._replace(plans=(a, b)), ALL, ())
    title, first, rest = _texts(found[MINOR])
    assert title == "Upgrade Flux to v2.9.4 in all (1 of 2 clusters)"
    assert "· 1 of 2 clusters ·" in first
    assert "`clusters/b` is not in this pull request: you edited it (`edit-conflict`). Drop the edits." in rest
    assert "of 2" not in _texts(found[PATCH])[0]


def test_a_cluster_that_joins_and_is_not_approved_is_named() -> None:
    world = World(fleet({"clusters/a": "v2.8.8", "clusters/b": "v2.8.8"}), ALL)
    (planned,) = plan_update_groups(world.gathered())
    a, b = planned.plans
    a = a._replace(
        decisions=tuple(each._replace(bump=each.bump._replace(approved=True, approval="2.9")) for each in a.upgrades)
    )
    found = proposals_of(planned._replace(plans=(a, b)), ALL, ())
    assert _texts(found[MINOR])[0] == "Upgrade Flux to v2.9.4 in all (1 of 2 clusters)"
    assert "`clusters/b`: v2.9.4 needs approval" in _texts(found[MINOR])[2]


def test_a_cluster_that_is_there_already_is_not_left_out() -> None:
    found = proposals(World(fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.8", "clusters/c": "v2.9.4"}), ALL))
    assert _texts(found[PATCH])[0] == "Upgrade Flux to v2.8.8 in all"
    assert _texts(found[MINOR])[0] == "Upgrade Flux to v2.9.4 in all"


@pytest.mark.parametrize(
    ("approve", "is_asked", "is_pending", "approval"),
    [
        ((), False, True, ""),
        (("2.9",), True, False, "2.9"),
        (("v2.9.3",), True, False, "v2.9.3"),
        (("2.7",), False, True, ""),
        (("v2.8.8",), False, True, ""),
    ],
)
def test_a_run_may_approve(approve: Sequence[str], *, is_asked: bool, is_pending: bool, approval: str) -> None:
    found = proposals(World(fleet({"clusters/a": "v2.8.8"}), asked=UpgradeRequest(approve=tuple(approve))))[MINOR]
    assert (found.is_asked, found.is_pending, found.approval) == (is_asked, is_pending, approval)


@pytest.mark.parametrize(("approve", "is_asked"), [("2.9", True), ("v2.9.4", True), ("2.8", False)])
def test_a_run_may_approve_a_patch_by_its_minor(approve: str, *, is_asked: bool) -> None:
    config = Config(Group(governance=Governance(policy=Policy(MaxBump.NONE))))
    world = World(fleet({"clusters/a": "v2.9.3"}), config, asked=UpgradeRequest(approve=(approve,)))
    found = proposals(world)[PATCH]
    approval = "v2.9.4" if is_asked else ""
    assert (found.is_asked, found.is_pending, found.approval) == (is_asked, not is_asked, approval)


def test_a_held_member_is_reported() -> None:
    files = fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.7", "clusters/c": "v2.9.4"}, orphans=["clusters/b"])
    found = proposals(World(files, ALL))
    assert [[plan.path for plan in each.held] for each in found.values()] == [[path_in("clusters/b")]] * 2


@pytest.mark.parametrize(
    ("reason", "holds"),
    [
        (reason, reason not in ("up-to-date", "needs-approval", "cooling-down", "out-of-range", *PINS))
        for reason in HoldReason
    ],
)  # fmt: skip
def test_a_member_that_waits_is_as_it_should_be(reason: HoldReason, *, holds: bool) -> None:
    assert is_held(_plan(Hold(reason))) is holds


def test_an_edited_member_is_held_in_the_proposal_of_its_conflict() -> None:
    files = fleet({"clusters/a": "v2.8.8", "clusters/b": "v2.8.8"})
    edited = rendered(InstallOptions("v2.8.8")).replace("--log-level=info", "--log-level=trace")
    files[path_in("clusters/b")] = edited.replace("cpu: 1000m", "cpu: 1500m").encode()
    found = proposals(World(files, ALL))
    assert targets(found[MINOR]) == {"a": "v2.9.4"}
    assert [plan.path for plan in found[MINOR].held] == [path_in("clusters/b")]


def test_branches_begin_as_the_config_says() -> None:
    config = Config(branch_prefix="bots/flux-")
    assert proposals(World(fleet({"clusters/a": "v2.8.8"}), config))[MINOR].branch == "bots/flux-clusters.a/minor"


# What is no longer needed


def _plan(*decisions: Upgrade | Hold) -> Plan:
    world = World(fleet({"clusters/a": "v2.8.7"}))
    installation = world.gathered().update_groups[0].members[0].pin
    return Plan(installation, PATH, decisions)


def hold(reason: HoldReason, subject: BumpKind = PATCH, target: str = "") -> Hold:
    return Hold(reason, "detail", bump_kind=subject, target=Version(target))


def upgrade(subject: BumpKind, target: str, *, approved: bool = True) -> Upgrade:
    return Upgrade(Bump(subject, Version(target), approved), CHANGE)


def why_closed(subject: BumpKind, *decisions: Upgrade | Hold) -> str:
    """Why a pull request about ``subject`` would be closed; empty: it stays."""
    plan = _plan(*decisions)
    found = no_longer_needed(UpdateGroupPlan(UpdateGroup("a", "a", Group(), ()), (plan,)), subject)
    if found is None:
        return ""
    assert found[1].endswith(".")
    return found[0]


PASSES = tuple(
    reason
    for reason in HoldReason
    if reason not in (HoldReason.UP_TO_DATE, HoldReason.NEEDS_APPROVAL, HoldReason.OUT_OF_RANGE, *PINS)
)
"""What may pass, so that a pull request is kept."""


@pytest.mark.parametrize("reason", [HoldReason.CLOSED_BY_HUMAN, HoldReason.REVERTED])
def test_manifests_are_not_moved_for_what_was_turned_down(reason: HoldReason) -> None:
    assert why_closed(BumpKind.MIGRATION, hold(reason, MINOR, "v2.9.4")) == "done"


@pytest.mark.parametrize(
    ("reason", "subject"),
    [
        (reason, subject)
        for reason in PASSES
        for subject in BumpKind
        if subject is not BumpKind.MIGRATION or reason not in (HoldReason.CLOSED_BY_HUMAN, HoldReason.REVERTED)
    ],
)
def test_what_is_held_for_a_while_is_kept(reason: HoldReason, subject: BumpKind) -> None:
    assert why_closed(subject, hold(reason, subject, "v2.9.4")) == ""
    # A hold that names no release is about everything.
    assert why_closed(subject, hold(reason)) == ""


@pytest.mark.parametrize(
    ("proposed", "held", "why"),
    [
        ("v2.8.7", "v2.8.8", "done"),
        # It may change flags.
        ("v2.8.7", "v2.8.7", ""),
        ("v2.8.8", "v2.8.9", ""),
    ],
)
@pytest.mark.parametrize("reason", PASSES)
def test_a_hold_of_a_later_patch_does_not_keep_one_that_runs(
    reason: HoldReason, proposed: str, held: str, why: str
) -> None:
    planned = UpdateGroupPlan(UpdateGroup("a", "a", Group(), ()), (_plan(hold(reason, PATCH, held)),))
    found = no_longer_needed(planned, PATCH, Version(proposed))
    assert (found[0] if found else "") == why


@pytest.mark.parametrize("reason", PASSES)
def test_a_hold_of_another_subject_keeps_nothing(reason: HoldReason) -> None:
    assert why_closed(PATCH, hold(reason, MINOR, "v2.9.4")) == "done"
    assert why_closed(MINOR, hold(reason, PATCH, "v2.8.8")) == "done"


@pytest.mark.parametrize(
    ("subject", "decisions", "why"),
    [
        (PATCH, [hold(HoldReason.UP_TO_DATE)], "done"),
        (MINOR, [hold(HoldReason.UP_TO_DATE)], "done"),
        (PATCH, [], "done"),
        (PATCH, [upgrade(MINOR, "v2.9.4")], "superseded"),
        (MINOR, [upgrade(MAJOR, "v3.0.0")], "superseded"),
        (PATCH, [upgrade(MINOR, "v2.9.4", approved=False)], "done"),
        (MINOR, [hold(HoldReason.OUT_OF_RANGE, MINOR, "v2.9.4")], "out-of-range"),
        (MINOR, [hold(HoldReason.NEEDS_APPROVAL, MINOR, "v2.9.4")], "summary"),
        (PATCH, [hold(HoldReason.NEEDS_APPROVAL, PATCH, "v2.8.8")], "summary"),
        (PATCH, [hold(HoldReason.NEEDS_APPROVAL, MINOR, "v2.9.4")], "done"),
        (MINOR, [hold(HoldReason.COOLING_DOWN, MINOR, "v2.9.4"), upgrade(PATCH, "v2.8.8")], ""),
        (MINOR, [hold(HoldReason.CLOSED_BY_HUMAN, MINOR, "v2.9.4")], ""),
    ],
)
def test_why_one_is_closed(subject: BumpKind, decisions: list[Upgrade | Hold], why: str) -> None:
    assert why_closed(subject, *decisions) == why


@pytest.mark.parametrize(
    ("subject", "decisions", "why"),
    [
        # A patch does not hold what a minor would have brought.
        (MINOR, [hold(HoldReason.OUT_OF_RANGE, MINOR, "v2.9.4"), upgrade(PATCH, "v2.8.8")], "out-of-range"),
        (MINOR, [hold(HoldReason.NEEDS_APPROVAL, MINOR, "v2.9.4"), upgrade(PATCH, "v2.8.8")], "summary"),
        # The patch is there; that the range keeps a minor out is another matter.
        (PATCH, [hold(HoldReason.OUT_OF_RANGE, MINOR, "v2.9.4")], "done"),
    ],
)
def test_the_reason_is_the_one_of_the_subject(subject: BumpKind, decisions: list[Upgrade | Hold], why: str) -> None:
    assert why_closed(subject, *decisions) == why


def test_a_group_is_kept_for_one_member() -> None:
    plans = (_plan(hold(HoldReason.UP_TO_DATE)), _plan(hold(HoldReason.UNREADABLE)))
    team = UpdateGroup("all", "all", ALL.groups[0], ())
    assert no_longer_needed(UpdateGroupPlan(team, plans), PATCH) is None
    assert no_longer_needed(UpdateGroupPlan(team, plans[:1]), PATCH) is not None


def test_a_range_that_was_narrowed_ends_a_proposal() -> None:
    group = Group(governance=Governance(policy=Policy(MaxBump.MINOR, Constraint("~2.8"))))
    (planned,) = plan_update_groups(World(fleet({"clusters/a": "v2.8.8"}), Config(group)).gathered())
    found = no_longer_needed(planned, MINOR)
    assert found is not None
    assert found[0] == "out-of-range"
    assert no_longer_needed(replace(planned, plans=()), MINOR) is not None


@pytest.mark.parametrize(
    ("target", "listed", "why"),
    [
        ("v2.8.7", {"v2.8.7"}, "done"),
        # Something else is in the way, of another subject: what is proposed is not there yet.
        ("v2.8.8", {"v2.8.7", "v2.8.8"}, ""),
        ("v2.8.9", {"v2.8.7", "v2.8.8"}, "withdrawn"),
    ],
)
def test_it_is_done_when_it_is_there(target: str, listed: set[str], why: str) -> None:
    team = UpdateGroupPlan(
        UpdateGroup("a", "a", Group(), ()), (_plan(hold(HoldReason.EDIT_CONFLICT, MINOR, "v2.9.4")),)
    )
    found = no_longer_needed(team, PATCH, Version(target), listed)
    assert (found[0] if found else "") == why


BASE, TOOLS = "clusters/a/base/kustomization.yaml", ".tool-versions"


@pytest.mark.parametrize(
    "pins",
    [
        pytest.param({BASE: base("main")}, id="it-follows-a-branch"),
        pytest.param({TOOLS: tools("ref:main")}, id="a-cli-of-an-unknown-version"),
        pytest.param({TOOLS: tools("2.8.7")}, id="a-cli-within-one-minor"),
        pytest.param({BASE: base("v2.9.4")}, id="it-is-there"),
    ],
)
def test_what_moves_nowhere_keeps_no_proposal(pins: Mapping[str, str]) -> None:
    files = fleet({"clusters/a": "v2.9.4"}) | {path: text.encode() for path, text in pins.items()}
    (planned,) = plan_update_groups(World(files).gathered())
    found = no_longer_needed(planned, MINOR, Version("v2.9.4"), {Version("v2.9.4")})
    assert found is not None
    assert found[0] == "done"


def test_a_cluster_of_an_unknown_version_keeps_its_proposal() -> None:
    files = fleet({"clusters/a": "v2.9.4"}) | {BASE: base("${FLUX}").encode()}
    (planned,) = plan_update_groups(World(files).gathered())
    assert no_longer_needed(planned, MINOR, Version("v2.9.4"), {Version("v2.9.4")}) is None


def test_who_is_ahead_keeps_no_proposal_that_another_holds() -> None:
    files = fleet({"clusters/a": "v2.8.7"}) | {BASE: base("v2.9.4").encode()}
    (planned,) = plan_update_groups(
        World(files, Config(Group(governance=Governance(policy=Policy(MaxBump.MINOR))))).gathered()
    )
    found = no_longer_needed(planned, PATCH, Version("v2.8.8"), {Version("v2.8.8")})
    assert found is not None
    assert found[0] == "superseded"


@pytest.mark.parametrize(
    ("given", "approval"),
    [(("2.9", "2.10"), "2.10"), (("2.9", "v2.10.1"), "v2.10.1"), (("", "2.9"), "2.9"), (("", ""), "")],
)
def test_of_several_approvals_the_highest_lasts(given: tuple[str, ...], approval: str) -> None:
    world = World(fleet({"clusters/a": "v2.8.8"}))
    (planned,) = plan_update_groups(world.gathered())
    (plan,) = planned.plans
    upgrades = tuple(Upgrade(Bump(MINOR, Version("v2.9.4"), approved=True, approval=each), CHANGE) for each in given)
    plans = tuple(plan._replace(decisions=(each,)) for each in upgrades)
    found = proposals_of(planned._replace(plans=plans), world.config, ())[MINOR]
    assert found.approval == approval
