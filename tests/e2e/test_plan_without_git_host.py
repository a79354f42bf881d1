"""``plan --pull-request`` where the Git host says nothing: the plan of the checkout, and what it does not consider."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from adapters.loopback import Answer, Loopback, closed_port
from cases_on_disk import write_tree
from error_names import require_error
from flux_upgrade import main
from flux_upgrade.model.errors import ForbiddenByForge, ForgeUnavailable, SourceUnavailable, UsageError
from flux_upgrade.model.timing import Timing
from git_servers import git
from real_parts import require_program

MANIFESTS = Path(__file__).resolve().parent.parent / "manifests"
TREE = {"clusters/production/flux-system/gotk-components.yaml": (MANIFESTS / "v2.8.7.yaml").read_bytes()}
RINGS = b"""\
dashboard: true
groups:
  staging: {paths: ['clusters/staging/**']}
  production: {paths: ['clusters/production/**'], after: [staging]}
"""
UNSEEN = "not considered: open pull requests, approvals, declined versions and the base branch"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def run(root: Path, *argv: str, env: Mapping[str, str] | None = None) -> Ran:
    """The program on a laptop; a wait between two attempts takes no time."""
    out, err = io.BytesIO(), io.StringIO()
    timing = Timing(now=lambda: 1_790_000_000.0, sleep=lambda _: None, jitter=lambda: 0.0)
    path = str(Path(require_program("git")).parent)
    with contextlib.chdir(root):
        code = main.run(argv, {"PATH": path, "NO_PROXY": "*", **(env or {})}, out, err, timing)
    return Ran(code, out.getvalue().decode(), err.getvalue())


def checkout(folder: Path, remote: str, more: Mapping[str, bytes] | None = None) -> Path:
    root = write_tree(folder / "fleet", {**TREE, **(more or {})})
    git("init", "--quiet", "--initial-branch=main", root)
    git("add", "--all", at=root)
    git("commit", "--quiet", "-m", "Flux", at=root)
    if remote:
        git("remote", "add", "origin", remote, at=root)
    return root


def at(host: str, token: str = "") -> dict[str, str]:
    """A GitHub Enterprise Server at a host."""
    known = {"GITHUB_TOKEN": token} if token else {}
    api = {"GITHUB_API_URL": f"http://{host}/api/v3", "GITHUB_GRAPHQL_URL": f"http://{host}/api/graphql"}
    return {**known, **api, "GITHUB_SERVER_URL": f"http://{host}"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Loopback:
    monkeypatch.setenv("NO_PROXY", "*")
    return Loopback()


@pytest.mark.parametrize("token", ["", "ghp_mine"])
def test_github_that_is_out_of_reach(token: str, tmp_path: Path, written_source: Path) -> None:
    host = f"127.0.0.1:{closed_port()}"
    root = checkout(tmp_path, f"http://{host}/acme/fleet.git")
    alone = run(root, "plan", f"--release-source={written_source}")
    ran = run(root, "plan", "--pull-request", f"--release-source={written_source}", env=at(host, token))
    assert ran.code == 0
    assert ran.out.splitlines()[:2] == alone.out.splitlines()[:2]
    assert "v2.8.7 → v2.8.8  patch  ready" in ran.out
    warning, remedy = ran.err.splitlines()
    assert warning.startswith(f"flux-upgrade: warning: could not read acme/fleet: {host} is unreachable")
    assert warning.endswith(UNSEEN)
    assert remedy == "  Try: run it again when your Git host can be reached, or without --pull-request"


def test_another_git_host_that_is_out_of_reach(tmp_path: Path, written_source: Path) -> None:
    root = checkout(tmp_path, f"https://127.0.0.1:{closed_port()}/acme/fleet.git")
    ran = run(root, "plan", "--pull-request", f"--release-source={written_source}")
    assert (ran.code, ran.err.count("\n")) == (0, 2)
    assert UNSEEN in ran.err
    assert "patch  ready" in ran.out


def test_json_says_so_too(tmp_path: Path, written_source: Path) -> None:
    root = checkout(tmp_path, f"https://127.0.0.1:{closed_port()}/acme/fleet.git")
    ran = run(root, "plan", "--pull-request", "--json", f"--release-source={written_source}")
    assert ran.code == 0
    (warning,) = json.loads(ran.out)["warnings"]
    assert UNSEEN in warning["message"]
    assert warning["remedy"]
    alone = json.loads(run(root, "plan", "--json", f"--release-source={written_source}").out)
    report = json.loads(ran.out)
    commands = [step["command"] for step in report["steps"]]
    assert all(" --pull-request" in command for command in commands)
    for step, command in zip(report["steps"], commands, strict=True):
        step["command"] = command.replace(" --pull-request", "")
    assert {**alone, "warnings": [warning]} == report


def test_what_only_the_git_host_knows_of_rings_and_the_dashboard(tmp_path: Path, written_source: Path) -> None:
    staging = {each.replace("production", "staging"): content for each, content in TREE.items()}
    config = {".github/flux-upgrade.yaml": RINGS}
    root = checkout(tmp_path, f"https://127.0.0.1:{closed_port()}/acme/fleet.git", {**staging, **config})
    ran = run(root, "plan", "--pull-request", f"--release-source={written_source}")
    assert ran.code == 0
    assert "declined versions, boxes of the dashboard, merged upgrades of earlier groups and the base branch" in ran.err
    assert (
        "waits-for-group" in run(root, "plan", "--pull-request", "--details", f"--release-source={written_source}").out
    )


@pytest.mark.parametrize("status", [401, 500])
def test_without_a_token(status: int, server: Loopback, tmp_path: Path, written_source: Path) -> None:
    with server:
        server.route("/api/graphql", Answer(b'{"message": "Requires authentication"}', status))
        root = checkout(tmp_path, f"{server.url}/acme/fleet.git")
        ran = run(root, "plan", "--pull-request", f"--release-source={written_source}", env=at(server.host))
    assert ran.code == 0
    assert UNSEEN in ran.err
    assert ("set GITHUB_TOKEN" in ran.err) == (status == 401)
    assert "patch  ready" in ran.out


# ---- where the answer needs the network


def test_a_token_that_is_refused(server: Loopback, tmp_path: Path, written_source: Path) -> None:
    with server:
        server.route("/api/graphql", Answer(b'{"message": "Bad credentials"}', 401))
        root = checkout(tmp_path, f"{server.url}/acme/fleet.git")
        ran = run(root, "plan", "--pull-request", f"--release-source={written_source}", env=at(server.host, "ghp_old"))
    require_error(ForbiddenByForge, ran.code, ran.err)
    assert ran.out == ""
    assert "Bad credentials [forbidden]" in ran.err
    assert "ghp_old" not in ran.err


def test_a_checkout_that_says_no_git_host(tmp_path: Path, written_source: Path) -> None:
    ran = run(checkout(tmp_path, ""), "plan", "--pull-request", f"--release-source={written_source}")
    require_error(UsageError, ran.code, ran.err)
    assert ran.out == ""
    assert "the checkout has no remote `origin`" in ran.err


def test_releases_that_are_out_of_reach(tmp_path: Path) -> None:
    host = f"127.0.0.1:{closed_port()}"
    root = checkout(tmp_path, f"http://{host}/acme/fleet.git")
    ran = run(root, "plan", "--pull-request", f"--release-source=http://{host}", env=at(host))
    require_error(SourceUnavailable, ran.code, ran.err)
    assert ran.out == ""


def test_what_would_be_opened(tmp_path: Path, written_source: Path) -> None:
    host = f"127.0.0.1:{closed_port()}"
    root = checkout(tmp_path, f"http://{host}/acme/fleet.git")
    arguments = ("upgrade", "--pull-request", "--dry-run", f"--release-source={written_source}")
    ran = run(root, *arguments, env=at(host, "ghp_mine"))
    require_error(ForgeUnavailable, ran.code, ran.err)
    assert ran.out == ""
    assert "[forge-unavailable]" in ran.err
