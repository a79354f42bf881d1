"""Versions of Flux: tags with a leading ``v``, ordered by semver's precedence."""

from __future__ import annotations

import re
from functools import total_ordering

_TAG = re.compile(r"v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)")


@total_ordering
class Version:
    """One release's version. The semver library compares; this class keeps the ``v``."""

    def __init__(self, text: str) -> None:
        import semver  # late: `render` of a known release needs no order

        self._semver = semver.Version.parse(text)

    @classmethod
    def parse(cls, tag: str) -> Version | None:
        """None where ``tag`` is not ``v`` followed by a semantic version."""
        match = _TAG.fullmatch(tag)
        if match is None:
            return None
        try:
            return cls(match[1])
        except ValueError:
            return None

    @property
    def major(self) -> int:
        """The first number."""
        return self._semver.major

    @property
    def minor(self) -> int:
        """The second number."""
        return self._semver.minor

    @property
    def prerelease(self) -> str:
        """``rc.1``; empty for a stable version."""
        return self._semver.prerelease or ""

    def __str__(self) -> str:
        return f"v{self._semver}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._semver == other._semver

    def __lt__(self, other: Version) -> bool:
        return self._semver < other._semver

    def __hash__(self) -> int:
        return hash(self._semver)
