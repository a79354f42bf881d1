"""What was read, what the user asked for, and what becomes of each installation: values only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import islice

from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.config.config import Governance
from flux_upgrade.manifests.parts import split
from flux_upgrade.model.text import TextEdit, edited
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.pins.pin import ManifestChange, Pin, PinChange, Role
from flux_upgrade.policy.decision import Bump, BumpKind, Feedback, Hold
from flux_upgrade.policy.hold_reasons import HoldReason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.assessment.assessment import Assessment
    from flux_upgrade.impact.broken_today import BrokenToday
    from flux_upgrade.impact.migrate.result import Migrated


class UpgradeRequest(NamedTuple):
    """What the user asked of this run, beyond the config."""

    to: Version = NO_VERSION  # A tag, whatever the policy says
    approve: tuple[str, ...] = ()  # `2.9` or `v2.9.4`, or in one group or cluster: `clusters/staging=2.9+migrated`
    base: str = ""  # Branch that pull requests go into; empty: the default branch
    writes: bool = True  # False: what would be done is shown, from any checkout
    migrated: bool = False  # Whether `flux migrate` ran in the clusters, at the releases that they are at
    branch: str = ""  # Only the pull requests of the update group that has this branch; empty: all
    accept_breaks: bool = False  # What a patch over the manifest would break is accepted, in a checkout


class OnBreak(StrEnum):
    """What becomes of an upgrade after which a patch over the manifest would break something."""

    HOLD = "hold"
    DRAFT = "draft"  # Once it is approved, its pull request stays a draft until people accept that
    ACCEPT = "accept"  # It is made: the user said so


class Terms(NamedTuple):
    governance: Governance = Governance()
    feedback: Feedback = Feedback()
    to: Version = NO_VERSION  # A tag that was asked for, whatever the policy says; empty: the policy decides
    on_break: OnBreak = OnBreak.HOLD

    @property
    def value(self) -> tuple[object, ...]:
        """To be hashed: what is planned by terms of the same value is the same."""
        governance = {**self.governance._asdict(), "flags": tuple(sorted(self.governance.flags.items()))}
        return (*governance.values(), self.feedback, self.to, self.on_break)


class PlannedTarget(NamedTuple):
    """An installation, where it stands, and what governs it."""

    pin: Pin
    path: str
    terms: Terms
    blocked: Hold | None = None  # What keeps it as it is, whatever there is to upgrade to


class GroupWait(NamedTuple):
    """Groups that come before, and have not passed the release."""

    groups: tuple[str, ...]
    why: tuple[str, ...]  # A clause each
    is_ended: bool  # A user ended it with its checkbox
    is_stuck: bool = False  # Only a user can end it


class Upgrade(NamedTuple):
    """The installation can go to a release; whether it may is ``approved``."""

    bump: Bump
    change: PinChange
    flags: tuple[tuple[str, str, str], ...] = ()
    """Install flags that are to change, as was asked for: name, value before, value afterwards."""
    impact: Assessment | None = None  # What it means for the repository; None: that was not analyzed
    moved: tuple[Migrated, ...] = ()  # Files with resources that go to other versions of their APIs in the same commit
    waiting: tuple[str, ...] = ()
    """Paths of the pins that wait until it is merged, if it migrates resources and no more."""
    is_accepted: bool = True  # False: patches over the manifest would break something, and nobody has accepted that
    wait: GroupWait | None = None  # For the groups before: it stays a draft until then
    approve_with: str = ""  # For `--approve`, as in a Hold; empty: the version

    @property
    def bump_kind(self) -> BumpKind:
        return self.bump.bump_kind

    @property
    def target(self) -> Version:
        return self.bump.target

    @property
    def approved(self) -> bool:
        """False: it is shown, and waits for a person."""
        return self.bump.approved

    @property
    def waits(self) -> bool:
        """Whether it waits for the groups before."""
        return self.wait is not None and not self.wait.is_ended

    @property
    def is_stuck(self) -> bool:
        """Whether it waits for groups that cannot pass the release by themselves."""
        return self.wait is not None and self.waits and self.wait.is_stuck

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Why it waits for them, a clause each; empty: it does not."""
        return self.wait.why if self.wait is not None and self.waits else ()


class Plan(NamedTuple):
    pin: Pin
    path: str  # Relative to the repository's root
    decisions: tuple[Upgrade | Hold, ...]  # At least one
    tried: Mapping[BumpKind, ManifestChange] = {}  # What was tried and held for a conflict, to show its conflicts
    impacts: Mapping[BumpKind, Assessment] = {}  # What is known of that which is held
    broken_today: tuple[BrokenToday, ...] = ()  # What its cluster reads, and the running release refuses

    @property
    def line(self) -> int:
        """1-based: where the version stands; 0 for a manifest, which is a version throughout."""
        return self.pin.line

    @property
    def can_lead(self) -> bool:
        """Whether what is decided about it can be decided for its cluster."""
        pin = self.pin
        is_orphan = HoldReason.ORPHAN in [hold.reason for hold in self.holds]
        return pin.role is Role.INSTALLS and bool(pin.version) and pin.is_movable and not is_orphan

    @property
    def approved(self) -> Upgrade | None:
        """The upgrade that needs nobody any more; the one that goes farthest, should there be several."""
        approved = [each for each in self.upgrades if each.approved]
        return max(approved, key=lambda each: list(BumpKind).index(each.bump_kind), default=None)

    @property
    def upgrades(self) -> tuple[Upgrade, ...]:
        """Those of the decisions, patch first."""
        return tuple(each for each in self.decisions if isinstance(each, Upgrade))

    @property
    def holds(self) -> tuple[Hold, ...]:
        return tuple(each for each in self.decisions if isinstance(each, Hold))

    def impact_of(self, decision: Upgrade | Hold) -> Assessment | None:
        """Return what is known of an upgrade, or of one that is held; of a later step, that is for its turn."""
        if isinstance(decision, Upgrade):
            return decision.impact
        return self.impacts.get(decision.bump_kind) if decision.reason is not HoldReason.STEP_PENDING else None


class UpdateGroupPlan(NamedTuple):
    """The plans of installations that share their pull requests."""

    update_group: UpdateGroup
    plans: tuple[Plan, ...]  # In the order of the update group's members
    migrations: tuple[Plan, ...] = ()  # Of the files whose resources are moved before, each with one decision
    rings: tuple[str, ...] = ()  # About the groups before, ``MarkerState.rings``
    others: tuple[str, ...] = ()  # With migrations: names of the clusters that nothing is planned for

    @property
    def sets(self) -> Iterator[tuple[Plan, ...]]:
        """The same, cluster by cluster, each a set. Files that are moved before, one by one."""
        plans = iter(self.plans)
        for cluster in self.update_group.clusters:
            yield tuple(islice(plans, len(cluster.members)))
        for plan in self.migrations:
            yield (plan,)

    @property
    def moved(self) -> Iterator[str]:
        """Paths of the files whose resources are moved, before or with an upgrade."""
        yield from (plan.path for plan in self.migrations)
        yield from (file.path for plan in self.plans for each in plan.upgrades for file in each.moved)


def files_after(upgrades: Iterable[tuple[Plan, Upgrade]]) -> dict[str, bytes]:
    """What is to be written: path in the repository → content. Edits of several pins in a file are one."""
    files: dict[str, bytes] = {}
    edits: dict[str, list[TextEdit]] = {}
    contents: dict[str, bytes] = {}
    for plan, upgrade in upgrades:
        if upgrade.change.manifest is not None:
            files |= manifest_files(plan, upgrade.change.manifest)
        else:
            edits.setdefault(plan.path, []).extend(upgrade.change.replacements)
            contents[plan.path] = plan.pin.content
        for file in upgrade.moved:
            edits.setdefault(file.path, []).extend(edit for move in file.moves for edit in move.edits)
            contents[file.path] = file.content
    return files | {path: edited(contents[path], replacements) for path, replacements in edits.items()}


def manifest_files(plan: Plan, change: ManifestChange) -> dict[str, bytes]:
    """Return the files of a manifest after a change: path in the repository → content."""
    parts = plan.pin.files(plan.path)
    return split(parts, change.new) if plan.pin.parts else {plan.path: change.new}


def files_before(upgrades: Iterable[tuple[Plan, Upgrade]]) -> dict[str, bytes]:
    """What stands in the place of ``files_after`` now."""
    found: dict[str, bytes] = {}
    for plan, upgrade in upgrades:
        found |= dict(plan.pin.files(plan.path))
        found |= {file.path: file.content for file in upgrade.moved}
    return found
