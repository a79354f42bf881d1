"""Less knowledge never leads to less care: each piece of knowledge is taken away from many repositories."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge.repositories import Source, cases, real, written
from knowledge.taking import Taker

pytestmark = pytest.mark.real_part("shared data")

_SEED = 20
_SAMPLES = ((cases, 24, 8), (written, 3, 4), (real, 1, 1))
"""Origins of repositories, their numbers in a sample, and how often a piece is taken from each in a whole run."""


def test_less_knowledge_leads_to_no_less_care(
    request: pytest.FixtureRequest, tmp_path: Path, written_source: Path
) -> None:
    is_whole = bool(request.config.getoption("--all-knowledge"))
    taker = Taker(_SEED)
    for number, (source, most) in enumerate(_sources(is_whole=is_whole)):
        folder = tmp_path / str(number)
        folder.mkdir()
        taker.take(source, folder, written_source, most)
        shutil.rmtree(folder)
    problems = list(taker.tally.problems)
    if is_whole:
        problems += [f"{piece} changes no decision" for piece in taker.silent]
        problems += [f"the exception is not used: {exemption.reason}" for exemption in taker.unused]
    assert not problems, "\n".join([*problems, str(taker.tally)])


def _sources(*, is_whole: bool) -> Iterator[tuple[Source, int]]:
    """Yield repositories, each with the most variants of a piece."""
    chosen = random.Random(_SEED)  # noqa: S311 (a sample)
    for find, count, most in _SAMPLES:
        sources = find()
        for source in sources if is_whole else chosen.sample(sources, count):
            yield source, most if is_whole else 1
