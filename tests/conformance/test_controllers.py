"""kustomize-controller has the minor of the Flux that ships it, in every release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flux_upgrade.adapters.releases.directory import DirectoryReleases

pytestmark = pytest.mark.real_part("shared data")

IMAGE = re.compile(r"fluxcd/kustomize-controller:v1\.(\d+)\.")


def test_the_minor_of_kustomize_controller_is_that_of_flux(releases: Path) -> None:
    source = DirectoryReleases(str(releases))
    tags = [each.tag for each in source.list() if each.tag.is_flux_2 and not each.tag.is_prerelease]
    minors = {tag: IMAGE.findall("".join(source.manifests(tag).files.values())) for tag in tags}
    assert minors == {tag: [str(tag.numbers[1])] for tag in tags}
    assert len(tags) > 30
