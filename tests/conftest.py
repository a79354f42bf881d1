from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
import written_release

import hypothesis_profiles
from left_behind import LeftBehind


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    hypothesis_profiles.register()
    # Parsed manifests are large and live long: at the default of 700 objects a quarter of the time goes into gc.
    gc.set_threshold(100_000, 20, 20)
    config.pluginmanager.register(LeftBehind())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: writes to GitHub are a second apart, and a core need not wait with them."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the program gives now into the case files, to be read and committed",
    )
    parser.addoption(
        "--all-faults",
        action="store_true",
        help="let each fault strike before and after each call's work, instead of either in turn",
    )
    parser.addoption(
        "--all-knowledge",
        action="store_true",
        help="take each piece of knowledge away from all repositories, in all ways, instead of a sample",
    )
    parser.addoption(
        "--all-journeys",
        action="store_true",
        help="follow the steps from the first and last release of each minor, however Flux is installed",
    )
    parser.addoption(
        "--years", type=int, default=2, help="how many years with groups to simulate, and half as many without"
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether the test is to write what it finds into its case file, and not only to compare."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def written_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release source of releases that were written for the tests: a folder."""
    return written_release.write_source(tmp_path_factory.mktemp("releases"))
