"""A reader who does what is printed, to the letter, gets from any release of Flux 2 to the newest."""

from __future__ import annotations

from pathlib import Path

import pytest

from robot.cluster import FollowingCluster
from robot.installations import INSTALLATIONS, of_flux_0
from robot.journeys import Journey, newest_of_minors
from robot.laptop import Laptop
from robot.robot import follow
from robot.scenarios import SCENARIOS, Scenario

pytestmark = pytest.mark.real_part("shared data")


def test_a_reader_arrives_at_the_newest_release(journey: Journey, releases: Path, tmp_path: Path) -> None:
    cluster = FollowingCluster(journey.installation, journey.has_images, releases)
    laptop = Laptop(tmp_path, cluster)
    laptop.begin(journey.installation.write(cluster.flux(journey.release)))
    follow(laptop)
    assert laptop.is_clean, cluster.told
    journey.check(cluster)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=list(SCENARIOS))
def test_a_reader_gets_past_what_is_in_the_way(scenario: Scenario, releases: Path, tmp_path: Path) -> None:
    journey = Journey(scenario.release, INSTALLATIONS[0], has_images=False)
    cluster = FollowingCluster(journey.installation, journey.has_images, releases)
    laptop = Laptop(tmp_path, cluster)
    laptop.begin({**journey.installation.write(cluster.flux(journey.release)), **scenario.files})
    scenario.begin(laptop)
    follow(laptop)
    assert laptop.is_clean, cluster.told
    journey.check(cluster)


def test_a_reader_gets_from_flux_0_to_the_newest_release(releases: Path, tmp_path: Path) -> None:
    cluster = FollowingCluster(INSTALLATIONS[0], has_images=False, source=releases)
    laptop = Laptop(tmp_path, cluster)
    laptop.begin(of_flux_0(cluster.flux("v0.41.2")))
    follow(laptop)
    assert laptop.is_clean, cluster.told
    assert cluster.releases[:2] == ["v0.41.2", "v2.0.0"], cluster.told
    assert cluster.releases[-1] == newest_of_minors(releases)[-1], cluster.told
