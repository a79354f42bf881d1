"""A branch for dry runs: read as it is, and never pushed to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flux_upgrade.ports import Remote, Tree


class RecordingRemote:
    """The port Remote over another one that is only read."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.pushed: Mapping[str, bytes] = {}
        """What would have been."""

    @property
    def head(self) -> str:
        """See the port."""
        return self._remote.head

    @property
    def tree(self) -> Tree:
        """See the port."""
        return self._remote.tree

    def require_room(self, paths: Iterable[str]) -> None:
        """See the port."""
        self._remote.require_room(paths)

    def push(self, files: Mapping[str, bytes], message: str) -> str:
        """Nothing: the head stays where it is."""
        del message
        self.pushed = dict(files)
        return self.head

    def close(self) -> None:
        """See the port."""
        self._remote.close()
