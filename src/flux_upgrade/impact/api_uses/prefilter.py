"""Which files are worth reading as YAML: those that may use what a release does not serve."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from flux_upgrade.impact.api_uses.mentions import groups_of
from flux_upgrade.manifests.crds import ReleaseApis

REMOVED_FIELDS = "accessFrom|gitImplementation|patchesJson6902|patchesStrategicMerge|validation|valuesFile"
"""Fields that versions of today lack and older ones had, see ``migrate.rules``."""
_LONGEST = 4096  # Characters of a line that are kept for the next piece of a text
_REMOVED = re.compile(rf"^[ -]+(?:{REMOVED_FIELDS}):|\.Updated\b|\.Changed\.ImageResult\b".encode(), re.MULTILINE)


def overlapping(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield pieces of a text that end with a line, each with the offset from which the next piece repeats it."""
    text = b""
    for chunk in chunks:
        text += chunk
        end = text.rfind(b"\n", 0, max(text.rfind(b"\n"), 0)) + 1 or max(len(text) - _LONGEST, 0)
        yield text, end
        text = text[end:]
    yield text, len(text)


class Prefilter:
    """Passes over files that use nothing but what is served, nearly for nothing."""

    def __init__(self, target: ReleaseApis) -> None:
        self._target = target
        self._groups = groups_of(target.groups)
        self._names = tuple(name.encode() for name in target.groups)
        resource = rb"/(?P<version>v\d\w*)[ \r]*\n(?P<indent> *)kind: (?P<kind>[A-Za-z]+)[ \r]*$"
        label = rb"/(?!v\d)[a-z-]+: "
        # It begins with plain characters, and so is soon searched for.
        mark = re.escape(self._groups.mark)
        self._versions = re.compile(rb"%b\\?/(v\d\w*)" % mark)
        self._mention = re.compile(rb"%b(?:%b|(?P<label>%b))?" % (mark, resource, label), re.MULTILINE)

    def names(self, content: bytes) -> bool:
        """Return whether a file names a group of Flux's APIs."""
        return self._groups.are_in(content)

    def may_use(self, content: bytes) -> bool:
        """Whether a file may use what is not served: it names a group otherwise than nearly all files do."""
        return self._groups.are_in(content) and not all(
            match["label"] or self._is_served(match, content) for match in self._mention.finditer(content)
        )

    def _is_served(self, match: re.Match[bytes], content: bytes) -> bool:
        """Whether it is in the first of the two lines that a resource begins with, of one that is served."""
        end = match.start() + len(self._groups.mark)
        if not content.endswith(self._names, 0, end):
            return True  # it is none of these groups
        if match["version"] is None:
            return False
        line = content[content.rfind(b"\n", 0, end) + 1 : end].decode("ascii", "replace")
        version, indent, kind = (match[name].decode() for name in ("version", "indent", "kind"))
        key = f"{indent}apiVersion: "
        return line.startswith(key) and self._target.serves(line[len(key) :], version, kind)

    def count(self, chunks: Iterable[bytes]) -> int:
        """Count the mentions of versions in a text that the release may not serve. It may come in pieces."""
        return sum(
            not self._is_surely_served(text, match)
            for text, end in overlapping(chunks)
            for match in self._versions.finditer(text)
            if match.start() < end
        )

    @cached_property
    def _by_group(self) -> dict[str, frozenset[str]]:
        """Versions that the release serves of all kinds of a group."""
        served: dict[str, frozenset[str]] = {}
        for crd in self._target.crds.values():
            served[crd.group] = served.get(crd.group, crd.served) & crd.served
        return served

    def _is_surely_served(self, text: bytes, match: re.Match[bytes]) -> bool:
        resource = self._mention.match(text, match.start())
        if resource is not None and self._is_served(resource, text):
            return True
        end = match.start() + len(self._groups.mark)
        group = next((name for name in self._target.groups if text.endswith(name.encode(), 0, end)), "")
        return not group or match[1].decode("ascii", "replace") in self._by_group[group]

    def may_be_broken(self, content: bytes) -> bool:
        """Whether a file may hold what this release refuses: such a version, or a field or template that is gone."""
        return self.may_use(content) or (self._groups.are_in(content) and _REMOVED.search(content) is not None)
