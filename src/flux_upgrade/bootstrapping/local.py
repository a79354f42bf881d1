"""Write what was planned into the local checkout: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.bootstrap.changes import FileChange
from flux_upgrade.errors import WriteFailed
from flux_upgrade.ports import Worktree


def write_all(changes: Iterable[FileChange], worktree: Worktree) -> None:
    """Half a bootstrap would be reconciled, too: where a file cannot be written, the others are put back.

    Raises WriteFailed.
    """
    done: list[FileChange] = []
    try:
        for change in changes:
            if change.before is None:
                worktree.make(change.path, change.after)
            else:
                worktree.write(change.path, change.after, change.before)
            done.append(change)
    except WriteFailed:
        for change in reversed(done):
            if change.before is None:
                worktree.remove(change.path, change.after)
            else:
                worktree.write(change.path, change.before, change.after)
        raise
