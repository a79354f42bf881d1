"""Tags are ordered by semantic versioning, and an error about a tag suggests one that exists."""

from __future__ import annotations

import pytest

from flux_upgrade.adapters.releases.directory import not_found, require_tag
from flux_upgrade.model.errors import ReleaseNotFound
from flux_upgrade.model.text import one_line
from flux_upgrade.model.versions import Version, is_tag

ORDERED = [
    "v0.25.2",
    "v0.25.3",
    "v1.0.0-alpha",
    "v1.0.0-alpha.1",
    "v1.0.0-alpha.beta",
    "v1.0.0-beta",
    "v1.0.0-beta.2",
    "v1.0.0-beta.11",
    "v1.0.0-rc.1",
    "v1.0.0",
    "v2.9.4",
    "v2.10.0",
]


def test_orders_as_semver_does() -> None:
    backwards = ORDERED[::-1]
    assert sorted(backwards, key=Version) == ORDERED
    assert all(map(is_tag, ORDERED))


@pytest.mark.parametrize("tag", ["v2.0.0+build.7", "v2.0.0-rc.1+x", "v2.0.0--", "v2.0.0-a-b.0"])
def test_takes_every_form_of_semver(tag: str) -> None:
    require_tag(tag)


NO_TAGS = (
    *("", "v", "2.9.4", "V2.9.4", "v2.9", "v2.9.4.1", "v02.9.4", "v2.9.4-", "v2.9.4-01", "v2.9.4-a..b"),
    *("v2.9.4+", "v2.9.x", "v2.9.4\n", " v2.9.4", "v2.9.4/..", "../../x", "v\u0662.9.4", "v\u00b2.0.0"),
    *("v1.2.3-\u00e4", "v1.2.3-" + "x" * 99, "v1.2.9999999999", "v1.2.3-a/b", "v1.2.3-a\0b", "latest"),
)


@pytest.mark.parametrize("text", NO_TAGS)
def test_refuses_everything_else(text: str) -> None:
    with pytest.raises(ReleaseNotFound) as caught:
        require_tag(text)
    assert caught.value.message.isprintable()
    assert caught.value.hint


def test_guesses_a_forgotten_v() -> None:
    with pytest.raises(ReleaseNotFound) as caught:
        require_tag("2.9.4")
    assert caught.value.hint == "did you mean v2.9.4?"


def test_names_what_there_is() -> None:
    known = ["v2.8.0", "v2.9.4", "junk", "v2.7.1", "v2.7.0", "v2.7.0-rc.1", "v2.7.10"]
    assert "v2.7.10, v2.7.1, v2.7.0, or its newest release v2.9.4" in not_found("v2.7.3", "It", known).hint
    assert not_found("v3.0.0-rc.1", "It", known).hint == "use its newest release v2.9.4"
    assert not_found("v3.0.0", "It").hint


def test_text_from_outside_stays_on_its_line() -> None:
    assert one_line("a\nb\x1b[31m\udcff\u202e") == "a\\nb\\x1b[31m\\xff\\u202e"
    assert len(one_line("x" * 1000)) == 200


def test_a_release_that_is_listed_and_has_no_manifests() -> None:
    error = not_found("v2.9.9", "the source", ["v2.9.9", "v2.9.4"])
    assert "lists" in error.message
    assert "run flux-upgrade again later" in error.hint
