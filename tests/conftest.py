from __future__ import annotations

from pathlib import Path

import pytest
import written_release

from left_behind import LeftBehind


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(LeftBehind())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the program gives now into tests/cases, to be looked at and committed",
    )


@pytest.fixture(scope="session")
def written_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release source of releases that were written for the tests: a folder."""
    return written_release.write_source(tmp_path_factory.mktemp("releases"))
