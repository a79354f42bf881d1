"""Entries of the key ``known`` of the config file that count for a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.config.config import Config, Known, match
from flux_upgrade.model.text import enumeration
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.pin import Role


class WithoutEffect(NamedTuple):
    """An entry that does not count."""

    message: str
    remedy: str = "correct the entry, or remove it"

    @property
    def text(self) -> str:
        return f"{self.message}\n{self.remedy}"


def known_of(cluster: Cluster, entries: Sequence[Known]) -> tuple[Known, ...]:
    """Return the entries about a cluster that count for the release that it runs."""
    return tuple(entry for entry in entries if any(_counts(entry, member) for member in cluster.members))


def void_entries(config: Config, members: Sequence[Member]) -> Iterator[WithoutEffect]:
    """Yield the entries whose day is past, or that are about none of ``members``, which are all of the repository."""
    for entry in config.lapsed:
        yield WithoutEffect(f"{entry.place}: this entry of `known` counted until {entry.until}")
    for entry in config.known:
        if not any(_is_about(entry, member) for member in members):
            yield WithoutEffect(f"{entry.place}: this entry of `known` matches no file that installs Flux")


def with_other_releases(config: Config, members: Sequence[Member]) -> Iterator[WithoutEffect]:
    """Yield the entries that count for another release than their clusters run."""
    for entry in config.known:
        about = [member for member in members if _is_about(entry, member)]
        if about and not any(_counts(entry, member) for member in about):
            releases = enumeration(sorted({member.pin.version or "an unknown release" for member in about}))
            said = f"this entry of `known` counts for v{entry.release}, and the clusters run {releases}"
            yield WithoutEffect(f"{entry.place}: {said}")


def _counts(entry: Known, member: Member) -> bool:
    return _is_about(entry, member) and member.pin.version.minor == entry.release


def _is_about(entry: Known, member: Member) -> bool:
    return member.pin.role is Role.INSTALLS and match(entry.paths, member.path)
