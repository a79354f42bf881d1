"""Verifies and upgrades each real file once, for all tests; the report ends with what the tests counted."""

from __future__ import annotations

import gc
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conformance.real_files import COUNTS, Record, records_of, rows
from real_parts import require_shared


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a process of pytest-xdist: hand the counts over to the one that reports."""
    getattr(session.config, "workeroutput", {})["counts"] = COUNTS


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    COUNTS.extend(getattr(node, "workeroutput", {}).get("counts", ()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if COUNTS:
        terminalreporter.section("conformance")
        for line in COUNTS:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def conformance() -> Path:
    return require_shared("conformance")


@pytest.fixture(scope="session")
def releases(conformance: Path) -> Path:
    return conformance / "releases"


@pytest.fixture(scope="session")
def records(conformance: Path) -> list[Record]:
    names = sorted(row["file"] for row in rows(conformance / "wild.jsonl"))
    halves = [set(names[start::2]) for start in range(2)]
    # Trees of YAML nodes have no cycles: to look for them is a third of the time.
    with ProcessPoolExecutor(len(halves), initializer=gc.set_threshold, initargs=(100_000, 20, 20)) as pool:
        return [record for half in pool.map(records_of, [conformance] * 2, halves) for record in half]
