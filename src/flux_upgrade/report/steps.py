"""What to do next, and what else to know: values, the same in text and in Markdown."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Stage(IntEnum):
    """In which order steps are taken."""

    BEFORE_READY = 0
    READY = 1
    AFTER_READY = 2
    PREPARE = 3
    MIGRATE = 4
    RECONCILE = 5
    FLUX_MIGRATE = 6
    CHECK = 7
    APPROVE = 8
    AFTER = 9
    UNBLOCK = 10


class Command(IntEnum):
    """What a step is done with; how that is typed, or clicked, depends on where it is shown."""

    NONE = 0
    UPGRADE = 1
    MIGRATE = 2
    APPROVE = 3
    FLUX_MIGRATE = 4


class Step(NamedTuple):
    stage: Stage
    what: str  # An imperative sentence, names between backticks, without a full stop
    command: Command = Command.NONE
    argument: str = ""  # Of the command: a release, or what is approved
    places: tuple[str, ...] = ()  # Lines that it is about; without markup
    clusters: tuple[str, ...] = ()  # Names of the rows that it is about
    reason: str = ""  # Why, the same for all places; it is shown once behind them


class Remark(NamedTuple):
    """Something that goes on working, and is worth a look."""

    what: str  # A sentence
    places: tuple[str, ...]
