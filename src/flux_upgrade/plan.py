"""What is to become of each installation: values only."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.decision import Candidate, Hold, Subject
from flux_upgrade.kinds import Change, Installation
from flux_upgrade.policy import Answers, Policy
from flux_upgrade.values import NamedTuple


class Upgrade(NamedTuple):
    """The installation can go to a release; whether it may is ``approved``."""

    candidate: Candidate
    change: Change
    flags: tuple[tuple[str, str, str], ...] = ()
    """Install flags that are to change, as was asked for: name, value before, value afterwards."""

    @property
    def subject(self) -> Subject:
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

    installation: Installation
    path: str
    """Relative to the repository's root."""
    decisions: tuple[Upgrade | Hold, ...]
    """At least one."""
    tried: Mapping[Subject, Change] = {}
    """What was tried and held for a conflict, to show its conflicts."""

    @property
    def approved(self) -> Upgrade | None:
        """The upgrade that needs nobody any more; the one that goes farthest, should there be several."""
        return max(
            (each for each in self.upgrades if each.approved),
            key=lambda each: list(Subject).index(each.subject),
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
    answers: Answers = Answers()
    flags: Mapping[str, str] = {}
    """Install flags that are to change, see ``config.Group``."""
    to: str = ""
    """A tag that was asked for, whatever the policy says; empty: the policy decides."""
    take_release: bool = False


class Subjected(NamedTuple):
    """An installation, where it stands, and what governs it."""

    installation: Installation
    path: str
    terms: Terms
    blocked: Hold | None = None
    """What keeps it as it is, whatever there is to upgrade to."""
