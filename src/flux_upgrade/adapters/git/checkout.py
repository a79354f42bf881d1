"""The user's checkout: where it begins, what it is compared with, and why it differs. Read only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import BinaryIO

from flux_upgrade.adapters.git import differences, foreign
from flux_upgrade.adapters.git.git_command import GitCommand, GitResult, Settings
from flux_upgrade.adapters.local.files import MAX_FILE, read_if_readable
from flux_upgrade.model.errors import CheckoutDiffers, ForeignCheckout, UsageError
from flux_upgrade.model.text import one_line
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple

_MAX_LINE = 4096
_FOREIGN = "another user owns the checkout: run `git config --global --add safe.directory {root}` if you trust it"
_REPLACED = "another user owns {path}: read it, and make it yours with `chown` if you trust it"
_CONNECTION = r"^(http|https|credential|url|ssh|protocol)\.|^core\.(sshcommand|askpass|gitproxy)$"
"""Keys of a checkout's own configuration that a connection to its server needs."""


_ORIGIN = re.compile(r'^\[remote "origin"\][^\[]*?^\s*url\s*=\s*(\S+)', re.MULTILINE)
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BRANCH = re.compile(r"ref: (?P<name>refs/(?!\S*\.\.)\S+)")
_ORIGINS = "refs/remotes/origin/"


class CheckoutLocation(NamedTuple):
    root: str  # the real folder that holds `.git`, or, without one, the folder of the path
    prefix: str  # the path below the root, with `/`; empty where it is the root
    is_checkout: bool  # whether there is a `.git`


def find(path: str, within: str = "") -> CheckoutLocation:
    """The checkout that holds ``path``, a file, a folder or something that is not there. Runs no Git.

    The nearest ``.git`` wins, a folder with a HEAD or the file that worktrees and submodules have. Without one, it is
    the directory ``within`` if that holds ``path``.
    """
    real = os.path.realpath(path)
    start = root = real if os.path.isdir(real) else os.path.dirname(real)
    while not _is_root(root) and root != os.path.dirname(root):
        root = os.path.dirname(root)
    is_checkout = _is_root(root)
    if not is_checkout:
        root = os.path.realpath(within) if within and _is_below(start, os.path.realpath(within)) else start
    return CheckoutLocation(root, real[len(root) :].lstrip("/"), is_checkout)


def _is_root(folder: str) -> bool:
    git = os.path.join(folder, ".git")
    return os.path.lexists(os.path.join(git, "HEAD")) or os.path.isfile(git)


def git_folders(root: str) -> tuple[str, str]:
    """Git's folder for ``root``, and the one that it shares with others, which is another one in linked worktrees."""
    git = os.path.join(root, ".git")
    if os.path.isfile(git):  # a worktree, or a submodule
        git = os.path.join(root, _line(git).removeprefix("gitdir: "))
    return git, os.path.normpath(os.path.join(git, _line(os.path.join(git, "commondir"))))


def _is_below(path: str, folder: str) -> bool:
    return f"{os.path.realpath(path)}/".startswith(f"{folder}/")


def head_of(root: str) -> str:
    """Oid of the commit that is checked out, read without Git; empty if it is unknown."""
    git, shared = git_folders(root)
    head = _line(os.path.join(git, "HEAD"))
    if branch := _BRANCH.fullmatch(head):
        return _at(shared, branch["name"])
    return head if _OID.fullmatch(head) else ""  # else it is another file, which HEAD leads to


def branch_of(root: str) -> str:
    """Return the name of the branch that is checked out, read without Git; empty where there is none."""
    branch = _BRANCH.fullmatch(_line(os.path.join(git_folders(root)[0], "HEAD")))
    return branch["name"].removeprefix("refs/heads/") if branch is not None else ""


def remote_branch(root: str, name: str) -> str:
    """Oid of a branch of `origin` when it was fetched last, read without Git; empty if it is unknown."""
    branch = _BRANCH.fullmatch(f"ref: {_ORIGINS}{name}")
    return _at(git_folders(root)[1], branch["name"]) if branch else ""


def remote_default(root: str) -> str:
    """Name of the default branch of `origin`, as `git clone` leaves it; empty if it is unknown."""
    branch = _BRANCH.fullmatch(_line(os.path.join(git_folders(root)[1], f"{_ORIGINS}HEAD")))
    is_of_origin = branch is not None and branch["name"].startswith(_ORIGINS)
    return branch["name"].removeprefix(_ORIGINS) if branch is not None and is_of_origin else ""


def _at(shared: str, name: str) -> str:
    oid = _line(os.path.join(shared, name)) or _packed(os.path.join(shared, "packed-refs"), name)
    return oid if _OID.fullmatch(oid) else ""


def is_sparse(root: str) -> bool:
    """Whether files of the commit may not be there (git-sparse-checkout)."""
    return os.path.lexists(os.path.join(git_folders(root)[0], "info", "sparse-checkout"))


def _line(path: str) -> str:
    return read_if_readable(path, _MAX_LINE).decode("utf-8", "replace").strip()


def _packed(path: str, name: str) -> str:
    lines = read_if_readable(path, MAX_FILE).decode("utf-8", "replace").splitlines()
    return next((line.partition(" ")[0] for line in lines if line.endswith(f" {name}")), "")


class Checkout(GitCommand):
    """Git in a checkout of the user's, with ``environment``: without hooks and monitors, it locks and fetches nothing.

    Whether it works in a folder that another user owns is for Git to say, by its setting `safe.directory`.
    Below ``workspace``, the folder that a container works on for another user, it does, with nothing of
    a configuration that this user owns: see ``foreign``.
    """

    def __init__(self, root: str, environment: Mapping[str, str], workspace: str = "") -> None:
        self.root = os.path.realpath(root)
        self._workspace = workspace and os.path.realpath(workspace)
        # Nothing here is worth a call to the server. Git before 2.45 knows only the second of the two.
        super().__init__(self.root, {**environment, "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"})

    @cached_property
    def _standing(self) -> tuple[str, bool]:
        """Why Git is not run here, if it is not; and whether it is run with nothing of the configuration."""
        git, shared = git_folders(self.root)
        configuration = (f"{shared}/config", f"{git}/config.worktree")
        owners = []
        for paths in (git,), configuration, (self.root, f"{self.root}/.git", shared):
            owners.append({os.geteuid()})
            for path in paths:
                with suppress(OSError):
                    owners[-1] |= {os.lstat(path).st_uid, os.stat(path).st_uid}
        if not set().union(*owners) - {os.geteuid()} or not _is_root(self.root):
            return "", False
        if self._workspace and _is_below(self.root, self._workspace) and _is_below(shared, self._workspace):
            return "", True
        # Git trusts the owner of a folder, and thereby whoever may replace files in it. We do not.
        if not owners[1] <= {0, *owners[0]}:
            return _REPLACED.format(path=one_line(configuration[0])), False
        with suppress(UsageError):
            if not super().run("rev-parse", "--git-dir").status:
                return "", False
        return _FOREIGN.format(root=one_line(self.root)), False

    @property
    def refusal(self) -> str:
        """Why Git does not work here, as it is another user's; empty: it does, or there is none of Git's."""
        return self._standing[0]

    def run(self, *arguments: str, more: Mapping[str, str] | None = None, stdin: BinaryIO | None = None) -> GitResult:
        """Where ``refusal`` says so, nothing is run."""
        refusal, is_foreign = self._standing
        if refusal:
            return GitResult(1, b"", refusal)
        if not is_foreign:
            return super().run(*arguments, more=more, stdin=stdin)
        git, shared = git_folders(self.root)
        branch = _BRANCH.fullmatch(_line(os.path.join(git, "HEAD")))
        with foreign.borrowed(shared, branch["name"] if branch else "", head_of(self.root)) as folder:
            return super().run(f"--git-dir={folder}", *arguments, more=more, stdin=stdin)

    def blobs(self, oids: Iterable[str], *options: str) -> dict[str, bytes]:
        """Return contents as in any repository, and keep them, since several parts ask for them."""
        wanted = list(oids)
        unread = [oid for oid in wanted if oid not in self._contents]
        self._contents |= super().blobs(unread, *options) if unread else {}
        return {oid: self._contents[oid] for oid in wanted if oid in self._contents}

    @cached_property
    def _contents(self) -> dict[str, bytes]:
        return {}

    @cached_property
    def head(self) -> str:
        """Oid of the commit that is checked out; empty where there is none."""
        return self.output("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def uncommitted(self) -> frozenset[str] | Unknown:
        """Return the paths that differ from the commit that is checked out, new files included, or why Git cannot."""
        ran = self.run(
            "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all"
        )
        if ran.status:
            return Unknown(f"Git cannot say what is uncommitted: {ran.why}")
        return frozenset(os.fsdecode(entry[3:]) for entry in ran.out.split(b"\0") if entry)

    @cached_property
    def is_shallow(self) -> bool:
        """Whether older commits are not there (``--depth``), as actions/checkout leaves it by default."""
        return self.output("rev-parse", "--is-shallow-repository") == "true"

    @cached_property
    def is_partial(self) -> bool:
        """Whether contents of older commits may not be there (``--filter``)."""
        return bool(self.output("config", "--get-regexp", r"^remote\..*\.promisor$"))

    def remote_url(self) -> str:
        """Where a remote is, as Git would reach it. Raises UsageError where there is no such remote."""
        if any(self._standing):
            why, _, hint = self.refusal.partition(": ")
            raise ForeignCheckout(
                f"{why or 'another user owns the checkout'}, so the address of its remote is not used",
                hint=hint or "pass --repository",
            )
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
        return self.output("remote", "get-url", "--", "origin")

    @property
    def urls(self) -> tuple[str, ...]:
        """The address of `origin` as it is written there, to be compared with. Of what the user owns, runs no Git."""
        if self._standing[0]:
            return ()
        config = read_if_readable(os.path.join(git_folders(self.root)[1], "config"), MAX_FILE)
        return tuple(_ORIGIN.findall(config.decode(errors="replace"))[:1])

    def identity(self) -> tuple[str, str]:
        return self.output("config", "--get", "user.name"), self.output("config", "--get", "user.email")

    def connection(self) -> Settings:
        """What the checkout's own configuration says on reaching its server: headers, helpers, keys."""
        entries = self.output("config", "--local", "--includes", "-z", "--get-regexp", _CONNECTION)
        pairs = (entry.partition("\n") for entry in entries.split("\0") if entry)
        return tuple((key, value) for key, _, value in pairs)

    def objects(self) -> str:
        """The folder of its objects, to be borrowed; empty where some may be missing."""
        if self.is_shallow or self.is_partial or self._standing[1]:
            return ""  # what another user owns might be another content than its name says
        folder = self.output("rev-parse", "--git-path", "objects")
        return os.path.realpath(os.path.join(self.root, folder)) if folder else ""

    def explain(self, path: str, base_oid: str) -> CheckoutDiffers:
        """Why a file is another one at ``base_oid``, the head of the base branch; to be raised."""
        if not _is_root(self.root):
            return CheckoutDiffers(
                f"{one_line(self.root)} is not a Git checkout, and {one_line(path)} differs from the base branch",
                hint="run flux-upgrade in a checkout of the base branch",
            )
        if self.refusal:
            why, _, hint = self.refusal.partition(": ")
            return CheckoutDiffers(f"{one_line(path)} differs from the base branch, and {why}", hint=hint)
        return differences.explain(self, self.root, path, base_oid)
