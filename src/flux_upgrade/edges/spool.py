"""Temporary files of a run: what is too large for memory."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import BinaryIO, Self


class Spool:
    """Makes them when called; all are gone when the block ends."""

    def __init__(self) -> None:
        self._open = ExitStack()

    def __call__(self) -> BinaryIO:
        """A new one, empty; it may be closed earlier."""
        from tempfile import TemporaryFile

        return self._open.enter_context(TemporaryFile())

    def __enter__(self) -> Self:
        """See the class."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """See the class."""
        self._open.close()
