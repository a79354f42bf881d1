"""A remote branch is read and committed to without a checkout, and a push by another user is not overwritten."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import pytest

from flux_upgrade.adapters.git.remote import GitRemote, ReadOnlyRemote
from flux_upgrade.adapters.git.remotes import RemoteAccess, without_login
from flux_upgrade.adapters.local.files import Directory
from flux_upgrade.model.errors import (
    FluxUpgradeError,
    ForbiddenByForge,
    ForgeUnavailable,
    Overtaken,
    RepositoryUnfit,
    Unreadable,
    UsageError,
    WriteFailed,
)
from flux_upgrade.snapshot.snapshot import Snapshot
from git_servers import PERSON, READ, WRITE, Bare, HttpHost, SshHost, git
from process_arguments import seen_arguments

ENVIRONMENT = {name: value for name, value in PERSON.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMM"))}
NOW = 1_700_000_000.0
SYNC = "clusters/staging/flux-system/gotk-sync.yaml"


@dataclass
class World:
    """A server with an empty repository, and what opens it."""

    root: Path
    bare: Bare
    host: HttpHost
    stack: ExitStack

    kind: type[GitRemote] = GitRemote

    def open(self, url: str = "", branch: str = "main", token: str = WRITE, **more: str) -> GitRemote:
        url = url or f"{self.host.url}/infra.git"
        token = token if url.startswith("http") else ""
        server = RemoteAccess(url, "git", token, name="Flux")
        opened = self.kind(server, branch, ENVIRONMENT | more, lambda: NOW)
        return self.stack.enter_context(closing(opened))

    def fill(self, files: dict[str, str], branch: str = "main") -> str:
        """A person makes a first commit."""
        person = self.root / f"person-{branch}"
        kind = git("rev-parse", "--show-object-format", at=self.bare.folder)
        git("init", "--quiet", f"--initial-branch={branch}", f"--object-format={kind}", person)
        for path, content in files.items():
            (person / path).parent.mkdir(parents=True, exist_ok=True)
            (person / path).write_text(content)
        (person / "script.yaml").write_text("a: 1\n")
        (person / "script.yaml").chmod(0o755)
        os.symlink("script.yaml", person / "link.yaml")
        git("add", "--all", "--force", at=person)
        git("commit", "--quiet", "-m", "First", at=person)
        git("push", "--quiet", self.bare.folder, branch, at=person)
        return git("rev-parse", "HEAD", at=person)

    def listed(self, what: str = "main") -> dict[str, str]:
        """Path → mode."""
        entries = git("ls-tree", "-r", what, at=self.bare.folder).splitlines()
        return {line.partition("\t")[2]: line.split(" ")[0] for line in entries}


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture(params=["sha1", "sha256"])
def world(request: pytest.FixtureRequest, tmp_path: Path, stack: ExitStack) -> World:
    return _make(tmp_path, stack, sha256=request.param == "sha256")


@pytest.fixture
def plain(tmp_path: Path, stack: ExitStack) -> World:
    return _make(tmp_path, stack)


def _make(tmp_path: Path, stack: ExitStack, *, sha256: bool = False) -> World:
    root = tmp_path / "served"
    root.mkdir()
    bare = Bare.make(root / "infra.git", sha256=sha256)
    return World(root, bare, stack.enter_context(HttpHost(root)), stack)


def test_an_empty_repository_gets_its_first_commit(world: World) -> None:
    remote = world.open()
    assert (remote.head, list(Snapshot(remote.files).candidates())) == ("", [])
    oid = remote.push({SYNC: b"a: 1\r\n", "README.md": b"\xff"}, "Add Flux v2.9.4 component manifests")
    assert world.bare.refs() == {"refs/heads/main": oid}
    assert world.listed() == {SYNC: "100644", "README.md": "100644"}
    shown = git("log", "--format=%an <%ae>|%cn <%ce>|%at|%P|%B", "main", at=world.bare.folder).strip()
    assert shown == "Flux <>|Flux <>|1700000000||Add Flux v2.9.4 component manifests"
    assert (remote.head, remote.files.read(SYNC)) == (oid, b"a: 1\r\n")


def test_commits_over_what_is_there(world: World) -> None:
    first = world.fill({SYNC: "old: 1\n", "apps/a.yaml": "kept: 1\n"})
    remote = world.open()
    assert remote.head == first
    oid = remote.push({SYNC: b"new: 1\n", "script.yaml": b"a: 2\n"}, "Add Flux sync manifests\n\nSigned-off")
    assert git("rev-parse", "main^", at=world.bare.folder) == first
    assert world.bare.content(f"{oid}:{SYNC}") == "new: 1"
    assert world.listed() == {SYNC: "100644", "apps/a.yaml": "100644", "script.yaml": "100755", "link.yaml": "120000"}
    again = remote.push({"apps/a.yaml": b"third: 1\n"}, "Third")
    assert git("rev-parse", "main", "main~2", at=world.bare.folder).split() == [again, first]
    assert remote.push({"apps/a.yaml": b"third: 1\n"}, "Nothing") == again
    assert world.bare.pushes() == 3


def test_a_dry_run_pushes_nothing(world: World) -> None:
    first = world.fill({SYNC: "old: 1\n"})
    dry = replace(world, kind=ReadOnlyRemote).open()
    assert dry.push({SYNC: b"new: 1\n", "other.yaml": b"a: 2\n"}, "Add Flux sync manifests") == first
    assert (dry.head, dry.files.read(SYNC)) == (first, b"old: 1\n")
    assert world.bare.refs() == {"refs/heads/main": first}
    assert world.bare.pushes() == 1


def test_a_dry_run_overrides_all_that_writes() -> None:
    reading = {"close", "files", "head", "require_room"}
    assert {name for name in dir(GitRemote) if not name.startswith("_")} == {"push", *reading}
    assert {name for name in vars(ReadOnlyRemote) if not name.startswith("_")} == {"push"}


def test_another_branch_than_the_default(plain: World) -> None:
    main = plain.fill({SYNC: "main: 1\n"})
    plain.fill({SYNC: "live: 1\n"}, "live/eu")
    remote = plain.open(branch="live/eu")
    assert remote.files.read(SYNC) == b"live: 1\n"
    oid = remote.push({SYNC: b"live: 2\n"}, "Two")
    assert plain.bare.refs() == {"refs/heads/live/eu": oid, "refs/heads/main": main}


def test_a_branch_that_is_missing_is_not_begun(plain: World) -> None:
    plain.fill({SYNC: "main: 1\n"})
    with pytest.raises(RepositoryUnfit, match="has no branch live") as raised:
        plain.open(branch="live")
    assert "HEAD:refs/heads/live" in raised.value.hint
    assert "--branch main" in raised.value.hint


def test_the_tree_is_that_of_a_folder(plain: World, tmp_path: Path) -> None:
    plain.fill(
        {
            SYNC: "a: 1\n",
            "apps/ünïcode \t.yml": "b: 1\n",
            "node_modules/x/c.yaml": "c: 1\n",
            "flux/gotk-components.yaml": "d: 1\n",
            "Dockerfile": "FROM x\n",
            "large.yaml": "# " + "x" * (2 * 1024 * 1024) + "\n",
            "huge.yaml": "# " + "x" * (33 * 1024 * 1024) + "\n",
        }
    )
    git("clone", "--quiet", plain.bare.folder, tmp_path / "clone")
    folder, tree = Snapshot(Directory(str(tmp_path / "clone"))), Snapshot(plain.open().files)
    assert list(tree.candidates()) == list(folder.candidates())
    assert "huge.yaml" not in list(tree.candidates())
    with pytest.raises(Unreadable, match="larger"):
        tree.read("huge.yaml")
    assert list(tree.named(("file", ".yml"))) == list(folder.named(("file", ".yml"))) != []
    for path in (*folder.candidates(), "Dockerfile", "./apps//../Dockerfile"):
        assert tree.read(path) == folder.read(path)


@pytest.mark.parametrize("path", ["missing.yaml", "apps", "link.yaml", "../x"])
def test_what_cannot_be_read(plain: World, path: str) -> None:
    plain.fill({"apps/a.yaml": "a: 1\n"})
    with pytest.raises(Unreadable, match="in the branch is not readable"):
        plain.open().files.read(path)


@pytest.mark.parametrize("path", ["link.yaml", "apps", "apps/a.yaml/below.yaml"])
def test_only_files_are_replaced(plain: World, path: str) -> None:
    plain.fill({"apps/a.yaml": "a: 1\n"})
    remote = plain.open()
    with pytest.raises(WriteFailed, match="not a plain file"):
        remote.push({"fine.yaml": b"", path: b"x"}, "Never")
    assert plain.bare.pushes() == 1


@pytest.mark.parametrize("has_content", [False, True])
def test_who_is_overtaken_overwrites_nothing(plain: World, *, has_content: bool) -> None:
    if has_content:
        plain.fill({SYNC: "first: 1\n"})
    slow, fast = plain.open(), plain.open()
    oid = fast.push({SYNC: b"fast: 1\n"}, "Fast")
    with pytest.raises(Overtaken):
        slow.push({SYNC: b"slow: 1\n"}, "Slow")
    assert plain.bare.refs() == {"refs/heads/main": oid}
    assert plain.open().push({SYNC: b"slow: 1\n"}, "Slow") != oid


def test_a_token_that_may_not(plain: World) -> None:
    first = plain.fill({SYNC: "first: 1\n"})
    reader = plain.open(token=READ)
    with pytest.raises(ForbiddenByForge, match=r"not allowed|403") as raised:
        reader.push({SYNC: b"second: 1\n"}, "Second")
    assert "check that the token" in raised.value.hint
    with pytest.raises(ForbiddenByForge) as raised:
        plain.open(token="wrong")
    assert "check that the token" in raised.value.hint
    assert plain.bare.refs() == {"refs/heads/main": first}


@pytest.mark.parametrize("has_content", [False, True])
def test_a_protected_branch_names_the_way_around(plain: World, *, has_content: bool) -> None:
    if has_content:
        plain.fill({SYNC: "first: 1\n"})
    plain.bare.hook("echo 'GH006: Protected branch update failed' >&2; exit 1")
    remote = plain.open()
    with pytest.raises(ForbiddenByForge, match="GH006") as raised:
        remote.push({SYNC: b"second: 1\n"}, "Second")
    assert ("--pull-request" in raised.value.hint) == has_content
    assert raised.value.hint.count("protected") == 1


def test_a_server_in_trouble(plain: World) -> None:
    plain.host.status = 500
    with pytest.raises(ForgeUnavailable):
        plain.open()


def test_a_path_and_a_redirect(plain: World) -> None:
    remote = plain.open(str(plain.bare.folder))
    oid = remote.push({SYNC: b"a: 1\n"}, "First")
    assert plain.bare.refs() == {"refs/heads/main": oid}
    plain.host.redirect = "http://127.0.0.1:9"
    with pytest.raises(ForgeUnavailable, match="redirects"):
        plain.open()


def test_over_ssh_with_the_users_keys(plain: World, tmp_path: Path) -> None:
    with SshHost(tmp_path / "ssh") as ssh:
        url = ssh.url(plain.bare.folder)
        oid = plain.open(url, GIT_SSH_COMMAND=ssh.command("writer")).push({SYNC: b"a: 1\n"}, "First")
        assert plain.bare.refs() == {"refs/heads/main": oid}
        reader = plain.open(url, GIT_SSH_COMMAND=ssh.command("reader"))
        assert reader.files.read(SYNC) == b"a: 1\n"
        with pytest.raises(ForbiddenByForge, match="read only"):
            reader.push({SYNC: b"a: 2\n"}, "Second")
        with pytest.raises(ForbiddenByForge):
            plain.open(url, GIT_SSH_COMMAND=ssh.command("stranger"))


def test_nothing_stays_behind(plain: World, tmp_path: Path) -> None:
    own = tmp_path / "temporary"
    own.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(own))
        plain.open().close()
        with pytest.raises(FluxUpgradeError):
            plain.open(token="wrong")
        plain.open().push({SYNC: b"a: 1\n"}, "First")
        plain.stack.close()
    assert list(own.iterdir()) == []


def test_the_token_is_in_no_argument_of_a_process(plain: World) -> None:
    plain.bare.hook("sleep 0.1")
    with seen_arguments() as seen:
        plain.open().push({SYNC: b"a: 1\n"}, "First")
    assert any(b"push" in line for line in seen)
    secret = base64.b64encode(f"oauth2:{WRITE}".encode())
    assert not [line for line in seen if WRITE.encode() in line or secret in line]


def test_a_password_in_the_address_is_in_no_argument_of_a_process(plain: World) -> None:
    plain.bare.hook("sleep 0.1")
    password = quote(WRITE, safe="")
    url = f"{plain.host.url}/infra.git".replace("://", f"://bot:{password}@")
    with seen_arguments() as seen:
        oid = plain.open(url, token="").push({SYNC: b"a: 1\n"}, "First")
    assert plain.bare.refs() == {"refs/heads/main": oid}
    assert any(b"git-remote-http" in line or b"remote-http" in line for line in seen)
    assert not [line for line in seen if WRITE.encode() in line]
    login = base64.b64encode(f"bot:{WRITE}".encode()).decode()
    assert {header for _, header in plain.host.seen} == {f"Basic {login}"}


def test_a_password_that_a_configuration_puts_into_the_address_is_in_no_argument(plain: World, tmp_path: Path) -> None:
    base = plain.host.url.replace("://", f"://bot:{WRITE}@")
    home = tmp_path / "home"
    home.mkdir()
    (home / "gitconfig").write_text(f'[url "{base}/"]\n\tinsteadOf = {plain.host.url}/\n')
    plain.bare.hook("sleep 0.1")
    with seen_arguments() as seen:
        opened = plain.open(token="", GIT_CONFIG_GLOBAL=str(home / "gitconfig"))
        opened.push({SYNC: b"a: 1\n"}, "First")
    assert any(b"remote-http" in line for line in seen)
    assert not [line for line in seen if WRITE.encode() in line]


def test_a_user_in_the_address_is_asked_for_by_the_users_own_helper(plain: World, tmp_path: Path) -> None:
    helper, record = tmp_path / "helper", tmp_path / "record"
    helper.write_text(f'#!/bin/sh\ncat >> {record}\n[ "$1" = get ] && echo password={WRITE}\n')
    helper.chmod(0o755)
    (tmp_path / "gitconfig").write_text(f"[credential]\n\thelper = {helper}\n")
    url = f"{plain.host.url}/infra.git".replace("://", "://bot@")
    with seen_arguments() as seen:
        plain.open(url, token="", GIT_CONFIG_GLOBAL=str(tmp_path / "gitconfig")).push({SYNC: b"a: 1\n"}, "First")
    assert "username=bot" in record.read_text()
    assert not [line for line in seen if b"//bot@" in line]


def test_a_token_counts_more_than_a_password_in_the_address(plain: World) -> None:
    url = f"{plain.host.url}/infra.git".replace("://", "://bot:wrong@")
    plain.open(url).push({SYNC: b"a: 1\n"}, "First")
    login = base64.b64encode(f"bot:{WRITE}".encode()).decode()
    assert {header for _, header in plain.host.seen} == {f"Basic {login}"}


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("ssh://git:secret@git.example.com/a.git", "ssh://git@git.example.com/a.git"),
        ("ssh://git@git.example.com/a.git", "ssh://git@git.example.com/a.git"),
        ("git@git.example.com:a.git", "git@git.example.com:a.git"),
        ("https://git.example.com:8443/a.git", "https://git.example.com:8443/a.git"),
        ("https://a:b@git.example.com:8443/a.git", "https://git.example.com:8443/a.git"),
        ("https://a:@[::1]:8443/a%20b.git", "https://[::1]:8443/a%20b.git"),
        ("/srv/a@b.git", "/srv/a@b.git"),
        ("file:///srv/a@b.git", "file:///srv/a@b.git"),
    ],
)
def test_an_address_without_its_login(url: str, plain: str) -> None:
    found, settings = without_login(url)
    assert found == plain
    assert bool(settings) == (url != plain and url.startswith("https"))


def test_a_login_in_an_address_that_two_parsers_read_differently_is_refused() -> None:
    for url in (r"https://a:b@evil.example\@git.example.com/a", "https://a:b@c@git.example.com/a"):
        with pytest.raises(UsageError, match="the remote's URL has a user, and"):
            without_login(url)


@pytest.mark.parametrize("name", ["GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF"])
def test_git_traces_nothing(name: str, plain: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace has arguments, and settings: both as the user's environment asks for it, and as a configuration does."""
    trace, config = tmp_path / "trace", tmp_path / "gitconfig"
    targets = "".join(f"\t{kind}Target = {trace}\n" for kind in ("normal", "event", "perf"))
    config.write_text(f"[trace2]\n{targets}\tconfigParams = http.*\n")
    monkeypatch.setenv(name, str(trace))
    monkeypatch.setenv("GIT_TRACE2_CONFIG_PARAMS", "*")
    more = {name: str(trace), "GIT_TRACE2_CONFIG_PARAMS": "*", "GIT_CONFIG_GLOBAL": str(config)}
    plain.open(**more).push({SYNC: b"a: 1\n"}, "First")
    assert not trace.exists()
