"""Comparison of two judgements of a repository, of which the second is made with less knowledge."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from healthy.carefulness import Rank, rank
from healthy.decisions import Decision
from knowledge.judgement import Judgement, Pair
from knowledge.pieces import Variant


class Rule(StrEnum):
    LESS_CAREFUL = "less careful"
    HELD = "held for what costs an action"
    PAIR_GONE = "a pair is gone, and nothing says why"
    FINDING_GONE = "a finding is gone, and nothing says why"


class Problem(NamedTuple):
    rule: Rule
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


def problems(before: Judgement, now: Judgement, variant: Variant, *, costs_an_action: bool) -> Iterator[Problem]:
    """Yield where less knowledge leads to less care, or hides something without a word.

    ``costs_an_action``: less knowledge holds nothing.
    """
    is_named = _is_named(before, now, variant)
    for pair, decision in before.decisions.items():
        later = _later(pair, before.paths.get(pair, ""), now, variant)
        if later is None:
            if not (is_named or _has_step(pair, now) or _is_held(pair, now)):
                yield Problem(Rule.PAIR_GONE, f"{pair}: {decision}")
        elif care(later) < care(decision):
            yield Problem(Rule.LESS_CAREFUL, f"{pair}: {decision} → {later}")
        elif costs_an_action and rank(later) > max(rank(decision), Rank.READY_WITH_ACTION):
            yield Problem(Rule.HELD, f"{pair}: {decision} → {later}")
    if is_named or any(_is_held(pair, now) for pair in before.decisions):
        return
    for place, count in before.findings.items():
        moved = place._replace(path=place.path.replace(*variant.renamed, 1)) if variant.renamed[0] else place
        if max(now.findings.get(place, 0), now.findings.get(moved, 0)) < count:
            yield Problem(Rule.FINDING_GONE, str(place))


def care(decision: Decision) -> tuple[Rank, bool]:
    """Return how careful a decision is: its rank, then whether a user has to merge it."""
    return rank(decision), not decision.merges


def _later(pair: Pair, path: str, now: Judgement, variant: Variant) -> Decision | None:
    """Return the decision about the same upgrade: the cluster may have another name now, and its name may be another's."""
    old, new = variant.renamed
    path = path.replace(old, new, 1) if old else path
    same = [other for other in now.decisions if path and other[1:] == pair[1:] and now.paths.get(other) == path]
    return now.decisions.get(pair if pair in same else next(iter(same), pair))


def _is_named(before: Judgement, now: Judgement, variant: Variant) -> bool:
    """Return whether the judgement names a file that the variant hides, as unknown or in a finding that is new."""
    texts = (*now.unknowns, *(place.path for place in now.findings.keys() - before.findings.keys()))
    return any(path in text for text in texts for path in variant.hidden)


def _is_held(pair: Pair, now: Judgement) -> bool:
    """Return whether a cluster is held at every release: nothing is looked for then."""
    later = (decision for other, decision in now.decisions.items() if other.name == pair.name and not other.target)
    return any(rank(decision) >= Rank.HELD for decision in later)


def _has_step(pair: Pair, now: Judgement) -> bool:
    """Return whether a cluster goes to an older release than before, which is more careful."""
    return any(other[:2] == pair[:2] and other.target and other.target < pair.target for other in now.decisions)
