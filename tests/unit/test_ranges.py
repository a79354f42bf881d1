"""Directories and empty values are understood in the spellings that people use."""

from __future__ import annotations

import pytest

from flux_upgrade.pins.formats.ranges import folder_of, is_nothing
from flux_upgrade.snapshot.yaml_places import Value


@pytest.mark.parametrize(
    ("written", "folder"),
    [
        ("clusters/a", "clusters/a"),
        ("./clusters/a/", "clusters/a"),
        ("/clusters//a", "clusters/a"),
        ("clusters/b/../a", "clusters/a"),
        ("./", ""),
        (".", ""),
        ("/", ""),
        (".flux/a", ".flux/a"),
        ("../other", None),
        ("clusters/${NAME}", None),
        ("", None),
    ],
)
def test_a_folder_is_cleaned(written: str, folder: str | None) -> None:
    assert folder_of(Value(written, 0, len(written), 1)) == folder


def test_a_directory_that_is_not_given_or_is_an_alias_is_unknown() -> None:
    assert folder_of(None) is None
    assert folder_of(Value("clusters/a", 0, 10, 1, reason="an alias")) is None


@pytest.mark.parametrize("text", ["", "~", "null"])
def test_nothing_is_given_by_null(text: str) -> None:
    assert is_nothing(Value(text, 0, len(text), 1))


def test_a_value_is_something() -> None:
    assert is_nothing(None)
    assert not is_nothing(Value("v2.8.8", 0, 6, 1))
    assert not is_nothing(Value("", 0, 0, 1, reason="an alias"))
