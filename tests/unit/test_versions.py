"""A release's version is its tag, and stands in the order of semver; never in that of its text."""

from __future__ import annotations

import pytest

from flux_upgrade.model.versions import NO_VERSION, Version


def test_it_is_the_text_of_its_tag() -> None:
    version = Version("v2.9.4")
    assert version == "v2.9.4"
    assert {"v2.9.4": "there"}[version] == "there"
    assert f"{version} {version.bare} {version.minor} {version.numbers}" == "v2.9.4 2.9.4 2.9 (2, 9, 4)"


@pytest.mark.parametrize(
    ("lower", "higher"),
    [("v2.9.4", "v2.10.0"), ("v2.10.0-rc.1", "v2.10.0"), ("v2.10.0-rc.2", "v2.10.0-rc.10"), ("v0.41.2", "v2.0.0")],
)
def test_it_is_ordered_beside_versions_and_beside_text(lower: str, higher: str) -> None:
    assert Version(lower) < Version(higher)
    assert Version(lower) <= higher
    assert higher > Version(lower)
    assert lower < Version(higher)
    assert Version(higher) >= lower
    assert max([Version(lower), Version(higher)]) == higher
    assert sorted([Version(higher), Version(lower)]) == [lower, higher]


def test_build_metadata_does_not_count_in_the_order() -> None:
    one, other = Version("v2.9.4"), Version("v2.9.4+build")
    assert not one < other
    assert not one > other
    assert other.minor == "2.9"
    assert other.numbers == (2, 9, 4)


@pytest.mark.parametrize("text", ["", "latest", "2.9.4", "v2.9", "v2.9.x"])
def test_other_text_is_none(text: str) -> None:
    assert Version.parse(text) is None


@pytest.mark.parametrize(("tag", "is_prerelease"), [("v2.9.4", False), ("v2.9.0-rc.1", True), ("v2.9.4+a-b", False)])
def test_what_a_prerelease_is(tag: str, is_prerelease: bool) -> None:  # noqa: FBT001 given by the table
    assert Version(tag).is_prerelease is is_prerelease


def test_no_version_is_false() -> None:
    assert not NO_VERSION
    assert NO_VERSION.minor == ""
