"""Where a text names a version of one of Flux's APIs, whatever kind of text it is."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from functools import cache

from flux_upgrade.values import NamedTuple

_VERSION = r"v\d+(?:(?:alpha|beta)\d+)?(?![\w-]|\.\d)"
"""https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/"""
_PUT_IN = (
    r"\w{0,20}(?:\$\{[^}\s]{1,80}\}|\$\([^)\s]{1,80}\)|\$[A-Za-z_]\w{0,80}"
    r"|\{\{.{1,80}?\}\}|<<.{1,80}?>>|<%.{1,80}?%>)\w{0,20}"
)
"""A version that something else puts there: Flux, kustomize, Helm, a ResourceSet, ERB."""
_VERSION_KEY = re.compile(r"""version(?<![\w./-]version)\\?["']?\s*[:=]\s*[^\w\s]*v""")

_BEFORE = re.compile(r"(?:\A|[^\w.-]|\\[nrt])\Z", re.ASCII)
"""In JSON, what stands before a group may be the end of a line break's escape."""

is_version = re.compile(_VERSION).fullmatch


class Mention(NamedTuple):
    """``<group>/<version>`` in a text."""

    group: str
    version: str
    """``v1beta2``; or ``${VERSION}``, as it stands there."""
    begin: int
    """Offset of the group."""
    start: int
    """Offset of the version."""
    end: int

    @property
    def is_put_in(self) -> bool:
        """Whether the text does not tell the version."""
        return not is_version(self.version)


class Groups:
    """Flux's API groups, and how texts name them."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = frozenset(names)
        # What all names end with: a pattern that begins with plain characters is soon searched for.
        self._mark = posixpath.commonprefix([name[::-1] for name in names])[::-1]
        mark = re.escape(self._mark)
        self._mention = re.compile(rf"{mark}\\?/({_VERSION}|{_PUT_IN})", re.ASCII)
        self._alone = re.compile(rf"{mark}(?![\w./-])", re.ASCII)
        self._spelled = re.compile(rf"{mark}(?:\\?/\w*)?\\[^/]", re.ASCII)

    def are_in(self, content: bytes) -> bool:
        """Whether a file may name one of them: a test that costs nearly nothing, and that nearly all fail."""
        return bool(self.names) and self._mark.encode() in content

    def mentions(self, text: str) -> list[Mention]:
        """All of them, in their order."""
        return list(self._mentions(text))

    def are_named(self, text: str) -> bool:
        """Whether it may name a version of any of them."""
        return any(True for _ in self._mentions(text)) or self.are_apart(text)

    def are_apart(self, text: str) -> bool:
        """Whether a version may be named otherwise: under a key of its own, or spelled with an escape."""
        return self._spelled.search(text) is not None or (
            self._alone.search(text) is not None and _VERSION_KEY.search(text) is not None
        )

    def alone(self, text: str, begin: int, end: int) -> Iterator[int]:
        """Where groups stand without a version, between two offsets."""
        for match in self._alone.finditer(text, begin, end):
            name = self._ending(text, match.end())
            if name:
                yield match.end() - len(name)

    def named(self, text: str) -> tuple[str, str] | None:
        """Group and version, where a text is nothing else."""
        mentions = self.mentions(text) if self._mark in text else []
        whole = len(mentions) == 1 and mentions[0].begin == 0 and mentions[0].end == len(text)
        return mentions[0][:2] if whole else None

    def _mentions(self, text: str) -> Iterator[Mention]:
        for match in self._mention.finditer(text):
            end = match.start() + len(self._mark)
            name = self._ending(text, end)
            if name:
                yield Mention(name, match[1], end - len(name), match.start(1), match.end())

    def _ending(self, text: str, end: int) -> str:
        """The group that ends there; empty where it is none of them."""
        for name in self.names:
            if text.endswith(name, 0, end) and _BEFORE.search(
                text, max(end - len(name) - 2, 0), end - len(name)
            ):
                return name
        return ""


@cache
def groups_of(names: frozenset[str]) -> Groups:
    """Made once for a run."""
    return Groups(names)
