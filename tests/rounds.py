"""What runs end with, for tests of the reports: real plans of written releases, results as a test wants them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flows import World, fleet
from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.config.config import Group
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.forge import Repository
from flux_upgrade.pins.pin import Role
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan, UpgradeRequest
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.planning.proposal import Action, Proposal, Result, Round
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.pullrequests.propose import proposals_of
from replacing import replace

REPOSITORY = Repository("acme/fleet", "https://github.com/acme/fleet", "main", "0" * 40, "1" * 40, {}, {})


def planned(version: str = "v2.8.7", *, path: str = "", approve: Sequence[str] = (), **world: Any) -> UpdateGroupPlan:
    """The plans of one installation by itself. ``path``: reported instead of its own."""
    given = World(fleet({"clusters/staging": version}), asked=UpgradeRequest(approve=tuple(approve)), **world)
    (found,) = plan_update_groups(given.gathered())
    if not path:
        return found
    return replace(
        found,
        update_group=replace(found.update_group, slug=path, name=path),
        plans=(replace(found.plans[0], path=path),),
    )


def holding(*holds: Hold, path: str = "clusters/staging", version: str = "v2.8.7") -> UpdateGroupPlan:
    """The plans of one installation that is held."""
    team = planned(version, path=path)
    return replace(team, plans=(replace(team.plans[0], decisions=holds),))


def proposal_of(team: UpdateGroupPlan, subject: BumpKind) -> Proposal | None:
    """What is proposed for it."""
    world = World({})
    return proposals_of(team, world.config, ()).get(subject)


def result(  # noqa: PLR0913 what tests differ in
    team: UpdateGroupPlan,
    action: Action,
    subject: BumpKind = BumpKind.PATCH,
    *,
    number: int = 0,
    hold: Hold | None = None,
    error: FluxUpgradeError | None = None,
    warnings: Sequence[str] = (),
    is_issue: bool = False,
    is_draft: bool = False,
) -> Result:
    """What came of one subject."""
    kind = "issues" if is_issue else "pull"
    return Result(
        team.update_group,
        subject,
        f"flux-upgrade/{team.update_group.slug}/{subject}",
        action,
        proposal_of(team, subject),
        number,
        f"{REPOSITORY.url}/{kind}/{number}" if number else "",
        hold,
        error,
        tuple(warnings),
        is_issue=is_issue,
        is_draft=is_draft,
    )


def round_of(*teams: UpdateGroupPlan, results: Sequence[Result] = (), warnings: Sequence[str] = ()) -> Round:
    """The end of a run."""
    return Round(replace(REPOSITORY, warnings=tuple(warnings)), teams, tuple(results))


def team_of(name: str, *plans: Plan) -> UpdateGroupPlan:
    """A group with these plans, each of a cluster of its own."""
    found = ((plan.pin, plan.path) for plan in plans)
    members = (Member(each, path) for each, path in found if each.role is not Role.RESOURCES)
    clusters = tuple(Cluster(member.path, member.path, (member,)) for member in members)
    return UpdateGroupPlan(UpdateGroup(name, name, Group(name), clusters), plans)
