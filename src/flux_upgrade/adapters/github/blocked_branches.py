"""Branches that we cannot write to as they are, because of other branches or of the repository's rules. Pure.

GraphQL reports the rules, but not whom they bind. The REST API does, for each ruleset.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from flux_upgrade.adapters.github import branch_rules
from flux_upgrade.adapters.github.query import Json
from flux_upgrade.adapters.github.who_may import JOBS_OWN
from flux_upgrade.model.forge import Branch


def blocked(
    seen: Json, branches: Mapping[str, Branch], existing: Collection[str], binds: Callable[[int], bool], *, signs: bool
) -> Iterator[tuple[str, Branch]]:
    """Branches that cannot be created, or whose commit cannot be replaced, or must have a signature.

    ``existing``: names of other branches. ``binds``: whether a ruleset binds the token. ``signs``: whether GitHub
    signs the commits that we make.
    """
    for number, branch in enumerate(branches.values()):
        ref, is_new = seen[f"b{number}"], branch.head is None
        found = branch._replace(
            in_the_way=branch_rules.in_the_way(branch.name, existing) if is_new else "",
            is_frozen=_is_frozen(seen, ref, binds),
            forbids_creation=is_new
            and any(map(binds, branch_rules.rulesets_for(seen, branch.name, branch_rules.CREATION))),
            needs_signature=not signs and _needs_signature(seen, branch, ref, binds),
        )
        if found != branch:
            yield branch.name, found


def _is_frozen(seen: Json, ref: Json | None, binds: Callable[[int], bool]) -> bool:
    # GITHUB_TOKEN can be exempted from rulesets only. Of any other token GitHub knows better.
    is_protected = seen["viewer"] == JOBS_OWN and branch_rules.forbids_force(ref)
    return is_protected or any(map(binds, branch_rules.rulesets_of(ref, branch_rules.FREEZING)))


def _needs_signature(seen: Json, branch: Branch, ref: Json | None, binds: Callable[[int], bool]) -> bool:
    if branch.head is None:
        return any(map(binds, branch_rules.rulesets_for(seen, branch.name, branch_rules.SIGNATURES)))
    rulesets = branch_rules.rulesets_of(ref, branch_rules.SIGNATURES)
    return branch_rules.protects_signatures(ref) or any(map(binds, rulesets))
