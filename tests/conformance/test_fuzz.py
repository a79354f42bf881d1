"""A mutated real file has a verdict or one clear error: never a traceback, never a silent loss."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.real_files import members, regenerator_of, rows
from flux_upgrade.pins.regenerate import Regenerator
from mutation import mutate, survive

pytestmark = pytest.mark.real_part("shared data")

SAMPLED = 20


@pytest.fixture(scope="module")
def regenerator(releases: Path) -> Regenerator:
    return regenerator_of(releases)


@pytest.fixture(scope="module")
def texts(conformance: Path) -> list[str]:
    """Some files of Flux 2, and as many of any version."""
    index = rows(conformance / "wild.jsonl")
    of_flux_2 = [row["file"] for row in index if str(row["header_version"] or "").startswith("v2.")]
    dice = random.Random(20)  # noqa: S311 no secret
    wanted = {*dice.sample(of_flux_2, SAMPLED), *dice.sample([row["file"] for row in index], SAMPLED)}
    return [content.decode("utf-8", "replace") for _, content in members(conformance / "wild.tar.xz", wanted)]


@given(st.randoms(use_true_random=False))
def test_mutated_real_files(texts: list[str], regenerator: Regenerator, dice: random.Random) -> None:
    text = dice.choice(texts)
    for _ in range(dice.randrange(1, 4)):
        text = mutate(text, dice) or "---\n"
    survive(text, regenerator)
