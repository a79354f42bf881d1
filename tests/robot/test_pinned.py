"""A reader who does what is printed about an artifact that Git pins, to the letter, arrives at the newest release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.registries import run_registry
from robot.cluster import FollowingCluster
from robot.installations import INSTALLATIONS
from robot.journeys import Journey
from robot.pinned import Pinned
from robot.robot import follow

pytestmark = [pytest.mark.real_part("shared data"), pytest.mark.real_part("docker-registry")]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from run_registry(tmp_path_factory.mktemp("registry"), in_memory=True)


@pytest.mark.parametrize("release", ["v2.0.1", "v2.2.3", "v2.6.4", "v2.8.8"])
def test_a_reader_arrives_at_the_newest_release(release: str, releases: Path, registry: str, tmp_path: Path) -> None:
    journey = Journey(release, INSTALLATIONS[0], has_images=False)
    cluster = FollowingCluster(journey.installation, journey.has_images, releases)
    name = f"org/{tmp_path.name.replace('_', '-').lower()}"
    pinned = Pinned(tmp_path, cluster, registry, name)
    pinned.begin(journey.installation.write(cluster.flux(release)))
    follow(pinned)
    assert pinned.is_clean, cluster.told
    journey.check(cluster)
