"""Titles: one line that says what happens, in the style of the history."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from flux_upgrade.markdown import inert, shortened
from flux_upgrade.proposal import Proposal, Surroundings
from flux_upgrade.pull_request import migration
from flux_upgrade.pull_request.view import View

_TITLE = 250
"""GitHub takes 256 characters."""
_FEW = 2
_LEAST = 4
# The types of commitlint's conventional preset. Others would take "staging: fix x" for one.
_CONVENTIONAL = re.compile(
    r"(?P<type>build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)"
    r"(?:\((?P<scope>[^()]*)\))?!?: (?P<what>\S+)"
)
_UPDATES = {"bump", "update", "upgrade"}
_PREFIXES = ("chore(deps)", "build(deps)", "fix(deps)", "chore", "build")


def title(proposal: Proposal, around: Surroundings) -> str:
    """The pull request's title."""
    return shortened(headline(proposal, around, where=True), _TITLE)


def conventional_prefix(headlines: Sequence[str]) -> str:
    """What this history puts before updates of dependencies; empty where it has no conventional commits.

    It has them where at least half of four or more headlines are ones, merges aside.
    """
    own = [line for line in headlines if not line.startswith("Merge ")]
    found = [match for match in map(_CONVENTIONAL.match, own) if match]
    if len(own) < _LEAST or 2 * len(found) < len(own):
        return ""
    used = Counter(_prefix(match) for match in found)
    return max(_PREFIXES, key=lambda prefix: used[prefix])


def _prefix(match: re.Match[str]) -> str:
    scope = match["scope"] or ""
    if scope.partition("-")[0] == "deps":
        return f"{match['type']}(deps)"
    return match["type"] if not scope and match["what"].lower() in _UPDATES else ""


def headline(proposal: Proposal, around: Surroundings, *, where: bool) -> str:
    """``where``: with the name of the group or the folder."""
    view = View(proposal, around)
    place = view.name if where else ""
    told = migration.what(view, place) if view.is_migration else _what(view)
    if place and not view.is_migration:
        told += f" in {place}"
    if around.conventional:
        told = f"{around.conventional}: {told[0].lower()}{told[1:].replace('Flux', 'flux', 1)}"
    return inert(told)


def _what(view: View) -> str:
    targets = view.targets
    if not view.moves and any(upgrade.flags for _, upgrade in view.upgrades):
        return "Change Flux's install flags"
    if not view.moves or view.aligns:
        return f"Align Flux with {targets[-1]}" if len(targets) == 1 else "Align Flux with its releases"
    what = "Upgrade the Flux CLI" if view.is_tools else "Upgrade Flux"
    return f"{what} to {' and '.join(targets)}" if len(targets) <= _FEW else what
