"""Mutated real files: a verdict or one clear error, never a traceback, never a silent loss."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conformance.real_files import members, regenerator_of, rows, tell
from mutation import mutate, survive

pytestmark = pytest.mark.real_part("shared data")


def test_mutated_real_files(conformance: Path, releases: Path) -> None:
    dice = random.Random(20)  # noqa: S311 no secret
    regenerator = regenerator_of(releases)
    index = rows(conformance / "wild.jsonl")
    named = [row["file"] for row in index if str(row["header_version"] or "").startswith("v2.")]
    wanted = set(dice.sample(named, 20)) | set(dice.sample([row["file"] for row in index], 20))
    count = 0
    for _, content in members(conformance / "wild.tar.xz", wanted):
        for _ in range(3):
            text = content.decode("utf-8", "replace")
            for _ in range(dice.randrange(1, 4)):
                text = mutate(text, dice) or "---\n"
            survive(text, regenerator)
            count += 1
    tell(f"fuzz: {count} mutations of {len(wanted)} real files, no traceback, no silent loss")
    assert count >= 100
