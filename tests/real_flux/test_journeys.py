"""A reader who does what is printed, to the letter, on a real API server: Flux's real controllers are ready at the end.

Twenty of the robot's journeys. Each has an API server and an etcd to itself: they start in a few seconds, and nothing of
another journey is stored there. The repository has each kind in the version that the first release stores, and in the
oldest that it serves; kubectl creates more objects. Flux's releases are applied as kustomize-controller does it, because
its older versions cannot be built here. The CLI that a step names runs `flux migrate`. The newest CLI runs it for the
flux-operator, which does not run here.

After each change, the API server's stored versions are those of the robot's double, and every object can be read. In the
end, the controllers of the newest release run in the cluster, and kustomize-controller applies what the robot has merged.
It fetches nothing from GitHub, so it applies Flux itself only if the manifest is in the repository.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from git_servers import HttpHost, git
from real_flux import journey_objects
from real_flux.arrival import Arrival
from real_flux.conftest import Start
from real_flux.journey_server import JourneyServer
from real_parts import require_shared, shared
from robot.cluster import FollowingCluster
from robot.journeys import Journey, journeys
from robot.laptop import Laptop
from robot.robot import follow

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

_MOST = 20
_SEED = 46


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    source = shared("conformance", "releases")
    if "journey" in metafunc.fixturenames:
        # Without the data, the test says what is missing.
        metafunc.parametrize("journey", _spread(journeys(source, None)) if source.exists() else [None], ids=str)


def test_a_reader_arrives_at_controllers_that_are_ready(journey: Journey, start: Start, tmp_path: Path) -> None:
    releases = require_shared("conformance", "releases")
    (tmp_path / "served").mkdir()
    (tmp_path / "flux").mkdir()
    server = JourneyServer(start())
    cluster = FollowingCluster(journey.installation, journey.has_images, releases, server)
    first = cluster.flux(journey.release)
    with HttpHost(tmp_path / "served") as host:
        laptop = Laptop(host.root / "octo", cluster)
        address = f"{host.url}/octo/origin.git"
        repository = journey_objects.files(journey, first, address)
        laptop.begin(repository)
        for resource in journey_objects.created(repository, first, address):
            server.create(resource)
        follow(laptop)
        assert laptop.is_clean, cluster.told
        journey.check(cluster)
        kustomizations = ["apps", *(["flux-system"] if journey.installation.is_content else [])]
        head = git("rev-parse", "main", at=laptop.folder / "origin.git")
        Arrival(server.plane, cluster.flux(cluster.releases[-1]), head, kustomizations).check(tmp_path / "flux")
    server.check()


def test_the_journeys_are_spread() -> None:
    every = journeys(require_shared("conformance", "releases"), None)
    traits = [trait for journey in every for trait in _traits(journey)]
    chosen = [trait for journey in _spread(every) for trait in _traits(journey)]
    assert {*chosen} == {*traits}


def _spread(every: Sequence[Journey]) -> list[Journey]:
    """Choose journeys, with as many of one minor, of one installation, and with images as of another."""
    left = random.Random(_SEED).sample(every, len(every))  # noqa: S311  (a sample)
    chosen: list[Journey] = []
    counts: Counter[object] = Counter()
    while left and len(chosen) < _MOST:
        journey = min(left, key=lambda journey: sum(counts[trait] for trait in _traits(journey)))
        left.remove(journey)
        chosen.append(journey)
        counts.update(_traits(journey))
    return chosen


def _traits(journey: Journey) -> Iterator[object]:
    yield journey.release.rpartition(".")[0]
    yield journey.installation.name
    yield journey.has_images or journey.installation.has_all
