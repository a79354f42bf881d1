"""Real registries, started once, and a working directory without a config file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.registries import run_registry
from promotion.protected import Protected, protected_registry


@pytest.fixture(scope="session")
def registry_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from run_registry(tmp_path_factory.mktemp("registry"), in_memory=True)


@pytest.fixture(scope="session")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Protected]:
    with protected_registry(tmp_path_factory.mktemp("protected")) as running:
        yield running


@pytest.fixture(scope="session")
def no_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(autouse=True)
def elsewhere(no_checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In no checkout, whose config file would count."""
    monkeypatch.chdir(no_checkout)
