"""What the history of an installation showed, as it is written down for the next run.

To ask for a history costs a call for each content that the file had, and the answer is the same
until the file changes: a run with nothing to do needs no call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from flux_upgrade.impact.impact import PastRelease, Refused, Stored
from flux_upgrade.impact.stored_versions.refused import refusals
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag

_FIELDS = (str, str, str, str, str)


class HistoryQuery(NamedTuple):
    """What the answer of a history depends on."""

    path: str
    content: bytes  # of the installation
    current: Version
    target: Version
    migrated: tuple[str, ...]  # as for `stored`

    @property
    def key(self) -> str:
        """Equal where the history says the same: it does not say whether `flux migrate` ran here."""
        migrated = [each for each in self.migrated if is_tag(each) and is_tag(self.current)]
        past = sorted(each for each in migrated if Version(each) < self.current)
        parts = "\0".join((self.path, hashlib.sha256(self.content).hexdigest(), self.target, *past))
        return hashlib.sha256(parts.encode(errors="surrogateescape")).hexdigest()[:16]


def written(query: HistoryQuery, found: Stored) -> str:
    """One line of JSON; empty where more may be known the next time."""
    if found.unknown:
        return ""
    every = found.resolved or found.refused
    return json.dumps(
        [query.key, [_entry(each) for each in every], [_entry(each) for each in found.after_migrate]]
    )


def read(lines: Iterable[str], query: HistoryQuery) -> Stored | None:
    """What was written down; None: nothing, or something that ``written`` did not write."""
    key = query.key
    for line in lines:
        match _loaded(line):
            case [str(known), list(every), list(after)] if known == key:
                entries = tuple(map(_refused, every)), tuple(map(_refused, after))
                whole = tuple(tuple(each for each in part if each is not None) for part in entries)
                if whole == entries:
                    return refusals(whole[0], whole[1], query.migrated, query.current)
    return None


def _entry(each: Refused) -> list[str]:
    return [each.crd, each.kind, each.version, each.release.tag, each.release.since]


def _refused(entry: object) -> Refused | None:
    if not isinstance(entry, list) or tuple(map(type, entry)) != _FIELDS:
        return None
    crd, kind, version, tag, since = entry
    return Refused(crd, kind, version, PastRelease(tag, since, ()))


def _loaded(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
