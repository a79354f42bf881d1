"""Temporary files hold what is too large for memory, and there may be no room for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flux_upgrade.errors import WriteFailed


@contextmanager
def room() -> Iterator[None]:
    """Around whatever writes one: raises WriteFailed where that fails."""
    try:
        yield
    except OSError as error:
        raise WriteFailed(
            f"a temporary file for the artifact cannot be written: {error.strerror}",
            hint="make room in the folder for temporary files, or name another one with TMPDIR",
        ) from error
