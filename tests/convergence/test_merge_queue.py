"""A pull request in GitHub's merge queue is left alone until it is merged or removed from the queue."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from github_stand_in import Rule

from convergence.asking import OLD, SUMMARY, Opens, held_by, newer, open_in, reasons, require_rest
from convergence.fleet import CONFIG, PATCH, PATH, Fleet, installation, manifest


def _rebase_box(fleet: Fleet) -> None:
    fleet.people.tick(1, "rebase")


def _skip_box(fleet: Fleet) -> None:
    fleet.people.tick(1, "skip")


def _title(fleet: Fleet) -> None:
    body = fleet.repository.pulls[1].body
    fleet.people.edit(1, body=body.replace("**Verification:**", "Believe me:"))


def _labels(fleet: Fleet) -> None:
    fleet.people.push("main", {CONFIG: f"{SUMMARY}labels: [flux]\n".encode()}, "Label\n")


def _done_by_hand(fleet: Fleet) -> None:
    fleet.people.push("main", {PATH: manifest("v2.8.7")}, "By hand\n")


def _gone(fleet: Fleet) -> None:
    files: dict[str, bytes | None] = dict.fromkeys(installation("v2.8.6"))
    fleet.people.push("main", {**files, **installation("v2.8.7", "clusters/other")}, "Move\n")


def _pushed(fleet: Fleet) -> None:
    fleet.people.push(PATCH, {"NOTES.md": b"mine\n"})
    fleet.people.queue(1)


DEEDS = (newer, _rebase_box, _skip_box, _title, _labels, _done_by_hand, _gone, _pushed)


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_what_is_queued_is_left_alone(deed: Callable[[Fleet], None], patch: Fleet) -> None:
    patch.people.queue(1)
    deed(patch)
    before = patch.picture()
    ran = patch.run()
    assert (ran.code, ran.writes, patch.picture()) == (0, (), before), ran.log
    (pull,) = [each for each in ran.report["pull-requests"] if each["reason"]]
    assert pull["reason"] == ("branch-edited" if deed is _pushed else "in-merge-queue")
    patch.people.unqueue(1)
    assert patch.run().writes


def test_what_is_queued_and_as_it_should_be_is_unchanged(patch: Fleet) -> None:
    patch.people.queue(1)
    assert reasons(patch) == {"v2.9.3": "needs-approval"}
    assert len(patch.run().calls) == 1
    require_rest(patch)
    patch.people.merge(1)
    patch.run()
    assert open_in(patch) == []
    require_rest(patch)


def test_the_log_says_that_it_is_queued(patch: Fleet) -> None:
    patch.people.queue(1)
    newer(patch)
    ran = patch.run()
    assert "in-merge-queue: 1 pull request waits: it is in GitHub's merge queue" in ran.log
    patch.people.unqueue(1)
    patch.run()
    assert held_by(patch, PATCH) == manifest("v2.8.8")
    require_rest(patch)


def test_an_outdated_pull_request_in_the_queue_is_not_recreated(opens: Opens) -> None:
    rules = (Rule("REQUIRED_STATUS_CHECKS", "main", is_strict=True),)
    fleet = opens(config=SUMMARY, tags=OLD, rules=rules)
    fleet.run()
    fleet.people.advance_base()
    fleet.people.queue(1)
    require_rest(fleet)
