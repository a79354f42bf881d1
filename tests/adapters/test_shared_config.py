"""A shared config file is read from GitHub's API at its commit, or an error says why it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from github_stand_in import Fault, StandIn, Token
from github_stand_in.faults import FAULTS

from adapters.conftest import Clock
from adapters.loopback import Loopback
from flux_upgrade.adapters.github.api import GitHubApi
from flux_upgrade.adapters.github.shared_config import SharedConfigs
from flux_upgrade.adapters.http.client import Client, Credential
from flux_upgrade.model.errors import SharedConfigUnusable
from stand_in.checked import checked

WHERE = "octo-org/platform"
PATH = "flux/upgrade.yaml"
FILES = {PATH: b"policy: none\n", "README.md": b"Platform\n"}


class World:
    """The repository with the shared file, on a GitHub of its own; ``head`` is its first commit."""

    def __init__(self, hub: StandIn, stack: ExitStack) -> None:
        self.hub = hub
        self.stack = stack
        self.clock = Clock(now=float(hub.clock.epoch))
        self.platform = hub.create_repository(WHERE, FILES)
        self.head = self.platform.head()

    def read(self, commit: str = "", path: str = PATH, *, token: Token | None = None, where: str = WHERE) -> bytes:
        credential = Credential(self.hub.url, token.value) if token is not None else None
        client = Client(self.clock.timing, credential=credential, timeout=5.0)
        self.stack.callback(client.close)
        github = GitHubApi(client, self.clock.timing, api_url=self.hub.api_url, graphql_url=self.hub.graphql_url)
        return SharedConfigs(github).read(where, path, commit or self.head)

    def refused(
        self, commit: str = "", path: str = PATH, *, token: Token | None = None, where: str = WHERE
    ) -> tuple[str, str]:
        with pytest.raises(SharedConfigUnusable) as caught:
            self.read(commit, path, token=token, where=where)
        return caught.value.message, caught.value.hint


@pytest.fixture
def on(tmp_path: Path) -> Iterator[World]:
    with checked(tmp_path) as hub, ExitStack() as stack:
        yield World(hub, stack)


def test_a_public_file_is_read_without_a_token_by_three_calls(on: World) -> None:
    assert on.read() == b"policy: none\n"
    assert [(call.method, call.path, call.token_kind) for call in on.hub.calls] == [
        ("GET", f"/repos/{WHERE}", ""),
        ("GET", f"/repos/{WHERE}/compare/{on.head}...main", ""),
        ("GET", f"/repos/{WHERE}/contents/{PATH}", ""),
    ]


def test_it_is_the_file_of_the_commit_whatever_came_after(on: World) -> None:
    on.platform.people.push("main", {PATH: b"policy: major\n"})
    assert on.read() == b"policy: none\n"
    assert on.read(on.platform.head()) == b"policy: major\n"


def test_a_private_file_is_read_with_a_token_that_may(on: World) -> None:
    on.platform.settings.is_private = True
    assert on.read(token=on.hub.token("app", {"contents": "read"}, repositories=(WHERE,))) == b"policy: none\n"
    access = (
        f"{WHERE} does not exist, or the token cannot read it",
        f"use a token that can read {WHERE}: that of a job reads only its own repository and public ones",
    )
    assert on.refused() == access
    assert on.refused(token=on.hub.token("actions", repositories=("octo-org/fleet",))) == access
    _, hint = on.refused(token=on.hub.token("app", {"issues": "read"}, repositories=(WHERE,)))
    assert hint == access[1]


def test_a_token_of_a_job_reads_a_public_repository(on: World) -> None:
    assert on.read(token=on.hub.token("actions", repositories=("octo-org/fleet",))) == b"policy: none\n"


@pytest.mark.parametrize("branch", ["main", "release/2"])
def test_a_commit_of_the_default_branch_whatever_its_name(on: World, branch: str) -> None:
    on.platform.people.force_push(branch, on.head)
    on.platform.default_branch = branch
    on.platform.people.push(branch, {"a": b""})
    assert on.read() == b"policy: none\n"


# A commit that is not the repository's


def of_a_fork(on: World) -> str:
    return on.platform.people.open_from_fork("main", {PATH: b"policy: major\n"}, "Looks good").head_sha


def of_a_branch(on: World) -> str:
    on.platform.people.force_push("draft", on.head)
    return on.platform.people.push("draft", {PATH: b"policy: major\n"})


@pytest.mark.parametrize("made", [of_a_fork, of_a_branch])
@pytest.mark.parametrize("later", [0, 1])
def test_a_commit_that_is_not_on_the_default_branch_is_refused(
    on: World, made: Callable[[World], str], later: int
) -> None:
    commit = made(on)
    for _ in range(later):
        on.platform.people.advance_base()
    message, hint = on.refused(commit)
    assert message == f"commit {commit[:12]} is not on main, the default branch of {WHERE}"
    assert f"`gh api repos/{WHERE}/commits/HEAD --jq .sha`" in hint
    assert not [call for call in on.hub.calls if "contents" in call.path]


def test_a_commit_that_was_merged_is_read(on: World) -> None:
    pull = on.platform.people.open_from_fork("main", {PATH: b"policy: patch\n"}, "Looks good")
    on.platform.people.merge(pull.number)
    assert on.read(pull.head_sha) == b"policy: patch\n"


def test_a_commit_that_there_is_not(on: World) -> None:
    assert on.refused("f" * 40)[0] == f"commit {'f' * 12} is not on main, the default branch of {WHERE}"
    tree = on.platform.store.read(on.head).tree
    assert "is not on main" in on.refused(tree)[0]


# A file that is none


def test_what_is_no_file(on: World) -> None:
    at = f"in {WHERE} at {on.head[:12]}"
    hint = "check the path and the commit in `extends`"
    assert on.refused(path="flux/other.yaml") == (f"there is no flux/other.yaml {at}", hint)
    assert on.refused(path="flux") == (f"flux {at} is not a file", hint)


@pytest.mark.parametrize("size", [256 * 1024 + 1, 2_000_000])
def test_a_file_that_is_too_large(on: World, size: int) -> None:
    commit = on.platform.people.push("main", {PATH: b"#" * size})
    assert on.refused(commit)[0] == f"{PATH} in {WHERE} at {commit[:12]} is larger than 256 KiB"


def test_a_file_as_large_as_it_may_be(on: World) -> None:
    assert len(on.read(on.platform.people.push("main", {PATH: b"#" * 256 * 1024}))) == 256 * 1024


def test_a_path_with_what_an_address_would_escape(on: World) -> None:
    commit = on.platform.people.push("main", {".github/a%2fb?.yaml": b"#"})
    assert on.read(commit, ".github/a%2fb?.yaml") == b"#"


# A repository that is elsewhere


def test_a_repository_that_there_is_not(on: World) -> None:
    assert on.refused(where="octo-org/other")[0] == "octo-org/other does not exist, or the token cannot read it"


def test_a_repository_that_was_renamed_is_not_followed(on: World) -> None:
    on.hub.rename(WHERE, "shared")
    assert on.refused() == (f"{WHERE} was renamed to octo-org/shared", "write octo-org/shared in `extends`")


def test_case_is_no_other_name(on: World) -> None:
    on.platform.full_name = "Octo-Org/Platform"
    assert on.read() == b"policy: none\n"


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_redirect_to_another_host_gets_no_token_and_is_not_believed(on: World, call: int) -> None:
    with Loopback() as other:
        location = {"Location": f"{other.url}/repos/{WHERE}"}
        on.hub.fail(Fault("moved", 302, "Found", location), at_call=call, times=9)
        message, _ = on.refused(token=on.hub.token("app"))
        assert "it redirects to another host" in message
        assert other.seen
        assert all("authorization" not in each.headers for each in other.seen)


# GitHub itself


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in ("422", "slow")])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_whatever_github_says_it_is_one_error_or_the_file(on: World, name: str, call: int) -> None:
    on.hub.fail(FAULTS[name], at_call=call, times=99)
    message, hint = on.refused(token=on.hub.token("app"))
    assert message
    assert hint
    assert "\n" not in message
    assert "not on main" not in message or name == "404"
