"""What the rules of a branch demand: of rulesets, and of branch protection as far as everybody may see it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]

RULES = """
fragment Rules on Ref {
  rules(first: 100) @include(if: $rules) {
    nodes { type parameters { ... on RequiredStatusChecksParameters { strictRequiredStatusChecksPolicy } } }
  }
  refUpdateRule @include(if: $rules) { requiresSignatures requiredStatusCheckContexts }
}"""
FIELDS = ("rules", "refUpdateRule", "mergeStateStatus")
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


def _rules(ref: Json | None) -> Iterator[Json]:
    yield from ((ref or {}).get("rules") or {"nodes": ()})["nodes"]


def _protection(ref: Json | None, name: str) -> bool:
    return bool(((ref or {}).get("refUpdateRule") or {}).get(name))
