"""A run of the property: what each piece of knowledge changes in each repository."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from knowledge.comparison import Problem, problems
from knowledge.exceptions import Exemption, exemptions
from knowledge.hidden_states import COSTS_AN_ACTION, Taking, takings
from knowledge.judgement import Judgement, judge
from knowledge.pieces import Variant
from knowledge.repositories import Repository, Source

_FAILED = "failed"


@dataclass
class Tally:
    """The results of a run."""

    repositories: int = 0
    variants: Counter[str] = field(default_factory=Counter)  # By piece
    decisions: int = 0  # Number of comparisons
    moving: Counter[str] = field(default_factory=Counter)  # Variants that change a decision, by piece
    used: Counter[Exemption] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        total = f"{self.repositories} repositories, {self.variants.total()} variants, {self.decisions} decisions"
        rows = (f"{piece:32}{count:6}{self.moving[piece]:6}" for piece, count in sorted(self.variants.items()))
        return "\n".join([total, *rows])


class Taker:
    """Takes knowledge away, and compares."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 (a sample)
        self._pieces, self._exemptions = takings(), exemptions()
        self.tally = Tally()

    @property
    def silent(self) -> list[str]:
        """The names of the pieces that changed no decision."""
        return [piece for piece in self._pieces if not self.tally.moving[piece]]

    @property
    def unused(self) -> list[Exemption]:
        return [exemption for exemption in self._exemptions if not self.tally.used[exemption]]

    def take(self, source: Source, folder: Path, releases: Path, most: int) -> None:
        """Take each piece away from a repository, as one of its variants after the other, up to ``most``."""
        with source.staged(folder, releases) as repository:
            before = judge(repository)
            if any(decision.state == _FAILED for decision in before["plan"].decisions.values()):
                return  # Arguments or settings are wrong
            self.tally.repositories += 1
            for piece, take in self._pieces.items():
                for variant in self._sample(take, repository, most):
                    self._compare(piece, variant, repository, before)

    def _sample(self, take: Taking, repository: Repository, most: int) -> Iterator[Variant]:
        """Yield some of the variants, one after the other: they may be large."""
        count = sum(1 for _ in take(repository))
        chosen = {*self._random.sample(range(count), min(count, most))}
        return (variant for index, variant in enumerate(take(repository)) if index in chosen)

    def _compare(self, piece: str, variant: Variant, repository: Repository, before: Mapping[str, Judgement]) -> None:
        root = repository.others.get(variant.mode, repository.root)
        lacking = replace(repository, root=root, argv=(*repository.argv, *variant.argv))
        with repository.changed(variant.files) if variant.files else contextlib.nullcontext():
            now = judge(lacking)
        self.tally.variants[piece] += 1
        self.tally.moving[piece] += any(now[command].decisions != known.decisions for command, known in before.items())
        for command, known in before.items():
            self.tally.decisions += len(known.decisions)
            for problem in problems(known, now[command], variant, costs_an_action=piece in COSTS_AN_ACTION):
                self._note(piece, variant, repository, command, problem)

    def _note(self, piece: str, variant: Variant, repository: Repository, command: str, problem: Problem) -> None:
        covering = [each for each in self._exemptions if each.covers(piece, repository.name, command, problem)]
        self.tally.used.update(covering)
        if not covering:
            self.tally.problems.append(f"{repository.name} | {piece} {variant.hidden[0]} | {command} | {problem}")
