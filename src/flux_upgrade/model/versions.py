"""Versions of Flux: tags with a leading ``v``, ordered by semver's precedence.

The semver library compares, and is imported when two versions are compared for
the first time: ``render`` of a known release pays for every import, and compares none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import semver

_LONGEST = 64
_NUMBER = r"(?:0|[1-9][0-9]{0,8})"
_PRE = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD = "[0-9A-Za-z-]+"
_TAG = re.compile(rf"v{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRE}(?:\.{_PRE})*)?(?:\+{_BUILD}(?:\.{_BUILD})*)?")


def is_tag(text: str) -> bool:
    """Whether ``text`` is ``v`` and a semantic version (semver.org, 2.0.0), as Flux names its releases."""
    return len(text) <= _LONGEST and _TAG.fullmatch(text) is not None


@cache
def _parsed(tag: str) -> semver.Version:
    import semver

    return semver.Version.parse(tag[1:])


class Version(str):
    """A release's tag, ``v2.9.4``, in the order of semver (semver.org, 2.0.0, section 11).

    It is the text that it came from, and equal to it; ``parse`` makes one of any text. Build
    metadata does not count in the order.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Version | None:
        """None where ``text`` is not ``v`` followed by a semantic version."""
        return cls(text) if is_tag(text) else None

    @property
    def numbers(self) -> tuple[int, int, int]:
        major, minor, patch = map(int, self[1:].partition("+")[0].partition("-")[0].split("."))
        return major, minor, patch

    @property
    def minor(self) -> str:
        """The release line: ``2.9``."""
        return ".".join(self.removeprefix("v").split(".")[:2])

    @property
    def bare(self) -> str:
        """Without the ``v``, as Helm and most tools write it: ``2.9.4``."""
        return self[1:]

    @property
    def is_flux_2(self) -> bool:
        return self.startswith("v2.")

    @property
    def is_prerelease(self) -> bool:
        return "-" in self.partition("+")[0]

    def __lt__(self, other: str) -> bool:
        return _parsed(self) < _parsed(other)

    def __le__(self, other: str) -> bool:
        return _parsed(self) <= _parsed(other)

    def __gt__(self, other: str) -> bool:
        return _parsed(self) > _parsed(other)

    def __ge__(self, other: str) -> bool:
        return _parsed(self) >= _parsed(other)


NO_VERSION = Version("")  # Where there is none, or it is unknown: the empty text, which stands in no order


class Release(NamedTuple):
    """One Flux release as its source lists it."""

    tag: Version
    prerelease: bool = False
    published_at: str = ""  # RFC 3339, UTC; empty where the source does not tell
    notes: str = ""  # The release notes, Markdown of anybody's; empty where the source has none


class ReleaseManifests(NamedTuple):
    """What a release's ``manifests.tar.gz`` holds."""

    tag: str
    files: Mapping[str, str]  # File name (`source-controller.yaml`, `rbac.yaml` …) → text
    verified: bool  # False where the release publishes no checksum for its manifests (before v0.25.3)

    @property
    def components(self) -> tuple[str, ...]:
        """The controllers that the release ships, in alphabetical order."""
        return tuple(sorted({name.removesuffix(".yaml") for name in self.files} - {"rbac", "policies"}))
