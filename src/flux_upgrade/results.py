"""What came of a run's pull requests: values only."""

from __future__ import annotations

from enum import StrEnum

from flux_upgrade.decision import Hold, Subject
from flux_upgrade.errors import FluxUpgradeError
from flux_upgrade.forge import Repository
from flux_upgrade.groups import Team
from flux_upgrade.planning import TeamPlan
from flux_upgrade.proposal import Proposal
from flux_upgrade.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.void_groups import Void


class Action(StrEnum):
    """What was done about one pull request, the gravest last."""

    NONE = "none"
    UNCHANGED = "unchanged"
    """It is open, and as it should be."""
    CLOSED = "closed"
    UPDATED = "updated"
    OPENED = "opened"
    HELD = "held"
    FAILED = "failed"


class Result(NamedTuple):
    """What came of one subject of one team."""

    team: Team
    subject: Subject
    branch: str
    action: Action
    proposal: Proposal | None = None
    number: int = 0
    url: str = ""
    hold: Hold | None = None
    error: FluxUpgradeError | None = None
    warnings: tuple[str, ...] = ()
    attempted: Action = Action.NONE
    """What failed."""
    is_issue: bool = False
    """``number`` and ``url`` are those of an issue that stands in for a draft."""
    is_draft: bool = False
    """The pull request is a draft."""


class Round(NamedTuple):
    """What a run ends with."""

    repository: Repository
    plans: tuple[TeamPlan, ...]
    results: tuple[Result, ...]
    void: tuple[Void, ...] = ()
    """Groups of the config file that match nothing."""
