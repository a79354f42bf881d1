"""A file is read in the commit that Flux follows: of the branch as it was fetched, or where another branch left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.test_git_history import PATH, Repository
from flux_upgrade.adapters.git.checkout import Checkout
from flux_upgrade.adapters.git.followed_commit import FollowedCommit
from flux_upgrade.adapters.git.git_history import NO_COMMIT, PARTIAL
from flux_upgrade.model.file_history import FollowedFile
from flux_upgrade.model.unknown import Unknown
from git_servers import PERSON, git, give_away

MAIN = "refs/remotes/origin/main"


class Fleet(Repository):
    """A checkout whose ``origin/main`` moves without a server."""

    def pushed(self, text: str) -> None:
        self.commit(text)
        self.git("update-ref", MAIN, "HEAD")

    def read(self, branch: str | Unknown = "main", path: str = PATH) -> FollowedFile | Unknown:
        return followed(self.folder, branch, path)


def followed(folder: Path, branch: str | Unknown = "main", path: str = PATH) -> FollowedFile | Unknown:
    file = folder / path
    present = file.read_bytes() if file.exists() else b""
    return FollowedCommit(Checkout(str(folder), PERSON), [PATH, "other.yaml"]).file(path, branch, present)


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path / "fleet")


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_branch_as_it_was_fetched(fleet: Fleet, *, is_packed: bool) -> None:
    fleet.pushed("one")
    if is_packed:
        fleet.git("pack-refs", "--all")
    assert fleet.read() == FollowedFile(b"one")
    fleet.commit("two")
    assert fleet.read() == FollowedFile(b"one")
    (fleet.folder / PATH).write_text("three")
    assert fleet.read() == FollowedFile(b"one")


def test_the_server_is_ahead(fleet: Fleet) -> None:
    fleet.pushed("one")
    fleet.pushed("two")
    fleet.git("reset", "--quiet", "--hard", "HEAD^")
    assert fleet.read() == FollowedFile(b"two")


def test_another_branch_starts_where_it_left(fleet: Fleet) -> None:
    fleet.pushed("one")
    fleet.git("checkout", "--quiet", "-b", "aside")
    fleet.commit("two")
    fleet.git("checkout", "--quiet", "main")
    fleet.pushed("three")
    fleet.git("checkout", "--quiet", "aside")
    assert fleet.read() == FollowedFile(b"one")
    fleet.git("checkout", "--quiet", "--detach")
    assert fleet.read() == FollowedFile(b"one")


@pytest.mark.parametrize("branch", ["stable", "../main", "", Unknown("no sync")])
def test_without_the_branch_it_is_the_commit_that_is_checked_out(fleet: Fleet, branch: str | Unknown) -> None:
    fleet.pushed("one")
    (fleet.folder / PATH).write_text("two")
    why = branch if isinstance(branch, Unknown) else Unknown(f"the checkout has no origin/{branch}")
    assert fleet.read(branch) == FollowedFile(b"one", why)


def test_a_file_that_is_not_there(fleet: Fleet) -> None:
    fleet.pushed("one")
    (fleet.folder / "other.yaml").write_text("two")
    for branch in ("main", Unknown("no sync")):
        assert fleet.read(branch, "other.yaml") == Unknown("it is not committed yet")
    fleet.commit("two", "other.yaml")
    assert fleet.read("main", "other.yaml") == Unknown("it is not on main yet")


def test_no_commit(tmp_path: Path, fleet: Fleet) -> None:
    assert fleet.read() == followed(tmp_path) == Unknown(NO_COMMIT)
    checkout = Checkout(str(fleet.folder), {**PERSON, "PATH": "/nonexistent"})
    assert FollowedCommit(checkout).file(PATH, "main", b"") == Unknown("git is not on PATH")


def test_a_shallow_clone_and_one_without_contents(tmp_path: Path, fleet: Fleet) -> None:
    for text in ("one", "two"):
        fleet.pushed(text)
    git("config", "uploadpack.allowFilter", "true", at=fleet.folder)
    git("clone", "--quiet", "--depth=1", f"file://{fleet.folder}", tmp_path / "shallow")
    git("checkout", "--quiet", "--orphan", "aside", at=tmp_path / "shallow")
    git("commit", "--quiet", "--allow-empty", "-m", "Apart", at=tmp_path / "shallow")
    (tmp_path / "shallow" / PATH).write_text("three")
    assert followed(tmp_path / "shallow") == FollowedFile(b"two")
    git("clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{fleet.folder}", tmp_path / "partial")
    assert followed(tmp_path / "partial") == Unknown(PARTIAL)


def test_a_checkout_of_another_user(fleet: Fleet) -> None:
    fleet.pushed("one")
    (fleet.folder / PATH).write_text("two")
    give_away(fleet.folder)
    reason = followed(fleet.folder)
    assert isinstance(reason, Unknown)
    assert reason.reason.startswith("another user owns the checkout")
    within = Checkout(str(fleet.folder), PERSON, str(fleet.folder.parent))
    assert FollowedCommit(within).file(PATH, "main", b"two") == FollowedFile(b"one")


def test_a_content_is_read_once(fleet: Fleet) -> None:
    oid = fleet.git("rev-parse", f"{fleet.commit('one')}:{PATH}")
    checkout = Checkout(str(fleet.folder), PERSON)
    assert checkout.blobs([oid]) == {oid: b"one"}
    (fleet.folder / ".git").rename(fleet.folder / "git")
    assert checkout.blobs([oid, "0" * 40]) == {oid: b"one"}


def test_a_file_that_was_not_announced(fleet: Fleet) -> None:
    fleet.pushed("one")
    commit = FollowedCommit(Checkout(str(fleet.folder), PERSON), ["other.yaml"])
    assert commit.file("other.yaml", "main", b"") == Unknown("it is not committed yet")
    assert commit.file(PATH, "main", b"") == FollowedFile(b"one")
