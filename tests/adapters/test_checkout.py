"""A checkout is found and read as Git reads it, and it is known why a file differs from the base branch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import flux_upgrade
from flux_upgrade.adapters.git import checkout as edge
from flux_upgrade.adapters.git.checkout import Checkout, CheckoutLocation, find
from flux_upgrade.adapters.git.git_command import GitCommand
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.file_history import blob_id
from git_servers import PERSON, git

PATH = "clusters/a.yaml"


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A person's repository with two commits, of which the second did not touch the file."""
    folder = tmp_path / "origin"
    git("init", "--quiet", "--initial-branch=main", folder)
    commit(folder, PATH, "one\n", "First\n\nWith a reason")
    commit(folder, "other.yaml", "x\n", "Second")
    return folder


def commit(folder: Path, path: str, text: str, message: str) -> str:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)
    git("add", "--all", at=folder)
    git("commit", "--quiet", "-m", message, at=folder)
    return head_of(folder)


def head_of(folder: Path) -> str:
    return git("rev-parse", "HEAD", at=folder)


def clone(origin: Path, *options: str) -> Path:
    folder = origin.parent / "clone"
    git("clone", "--quiet", *options, f"file://{origin}", folder)
    return folder


def checkout(folder: Path, **more: str) -> Checkout:
    return Checkout(str(folder), {**PERSON, **more})


# -- where it begins


@pytest.mark.parametrize(
    ("path", "prefix"),
    [("", ""), ("clusters", "clusters"), ("clusters/a.yaml", "clusters/a.yaml"), ("new/b.yaml", "new/b.yaml")],
)
def test_finds_the_nearest_repository(origin: Path, path: str, prefix: str) -> None:
    assert find(f"{origin}/{path}") == CheckoutLocation(str(origin), prefix, is_checkout=True)


def test_a_relative_path_is_one_from_the_working_folder(origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(origin / "clusters")
    assert find(".") == CheckoutLocation(str(origin), "clusters", is_checkout=True)
    assert find("a.yaml") == CheckoutLocation(str(origin), "clusters/a.yaml", is_checkout=True)


def test_without_a_repository_the_folder_is_the_root(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").touch()
    (tmp_path / ".git").mkdir()  # empty, and so none of Git's
    assert find(str(tmp_path)) == CheckoutLocation(str(tmp_path), "", is_checkout=False)
    assert find(f"{tmp_path}/a.yaml") == CheckoutLocation(str(tmp_path), "a.yaml", is_checkout=False)


def test_without_a_checkout_the_directory_of_the_runner_is_the_root(origin: Path, tmp_path: Path) -> None:
    inside = tmp_path / "work/clusters"
    inside.mkdir(parents=True)
    work = str(tmp_path / "work")
    assert find(str(inside), work) == CheckoutLocation(work, "clusters", is_checkout=False)
    assert find(str(tmp_path), work) == CheckoutLocation(str(tmp_path), "", is_checkout=False)
    assert find(f"{origin}/{PATH}", str(origin.parent)) == CheckoutLocation(str(origin), PATH, is_checkout=True)


def test_a_link_is_where_it_leads_to(origin: Path) -> None:
    (origin.parent / "link").symlink_to(origin / "clusters")
    assert find(f"{origin.parent}/link/a.yaml") == CheckoutLocation(str(origin), PATH, is_checkout=True)


def test_finds_worktrees_and_submodules(origin: Path) -> None:
    outer = origin.parent / "outer"
    git("init", "--quiet", outer)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", origin, "inner", at=outer)
    git("worktree", "add", "--quiet", origin.parent / "tree", at=origin)
    for folder in (outer / "inner", origin.parent / "tree"):
        assert find(str(folder / PATH)) == CheckoutLocation(str(folder), PATH, is_checkout=True)
        assert checkout(folder).head == head_of(origin)
        assert Path(checkout(folder).objects(), "info").is_dir()


def test_finding_runs_no_git(origin: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from flux_upgrade.adapters.git.checkout import find\n"
        "find(sys.argv[2])\n"
    )
    source = str(Path(flux_upgrade.__file__).parent.parent)
    command = [sys.executable, "-I", "-S", "-c", program, source, str(origin)]
    subprocess.run(command, check=True, env={"PATH": ""})  # noqa: S603  (ours)


# -- what is there


@pytest.mark.parametrize("content", [b"", b"one\n", b"\0\xff" * 5000])
@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_a_blob_has_git_s_own_id(tmp_path: Path, content: bytes, kind: str) -> None:
    git("init", "--quiet", f"--object-format={kind}", tmp_path)
    (tmp_path / "file").write_bytes(content)
    oid = git("hash-object", "--no-filters", "file", at=tmp_path)
    assert blob_id(content, oid) == oid


def test_reads_head_remote_and_identity(origin: Path) -> None:
    mine = checkout(clone(origin))
    assert mine.head == head_of(origin)
    assert mine.remote_url() == f"file://{origin}"
    assert mine.identity() == ("", "")
    git("remote", "rename", "origin", "upstream", at=origin.parent / "clone")
    with pytest.raises(UsageError, match="no remote `origin`"):
        mine.remote_url()


def test_the_remote_url_is_reported_as_git_rewrites_it(origin: Path) -> None:
    git("config", "url.https://mirror.example/.insteadOf", f"file://{origin.parent}/", at=clone(origin))
    assert checkout(origin.parent / "clone").remote_url() == "https://mirror.example/origin"


def test_an_empty_repository_has_no_head(tmp_path: Path) -> None:
    git("init", "--quiet", tmp_path)
    assert checkout(tmp_path).head == ""


@pytest.mark.parametrize(
    ("option", "lends"), [("--depth=1", False), ("--filter=blob:none", False), ("--no-tags", True)]
)
def test_lends_its_objects_where_it_has_them_all(origin: Path, option: str, *, lends: bool) -> None:
    git("config", "uploadpack.allowFilter", "true", at=origin)
    assert bool(checkout(clone(origin, option)).objects()) == lends


def test_reads_connection_settings_of_the_repositorys_configuration(origin: Path) -> None:
    folder = clone(origin)
    git("config", "http.https://example.com/.extraheader", "AUTHORIZATION: basic x", at=folder)
    git("config", "core.sshCommand", "ssh -i deploy", at=folder)
    git("config", "core.bare", "false", at=folder)
    assert set(checkout(folder).connection()) == {
        ("http.https://example.com/.extraheader", "AUTHORIZATION: basic x"),
        ("core.sshcommand", "ssh -i deploy"),
    }


# -- odd surroundings


@pytest.mark.parametrize("home", ["/nonexistent", "/proc", ""])
def test_a_home_that_cannot_be_used(origin: Path, home: str) -> None:
    assert checkout(origin, HOME=home).head == head_of(origin)


@pytest.mark.parametrize(
    "name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"]
)
def test_a_caller_s_git_variables_do_not_mislead(origin: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    expected = head_of(origin)
    monkeypatch.setenv(name, "/nowhere")
    assert checkout(origin, **{name: "/nowhere"}).head == expected


def test_settings_of_the_caller_s_environment_stay(origin: Path) -> None:
    variables = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ann"}
    assert checkout(origin, **variables).identity()[0] == "Ann"


def test_monitors_and_hooks_of_the_checkout_are_not_run(origin: Path) -> None:
    script = origin / ".git" / "hooks" / "post-index-change"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\ntouch {origin.parent}/ran\n")
    script.chmod(0o755)
    git("config", "core.fsmonitor", script, at=origin)
    here = GitCommand(str(origin), PERSON)
    assert here.run("status").status == 0
    assert here.run("read-tree", "HEAD").status == 0
    assert not (origin.parent / "ran").exists()
    git("status", at=origin)
    assert (origin.parent / "ran").exists()


def test_without_git_it_says_so(origin: Path) -> None:
    with pytest.raises(UsageError, match="git is not on PATH") as caught:
        checkout(origin, PATH="/nonexistent").remote_url()
    assert "install git" in caught.value.hint


def test_a_folder_that_is_none_of_git_s(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a Git checkout: not a git repository"):
        checkout(tmp_path).remote_url()


# -- why it differs


def test_a_file_with_changes_is_dirty(origin: Path) -> None:
    (origin / PATH).write_text("two\n")
    error = checkout(origin).explain(PATH, head_of(origin))
    assert error.message == f"{PATH} has uncommitted changes"
    assert error.hint == f"commit and push the changes, or run `git restore {PATH}`"


def test_a_file_that_was_never_committed(origin: Path) -> None:
    (origin / "new.yaml").touch()
    assert "is not committed" in checkout(origin).explain("new.yaml", head_of(origin)).message


def test_a_checkout_that_is_behind(origin: Path) -> None:
    folder = clone(origin)
    base = commit(origin, PATH, "two\n", "Third")
    unknown = checkout(folder).explain(PATH, base)
    assert unknown.message.endswith("the base branch has commits that the checkout does not have")
    git("fetch", "--quiet", at=folder)
    behind = checkout(folder).explain(PATH, base)
    assert behind.message.endswith("the checkout is behind")
    assert base[:12] in behind.message
    assert head_of(folder)[:12] in behind.message
    assert "git pull" in behind.hint


def test_a_shallow_checkout_that_cannot_tell(origin: Path) -> None:
    folder = clone(origin, "--depth=1")
    error = checkout(folder).explain(PATH, commit(origin, PATH, "two\n", "Third"))
    assert "shallow" in error.message
    assert "actions/checkout" in error.hint


def test_another_branch_is_no_ancestor_of_the_base(origin: Path) -> None:
    folder = clone(origin)
    git("checkout", "--quiet", "-b", "feature", at=folder)
    commit(folder, PATH, "mine\n", "Mine")
    base = commit(origin, PATH, "two\n", "Third")
    git("fetch", "--quiet", at=folder)
    assert "the branch feature in the checkout is not an ancestor" in checkout(folder).explain(PATH, base).message


def test_commits_that_the_base_has_not(origin: Path) -> None:
    base = head_of(origin)
    commit(origin, PATH, "two\n", "Third")
    assert "the branch main in the checkout has commits" in checkout(origin).explain(PATH, base).message


def test_a_checkout_that_converts_line_ends(origin: Path) -> None:
    git("config", "core.autocrlf", "true", at=origin)
    (origin / ".gitattributes").write_text("*.yaml text eol=crlf\n")
    (origin / PATH).write_bytes(b"one\r\n")
    error = checkout(origin).explain(PATH, head_of(origin))
    assert "converted" in error.message
    assert "core.autocrlf" in error.hint


def test_a_file_with_a_filter_is_converted_and_the_filter_is_not_run(origin: Path) -> None:
    git("config", "filter.x.clean", f"touch {origin.parent}/ran; cat", at=origin)
    (origin / ".gitattributes").write_text("*.yaml filter=x\n")
    (origin / PATH).write_text("decrypted\n")
    assert "is converted by Git" in checkout(origin).explain(PATH, head_of(origin)).message
    assert not (origin.parent / "ran").exists()


def test_a_folder_without_git(tmp_path: Path) -> None:
    assert "is not a Git checkout" in checkout(tmp_path).explain(PATH, "0" * 40).message


def test_reads_the_commit_that_is_checked_out_without_git(origin: Path) -> None:
    newest = head_of(origin)
    assert edge.head_of(str(origin)) == newest
    git("pack-refs", "--all", at=origin)
    assert edge.head_of(str(origin)) == newest
    git("checkout", "--quiet", "--detach", "HEAD~1", at=origin)
    assert edge.head_of(str(origin)) == head_of(origin) != newest
    git("worktree", "add", "--quiet", origin.parent / "tree", "main", at=origin)
    assert edge.head_of(str(origin.parent / "tree")) == newest
    assert edge.head_of(str(origin.parent)) == ""


@pytest.mark.parametrize("head", ["ref: ../secret", "ref: refs/../../secret", "ref: refs/heads/secret", "a secret"])
def test_a_head_that_leads_to_another_file_is_none(origin: Path, head: str) -> None:
    for folder in (origin, origin / ".git" / "refs" / "heads"):
        (folder / "secret").write_text("a secret\n")
    (origin / ".git" / "HEAD").write_text(f"{head}\n")
    assert edge.head_of(str(origin)) == ""


def test_knows_a_sparse_checkout(origin: Path) -> None:
    folder = clone(origin)
    assert not edge.is_sparse(str(folder))
    git("worktree", "add", "--quiet", origin.parent / "tree", at=folder)
    git("sparse-checkout", "set", "clusters", at=folder)
    assert edge.is_sparse(str(folder))
    assert not edge.is_sparse(str(origin.parent / "tree"))
    git("sparse-checkout", "set", "clusters", at=origin.parent / "tree")
    assert edge.is_sparse(str(origin.parent / "tree"))


def test_the_address_of_the_remote_is_read_without_git(origin: Path) -> None:
    folder = clone(origin)
    git("worktree", "add", "--quiet", origin.parent / "tree", at=folder)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"file://{origin}", "inner", at=folder)
    for each in (folder, origin.parent / "tree", folder / "inner"):
        assert checkout(each, PATH="/nonexistent").urls == (f"file://{origin}",)
    assert checkout(origin).urls == ()
