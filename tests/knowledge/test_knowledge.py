"""Less knowledge never leads to less care: each piece of knowledge is taken away from many repositories."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from knowledge.repositories import Source, cases, real, written
from knowledge.taking import Taker

pytestmark = pytest.mark.real_part("shared data")

_SEED = 20
_SAMPLES = ((cases, 24), (written, 3), (real, 1))
"""Origins of repositories, and their numbers in a sample."""
_MOST = 100
"""Ways to take a piece away from a repository, in a whole run."""


def test_less_knowledge_leads_to_no_less_care(
    request: pytest.FixtureRequest, tmp_path: Path, written_source: Path
) -> None:
    is_whole = bool(request.config.getoption("--all-knowledge"))
    taker = Taker(_SEED, most=_MOST if is_whole else 1)
    for number, source in enumerate(_sources(is_whole=is_whole)):
        folder = tmp_path / str(number)
        folder.mkdir()
        taker.take(source, folder, written_source)
        shutil.rmtree(folder)
    problems = list(taker.tally.problems)
    if is_whole:
        problems += [f"{piece} changes no decision" for piece in taker.silent]
        problems += [f"the exception is not used: {exemption.reason}" for exemption in taker.unused]
    assert not problems, "\n".join([*problems, str(taker.tally)])


def _sources(*, is_whole: bool) -> Sequence[Source]:
    chosen = random.Random(_SEED)  # noqa: S311 (a sample)
    every = [(find(), count) for find, count in _SAMPLES]
    return [
        source
        for all_sources, count in every
        for source in (all_sources if is_whole else chosen.sample(all_sources, count))
    ]
