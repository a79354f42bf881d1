"""What one pull request proposes: a kind of bump, for an installation or for an update group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.config.config import Group
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan, Upgrade
from flux_upgrade.policy.decision import BumpKind, Hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.assessment.assessment import Assessment
    from flux_upgrade.clusters.known import WithoutEffect
    from flux_upgrade.clusters.void_groups import Void
    from flux_upgrade.model.forge import Repository


class Proposal(NamedTuple):
    """Everything that a pull request is made of; pure data, the same every day."""

    slug: str  # Of the group, or of the one installation: as it stands in the branch's name
    name: str  # For people: the group's name, or the folder of the one installation
    group: Group
    bump_kind: BumpKind
    branch: str
    upgrades: tuple[tuple[Plan, Upgrade], ...]  # At least one
    is_asked: bool = False  # This run approves it: the user asked for that
    drifting: tuple[Cluster, ...] = ()  # Clusters of the group whose pins disagree
    held: tuple[Plan, ...] = ()  # Installations of the group that stay as they are, and not because they are up to date
    elsewhere: tuple[Plan, ...] = ()  # One of each cluster that is older, and goes on in another pull request or waits
    clusters: tuple[int, int] = (0, 0)  # How many it upgrades, and how many with those that it leaves out
    waits_for_schedule: bool = False  # Its draft becomes ready once the schedule is open
    rings: tuple[str, ...] = ()  # About the groups before, ``MarkerState.rings``

    @property
    def target(self) -> Version:
        """The highest release of those that it proposes (they differ where the installations do)."""
        return max(upgrade.target for _, upgrade in self.upgrades)

    @property
    def approval(self) -> str:
        """What a person approved, ``2.9`` or ``v2.9.4``; empty where the policy needs nobody."""
        given = [upgrade.bump.approval for _, upgrade in self.upgrades if upgrade.bump.approval and not self.is_pending]
        # 2.10 is more than 2.9: by the first version that an approval is about.
        return max(given, key=lambda each: Version(each if each.startswith("v") else f"v{each}.0"), default="")

    @property
    def migrates_at(self) -> tuple[str, ...]:
        """The releases at which people are to run `flux migrate`, tags; none where they need not.

        That is the first step once it is merged, if there are several; else the release that is left.
        """
        return tuple(sorted({tag for tag, _ in self._migrated()}, key=Version))

    @property
    def is_migrated(self) -> bool:
        """Whether people have said that it ran in each of the clusters."""
        return all(
            tag in impact.migrated and (impact.upgrade_path or not impact.has_to_migrate)
            for tag, impact in self._migrated()
        )

    def _migrated(self) -> Iterator[tuple[str, Assessment]]:
        for plan, upgrade in self.upgrades:
            impact, current = upgrade.impact, plan.pin.version
            if impact is None or impact.by_operator:
                continue
            if impact.upgrade_path:
                yield upgrade.target, impact
            elif impact.stored.refused or impact.has_to_migrate or current in impact.migrated:
                yield current, impact  # the box stays once it is ticked

    @property
    def is_draft(self) -> bool:
        """Whether it must not be merged yet: it waits, or patches would break something."""
        waits = self.is_pending or self.waits_for_schedule
        return waits or not all(each.is_accepted and not each.waits for _, each in self.upgrades)

    @property
    def is_pending(self) -> bool:
        """Whether a person has to approve it first."""
        return not all(upgrade.approved for _, upgrade in self.upgrades)


class RunDetails(NamedTuple):
    """What a run knows of itself."""

    approve_command: str = "flux-upgrade upgrade --pull-request --approve="
    run_url: str = ""  # Of the workflow's run, for a browser
    now: Callable[[], float] = lambda: 0.0  # Epoch seconds


class ProposalContext(NamedTuple):
    """Facts about the repository and the run that the text of a pull request shows."""

    releases: tuple[Release, ...]  # All that the source lists, with their notes
    remarks: tuple[str, ...] = ()
    """Markdown, each a paragraph: other writers, and the rule to paste that keeps them off."""
    conventional: str = ""  # `chore(deps)` or the like where the history uses conventional commits; else empty
    approve_command: str = ""
    """``gh workflow run flux-upgrade.yaml -f approve=``, the version is appended; empty: unknown."""
    waits_for_checks: bool = False
    """The token is GITHUB_TOKEN, whose pull requests run no workflows until a person lets them."""
    is_enterprise_server: bool = False  # It has no button that starts the checks
    config: str = ""  # `Config.name`
    run_url: str = ""  # Of the run, for the status alone: texts are the same every day
    is_outside: bool = False  # The group's schedule is closed: nothing is made ready or merged by itself
    limit: int = 65_536  # Characters that the forge takes in a body (GitHub: 65,536)


class Action(StrEnum):
    """What was done about one pull request, the most severe last."""

    NONE = "none"
    UNCHANGED = "unchanged"  # It is open, and as it should be
    CLOSED = "closed"
    UPDATED = "updated"
    OPENED = "opened"
    HELD = "held"
    FAILED = "failed"


class Result(NamedTuple):
    update_group: UpdateGroup
    bump_kind: BumpKind
    branch: str
    action: Action
    proposal: Proposal | None = None
    number: int = 0
    url: str = ""
    hold: Hold | None = None
    error: FluxUpgradeError | None = None
    warnings: tuple[str, ...] = ()
    attempted: Action = Action.NONE  # What failed
    is_issue: bool = False  # `number` and `url` are those of an issue that stands in for a draft
    is_draft: bool = False  # The pull request is a draft

    @property
    def is_waiting(self) -> bool:
        """Whether it is held for what passes without anybody's doing."""
        return self.action is Action.HELD and self.hold is not None and self.hold.reason.effect.is_wait


class DashboardResult(NamedTuple):
    action: Action
    url: str  # Empty where a run that writes nothing would open it


class Round(NamedTuple):
    repository: Repository
    plans: tuple[UpdateGroupPlan, ...]
    results: tuple[Result, ...]
    void: tuple[Void | WithoutEffect, ...] = ()  # Parts of the config file that have no effect
    branch: str = ""  # The run was only about the update group that has this branch; empty: about all
    errors: tuple[FluxUpgradeError, ...] = ()  # What ended it early, and belongs to no pull request
    dashboard: DashboardResult | None = None  # None: there is none
    lacks_flux: bool = False  # The whole repository was read, and has no Flux
