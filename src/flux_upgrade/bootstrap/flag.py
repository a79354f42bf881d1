"""What a flag of a bootstrap is: its kind, whom it fits, and what comes of it."""

from __future__ import annotations

from enum import StrEnum

from flux_upgrade.bootstrap.options import Provider, Source
from flux_upgrade.values import NamedTuple


class Kind(StrEnum):
    """What the value of a flag is."""

    BOOLEAN = "boolean"
    TEXT = "text"
    LIST = "list"
    DURATION = "duration"
    NUMBER = "number"
    CHOICE = "choice"


class Use(StrEnum):
    """What comes of a flag."""

    USED = "used"
    IGNORED = "ignored"
    """It is taken, so that flags can be copied, and means nothing here."""
    REFUSED = "refused"


class Group(StrEnum):
    """Titles of the help."""

    INSTALL = "what is installed"
    REPOSITORY = "the Git repository"
    SYNC = "what Flux reconciles"
    ACCESS = "how Flux gets at the repository"
    APP = "a GitHub App, from Flux v2.5.0 on"
    COMMITS = "commits"
    OCI = "an OCI artifact, with --source=oci"
    UNUSED = "flags of Flux without a use here"


class Flag(NamedTuple):
    """One flag, with Flux's name."""

    name: str
    meaning: str
    """Without its capital and full stop. Of one that is refused: why, and what there is instead."""
    kind: Kind = Kind.TEXT
    default: str = ""
    """As it is written on the command line."""
    since: str = ""
    """The first release that has it; empty: v2.0.0 or earlier."""
    providers: tuple[Provider, ...] = tuple(Provider)
    """For ``Source.GIT``; an artifact has no provider."""
    sources: tuple[Source, ...] = (Source.GIT,)
    choices: tuple[str, ...] = ()
    group: Group = Group.INSTALL
    short: str = ""
    """``-n``, or empty."""
    use: Use = Use.USED
    is_secret: bool = False
    """Its value is shown nowhere, and has no place in a file of the repository."""
    is_local: bool = False
    """It names a file of one machine."""

    @property
    def told(self) -> str:
        """The meaning, for help and reference."""
        match self.use:
            case Use.REFUSED:
                return f"refused: it {self.meaning}"
            case Use.IGNORED:
                return f"has no effect: {self.meaning}"
        return f"{self.meaning} (default: {self.default})" if self.default else self.meaning

    @property
    def field(self) -> str:
        """The name as that of a value."""
        return self.name.replace("-", "_")
