"""Versions of Flux: tags with a leading ``v``, ordered by semver's precedence.

``is_tag`` and ``precedence`` are the rules of semver.org, 2.0.0, without the
library: ``render`` from a folder pays for every import, and needs no more.
Decisions compare ``Version``, which is the library's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import total_ordering

from flux_upgrade.model.values import NamedTuple


def minor_of(tag: str) -> str:
    """``v2.9.4`` → ``2.9``."""
    return ".".join(tag.removeprefix("v").split(".")[:2])


_LONGEST = 64
_DIGITS = 9

Precedence = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


def _is_number(text: str) -> bool:
    return text.isdigit() and len(text) <= _DIGITS and (text == "0" or text[0] != "0")


def _is_identifier(text: str) -> bool:
    return text.replace("-", "x").isalnum()


def is_tag(text: str) -> bool:
    """Whether ``text`` is ``v`` and a semantic version, as Flux names its releases."""
    if not text.startswith("v") or not text.isascii() or len(text) > _LONGEST:
        return False
    rest, plus, build = text[1:].partition("+")
    core, dash, pre = rest.partition("-")
    numbers = core.split(".")
    return (
        len(numbers) == len(("major", "minor", "patch"))
        and all(map(_is_number, numbers))
        and (not plus or all(map(_is_identifier, build.split("."))))
        and (
            not dash or all(_is_number(i) or (_is_identifier(i) and not i.isdigit()) for i in pre.split("."))
        )
    )


def precedence(tag: str) -> Precedence:
    """The sort key of a tag for which ``is_tag`` holds (semver.org, 2.0.0, section 11)."""
    core, dash, pre = tag[1:].partition("+")[0].partition("-")
    major, minor, patch = map(int, core.split("."))
    identifiers = tuple(
        (not i.isdigit(), int(i) if i.isdigit() else 0, i) for i in (pre.split(".") if dash else ())
    )
    return major, minor, patch, not dash, identifiers


@total_ordering
class Version:
    """One release's version. The semver library compares; this class keeps the ``v``."""

    def __init__(self, text: str) -> None:
        import semver  # late: `render` of a known release needs no order

        self._semver = semver.Version.parse(text)

    @classmethod
    def parse(cls, tag: str) -> Version | None:
        """None where ``tag`` is not ``v`` followed by a semantic version."""
        return cls(tag.removeprefix("v")) if is_tag(tag) else None

    @property
    def major(self) -> int:
        """The first number."""
        return self._semver.major

    @property
    def minor(self) -> str:
        """The first two: ``2.9``."""
        return f"{self._semver.major}.{self._semver.minor}"

    @property
    def numbers(self) -> tuple[int, int, int]:
        """All three."""
        return self._semver.major, self._semver.minor, self._semver.patch

    @property
    def prerelease(self) -> str:
        """``rc.1``; empty for a stable version."""
        return self._semver.prerelease or ""

    @property
    def tag(self) -> str:
        """``v2.9.4``, with what the version has besides."""
        return f"v{self._semver}"

    def __str__(self) -> str:
        return self.tag

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._semver == other._semver

    def __lt__(self, other: Version) -> bool:
        return self._semver < other._semver

    def __hash__(self) -> int:
        return hash(self._semver)


class Release(NamedTuple):
    """One Flux release as its source lists it."""

    tag: str
    """The Git tag, with its leading ``v``."""
    prerelease: bool = False
    published_at: str = ""
    """RFC 3339, UTC; empty where the source does not tell."""
    notes: str = ""
    """The release notes, Markdown of anybody's; empty where the source has none."""


class ReleaseManifests(NamedTuple):
    """What a release's ``manifests.tar.gz`` holds."""

    tag: str
    files: Mapping[str, str]
    """File name (``source-controller.yaml``, ``rbac.yaml`` …) → text."""
    verified: bool
    """False where the release publishes no checksum for its manifests (before v0.25.3)."""

    @property
    def components(self) -> tuple[str, ...]:
        """The controllers that the release ships, in alphabetical order."""
        controllers = self.files.keys() - {"rbac.yaml", "policies.yaml"}
        return tuple(sorted(name.removesuffix(".yaml") for name in controllers))
