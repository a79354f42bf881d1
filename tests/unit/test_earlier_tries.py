"""What the commits of a manifest tell of upgrades that were tried before."""

from __future__ import annotations

import pytest

from flux_upgrade.impact.stored_versions.history import earlier_tries
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.versions import Version


def pasts(*releases: str, aside: frozenset[int] = frozenset()) -> FileRevisions:
    """A revision a day; of ``v2.8.0``, or with something behind a space that is another content."""
    return FileRevisions(
        tuple(
            FileRevision(
                f"{day:040}",
                f"2026-02-{day:02}T00:00:00Z",
                f"# Flux Version: {release.split()[0]}\n# {release}\n".encode() if release else b"nothing",
                day in aside,
            )
            for day, release in enumerate(releases, 1)
        )
    )


def test_the_last_descent_is_named_with_its_commit_and_dates() -> None:
    back = earlier_tries(pasts("v2.7.5", "v2.8.0", "v2.8.0 edited", "v2.7.5"), Version("v2.8.3")).taken_back
    assert back is not None
    assert (back.release, back.back_to) == ("v2.8.0", "v2.7.5")
    assert (back.since[:10], back.until[:10]) == ("2026-02-02", "2026-02-04")
    assert back.commit.endswith("4")


@pytest.mark.parametrize(
    "releases",
    [
        pytest.param((), id="no history"),
        pytest.param(("v2.7.5",), id="one release"),
        pytest.param(("v2.7.4", "v2.7.5"), id="upward alone"),
        pytest.param(("v2.7.5", "v2.9.0", "v2.7.5"), id="another minor"),
        pytest.param(("v2.7.5", "v2.8.0", "v2.7.5", "v2.8.1"), id="there since"),
        pytest.param(("v2.7.5", "v2.8.0", "", "v2.8.0"), id="a content that names no release"),
    ],
)
def test_nothing_was_taken_back(releases: tuple[str, ...]) -> None:
    assert earlier_tries(pasts(*releases), Version("v2.8.3")).taken_back is None


def test_a_patch_that_was_taken_back() -> None:
    back = earlier_tries(pasts("v2.6.0", "v2.6.1", "v2.6.0"), Version("v2.6.2")).taken_back
    assert back is not None
    assert (back.release, back.back_to) == ("v2.6.1", "v2.6.0")


def test_a_patch_that_was_taken_back_and_not_come_to_again() -> None:
    back = earlier_tries(pasts("v2.7.4", "v2.7.5", "v2.7.3", "v2.7.4"), Version("v2.7.6")).taken_back
    assert back is not None
    assert (back.release, back.back_to) == ("v2.7.5", "v2.7.3")


def test_what_a_merged_branch_had_may_never_have_run() -> None:
    found = earlier_tries(pasts("v2.7.5", "v2.8.0", "v2.7.5", aside=frozenset({2})), Version("v2.8.3"))
    assert found.taken_back is None


@pytest.mark.parametrize(
    ("releases", "times"),
    [
        pytest.param(("v2.7.5", "v2.8.0", "v2.7.5", "v2.8.0"), 0, id="a revert, and another try"),
        pytest.param(("v2.7.5", "v2.8.0", "v2.7.5", "v2.8.0", "v2.7.5"), 3, id="two writers"),
        pytest.param(("v2.7.5", "v2.7.5 a", "v2.7.5", "v2.7.5 a", "v2.7.5"), 3, id="two writers of one release"),
        pytest.param(("v2.7.5", "v2.7.5", "v2.7.5", "v2.7.5"), 0, id="the same content"),
        pytest.param(("v2.6.0", "v2.7.0", "v2.8.0", "v2.9.0"), 0, id="upward alone"),
    ],
)
def test_contents_that_come_back(releases: tuple[str, ...], times: int) -> None:
    returns = earlier_tries(pasts(*releases), Version("v2.9.4")).returns
    assert (returns.times if returns is not None else 0) == times
