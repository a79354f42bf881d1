"""What an upgrade changes in files → a line for each, or a unified diff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from flux_upgrade.model.text import capped, decoded, first_few, printable
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.plan import Plan, files_after, files_before
from flux_upgrade.report.wording import located

_MOST_FILES = 12
_FEW = 3
_MOST_LINES = 20_000  # Of a file. The largest manifest of Flux has 13,000. difflib takes time by their square.
_AROUND = 3  # Lines


class _Change(NamedTuple):
    """Lines, counted from 0: from and to, before and after."""

    start: int
    end: int
    new_start: int
    new_end: int


def stats(plans: Sequence[Plan], root: str, *, written: bool) -> list[str]:
    """How many lines each file gains and loses, in lines. ``root``: the tree, as the user named it."""
    lines = []
    for path, hunks in _changes(plans, root):
        added, removed = (sum(line.startswith(sign) for line in hunks.splitlines()) for sign in "+-")
        lines.append(f"  {path}  +{added} -{removed}")
    what = "Changed files" if written else "Files that would change; --diff shows how"
    return [*_migrated(plans, written=written), f"{what}:", *capped(lines, _MOST_FILES)]


def _migrated(plans: Sequence[Plan], *, written: bool) -> Iterator[str]:
    files = {file.path: file for plan in plans if plan.approved is not None for file in plan.approved.moved}
    if files:
        from flux_upgrade.findings.phrases import uses_of  # late: few upgrades migrate manifests

        uses = uses_of([move for file in files.values() for move in file.moves])
        yield f"{'Migrated' if written else 'Would migrate'} {uses} ({first_few(sorted(files), _FEW)})."


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
    before, after = _lines(old), _lines(new)
    hunks: list[list[_Change]] = []
    for change in _changes_in(before, after):
        if not hunks or change.start - hunks[-1][-1].end > 2 * _AROUND:
            hunks.append([])
        hunks[-1].append(change)
    lines = (line for changes in hunks for line in _hunk(before, after, changes))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _changes_in(before: list[str], after: list[str]) -> Iterator[_Change]:
    """Lines that change in place need no search, as no diff is shorter.

    Where too many lines change otherwise, all between the first and the last of them is one change.
    """
    import difflib  # late: most runs show no diff

    changed = [at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new]
    if len(before) == len(after) and len(changed) == (Counter(before) - Counter(after)).total():
        for _, run in groupby(enumerate(changed), lambda each: each[1] - each[0]):
            places = [at for _, at in run]
            yield _Change(places[0], places[-1] + 1, places[0], places[-1] + 1)
    elif max(len(before), len(after)) <= _MOST_LINES:
        for step, *change in difflib.SequenceMatcher(None, before, after).get_opcodes():
            if step != "equal":
                yield _Change(*change)
    else:
        shorter = min(len(before), len(after))
        start = changed[0] if changed else shorter
        end = 0
        while end < shorter - start and before[-1 - end] == after[-1 - end]:
            end += 1
        yield _Change(start, len(before) - end, start, len(after) - end)


def _hunk(before: list[str], after: list[str], changes: Sequence[_Change]) -> Iterator[str]:
    first, last = changes[0], changes[-1]
    lead, rest = min(_AROUND, first.start), min(_AROUND, len(before) - last.end)
    was, is_now = (first.start - lead, last.end + rest), (first.new_start - lead, last.new_end + rest)
    yield f"@@ -{_range(*was)} +{_range(*is_now)} @@\n"
    at = was[0]
    for each in changes:
        yield from (f" {line}" for line in before[at : each.start])
        yield from (f"-{line}" for line in before[each.start : each.end])
        yield from (f"+{line}" for line in after[each.new_start : each.new_end])
        at = each.end
    yield from (f" {line}" for line in before[at : was[1]])


def _range(start: int, end: int) -> str:
    """As GNU diff has it: nothing follows the line that it names, and one line needs no number."""
    return str(end) if end - start == 1 else f"{start + (end > start)},{end - start}"
