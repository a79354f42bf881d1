"""Enough files of our own test each kind of version reference."""

from __future__ import annotations

from collections import Counter

from conformance.real_files import tell
from flux_upgrade.pins.registry import PIN_KINDS
from kind_cases import PATHS, read


def test_the_corpus_that_we_wrote() -> None:
    contents = {(case.kind, content) for case in map(read, PATHS) for content in case.before.values()}
    counted = Counter(kind for kind, _ in contents)
    numbers = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.items()))
    tell(f"corpus: {counted.total()} different files that we wrote: {numbers}")

    assert counted.total() >= 60
    assert all(counted[kind.name] >= 8 for kind in PIN_KINDS)
