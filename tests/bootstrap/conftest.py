"""A user's laptop with a checkout, and the servers that it pushes to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.faulty_registry import FaultyRegistry
from adapters.registries import run_registry
from bootstrap.cli_runs import GITHUB, Laptop, clone_with
from git_servers import HttpHost, SshHost


@pytest.fixture
def laptop(written_source: Path) -> Laptop:
    return Laptop(written_source)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of a repository on GitHub."""
    return clone_with(tmp_path / "fleet", GITHUB)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file for a Secret, not written yet, in a folder that only its user can read."""
    (tmp_path / "own").mkdir(mode=0o700)
    return tmp_path / "own" / "secret.yaml"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HttpHost]:
    (tmp_path / "served").mkdir()
    with HttpHost(tmp_path / "served") as running:
        yield running


@pytest.fixture(scope="session")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    with SshHost(tmp_path_factory.mktemp("server") / "ssh") as running:
        yield running


@pytest.fixture(scope="session")
def registry_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from run_registry(tmp_path_factory.mktemp("registry"), in_memory=True)


@pytest.fixture(scope="session")
def shared_proxy(registry_url: str) -> Iterator[FaultyRegistry]:
    with FaultyRegistry(registry_url) as running:
        yield running


@pytest.fixture
def proxy(shared_proxy: FaultyRegistry) -> FaultyRegistry:
    """In front of the registry, without faults and without memory of another test."""
    shared_proxy.heal()
    shared_proxy.passed.clear()
    return shared_proxy
