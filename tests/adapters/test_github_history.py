"""A shallow checkout gets the earlier contents of a file from GitHub's API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from github_stand_in import Repository as Hosted
from github_stand_in import StandIn, Token
from github_stand_in.faults import FAULTS, to

from adapters.conftest import Clock
from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.adapters.git.git_history import GitHistory
from flux_upgrade.adapters.github.api import GitHubApi
from flux_upgrade.adapters.github.history import MOST, GitHubHistory
from flux_upgrade.adapters.http.client import Client, Credential
from flux_upgrade.commands.wiring import build_checkout
from flux_upgrade.commands.wiring_repository import RepositorySource, build_history
from flux_upgrade.config.environment import Environment, GitHub, Tokens
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.unknown import Unknown
from git_servers import PERSON, git
from stand_in.checked import checked

PATH = "clusters/production/flux-system/gotk-components.yaml"
OLD = "cluster/gotk-components.yaml"
WHERE = "acme/fleet"


class World:
    """A repository on GitHub, and who asks about it."""

    def __init__(self, hub: StandIn, stack: ExitStack) -> None:
        self.hub = hub
        self.stack = stack
        self.clock = Clock(now=float(hub.clock.epoch))
        self.token = hub.token("actions")

    def make(self, files: dict[str, bytes], *, is_private: bool = False) -> Hosted:
        return self.hub.create_repository(WHERE, files, is_private=is_private)

    @property
    def fleet(self) -> Hosted:
        return self.hub.repositories[WHERE]

    def commit(self, content: bytes | None, path: str = PATH) -> str:
        self.hub.clock.advance(days=1)
        return self.fleet.people.push("main", {path: content})

    def history(self, token: Token | None = None, head: str = "") -> GitHubHistory:
        given = (token or self.token).value
        client = Client(self.clock.timing, credential=Credential(self.hub.url, given), timeout=5.0)
        self.stack.callback(client.close)
        api, graphql = self.hub.api_url, self.hub.graphql_url
        github = GitHubApi(client, self.clock.timing, api_url=api, graphql_url=graphql)
        return GitHubHistory(github, WHERE, head or self.fleet.head())

    def contents(self, path: str = PATH) -> list[bytes]:
        found = self.history().of(path)
        assert found.missing is None
        return [past.content for past in found.versions]

    @property
    def calls(self) -> list[str]:
        found = []
        for call in self.hub.calls:
            words = call.path.removeprefix(f"/repos/{WHERE}").split("/")
            found.append(f"{call.method} {'/'.join(words[:-1]) or call.path}")
        return found


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with checked(tmp_path / "hub") as hub, ExitStack() as stack:
        yield World(hub, stack)


def test_what_a_file_was(world: World) -> None:
    first = world.make({PATH: b"\xef\xbb\xbfone\r\n", "other.yaml": b"x"}).head()
    began = world.hub.clock.text
    second = world.commit(b"two\xff")
    world.commit(b"beside", "other.yaml")
    found = world.history().of(PATH)
    assert found.versions[0] == FileRevision(first, began, b"\xef\xbb\xbfone\r\n")
    assert (found.versions[1].commit, found.versions[1].content) == (second, b"two\xff")
    assert (len(found.versions), found.missing) == (2, None)
    assert world.calls == ["POST /graphql", "GET /git/blobs", "GET /git/blobs"], "the first commit has no parent"


def test_each_content_is_fetched_once(world: World) -> None:
    world.make({PATH: b"one", "copy.yaml": b"one"})
    for content in (b"two", b"one", b"two"):
        world.commit(content)
    history = world.history()
    assert [past.content for past in history.of(PATH).versions] == [b"one", b"two", b"one", b"two"]
    assert [past.content for past in history.of("copy.yaml").versions] == [b"one"]
    assert world.calls.count("GET /git/blobs") == 2


def test_what_was_removed_and_made_again(world: World) -> None:
    world.make({PATH: b"one", "other.yaml": b"x"})
    world.commit(None)
    world.commit(b"two")
    assert world.contents() == [b"one", b"two"]
    assert world.contents("clusters") == [], "a folder has no content"
    assert world.contents("new.yaml") == []


def test_a_file_that_was_moved(world: World) -> None:
    long = b"line\n" * 100
    world.make({OLD: b"one\n" + long, "other.yaml": b"x"})
    world.commit(b"two\n" + long, OLD)
    world.hub.clock.advance(days=1)
    world.fleet.people.push("main", {OLD: None, PATH: b"three\n" + long})
    world.commit(b"four\n" + long)
    assert [content.partition(b"\n")[0] for content in world.contents()] == [b"one", b"two", b"three", b"four"]


def test_a_move_among_many_files(world: World) -> None:
    """GitHub tells the files of a commit page by page."""
    world.make({OLD: b"one\n" * 50, "other.yaml": b"x"})
    many = {f"apps/{number:03}.yaml": b"%d" % number for number in range(130)}
    world.fleet.people.push("main", {**many, OLD: None, PATH: b"one\n" * 50})
    assert len(world.contents()) == 2
    assert world.calls.count("GET /commits") == 2


def test_the_commit_that_is_checked_out_counts(world: World) -> None:
    first = world.make({PATH: b"one"}).head()
    world.commit(b"two")
    assert [past.content for past in world.history(head=first).of(PATH).versions] == [b"one"]


def test_more_commits_than_are_asked_for(world: World) -> None:
    world.make({PATH: b"0"})
    for number in range(MOST):
        world.commit(b"%d" % (number % 3 + 1))
    found = world.history().of(PATH)
    assert len(found.versions) == MOST
    assert str(found.missing) == (
        "the checkout does not have the whole history, and only the last 100 commits of the file were read from GitHub: "
        "set `fetch-depth: 0` of actions/checkout"
    )
    assert world.calls.count("GET /git/blobs") == 3


@pytest.mark.parametrize("path", ["a b.yaml", "ü/\u202e.yaml", "a?b#c%20.yaml", '"q".yaml'])
def test_a_path_is_a_path(world: World, path: str) -> None:
    world.make({path: b"one"})
    assert world.contents(path) == [b"one"]


# -- what goes wrong


def test_a_commit_that_github_does_not_know(world: World) -> None:
    world.make({PATH: b"one"})
    found = world.history(head="1" * 40).of(PATH)
    assert found.versions == ()
    assert "GitHub does not know its commit 111111111111" in str(found.missing)


def test_a_token_that_may_not_read(world: World) -> None:
    world.make({PATH: b"one"}, is_private=True)
    for token in (world.hub.token("actions", {"issues": "write"}), world.hub.token("classic", scopes=())):
        found = world.history(token).of(PATH)
        assert found.versions == ()
        assert "acme/fleet" in str(found.missing)
        assert str(found.missing).endswith("set `fetch-depth: 0` of actions/checkout")


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "slow"])
@pytest.mark.parametrize("at", ["graphql", "/git/blobs", "/commits/"])
def test_nothing_is_raised(world: World, name: str, at: str) -> None:
    world.make({OLD: b"one\n" * 50, "other.yaml": b"x"})
    world.fleet.people.push("main", {OLD: None, PATH: b"one\n" * 50})
    world.hub.fail(FAULTS[name], to("POST" if at == "graphql" else "GET", at), times=99)
    found = world.history().of(PATH)
    assert "fetch-depth: 0" in str(found.missing)
    assert len(found.versions) <= 2
    world.hub.heal()
    assert world.history().of(PATH).missing is None


def test_what_was_fetched_before_a_failure_is_reported(world: World) -> None:
    world.make({PATH: b"one"})
    world.commit(b"two")
    world.hub.fail(FAULTS["404"], to("GET", "/git/blobs"), at_call=2)
    found = world.history().of(PATH)
    assert [past.content for past in found.versions] == [b"one"]
    assert found.missing
    assert found.has_gaps


# -- which of the two is asked


def environment(world: World, **changes: Any) -> Environment:
    hub = world.hub
    github = GitHub(api_url=hub.api_url, graphql_url=hub.graphql_url, server_url=hub.url)
    defaults = Environment(
        tokens=Tokens(repository=world.token.value),
        github=github,
        search_path=PERSON["PATH"],
        home="/nonexistent",
        timing=world.clock.timing,
    )
    return defaults._replace(**changes)


def cloned(world: World, folder: Path, *options: str) -> Path:
    git("clone", "--quiet", *options, f"file://{world.fleet.git}", folder)
    git("remote", "set-url", "origin", f"{world.hub.url}/{WHERE}", at=folder)
    return folder


SHALLOW = "--depth=1"
BOTH = (b"one", b"two")


@pytest.mark.parametrize(
    ("option", "changes", "asked", "found"),
    [
        ("--no-local", {}, GitHistory, BOTH),
        (SHALLOW, {}, GitHubHistory, BOTH),
        (SHALLOW, {"repository": WHERE}, GitHubHistory, BOTH),
        ("--filter=blob:none", {}, GitHubHistory, BOTH),
        (SHALLOW, {"tokens": Tokens()}, GitHistory, BOTH[1:]),
        (SHALLOW, {"git": {"GITEA_ACTIONS": "true"}}, GitHistory, BOTH[1:]),
        (SHALLOW, {"repository": "https://gitlab.example.com/acme/fleet"}, GitHistory, BOTH[1:]),
        (SHALLOW, {"repository": "http://[oops/acme/fleet"}, GitHistory, BOTH[1:]),
    ],
)
def test_git_where_it_has_all_else_github(  # noqa: PLR0913, PLR0917  (a row of the table)
    world: World, tmp_path: Path, option: str, changes: dict[str, Any], asked: type, found: tuple[bytes, ...]
) -> None:
    world.make({PATH: b"one"})
    git("config", "uploadpack.allowFilter", "true", at=world.fleet.git)
    world.commit(b"two")
    folder = cloned(world, tmp_path / "clone", option)
    source = RepositorySource(str(folder / "clusters"), str(changes.pop("repository", "")), "")
    variables = environment(world, **changes)
    place = find(source.path)
    history = build_history(variables, source, build_checkout(variables, place.root), is_checkout=place.is_checkout)
    revisions = history.of(PATH)
    assert isinstance(history, GitHistory)
    assert isinstance(history.elsewhere or history, asked)
    assert tuple(past.content for past in revisions.versions) == found
    assert ("fetch-depth: 0" in str(revisions.missing)) == (found != BOTH)


def test_there_may_be_no_checkout(world: World, tmp_path: Path) -> None:
    variables, source = environment(world), RepositorySource(str(tmp_path), "", "")
    place = find(source.path)
    found = build_history(variables, source, build_checkout(variables, place.root), is_checkout=place.is_checkout).of(
        PATH
    )
    assert found == FileRevisions(missing=Unknown("it is not in a Git checkout, or has no commit yet"))
