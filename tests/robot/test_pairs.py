"""A reader of one report, for two clusters that read the same manifests and run different releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from robot.journeys import newest_of_minors
from robot.laptop import Laptop
from robot.pair import Pair
from robot.robot import follow

pytestmark = pytest.mark.real_part("shared data")
STAGING, PRODUCTION = "clusters/integration", "clusters/production"


@pytest.mark.parametrize(("first", "second"), [("v2.0.1", "v2.4.0"), ("v2.2.3", "v2.6.4"), ("v2.4.0", "v2.0.1")])
def test_a_reader_gets_both_clusters_to_the_newest_release(
    first: str, second: str, releases: Path, tmp_path: Path
) -> None:
    pair = Pair({STAGING: first, PRODUCTION: second}, releases)
    laptop = Laptop(tmp_path, pair)
    laptop.begin(pair.files())
    follow(laptop)
    assert laptop.is_clean, pair.told
    newest = newest_of_minors(releases)[-1]
    assert [cluster.releases[-1] for cluster in pair.clusters.values()] == [newest, newest], pair.told
