"""A change that is not merged is noticed without Git."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flux_upgrade.adapters.git.unmerged import may_be_unmerged
from git_servers import git

_FILE = "clusters/flux.yaml"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a clone with one commit, which its server has."""
    root = tmp_path / "checkout"
    git("init", "--quiet", "--bare", "--initial-branch=main", tmp_path / "origin.git")
    git("clone", "--quiet", tmp_path / "origin.git", root)
    git("checkout", "--quiet", "-B", "main", at=root)
    for path in ("a.yaml", _FILE, "z.yaml"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("version: v2.8.8\n")
    git("add", "--all", at=root)
    git("commit", "--quiet", "--message=Install Flux", at=root)
    git("push", "--quiet", "origin", "main", at=root)
    return root


def _change(root: Path) -> None:
    (root / _FILE).write_text("version: v2.9.4\n")


def _look(root: Path) -> None:
    _change(root)
    git("status", "--porcelain", at=root)


def _commit(root: Path) -> None:
    git("checkout", "--quiet", "-b", "upgrade", at=root)
    _change(root)
    git("commit", "--quiet", "--all", "--message=Upgrade Flux", at=root)


def _stage(root: Path) -> None:
    _change(root)
    git("add", _FILE, at=root)


def _forget(root: Path) -> None:
    git("rm", "--quiet", "--cached", _FILE, at=root)
    git("commit", "--quiet", "--message=Remove Flux", at=root)
    git("push", "--quiet", "origin", "main", at=root)


def _compress(root: Path) -> None:
    git("update-index", "--index-version=4", at=root)


def _begin_again(root: Path) -> None:
    (root / ".git" / "index").write_bytes(b"")


def _detach(root: Path) -> None:
    git("checkout", "--quiet", "--detach", at=root)
    _change(root)


def _change_another(root: Path) -> None:
    (root / "z.yaml").write_text("{}\n")


@pytest.mark.parametrize("act", [_change, _look, _commit])
@pytest.mark.parametrize("followed", ["main", ""])
def test_a_change_that_is_not_merged_is_noticed(act: Callable[[Path], None], followed: str, checkout: Path) -> None:
    git("remote", "set-head", "origin", "main", at=checkout)
    act(checkout)
    assert may_be_unmerged(str(checkout), _FILE, followed)


@pytest.mark.parametrize("act", [lambda _: None, _change_another, _detach])
def test_a_checkout_without_such_a_change_needs_no_git(act: Callable[[Path], None], checkout: Path) -> None:
    act(checkout)
    assert not may_be_unmerged(str(checkout), _FILE, "main")


@pytest.mark.parametrize("act", [_stage, _forget, _compress, _begin_again])
def test_what_the_index_does_not_tell_is_left_to_git(act: Callable[[Path], None], checkout: Path) -> None:
    act(checkout)
    assert may_be_unmerged(str(checkout), _FILE, "main")


def test_a_new_clone_needs_no_git(checkout: Path, tmp_path: Path) -> None:
    git("clone", "--quiet", checkout.parent / "origin.git", tmp_path / "clone")
    assert not may_be_unmerged(str(tmp_path / "clone"), _FILE, "main")


def test_a_directory_without_git_has_no_changes(tmp_path: Path) -> None:
    (tmp_path / "flux.yaml").write_text("version: v2.9.4\n")
    assert not may_be_unmerged(str(tmp_path), "flux.yaml", "main")
