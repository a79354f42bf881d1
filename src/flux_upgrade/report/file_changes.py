"""What an upgrade changes in files → a line for each, or a unified diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.model.text import capped, decoded, printable
from flux_upgrade.planning.plan import Plan, files_after, files_before
from flux_upgrade.report.wording import located

_MOST_FILES = 12


def stats(plans: Sequence[Plan], root: str, *, written: bool) -> list[str]:
    """How many lines each file gains and loses, in lines. ``root``: the tree, as the user named it."""
    lines = []
    for path, hunks in _changes(plans, root):
        added, removed = (sum(line.startswith(sign) for line in hunks.splitlines()) for sign in "+-")
        lines.append(f"  {path}  +{added} -{removed}")
    what = "Changed files" if written else "Files that would change; --diff shows how"
    return [f"{what}:", *capped(lines, _MOST_FILES)]


def diffs(plans: Sequence[Plan], root: str) -> Iterator[str]:
    """What is written, as unified diffs. ``root``: as in ``stats``."""
    yield from (diff(path, hunks) + "\n" for path, hunks in _changes(plans, root))


def _changes(plans: Sequence[Plan], root: str) -> Iterator[tuple[str, str]]:
    moving = [(plan, upgrade) for plan in plans if (upgrade := plan.approved) is not None]
    # Paths are shown as the user named the tree, and those outside of it as they are in the repository.
    shown = {plan.path: located(root, plan.pin.path) for plan, _ in moving}
    before = files_before(moving)
    # Identical manifests have one change, and its diff is made once.
    hunks: dict[tuple[bytes, bytes], str] = {}
    for path, new in files_after(moving).items():
        key = before[path], new
        if key not in hunks:
            hunks[key] = diff_hunks(before[path], new)
        yield shown.get(path, path), hunks[key]


def _lines(content: bytes) -> list[str]:
    """As git counts lines: ``str.splitlines`` also cuts at form feeds and Unicode's separators."""
    parts = decoded(content).split("\n")
    return [f"{part}\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]


def diff(path: str, hunks: str) -> str:
    """A unified diff, as ``git diff`` shows it; ``hunks`` as ``diff_hunks`` makes them."""
    shown = printable(path.lstrip("/"))
    return f"--- a/{shown}\n+++ b/{shown}\n{hunks}"


def diff_hunks(old: bytes, new: bytes) -> str:
    """What stands below the two lines that name the file."""
    import difflib  # late: most runs show no diff

    _, _, *hunks = difflib.unified_diff(_lines(old), _lines(new), "a", "b")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in hunks)
