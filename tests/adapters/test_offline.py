"""Offline, there are no releases, artifacts or charts, and to ask for a release's manifests is an error."""

from __future__ import annotations

import pytest

from flux_upgrade.adapters.recording import NoArtifacts, NoCharts, NoReleases
from flux_upgrade.model.errors import ReleaseNotFound
from flux_upgrade.model.ports import Artifacts, Charts, Releases


def test_nothing_is_known() -> None:
    releases: Releases = NoReleases()
    artifacts: Artifacts = NoArtifacts()
    charts: Charts = NoCharts()
    assert releases.list() == ()
    with pytest.raises(ReleaseNotFound):
        releases.manifests("v2.9.4")
    assert releases.published("v2.9.4") is None
    assert releases.generator_hashes("v2.9.4", ("main.go",)) is None
    assert releases.commit("v2.9.4") == ""
    assert artifacts.digest("ghcr.io/a/b", "x") is None
    assert artifacts.digests([("ghcr.io/a/b", "x")]) == {("ghcr.io/a/b", "x"): None}
    assert artifacts.annotations("ghcr.io/a/b", "x") is None
    assert artifacts.tags("ghcr.io/a/b") == ()
    assert artifacts.listing("ghcr.io/a/b", "x") is None
    assert charts.versions("https://charts.example.com", "flux2") == {}
