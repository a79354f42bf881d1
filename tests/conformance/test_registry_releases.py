"""Manifests derived from what Flux published render as the real releases do."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.real_files import members, rows, tell
from derived import differences, generator_of, published, published_components
from flux_upgrade.adapters.releases.directory import DirectoryReleases
from flux_upgrade.manifests.derive import derive
from flux_upgrade.manifests.generators import GENERATORS, known_generator
from flux_upgrade.manifests.render import render
from parsed_options import render_options

pytestmark = pytest.mark.real_part("shared data")


def test_every_release_of_flux_2_derived_renders_the_same_bytes(releases: Path) -> None:
    """By its own rules and by those of other releases, with every flag."""
    source = DirectoryReleases(str(releases))
    tags = [release.tag for release in source.list() if known_generator(release.tag)]
    different = []
    for tag in tags:
        real = source.manifests(tag)
        derived = derive(tag, published(real))
        assert set(derived.components) == set(published_components(real))
        different += [(tag, *each) for each in differences(real, derived, *GENERATORS)]
    tell(f"derived: {len(tags)} releases of Flux 2, {len(different)} renderings different")
    assert not different
    assert len(tags) >= 40


def test_the_manifest_that_flux_published_gives_the_release(releases: Path) -> None:
    source = DirectoryReleases(str(releases))
    real, text = source.manifests("v2.9.4"), source.published("v2.9.4")
    assert text == published(real)
    assert not differences(real, derive("v2.9.4", text), *GENERATORS)


def test_every_golden_of_flux_2_comes_out_of_what_was_published(conformance: Path, releases: Path) -> None:
    source = DirectoryReleases(str(releases))
    goldens = dict(members(conformance / "matrix.tar.xz"))
    equal, left_out = 0, 0
    for row in rows(conformance / "matrix.jsonl"):
        tag = str(row["version"])
        if known_generator(tag) is None:
            continue
        real = source.manifests(tag)
        options = render_options(*row["flux_args"][2:]).install
        if not set(options.components) <= set(published_components(real)):
            left_out += 1
            continue
        derived = derive(tag, published(real))
        assert render(derived, options, generator_of(tag)).encode() == goldens[row["file"]], row["file"]
        equal += 1
    tell(f"derived: {equal} goldens byte-identical, {left_out} with components that were not published")
    assert equal >= 60
