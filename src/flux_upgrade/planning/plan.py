"""What is to become of each installation: values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flux_upgrade.config.values import Migrate
from flux_upgrade.model.text_edit import Replacement, edited
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.pin import Change, Found, Pin, PinChange, Resources
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.policy import Feedback, Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.impact.impact import Impact
    from flux_upgrade.impact.migrate.result import Migrated


class Migration(NamedTuple):
    """What becomes of such a file."""

    migrated: Migrated
    waiting: tuple[str, ...]
    """Paths of the installations that wait until this is merged."""

    @property
    def replacements(self) -> tuple[Replacement, ...]:
        """All of the file's."""
        return tuple(edit for move in self.migrated.moves for edit in move.edits)


class Upgrade(NamedTuple):
    """The installation can go to a release; whether it may is ``approved``."""

    candidate: Bump
    change: Change | PinChange | Migration
    flags: tuple[tuple[str, str, str], ...] = ()
    """Install flags that are to change, as was asked for: name, value before, value afterwards."""
    impact: Impact | None = None
    """What it means besides; None: nobody looked."""
    moved: tuple[Migrated, ...] = ()
    """Files with resources that go to other versions of their APIs in the same commit."""

    @property
    def subject(self) -> BumpKind:
        """What it is about."""
        return self.candidate.subject

    @property
    def target(self) -> str:
        """The release, a tag."""
        return self.candidate.target

    @property
    def approved(self) -> bool:
        """False: it is shown, and waits for a person."""
        return self.candidate.approved


class Plan(NamedTuple):
    """One installation and what is to become of it."""

    installation: Found | Resources
    path: str
    """Relative to the repository's root."""
    decisions: tuple[Upgrade | Hold, ...]
    """At least one."""
    tried: Mapping[BumpKind, Change] = {}
    """What was tried and held for a conflict, to show its conflicts."""
    impacts: Mapping[BumpKind, Impact] = {}
    """What is known of that which is held."""

    @property
    def line(self) -> int:
        """1-based: where the version stands; 0 for a manifest, which is a version throughout."""
        return self.installation.line if isinstance(self.installation, Pin) else 0

    @property
    def approved(self) -> Upgrade | None:
        """The upgrade that needs nobody any more; the one that goes farthest, should there be several."""
        return max(
            (each for each in self.upgrades if each.approved),
            key=lambda each: list(BumpKind).index(each.subject),
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


class Terms(NamedTuple):
    """What governs some installations: made once, and shared by them."""

    policy: Policy = Policy()
    feedback: Feedback = Feedback()
    flags: Mapping[str, str] = {}
    """Install flags that are to change, see ``config.Group``."""
    to: str = ""
    """A tag that was asked for, whatever the policy says; empty: the policy decides."""
    take_release: bool = False
    check_images: bool = True
    """Whether a registry other than Flux's own is asked for the target's images."""
    migrate: Migrate = Migrate.BEFORE
    ladder: bool = True
    scan: tuple[str, ...] = ()
    kubernetes: str = ""
    gates: frozenset[str] = frozenset()
    """These five: see ``config.Group``."""


def files_after(upgrades: Iterable[tuple[Plan, Upgrade]]) -> dict[str, bytes]:
    """What is to be written: path in the repository → content. Edits of several pins in a file are one."""
    files: dict[str, bytes] = {}
    edits: dict[str, list[Replacement]] = {}
    contents: dict[str, bytes] = {}
    for plan, upgrade in upgrades:
        if isinstance(upgrade.change, Change):
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


class PlannedTarget(NamedTuple):
    """An installation, where it stands, and what governs it."""

    installation: Found
    path: str
    terms: Terms
    blocked: Hold | None = None
    """What keeps it as it is, whatever there is to upgrade to."""
