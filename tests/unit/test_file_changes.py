"""Diffs, held to difflib's; and what takes too long for difflib."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.report.file_changes import diff_hunks

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=30)


def as_text(lines: list[str]) -> bytes:
    return "".join(lines).encode()


def applied(old: list[str], hunks: str) -> list[str]:
    """What comes of a file by a diff; each of its lines is held to the file's."""
    new, at = list[str](), 0
    for line in hunks.splitlines(keepends=True):
        if line.startswith("@@"):
            start, _, count = line.split()[1].lstrip("-").partition(",")
            begin = int(start) - (count != "0")
            new += old[at:begin]
            at = begin
            continue
        sign, text = line[0], line[1:]
        if sign != "+":
            assert old[at] == text
            at += 1
        if sign != "-":
            new.append(text)
    return new + old[at:]


@given(LINES, LINES)
def test_a_diff_gives_the_new_file(old: list[str], new: list[str]) -> None:
    assert applied(old, diff_hunks(as_text(old), as_text(new))) == new


@given(LINES, st.sets(st.integers(0, 29)))
def test_lines_that_change_in_place_are_as_difflib_has_them(old: list[str], places: set[int]) -> None:
    old = [f"{at} {line}" for at, line in enumerate(old)]
    new = [f"new {line}" if at in places else line for at, line in enumerate(old)]
    expected = "".join(list(difflib.unified_diff(old, new))[2:])
    assert diff_hunks(as_text(old), as_text(new)) == expected


def test_a_last_line_without_its_end() -> None:
    assert diff_hunks(b"a\nb", b"a\nc\n") == "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """Lines of difflib that run."""
    steps = 0

    def call(frame: FrameType, _event: str, _argument: Any) -> Any:
        return line if frame.f_code.co_filename == difflib.__file__ else None

    def line(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield lambda: steps
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("more", ["", "x\n"], ids=["in place", "with a line more"])
def test_a_long_file_with_many_changes_is_not_searched(more: str) -> None:
    old = ["apiVersion: v1beta2\n", "kind: Bucket\n", "metadata:\n", "---\n"] * 6000
    new = [line.replace("v1beta2", "v1") for line in old] + [more] * bool(more)
    with counted() as steps:
        hunks = diff_hunks(as_text(old), as_text(new))
    assert applied(old, hunks) == new
    assert steps() == 0
