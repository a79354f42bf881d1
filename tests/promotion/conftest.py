"""A real registry, and the releases of the demo in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import written_release

from adapters.registries import run_registry


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_release.write_source(tmp_path_factory.mktemp("releases"))


@pytest.fixture(scope="session")
def registry_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from run_registry(tmp_path_factory.mktemp("registry"))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """In no checkout: what a checkout says of the artifact would count."""
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))
