"""The tests evaluate GitHub's expressions as GitHub does, and refuse all others."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.example_jobs import evaluated

CONTEXTS: dict[str, Any] = {
    "github": {"event_name": "push", "event": {"created": True, "forced": False}},
    "inputs": {"name": "infra"},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("${{ inputs.name }}", "infra"),
        ("a/${{ inputs.name }}/${{ github.event.created }}", "a/infra/true"),
        ("${{ github.event_name == 'push' }}", True),
        ("${{ github.event_name == 'schedule' || github.event.created }}", True),
        ("${{ !github.event.created || !github.event.forced && 'x' == 'x' }}", True),
        ("${{ !(github.event.created || github.event.forced) }}", False),
        ("${{ github.event_name != 'push' || startsWith(inputs.name, 'INF') }}", True),
        ("${{ startsWith(inputs.name, 'fra') }}", False),
    ],
)
def test_an_expression(text: str, value: object) -> None:
    assert evaluated(text, CONTEXTS) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${{ a ? b }}", "no part of an expression"),
        ("${{ 'a' 'b' }}", "goes on after its end"),
        ("${{ ('a' }}", "not closed"),
        ("${{ startsWith('a') }}", "lacks"),
    ],
)
def test_what_is_no_expression(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluated(text, {"a": 1, "b": 2})


def test_what_is_in_no_context() -> None:
    with pytest.raises(KeyError):
        evaluated("${{ github.actor }}", CONTEXTS)
