"""What was read, what the user asked for, and what becomes of each installation: values only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from flux_upgrade.clusters.clusters import role_of
from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.config.config import Governance
from flux_upgrade.model.text_edit import TextEdit, edited
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.pin import AnyPin, ManifestChange, Pin, PinChange, Resources, Role
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.feedback import Feedback
from flux_upgrade.policy.hold_reasons import HoldReason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.impact import Impact
    from flux_upgrade.impact.migrate.result import Migrated


class UpgradeRequest(NamedTuple):
    """What the user asked of this run, beyond the config."""

    to: str = ""
    """A tag, whatever the policy says."""
    approve: tuple[str, ...] = ()
    """``2.9`` or ``v2.9.4``."""
    base: str = ""
    """Branch that pull requests go into; empty: the default branch."""
    writes: bool = True
    """False: what would be done is shown, from any checkout."""
    migrated: bool = False
    """Whether `flux migrate` ran in the clusters, at the releases that they are at."""


class Terms(NamedTuple):
    """What some installations are planned by: made once, and shared by them."""

    governance: Governance = Governance()
    feedback: Feedback = Feedback()
    to: str = ""
    """A tag that was asked for, whatever the policy says; empty: the policy decides."""


class PlannedTarget(NamedTuple):
    """An installation, where it stands, and what governs it."""

    installation: AnyPin
    path: str
    terms: Terms
    blocked: Hold | None = None
    """What keeps it as it is, whatever there is to upgrade to."""


class Migration(NamedTuple):
    """What becomes of a file whose resources are moved to other versions of their APIs."""

    migrated: Migrated
    waiting: tuple[str, ...]
    """Paths of the installations that wait until this is merged."""

    @property
    def replacements(self) -> tuple[TextEdit, ...]:
        """All of the file's."""
        return tuple(edit for move in self.migrated.moves for edit in move.edits)


class Upgrade(NamedTuple):
    """The installation can go to a release; whether it may is ``approved``."""

    bump: Bump
    change: ManifestChange | PinChange | Migration
    flags: tuple[tuple[str, str, str], ...] = ()
    """Install flags that are to change, as was asked for: name, value before, value afterwards."""
    impact: Impact | None = None
    """What it means for the repository; None: that was not analyzed."""
    moved: tuple[Migrated, ...] = ()
    """Files with resources that go to other versions of their APIs in the same commit."""

    @property
    def bump_kind(self) -> BumpKind:
        """What it is about."""
        return self.bump.bump_kind

    @property
    def target(self) -> str:
        """The release, a tag."""
        return self.bump.target

    @property
    def approved(self) -> bool:
        """False: it is shown, and waits for a person."""
        return self.bump.approved


class Plan(NamedTuple):
    """One installation and what is to become of it."""

    installation: AnyPin | Resources
    path: str
    """Relative to the repository's root."""
    decisions: tuple[Upgrade | Hold, ...]
    """At least one."""
    tried: Mapping[BumpKind, ManifestChange] = {}
    """What was tried and held for a conflict, to show its conflicts."""
    impacts: Mapping[BumpKind, Impact] = {}
    """What is known of that which is held."""

    @property
    def line(self) -> int:
        """1-based: where the version stands; 0 for a manifest, which is a version throughout."""
        return self.installation.line if isinstance(self.installation, Pin) else 0

    @property
    def can_lead(self) -> bool:
        """Whether what is decided about it can be decided for its cluster."""
        found = self.installation
        if role_of(found) is not Role.INSTALLS or not found.version:
            return False
        if isinstance(found, Pin):
            return found.is_movable
        return all(hold.reason is not HoldReason.ORPHAN for hold in self.holds)

    @property
    def approved(self) -> Upgrade | None:
        """The upgrade that needs nobody any more; the one that goes farthest, should there be several."""
        return max(
            (each for each in self.upgrades if each.approved),
            key=lambda each: list(BumpKind).index(each.bump_kind),
            default=None,
        )

    @property
    def upgrades(self) -> tuple[Upgrade, ...]:
        """Those of the decisions, patch first."""
        return tuple(each for each in self.decisions if isinstance(each, Upgrade))

    @property
    def holds(self) -> tuple[Hold, ...]:
        """The others."""
        return tuple(each for each in self.decisions if isinstance(each, Hold))


class UpdateGroupPlan(NamedTuple):
    """The plans of installations that share their pull requests."""

    update_group: UpdateGroup
    plans: tuple[Plan, ...]
    """In the order of the update group's members."""
    migrations: tuple[Plan, ...] = ()
    """Of the files whose resources are moved before, each with one decision."""

    @property
    def sets(self) -> Iterator[tuple[Plan, ...]]:
        """The same, cluster by cluster, each a set. Files that are moved before, one by one."""
        plans = iter(self.plans)
        yield from (tuple(islice(plans, len(cluster.members))) for cluster in self.update_group.clusters)
        yield from ((plan,) for plan in self.migrations)

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
        if isinstance(upgrade.change, ManifestChange):
            files[plan.path] = upgrade.change.new
        else:
            edits.setdefault(plan.path, []).extend(upgrade.change.replacements)
            contents[plan.path] = plan.installation.content
        for file in upgrade.moved:
            edits.setdefault(file.path, []).extend(edit for move in file.moves for edit in move.edits)
            contents[file.path] = file.content
    return files | {path: edited(contents[path], replacements) for path, replacements in edits.items()}


def files_before(upgrades: Iterable[tuple[Plan, Upgrade]]) -> dict[str, bytes]:
    """What stands in the place of ``files_after`` now."""
    found: dict[str, bytes] = {}
    for plan, upgrade in upgrades:
        found[plan.path] = plan.installation.content
        found |= {file.path: file.content for file in upgrade.moved}
    return found
