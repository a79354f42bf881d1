"""One GraphQL query reads what a run needs from GitHub, and a missing permission is an error or a warning."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from github_stand_in import FAULTS, HEAVY, Request, Rule
from github_stand_in.people import People

from adapters.loopback import Answer, Loopback
from adapters.on_github import ASKED, BRANCH, MANIFEST, PATH, World, world
from flux_upgrade.adapters.github import query as queries
from flux_upgrade.adapters.github.query import MAX_BRANCHES, Chunk, Parts
from flux_upgrade.model import markers
from flux_upgrade.model.errors import ForbiddenByForge, ForgeUnavailable, RepositoryUnfit
from flux_upgrade.model.forge import CommitStatus, PullState, Question
from replacing import replace

NOTHING = Question((), ())


@pytest.fixture
def on(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def test_one_call_reads_everything(on: World) -> None:
    on.fleet.commit({"README.md": b"hello"}, "Say hello\n\nWith a body.\n")
    seen = on.fetch()
    assert (seen.name, seen.url, seen.base) == ("acme/fleet", f"{on.hub.url}/acme/fleet", "main")
    assert seen.base_oid == on.fleet.head()
    assert seen.base_tree == on.fleet.store.read(seen.base_oid).tree
    assert seen.recent == ("Say hello", "Begin")
    assert seen.files[PATH].oid == on.fleet.store.blob(MANIFEST)
    assert seen.files[PATH].history == ("Begin\n",)
    assert seen.branches[BRANCH].head is None
    assert not seen.issues
    assert not seen.warnings
    assert not seen.branches[BRANCH].pulls
    assert (on.calls, on.forge.calls) == (["GRAPHQL query"], 1)


def test_another_base(on: World) -> None:
    on.fleet.commit({PATH: b"other"}, "Differ\n", branch="release/1.x")
    seen = on.forge.fetch(Question((), (PATH,), base="release/1.x"))
    assert (seen.base, seen.base_oid) == ("release/1.x", on.fleet.head("release/1.x"))
    assert seen.files[PATH].history == ("Differ\n", "Begin\n")


def test_paths_of_all_kinds(on: World) -> None:
    on.fleet.commit({"gone.yaml": b"x", 'od"d ü $p0.yaml': b"y"}, "Add\n")
    on.fleet.commit({"gone.yaml": None}, "Remove\n")
    seen = on.forge.fetch(Question((), ("gone.yaml", "never.yaml", "clusters", 'od"d ü $p0.yaml'))).files
    assert (seen["gone.yaml"].oid, seen["gone.yaml"].history) == ("", ("Remove\n", "Add\n"))
    assert (seen["never.yaml"].oid, seen["never.yaml"].history) == ("", ())
    assert seen["clusters"].oid == ""
    assert seen['od"d ü $p0.yaml'].oid == on.fleet.store.blob(b"y")


def test_a_pull_request_as_it_is(on: World) -> None:
    done = on.opened(is_draft=True)
    on.fleet.people.label(1, "flux-upgrade/rebase")
    branch = on.fetch().branches[BRANCH]
    (pull,) = branch.pulls
    assert branch.head is not None
    assert branch.head.oid == done.head
    assert markers.is_ours(branch.head)
    assert branch.head.statuses == {"flux-upgrade/proof": "success"}
    assert (pull.number, pull.url, pull.state, pull.is_draft) == (1, done.url, PullState.OPEN, True)
    assert (pull.labels, pull.is_conflicting, pull.head) == (("flux-upgrade/rebase",), False, branch.head)
    assert (pull.created_at, pull.closed_at) == (on.hub.clock.text, "")


def test_a_pull_request_that_conflicts(on: World) -> None:
    on.opened()
    on.fleet.commit({PATH: b"# Flux Version: v2.9.0\n"}, "Overtake\n")
    assert on.pull.is_conflicting


def test_closed_and_merged_ones_newest_first(on: World) -> None:
    on.opened()
    on.fleet.people.close(1)
    on.hub.clock.advance(hours=1)
    on.opened(commit=None)
    on.fleet.people.merge(2)
    on.fleet.people.delete_branch(BRANCH)
    branch = on.fetch().branches[BRANCH]
    assert branch.head is None
    assert [(p.number, p.state, p.closed_at != "") for p in branch.pulls] == [
        (2, PullState.MERGED, True),
        (1, PullState.CLOSED, True),
    ]
    assert all(pull.head is not None and markers.is_ours(pull.head) for pull in branch.pulls)


@pytest.mark.parametrize(("forks", "calls"), [(1, 1), (12, 2)])
def test_pull_requests_of_forks_hide_nothing(on: World, forks: int, calls: int) -> None:
    on.opened()
    for number in range(forks):
        on.hub.clock.advance(minutes=1)
        on.fleet.people.open_from_fork(BRANCH, {PATH: b"evil %d" % number}, "Upgrade Flux")
    assert [pull.number for pull in on.fetch().branches[BRANCH].pulls] == [1]
    assert len(on.calls) == calls


def test_pull_requests_of_forks_do_not_hide_one_into_another_base(on: World) -> None:
    done = on.opened()
    on.fleet.commit({PATH: b"stable"}, "Branch off\n", branch="stable")
    on.fleet.retarget(on.fleet.pulls[1], "stable")
    for number in range(12):
        on.hub.clock.advance(minutes=1)
        on.fleet.people.open_from_fork(BRANCH, {PATH: b"evil %d" % number}, "Upgrade Flux")
    branch = on.fetch().branches[BRANCH]
    assert (branch.pulls, branch.elsewhere) == ((), done.url)


@pytest.mark.parametrize(("forks", "calls"), [(0, 1), (3, 2)])
def test_at_most_ten_pull_requests(on: World, forks: int, calls: int) -> None:
    for number in range(1, 13):
        on.hub.clock.advance(hours=1)
        on.opened(**({} if number == 1 else {"commit": None}))
        on.fleet.people.close(number)
    for number in range(forks):
        on.fleet.people.open_from_fork(BRANCH, {PATH: b"evil %d" % number}, "Upgrade Flux")
    assert [pull.number for pull in on.fetch().branches[BRANCH].pulls] == list(range(12, 2, -1))
    assert len(on.calls) == calls


def test_our_issues_open_and_closed(on: World) -> None:
    for title, labels, state in (
        ("Upgrade Flux to v2.9.0", [markers.PENDING, "flux"], "open"),
        ("An old one", [markers.PENDING], "closed"),
        ("Somebody's", ["bug"], "open"),
    ):
        opened = on.fleet.open_issue(title, "body", "alice")
        opened.labels, opened.state = labels, state
    issue, closed = sorted(on.fetch().issues, key=lambda each: not each.is_open)
    assert (closed.title, closed.is_open) == ("An old one", False)
    assert (issue.number, issue.title, issue.body) == (1, "Upgrade Flux to v2.9.0", "body")
    assert issue.labels == (markers.PENDING, "flux")
    assert issue.url == f"{on.hub.url}/acme/fleet/issues/1"


@pytest.mark.parametrize(
    ("branches", "paths", "calls"), [(0, 0, 1), (50, 100, 1), (51, 1, 2), (1, 101, 2), (120, 30, 3)]
)
def test_many_are_asked_for_in_chunks(on: World, branches: int, paths: int, calls: int) -> None:
    on.opened()
    names = (*(f"other/{n}" for n in range(branches - 1)), BRANCH)[:branches]
    files = (*(f"none/{n}" for n in range(paths - 1)), PATH)[:paths]
    seen = on.forge.fetch(Question(names, files))
    assert (tuple(seen.branches), tuple(seen.files)) == (names, files)
    assert [n for n, branch in seen.branches.items() if branch.head] == [BRANCH] * bool(branches)
    assert [len(branch.pulls) for branch in seen.branches.values()] == [0] * (branches - 1) + [1] * bool(branches)
    assert [path for path, file in seen.files.items() if file.oid] == [PATH] * bool(paths)
    assert on.calls == ["GRAPHQL query"] * calls


@pytest.mark.parametrize(("branches", "paths"), [(51, 1), (1, 101), (120, 250)])
def test_every_fact_is_the_same_whether_few_or_many_are_asked_for(on: World, branches: int, paths: int) -> None:
    on.opened()
    on.fleet.open_issue("Upgrade Flux to v2.9.0", "body", "alice").labels.append(markers.PENDING)
    on.fleet.people.push("flux-upgrade/other/patch", {"a": b"b"})
    on.fleet.settings.rules = (Rule("REQUIRED_SIGNATURES", "main"),)
    for kind in ("classic", "actions"):
        on.use(kind)
        few = on.forge.fetch(Question((BRANCH,), (PATH,), prefix="flux-upgrade/"))
        names = (BRANCH, *(f"none/{n}" for n in range(branches - 1)))
        files = (PATH, *(f"none/{n}" for n in range(paths - 1)))
        many = on.forge.fetch(Question(names, files, prefix="flux-upgrade/"))
        assert few.viewer
        assert few.issues
        assert few.others
        assert (many.files[PATH], many.branches[BRANCH]) == (few.files[PATH], few.branches[BRANCH])
        assert replace(many, files=few.files, branches=few.branches) == few


def test_all_issues_and_branches_of_many_clusters_are_read(on: World) -> None:
    names = tuple(f"flux-upgrade/c{n}/patch" for n in range(130))
    for name in (*names, "flux-upgrade/zzz/patch"):
        on.fleet.people.force_push(name, on.fleet.head())
    for number in range(130):
        on.fleet.open_issue(f"Upgrade Flux in {number}", "body", "alice").labels.append(markers.PENDING)
    seen = on.forge.fetch(Question(names, (), prefix="flux-upgrade/"))
    assert seen.others == ("flux-upgrade/zzz/patch",)
    assert len({issue.number for issue in seen.issues}) == 130
    assert on.calls == ["GRAPHQL query"] * 3


def test_all_chunks_see_one_commit(on: World) -> None:
    on.fleet.commit({"c/200.yaml": b"old"}, "Begin\n")
    head = on.fleet.head()

    def move(number: int, request: Request) -> None:
        del request
        if number == 2:
            on.fleet.commit({"c/200.yaml": b"new"}, "Move\n")

    on.hub.before_call = move
    seen = on.forge.fetch(Question((), tuple(f"c/{n}.yaml" for n in range(201))))
    assert seen.base_oid == head != on.fleet.head()
    assert seen.files["c/200.yaml"].oid == on.fleet.store.blob(b"old")
    assert len(on.calls) == 3


def test_a_thousand_paths_take_ten_calls(on: World) -> None:
    on.forge.fetch(Question((), tuple(f"c/{n}.yaml" for n in range(1000))))
    assert len(on.calls) == 10


def _weighs_more_than(most: int) -> Callable[[Request], bool]:
    """Matches queries for more than so many branches, or twice as many files."""

    def matches(request: Request) -> bool:
        query = str(request.json["query"])
        return query.count(": pullRequests(headRefName") > most or query.count("history(first: 5") > 2 * most

    return matches


@pytest.mark.parametrize("fault", HEAVY)
@pytest.mark.parametrize(("most", "branches", "tried"), [(1, 6, (2, 6)), (7, 30, (2, 5)), (25, 30, (1, 2))])
def test_a_query_that_is_too_much_is_asked_in_smaller_chunks(
    on: World, fault: str, most: int, branches: int, tried: tuple[int, int]
) -> None:
    on.opened()
    on.fleet.open_issue("Upgrade Flux to v2.9.0", "body", "alice").labels.append(markers.PENDING)
    names = (*(f"none/{n}" for n in range(branches - 1)), BRANCH)
    files = (*(f"none/{n}" for n in range(2 * branches - 1)), PATH)
    asked = Question(names, files, prefix="flux-upgrade/")
    wanted = on.forge.fetch(asked)
    on.hub.forget()
    on.hub.fail(HEAVY[fault], _weighs_more_than(most), times=999)
    assert on.forge.fetch(asked) == wanted
    (halvings, calls), tries = tried, 2 if fault == "timeout" else 1
    assert len(on.calls) == halvings * tries + calls
    assert on.clock.slept == [1.0] * (halvings * (tries - 1))
    # What was learned holds for the rest of the run.
    on.hub.forget()
    assert on.forge.fetch(asked) == wanted
    assert len(on.calls) == calls


def test_a_timeout_that_passes_is_asked_again_as_it_is(on: World) -> None:
    on.hub.fail(HEAVY["timeout"])
    assert on.fetch().base == "main"
    assert (len(on.calls), on.clock.slept) == (2, [1.0])


@pytest.mark.parametrize("fault", HEAVY)
def test_a_query_that_is_too_much_even_for_one_branch_is_an_error(on: World, fault: str) -> None:
    on.hub.fail(HEAVY[fault], times=99)
    with pytest.raises(ForgeUnavailable) as caught:
        on.fetch()
    assert caught.value.message.startswith("could not read acme/fleet: ")
    assert HEAVY[fault].message[:30] in caught.value.message
    assert len(on.calls) == (2 if fault == "timeout" else 1)


def test_pull_requests_behind_those_of_forks_are_asked_in_chunks(on: World) -> None:
    names = [f"flux-upgrade/c{number}/patch" for number in range(4)]
    for name in names:
        for number in range(11):
            on.fleet.people.open_from_fork(name, {f"{name}{number}": b"evil"}, "Upgrade Flux")
    on.hub.fail(
        HEAVY["node limit"], lambda request: str(request.json["query"]).count("first: 100, orderBy") > 3, times=9
    )
    assert [branch.pulls for branch in on.forge.fetch(Question(tuple(names), ())).branches.values()] == [()] * 4
    assert len(on.calls) == 1 + 1 + 2


@pytest.mark.parametrize(
    ("rule", "kind", "is_warned"),
    [
        (Rule("REQUIRED_SIGNATURES"), "classic", True),
        (Rule("REQUIRED_SIGNATURES", "main"), "fine-grained", True),
        (Rule("REQUIRED_SIGNATURES", "main", is_classic=True), "classic", True),
        (Rule("REQUIRED_SIGNATURES", "flux-upgrade/**/*"), "classic", False),  # held
        (Rule("REQUIRED_SIGNATURES", "release/*"), "classic", False),
        (Rule("PULL_REQUEST", "main"), "classic", False),
        (Rule("REQUIRED_SIGNATURES"), "app", False),
        (Rule("REQUIRED_SIGNATURES"), "actions", False),
    ],
)
def test_rules_that_a_personal_token_cannot_meet(on: World, rule: Rule, kind: str, *, is_warned: bool) -> None:
    on.opened()
    on.fleet.settings.rules = (rule,)
    on.use(kind)
    warnings = on.fetch().warnings
    assert [("signed commits" in warning) for warning in warnings] == [True] * is_warned


def test_issues_that_the_token_may_not_see(tmp_path: Path) -> None:
    with world(tmp_path, is_private=True) as on:
        on.use("actions", {"contents": "write", "pull-requests": "write", "statuses": "write"})
        assert on.fetch().issues == ()
        assert len(on.calls) == 2
        on.fetch()
        assert len(on.calls) == 3


def test_statuses_that_the_token_may_not_see(tmp_path: Path) -> None:
    with world(tmp_path, is_private=True) as on:
        on.opened()
        on.use("actions", {"contents": "read", "pull-requests": "read", "issues": "read"})
        head = on.fetch().branches[BRANCH].head
        assert head is not None
        assert head.statuses == {}
        assert len(on.calls) == 1


@pytest.mark.parametrize(("given", "right"), [("contents", "Pull requests: read"), ("pull-requests", "Contents: read")])
def test_what_is_denied_is_not_taken_for_what_is_not_there(tmp_path: Path, given: str, right: str) -> None:
    with world(tmp_path, is_private=True) as on:
        on.use("fine-grained", {given: "read", "issues": "read"})
        with pytest.raises(ForbiddenByForge) as caught:
            on.fetch()
    assert caught.value.message == (
        "GitHub refused to read acme/fleet: Resource not accessible by personal access token"
    )
    assert f"give the token '{right}' for this repository" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "missing"), [("contents", "pull-requests: read"), ("pull-requests", "contents: read")]
)
def test_who_only_reads_is_not_asked_for_more(tmp_path: Path, given: str, missing: str) -> None:
    with world(tmp_path, is_private=True) as on:
        on.use("actions", {given: "read", "issues": "read"})
        with pytest.raises(ForbiddenByForge) as caught:
            on.fetch()
    assert caught.value.hint.startswith(f"add `{missing}` to the `permissions` of the workflow's job")
    assert "write" not in caught.value.hint


@pytest.mark.parametrize(
    ("settings", "base", "message", "hint"),
    [
        ({"is_archived": True}, "", "acme/fleet is archived", "unarchive"),
        ({}, "mian", "acme/fleet has no branch mian", "did you mean main?"),
        ({}, "production", "acme/fleet has no branch production", "set the name of an existing branch"),
    ],
)
def test_repositories_that_take_no_pull_request(
    tmp_path: Path, settings: dict[str, bool], base: str, message: str, hint: str
) -> None:
    with world(tmp_path, **settings) as on, pytest.raises(RepositoryUnfit) as caught:
        on.forge.fetch(Question((), (), base=base))
    assert (caught.value.message, hint in caught.value.hint) == (message, True)


def test_an_empty_repository(on: World) -> None:
    on.hub.create_repository("acme/empty")
    with pytest.raises(RepositoryUnfit, match="acme/empty is empty"):
        on.forge_of(on.token, "acme/empty").fetch(ASKED)


def test_a_repository_that_is_not_there(on: World) -> None:
    with pytest.raises(ForbiddenByForge, match="the repository acme/fleeet does not exist") as caught:
        on.forge_of(on.token, "acme/fleeet").fetch(ASKED)
    assert "check the name" in caught.value.hint


def test_tokens_that_open_nothing(on: World) -> None:
    on.hub.revoke(on.token)
    for token in ("", on.token):
        with pytest.raises(ForbiddenByForge) as caught:
            on.forge_of(token).fetch(ASKED)
        assert "it is missing, wrong or expired" in caught.value.hint
        assert on.token.value not in repr(caught.value) + caught.value.hint


def test_single_sign_on(tmp_path: Path) -> None:
    with world(tmp_path, requires_sso=True) as on:
        on.use("classic")
        with pytest.raises(ForbiddenByForge) as caught:
            on.fetch()
    assert "Configure SSO" in caught.value.hint


@pytest.mark.parametrize("fault", ["429", "403 secondary limit", "500", "502", "503", "504", "reset", "truncated"])
def test_reading_is_tried_again(on: World, fault: str) -> None:
    on.hub.fail(FAULTS[fault])
    assert on.fetch().base == "main"
    assert (len(on.calls), on.forge.calls, len(on.clock.slept)) == (2, 2, 1)


@pytest.mark.parametrize(
    ("fault", "message"),
    [("502", "returned status 502 for /api/graphql"), ("reset", "is unreachable: Connection reset by peer")],
)
def test_reading_gives_up(on: World, fault: str, message: str) -> None:
    on.hub.fail(FAULTS[fault], times=9)
    with pytest.raises(ForgeUnavailable) as caught:
        on.fetch()
    assert caught.value.message.startswith("could not read acme/fleet: 127.0.0.1:")
    assert caught.value.message.endswith(f"{message} (tried 5 times)")
    assert len(on.calls) == 5


@pytest.mark.parametrize("kind", ["actions", "classic"])
def test_a_rate_limit_that_is_used_up_reports_its_reset(on: World, kind: str) -> None:
    on.use(kind)
    on.hub.exhaust(on.token)
    with pytest.raises(ForgeUnavailable) as caught:
        on.fetch()
    assert caught.value.message.endswith("is exceeded until 2026-03-02 07:00:00 UTC")
    assert caught.value.hint == "wait until then; run flux-upgrade again: it continues where this run ended"
    assert on.clock.slept == []


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"[]",
        b"{",
        b"{}",
        b'{"data": 1}',
        b'{"data": null}',
        b'{"data": {"repository": {"isArchived": false}}}',
        b'{"data": {}, "errors": "all"}',
        b'{"errors": [1]}',
        b"[" * 100_000,
    ],
)
def test_answers_that_are_none_of_githubs(on: World, server: Loopback, answer: bytes) -> None:
    server.route("/api/graphql", Answer(answer))
    forge = on.forge_of("", api_url=f"{server.url}/api/v3", graphql_url=f"{server.url}/api/graphql")
    with pytest.raises(ForgeUnavailable) as caught:
        forge.fetch(ASKED)
    assert caught.value.message.isprintable()
    assert caught.value.hint


def test_an_older_server_is_asked_for_less(on: World, server: Loopback) -> None:
    missing = [{"message": "Field 'rules' doesn't exist on type 'Ref'", "path": ["fragment Signatures", "rules"]}]
    server.route("/api/graphql", Answer(json.dumps({"errors": missing}).encode()), Answer(b"{}", 401))
    forge = on.forge_of("ghp_x", api_url=f"{server.url}/api/v3", graphql_url=f"{server.url}/api/graphql")
    with pytest.raises(ForbiddenByForge):
        forge.fetch(ASKED)
    flags = [json.loads(seen.body)["variables"]["rules"] for seen in server.seen]
    assert flags == [True, False]


def test_every_query_is_one_that_github_takes() -> None:
    from graphql import parse, validate

    from stand_in.checked import published_schema

    names = tuple(f"b/{n}" for n in range(MAX_BRANCHES + 1))
    many = Question(names, tuple(f"p{n}" for n in range(2 * MAX_BRANCHES + 1)), prefix="b/")
    seen = {"base": {"target": {"oid": "0" * 40}}}
    page = {"pageInfo": {"hasNextPage": True, "endCursor": "c"}}
    who = ("acme", "fleet")
    begin = Chunk.of(many, None, MAX_BRANCHES)
    rest = Chunk.of(many, begin, MAX_BRANCHES)
    made = [
        queries.first(who, NOTHING, Chunk.of(NOTHING, None, MAX_BRANCHES), Parts()),
        queries.first(who, Question((), ("p",), base="b"), Chunk(range(0), range(1)), Parts()),
        queries.first(who, many, begin, Parts(issues=False, statuses=False, rules=False)),
        queries.more(who, many, seen | {"issues": page, "refs": page}, rest, Parts()),
        queries.more(who, many, seen, rest._replace(paths=range(0)), Parts()),
        queries.more(who, many, seen, rest._replace(branches=range(0)), Parts()),
        queries.further_pulls(who, {0: ("b", "cursor")}, Parts()),
        queries.Query(queries.BRANCHES, {}),
    ]
    for query in made:
        assert validate(published_schema(), parse(query.text)) == []


def test_looking_does_not_import_pygithub(on: World) -> None:
    program = f"""
import sys, time
from flux_upgrade.adapters.github.api import GitHubApi
from flux_upgrade.adapters.github.forge import GitHubForge
from flux_upgrade.adapters.recording import RecordingForge
from flux_upgrade.adapters.http.client import Client, Credential
from flux_upgrade.model.timing import Timing
from flux_upgrade.model.forge import Question
timing = Timing(time.time, time.sleep, lambda: 0.5)
client = Client(timing, credential=Credential({on.hub.url!r}, {on.token.value!r}))
urls = {{"api_url": {on.hub.api_url!r}, "graphql_url": {on.hub.graphql_url!r}}}
forge = RecordingForge(GitHubForge(GitHubApi(client, timing, **urls), "acme/fleet", ""))
print(forge.fetch(Question((), ())).base, "github" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603  (ours)
    assert done.stdout == "main False\n"


def test_calls_that_are_nearly_used_up_are_known_from_any_answer(on: World) -> None:
    assert on.forge.exhausted == ""
    on.fetch()
    assert on.forge.exhausted == ""
    on.hub.limits.use(on.token, 1000 - 60)
    on.fetch()
    assert on.forge.exhausted == ""
    on.hub.limits.use(on.token, 10)
    on.apply(on.opening())
    until = "2026-03-02 07:00:00 UTC"
    assert on.forge.exhausted == f"GitHub's API rate limit is nearly used up until {until}"
    on.clock.now += 3600
    assert on.forge.exhausted == ""


def test_the_last_commits_by_first_parents_with_their_statuses(on: World) -> None:
    """A branch that was made before and merged later is no commit of the base."""
    context, watched = "kustomization/flux-system/staging", Question((), (PATH,), watched=(PATH, "gone.yaml"))
    begun = on.fleet.head()
    on.fleet.commit({PATH: b"other"}, "Work\n", branch="work")
    on.fleet.commit({"README.md": b"hello"}, "Say hello\n")
    People(on.fleet, "flux-staging[bot]").post_status(context, "success")
    hello = on.fleet.head()
    on.hub.clock.advance(hours=1)
    merged = on.fleet.people.merge(on.fleet.people.open_pull("work", "Work").number)
    People(on.fleet, "mallory").post_status(context, "failure")
    seen = on.forge.fetch(watched).commits
    assert [each.oid for each in seen] == [merged, hello, begun]
    assert [each.blobs for each in seen] == [
        {PATH: on.fleet.store.blob(content)} for content in (b"other", MANIFEST, MANIFEST)
    ]
    assert seen[0].statuses == {context: CommitStatus("failure", "mallory")}
    assert seen[1].statuses == {context: CommitStatus("success", "flux-staging[bot]")}
    assert seen[0].committed_at > seen[1].committed_at
    assert not on.fetch().commits, "nothing is watched"
