"""What every command prints in the same way."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.model.errors import NothingFound
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


class Console(NamedTuple):
    """Where a command prints."""

    out: IO[bytes]
    err: IO[str]

    def show(self, text: str) -> None:
        """Print a report. File names may hold bytes that are no text (PEP 383); they are shown as escapes."""
        self.out.write(text.encode("utf-8", "backslashreplace"))
        self.out.flush()

    def fail(self, slug: str, message: str, hint: str) -> None:
        """One thing that went wrong, and what to do about it."""
        self.err.write(failure(slug, message, hint))

    def warn(self, text: str) -> None:
        """A warning; what follows its first line is what to do about it."""
        message, _, hint = text.partition("\n")
        self.fail("warning", message, hint)


def failure(slug: str, message: str, hint: str) -> str:
    return f"flux-upgrade: {slug}: {message}\n" + (f"  {hint}\n" if hint else "")


def require_any(installations: Sequence[object], path: str) -> None:
    """Raises NothingFound where there is no installation."""
    if not installations:
        raise NothingFound(
            f"there is nothing that pins Flux in {path}",
            hint="give the root of the repository, or the file or folder of gotk-components.yaml; "
            "a new one is made with `flux-upgrade render`",
        )
