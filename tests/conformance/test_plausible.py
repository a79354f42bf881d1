"""No real release is refused for its content, patch by patch; each is under the name of another minor."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from conformance.real_files import COUNTS
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.plausible import require_plausible
from flux_upgrade.model.errors import ImplausibleRelease
from flux_upgrade.model.versions import ReleaseManifests, Version

pytestmark = pytest.mark.real_part("shared data")


def test_real_releases_by_their_own_names_and_by_others(releases: Path) -> None:
    source = DirectoryReleases(str(releases))
    tags = sorted(release.tag for release in source.list())
    taken: list[ReleaseManifests] = []
    minors: dict[str, list[ReleaseManifests]] = defaultdict(list)
    for tag in tags:
        found = source.manifests(tag)
        require_plausible(found, taken)
        taken.append(found)
        if tag.is_flux_2 and not tag.is_prerelease:
            minors[tag.minor].append(found)
    refused = 0
    for minor, patches in minors.items():
        next_patch = Version(f"v{minor}.{len(patches)}")
        for found in (each for other, its in minors.items() if other != minor for each in its):
            with pytest.raises(ImplausibleRelease):
                require_plausible(found._replace(tag=next_patch))
            refused += 1
    COUNTS.append(f"{len(taken)} releases under their own names: 0 refused")
    COUNTS.append(f"{sum(map(len, minors.values()))} stable releases of Flux 2 as the next patch of each other minor:")
    COUNTS.append(f"  {refused} of {refused} refused")
    assert len(taken) == 138
    assert sorted(minors) == [f"2.{minor}" for minor in range(10)]
