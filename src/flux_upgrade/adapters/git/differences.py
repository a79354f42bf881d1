"""Why a file of a checkout is another one than at the head of the base branch."""

from __future__ import annotations

import os

from flux_upgrade.adapters.git.git_command import GitCommand
from flux_upgrade.adapters.local.files import MAX_FILE, read_if_readable
from flux_upgrade.model.errors import CheckoutDiffers
from flux_upgrade.model.file_history import blob_id
from flux_upgrade.model.text import one_line

_PULL = "run `git pull` on the base branch; in a workflow, check out the base branch with `ref:` of actions/checkout"
_CONVERSIONS = ("filter", "ident", "working-tree-encoding")  # attributes with which Git writes files in another form


def explain(git: GitCommand, root: str, path: str, base_oid: str) -> CheckoutDiffers:
    """``git``: in the checkout at ``root``; ``base_oid``: the head of the base branch. To be raised."""
    committed = git.output("rev-parse", "--verify", "--quiet", f"HEAD:{path}")
    content = read_if_readable(os.path.join(root, path), MAX_FILE)
    if blob_id(content, committed) != committed:
        return _dirty(git, root, path, content, committed)
    head = git.output("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    shown = f"{one_line(path)} differs between the base branch ({base_oid[:12]}) and the checkout ({head[:12]})"
    branch = git.output("symbolic-ref", "--quiet", "--short", "HEAD")
    where = f"branch {one_line(branch)}" if branch else "commit"
    if git.run("cat-file", "-e", f"{base_oid}^{{commit}}").status:
        why = "the base branch has commits that the checkout does not have"
        if git.output("rev-parse", "--is-shallow-repository") == "true":
            why = "the checkout is shallow and may be behind the base branch"
        return CheckoutDiffers(f"{shown}: {why}", hint=_PULL)
    if _is_ancestor(git, head, base_oid):
        return CheckoutDiffers(f"{shown}: the checkout is behind", hint=_PULL)
    if _is_ancestor(git, base_oid, head):
        return CheckoutDiffers(
            f"{shown}: the {where} in the checkout has commits that the base branch does not have",
            hint="push and merge them first, or check out the base branch",
        )
    return CheckoutDiffers(
        f"{shown}: the {where} in the checkout is not an ancestor of the base branch",
        hint="check out the base branch; in a workflow, set `ref:` of actions/checkout",
    )


def _dirty(git: GitCommand, root: str, path: str, content: bytes, committed: str) -> CheckoutDiffers:
    """No filter is run to find out: it is a program that a configuration names."""
    if nested := _repository_below(root, path):
        return CheckoutDiffers(
            f"{one_line(path)} is in another repository, {one_line(nested)}",
            hint="run flux-upgrade in that repository, and add its directory to `ignore` in the config file here",
        )
    if not committed:
        return CheckoutDiffers(f"{one_line(path)} is not committed", hint="commit and push it first")
    attributes = git.output("check-attr", "-z", *_CONVERSIONS, "--", path).split("\0")[2::3]
    is_converted = not {*attributes} <= {"unspecified", "unset"}
    if is_converted or blob_id(content.replace(b"\r\n", b"\n"), committed) == committed:
        return CheckoutDiffers(
            f"{one_line(path)} is converted by Git on checkout (line ends or a filter)",
            hint="run `git config core.autocrlf false`, or exempt the file in .gitattributes; then check out again",
        )
    return CheckoutDiffers(
        f"{one_line(path)} has uncommitted changes",
        hint=f"commit and push the changes, or run `git restore {one_line(path)}`",
    )


def _repository_below(root: str, path: str) -> str:
    """The folder of the submodule or other repository that ``path`` is in; empty where it is in that of ``root``."""
    folder = path
    while folder := os.path.dirname(folder):
        if os.path.lexists(os.path.join(root, folder, ".git")):
            return folder
    return ""


def _is_ancestor(git: GitCommand, ancestor: str, commit: str) -> bool:
    return git.run("merge-base", "--is-ancestor", ancestor, commit).status == 0
