"""A sentence begins with a capital; a path, a name or code in its place keeps its case."""

from __future__ import annotations

import pytest

from flux_upgrade.model.text import capitalized


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("set it first", "Set it first"),
        ("first, set it", "First, set it"),
        ("deploy/main.tf:9: set it", "deploy/main.tf:9: set it"),
        ("main.tf: set it", "main.tf: set it"),
        ("source-controller runs", "source-controller runs"),
        ("`flux migrate` ran", "`flux migrate` ran"),
        ("spec.prune is gone", "spec.prune is gone"),
        ("", ""),
    ],
)
def test_only_a_word_gets_a_capital(text: str, expected: str) -> None:
    assert capitalized(text) == expected
