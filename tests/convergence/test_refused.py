"""What GitHub refuses for good is tried once; what fails in passing is tried again."""

from __future__ import annotations

import pytest
from github_stand_in import FAULTS, Token, to

from convergence.asking import OLD, SUMMARY, Opens, newer, open_in, require_rest, state_of
from convergence.fleet import CONFIG, PATCH, PATH, Fleet, manifest
from flux_upgrade.model import markers

_ALL = {"contents": "write", "pull-requests": "write", "issues": "write"}


def _without_statuses(fleet: Fleet) -> Token:
    fleet.token = fleet.hub.token("actions", _ALL)
    return fleet.token


def _statuses(writes: tuple[str, ...]) -> int:
    return writes.count("POST /statuses/{sha}")


def test_a_status_that_is_refused_is_tried_once_for_each_commit(opens: Opens) -> None:
    fleet = opens(config=SUMMARY)
    _without_statuses(fleet)
    ran = fleet.run()
    assert (ran.outcome, _statuses(ran.writes)) == ("opened", 1)
    assert "statuses: write" in ran.log
    for _ in range(2):
        ran = fleet.run()
        assert (ran.writes, "statuses: write" in ran.log) == ((), False)
    newer(fleet)
    ran = fleet.run()
    assert (ran.outcome, _statuses(ran.writes)) == ("updated", 1)
    require_rest(fleet)


def test_a_status_is_set_with_the_next_commit_once_the_token_may(opens: Opens) -> None:
    fleet = opens(config=SUMMARY)
    _without_statuses(fleet)
    fleet.run()
    assert state_of(fleet).given == ("refused:status",)
    fleet.token = fleet.hub.token("actions")
    require_rest(fleet)
    newer(fleet)
    fleet.run()
    assert fleet.repository.status(fleet.repository.head(PATCH))[markers.PROOF].state == "success"
    assert state_of(fleet).given == ()
    require_rest(fleet)


def test_a_status_that_is_refused_on_an_open_pull_request_is_tried_once(patch: Fleet) -> None:
    patch.repository.statuses.clear()
    _without_statuses(patch)
    assert _statuses(patch.run().writes) == 1
    require_rest(patch)


def test_a_hold_is_written_once_where_the_status_is_refused(opens: Opens) -> None:
    fleet = opens("v2.8.7", SUMMARY, ("v2.8.7", "v2.8.8"))
    _without_statuses(fleet)
    fleet.run()
    edited = manifest("v2.8.7").replace(b"v2.8.7", b"v2.8.6")
    fleet.people.push("main", {PATH: edited}, "Break it\n")
    fleet.run()
    require_rest(fleet)


@pytest.mark.parametrize("config", ["reviewers: [stranger]\n", "assignees: [stranger]\n", "reviewers: [acme/nobody]\n"])
def test_people_who_do_not_exist_are_tried_once_for_each_commit(config: str, opens: Opens) -> None:
    fleet = opens(config=SUMMARY + config)
    ran = fleet.run()
    assert (ran.code, ran.outcome) == (0, "opened")
    assert "warning: " in ran.log
    require_rest(fleet)
    newer(fleet)
    ran = fleet.run()
    assert (ran.outcome, "warning: " in ran.log) == ("updated", True)
    require_rest(fleet)


def test_a_person_who_is_configured_later_is_asked_without_the_one_who_does_not_exist(patch: Fleet) -> None:
    patch.people.push("main", {CONFIG: f"{SUMMARY}reviewers: [stranger]\n".encode()}, "Ask\n")
    assert "POST /pulls/1/requested_reviewers" in patch.run().writes
    require_rest(patch)
    patch.people.push("main", {CONFIG: f"{SUMMARY}reviewers: [stranger, bob]\n".encode()}, "Ask Bob\n")
    ran = patch.run()
    assert ran.writes.count("POST /pulls/1/requested_reviewers") == 1
    assert patch.repository.pulls[1].reviewers == ["bob"]
    require_rest(patch)


def test_extras_are_given_though_the_status_is_refused(patch: Fleet) -> None:
    newer(patch)
    patch.people.push("main", {CONFIG: f"{SUMMARY}labels: [flux]\n".encode()}, "Label\n")
    _without_statuses(patch)
    patch.run()
    assert patch.repository.pulls[1].labels == ["flux"]
    require_rest(patch)


@pytest.mark.parametrize("at", ["/requested_reviewers", "/statuses/"])
def test_what_fails_in_passing_is_tried_again(at: str, opens: Opens) -> None:
    fleet = opens(config=f"{SUMMARY}reviewers: [bob]\n", tags=OLD)
    fleet.hub.fail(FAULTS["502"], to("POST", at), times=2)
    ran = fleet.run()
    assert (ran.outcome, open_in(fleet)) == ("opened", [1])
    fleet.undisturbed()
    assert fleet.run().writes
    assert (fleet.repository.pulls[1].reviewers, len(fleet.repository.statuses)) == (["bob"], 1)
    require_rest(fleet)
