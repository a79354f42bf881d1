"""A checkout that another user owns: Git decides, and in a container nothing of its configuration is used."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from flux_upgrade.adapters.git.checkout import Checkout, head_of
from flux_upgrade.adapters.git.git_history import GitHistory
from flux_upgrade.model.errors import ForeignCheckout
from flux_upgrade.model.file_history import FileRevisions, Mentions
from flux_upgrade.model.unknown import Unknown
from git_servers import PERSON, git, give_away
from real_parts import missing

PATH = "clusters/a.yaml"
VERSION = "helm.toolkit.fluxcd.io/v2beta1"
STRANGER = 12345


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Our own, with two versions of a file."""
    return _fleet(tmp_path / "fleet")


def _fleet(folder: Path, *options: str) -> Path:
    git("init", "--quiet", "--initial-branch=main", *options, folder)
    git("config", "uploadpack.allowFilter", "true", at=folder)
    git("remote", "add", "origin", "https://example.com/team/fleet.git", at=folder)
    (folder / "clusters").mkdir()
    for text in (f"apiVersion: {VERSION}\n", "apiVersion: helm.toolkit.fluxcd.io/v2\n"):
        (folder / PATH).write_text(text)
        git("add", "--all", at=folder)
        git("commit", "--quiet", "-m", "Change", at=folder)
    return folder


def seen(checkout: Checkout) -> tuple[str, FileRevisions, Mentions, str]:
    """What is read of it without the server."""
    past = GitHistory(checkout, [PATH])
    return checkout.head, past.of(PATH), past.mentions([VERSION]), checkout.explain(PATH, checkout.head).message


def test_git_refuses_it_and_so_do_we(fleet: Path) -> None:
    give_away(fleet)
    with pytest.raises(AssertionError, match="dubious ownership"):
        git("status", at=fleet)
    checkout = Checkout(str(fleet), PERSON)
    why = f"another user owns the checkout: run `git config --global --add safe.directory {fleet}` if you trust it"
    assert seen(checkout)[:3] == ("", FileRevisions(missing=Unknown(why)), Mentions(missing=Unknown(why)))
    differs = checkout.explain(PATH, "0" * 40)
    assert f"{differs.message}: {differs.hint}" == f"{PATH} differs from the base branch, and {why}"
    assert (checkout.urls, checkout.origin(), checkout.connection(), checkout.objects()) == ((), "", (), "")
    with pytest.raises(ForeignCheckout, match="another user owns the checkout, so") as caught:
        checkout.remote_url()
    assert caught.value.hint == f"run `git config --global --add safe.directory {fleet}` if you trust it"


def test_a_user_who_trusts_it_says_so_to_git(fleet: Path) -> None:
    before = seen(Checkout(str(fleet), PERSON))
    give_away(fleet)
    trust = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": str(fleet)}
    checkout = Checkout(str(fleet), {**PERSON, **trust})
    assert seen(checkout) == before
    assert checkout.urls == (checkout.remote_url(),) == ("https://example.com/team/fleet.git",)


def _cloned(fleet: Path, *options: str) -> Path:
    git("clone", "--quiet", *options, f"file://{fleet}", fleet.parent / "clone")
    return fleet.parent / "clone"


def _with_worktree(fleet: Path) -> Path:
    git("worktree", "add", "--quiet", "-b", "aside", fleet.parent / "tree", at=fleet)
    return fleet.parent / "tree"


def _submodule(fleet: Path) -> Path:
    git("init", "--quiet", fleet.parent / "outer")
    allowed = ("-c", "protocol.file.allow=always")
    git(*allowed, "submodule", "--quiet", "add", f"file://{fleet}", "inner", at=fleet.parent / "outer")
    return fleet.parent / "outer" / "inner"


def _after(*command: str) -> Callable[[Path], Path]:
    def made(fleet: Path) -> Path:
        git(*command, at=fleet)
        return fleet

    return made


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda fleet: fleet, id="plain"),
        pytest.param(_after("pack-refs", "--all"), id="packed refs"),
        pytest.param(_after("checkout", "--quiet", "--detach", "HEAD~1"), id="detached"),
        pytest.param(_after("gc", "--quiet"), id="packed"),
        pytest.param(lambda fleet: _cloned(fleet, "--depth=1"), id="shallow"),
        pytest.param(lambda fleet: _cloned(fleet, "--filter=blob:none"), id="without contents"),
        pytest.param(lambda fleet: _cloned(fleet, "--filter=tree:0"), id="without trees"),
        pytest.param(_with_worktree, id="worktree"),
        pytest.param(_submodule, id="submodule"),
        pytest.param(lambda fleet: _fleet(fleet.parent / "other", "--object-format=sha256"), id="sha256"),
    ],
)
def test_in_a_container_it_is_read_with_a_configuration_of_ours(fleet: Path, made: Callable[[Path], Path]) -> None:
    checkout = made(fleet)
    before, urls = seen(Checkout(str(checkout), PERSON)), Checkout(str(checkout), PERSON).urls
    give_away(fleet.parent)
    after = Checkout(str(checkout), PERSON, str(fleet.parent))
    assert seen(after) == before
    assert after.urls == urls
    assert (after.connection(), after.origin(), after.objects()) == ((), "", "")
    with pytest.raises(ForeignCheckout, match="another user owns the checkout") as caught:
        after.remote_url()
    assert caught.value.hint == "pass --repository"


def test_in_a_container_what_its_user_owns_is_used_as_git_uses_it(fleet: Path) -> None:
    git("config", "core.sshCommand", "ssh -i deploy", at=fleet)
    checkout = Checkout(str(fleet), PERSON, str(fleet.parent))
    assert checkout.connection() == (("core.sshcommand", "ssh -i deploy"),)
    assert checkout.remote_url() == "https://example.com/team/fleet.git"


def test_a_container_reads_nothing_outside_of_its_workspace(fleet: Path, tmp_path: Path) -> None:
    outside = _with_worktree(fleet)
    (tmp_path / "workspace").mkdir()
    inside = outside.rename(tmp_path / "workspace" / "tree")
    give_away(inside)
    assert Checkout(str(inside), PERSON, str(tmp_path / "workspace")).head == ""
    give_away(fleet)
    assert Checkout(str(fleet), PERSON, str(tmp_path / "workspace")).head == ""


def test_a_configuration_that_a_third_user_put_into_our_own_folder(fleet: Path) -> None:
    if os.getuid() != 0:
        missing("only root may give files away")
    os.chown(fleet / ".git" / "config", STRANGER, STRANGER)
    assert git("rev-parse", "HEAD", at=fleet) == head_of(str(fleet)), "Git looks at the owner of the folder alone"
    checkout = Checkout(str(fleet), PERSON)
    assert (checkout.head, checkout.connection(), checkout.urls) == ("", (), ())
    with pytest.raises(ForeignCheckout, match=r"another user owns .*/\.git/config, so") as caught:
        checkout.remote_url()
    assert "chown" in caught.value.hint


def test_a_bare_repository_in_a_tree_is_no_checkout(fleet: Path, tmp_path: Path) -> None:
    git("clone", "--quiet", "--bare", fleet, tmp_path / "unpacked" / "inner")
    assert Checkout(str(tmp_path / "unpacked" / "inner"), PERSON).head == ""
