"""The dashboard: one issue that is kept current, and whose boxes do what those of pull requests do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from github_stand_in.flux import publish_releases

from convergence.asking import installations, newer, require_rest, state_of
from convergence.dashboards import boxes, dashboard, dashboards, edited, tick, ticked
from convergence.events import answered
from convergence.fleet import CONFIG, MINOR, Fleet, fleet_at, installation
from flux_upgrade.model import markers

_ON = "dashboard: true\n"
_LOOK = "GRAPHQL query"
_TAGS = ("v2.8.6", "v2.8.7", "v2.9.3")
_PATCH, _DRAFT, _ISSUE = 1, 2, 3
_EDIT = (f"GET /issues/{_ISSUE}", f"PATCH /issues/{_ISSUE}")


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """A pull request, a draft and the dashboard."""
    with fleet_at(tmp_path, installations(production="v2.8.6"), _ON, _TAGS) as found:
        assert found.run().outcome == "opened"
        assert dashboard(found).number == _ISSUE
        yield found


def _configure(fleet: Fleet, text: str) -> None:
    fleet.people.push("main", {CONFIG: text.encode()}, "Configure\n")


# One issue, kept current


def test_it_is_opened_with_a_label_and_shows_what_is_open(fleet: Fleet) -> None:
    issue = dashboard(fleet)
    assert (issue.labels, issue.title, issue.author) == ([markers.DASHBOARD], "Flux dashboard", "github-actions[bot]")
    assert "[#1](../pull/1), `clusters/production`, patch, to v2.8.7" in issue.body
    assert "**Approve 2.9**: [#2](../pull/2), `clusters/production`, minor, v2.8.6 → v2.9.3" in issue.body
    assert "| `clusters/production` | v2.8.6 |" in issue.body


def test_a_run_without_news_reads_once_and_writes_nothing(fleet: Fleet) -> None:
    assert fleet.run().calls == (_LOOK,)


def test_the_summary_and_the_report_link_it(fleet: Fleet) -> None:
    ran, url = fleet.run(), f"{fleet.hub.url}/acme/fleet/issues/{_ISSUE}"
    assert ran.report["dashboard"] == {"action": "unchanged", "url": url}
    assert f"[Dashboard]({url})" in ran.summary
    newer(fleet)
    assert fleet.run().report["dashboard"] == {"action": "updated", "url": url}
    _configure(fleet, "dashboard: false\n")
    assert fleet.run().report["dashboard"] == {"action": "closed", "url": url}
    assert "dashboard" not in fleet.run().report


def test_it_follows_what_changes(fleet: Fleet) -> None:
    fleet.people.merge(_PATCH)
    newer(fleet)
    fleet.run()
    assert "| `clusters/production` | v2.8.7 |" in dashboard(fleet).body
    assert "patch, to v2.8.8" in dashboard(fleet).body
    require_rest(fleet)


def test_text_around_it_stays(fleet: Fleet) -> None:
    fleet.people.edit(_ISSUE, body=f"Ask the platform team.\n\n{dashboard(fleet).body}\nThanks.\n")
    assert fleet.run().writes == _EDIT[1:], "that all who edited it may write is recorded"
    require_rest(fleet)
    newer(fleet)
    fleet.run()
    body = dashboard(fleet).body
    assert (body.startswith("Ask the platform team."), body.endswith("Thanks.\r\n")) == (True, True)
    assert "v2.9.4" in body
    require_rest(fleet)


def test_one_that_a_user_closes_is_reopened(fleet: Fleet) -> None:
    fleet.people.close(_ISSUE)
    assert fleet.run().writes == (f"PATCH /issues/{_ISSUE}",)
    assert dashboard(fleet).number == _ISSUE
    require_rest(fleet)


def test_switched_off_it_is_closed_and_switched_on_it_is_the_same(fleet: Fleet) -> None:
    _configure(fleet, "{}\n")
    fleet.run()
    assert dashboards(fleet) == []
    assert "**Closed:**" in fleet.repository.issues[_ISSUE].body
    require_rest(fleet)
    _configure(fleet, _ON)
    fleet.run()
    assert dashboard(fleet).number == _ISSUE
    assert "**Closed:**" not in dashboard(fleet).body
    require_rest(fleet)


def test_of_two_the_newer_is_closed(fleet: Fleet) -> None:
    second = fleet.repository.open_issue("Flux dashboard", dashboard(fleet).body, "github-actions[bot]")
    fleet.people.label(second.number, markers.DASHBOARD)
    fleet.run()
    assert dashboard(fleet).number == _ISSUE
    require_rest(fleet)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_copy_of_another_account_counts_for_nothing(tmp_path: Path, *, is_first: bool) -> None:
    """Not even if it is older."""
    with fleet_at(tmp_path, installation("v2.8.6"), _ON, _TAGS) as fleet:
        forged = markers.dashboard_block(markers.checkbox("rebase-1", "x", is_ticked=True), "")
        if is_first:
            copy = fleet.repository.open_issue("Flux dashboard", forged, "mallory")
        fleet.run()
        if not is_first:
            copy = fleet.repository.open_issue("Flux dashboard", forged, "mallory")
        fleet.people.label(copy.number, markers.DASHBOARD)
        require_rest(fleet)
        assert copy.body == forged
        (ours,) = (each for each in dashboards(fleet) if each is not copy)
        assert ours.author == "github-actions[bot]"


def test_an_issue_of_ours_without_the_marker_counts_for_nothing(fleet: Fleet) -> None:
    other = fleet.repository.open_issue("Nightly report", "- [x] <!-- flux-upgrade:rebase-1 -->", "github-actions[bot]")
    fleet.people.label(other.number, markers.DASHBOARD)
    before = other.body
    require_rest(fleet)
    assert other.body == before


# What keeps it from being written


def test_without_the_permission_the_run_is_green_and_says_what_to_grant(tmp_path: Path) -> None:
    with fleet_at(tmp_path, installation("v2.8.6"), _ON, _TAGS) as fleet:
        token = fleet.hub.token("actions", permissions={"contents": "write", "pull_requests": "write"})
        ran = fleet.run(token=token)
        assert (ran.code, ran.outcome) == (0, "opened")
        (line,) = (line for line in ran.log.splitlines() if line.startswith("::warning::dashboard:"))
        assert "issues: write" in line
        assert dashboards(fleet) == []


def test_a_token_that_may_only_read_issues_is_told_what_to_grant(tmp_path: Path) -> None:
    with fleet_at(tmp_path, installation("v2.8.6"), _ON, _TAGS) as fleet:
        permissions = {"contents": "write", "pull_requests": "write", "issues": "read", "statuses": "write"}
        ran = fleet.run(token=fleet.hub.token("actions", permissions=permissions))
        assert ran.code == 0
        assert "::warning::dashboard: GitHub refused to open an issue" in ran.log
        assert "issues: write" in ran.log


def test_where_issues_are_switched_off_the_run_is_green(tmp_path: Path) -> None:
    with fleet_at(tmp_path, installation("v2.8.6"), _ON, _TAGS, has_issues=False) as fleet:
        ran = fleet.run()
        assert ran.code == 0
        assert "Features > Issues" in ran.log


def test_a_dry_run_only_says_so(tmp_path: Path) -> None:
    with fleet_at(tmp_path, installation("v2.8.6"), _ON, _TAGS) as fleet:
        ran = fleet.run(dry_run="true")
        assert "dashboard: would be opened" in ran.log
        assert ran.report["dashboard"] == {"action": "opened", "url": None}
        assert "[Dashboard]" not in ran.summary
        assert ran.writes == ()


# Boxes


def test_a_box_approves_a_draft_as_its_other_ways_do(fleet: Fleet) -> None:
    tick(fleet, "approve-", "2.9")
    ran = fleet.run()
    assert "GRAPHQL markPullRequestReadyForReview" in ran.writes
    assert (fleet.repository.pulls[_DRAFT].is_draft, state_of(fleet, _DRAFT).approval) == (False, "2.9")
    assert not [name for name in boxes(fleet) if name.startswith("approve-")]
    assert ticked(fleet) == []
    require_rest(fleet)


def test_a_box_proposes_again_what_was_declined(fleet: Fleet) -> None:
    fleet.people.close(_PATCH)
    fleet.run()
    assert "v2.8.7 was declined: [#1](../pull/1)" in dashboard(fleet).body
    tick(fleet, "approve-", "v2.8.7")
    fleet.run()
    (again,) = (each for each in fleet.repository.pulls.values() if each.state == "open" and each.number != _DRAFT)
    assert markers.state_of(again.body) is not None
    assert (
        f"[#{again.number}](../pull/{again.number}), `clusters/production`, patch, to v2.8.7" in dashboard(fleet).body
    )
    assert "### Declined" not in dashboard(fleet).body
    require_rest(fleet)


def test_a_box_proposes_again_a_minor_that_was_skipped(fleet: Fleet) -> None:
    fleet.people.tick(_DRAFT, "skip")
    fleet.run()
    tick(fleet, "approve-", "2.9", "declined")
    fleet.run()
    (again,) = (each for each in fleet.repository.pulls.values() if each.head == MINOR and each.state == "open")
    assert (again.is_draft, again.number) == (False, _ISSUE + 1)
    require_rest(fleet)


def test_a_box_rebases_and_discards_what_others_pushed(fleet: Fleet) -> None:
    fleet.people.push(MINOR, {"NOTES.md": b"mine\n"})
    fleet.run()
    assert "minor, to v2.9.3, draft, branch-edited" in dashboard(fleet).body
    tick(fleet, f"rebase-{_DRAFT}")
    fleet.run()
    assert "NOTES.md" not in fleet.repository.files(MINOR)
    assert "branch-edited" not in dashboard(fleet).body
    assert ticked(fleet) == []
    require_rest(fleet)


def test_a_box_approves_what_is_cooling_down(tmp_path: Path) -> None:
    config = f"{_ON}cool-down: {{patch: 2w}}\npending: summary\n"
    with fleet_at(tmp_path, installation("v2.8.7"), config, ("v2.8.7", "v2.8.8")) as fleet:
        source = f"{fleet.hub.api_url}/repos/fluxcd/flux2"
        publish_releases(fleet.hub, {"v2.8.7": "2025-01-01T00:00:00Z", "v2.8.8": "2026-03-01T00:00:00Z"})
        fleet.run(release_source=source)
        assert "the cool-down ends on 2026-03-15" in dashboard(fleet).body
        assert not fleet.repository.pulls
        tick(fleet, "approve-", "v2.8.8")
        fleet.run(release_source=source)
        assert [each.is_draft for each in fleet.repository.pulls.values()] == [False]
        assert fleet.run(release_source=source).writes == ()


def test_a_box_that_cannot_be_obeyed_yet_stays_ticked(fleet: Fleet) -> None:
    """A user pushed to the branch: an approval by dispatch is held there, too."""
    fleet.people.push(MINOR, {"NOTES.md": b"mine\n"})
    fleet.run()
    name = tick(fleet, "approve-", "2.9")
    fleet.run()
    assert ticked(fleet) == [name]
    assert fleet.run().writes == ()
    tick(fleet, f"rebase-{_DRAFT}")
    fleet.run()
    assert (ticked(fleet), fleet.repository.pulls[_DRAFT].is_draft) == ([], False)
    require_rest(fleet)


def test_a_box_that_is_ticked_during_a_run_waits_for_the_next(fleet: Fleet) -> None:
    """Neither lost nor obeyed twice: what is written is written over what was looked at."""
    newer(fleet)
    done: list[str] = []

    def disturb(_: int, request: object) -> None:
        if not done and getattr(request, "method", "") == "PATCH" and "/pulls/" in getattr(request, "path", ""):
            done.append(tick(fleet, f"rebase-{_PATCH}"))

    fleet.hub.before_call = disturb
    fleet.run()
    fleet.undisturbed()
    assert done == ticked(fleet) == [f"rebase-{_PATCH}"]
    assert "GRAPHQL updateRefs" in fleet.run().writes
    assert ticked(fleet) == []
    require_rest(fleet)


def test_a_box_of_something_that_is_gone_is_dropped(fleet: Fleet) -> None:
    tick(fleet, f"rebase-{_PATCH}")
    fleet.people.merge(_PATCH)
    fleet.run()
    assert ticked(fleet) == []
    require_rest(fleet)


# Events


def test_a_box_starts_a_run_within_minutes(fleet: Fleet) -> None:
    tick(fleet, "approve-", "2.9")
    assert edited(fleet, dashboard(fleet)).code == 0
    assert not fleet.repository.pulls[_DRAFT].is_draft
    require_rest(fleet)


@pytest.mark.parametrize(
    ("sender", "reason"),
    [("github-actions[bot]", "a bot changed the dashboard #3"), ("alice", "no box of the dashboard #3 is ticked")],
)
def test_what_we_write_starts_no_run_after_another(fleet: Fleet, sender: str, reason: str) -> None:
    ran = edited(fleet, dashboard(fleet), sender)
    assert (ran.code, ran.calls) == (0, ())
    assert reason in ran.log


def test_another_issue_starts_nothing(fleet: Fleet) -> None:
    other = fleet.repository.open_issue("Help", dashboard(fleet).body, "mallory")
    ran = edited(fleet, other)
    assert (ran.code, ran.calls) == (0, ())
    assert f"issue #{other.number} is not the dashboard" in ran.log


def test_a_run_for_one_pull_request_keeps_it_current_too(fleet: Fleet) -> None:
    fleet.people.close(_PATCH)
    assert answered(fleet, _PATCH, "closed").calls == (_LOOK, *_EDIT)
    assert "### Declined" in dashboard(fleet).body
    require_rest(fleet)


# Several at once


@pytest.mark.parametrize(
    "deed", [lambda fleet: fleet.people.close(_ISSUE), lambda fleet: fleet.people.unlabel(_ISSUE, markers.DASHBOARD)]
)
def test_whatever_is_done_to_it_there_is_one_afterwards(fleet: Fleet, deed: Callable[[Fleet], None]) -> None:
    deed(fleet)
    fleet.run()
    assert len(dashboards(fleet)) == 1
    require_rest(fleet)
