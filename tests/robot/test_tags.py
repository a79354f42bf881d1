"""A reader who does what is printed about an artifact, to the letter, moves its tag to the newest release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.registries import run_registry
from robot.cluster import FollowingCluster
from robot.journeys import Journey
from robot.robot import follow
from robot.tag import Tag

pytestmark = [pytest.mark.real_part("shared data"), pytest.mark.real_part("docker-registry")]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from run_registry(tmp_path_factory.mktemp("registry"), in_memory=True)


def test_a_reader_arrives_at_the_newest_release(tagged: Journey, releases: Path, registry: str, tmp_path: Path) -> None:
    cluster = FollowingCluster(tagged.installation, tagged.has_images, releases)
    tag = Tag(registry, f"org/{tmp_path.name.replace('_', '-').lower()}", tmp_path, cluster)
    tag.begin(tagged.installation.write(cluster.flux(tagged.release)))
    follow(tag)
    tagged.check(cluster)
