"""A reader who does what pull requests say, to the letter, gets from any release of Flux 2 to the newest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from convergence.fleet import fleet_at
from convergence.runs import NAME
from robot.cluster import FollowingCluster
from robot.host import Host
from robot.installations import INSTALLATIONS
from robot.journeys import Journey
from robot.reading import report_of
from robot.scenarios import SCENARIOS

pytestmark = [pytest.mark.real_part("shared data"), pytest.mark.real_part("GitHub's schemas")]


@contextmanager
def host_of(journey: Journey, releases: Path, folder: Path, files: Mapping[str, str] | None = None) -> Iterator[Host]:
    """Yield a repository with an installation and other files, which a cluster follows."""
    cluster = FollowingCluster(journey.installation, journey.has_images, releases)
    texts = {**journey.installation.write(cluster.flux(journey.release)), **(files or {})}
    with fleet_at(folder, {path: text.encode() for path, text in texts.items()}) as fleet:
        fleet.source = releases
        fleet.hub.clock.set("2026-08-20T06:00:00Z")
        host = Host(fleet, cluster)
        host.reconcile()
        yield host


def test_a_reader_arrives_at_the_newest_release(hosted: Journey, releases: Path, tmp_path: Path) -> None:
    with host_of(hosted, releases, tmp_path) as host:
        host.follow()
        hosted.check(host.cluster)


@pytest.mark.parametrize("release", ["v2.7.5", "v2.8.8"])
def test_a_reader_gets_past_a_declined_minor(release: str, releases: Path, tmp_path: Path) -> None:
    with host_of(Journey(release, INSTALLATIONS[0], has_images=False), releases, tmp_path) as host:
        host.decline()
        host.follow()
        assert host.cluster.releases == list(dict.fromkeys([release, "v2.8.8", "v2.9.4"]))


@pytest.mark.parametrize("name", ["removed API versions", "removed API versions, migrated with the upgrade"])
def test_a_reader_gets_past_removed_api_versions(name: str, releases: Path, tmp_path: Path) -> None:
    journey = Journey(SCENARIOS[name].release, INSTALLATIONS[0], has_images=False)
    with host_of(journey, releases, tmp_path, SCENARIOS[name].files) as host:
        host.follow()
        journey.check(host.cluster)


def test_a_command_that_opened_pull_requests_is_not_the_next_step(releases: Path, tmp_path: Path) -> None:
    cluster = FollowingCluster(INSTALLATIONS[0], has_images=False, source=releases)
    files = {path: text.encode() for path, text in cluster.installation.write(cluster.flux("v2.7.0")).items()}
    with fleet_at(tmp_path, files) as fleet:
        fleet.source = releases
        report = report_of(fleet.command("upgrade", "--pull-request", "--approve=2.9").log)
        url = f"{fleet.hub.url}/{NAME}/pull/1"
    assert [step for step in report.steps if step.sentence.endswith(f": merge {url}") and not step.command]
    assert "upgrade --pull-request" not in report.next
