"""The files through which a step of GitHub Actions tells its results."""

from __future__ import annotations

from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import WriteFailed


def append(path: str, text: str) -> None:
    """Add to GITHUB_OUTPUT or GITHUB_STEP_SUMMARY; other steps' text stays. Raises WriteFailed."""
    _put(path, "ab", text)


def write(path: str, text: str) -> None:
    """Write a file of one's own. Raises WriteFailed."""
    _put(path, "wb", text)


def _put(path: str, mode: str, text: str) -> None:
    try:
        with open(path, mode) as file:  # noqa: PTH123 no pathlib for one call
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise WriteFailed(
            f"{one_line(path)} cannot be written: {error.strerror}",
            hint="it is the runner's file: is its folder mounted into the container?",
        ) from error
