"""What every command prints in the same way."""

from __future__ import annotations

from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from flux_upgrade.adapters.local.pager import Pager
    from flux_upgrade.model.ports import Progress


class Console(NamedTuple):
    out: IO[bytes]
    err: IO[str]
    progress: Progress | None = None
    pager: Pager | None = None

    def show(self, text: str) -> None:
        """Print a report. File names may hold bytes that are no text (PEP 383); they are shown as escapes."""
        content = text.encode("utf-8", "backslashreplace")
        if self.pager is not None and self.progress is not None:
            self.progress.close()  # for good: the screen is the pager's
        self.clear()
        if self.pager is None or not self.pager.show(content, self.out):
            self.out.write(content)
            self.out.flush()

    def fail(self, slug: str, message: str, hint: str) -> None:
        self.clear()
        self.err.write(failure(slug, message, hint))

    def clear(self) -> None:
        """Take the line away that says what the run is doing."""
        if self.progress is not None:
            self.progress.clear()

    def warn(self, text: str) -> None:
        """A warning; what follows its first line is what to do about it."""
        message, _, hint = text.partition("\n")
        self.clear()
        self.err.write(f"flux-upgrade: warning: {message}\n" + (f"  Try: {hint}\n" if hint else ""))


def failure(slug: str, message: str, hint: str) -> str:
    """What is wrong, the name of the error to search for, and what to do."""
    return f"flux-upgrade: {message} [{slug}]\n" + (f"  Try: {hint}\n" if hint else "")
