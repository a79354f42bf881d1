"""What the rules of a branch demand: of rulesets, and of branch protection as far as everybody may see it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
  refUpdateRule @include(if: $rules) { requiresSignatures requiredStatusCheckContexts allowsForcePushes }
}"""
FIELDS = ("rules", "refUpdateRule", "mergeStateStatus", "isInMergeQueue")
"""What an error about these rules is about."""


def demands_signatures(ref: Json | None) -> bool:
    """Whether a ruleset or a protection rule wants commits on it to be signed."""
    return _protection(ref, "requiresSignatures") or any(rule["type"] == "REQUIRED_SIGNATURES" for rule in _rules(ref))


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
    return any(strict) or (
        _protection(base, "requiredStatusCheckContexts") and pull.get("mergeStateStatus") == "BEHIND"
    )


_FREEZING = ("NON_FAST_FORWARD", "UPDATE", "PULL_REQUEST")
"""Rules because of which a commit on a branch cannot be replaced."""


def freezing_rulesets(ref: Json | None) -> set[int]:
    """The rulesets because of which a branch's commit cannot be replaced, but by those whom they do not bind."""
    sets = (rule.get("repositoryRuleset") for rule in _rules(ref) if rule["type"] in _FREEZING)
    return {each["databaseId"] for each in sets if each and each["databaseId"]}


def forbids_force(ref: Json | None) -> bool:
    """Whether branch protection refuses force pushes. Of those whom it exempts only administrators are told."""
    protection = (ref or {}).get("refUpdateRule") or {}
    return protection.get("allowsForcePushes") is False


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


def _protection(ref: Json | None, name: str) -> bool:
    return bool(((ref or {}).get("refUpdateRule") or {}).get(name))
