"""Commits of ours into whose branch GitHub merged the base, as its button "Update branch" does.

Such a merge is no edit if its tree is that of a clean merge. GitHub tells no such tree. But a clean merge changes
exactly our files in the base, and nothing else: so what the head changes is compared with what our commit changes,
each against the commit at which it parted from the base. That takes two calls for each pull request that was
updated so, and none for any other. A file that both sides have changed differs in the two comparisons: who made
of it what cannot be told, and it counts as an edit.

Sources: docs.github.com/rest/commits/commits#compare-two-commits, and
docs.github.com/authentication/managing-commit-signature-verification/about-commit-signature-verification.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flux_upgrade.adapters.github.query import Json
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Commit

_MAX_FILES = 300  # GitHub lists no more of a comparison
_PARENTS = 2


def is_candidate(ref: Json | None) -> bool:
    """Whether the head of a branch is a merge that GitHub made. Git servers and people sign nothing in its name."""
    target = ref["target"] if ref is not None else {}
    signature = target.get("signature") or {}
    is_signed = bool(signature.get("isValid") and signature.get("wasSignedByGitHub"))
    return is_signed and len(target["parents"]["nodes"]) == _PARENTS


def unmerged(head: Commit, compared: Callable[[str], Json | None]) -> Commit | None:
    """Our commit, with the merge's oid and statuses; None: the branch has something else, too.

    ``compared``: the comparison of a commit with the base, as the REST API gives it; None where they share nothing.
    """
    comparison = compared(head.oid)
    if comparison is None:
        return None
    commits = [_commit(each) for each in comparison["commits"]]
    below = [commit for commit in commits if len(commit.parents) < _PARENTS]
    # What was merged is a commit of the base, and not of any other branch.
    is_base = comparison["merge_base_commit"]["sha"] == head.parents[-1]
    if len(commits) != comparison["total_commits"] or len(below) != 1 or not markers.is_ours(below[0]) or not is_base:
        return None
    changed, ours = _files(comparison), _files(compared(below[0].oid) or {"files": ()})
    if changed != ours or len(ours) >= _MAX_FILES:
        return None
    return below[0]._replace(oid=head.oid, statuses=head.statuses, merged=head.parents[-1])


def _commit(each: Json) -> Commit:
    inner = each["commit"]
    parents = tuple(parent["sha"] for parent in each["parents"])
    return Commit(each["sha"], inner["tree"]["sha"], parents, inner["message"])


def _files(comparison: Json) -> dict[str, tuple[Any, ...]]:
    return {each["filename"]: (each["sha"], each["status"]) for each in comparison["files"]}
