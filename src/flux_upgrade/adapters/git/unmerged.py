"""Whether a file of a checkout may have changes that are not merged, read without Git.

Git's index has the size and the time of each file as it was when Git last read or wrote it
(git-scm.com/docs/index-format).
"""

from __future__ import annotations

import os
from contextlib import suppress

from flux_upgrade.adapters.git.checkout import branch_of, git_folders, head_of, remote_branch, remote_default
from flux_upgrade.adapters.local.files import MAX_FILE, read_if_readable

_HEADER = b"DIRC\0\0\0"
_WITH_WHOLE_PATHS = (2, 3)  # Versions of the index
_TREE, _NO_TREE = b"TREE", b"\0-1 "
_LONGEST = 0xFFF  # Length of a path in the flags of an entry
_TIME, _SIZE = 8, 36  # Offsets in an entry
_PATHS = (62, 64, 74, 76)  # Offsets of the path: with SHA-1 or SHA-256, with or without extended flags


def may_be_unmerged(root: str, path: str, followed: str) -> bool:
    """Return whether the checkout may be ahead of the branch that Flux follows.

    ``followed``: its name; empty if it is unknown. False for a detached checkout. True if the index does not tell.
    """
    branch = branch_of(root)
    if not branch:
        return False
    newest = remote_branch(root, followed or remote_default(root) or branch)
    if newest and newest != head_of(root):
        return True
    index = read_if_readable(os.path.join(git_folders(root)[0], "index"), MAX_FILE)
    with suppress(OSError):
        return _is_staged(index) or _differs(index, path, os.stat(os.path.join(root, path)))
    return True


def _is_staged(index: bytes) -> bool:
    """Return whether the index may have changes that no commit has: as long as it has none, Git keeps its tree."""
    _, extension, tree = index.rpartition(_TREE)
    # Behind the length is the root: an empty path, and how many entries are in its tree.
    return not extension or tree[4:].startswith(_NO_TREE)


def _differs(index: bytes, path: str, now: os.stat_result) -> bool:
    if not index.startswith(_HEADER) or index[len(_HEADER)] not in _WITH_WHOLE_PATHS:
        return True
    name = os.fsencode(path)
    entry = index.find(_flags(name) + name + b"\0")
    if entry < 0:
        return True  # Git does not know the file, or it is in another repository
    # The path is behind the flags, which are behind the oid: any of the offsets that is a file's entry counts.
    starts = [entry + 2 - offset for offset in _PATHS]
    then = [(_numbers(index, start + _TIME, 2), _numbers(index, start + _SIZE, 1)) for start in starts if start > 0]
    seconds, rest = divmod(now.st_mtime_ns, 1_000_000_000)
    return ((seconds & 0xFFFFFFFF, rest), (now.st_size & 0xFFFFFFFF,)) not in then


def _flags(name: bytes) -> bytes:
    return min(len(name), _LONGEST).to_bytes(2, "big")


def _numbers(index: bytes, start: int, count: int) -> tuple[int, ...]:
    return tuple(int.from_bytes(index[place : place + 4], "big") for place in range(start, start + 4 * count, 4))
