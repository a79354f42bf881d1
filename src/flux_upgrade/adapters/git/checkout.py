"""The user's checkout: where it begins, what it is compared with, and why it differs. Read only."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from flux_upgrade.adapters.git.git_command import GitCommand, Settings
from flux_upgrade.adapters.local.files import read_regular
from flux_upgrade.model.errors import CheckoutDiffers, UsageError
from flux_upgrade.model.files import blob_id
from flux_upgrade.model.text import one_line

_MAX_FILE = 32 * 1024 * 1024
_MAX_LINE = 4096
_PULL = "run `git pull` on the base branch; in a workflow, check out the base branch with `ref:` of actions/checkout"
_CONNECTION = r"^(http|https|credential|url|ssh|protocol)\.|^core\.(sshcommand|askpass|gitproxy)$"
"""Keys of a checkout's own configuration that a connection to its server needs."""


class CheckoutLocation(NamedTuple):
    """Where a path is."""

    root: str  # the real folder that holds `.git`, or, without one, the folder of the path
    prefix: str  # the path below the root, with `/`; empty where it is the root
    is_checkout: bool  # whether there is a `.git`


def find(path: str) -> CheckoutLocation:
    """The checkout that holds ``path``, a file, a folder or something that is not there. Runs no Git.

    The nearest ``.git`` wins, a folder with a HEAD or the file that worktrees and submodules have.
    """
    real = os.path.realpath(path)
    start = root = real if os.path.isdir(real) else os.path.dirname(real)
    while not _is_root(root) and root != os.path.dirname(root):
        root = os.path.dirname(root)
    is_checkout = _is_root(root)
    root = root if is_checkout else start
    return CheckoutLocation(root, real[len(root) :].lstrip("/"), is_checkout)


_ORIGIN = re.compile(r'^\[remote "origin"\][^\[]*?^\s*url\s*=\s*(\S+)', re.MULTILINE)


def origin_of(root: str) -> str:
    """The address of the remote ``origin`` as ``.git/config`` has it; empty where it has none. Runs no Git."""
    try:
        config = read_regular(os.path.join(root, ".git", "config"), _MAX_FILE).decode(errors="replace")
    except OSError:
        return ""
    match = _ORIGIN.search(config)
    return match[1] if match else ""


def is_folder(path: str) -> bool:
    """Whether there is a folder at ``path``; links are followed."""
    return os.path.isdir(path)


def _is_root(folder: str) -> bool:
    git = os.path.join(folder, ".git")
    return os.path.lexists(os.path.join(git, "HEAD")) or os.path.isfile(git)


def head_of(root: str) -> str:
    """Oid of the commit that is checked out, read without Git; empty if it is unknown."""
    git = os.path.join(root, ".git")
    if os.path.isfile(git):  # a worktree, or a submodule
        git = os.path.join(root, _line(git).removeprefix("gitdir: "))
    head = _line(os.path.join(git, "HEAD"))
    if not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    shared = os.path.join(git, _line(os.path.join(git, "commondir")) or ".")
    return _line(os.path.join(shared, name)) or _packed(os.path.join(shared, "packed-refs"), name)


def is_sparse(root: str) -> bool:
    """Whether files of the commit may not be there (git-sparse-checkout)."""
    return os.path.lexists(os.path.join(root, ".git", "info", "sparse-checkout"))


def _line(path: str) -> str:
    try:
        return read_regular(path, _MAX_LINE).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _packed(path: str, name: str) -> str:
    try:
        lines = read_regular(path, _MAX_FILE).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(" ")[0] for line in lines if line.endswith(f" {name}")), "")


class Checkout(GitCommand):
    """Git in a checkout of the user's, with ``environment``.

    It is run without its hooks and monitors, locks nothing, and knows from its
    environment that the folder may belong to somebody else, as it does in a container.
    """

    def __init__(self, root: str, environment: Mapping[str, str]) -> None:
        self.root = os.path.realpath(root)
        # Nothing here is worth a call to the server.
        offline = {**environment, "GIT_NO_LAZY_FETCH": "1"}
        super().__init__(self.root, offline, (("safe.directory", self.root),))

    @cached_property
    def head(self) -> str:
        """Oid of the commit that is checked out; empty where there is none."""
        return self._output("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    @cached_property
    def is_shallow(self) -> bool:
        """Whether older commits are not there (``--depth``), as actions/checkout leaves it by default."""
        return self._output("rev-parse", "--is-shallow-repository") == "true"

    @cached_property
    def is_partial(self) -> bool:
        """Whether contents of older commits may not be there (``--filter``)."""
        return bool(self._output("config", "--get-regexp", r"^remote\..*\.promisor$"))

    def remote_url(self) -> str:
        """Where a remote is, as Git would reach it. Raises UsageError where there is no such remote."""
        ran = self.run("rev-parse", "--git-dir")
        if ran.status:
            raise UsageError(
                f"{one_line(self.root)} is not a Git checkout: {ran.why}",
                hint="run flux-upgrade in a checkout, or pass --repository",
            )
        found = self.origin()
        if not found:
            raise UsageError(
                "the checkout has no remote `origin`", hint="run `git remote add origin <url>`, or pass --repository"
            )
        return found

    def origin(self) -> str:
        """As ``remote_url``; empty where there is no such remote."""
        return self._output("remote", "get-url", "--", "origin")

    def identity(self) -> tuple[str, str]:
        return self._output("config", "--get", "user.name"), self._output("config", "--get", "user.email")

    def connection(self) -> Settings:
        """What the checkout's own configuration says on reaching its server: headers, helpers, keys."""
        entries = self._output("config", "--local", "--includes", "-z", "--get-regexp", _CONNECTION)
        pairs = (entry.partition("\n") for entry in entries.split("\0") if entry)
        return tuple((key, value) for key, _, value in pairs)

    def objects(self) -> str:
        """The folder of its objects, to be borrowed; empty where some may be missing."""
        if self.is_shallow or self.is_partial:
            return ""
        folder = self._output("rev-parse", "--git-path", "objects")
        return os.path.realpath(os.path.join(self.root, folder)) if folder else ""

    def explain(self, path: str, base_oid: str) -> CheckoutDiffers:
        """Why a file is another one at ``base_oid``, the head of the base branch; to be raised."""
        if not _is_root(self.root):
            return CheckoutDiffers(
                f"{one_line(self.root)} is not a Git checkout, and {one_line(path)} differs from the base branch",
                hint="run flux-upgrade in a checkout of the base branch",
            )
        committed = self._output("rev-parse", "--verify", "--quiet", f"HEAD:{path}")
        try:
            found = blob_id(read_regular(os.path.join(self.root, path), _MAX_FILE), committed)
        except OSError:
            found = ""
        if found != committed:
            return self._dirty(path, committed)
        shown = (
            f"{one_line(path)} differs between the base branch ({base_oid[:12]}) and the checkout ({self.head[:12]})"
        )
        branch = self._output("symbolic-ref", "--quiet", "--short", "HEAD")
        where = f"branch {one_line(branch)}" if branch else "commit"
        if self.run("cat-file", "-e", f"{base_oid}^{{commit}}").status:
            why = "the base branch has commits that the checkout does not have"
            if self.is_shallow:
                why = "the checkout is shallow and may be behind the base branch"
            return CheckoutDiffers(f"{shown}: {why}", hint=_PULL)
        if self._is_ancestor(self.head, base_oid):
            return CheckoutDiffers(f"{shown}: the checkout is behind", hint=_PULL)
        if self._is_ancestor(base_oid, self.head):
            return CheckoutDiffers(
                f"{shown}: the {where} in the checkout has commits that the base branch does not have",
                hint="push and merge them first, or check out the base branch",
            )
        return CheckoutDiffers(
            f"{shown}: the {where} in the checkout is not an ancestor of the base branch",
            hint="check out the base branch; in a workflow, set `ref:` of actions/checkout",
        )

    def _dirty(self, path: str, committed: str) -> CheckoutDiffers:
        if not committed:
            return CheckoutDiffers(f"{one_line(path)} is not committed", hint="commit and push it first")
        if self.run("hash-object", f"--path={path}", "--", path).text == committed:
            return CheckoutDiffers(
                f"{one_line(path)} is converted by Git on checkout (line ends or a filter)",
                hint="run `git config core.autocrlf false`, or exempt the file in .gitattributes; then check out again",
            )
        return CheckoutDiffers(
            f"{one_line(path)} has uncommitted changes",
            hint=f"commit and push the changes, or run `git restore {one_line(path)}`",
        )

    def _is_ancestor(self, ancestor: str, commit: str) -> bool:
        return self.run("merge-base", "--is-ancestor", ancestor, commit).status == 0

    def _output(self, *arguments: str) -> str:
        ran = self.run(*arguments)
        return "" if ran.status else ran.text
