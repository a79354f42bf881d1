"""A run makes no more calls to GitHub than it needs, by the log of the stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from github_stand_in.flux import publish_releases

from convergence.fleet import PATCH, PATH, Fleet, fleet_at, installation, manifest
from convergence.runs import Ran, name_of

_DATES = {"v2.8.6": "2025-11-03T09:00:00Z", "v2.8.7": "2025-12-01T09:00:00Z", "v2.8.8": "2026-01-12T09:00:00Z"}
_LATER = {"v2.9.3": "2026-02-02T09:00:00Z", "v2.9.4": "2026-02-23T09:00:00Z"}
_ALL_EXTRAS = {
    "labels": "labels: [flux]\n",
    "assignees": "assignees: [alice]\n",
    "reviewers": "reviewers: [bob, acme/platform]\n",
    "auto-merge": "auto-merge: patch\n",
}
_OPENING = [
    "GRAPHQL query",
    "POST /git/trees",
    "POST /git/commits",
    "POST /git/refs",
    "POST /pulls",
    "POST /statuses/{sha}",
]


class Budget:
    """A fleet whose releases come over the API, too; a cache that survives its runs, if ``home`` is used."""

    def __init__(self, fleet: Fleet, home: Path) -> None:
        self.fleet = fleet
        self.home = home
        publish_releases(fleet.hub, _DATES)

    def run(self, *, cached: bool = False, **inputs: str) -> Ran:
        """A run, and nothing else in the log."""
        self.fleet.hub.forget()
        source = f"{self.fleet.hub.api_url}/repos/fluxcd/flux2"
        home = self.home if cached else None
        ran = self.fleet.run({"release-source": source, **inputs}, home=home)
        assert ran.code == 0, ran.log
        assert len([call for call in self.fleet.hub.calls if "fluxcd" in call.path]) == 1
        return ran

    @property
    def at_home(self) -> list[str]:
        """Calls to the repository."""
        return [name_of(call) for call in self.fleet.hub.calls if "fluxcd" not in call.path]


def _budget(folder: Path, tag: str) -> Iterator[Budget]:
    with fleet_at(folder, installation(tag)) as fleet:
        yield Budget(fleet, folder / "home")


@pytest.fixture
def newest(tmp_path: Path) -> Iterator[Budget]:
    """An installation that is up to date."""
    yield from _budget(tmp_path, "v2.8.8")


@pytest.fixture
def outdated(tmp_path: Path) -> Iterator[Budget]:
    """One that is not."""
    yield from _budget(tmp_path, "v2.8.6")


def test_a_run_with_nothing_to_do_reads_twice_and_writes_nothing(newest: Budget) -> None:
    assert newest.run().outcome == "none"
    assert [call.method for call in newest.fleet.hub.calls] == ["GET", "POST"]
    assert newest.at_home == ["GRAPHQL query"]
    assert not newest.fleet.hub.writes


def test_a_cache_that_survives_makes_the_list_of_releases_conditional(newest: Budget) -> None:
    newest.run(cached=True)
    assert len(newest.fleet.hub.downloads) == 2
    newest.run(cached=True)
    assert [call.status for call in newest.fleet.hub.calls] == [304, 200]
    assert [call.path.rpartition("_")[2] for call in newest.fleet.hub.downloads] == ["checksums.txt"]


def test_a_list_kept_for_one_token_is_not_asked_for_with_another(newest: Budget) -> None:
    newest.run(cached=True)
    token = newest.fleet.hub.token("actions").value
    newest.run(cached=True, release_token=token)
    assert [call.status for call in newest.fleet.hub.calls] == [200, 200]
    newest.run(cached=True, release_token=token)
    assert [call.status for call in newest.fleet.hub.calls] == [304, 200]


def test_opening_takes_six_calls(outdated: Budget) -> None:
    assert outdated.run().outcome == "opened"
    assert outdated.at_home == _OPENING


@pytest.mark.parametrize(
    ("extras", "more"),
    [
        (("labels",), ["PATCH /issues/1"]),
        (("labels", "assignees"), ["PATCH /issues/1"]),
        (("reviewers",), ["POST /pulls/1/requested_reviewers"]),
        (("auto-merge",), ["GRAPHQL enablePullRequestAutoMerge"]),
        (
            ("labels", "assignees", "reviewers", "auto-merge"),
            ["PATCH /issues/1", "POST /pulls/1/requested_reviewers", "GRAPHQL enablePullRequestAutoMerge"],
        ),
    ],
)
def test_labels_with_assignees_reviewers_and_auto_merge_take_one_call_each(
    extras: tuple[str, ...], more: list[str], tmp_path: Path
) -> None:
    config = "".join(_ALL_EXTRAS[each] for each in extras)
    settings: dict[str, Any] = {"auto_merge": True, "required_contexts": ("flux-upgrade/proof",)}
    with fleet_at(tmp_path, installation("v2.8.6"), config, **settings) as fleet:
        budget = Budget(fleet, tmp_path)
        budget.run()
        assert sorted(budget.at_home) == sorted([*_OPENING, *more])


def test_open_and_unchanged_is_read_and_not_written_to(outdated: Budget) -> None:
    outdated.run()
    assert outdated.run().outcome == "none"
    assert outdated.at_home == ["GRAPHQL query"]
    assert len(outdated.fleet.hub.reads) <= 3
    assert not outdated.fleet.hub.writes


def test_a_busy_base_changes_nothing(outdated: Budget) -> None:
    outdated.run()
    for _ in range(3):
        outdated.fleet.people.advance_base()
        outdated.fleet.hub.clock.advance(hours=1)
        outdated.run()
        assert outdated.at_home == ["GRAPHQL query"]


def test_two_open_pull_requests_are_read_at_once(outdated: Budget) -> None:
    publish_releases(outdated.fleet.hub, _LATER)
    outdated.run()
    assert len(outdated.fleet.repository.pulls) == 2
    outdated.run()
    assert outdated.at_home == ["GRAPHQL query"]


def test_a_new_target_takes_seven_calls(outdated: Budget) -> None:
    outdated.run(range="<=2.8.7")
    assert outdated.run().outcome == "updated"
    assert outdated.at_home == [
        "GRAPHQL query",
        "POST /git/trees",
        "POST /git/commits",
        "GRAPHQL updateRefs",
        "POST /statuses/{sha}",
        "GET /pulls/1",
        "PATCH /pulls/1",
    ]


def test_an_approval_takes_four_calls(newest: Budget) -> None:
    publish_releases(newest.fleet.hub, _LATER)
    newest.run()
    newest.run(approve="2.9")
    assert newest.at_home == [
        "GRAPHQL query",
        "GRAPHQL markPullRequestReadyForReview",
        "GET /pulls/1",
        "PATCH /pulls/1",
    ]


def test_closing_takes_three_calls(outdated: Budget) -> None:
    outdated.run()
    outdated.fleet.people.push("main", {PATH: manifest("v2.8.8")}, "By hand\n")
    assert outdated.run().outcome == "closed"
    assert outdated.at_home == ["GRAPHQL query", "GET /pulls/1", "PATCH /pulls/1"]


def test_a_closed_one_is_read_and_not_written_to(outdated: Budget) -> None:
    outdated.run()
    outdated.fleet.people.close(1)
    outdated.fleet.people.delete_branch(PATCH)
    outdated.run()
    assert outdated.at_home == ["GRAPHQL query"]


def test_a_dry_run_and_a_plan_write_nothing(outdated: Budget) -> None:
    dry: tuple[dict[str, Any], ...] = ({"dry_run": "true"}, {"mode": "plan"})
    for inputs in dry:
        outdated.run(**inputs)
        assert outdated.at_home == ["GRAPHQL query"]
