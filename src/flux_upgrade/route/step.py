"""The values of a route: steps, who takes them, what they wait for, and what is true afterwards."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.findings.finding import Finding
    from flux_upgrade.impact.impact import Refused


class Stage(IntEnum):
    """In which order steps are taken."""

    BEFORE_READY = 0
    READY = 1
    MERGE = 2
    AFTER_READY = 3
    ROLLOUT = 4
    PREPARE = 5
    MIGRATE = 6
    RECONCILE = 7
    FLUX_MIGRATE = 8
    CHECK = 9
    APPROVE = 10
    AFTER = 11
    THEN = 12
    UNBLOCK = 13
    WAIT = 14


class Task(StrEnum):
    """The deed. How to type, click or word it depends on the report."""

    CHECK_RELEASE = "check-release"
    CHECK_FLUX_INSTANCE = "check-flux-instance"
    FLUX_MIGRATE = "flux-migrate"
    CHECK_FLUX_MIGRATE = "check-flux-migrate"  # Run it if it never ran: nothing shows whether it did
    UPGRADE_IN_BETWEEN = "upgrade-in-between"  # `flux migrate` at the current release is not enough
    FIX = "fix"  # A finding: something would fail, or may
    REVIEW = "review"  # A finding: it keeps working
    FINISH = "finish"  # Besides the change of a version reference, such as a signature
    MIGRATE = "migrate"
    MERGE = "merge"
    UPGRADE = "upgrade"
    UPGRADE_TO = "upgrade-to"  # Another release than the one that was asked for
    APPROVE = "approve"
    RENDER = "render"
    PLAN = "plan"
    UNBLOCK = "unblock"
    WAIT = "wait"


class Actor(StrEnum):
    """The one that takes a step."""

    YOU = "you"
    FLUX_UPGRADE = "flux-upgrade"
    FLUX = "flux"
    TIME = "time"


class Need(StrEnum):
    """A condition that a step waits for."""

    STEP = "step"  # The steps before, of the same clusters
    MERGE = "merge"
    RECONCILIATION = "reconciliation"
    DATE = "date"


class Step(NamedTuple):
    stage: Stage
    task: Task
    sentence: str  # An imperative sentence, names between backticks, without a full stop
    by: Actor = Actor.YOU
    needs: tuple[Need, ...] = ()
    afterwards: str = ""  # A clause that is true once the step is taken
    argument: str = ""  # Of the command: a release, or what is approved
    way: str = ""  # The way to take it, such as `merge #1`
    link: str = ""  # Address of the page on which it is taken; empty: there is none
    places: tuple[str, ...] = ()  # Lines that it is about; without markup
    clusters: tuple[str, ...] = ()  # Names of the rows that it is about
    reason: str = ""  # Why, the same for all places; it is shown once behind them
    names: tuple[str, ...] = ()  # Clusters that the command names, if it would be about others as well
    place: str = ""  # Directory of the cluster, or the file, that the command is about; empty: all
    flags: tuple[str, ...] = ()  # Of the command
    has_migrated: bool | None = False  # `flux migrate` ran in a step before, and the command says so; None: unknown
    finding: Finding | None = None  # To be fixed or reviewed
    refused: tuple[Refused, ...] = ()  # Stored versions that make it necessary

    @property
    def kind(self) -> Step:
        """Return what is the same for all clusters that it is about."""
        way, link = self.way, self.link
        return Step(
            self.stage,
            self.task,
            self.sentence,
            self.by,
            argument=self.argument,
            way=way,
            link=link,
            place=self.place,
            flags=self.flags,
        )
