"""Keys that say whom to ask: in CI, they count only in a config file of the default branch. Real checkouts, by Git."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from adapters.loopback import Loopback
from cases_on_disk import write_tree
from flux_upgrade import main
from flux_upgrade.config.keys import PROTECTED, SHARED
from flux_upgrade.model.timing import Timing
from real_parts import require_program

NAME = "octo-org/fleet"
CONFIG = ".github/flux-upgrade.yaml"
EXTENDS = f"extends: octo-org/secrets/flux-upgrade.yaml@{'0' * 40}\n"
TOKEN = "ghp_ours"
GITHUB = {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": NAME}
GITLAB = {"CI": "true", "GITLAB_CI": "true", "CI_DEFAULT_BRANCH": "main", "CI_PROJECT_URL": f"https://gl.test/{NAME}"}
CIS: Mapping[str, Mapping[str, str]] = {
    "any": {"CI": "1"},
    "Jenkins": {"JENKINS_URL": "https://ci.test/", "CHANGE_ID": "7"},
    "Azure DevOps": {"TF_BUILD": "True", "BUILD_REPOSITORY_URI": f"https://org@dev.test/{NAME}"},
    "Woodpecker": {"CI": "woodpecker", "CI_REPO": NAME, "CI_REPO_DEFAULT_BRANCH": "main"},
    "Drone": {"DRONE": "true", "DRONE_REPO": NAME, "DRONE_REPO_BRANCH": "main"},
    "CircleCI": {"CIRCLECI": "true", "CIRCLE_REPOSITORY_URL": f"git@github.com:{NAME}.git"},
    "Travis": {"TRAVIS": "true", "TRAVIS_REPO_SLUG": NAME},
    "Buildkite": {"BUILDKITE": "true", "BUILDKITE_REPO": f"git@github.com:{NAME}.git"},
    "Prow": {"PROW_JOB_ID": "1"},
    "CodeBuild": {"CODEBUILD_BUILD_ID": "a:1", "CODEBUILD_SOURCE_REPO_URL": f"https://github.com/{NAME}.git"},
    "Bitbucket": {"BITBUCKET_BUILD_NUMBER": "7", "BITBUCKET_REPO_FULL_NAME": NAME},
    "TeamCity": {"TEAMCITY_VERSION": "2026.1"},
    "GitLab": GITLAB,
    "GitHub, pull_request": {**GITHUB, "GITHUB_EVENT_NAME": "pull_request", "GITHUB_REF": "refs/pull/7/merge"},
    "GitHub, workflow_run": {**GITHUB, "GITHUB_EVENT_NAME": "workflow_run", "GITHUB_REF": "refs/heads/main"},
    "GitHub, issue_comment": {**GITHUB, "GITHUB_EVENT_NAME": "issue_comment", "GITHUB_REF": "refs/heads/main"},
    "GitHub, schedule": {**GITHUB, "GITHUB_EVENT_NAME": "schedule", "GITHUB_REF": "refs/heads/main"},
}


class Server:
    """A repository with a pull request that adds ``extends`` to the config file, and a fork of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = write_tree(folder / "work", {"README.md": b"fleet", CONFIG: EXTENDS.encode()})
        self.address = self.bare(NAME)
        self.git("init --quiet --initial-branch=main")
        self.base = self.commit()
        self.git("checkout --quiet -b topic")
        (self.work / CONFIG).write_text(EXTENDS.replace("secrets", "other"))
        self.pull = self.commit()
        self.git("checkout --quiet --detach main")
        self.git("merge --quiet --no-ff --message=merge topic")
        self.git(f"push --quiet {self.address} main topic:refs/pull/7/head HEAD:refs/pull/7/merge topic:topic")
        self.git(f"push --quiet {self.bare('stranger/fleet')} topic:main")
        self.git("checkout --quiet main")

    def bare(self, name: str) -> str:
        path = self.folder / "hub" / f"{name}.git"
        run_git(f"init --quiet --bare --initial-branch=main {path}", self.folder)
        return f"file://{path}"

    def git(self, command: str) -> str:
        return run_git(command, self.work)

    def commit(self) -> str:
        self.git("add --all")
        self.git("commit --quiet --message=change")
        return self.git("rev-parse HEAD")

    def advance(self) -> None:
        """Merge something else into the default branch."""
        (self.work / "README.md").write_text("more")
        self.commit()
        self.git(f"push --quiet {self.address} main")

    def check_out(self, *commands: str) -> Path:
        """A checkout, by commands of Git after ``init`` and ``remote add``."""
        place = self.folder / "checkout"
        place.mkdir()
        for command in ("init --quiet", f"remote add origin {self.address}", *commands):
            run_git(command, place)
        return place


def run_git(command: str, folder: Path) -> str:
    words = [require_program("git"), "-c", "user.name=a", "-c", "user.email=a@b", *command.split()]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True).stdout.decode().strip()  # noqa: S603


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("NO_PROXY", "*")
    with Loopback() as found:
        yield found


# As actions/checkout, GitLab's runner, and most others leave a checkout.


def as_github_merges(server: Server) -> Path:
    fetched = "fetch --quiet --depth=1 origin +refs/pull/7/merge:refs/remotes/pull/7/merge"
    return server.check_out(fetched, "checkout --quiet --detach refs/remotes/pull/7/merge")


def head_with_base(server: Server) -> Path:
    """The head of the pull request, which contains the head of the base branch."""
    refs = "+refs/heads/main:refs/remotes/origin/main +refs/pull/7/head:refs/remotes/origin/PR-7"
    return server.check_out(f"fetch --quiet origin {refs}", "checkout --quiet --detach refs/remotes/origin/PR-7")


def merged_locally(server: Server) -> Path:
    base = "fetch --quiet origin +refs/heads/main:refs/remotes/origin/main"
    merge = ("fetch --quiet origin refs/pull/7/head", "merge --quiet --no-ff --message=merge FETCH_HEAD")
    return server.check_out(base, "checkout --quiet -B main refs/remotes/origin/main", *merge)


def forwarded_locally(server: Server) -> Path:
    base = "fetch --quiet origin +refs/heads/main:refs/remotes/origin/main"
    forward = ("fetch --quiet origin refs/pull/7/head", "merge --quiet --ff-only FETCH_HEAD")
    return server.check_out(base, "checkout --quiet -B main refs/remotes/origin/main", *forward)


def file_only(server: Server) -> Path:
    """The base branch, with the config file of the pull request."""
    place = cloned(server)
    run_git("fetch --quiet origin refs/pull/7/head", place)
    run_git("checkout --quiet FETCH_HEAD -- .", place)
    return place


def branch_of_the_repository(server: Server) -> Path:
    place = cloned(server)
    run_git("checkout --quiet topic", place)
    return place


def exported(server: Server) -> Path:
    """Files without Git."""
    return write_tree(server.folder / "exported", {CONFIG: EXTENDS.encode()})


def without_refs(server: Server) -> Path:
    """Nothing in the checkout tells what its commit is on."""
    fetched = f"fetch --quiet {server.address} refs/heads/main"
    return server.check_out(fetched, "checkout --quiet --detach FETCH_HEAD")


def cloned(server: Server) -> Path:
    run_git(f"clone --quiet {server.address} {server.folder}/clone", server.folder)
    return server.folder / "clone"


def shallow(server: Server) -> Path:
    """As actions/checkout: no default branch is recorded."""
    fetched = f"fetch --quiet --no-tags --depth=1 origin +{server.base}:refs/remotes/origin/main"
    return server.check_out(fetched, "checkout --quiet -B main refs/remotes/origin/main")


def detached(server: Server) -> Path:
    """As GitLab's runner, with a commit that is not the newest any more."""
    server.advance()
    fetched = "fetch --quiet --depth=20 origin +refs/heads/main:refs/remotes/origin/main"
    return server.check_out(fetched, f"checkout --quiet --detach {server.base}")


PULLS = (as_github_merges, head_with_base, merged_locally, forwarded_locally, file_only, branch_of_the_repository)
UNTOLD = (exported, without_refs)


def asked(place: Path, env: Mapping[str, str], api: Loopback, *flags: str, command: str = "plan .") -> str:
    """What a run printed; what it asked is in ``api``."""
    api.seen.clear()
    env = {"HOME": str(place.parent), "PATH": "/usr/local/bin:/usr/bin:/bin", "GITHUB_API_URL": api.url, **env}
    err, timing = io.StringIO(), Timing(now=lambda: 1_770_000_000.0, sleep=lambda _: None, jitter=lambda: 0.0)
    with contextlib.chdir(place):
        main.run([*command.split(), *flags], {**env, "GITHUB_TOKEN": TOKEN}, io.BytesIO(), err, timing)
    return err.getvalue()


def is_read(api: Loopback) -> bool:
    return [each.headers["authorization"] for each in api.seen] == [f"Bearer {TOKEN}"]


@pytest.mark.parametrize("check_out", [*PULLS, *UNTOLD])
@pytest.mark.parametrize("ci", CIS)
def test_the_config_file_of_a_pull_request_is_not_obeyed(
    ci: str, check_out: Callable[[Server], Path], server: Server, api: Loopback
) -> None:
    place = check_out(server)
    err = asked(place, CIS[ci], api)
    assert api.seen == []
    assert "sets extends, which this run does not use" in err
    assert "--trust-config" in err
    assert "[untrusted-config]" in err


@pytest.mark.parametrize("ci", CIS)
def test_a_clone_of_the_default_branch_is_obeyed(ci: str, server: Server, api: Loopback) -> None:
    place = cloned(server)
    err = asked(place, CIS[ci], api)
    assert is_read(api), err


def test_on_a_laptop_the_file_that_is_checked_out_is_obeyed(server: Server, api: Loopback) -> None:
    place = branch_of_the_repository(server)
    for env in ({}, {"CI": "false"}, {"CI": "0"}, {"GITHUB_ACTIONS": "false"}):
        asked(place, env, api)
        assert is_read(api)


@pytest.mark.parametrize("event", ["schedule", "push", "workflow_dispatch", "workflow_run", "issue_comment"])
@pytest.mark.parametrize("check_out", [shallow, cloned])
def test_a_run_of_github_on_the_default_branch(
    check_out: Callable[[Server], Path], event: str, server: Server, api: Loopback
) -> None:
    place, payload = check_out(server), server.folder / "event.json"
    env = {**GITHUB, "GITHUB_EVENT_NAME": event, "GITHUB_REF": "refs/heads/main", "GITHUB_EVENT_PATH": str(payload)}
    payload.write_text(json.dumps({"repository": {"default_branch": "main"}}))
    err = asked(place, env, api)
    assert is_read(api), err
    payload.write_text(json.dumps({"repository": {"default_branch": "production"}}))
    assert "is on production" in asked(place, env, api)
    assert api.seen == []


def test_an_old_payload_of_a_schedule_has_no_default_branch(server: Server, api: Loopback) -> None:
    place, payload = shallow(server), server.folder / "event.json"
    payload.write_text('{"schedule": "0 6 * * *"}')
    env = {**GITHUB, "GITHUB_EVENT_PATH": str(payload), "GITHUB_REF": "refs/heads/main"}
    err = asked(place, {**env, "GITHUB_EVENT_NAME": "schedule"}, api)
    assert is_read(api), err
    assert "does not show which branch is the default one" in asked(place, {**env, "GITHUB_EVENT_NAME": "push"}, api)


@pytest.mark.parametrize("check_out", [shallow, detached])
def test_a_run_of_gitlab_on_the_default_branch(
    check_out: Callable[[Server], Path], server: Server, api: Loopback
) -> None:
    err = asked(check_out(server), GITLAB, api)
    assert is_read(api), err


@pytest.mark.parametrize("named", [["--base=main"], ["--trust-config"], []])
def test_a_flag_or_a_variable_names_the_branch(named: list[str], server: Server, api: Loopback) -> None:
    place = shallow(server)
    more = {} if named else {"FLUX_UPGRADE_TRUSTED_BRANCH": "main"}
    assert "does not show which branch is the default one" in asked(place, CIS["Jenkins"], api)
    err = asked(place, {**CIS["Jenkins"], **more}, api, *named)
    assert is_read(api), err


@pytest.mark.parametrize("check_out", PULLS)
def test_a_branch_that_is_named_does_not_make_a_pull_request_trusted(
    check_out: Callable[[Server], Path], server: Server, api: Loopback
) -> None:
    place = check_out(server)
    assert "[untrusted-config]" in asked(place, CIS["any"], api, "--base=main")
    for name in ("../../../HEAD", "PR-7/..", "main\n"):
        assert "[untrusted-config]" in asked(place, CIS["any"], api, f"--base={name}")
    asked(place, CIS["any"], api, "--trust-config")
    assert is_read(api)


def test_the_default_branch_of_a_fork_is_not_that_of_the_repository(server: Server, api: Loopback) -> None:
    run_git(f"clone --quiet file://{server.folder}/hub/stranger/fleet.git {server.folder}/clone", server.folder)
    place = server.folder / "clone"
    for ci in ("GitHub, workflow_run", "GitLab", "Drone", "Azure DevOps"):
        assert "the checkout is not one of octo-org/fleet" in asked(place, CIS[ci], api)
        assert api.seen == []
    err = asked(place, GITLAB, api, "--repository=stranger/fleet")
    assert is_read(api), err


def test_a_file_outside_of_the_checkout_is_judged_where_it_is(server: Server, api: Loopback) -> None:
    place = cloned(server)
    aside = write_tree(server.folder / "aside", {"config.yaml": EXTENDS.encode()})
    assert "it is in no checkout of a commit" in asked(place, CIS["any"], api, f"--config={aside}/config.yaml")
    assert api.seen == []


def test_line_ends_that_git_converted_are_no_change(server: Server, api: Loopback) -> None:
    place = cloned(server)
    file = place / CONFIG
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    asked(place, CIS["any"], api)
    assert is_read(api)
    file.write_text(f"{EXTENDS}# more\n")
    assert "it differs from the file in the commit" in asked(place, CIS["any"], api)


def test_config_check_tells_what_a_run_does_not_use(server: Server, api: Loopback) -> None:
    place = head_with_base(server)
    err = asked(place, CIS["any"], api, command="config check")
    assert "warning: a run here does not use extends" in err
    assert "--trust-config" in err
    assert api.seen == []
    asked(place, CIS["any"], api, "--trust-config", command="config check")
    assert is_read(api)


def test_facts_of_a_pull_request_do_not_count(server: Server, api: Loopback) -> None:
    place = head_with_base(server)
    fact = "known:\n- {paths: ['**'], reason: It ran., release: v2.8, until: 2999-12-31, migrated: true}\n"
    (place / CONFIG).write_text(fact)
    assert "a run here does not use known" in asked(place, CIS["any"], api, command="config check")
    assert "does not use" not in asked(place, CIS["any"], api, "--trust-config", command="config check")
    source = f"--release-source={server.folder}"
    assert "[untrusted-config]" not in asked(place, CIS["any"], api, source, command="plan . --pull-request")


def test_accounts_are_needed_for_pull_requests_only(server: Server, api: Loopback) -> None:
    place = head_with_base(server)
    (place / CONFIG).write_text("accounts: [mallory]\n")
    source = f"--release-source={server.folder}"
    err = asked(place, CIS["any"], api, source, command="plan . --pull-request")
    assert "sets accounts, which this run does not use" in err
    assert "[untrusted-config]" in err
    assert "untrusted-config" not in asked(place, CIS["any"], api, source)
    assert "untrusted-config" not in asked(place, CIS["any"], api, source, "--trust-config", "--pull-request")


def test_no_shared_file_sets_such_a_key() -> None:
    assert set(PROTECTED) == {"extends", "accounts", "allow-hosts", "bootstrap", "known"}
    assert not {key.name for key in SHARED.keys}.intersection(PROTECTED)
    assert set(PROTECTED) <= SHARED.elsewhere.keys()


def test_check_needs_none_of_these_keys(server: Server, api: Loopback) -> None:
    place = head_with_base(server)
    source = f"--release-source={server.folder}"
    assert "untrusted-config" not in asked(place, CIS["any"], api, source, command="check .")
