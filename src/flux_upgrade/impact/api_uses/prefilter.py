"""Which files are worth reading as YAML: those that may use what a release does not serve."""

from __future__ import annotations

import re

from flux_upgrade.impact.api_uses.mentions import groups_of
from flux_upgrade.manifests.crds import ReleaseApis

REMOVED_FIELDS = "accessFrom|gitImplementation|patchesJson6902|patchesStrategicMerge|validation|valuesFile"
"""Fields that versions of today lack and older ones had, see ``migrate.rules``."""
_REMOVED = re.compile(rf"^[ -]+(?:{REMOVED_FIELDS}):|\.Updated\b|\.Changed\.ImageResult\b".encode(), re.MULTILINE)


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

    def may_be_broken(self, content: bytes) -> bool:
        """Whether a file may hold what this release refuses: such a version, or a field or template that is gone."""
        return self.may_use(content) or (self._groups.are_in(content) and _REMOVED.search(content) is not None)
