"""What the rules of a branch demand: of rulesets, and of branch protection as far as everybody may see it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

Json = Mapping[str, Any]

RULES = """
fragment Rules on Ref {
  rules(first: 100) @include(if: $rules) {
    nodes {
      type parameters { ... on RequiredStatusChecksParameters { strictRequiredStatusChecksPolicy } }
      repositoryRuleset { databaseId }
    }
  }
  refUpdateRule @include(if: $rules) {
    requiresSignatures requiredStatusCheckContexts allowsForcePushes allowsDeletions
  }
}"""
RULESETS = """rulesets(first: 100) @include(if: $rules) {
      nodes {
        databaseId target enforcement
        conditions { refName { include exclude } }
        rules(first: 100) { nodes { type } }
      }
    }"""
"""For branches that do not exist yet: a ref that is not there has no rules. Anybody who may read sees them."""
FIELDS = ("rules", "refUpdateRule", "rulesets", "mergeStateStatus", "isInMergeQueue")
"""What an error about these rules is about."""


def protects_signatures(ref: Json | None) -> bool:
    """Whether branch protection requires signed commits of us: those whom it exempts are told of no rule."""
    return bool(_protection(ref).get("requiresSignatures"))


def demands_signatures(ref: Json | None) -> bool:
    """Whether a ruleset or a protection rule wants commits on it to be signed."""
    return protects_signatures(ref) or any(rule["type"] in SIGNATURES for rule in _rules(ref))


def is_outdated(base: Json, pull: Json) -> bool:
    """Whether a pull request has to be up to date with its base before it is merged, and is not.

    A ruleset says whether it demands that. Branch protection says it to administrators alone, and GitHub then
    says BEHIND of the pull request, unless something else keeps it from being merged. See
    https://docs.github.com/graphql/reference/enums#mergestatestatus.
    """
    commits = pull["commits"]["nodes"]
    parents = {parent["oid"] for each in commits for parent in each["commit"]["parents"]["nodes"]}
    if pull["state"] != "OPEN" or base["target"]["oid"] in parents:
        return False
    strict = ((rule.get("parameters") or {}).get("strictRequiredStatusChecksPolicy") for rule in _rules(base))
    is_checked = bool(_protection(base).get("requiredStatusCheckContexts"))
    return any(strict) or (is_checked and pull.get("mergeStateStatus") == "BEHIND")


SIGNATURES, CREATION = ("REQUIRED_SIGNATURES",), ("CREATION",)
FREEZING = ("NON_FAST_FORWARD", "UPDATE", "PULL_REQUEST")
"""Rules because of which a commit on a branch cannot be replaced."""


def rulesets_of(ref: Json | None, kinds: Collection[str]) -> set[int]:
    """The rulesets that have one of these rules for a branch that exists."""
    sets = (rule.get("repositoryRuleset") for rule in _rules(ref) if rule["type"] in kinds)
    return {each["databaseId"] for each in sets if each and each["databaseId"]}


def rulesets_for(repository: Json, branch: str, kinds: Collection[str]) -> set[int]:
    """The rulesets that have one of these rules for a branch, once it exists."""
    nodes = (repository.get("rulesets") or {"nodes": ()})["nodes"]
    return {
        each["databaseId"]
        for each in nodes
        if each["databaseId"]
        and (each["target"], each["enforcement"]) == ("BRANCH", "ACTIVE")
        and any(rule["type"] in kinds for rule in (each["rules"] or {"nodes": ()})["nodes"])
        and _covers(each["conditions"]["refName"] or {"include": (), "exclude": ()}, f"refs/heads/{branch}")
    }


def _covers(names: Json, ref: str) -> bool:
    """Whether a condition of a ruleset holds for a ref. Our branches are never the default branch."""
    include, exclude = (
        any(pattern == "~ALL" or _matches(pattern, ref) for pattern in names[key]) for key in ("include", "exclude")
    )
    return include and not exclude


def _matches(pattern: str, ref: str) -> bool:
    """As Ruby's ``File.fnmatch`` with FNM_PATHNAME: no wildcard matches a slash, except for ``**/``.

    Source: https://docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets/
    creating-rulesets-for-a-repository#using-fnmatch-syntax
    """
    *directories, last = pattern.split("/")
    names = ref.split("/")
    starts = {0}  # Of the rest of the name, each of which the pattern may go on with
    for part in directories:
        if part == "**":
            starts = set(range(min(starts, default=len(names)), len(names)))
        else:
            starts = {start + 1 for start in starts if start < len(names) and fnmatchcase(names[start], part)}
    return len(names) - 1 in starts and fnmatchcase(names[-1], last)


def forbids_force(ref: Json | None) -> bool:
    """Whether branch protection refuses force pushes. Of those whom it exempts only administrators are told."""
    return _protection(ref).get("allowsForcePushes") is False


def forbids_deletion(ref: Json | None) -> bool:
    """Whether a ruleset or branch protection keeps a branch from being deleted, even if some may bypass it."""
    return _protection(ref).get("allowsDeletions") is False or any(rule["type"] == "DELETION" for rule in _rules(ref))


def parents_of(branches: Iterable[str]) -> tuple[str, ...]:
    """The names above those of branches: if there is a branch of such a name, Git has no room for those below."""
    found: dict[str, None] = {}
    for name in branches:
        parts = name.split("/")
        found |= dict.fromkeys("/".join(parts[:count]) for count in range(1, len(parts)))
    return tuple(found)


def in_the_way(name: str, existing: Iterable[str]) -> str:
    """The branch because of which Git has no room for one of this name; empty: there is none."""
    return next((each for each in existing if name.startswith(f"{each}/") or each.startswith(f"{name}/")), "")


def _rules(ref: Json | None) -> Iterator[Json]:
    yield from ((ref or {}).get("rules") or {"nodes": ()})["nodes"]


def _protection(ref: Json | None) -> Json:
    return (ref or {}).get("refUpdateRule") or {}
