"""A reader who does what pull requests say, to the letter, gets from any release of Flux 2 to the newest."""

from __future__ import annotations

from pathlib import Path

import pytest

from convergence.fleet import fleet_at
from robot.cluster import FollowingCluster
from robot.host import Host
from robot.journeys import Journey

pytestmark = [pytest.mark.real_part("shared data"), pytest.mark.real_part("GitHub's schemas")]


def test_a_reader_arrives_at_the_newest_release(hosted: Journey, releases: Path, tmp_path: Path) -> None:
    cluster = FollowingCluster(hosted.installation, hosted.has_images, releases)
    files = {
        path: content.encode() for path, content in hosted.installation.write(cluster.flux(hosted.release)).items()
    }
    with fleet_at(tmp_path, files) as fleet:
        fleet.source = releases
        fleet.hub.clock.set("2026-08-20T06:00:00Z")
        host = Host(fleet, cluster)
        host.reconcile()
        host.follow()
    hosted.check(cluster)
