"""How much work a file makes grows no faster than the file, whatever is in it.

Work is counted in lines of this program that run, on two sizes that double: the same on every machine. What patterns
take is counted in `test_linear_patterns.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import flux_upgrade
from api_use_runs import CLUSTER, cluster, plant, run
from hostile_shapes import SHAPES

SOURCE = str(Path(flux_upgrade.__file__).parent)
SIZES = (8, 96, 192)
FASTER = 1.8
"""What the second half of a file may add, to what the first half did: 1 is linear, 3 is quadratic."""
SLACK = 10_000  # Lines: some is done once only, or from some number on
TraceFunction = Callable[[FrameType, str, Any], Any]


def lines_run(do: Callable[[], object]) -> int:
    """How many lines of this program run in it."""
    count = 0

    # Called for each line: a closure takes half the time of a method.
    def line(_frame: FrameType, event: str, _argument: Any) -> TraceFunction:
        nonlocal count
        if event == "line":
            count += 1
        return line

    def call(frame: FrameType, _event: str, _argument: Any) -> TraceFunction | None:
        return line if frame.f_code.co_filename.startswith(SOURCE) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


def steps(folder: Path, source: Path, files: Mapping[str, str]) -> int:
    return lines_run(lambda: work(folder, source, files))


def work(folder: Path, source: Path, files: Mapping[str, str]) -> None:
    plant(folder, {CLUSTER: cluster(), **files})
    for command in (("check",), ("plan", "--to=v2.9.4")):
        run(folder, source, *command)


@pytest.mark.parametrize("name", SHAPES)
def test_work_grows_no_faster_than_the_file(
    name: str, tmp_path: Path, written_source: Path, record_property: Callable[[str, object], None]
) -> None:
    shape = SHAPES[name]
    work(tmp_path / "first", written_source, shape.files(SIZES[1] - 1))  # which imports
    found = [steps(tmp_path / str(count), written_source, shape.files(count)) for count in SIZES]
    record_property("steps", dict(zip(SIZES, found, strict=True)))
    assert_linear(found)


def test_work_grows_no_faster_than_the_files_of_a_terraform_module(tmp_path: Path, written_source: Path) -> None:
    def module(count: int) -> dict[str, str]:
        text = 'resource "flux_bootstrap_git" "a@" {\n  version = "v2.8.7"\n  path = "a@"\n}\n'
        return {f"infra/{each}.tf": text.replace("@", str(each)) for each in range(count)}

    sizes = [size // 2 for size in SIZES]
    work(tmp_path / "first", written_source, module(sizes[1] - 1))  # which imports
    assert_linear([steps(tmp_path / str(count), written_source, module(count)) for count in sizes])


def assert_linear(found: Sequence[int]) -> None:
    small, middle, large = found
    assert large - middle <= FASTER * max(middle - small, 0) + SLACK, found
