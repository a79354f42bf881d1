"""How much more careful the program has become where nothing is wrong, by its decisions about healthy repositories.

A program that holds everything is careful, too. `decisions.json` has what an earlier commit decided: see `record.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from healthy.carefulness import Change, Comparison, compare, table
from healthy.decisions import Decision, Place, all_decisions
from healthy.record import recorded
from real_parts import require_shared

pytestmark = pytest.mark.real_part("shared data")

LIMITS = {("history", "commit"): 0.05, ("shallow", "files"): 0.20}
"""Modes of checkouts → the share of their decisions that may be more careful than before, at the most."""

LESS_CAREFUL = {
    ("wahooli+gitops-repo", "migration-pending"): "a metric about an old API version is an action now, and no hold"
}
"""Repository and earlier reason of decisions that are less careful than before → why."""


def test_few_decisions_about_healthy_repositories_are_more_careful(tmp_path: Path) -> None:
    now = all_decisions(tmp_path, require_shared("conformance", "releases"))
    before = recorded()
    assert now.keys() == before.keys(), "decisions.json has others: see record.py"
    comparisons = compare(before, now)
    problems = [
        *_beyond_limits(comparisons),
        *_lost_auto_merges(comparisons),
        *_less_careful(comparisons),
        *_changed_patches(comparisons),
        *_patches_that_differ(now),
    ]
    assert not problems, "\n".join([*problems, "", *table(comparisons), "", *_changes(comparisons)])


def _beyond_limits(comparisons: list[Comparison]) -> Iterator[str]:
    for modes, limit in LIMITS.items():
        ours = [comparison for comparison in comparisons if comparison.place.mode in modes]
        share = sum(comparison.change is Change.MORE for comparison in ours) / len(ours)
        if share > limit:
            yield f"{' and '.join(modes)}: {share:.1%} of the decisions are more careful, more than {limit:.0%}"


def _lost_auto_merges(comparisons: list[Comparison]) -> Iterator[str]:
    for comparison in comparisons:
        if comparison.loses_auto_merge and not (comparison.now.actions or comparison.now.reason):
            yield f"loses auto-merge and does not say why: {comparison}"


def _less_careful(comparisons: list[Comparison]) -> Iterator[str]:
    less = [comparison for comparison in comparisons if comparison.change is Change.LESS]
    known = [(comparison.place.repository, comparison.before.reason) for comparison in less]
    yield from (f"less careful: {each}" for each, key in zip(less, known, strict=True) if key not in LESS_CAREFUL)
    yield from (f"{' '.join(key)}: nothing is less careful" for key in LESS_CAREFUL if key not in known)


def _changed_patches(comparisons: list[Comparison]) -> Iterator[str]:
    patches = (comparison for comparison in comparisons if comparison.place.is_patch and comparison.now.target)
    return (f"a patch is decided in another way: {each}" for each in patches if each.before != each.now)


def _patches_that_differ(decisions: Mapping[Place, Decision]) -> Iterator[str]:
    """Yield the patches that depend on the history."""
    patches: dict[Place, set[Decision]] = defaultdict(set)
    for place, decision in decisions.items():
        if place.is_patch:
            patches[place._replace(mode="")].add(decision)
    yield from (f"{place}: depends on the history" for place, different in patches.items() if len(different) > 1)


def _changes(comparisons: list[Comparison]) -> Iterator[str]:
    changed = (comparison for comparison in comparisons if comparison.change is not Change.SAME)
    return (f"{comparison.change}: {comparison}" for comparison in changed)
