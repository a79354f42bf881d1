"""Fleets to begin with, and one test for each disturbance of a run."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from convergence.asking import OLD, SUMMARY, Opens
from convergence.fleet import Fleet, fleet_at, installation
from convergence.fork_server import ForkServer
from convergence.judging import Judge
from convergence.matrix import Cell, cells
from convergence.races import Kill, Pair, Surprise, kills, pairs, surprises
from convergence.scenarios import staged


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each disturbance, and the judge of its scenario."""
    years = metafunc.config.getoption("--years")
    # A year with groups that come one after the other is twice as likely.
    for name, count in {"seed": years - years // 2, "ring_seed": years}.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, range(count))
    both_ways = metafunc.config.getoption("--all-faults")
    disturbances: Mapping[str, Iterable[Cell | Kill | Pair | Surprise]] = {
        "cell": cells(both_ways=both_ways),
        "kill": kills(),
        "pair": pairs(both_ways=both_ways),
        "surprise": surprises(),
    }
    for name in disturbances.keys() & metafunc.fixturenames:
        rows = [(each.scenario, each) for each in disturbances[name]]
        ids = [str(each) for _, each in rows]
        metafunc.parametrize(("judge", name), rows, indirect=["judge"], ids=ids, scope="session")


@pytest.fixture(scope="session")
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Of a scenario, which is the parameter: pytest plays all that is about one before it sets up the next."""
    with staged(request.param, tmp_path_factory.mktemp("scenario")) as stage:
        gc.collect()
        gc.freeze()  # GitHub's descriptions are half a million objects, which no collection needs to look at again
        yield Judge(stage)
        gc.unfreeze()


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """For runs that are killed."""
    with ForkServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is on loopback, and whoever finds that out by itself looks at each variable at each call."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """To begin with: an installation, and what its source holds."""
    with ExitStack() as stack:

        def opened(tag: str = "v2.8.6", config: str = "", tags: Sequence[str] = OLD, **settings: Any) -> Fleet:
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
