"""The releases of Flux v0 from which one step leads to Flux 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from flux_upgrade.pins.before_flux_2 import leads_to_first
from robot.releases import Flux
from robot.shortest import is_taken, versions

pytestmark = pytest.mark.real_part("shared data")


def test_the_api_server_takes_the_first_release_after_each_that_leads_there(releases: Path) -> None:
    tags = [path.name for path in releases.iterdir() if path.name.startswith("v0.")]
    leading = [tag for tag in tags if leads_to_first(tag)]
    assert {"v0.16.0", "v0.41.2"} <= {*leading}
    assert not {"v0.15.3", "v0.10.0"} & {*leading}
    for has_images in (False, True):
        first = Flux("v2.0.0", has_images, releases)
        refused = [tag for tag in leading if not is_taken(versions(first._replace(release=tag)), first)]
        assert not refused


@pytest.mark.parametrize("version", ["v0.0.0-dev", "v0.0.0-1a2b3c", "v2.0.0", "main", ""])
def test_nothing_else_does(version: str) -> None:
    assert not leads_to_first(version)
