"""What the history of a manifest tells of earlier upgrades: taken back, or undone again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flux_upgrade.impact.impact import EarlierTries, Returns, TakenBack
from flux_upgrade.impact.stored_versions.refused import release_of
from flux_upgrade.model.files import FileRevision, FileRevisions
from flux_upgrade.model.versions import Version

_FEWEST_RETURNS = 3  # A person reverts once, and tries again


class _At(NamedTuple):
    release: Version
    first: FileRevision  # That brought it


def earlier_tries(pasts: FileRevisions, target: Version) -> EarlierTries:
    """Of what the branch itself was at; a branch that was merged may never have run."""
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
