"""Each step on GitHub takes the calls that it needs and no more, and loses no commit or answer of a user."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from github_stand_in import FAULTS, Fault, Request, Rule, to

from adapters.loopback import Loopback
from adapters.on_github import BODY, BRANCH, MANIFEST, PATH, STATUS, TITLE, UPGRADED, World, world
from flux_upgrade.adapters.github.writes import split
from flux_upgrade.adapters.recording import RecordingForge
from flux_upgrade.model import markers
from flux_upgrade.model.errors import (
    DraftsUnavailable,
    ForbiddenByForge,
    ForgeUnavailable,
    LimitReached,
    Overtaken,
    UsageError,
)
from flux_upgrade.model.forge import (
    ClosePull,
    CommentPull,
    Done,
    Extras,
    NewCommit,
    OpenIssue,
    PullState,
    Question,
    RevertPull,
    Step,
    UpdateIssue,
    revert_branch,
)
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.versions import Version
from replacing import replace

OPENING = ["POST /git/trees", "POST /git/commits", "POST /git/refs", "POST /pulls"]
EVERYTHING = Extras(("flux", "deps"), ("bob",), ("bob", "acme/platform"), auto_merge=True)


@pytest.fixture
def on(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def bodies(on: World) -> list[tuple[str, Any]]:
    """Collects path and body of what is sent from now on."""
    found: list[tuple[str, Any]] = []

    def watch(number: int, request: Request) -> None:
        del number
        found.append((request.path, request.json))

    on.hub.before_call = watch
    return found


def no_token_in(on: World, error: Exception) -> None:
    shown = f"{error!r} {getattr(error, 'hint', '')} {on.forge!r} {on.forge.__dict__!r}"
    assert on.token.value not in shown


# Opening


def test_opening_takes_six_calls_with_looking(on: World) -> None:
    step = on.opening()
    done = on.forge.apply(step)
    assert on.calls == ["GRAPHQL query", *OPENING, f"POST /statuses/{done.head}"]
    assert on.forge.calls == 6
    assert done == Done(1, f"{on.hub.url}/acme/fleet/pull/1", on.fleet.head(BRANCH))
    pull = on.fleet.pulls[1]
    assert (pull.title, pull.body, pull.base, pull.head, pull.is_draft) == (TITLE, BODY, "main", BRANCH, False)
    assert on.fleet.files(BRANCH) == {PATH: UPGRADED}
    commit = on.fleet.store.read(done.head)
    assert commit.parents == (on.fleet.head(),)
    assert commit.message == markers.sealed("Upgrade Flux\n\nFlux-Upgrade-Plan: 1", commit.tree)
    assert commit.is_signed
    (status,) = on.fleet.statuses
    assert (status.context, status.state, status.sha) == (STATUS.context, STATUS.state, done.head)
    assert (status.description, status.target_url) == (STATUS.description, STATUS.url)


@pytest.mark.parametrize(
    ("extras", "more"),
    [
        (Extras(labels=("flux",)), ["PATCH /issues/1"]),
        (Extras(labels=("flux", "deps"), assignees=("bob",)), ["PATCH /issues/1"]),
        (Extras(assignees=("bob",)), ["PATCH /issues/1"]),
        (Extras(reviewers=("bob", "acme/platform")), ["POST /pulls/1/requested_reviewers"]),
        (Extras(auto_merge=True), ["GRAPHQL enablePullRequestAutoMerge"]),
        (EVERYTHING, ["PATCH /issues/1", "POST /pulls/1/requested_reviewers", "GRAPHQL enablePullRequestAutoMerge"]),
    ],
)
def test_each_extra_takes_one_call(on: World, extras: Extras, more: list[str]) -> None:
    on.fleet.settings.auto_merge = True
    on.fleet.settings.required_contexts = ("ci",)
    on.fleet.settings.merge_method = "SQUASH"
    done = on.apply(on.opening(extras=extras))
    assert on.calls == [*OPENING, *more, f"POST /statuses/{done.head}"]
    pull = on.fleet.pulls[1]
    assert (tuple(pull.labels), tuple(pull.assignees)) == (extras.labels, extras.assignees)
    assert [*pull.reviewers, *(f"acme/{team}" for team in pull.team_reviewers)] == [*extras.reviewers]
    assert pull.auto_merge == ("squash" if extras.auto_merge else "")
    assert done.warnings == ()


def test_a_draft(on: World) -> None:
    on.opened(is_draft=True)
    assert on.fleet.pulls[1].is_draft


def test_opening_on_a_branch_that_is_there(on: World) -> None:
    on.opened()
    on.fleet.people.close(1)
    head = on.fleet.head(BRANCH)
    done = on.apply(on.opening(commit=None))
    assert on.calls == ["POST /pulls", f"POST /statuses/{head}"]
    assert (done.number, done.head) == (2, head)


def test_opening_on_a_branch_that_is_replaced(on: World) -> None:
    on.opened()
    on.fleet.people.close(1)
    done = on.apply(on.opening(commit=on.remade()))
    assert on.calls == [*OPENING[:2], "GRAPHQL updateRefs", "POST /pulls", f"POST /statuses/{done.head}"]
    assert on.fleet.head(BRANCH) == done.head
    assert on.fleet.store.read(done.head).parents == (on.fleet.head(),)


def test_files_are_committed_byte_for_byte(on: World) -> None:
    given = {
        "a.yaml": ("100644", "ü — 🚀\r\n\n".encode()),
        "b/run.sh": ("100755", b"#!/bin/sh"),
        "empty": ("100644", b""),
        "latin": ("100644", b"\xff\xfe"),
        "nul": ("100644", b"a\0b"),
        "nul-again": ("100644", b"a\0b"),
    }
    seen = on.fetch()
    on.apply(on.opening(commit=NewCommit("Add", seen.base_oid, seen.base_tree, given)))
    entries = {e.path: (e.mode, e.oid) for e in on.fleet.store.entries(on.fleet.head(BRANCH), recursive=True)}
    wanted = {path: (mode, on.fleet.store.blob(content)) for path, (mode, content) in given.items()}
    assert entries == {PATH: ("100644", on.fleet.store.blob(MANIFEST)), **wanted}
    assert on.calls[:3] == ["POST /git/blobs", "POST /git/blobs", "POST /git/trees"]


def test_contents_that_are_too_much_for_one_request() -> None:
    small, large, twice = b"s" * 3, b"l" * 8, b"t" * 4
    files = {name: ("100644", content) for name, content in zip("abcd", (small, large, twice, twice), strict=True)}
    assert split(files, limit=11)[0] == {small: "sss", twice: "tttt"}
    assert split(files, limit=11)[1] == [large]
    assert split(files, limit=10)[1] == [twice, large]
    assert split(files, limit=19)[1] == []


def test_a_large_file_goes_first(on: World) -> None:
    sent = bodies(on)
    seen = on.fetch()
    large = b"0123456789abcdef" * (330 * 1024)
    files = {"large.yaml": ("100644", large), PATH: ("100644", UPGRADED)}
    on.apply(on.opening(commit=NewCommit("Add", seen.base_oid, seen.base_tree, files)))
    (blob,) = [body for path, body in sent if path.endswith("/git/blobs")]
    (tree,) = [body["tree"] for path, body in sent if path.endswith("/git/trees")]
    assert base64.b64decode(blob["content"]) == large
    assert tree == [
        {"path": "large.yaml", "mode": "100644", "type": "blob", "sha": on.fleet.store.blob(large)},
        {"path": PATH, "mode": "100644", "type": "blob", "content": UPGRADED.decode()},
    ]


def test_author_and_committer_are_left_out(on: World) -> None:
    sent = bodies(on)
    on.opened()
    (commit,) = [body for path, body in sent if path.endswith("/git/commits")]
    assert set(commit) == {"message", "tree", "parents"}


def test_files_that_the_base_has_already(on: World) -> None:
    seen = on.fetch()
    commit = NewCommit("Same", seen.base_oid, seen.base_tree, {PATH: ("100644", MANIFEST)})
    with pytest.raises(Overtaken):
        on.apply(on.opening(commit=commit))
    assert on.calls == ["POST /git/trees"]


def test_drafts_are_not_to_be_had(on: World) -> None:
    on.fleet.settings.drafts = False
    with pytest.raises(DraftsUnavailable) as caught:
        on.apply(on.opening(is_draft=True))
    assert caught.value.hint
    assert markers.is_ours(on.fetch().branches[BRANCH].head or pytest.fail("no branch"))
    assert on.fleet.pulls == {}


def test_taking_without_having_looked(on: World) -> None:
    step = on.opening()
    on.forge = on.forge_of(on.token)
    assert on.apply(step).number == 1
    assert on.calls[0] == "GRAPHQL query"


def test_addresses_without_a_prefix(on: World) -> None:
    step = on.opening()
    on.forge = on.forge_of(on.token, api_url=on.hub.url, graphql_url=f"{on.hub.url}/graphql")
    assert on.apply(step).number == 1


@pytest.mark.parametrize("name", ["http://127.0.0.1:1", "https://ghe.example", "http://ghe.example:8443"])
def test_a_server_that_names_itself_otherwise_is_asked_where_it_is(on: World, name: str) -> None:
    on.hub.named = name
    on.fleet.settings.auto_merge = True
    on.fleet.settings.required_contexts = ("ci",)
    state = MarkerState("production", "patch", Version("v2.8.1"), given=(*EVERYTHING.names, "label:none"))
    done = on.opened(extras=EVERYTHING, body=markers.block("Text", state))
    assert (done.url, done.warnings) == (f"{name}/acme/fleet/pull/1", ())
    for number in range(31):
        on.fleet.comment(on.fleet.pulls[1], f"{number}\n", "alice")
    on.apply(CommentPull(on.pull, "<!-- flux-upgrade:stopped 1 -->\nStopped.\n", "commented"))
    assert len(on.fleet.pulls[1].comments) == 32
    on.apply(on.updating(commit=on.remade(), title="T", extras=Extras(assignees=("alice",)), status=STATUS))
    assert (on.pull.title, on.fleet.pulls[1].assignees) == ("T", ["bob", "alice"])


def test_an_address_of_something_else_is_no_address_of_its_api(on: World) -> None:
    on.hub.named = "http://127.0.0.1:1/elsewhere?"
    (warning,) = on.opened(extras=Extras(reviewers=("bob",))).warnings
    assert "/requested_reviewers is not an address of its API (check the API's URLs and any proxy" in warning


# Updating and closing


@pytest.mark.parametrize(
    ("changes", "calls"),
    [
        ({}, []),
        ({"title": "T"}, ["GET /pulls/1", "PATCH /pulls/1"]),
        ({"body": "B"}, ["GET /pulls/1", "PATCH /pulls/1"]),
        ({"title": "T", "body": "B"}, ["GET /pulls/1", "PATCH /pulls/1"]),
        ({"make_ready": True}, ["GRAPHQL markPullRequestReadyForReview"]),
        ({"make_draft": True}, ["GRAPHQL convertPullRequestToDraft"]),
        ({"status": replace(STATUS, state="failure")}, ["POST /statuses/HEAD"]),
        ({"drop_labels": ("flux-upgrade/rebase",)}, ["DELETE /issues/1/labels/flux-upgrade%2Frebase"]),
    ],
)
def test_an_update_does_what_is_asked_for(on: World, changes: dict[str, Any], calls: list[str]) -> None:
    on.opened(is_draft=True)
    on.fleet.people.label(1, "flux-upgrade/rebase")
    before = on.pull
    step = on.updating(**changes)
    done = on.apply(step)
    assert on.calls == [call.replace("HEAD", step.before) for call in calls]
    assert done == Done(1, before.url, step.before)
    after = on.pull
    assert after == replace(
        before,
        title=changes.get("title", TITLE),
        body=changes.get("body", BODY),
        is_draft="make_ready" not in changes,
        labels=() if "drop_labels" in changes else before.labels,
        head=after.head,
        begun=after.begun,
        answers=after.answers,
    )
    assert after.answers.ready == (True if "make_ready" in changes else None)
    assert after.answers.record == (() if "drop_labels" in changes else before.answers.record)
    assert after.head is not None
    assert after.head.statuses == {STATUS.context: "failure" if "status" in changes else "success"}


def test_an_update_in_one_go(on: World) -> None:
    on.opened(is_draft=True)
    on.fleet.people.label(1, "flux-upgrade/approved")
    commit, dropped = on.remade(), ("flux-upgrade/approved",)
    step = on.updating(commit=commit, title="T", body="B", make_ready=True, status=STATUS, drop_labels=dropped)
    done = on.apply(step)
    assert on.calls == [
        "POST /git/trees",
        "POST /git/commits",
        "GRAPHQL updateRefs",
        f"POST /statuses/{done.head}",
        "GRAPHQL markPullRequestReadyForReview",
        "GET /pulls/1",
        "PATCH /pulls/1",
        "DELETE /issues/1/labels/flux-upgrade%2Fapproved",
    ]
    pull = on.pull
    assert pull.head is not None
    assert (pull.head.oid, pull.head.statuses) == (done.head, {STATUS.context: "success"})
    assert (pull.title, pull.body, pull.is_draft, pull.labels) == ("T", "B", False, ())


def test_an_update_adds_to_what_people_gave(on: World) -> None:
    on.fleet.settings.auto_merge = True
    on.fleet.settings.required_contexts = ("ci",)
    on.opened()
    on.fleet.people.label(1, "theirs")
    on.fleet.pulls[1].assignees = ["alice"]
    step = on.updating(extras=EVERYTHING)
    assert on.apply(step).warnings == ()
    assert on.calls == [
        "POST /issues/1/labels",
        "POST /issues/1/assignees",
        "POST /pulls/1/requested_reviewers",
        "GRAPHQL enablePullRequestAutoMerge",
    ]
    pull = on.fleet.pulls[1]
    assert (pull.labels, pull.assignees) == (["theirs", "flux", "deps"], ["alice", "bob"])
    assert (pull.reviewers, pull.team_reviewers, pull.auto_merge) == (["bob"], ["platform"], "merge")


def test_a_label_that_is_gone_already(on: World) -> None:
    on.opened()
    assert on.apply(on.updating(drop_labels=("flux-upgrade/rebase",))).warnings == ()


def test_closing_takes_one_call(on: World) -> None:
    on.opened()
    step = ClosePull(on.pull, "closed: superseded")
    assert on.apply(step) == Done(1, step.pull.url)
    assert on.calls == ["GET /pulls/1", "PATCH /pulls/1"]
    assert (on.pull.state, on.pull.body) == (PullState.CLOSED, "closed: superseded")


def test_the_life_of_an_issue(on: World) -> None:
    done = on.apply(OpenIssue("Upgrade Flux to v2.9.0", "one", (markers.PENDING,)))
    assert (done.number, done.url, on.calls) == (
        1,
        f"{on.hub.url}/acme/fleet/issues/1",
        ["GRAPHQL query", "POST /issues"],
    )
    (issue,) = on.fetch().issues
    assert (issue.title, issue.body, issue.labels) == ("Upgrade Flux to v2.9.0", "one", (markers.PENDING,))
    assert on.apply(UpdateIssue(issue, "two")) == done
    assert on.calls == ["GET /issues/1", "PATCH /issues/1"]
    (issue,) = on.fetch().issues
    assert (issue.body, issue.is_own) == ("two", True)
    on.apply(UpdateIssue(issue, "three", close=True))
    assert on.calls == ["GET /issues/1", "PATCH /issues/1"]
    assert (on.fleet.issues[1].state, on.fleet.issues[1].body) == ("closed", "three")
    (closed,) = on.fetch().issues
    assert (closed.is_open, closed.closed_at) == (False, on.hub.clock.text)
    on.apply(UpdateIssue(closed, "three", reopen=True))
    assert on.fleet.issues[1].state == "open"


def test_an_issue_that_a_user_edits_in_between_is_left_alone(on: World) -> None:
    on.apply(OpenIssue("Flux dashboard", "one", (markers.DASHBOARD,)))
    (issue,) = on.fetch().issues
    on.fleet.people.edit(1, body="one, and a box")
    with pytest.raises(Overtaken, match="another user or run changed"):
        on.apply(UpdateIssue(issue, "two"))
    assert on.fleet.issues[1].body == "one, and a box"


def test_dashboards_are_read_with_who_opened_them(on: World) -> None:
    on.apply(OpenIssue("Flux dashboard", "ours", (markers.DASHBOARD,)))
    copy = on.fleet.open_issue("Flux dashboard", "ours", "mallory")
    on.fleet.people.label(copy.number, markers.DASHBOARD)
    assert [(each.number, each.is_own) for each in on.fetch().issues] == [(1, True), (2, False)]


# Races


def test_a_person_pushes_while_the_branch_is_replaced(on: World) -> None:
    on.opened()
    step = on.updating(commit=on.remade(), title="T")
    pushed: list[str] = []
    on.before("updateRefs", lambda: pushed.append(on.fleet.people.push(BRANCH, {"mine.yaml": b"mine"})))
    with pytest.raises(Overtaken):
        on.apply(step)
    assert on.fleet.head(BRANCH) == pushed[0]
    assert on.fleet.pulls[1].title == TITLE


def test_a_person_deletes_the_branch_while_it_is_replaced(on: World) -> None:
    on.opened()
    step = on.updating(commit=on.remade())
    on.before("updateRefs", lambda: on.fleet.people.delete_branch(BRANCH))
    with pytest.raises(Overtaken):
        on.apply(step)
    assert on.fleet.head(BRANCH) == ""


@pytest.mark.parametrize(
    ("at", "deed"),
    [
        ("/git/refs", lambda on: on.fleet.people.push(BRANCH, {"mine.yaml": b"mine"})),
        ("/pulls", lambda on: on.fleet.people.open_pull(BRANCH, "By hand")),
        ("/pulls", lambda on: on.fleet.people.delete_branch(BRANCH)),
        ("/pulls", lambda on: on.fleet.people.force_push("main", on.fleet.head(BRANCH))),
    ],
    ids=["branch", "pull request", "branch deleted", "merged"],
)
def test_another_user_opens_a_pull_request_first(on: World, at: str, deed: Callable[[World], Any]) -> None:
    step = on.opening()
    on.before(at, lambda: deed(on))
    with pytest.raises(Overtaken) as caught:
        on.apply(step)
    assert caught.value.message.startswith("GitHub refused to ")
    assert len([pull for pull in on.fleet.pulls.values() if pull.state == "open"]) <= 1


def test_commits_of_another_user_are_not_merged_automatically(on: World) -> None:
    on.fleet.settings.auto_merge = True
    on.fleet.settings.required_contexts = ("ci",)
    step = on.opening(extras=Extras(auto_merge=True))
    on.before("enablePullRequestAutoMerge", lambda: on.fleet.people.push(BRANCH, {"mine.yaml": b"mine"}))
    (warning,) = on.apply(step).warnings
    assert "Expected head sha didn't match" in warning
    assert on.fleet.pulls[1].auto_merge == ""


def test_the_base_goes_away(on: World) -> None:
    on.fleet.commit({}, "Branch off\n", branch="release")
    step = on.opening(base="release")
    on.before("/pulls", lambda: on.fleet.people.delete_branch("release"))
    with pytest.raises(Overtaken):
        on.apply(step)


# What goes wrong


@pytest.mark.parametrize("at", range(1, 5))
@pytest.mark.parametrize("fault", ["500", "502", "503", "504", "reset", "truncated", "502, applied", "reset, applied"])
def test_a_write_is_sent_once(on: World, at: int, fault: str) -> None:
    step = on.opening()
    on.hub.forget()
    on.hub.fail(FAULTS[fault], at_call=at)
    with pytest.raises(ForgeUnavailable) as caught:
        on.forge.apply(step)
    assert on.calls == OPENING[:at]
    assert caught.value.hint.endswith("it continues where this run ended")
    assert on.clock.slept == []
    no_token_in(on, caught.value)


@pytest.mark.parametrize("fault", [f for f in FAULTS if f.startswith(("502", "reset", "truncated"))])
def test_a_replacement_is_sent_once(on: World, fault: str) -> None:
    on.opened()
    step = on.updating(commit=on.remade())
    on.hub.fail(FAULTS[fault], to("POST", "updateRefs"))
    with pytest.raises(ForgeUnavailable):
        on.apply(step)
    assert on.calls[2:] == ["GRAPHQL updateRefs"]


@pytest.mark.parametrize("at", range(1, 6))
@pytest.mark.parametrize(("fault", "seconds"), [("429", 7.0), ("403 secondary limit", 60.0)])
def test_secondary_limits_are_waited_for(on: World, at: int, fault: str, seconds: float) -> None:
    step = on.opening()
    on.hub.forget()
    on.hub.fail(FAULTS[fault], at_call=at)
    assert on.forge.apply(step).warnings == ()
    assert on.clock.slept == [seconds]
    assert len(on.calls) == 6
    assert len(on.fleet.pulls) == len(on.fleet.statuses) == 1


@pytest.mark.parametrize(
    ("headers", "slept", "calls"),
    [({"Retry-After": "61"}, [], 1), ({"Retry-After": "25"}, [25.0, 25.0], 3), ({"Retry-After": "0"}, [0.0] * 5, 5)],
)
def test_waiting_has_an_end(on: World, headers: dict[str, str], slept: list[float], calls: int) -> None:
    step = on.opening()
    on.hub.forget()
    on.hub.fail(Fault("busy", 429, "Too many requests", headers), times=99)
    with pytest.raises(ForgeUnavailable, match="rate limit"):
        on.forge.apply(step)
    assert (on.clock.slept, len(on.calls)) == (slept, calls)


def test_a_limit_without_a_time(on: World) -> None:
    step = on.opening()
    on.hub.fail(Fault("busy", 403, "You have exceeded a secondary rate limit."))
    for calls in (1, 0):  # GitHub asks to wait for a minute at least, so nothing is sent before
        with pytest.raises(LimitReached) as caught:
            on.apply(step)
        assert caught.value.message == "GitHub's API rate limit is exceeded until 2026-03-02 06:01:00 UTC"
        assert (on.forge.exhausted, len(on.calls)) == (caught.value.message, calls)
    with pytest.raises(LimitReached):
        on.fetch()
    on.clock.now += 60
    assert (on.forge.exhausted, on.apply(step).number) == ("", 1)


def test_a_secondary_limit_does_not_end_with_the_hour_of_the_primary_one(on: World) -> None:
    step = on.opening()
    reset = {"x-ratelimit-remaining": "4000", "x-ratelimit-reset": str(on.hub.limits.ends)}
    on.hub.fail(Fault("busy", 403, "You have exceeded a secondary rate limit.", reset))
    with pytest.raises(LimitReached, match="until 2026-03-02 06:01:00 UTC"):
        on.apply(step)


@pytest.mark.parametrize("at", range(1, 5))
def test_a_limit_that_is_used_up(on: World, at: int) -> None:
    step = on.opening()
    on.hub.forget()
    on.hub.fail(FAULTS["403 primary limit"], at_call=at)
    with pytest.raises(ForgeUnavailable) as caught:
        on.forge.apply(step)
    assert caught.value.message == "GitHub's API rate limit is exceeded until 2026-03-02 07:00:00 UTC"
    assert len(on.calls) == at


def test_writes_keep_their_distance(on: World) -> None:
    step = on.opening()
    on.forge = on.forge_of(on.token, pause=1.0)
    on.apply(step)
    assert on.clock.slept == [1.0] * 4


SETTING = "Allow GitHub Actions to create and approve pull requests"
BLOCK = "`permissions: {contents: write, pull-requests: write, issues: write, statuses: write}`"


@pytest.mark.parametrize(
    ("at", "fault", "message", "hint"),
    [
        ("/git/trees", FAULTS["403 permission"], "GitHub refused to make the commit in acme/fleet: Resource not accessible by integration", f"set {BLOCK} in the workflow's job, or give the app"),
        ("/git/refs", FAULTS["403 permission"], "make the branch flux-upgrade/production/patch", "or give the app 'Contents: read and write'"),
        ("/pulls", FAULTS["403 permission"], "open the pull request", "or give the app 'Pull requests: read and write'"),
        ("/pulls", Fault("x", 403, "Resource not accessible by personal access token"), "open the pull request", "'Pull requests: read and write'"),
        ("/git/trees", FAULTS["404"], "make the commit", "a classic token the scope `repo`"),
        ("/git/commits", FAULTS["401"], "Bad credentials", "missing, wrong or expired"),
        ("/git/refs", FAULTS["403 workflows"], "without `workflows` permission", "GITHUB_TOKEN cannot change workflows"),
        ("/pulls", Fault("x", 403, "GitHub Actions is not permitted to create or approve pull requests."), "not permitted", SETTING),
        ("/pulls", Fault("x", 403, "Must have push access to repository"), "push access", "pull-requests: write"),
        ("/git/trees", Fault("x", 403, "the `acme` organization has an IP allow list enabled, and your IP address is not permitted"), "IP allow list", "the runner's address"),
        ("/git/refs", Fault("x", 422, "Repository rule violations found\n\nCannot create ref due to creations being restricted.\n\n"), "rule violations found Cannot create ref", "exempt the branches of flux-upgrade"),
        ("/git/refs", Fault("x", 409, "Repository rule violations found\n\nCommits must have verified signatures.\n"), "verified signatures", "use GITHUB_TOKEN or an app token"),
        ("/pulls", Fault("x", 403, "No, \x1b[31m\u202enever\n" + "x" * 999), "No, \\x1b[31m\\u202enever xxx", "pull-requests: write"),
    ],
)  # fmt: skip
def test_refusals_say_what_to_change(on: World, at: str, fault: Fault, message: str, hint: str) -> None:
    step = on.opening()
    on.hub.fail(fault, to("POST", at))
    with pytest.raises(ForbiddenByForge) as caught:
        on.apply(step)
    error = caught.value
    assert message in error.message
    assert hint in error.hint
    assert (error.message + error.hint).isprintable()
    assert len(error.message) < 400
    no_token_in(on, error)


def test_a_workflow_file_needs_another_token(on: World) -> None:
    seen = on.fetch()
    files = {".github/workflows/flux.yaml": ("100644", b"on: push\n")}
    with pytest.raises(ForbiddenByForge) as caught:
        on.apply(on.opening(commit=NewCommit("Add", seen.base_oid, seen.base_tree, files)))
    assert "'Workflows: read and write'" in caught.value.hint


@pytest.mark.parametrize(
    ("kind", "permissions", "hint"),
    [
        ("actions", {"contents": "read"}, "or give the app 'Contents: read and write'"),
        ("app", {"contents": "write"}, "or give the app 'Pull requests: read and write'"),
        ("fine-grained", {"pull-requests": "write"}, "'Contents: read and write'"),
        ("classic", None, "the scope `repo`"),
    ],
)
def test_tokens_that_may_not_write(on: World, kind: str, permissions: dict[str, str] | None, hint: str) -> None:
    on.use(kind, permissions, **({"scopes": ("read:org",)} if kind == "classic" else {}))
    step = on.opening()
    with pytest.raises(ForbiddenByForge) as caught:
        on.apply(step)
    assert hint in caught.value.hint
    no_token_in(on, caught.value)


def test_archived_in_between(on: World) -> None:
    step = on.opening()
    on.fleet.settings.is_archived = True
    with pytest.raises(Exception, match="archived") as caught:
        on.apply(step)
    assert caught.value.__class__.__name__ == "RepositoryUnfit"


def test_a_rule_that_keeps_the_branch_from_being_replaced(on: World) -> None:
    on.opened()
    step = on.updating(commit=on.remade())
    on.fleet.settings.rules = (Rule("NON_FAST_FORWARD", "flux-upgrade/**/*"),)
    on.fleet.settings.rules += (Rule("UPDATE", "flux-upgrade/**/*"),)
    with pytest.raises(ForbiddenByForge) as caught:
        on.apply(step)
    assert "Settings > Rules" in caught.value.hint


def test_issues_that_are_turned_off(tmp_path: Path) -> None:
    with world(tmp_path, has_issues=False) as on, pytest.raises(ForbiddenByForge) as caught:
        on.apply(OpenIssue("T", "B", ()))
    assert "Features > Issues" in caught.value.hint


@pytest.mark.parametrize(
    ("at", "extras", "expected"),
    [
        ("/statuses/", Extras(), ("set the status flux-upgrade/proof", "statuses: write", "'Commit statuses: read and write'")),
        ("/issues/1", Extras(labels=("a",), assignees=("bob",)), ("set the labels and assignees of the pull request", "pull-requests: write")),
        ("/requested_reviewers", Extras(reviewers=("bob",)), ("ask bob for a review", "pull-requests: write")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("fault", ["403 permission", "403 primary limit", "422", "502", "reset"])
def test_what_is_not_worth_failing_for(
    on: World, at: str, extras: Extras, expected: tuple[str, ...], fault: str
) -> None:
    step = on.opening(extras=extras)
    on.hub.fail(FAULTS[fault], lambda request: at in request.path, times=2)
    done = on.apply(step)
    (warning,) = done.warnings
    assert done.number == 1
    assert warning.isprintable()
    if fault == "403 permission":
        assert all(part in warning for part in expected)
    # What is refused in one call is tried one by one.
    calls = 1 + len(extras.names) if fault == "422" and len(extras.names) > 1 else 1
    assert len([call for call in on.calls if at in call]) == (2 if fault in ("502", "reset") else calls)
    assert on.clock.slept == ([1.0] if fault in ("502", "reset") else [])


def test_what_may_be_repeated_is_repeated_once(on: World) -> None:
    step = on.opening(extras=Extras(labels=("flux",)))
    on.hub.fail(FAULTS["reset, applied"], to("PATCH", "/issues/1"))
    assert on.apply(step).warnings == ()
    assert on.fleet.pulls[1].labels == ["flux"]


@pytest.mark.parametrize(
    ("extras", "settings", "hint"),
    [
        (Extras(auto_merge=True), {}, "Allow auto-merge"),
        (Extras(auto_merge=True), {"auto_merge": True}, "require a check of your CI or a review"),
        (Extras(reviewers=("stranger",)), {}, "collaborators"),
    ],
)
def test_extras_that_the_repository_does_not_take(
    on: World, extras: Extras, settings: dict[str, bool], hint: str
) -> None:
    for name, value in settings.items():
        setattr(on.fleet.settings, name, value)
    (warning,) = on.apply(on.opening(extras=extras)).warnings
    assert hint in warning


def test_one_unknown_name_costs_the_others_nothing(on: World) -> None:
    extras = Extras(("flux", "deps"), ("bob", "stranger"), ("bob", "stranger", "acme/platform", "acme/nobody"))
    state = MarkerState("production", "patch", Version("v2.8.1"), given=extras.names)
    done = on.apply(on.opening(extras=extras, body=markers.block("Text", state)))
    pull = on.fleet.pulls[1]
    assert (pull.labels, pull.assignees) == (["flux", "deps"], ["bob"])
    assert (pull.reviewers, pull.team_reviewers) == (["bob"], ["platform"])
    assert done.missing == ()
    assert ["stranger" in done.warnings[0], "stranger" in done.warnings[1], "acme/nobody" in done.warnings[2]]
    kept = markers.state_of(pull.body)
    assert kept is not None
    refused = {"assignee:stranger", "reviewer:stranger", "reviewer:acme/nobody"}
    assert set(kept.given) == {*extras.names} - refused | {markers.REFUSED + name for name in refused}


def test_what_fails_in_passing_is_left_to_the_next_run(on: World) -> None:
    extras = Extras(labels=("flux",), reviewers=("bob",))
    state = MarkerState("production", "patch", Version("v2.8.1"), given=extras.names)
    step = on.opening(extras=extras, body=markers.block("Text", state))
    on.hub.fail(FAULTS["502"], to("POST", "/requested_reviewers"), times=2)
    assert on.apply(step).missing == ("reviewer:bob",)
    kept = markers.state_of(on.fleet.pulls[1].body)
    assert kept is not None
    assert kept.given == ("label:flux",)


# The edges of it


def test_a_repository_that_was_renamed(on: World) -> None:
    on.hub.repositories["acme/old-name"] = on.fleet
    on.forge = on.forge_of(on.token, "acme/old-name")
    assert on.fetch().name == "acme/fleet"
    done = on.apply(on.opening())
    assert on.calls == [*OPENING, f"POST /statuses/{done.head}"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_write_follows_a_redirect(on: World, server: Loopback, status: int) -> None:
    step = on.opening()
    on.hub.fail(Fault("moved", status, "Moved Permanently", {"Location": f"{server.url}/x"}), to("POST", "/git/refs"))
    with pytest.raises(ForgeUnavailable, match=r"make the branch .* it redirects"):
        on.apply(step)
    assert server.seen == []
    assert on.calls == OPENING[:3]


@pytest.mark.parametrize("repository", ["", "fleet", "acme/", "/fleet", "acme/fleet/x", "acme"])
def test_names_that_are_no_repository(on: World, repository: str) -> None:
    with pytest.raises(UsageError, match="is not a repository name"):
        on.forge_of(on.token, repository)


@pytest.mark.parametrize(
    ("api_url", "graphql_url"),
    [
        ("https://ghe.example/api/v3", "https://other.example/api/graphql"),
        ("https://ghe.example/api/v3", "http://ghe.example/api/graphql"),
        ("ghe.example/api/v3", "ghe.example/api/graphql"),
        ("https://ghe.example:x/api/v3", "https://ghe.example:x/api/graphql"),
        ("https://ghe.example/api/v3", "https://evil.example\\@ghe.example/api/graphql"),
    ],
)
def test_addresses_that_are_not_of_one_server(on: World, api_url: str, graphql_url: str) -> None:
    with pytest.raises(UsageError, match="do not belong to the same GitHub server"):
        on.forge_of(on.token, api_url=api_url, graphql_url=graphql_url)


def test_a_dry_run_only_looks(on: World) -> None:
    on.opened()
    issue = replace(on.fleet.open_issue("T", "B", "alice"), labels=[markers.PENDING])
    on.fleet.issues[issue.number] = issue
    forge = RecordingForge(on.forge)
    (fetched,) = on.fetch().issues
    opening, update = on.opening(), on.updating(title="T")
    wanted: list[tuple[Step, Done]] = [
        (opening, Done()),
        (update, Done(1, update.pull.url, update.before)),
        (ClosePull(update.pull, "B"), Done(1, update.pull.url)),
        (OpenIssue("T", "B", ()), Done()),
        (UpdateIssue(fetched, "B"), Done(2, fetched.url)),
    ]
    on.hub.forget()
    assert [forge.apply(step) for step, _ in wanted] == [done for _, done in wanted]
    assert forge.steps == tuple(step for step, _ in wanted)
    assert (on.calls, forge.calls) == ([], on.forge.calls)


def test_a_merged_pull_request_gets_one_comment_and_remembers_it(on: World) -> None:
    number = on.opened().number
    on.fleet.people.merge(number)
    (pull,) = on.fetch().branches[BRANCH].pulls
    step = CommentPull(pull, "<!-- flux-upgrade:failed 1 -->\nIt fails.\n", f"{BODY}remembered\n")
    assert on.apply(step) == Done(number, pull.url)
    assert [each.body for each in on.fleet.pulls[number].comments] == [step.comment]
    assert (on.fleet.pulls[number].body, on.fleet.pulls[number].state) == (step.body, "closed")
    with pytest.raises(Overtaken):  # the body is another one by now, and the comment is there
        on.apply(step)
    assert len(on.fleet.pulls[number].comments) == 1


def test_a_revert_is_a_draft_that_is_found_again(on: World) -> None:
    number = on.opened().number
    before = on.fleet.store.read(on.fleet.head()).tree
    on.fleet.people.merge(number)
    (pull,) = on.fetch().branches[BRANCH].pulls
    done = on.apply(RevertPull(pull, 'Revert "T"', "It fails."))
    assert on.calls == ["GRAPHQL revertPullRequest"]
    made = on.fleet.pulls[done.number]
    assert (made.title, made.body, made.is_draft) == ('Revert "T"', "It fails.", True)
    branch = revert_branch(number, BRANCH)
    assert on.fleet.store.read(on.fleet.head(branch)).tree == before
    (found,) = on.forge.fetch(Question((branch,), ())).branches[branch].pulls
    assert (found.number, found.url, found.is_draft) == (done.number, done.url, True)
    with pytest.raises(ForgeUnavailable, match="GitHub refused to revert the pull request in acme/fleet"):
        on.apply(RevertPull(pull, "T", "B"))


def test_a_revert_needs_drafts(on: World) -> None:
    number = on.opened().number
    on.fleet.people.merge(number)
    on.fleet.settings.drafts = False
    (pull,) = on.fetch().branches[BRANCH].pulls
    with pytest.raises(ForbiddenByForge, match="Draft pull requests are not supported") as caught:
        on.apply(RevertPull(pull, "T", "B"))
    assert caught.value.hint == "set `on-failure: comment`"
    assert not on.fleet.head(revert_branch(number, BRANCH))
