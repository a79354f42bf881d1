"""Parts of files that are not read: why, and how many uses of Flux's APIs their text names."""

from __future__ import annotations

from flux_upgrade.impact.api_uses.prefilter import Prefilter, overlapping
from flux_upgrade.impact.api_uses.scan import DOCUMENTS, find, may_be_cut
from flux_upgrade.impact.migrate.result import Migrated
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.errors import Unread, Unreadable
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import decoded
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.snapshot import Snapshot

_HINT = "split the file, or add it to `ignore` in the config file"


class UnreadPart(NamedTuple):
    path: str
    error: Unreadable
    uses: int | Unknown  # Mentions in its text of versions that the target may not serve
    spans: tuple[tuple[int, int], ...] = ()  # Offsets in the text of the file; empty: all of it

    def before(self, content: bytes) -> bytes:
        """Return what is read of ``content`` before this part."""
        return decoded(content)[: self.spans[0][0]].encode(errors="replace") if self.spans else b""

    def without(self, file: Migrated) -> Migrated:
        """Return ``file`` without the uses in this part, which are counted here."""

        def is_outside(start: int) -> bool:
            return not any(begin <= start < end for begin, end in self.spans)

        return file._replace(
            moves=tuple(move for move in file.moves if is_outside(move.use.start)),
            lefts=tuple(left for left in file.lefts if is_outside(left.use.start)),
        )


def part_of(path: str, content: bytes, target: ReleaseApis) -> UnreadPart | None:
    """Return what ``find`` does not read of a file; None if it reads all that names Flux's APIs."""
    file = find(path, content, target.groups) if may_be_cut(path, content) else None
    if file is None or not file.cuts:
        return None
    text, prefilter = decoded(content), Prefilter(target)
    spans = tuple((cut.begin, cut.end) for cut in file.cuts)
    uses = prefilter.count(text[begin:end].encode(errors="replace") for begin, end in spans)
    return UnreadPart(path, _error(path, file.cuts[0].message, uses, target.tag), uses, spans)


def large_file(
    tree: Snapshot, path: str, target: ReleaseApis, *, may_have_reference: bool = False
) -> UnreadPart | None:
    """Return a file that is too large to read.

    ``may_have_reference``: whether its text looks like that of a version reference. None if it does not, and names no
    API of Flux, or if the file cannot be a manifest.
    """
    if path.endswith(DOCUMENTS):
        return None
    prefilter, uses = Prefilter(target), 0
    try:
        if not may_have_reference and not any(prefilter.names(text) for text, _ in overlapping(tree.chunks(path))):
            return None
        uses = prefilter.count(tree.chunks(path))
    except Unreadable as error:
        return UnreadPart(path, _error(path, Unread.TOO_LARGE, None, target.tag), Unknown(error.message))
    return UnreadPart(path, _error(path, Unread.TOO_LARGE, uses, target.tag), uses)


def _error(path: str, why: str, uses: int | None, target: str) -> Unreadable:
    count = "an unknown number of API versions" if uses is None else counted(uses, "API version")
    rest = f". The rest names {count} that {target} may not serve" if uses != 0 else ""
    return Unreadable(f"{path} is not read to its end: {why}{rest}", hint=_HINT)
