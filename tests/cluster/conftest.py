"""A fresh cluster for each test; the real one is started once, and emptied in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import api_servers
from cluster.api_servers import Server
from cluster.driving import Driven


@pytest.fixture(scope="session")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with api_servers.real(tmp_path_factory.mktemp("control-plane")) as server:
        yield server


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[Driven]:
    with api_servers.stand_in(tmp_path) as server, Driven(server).running() as driven:
        yield driven


@pytest.fixture(params=["stand-in", pytest.param("real", marks=pytest.mark.cluster)])
def driven(request: pytest.FixtureRequest) -> Iterator[Driven]:
    if request.param == "stand-in":
        yield request.getfixturevalue("stand_in")
        return
    with Driven(request.getfixturevalue("real_server")).running() as driven:
        yield driven
    driven.empty()
