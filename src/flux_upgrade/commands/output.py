"""What every command prints in the same way."""

from __future__ import annotations

from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


class Console(NamedTuple):
    out: IO[bytes]
    err: IO[str]

    def show(self, text: str) -> None:
        """Print a report. File names may hold bytes that are no text (PEP 383); they are shown as escapes."""
        self.out.write(text.encode("utf-8", "backslashreplace"))
        self.out.flush()

    def fail(self, slug: str, message: str, hint: str) -> None:
        self.err.write(failure(slug, message, hint))

    def warn(self, text: str) -> None:
        """A warning; what follows its first line is what to do about it."""
        message, _, hint = text.partition("\n")
        self.fail("warning", message, hint)


def failure(slug: str, message: str, hint: str) -> str:
    return f"flux-upgrade: {slug}: {message}\n" + (f"  {hint}\n" if hint else "")
