"""Checks that everything outside of some spans of a file is unchanged, without ``edited``."""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.model.text import TextEdit, decoded


def assert_kept_outside(before: bytes, after: bytes, replacements: Iterable[TextEdit]) -> None:
    """Every character of ``before`` outside the spans is in ``after``, in its order, and nothing else is."""
    old, new, at_old, at_new = decoded(before), decoded(after), 0, 0
    for each in sorted(set(replacements)):
        gap = each.start - at_old
        assert gap >= 0, f"{each} overlaps the span before it"
        assert old[at_old : each.start] == new[at_new : at_new + gap], f"a byte changes outside, before {each}"
        assert old[each.start : each.end] == each.old, f"{each} replaces {old[each.start : each.end]!r}"
        at_old, at_new = each.end, at_new + gap + len(each.new)
        assert new[:at_new].endswith(each.new), f"{each} is not made"
    assert old[at_old:] == new[at_new:], "a byte changes outside the spans, after the last one"
