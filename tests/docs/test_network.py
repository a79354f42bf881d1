"""Which command contacts whom is as the page says: each runs with a proxy, or a server, that records it."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from adapters.loopback import Answer, Loopback
from adapters.proxies import RecordingProxy
from cases_on_disk import write_tree
from docs.test_product_pages import rows
from flux_upgrade import main
from flux_upgrade.cli.parse import COMMANDS
from flux_upgrade.model.errors import HostNotAllowed
from flux_upgrade.model.timing import Timing
from naming_hosts import AT_THE_CHANGE, FILES, HOST, naming
from real_parts import require_program

NAMED = "registry.example.com"
GITHUB = "api.github.com:443"
ASKING = ("inspect", "plan", "upgrade")
NEVER_ASKING = ("check", "migrate")
ARGUMENTS = {
    "render": (),
    "rollback": (f"oci://{NAMED}/flux:production", "--dry-run"),
    "bootstrap": ("--dry-run", "--provider=git", "--url=ssh://git@git.example.com/fleet.git", "--path=clusters/a"),
    "config": ("check",),
    "completion": ("bash",),
    "upgrade": (".", "--dry-run"),
    "migrate": (".", "--dry-run"),
}
# The commit of ``committed`` is on no branch of a server, unless ``merged`` says so.
IN_A_PULL_REQUEST = (
    {"GITHUB_REF": "refs/pull/7/merge", "GITHUB_EVENT_NAME": "pull_request"},
    {"GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7", "GITHUB_EVENT_NAME": "merge_group"},
    {"CI_MERGE_REQUEST_IID": "7"},
    {"BITBUCKET_PR_ID": "7"},
    {"GITHUB_REF": "refs/heads/main", "GITHUB_EVENT_NAME": "pull_request_target"},
    {"JENKINS_URL": "https://ci.example.com/"},
)
IN_NO_PULL_REQUEST: tuple[Mapping[str, str], ...] = (
    {},
    {"GITHUB_REF": "refs/heads/main", "GITHUB_EVENT_NAME": "schedule"},
    {"CI": "true"},
)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingProxy]:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with RecordingProxy() as found:
        for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, found.url)
        yield found


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("NO_PROXY", "*")
    with Loopback() as found:
        yield found


def test_the_page_has_every_command() -> None:
    assert {cell.strip("`") for cell, *_ in rows("reference/network.md", "Command")} == {*COMMANDS} - {"action"}


@pytest.mark.parametrize("row", rows("reference/network.md", "Command"), ids=lambda row: str(row[0]))
def test_each_command_contacts_whom_the_page_says(
    row: list[str], tmp_path: Path, written_source: Path, proxy: RecordingProxy
) -> None:
    command, releases, named = row[0].strip("`"), row[1], row[2]
    files = {f"{number}.yaml": naming(f"h{number}.example.com", what) for number, what in enumerate(FILES)}
    hosts = {f"h{number}.example.com:443" for number, what in enumerate(FILES) if "over http" not in what}
    tree = write_tree(tmp_path / "tree", {path: text.encode() for path, text in files.items()})
    run(tree, command, *ARGUMENTS.get(command, (".",)))
    assert (GITHUB in proxy.asked) == (releases == "yes")
    assert not hosts & {*proxy.asked} or named == "yes"
    if releases == "yes":
        proxy.asked.clear()
        run(tree, command, *ARGUMENTS.get(command, (".",)), f"--release-source={written_source}")
        assert {*proxy.asked} == (hosts if named == "yes" else set())


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("command", ASKING)
def test_a_host_in_a_file_is_refused_unless_it_is_allowed(
    command: str, what: str, tmp_path: Path, written_source: Path, server: Loopback
) -> None:
    tree = planted(tmp_path, server.host, what)
    arguments = (*ARGUMENTS.get(command, (".",)), f"--release-source={written_source}")
    out, _ = run(tree, command, *arguments)
    assert server.seen == []
    assert f"{server.host} is not a public address, and is not allowed" in out
    hint = f"dd {server.host} to --allow-hosts, or to allow-hosts in .github/flux-upgrade.yaml"
    assert hint in " ".join(out.split())
    assert ("host-not-allowed" in out) == (command != "inspect")
    if "over http" in what or "https" not in FILES[what]:
        run(tree, command, *arguments, f"--allow-hosts=registry.internal,{server.host}")
        assert len(server.seen) >= 1


def test_a_host_that_is_refused_at_the_change_fails_the_upgrade(
    tmp_path: Path, written_source: Path, server: Loopback
) -> None:
    content = AT_THE_CHANGE.replace(HOST, server.host).encode()
    tree = write_tree(tmp_path / "tree", {"flux.yaml": content})
    with contextlib.chdir(tree):
        out, argv = io.BytesIO(), ["upgrade", f"--release-source={written_source}"]
        code = main.run(argv, {}, out, io.StringIO())
    assert code == HostNotAllowed.exit_code
    assert "host-not-allowed" in out.getvalue().decode()
    assert server.seen == []


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("command", NEVER_ASKING)
def test_check_and_migrate_ask_none_whatever_is_allowed(
    command: str, what: str, tmp_path: Path, written_source: Path, server: Loopback
) -> None:
    tree = planted(tmp_path, server.host, what, allow=server.host)
    docker = logged_in(tmp_path, server.host)
    run(tree, command, ".", f"--release-source={written_source}", env=docker)
    assert server.seen == []


def test_check_says_which_release_it_does_not_know(tmp_path: Path, written_source: Path, server: Loopback) -> None:
    tree = planted(tmp_path, server.host, "a digest of flux-manifests")
    out, _ = run(tree, "check", ".", f"--release-source={written_source}")
    assert "note: the release of flux.yaml:7 is unknown" in out
    out, _ = run(tree, "check", ".", f"--release-source={written_source}", "--json")
    assert json.loads(out)["unasked"] == ["flux.yaml:7"]


@pytest.mark.parametrize("env", IN_NO_PULL_REQUEST)
def test_the_config_file_allows_hosts(
    env: Mapping[str, str], tmp_path: Path, written_source: Path, server: Loopback
) -> None:
    tree = planted(tmp_path, server.host, "a digest of flux-manifests", allow=server.host)
    env = {**env, **merged(tree)}
    for command in ASKING:
        server.seen.clear()
        run(tree, command, *ARGUMENTS.get(command, (".",)), f"--release-source={written_source}", env=env)
        assert len(server.seen) >= 1, command


@pytest.mark.parametrize("env", IN_A_PULL_REQUEST)
def test_the_config_file_of_a_pull_request_allows_none(
    env: Mapping[str, str], tmp_path: Path, written_source: Path, server: Loopback
) -> None:
    tree = planted(tmp_path, server.host, "a digest of flux-manifests", allow=server.host)
    committed(tree)
    for command in ASKING:
        arguments = (*ARGUMENTS.get(command, (".",)), f"--release-source={written_source}")
        out, _ = run(tree, command, *arguments, env=env)
        assert server.seen == []
        hint = f"dd {server.host} to --allow-hosts, or add --trust-config if you trust allow-hosts in"
        assert hint in " ".join(out.split())
        run(tree, command, *arguments, f"--allow-hosts={server.host}", env=env)
        assert len(server.seen) >= 1
        server.seen.clear()
        run(tree, command, *arguments, "--trust-config", env=env)
        assert len(server.seen) >= 1
        server.seen.clear()


@pytest.mark.parametrize("env", [*IN_NO_PULL_REQUEST[:1], *IN_A_PULL_REQUEST])
@pytest.mark.parametrize("server_of", ["provider: git, url: {url}/fleet.git", "provider: gitea, hostname: {host}"])
def test_the_config_file_of_a_pull_request_selects_no_server(
    server_of: str, env: Mapping[str, str], tmp_path: Path, server: Loopback
) -> None:
    provider, flag = server_of.format(url=server.url, host=server.host).split(", ")
    config = f"bootstrap:\n  {provider}\n  flags: {{{flag}, path: clusters/a}}\n"
    tree = write_tree(tmp_path / "tree", {".github/flux-upgrade.yaml": config.encode()})
    _, err = run(tree, "bootstrap", "--pull-request", "--dry-run", f"--release-source={tmp_path}", env=env)
    assert ("sets bootstrap, which this run does not use" in err) == bool(env)
    assert ("--trust-config" in err) == bool(env)
    assert not (env and server.seen)


EXTENDS = f".github/flux-upgrade.yaml@{'0' * 40}"


def extending(folder: Path, repository: str = "octo-org/platform") -> Path:
    config = f"extends: {repository}/{EXTENDS}\n".encode()
    content = naming(NAMED, "a digest of flux-manifests").encode()
    return write_tree(folder / "tree", {".github/flux-upgrade.yaml": config, "flux.yaml": content})


@pytest.mark.parametrize("row", rows("reference/network.md", "Command"), ids=lambda row: str(row[0]))
def test_each_command_reads_a_shared_file_as_the_page_says(
    row: list[str], tmp_path: Path, written_source: Path, proxy: RecordingProxy
) -> None:
    command, releases, extends = row[0].strip("`"), row[1], row[3]
    source = [f"--release-source={written_source}"] if releases == "yes" else []
    run(extending(tmp_path), command, *ARGUMENTS.get(command, (".",)), *source)
    assert (GITHUB in proxy.asked) == (extends == "yes")


@pytest.mark.parametrize("env", IN_NO_PULL_REQUEST)
@pytest.mark.parametrize("command", ["plan", "upgrade", "config"])
def test_a_shared_file_is_asked_for_at_the_runs_github_with_its_token(
    command: str, env: Mapping[str, str], tmp_path: Path, server: Loopback
) -> None:
    tree = extending(tmp_path)
    env = {**env, **merged(tree)}
    api = {"GITHUB_API_URL": f"{server.url}/api/v3", "GITHUB_TOKEN": "ghp_ours"}
    _, err = run(tree, command, *ARGUMENTS.get(command, (".",)), env={**env, **api})
    assert server.paths() == ["/api/v3/repos/octo-org/platform"]
    assert [each.headers["authorization"] for each in server.seen] == ["Bearer ghp_ours"]
    assert "[shared-config]" in err
    assert "ghp_ours" not in err


@pytest.mark.parametrize("env", IN_A_PULL_REQUEST)
def test_the_config_file_of_a_pull_request_extends_none(
    env: Mapping[str, str], tmp_path: Path, server: Loopback
) -> None:
    tree = extending(tmp_path, "octo-org/secrets")
    committed(tree)
    api = {"GITHUB_API_URL": f"{server.url}/api/v3", "GITHUB_TOKEN": "ghp_ours"}
    for command in ("plan", "upgrade"):
        _, err = run(tree, command, *ARGUMENTS.get(command, (".",)), env={**env, **api})
        assert "sets extends, which this run does not use" in err
        assert "[untrusted-config]" in err
    out, err = run(tree, "config", "check", env={**env, **api})
    assert "a run here does not use extends" in err
    assert "(not read)" in out
    assert server.seen == []


@pytest.mark.parametrize("key", ["auths", "credHelpers"])
@pytest.mark.parametrize("env", [*IN_NO_PULL_REQUEST[:1], *IN_A_PULL_REQUEST[:1]])
def test_dockers_credentials_allow_their_registry(
    env: Mapping[str, str], key: str, tmp_path: Path, written_source: Path, server: Loopback
) -> None:
    tree = planted(tmp_path, server.host, "a digest of flux-manifests")
    arguments = ("plan", ".", f"--release-source={written_source}")
    run(tree, *arguments, env={**env, **logged_in(tmp_path, "127.0.0.1:1", key)})
    assert server.seen == []
    run(tree, *arguments, env={**env, **logged_in(tmp_path, server.host, key)})
    assert len(server.seen) >= 1


def test_helms_credentials_allow_their_repository_and_go_to_it_alone(
    tmp_path: Path, written_source: Path, server: Loopback
) -> None:
    tree = planted(tmp_path, server.host, "a Helm repository over http")
    server.route("/charts/index.yaml", Answer(b"log in", 401))
    arguments = (".", f"--release-source={written_source}")
    for command in ASKING:
        server.seen.clear()
        run(tree, command, *arguments, env=known_to_helm(tmp_path, "http://127.0.0.1:1/charts"))
        assert server.seen == []
        out, err = run(tree, command, *arguments, env=known_to_helm(tmp_path, f"{server.url}/charts"))
        assert [each.headers.get("authorization") for each in server.seen[:2]] == [None, "Basic dTpzZWNyZXQtcA=="]
        assert "secret-p" not in out + err
    server.seen.clear()
    for command in NEVER_ASKING:
        run(tree, command, *arguments, env=known_to_helm(tmp_path, f"{server.url}/charts"))
    assert server.seen == []


def test_a_host_of_the_command_line_is_allowed(tmp_path: Path, server: Loopback) -> None:
    tree = planted(tmp_path, server.host, "a digest of flux-manifests")
    run(tree, "inspect", ".", f"--release-source={server.url}/releases")
    assert any(path.startswith("/v2/fluxcd/flux-manifests/") for path in server.paths())


@pytest.mark.parametrize("given", ["registry/", "https://registry.internal", "*", "a b c!", "registry.internal:x"])
def test_a_flag_that_is_no_host(given: str, tmp_path: Path) -> None:
    _, err = run(tmp_path, "plan", ".", f"--allow-hosts={given}")
    assert "is not a host: HOST, HOST:PORT or *.DOMAIN" in err


def planted(folder: Path, host: str, what: str, allow: str = "") -> Path:
    files = {"flux.yaml": naming(host, what).encode()}
    if allow:
        files[".github/flux-upgrade.yaml"] = f"allow-hosts: ['{allow}']\n".encode()
    return write_tree(folder / "tree", files)


def committed(tree: Path) -> str:
    """The commit that holds the tree."""
    git = require_program("git")
    for command in ("init --quiet", "add --all", "-c user.name=a -c user.email=a@b commit --quiet --message=Flux"):
        subprocess.run([git, *command.split()], cwd=tree, check=True)  # noqa: S603
    done = subprocess.run([git, "rev-parse", "HEAD"], cwd=tree, check=True, capture_output=True)  # noqa: S603
    return done.stdout.decode().strip()


def merged(tree: Path) -> Mapping[str, str]:
    """Commit the tree to what `git clone` leaves as the default branch of the server. It finds no program but Git."""
    programs = tree.parent / "programs"
    programs.mkdir()
    for name in ("git", "env"):
        (programs / name).symlink_to(require_program(name))
    commit, refs = committed(tree), tree / ".git" / "refs" / "remotes" / "origin"
    refs.mkdir(parents=True)
    (refs / "main").write_text(f"{commit}\n")
    (refs / "HEAD").write_text("ref: refs/remotes/origin/main\n")
    return {"PATH": str(programs)}


def logged_in(folder: Path, host: str, key: str = "auths") -> Mapping[str, str]:
    """The environment of a user with credentials for a registry."""
    (folder / "config.json").write_text(json.dumps({key: {host: {"auth": "dTpw"} if key == "auths" else "none"}}))
    return {"DOCKER_CONFIG": str(folder)}


def known_to_helm(folder: Path, url: str) -> Mapping[str, str]:
    """The environment of a user whose Helm has a password for a chart repository."""
    file = folder / "repositories.yaml"
    file.write_text(f"repositories:\n- {{name: a, url: '{url}', username: u, password: secret-p}}\n")
    return {"HELM_REPOSITORY_CONFIG": str(file)}


def run(tree: Path, *argv: str, env: Mapping[str, str] | None = None) -> tuple[str, str]:
    """What it printed; a wait between two attempts takes no time."""
    out, err = io.BytesIO(), io.StringIO()
    timing = Timing(now=lambda: 1_770_000_000.0, sleep=lambda _: None, jitter=lambda: 0.0)
    with contextlib.chdir(tree):
        main.run(argv, env or {}, out, err, timing)
    return out.getvalue().decode(), err.getvalue()
