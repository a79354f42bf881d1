"""Fleets to begin with. The cells are played in two processes; what was played is told at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from convergence.asking import OLD, SUMMARY, Opens
from convergence.fleet import Fleet, fleet_at, installation
from convergence.told import LINES

_PROCESSES = 2


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if LINES:
        terminalreporter.section("convergence")
        for line in LINES:
            terminalreporter.write_line(line)


@pytest.fixture(scope="package")
def processes() -> Iterator[Executor]:
    """Of their own, for a run changes the working folder."""
    with ProcessPoolExecutor(_PROCESSES, get_context("spawn")) as pool:
        # All of them are started here, not by a test (tests/left_behind.py).
        for begun in [pool.submit(time.sleep, 0.1) for _ in range(_PROCESSES)]:
            begun.result()
        yield pool


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """To begin with: an installation, and what its source holds."""
    with ExitStack() as stack:

        def opened(
            tag: str = "v2.8.6", config: str = "", tags: Sequence[str] = OLD, **settings: Any
        ) -> Fleet:
            return stack.enter_context(fleet_at(tmp_path, installation(tag), config, tags, **settings))

        yield opened


@pytest.fixture
def patch(opens: Opens) -> Fleet:
    """A pull request is open for v2.8.7."""
    fleet = opens(config=SUMMARY)
    assert fleet.run().outcome == "opened"
    return fleet


@pytest.fixture
def draft(opens: Opens) -> Fleet:
    """A draft is open for v2.9.3; there is no patch."""
    fleet = opens("v2.8.8", tags=("v2.8.8", "v2.9.3"))
    assert fleet.run().outcome == "opened"
    assert fleet.repository.pulls[1].is_draft
    return fleet
