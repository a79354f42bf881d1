"""What histories show: of an installation, as written down; of API versions, for managed fields; of earlier upgrades.

To ask for a history costs a call for each content that the file had, and the answer is the same
until the file changes: a run with nothing to do needs no call.

Whatever the cluster has stored, `flux migrate` may have to run because of ``metadata.managedFields``: each
entry names the API version in which its manager last wrote the object. Once the CRD no longer serves
that version, the API server fails every apply of the object: `request to convert CR to an invalid
group/version`. `flux migrate` moves the entries to the stored version, those of all managers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence

from flux_upgrade.impact.impact import (
    EarlierTries,
    Indication,
    Managed,
    PastRelease,
    Refused,
    Returns,
    Stored,
    TakenBack,
)
from flux_upgrade.impact.stored_versions.refused import cli_for, refusals, release_of
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.file_history import FileRevision, FileRevisions, Mentions
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag

_FEWEST_RETURNS = 3  # A person reverts once, and tries again


class HistoryQuery(NamedTuple):
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
    return json.dumps([query.key, list(map(_entry, every)), list(map(_entry, found.after_migrate))])


def read(lines: Iterable[str], query: HistoryQuery) -> Stored | None:
    """What was written down; None: nothing, or something that ``written`` did not write."""
    for line in lines:
        try:
            match json.loads(line):
                case [query.key, [*every], [*after]]:
                    refused = tuple(map(_refused, every)), tuple(map(_refused, after))
                    return refusals(*refused, query.migrated, query.current)
        except (ValueError, RecursionError):
            continue
    return None


def _entry(each: Refused) -> list[str]:
    return [each.crd, each.kind, each.version, each.release.tag, each.release.since]


def _refused(entry: object) -> Refused:
    """Raises ValueError."""
    match entry:
        case [str(crd), str(kind), str(version), str(tag), str(since)]:
            return Refused(crd, kind, version, PastRelease(tag, since, ()))
    raise ValueError(entry)


class DroppedVersions(NamedTuple):
    """Versions that a transition drops, and all that is known of them without a look at the history."""

    dropped: frozenset[str]  # versions that the current release serves, and the target does not
    used: frozenset[str]  # those of them that manifests of the repository name
    was_migrated: bool  # whether a merged pull request moved manifests for this transition
    is_with_upgrade: bool  # whether manifests are moved in the upgrade's own commit
    current: Version
    target: Version

    @property
    def needs_history(self) -> bool:
        """Whether nothing else says that objects may have been written in them."""
        return bool(self.dropped) and not self.used and not self.was_migrated


def versions_dropped(current: ReleaseApis, target: ReleaseApis, changed: Collection[str] | None) -> frozenset[str]:
    """``changed``: names of the CRDs that the upgrade changes in the cluster; None: that is not known."""
    return frozenset(
        f"{crd.group}/{version}"
        for name, crd in current.crds.items()
        if name in target.crds and (changed is None or name in changed)
        for version in crd.served - target.crds[name].served
    )


def managed(versions: DroppedVersions, migrated: Collection[str], mentions: Mentions) -> Managed | None:
    """None: the target drops nothing that the repository uses or has used.

    ``migrated``: releases at which `flux migrate` ran, after manifests were migrated if they were. ``mentions``: of the
    history, where that is needed.
    """
    detail = ""
    if not versions.dropped:
        return None
    if versions.needs_history:
        if not mentions.paths and mentions.missing is None:
            return None
        evidence = Indication.HISTORY if mentions.paths else Indication.UNKNOWN
        detail = min(mentions.paths, default=str(mentions.missing))
    else:
        evidence = Indication.USED if versions.used else Indication.MIGRATED
    return Managed(
        tuple(sorted(versions.used or versions.dropped)),
        evidence,
        detail,
        cli_for(versions.target if versions.is_with_upgrade else versions.current),
        is_after=versions.is_with_upgrade,
        is_done=not versions.is_with_upgrade and versions.current in migrated,
    )


class _At(NamedTuple):
    release: Version
    first: FileRevision  # That brought it


def earlier_tries(pasts: FileRevisions, target: Version) -> EarlierTries:
    """What was taken back, or undone again and again.

    Of what the branch itself was at: a branch that was merged may never have run.
    """
    revisions = [each for each in pasts.versions if not each.is_aside]
    if not revisions:
        return EarlierTries()
    return EarlierTries(_taken_back(list(_releases(revisions)), target), _returns(revisions))


def _releases(revisions: Sequence[FileRevision]) -> Iterator[_At]:
    """The releases one after the other, each with the revision that brought it."""
    last = None
    for each in revisions:
        release = release_of(each.content)
        if release and release != last:
            yield _At(release, each)
            last = release


def _taken_back(ran: Sequence[_At], target: Version) -> TakenBack | None:
    for place in range(len(ran) - 1, 0, -1):
        at, after = ran[place - 1], ran[place]
        has_been_there_since = max(each.release for each in ran[place:]) >= at.release
        if at.release.minor == target.minor and not has_been_there_since:
            dates = at.first.date, after.first.date
            return TakenBack(at.release, *dates, after.release, after.first.commit)
    return None


def _returns(revisions: Sequence[FileRevision]) -> Returns | None:
    seen: set[bytes] = set()
    back = []
    for before, each in zip((None, *revisions), revisions, strict=False):
        if each.content in seen and before is not None and each.content != before.content:
            back.append(each)
        seen.add(each.content)
    if len(back) < _FEWEST_RETURNS:
        return None
    return Returns(len(back), back[0].date, back[-1].commit)
