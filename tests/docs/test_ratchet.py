"""A number of a table never rises, and follows when fewer are left."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet import limits, ratchet

TEXT = '# A comment.\n\n[pages]\n"anew" = 2\n"mend" = 30\n\n[other]\n"anew" = 1\n'


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "words.toml"
    path.write_text(TEXT)
    return path


def test_a_number_that_stays_is_fine_and_nothing_is_written(table: Path) -> None:
    ratchet(table, "pages", {"anew": 2, "mend": 30}, update_golden=False)
    assert table.read_text() == TEXT


@pytest.mark.parametrize("update_golden", [False, True])
@pytest.mark.parametrize("slack", [0, 25])
def test_a_number_that_rises_fails_whatever_falls(table: Path, *, update_golden: bool, slack: int) -> None:
    places = {"anew": [f"a.py:{line}" for line in range(1, 21)], "mend": ["b.py:1"]}
    with pytest.raises(AssertionError, match=r"write these in other words: \{'anew': 3\}") as raised:
        ratchet(table, "pages", {"anew": 3, "mend": 1}, update_golden=update_golden, slack=slack, places=places)
    assert "anew (2 → 3): a.py:1, a.py:2, " in str(raised.value)
    assert "a.py:10" in str(raised.value)
    assert "a.py:11" not in str(raised.value)
    assert "b.py" not in str(raised.value)
    assert table.read_text() == TEXT


def test_a_row_that_is_not_listed_has_a_limit_of_0(table: Path) -> None:
    with pytest.raises(AssertionError, match=r"write these in other words: \{'hop': 1\}"):
        ratchet(table, "pages", {"anew": 2, "mend": 30, "hop": 1}, update_golden=True)


@pytest.mark.parametrize("counts", [{"anew": 1, "mend": 30}, {"anew": 2}])
def test_a_number_that_falls_fails_until_the_table_is_lowered(table: Path, counts: dict[str, int]) -> None:
    with pytest.raises(AssertionError, match="fewer are left: run this test with --update-golden"):
        ratchet(table, "pages", counts, update_golden=False)
    ratchet(table, "pages", counts, update_golden=True)
    assert limits(table, "pages") == counts
    assert limits(table, "other") == {"anew": 1}
    assert table.read_text().startswith("# A comment.\n\n[pages]\n")
    ratchet(table, "pages", counts, update_golden=False)


def test_with_slack_a_small_fall_is_fine_and_a_large_one_fails(table: Path) -> None:
    ratchet(table, "pages", {"anew": 1, "mend": 7}, update_golden=False, slack=25)
    with pytest.raises(AssertionError, match="fewer are left"):
        ratchet(table, "pages", {"anew": 0, "mend": 7}, update_golden=False, slack=25)
    ratchet(table, "pages", {"anew": 1, "mend": 7}, update_golden=True, slack=25)
    assert limits(table, "pages") == {"anew": 1, "mend": 7}
