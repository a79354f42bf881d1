"""The stand-in for GitHub injects faults, logs calls, and acts as its users do in the browser."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from github_stand_in import FAULTS, Fault, Request, Response, StandIn, Token, flux, to
from github_stand_in.graphql_api import SCHEMA
from github_stand_in.refusals import Refused
from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    build_schema,
    is_required_input_field,
)

from real_parts import require_program
from stand_in.asking import Api, asking, fleet
from stand_in.checked import Checks, checked, published_schema


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[StandIn]:
    with checked(tmp_path) as hub:
        yield hub


@pytest.fixture
def api(hub: StandIn) -> Iterator[Api]:
    fleet(hub)
    with asking(hub) as api:
        yield api


def outcome(api: Api) -> str:
    """What became of a call that makes a branch."""
    ref = {"ref": "refs/heads/up", "sha": api.hub.repositories["acme/fleet"].head()}
    try:
        response = api.post("/git/refs", ref)
        response.json()
    except requests.exceptions.JSONDecodeError:
        return str(response.status_code)
    except requests.exceptions.RequestException as error:
        return type(error).__name__
    return str(response.status_code)


OUTCOMES = {"reset": "ConnectionError", "truncated": "ChunkedEncodingError", "slow": "201"}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_strikes_once_with_the_work_done_or_not(hub: StandIn, api: Api, name: str) -> None:
    fault = FAULTS[name]
    hub.drop_seconds = 0.001
    hub.fail(fault)
    assert outcome(api) == OUTCOMES.get(name.removesuffix(", applied"), name[:3])
    assert bool(hub.repositories["acme/fleet"].head("up")) is fault.is_applied
    assert [call.is_applied for call in hub.calls] == [fault.is_applied]
    assert outcome(api) == ("422" if fault.is_applied else "201")


def test_a_fault_waits_for_its_call(hub: StandIn, api: Api) -> None:
    hub.fail(FAULTS["502"], to("GET", "/pulls"), at_call=2, times=2)
    hub.fail(Fault("odd", 418, "I am a teapot"), to("POST", "viewer"))
    assert [api.get("/pulls").status_code for _ in range(2)] == [200, 502]
    assert api.get("").status_code == 200
    assert [api.get("/pulls").status_code for _ in range(2)] == [502, 200]
    hub.fail(FAULTS["502"])
    hub.heal()
    assert api.get("/pulls").status_code == 200


def test_limits_say_when_to_come_back(hub: StandIn, api: Api) -> None:
    hub.fail(FAULTS["429"])
    hub.fail(FAULTS["403 primary limit"])
    assert api.get("/pulls").headers["Retry-After"] == "7"
    refusal = api.get("/pulls")
    assert refusal.headers["x-ratelimit-remaining"] == "0"
    assert int(refusal.headers["x-ratelimit-reset"]) > hub.clock.epoch
    hub.fail(FAULTS["403 primary limit"])
    assert api.query("{ viewer { login } }")["errors"][0]["type"] == "RATE_LIMITED"


def test_a_user_may_act_before_any_call(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    seen: list[tuple[int, str]] = []

    def meddle(number: int, request: Request) -> None:
        seen.append((number, request.path))
        if number == 2:
            repository.people.push("up", {"a.yaml": b"a person's\n"})
            assert api.holding(hub.token()).get("/pulls").status_code == 200

    api.get("/pulls")
    hub.forget()
    hub.before_call = meddle
    api.get("")
    assert outcome(api) == "422"
    assert seen == [(1, "/repos/acme/fleet"), (2, "/repos/acme/fleet/git/refs"), (3, "/repos/acme/fleet/pulls")]


def test_the_log_distinguishes_reads_writes_and_downloads(hub: StandIn, api: Api) -> None:
    api.branch("up")
    node = api.open_pull("up").json()["node_id"]
    hub.forget()
    api.query('{ repository(owner: "acme", name: "fleet") { id } }')
    api.mutate("closePullRequest", pullRequestId=node)
    api.get("/pulls")
    Api(hub, None, api.session).post("/git/blobs", {"content": ""})
    api.session.get(f"{hub.url}/acme/fleet/releases/download/v1/none", timeout=10)
    assert [(call.path, call.operation, call.repository) for call in hub.calls[:2]] == [
        ("/graphql", "query", "acme/fleet"),
        ("/graphql", "closePullRequest", "acme/fleet"),
    ]
    assert [call.number for call in hub.reads] == [1, 3]
    assert [(call.number, call.token_kind, call.status) for call in hub.writes] == [(2, "actions", 200), (4, "", 401)]
    assert [call.status for call in hub.downloads] == [404]
    assert api.token is not None
    assert api.token.value not in repr([hub.log, api.token])


def test_what_was_stopped_answers_no_more(tmp_path: Path) -> None:
    hub = StandIn(tmp_path)
    with asking(hub) as api:
        with hub:
            fleet(hub)
            assert api.get("").status_code == 200
        with pytest.raises(requests.exceptions.ConnectionError):
            api.get("")


# People


METHODS = {
    "merge": (2, "Merge pull request #1 from acme/up\n\nA title"),
    "squash": (1, "A title (#1)"),
    "rebase": (1, "Change\n"),
}


def test_a_commit_that_conflicts_by_itself_cannot_be_rebased(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    api.branch("up")
    api.open_pull("up")
    repository.commit({"a.yaml": b"both\n"}, "Meet\n")
    repository.people.push("up", {"a.yaml": b"both\n"})
    with pytest.raises(Refused, match="can't be rebased"):
        repository.people.merge(1, "rebase")
    assert repository.people.merge(1, "merge") == repository.head()


@pytest.mark.parametrize("method", METHODS)
def test_people_merge_in_three_ways(hub: StandIn, api: Api, method: str) -> None:
    repository = hub.repositories["acme/fleet"]
    repository.settings.delete_branch_on_merge = True
    sha = api.branch("up")
    api.open_pull("up")
    repository.people.advance_base()
    made = repository.people.merge(1, method)
    commit = repository.store.read(made)
    assert (len(commit.parents), commit.message) == METHODS[method]
    assert repository.head() == made
    assert {"a.yaml", "README.md"} <= set(repository.files())
    assert repository.files()["a.yaml"] == b"changed\n"
    found = api.get("/pulls/1").json()
    assert (found["merged"], found["merge_commit_sha"], found["head"]["sha"]) == (True, made, sha)
    assert repository.head("up") == ""
    query = """{ repository(owner: "acme", name: "fleet") { pullRequest(number: 1) {
      state headRef { name } commits(last: 1) { nodes { commit { oid } } } } } }"""
    assert api.query(query)["data"]["repository"]["pullRequest"] == {
        "state": "MERGED",
        "headRef": None,
        "commits": {"nodes": [{"commit": {"oid": sha}}]},
    }


def test_people_revert(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    api.branch("up")
    api.open_pull("up")
    made = repository.people.merge(1)
    repository.people.advance_base()
    undone = repository.store.read(repository.people.revert(made))
    assert repository.files()["a.yaml"] == b"one\n"
    assert undone.message.startswith('Revert "Merge pull request #1')
    assert f"This reverts commit {made}." in undone.message


def test_people_do_not_merge_what_conflicts_or_is_a_draft(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    api.branch("up")
    api.open_pull("up", draft=True)
    with pytest.raises(Refused):
        repository.people.merge(1)
    repository.people.mark_ready(1)
    repository.people.push("", {"a.yaml": b"a third\n"})
    with pytest.raises(Refused):
        repository.people.merge(1)


def test_a_base_that_holds_a_branch_has_merged_it(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    sha = api.branch("up")
    api.open_pull("up")
    repository.people.force_push("main", sha)
    assert api.get("/pulls/1").json()["merged"] is True


def test_a_branch_that_is_put_back_on_its_base_closes_the_pull_request(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    api.branch("up")
    api.open_pull("up")
    repository.people.force_push("up", repository.head())
    assert [api.get("/pulls/1").json()[name] for name in ("state", "merged")] == ["closed", False]


def test_a_pull_request_from_a_fork_is_distinguished(hub: StandIn, api: Api) -> None:
    repository = hub.repositories["acme/fleet"]
    repository.people.open_from_fork("up", {"a.yaml": b"evil\n"}, "Mine")
    assert repository.pulls[1].state == "open"
    query = """{ repository(owner: "acme", name: "fleet") { pullRequests(headRefName: "up", first: 9) {
      nodes { isCrossRepository author { login } headRepository { id } } } } }"""
    assert api.query(query)["data"]["repository"]["pullRequests"]["nodes"] == [
        {"isCrossRepository": True, "author": {"login": "mallory"}, "headRepository": None}
    ]
    assert api.get("/pulls?head=acme:up").json() == []
    assert len(api.get("/pulls?head=mallory:up").json()) == 1
    api.branch("up")
    assert api.open_pull("up").status_code == 201


# Releases, and Git's own protocol


def test_releases_come_in_pages_and_their_files_without_a_token(hub: StandIn, api: Api) -> None:
    dates = {"v2.8.7": "2026-01-05T10:00:00Z", "v2.8.8": "2026-02-05T10:00:00Z", "v2.9.3": "2026-03-01T10:00:00Z"}
    repository = flux.publish_releases(hub, dates, {"v2.9.3": "## Notes"})
    repository.publish_release("v2.9.4", "", draft=True)
    anonymous = Api(hub, None, api.session)
    first = anonymous.get("//repos/fluxcd/flux2/releases?per_page=2&page=1")
    assert [each["tag_name"] for each in first.json()] == ["v2.9.3", "v2.8.8"]
    assert first.json()[0]["body"] == "## Notes"
    following = api.session.get(first.links["next"]["url"], timeout=10)
    assert [each["tag_name"] for each in following.json()] == ["v2.8.7"]
    assert "next" not in following.links
    one = anonymous.get("//repos/fluxcd/flux2/releases/tags/v2.8.8").json()
    assert one["published_at"] == dates["v2.8.8"]
    asset = next(each for each in one["assets"] if each["name"] == "manifests.tar.gz")
    hub.forget()
    content = api.session.get(asset["browser_download_url"], timeout=10).content
    assert len(content) == asset["size"]
    assert (len(hub.calls), len(hub.downloads)) == (0, 1)
    assert anonymous.get("//repos/fluxcd/flux2/releases/tags/v2.9.4").status_code == 404
    raw = f"{hub.url}/raw/fluxcd/flux2/main/README.md"
    assert api.session.get(raw, timeout=10).content == b"Flux\n"


@pytest.fixture
def clone(hub: StandIn, api: Api, tmp_path: Path) -> Git:
    del api
    return Git(hub, tmp_path / "clone")


class Git:
    """Git as a user runs it, with a token."""

    def __init__(self, hub: StandIn, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        self.url = f"{hub.url}/acme/fleet.git"

    def run(self, *arguments: str, token: Token | None = None, folder: Path | None = None) -> str:
        header = [] if token is None else ["-c", f"http.extraheader=Authorization: Bearer {token.value}"]
        environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0", "NO_PROXY": "127.0.0.1"}
        environment |= {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(  # noqa: S603  (Git, with our own arguments)
            [require_program("git"), *header, *arguments],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout if done.returncode == 0 else f"failed: {done.stderr}"


def test_git_clones_and_pushes_what_the_api_then_knows(hub: StandIn, clone: Git) -> None:
    repository = hub.repositories["acme/fleet"]
    repository.settings.is_private = True
    token = hub.token()
    assert "failed" in clone.run("clone", clone.url, str(clone.folder))
    clone.run("clone", "--quiet", "--depth=1", clone.url, str(clone.folder), token=token)
    assert (clone.folder / "a.yaml").read_bytes() == b"one\n"
    (clone.folder / "a.yaml").write_bytes(b"x" * 3_000_000)
    clone.run("commit", "--quiet", "-am", "Large", folder=clone.folder)
    repository.people.push("up", {"c": b"c\n"})
    repository.people.open_pull("up", "A title")
    push = ("push", "--force", "origin", "HEAD:up")
    poor = hub.token("actions", {"contents": "read"})
    assert "403" in clone.run(*push, token=poor, folder=clone.folder)
    assert "failed" not in clone.run(*push, token=token, folder=clone.folder)
    assert repository.pulls[1].head_sha == repository.head("up")
    assert len(repository.files("up")["a.yaml"]) == 3_000_000
    assert hub.calls == []


# The schema


def problems(ours: GraphQLNamedType, theirs: GraphQLNamedType | None) -> Iterator[str]:
    """Where a type of ours is not a part of the published one."""
    if type(ours) is not type(theirs):
        yield f"{ours} is not there, or of another kind"
    if isinstance(ours, GraphQLEnumType) and isinstance(theirs, GraphQLEnumType):
        yield from (f"{ours}.{value}" for value in ours.values.keys() - theirs.values.keys())
    fielded = GraphQLObjectType | GraphQLInterfaceType
    if isinstance(ours, fielded) and isinstance(theirs, fielded):
        known = {interface.name for interface in theirs.interfaces}
        yield from (f"{ours} implements {each}" for each in ours.interfaces if each.name not in known)
        for name, field in ours.fields.items():
            yield from field_problems(f"{ours}.{name}", field, theirs.fields.get(name))
    if isinstance(ours, GraphQLInputObjectType) and isinstance(theirs, GraphQLInputObjectType):
        for name, value in ours.fields.items():
            yield from value_problems(f"{ours}.{name}", value, theirs.fields.get(name))
        needed = {name for name, each in theirs.fields.items() if is_required_input_field(each)}
        yield from (f"{ours} lacks {name}" for name in needed - ours.fields.keys())


def field_problems(name: str, ours: GraphQLField, theirs: GraphQLField | None) -> Iterator[str]:
    if theirs is None or str(ours.type) != str(theirs.type):
        yield f"{name}: {ours.type}"
    for argument, value in ours.args.items():
        there = None if theirs is None else theirs.args.get(argument)
        yield from value_problems(f"{name}({argument})", value, there)


Value = GraphQLArgument | GraphQLInputField


def value_problems(name: str, ours: Value, theirs: Value | None) -> Iterator[str]:
    if theirs is None or (str(ours.type), ours.default_value) != (str(theirs.type), theirs.default_value):
        yield f"{name}: {ours.type}"


def test_the_schema_is_a_part_of_the_published_one() -> None:
    published = published_schema()
    ours = build_schema(SCHEMA.read_text(encoding="utf-8"))
    named = {name: kind for name, kind in ours.type_map.items() if not name.startswith("__")}
    assert len(named) > 50
    found = [each for name, kind in named.items() for each in problems(kind, published.type_map.get(name))]
    assert found == []


def test_a_schema_that_says_more_is_noticed() -> None:
    ours = build_schema("type Query { shoeSize: Int viewer(fast: Boolean): User } type User { login: Int }")
    found = [
        each for name in ("Query", "User") for each in problems(ours.type_map[name], published_schema().type_map[name])
    ]
    assert found == ["Query.shoeSize: Int", "Query.viewer: User", "Query.viewer(fast): Boolean", "User.login: Int"]


def test_an_answer_that_does_not_fit_the_description_is_noticed() -> None:
    checks = Checks()
    request = Request("GET", "/repos/acme/fleet/git/ref/heads/up", {}, b"", "http://127.0.0.1")
    whole = {"type": "commit", "sha": "0" * 40, "url": "https://example.com"}
    good = {"ref": "refs/heads/up", "node_id": "x", "url": "https://example.com", "object": whole}
    checks.observe(request, Response(200, good))
    assert checks.violations == []
    checks.observe(request, Response(200, {**good, "ref": 1}))
    checks.observe(request, Response(201, good))
    assert checks.violations == [
        f"GET {request.path} 200: ref: 1 is not of type 'string'",
        f"GET {request.path} 201: the status is not described",
    ]


def test_what_does_not_fit_the_description_is_noticed(tmp_path: Path) -> None:
    def mistakes() -> None:
        with checked(tmp_path) as hub:
            fleet(hub)
            with asking(hub) as api:
                api.get("/pulls?sate=all")
                api.post("/issues", {"title": "x", "lables": []})
                api.get("/shoes")
                hub.fail(FAULTS["422"])
                api.query("{ viewer { login } }")

    with pytest.raises(AssertionError) as caught:
        mistakes()
    assert str(caught.value).splitlines()[:3] == [
        "GET /repos/acme/fleet/pulls 200: unknown parameter sate",
        "POST /repos/acme/fleet/issues 201: request lables is not described",
        "GET /repos/acme/fleet/shoes 404: GitHub's description has no such path",
    ]
