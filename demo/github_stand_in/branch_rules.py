"""Moving refs, and the rules of branches that refuse it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from github_stand_in.gitstore import GitStore
from github_stand_in.model import Rule
from github_stand_in.refusals import Refused

_VIOLATIONS = {
    "REQUIRED_SIGNATURES": "Commits must have verified signatures.",
    "PULL_REQUEST": "Changes must be made through a pull request.",
    "CREATION": "Cannot create ref due to creations being restricted.",
    "UPDATE": "Cannot update this protected ref.",
    "DELETION": "Cannot delete this protected ref.",
    "NON_FAST_FORWARD": "Cannot force-push to this branch",
}


@dataclass(frozen=True)
class RefUpdate:
    """A ref is to move. ``old`` None: wherever it is; empty: it must not exist. ``new`` empty: delete it."""

    name: str
    old: str | None
    new: str
    force: bool = False


def refuse_by_rules(store: GitStore, rules: Iterable[Rule], update: RefUpdate, current: str, login: str = "") -> None:
    """Raise Refused where a ruleset, or the protection of the branch, forbids the move from ``current``."""
    branch = update.name.removeprefix("refs/heads/")
    kinds = {rule.type for rule in rules if rule.covers(branch) and login not in rule.bypass}
    if not current:
        broken = {"CREATION"}
    elif not update.new:
        broken = {"DELETION"}
    else:
        broken = {"UPDATE", "PULL_REQUEST"}
        if not store.is_ancestor(current, update.new):
            broken.add("NON_FAST_FORWARD")
    if update.new and "REQUIRED_SIGNATURES" in kinds and _has_unsigned(store, update.new):
        broken.add("REQUIRED_SIGNATURES")
    violations = [text for kind, text in _VIOLATIONS.items() if kind in broken & kinds]
    if violations:
        raise Refused(422, "Repository rule violations found\n\n" + "\n\n".join(violations) + "\n\n")


def _has_unsigned(store: GitStore, commit: str) -> bool:
    """Whether one of the commits that no branch has yet is not signed."""
    heads = [f"^{head}" for head in set(store.refs("refs/heads/").values())]
    new = store.git("rev-list", commit, *heads).decode().split()
    return any(not store.read(each).is_signed for each in new)
