"""A forge for dry runs: looks with the real one, and writes down the steps instead of taking them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flux_upgrade.model.forge import (
    ClosePull,
    Done,
    OpenIssue,
    OpenPull,
    Question,
    Repository,
    Step,
    UpdateIssue,
    UpdatePull,
)
from flux_upgrade.model.ports import Forge, Remote, Tree


class RecordingForge:
    """The port Forge over another one that is only looked at."""

    def __init__(self, forge: Forge) -> None:
        self._forge = forge
        self._steps: list[Step] = []

    @property
    def steps(self) -> tuple[Step, ...]:
        """What would have been done, in order."""
        return tuple(self._steps)

    @property
    def calls(self) -> int:
        """See the port."""
        return self._forge.calls

    def close(self) -> None:
        """See the port."""
        self._forge.close()

    def fetch(self, question: Question) -> Repository:
        """See the port."""
        return self._forge.fetch(question)

    def apply(self, step: Step) -> Done:
        """Done, as if: with the number and address of what is there already."""
        self._steps.append(step)
        match step:
            case UpdatePull():
                return Done(step.pull.number, step.pull.url, step.before)
            case ClosePull():
                return Done(step.pull.number, step.pull.url)
            case UpdateIssue():
                return Done(step.issue.number, step.issue.url)
            case OpenPull() | OpenIssue():
                return Done()


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
