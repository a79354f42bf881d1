"""Each real file is proved and upgraded once, for all tests; the counts are told at the end."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conformance.real_files import COUNTS, Record, records_of, rows
from real_parts import require_shared


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
    with ProcessPoolExecutor(max_workers=len(halves)) as pool:
        return [record for half in pool.map(records_of, [conformance] * 2, halves) for record in half]
