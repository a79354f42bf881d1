"""The values of steps: what to do about an upgrade, in order."""

from __future__ import annotations

from enum import IntEnum

from flux_upgrade.model.values import NamedTuple


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


class Command(IntEnum):
    """What a step is done with; how that is typed, or clicked, depends on where it is shown."""

    NONE = 0
    UPGRADE = 1
    MIGRATE = 2
    APPROVE = 3
    FLUX_MIGRATE = 4
    FLUX_VERSION = 5
    PLAN = 6
    UPGRADE_TO = 7


class Step(NamedTuple):
    stage: Stage
    what: str  # An imperative sentence, names between backticks, without a full stop
    command: Command = Command.NONE
    argument: str = ""  # Of the command: a release, or what is approved
    places: tuple[str, ...] = ()  # Lines that it is about; without markup
    clusters: tuple[str, ...] = ()  # Names of the rows that it is about
    reason: str = ""  # Why, the same for all places; it is shown once behind them
    names: tuple[str, ...] = ()  # Clusters that the command names, if it would be about others as well
    place: str = ""  # Directory of the cluster that the command is about; empty: all
    has_migrated: bool = False  # `flux migrate` ran in a step before: the command says so
