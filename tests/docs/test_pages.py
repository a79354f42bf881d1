"""Every page says first for whom it is, then shows a command, and is short enough to be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
LONGEST = 1200  # Words
REFERENCES = ("docs/reference/", "docs/design.md", "docs/security.md", "docs/troubleshooting.md")
"""Tables, in which a reader looks for one row; and the design, which is for maintainers."""


def text_of(page: str) -> str:
    return re.sub(r"^<!-- .* -->\n+", "", (ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_the_first_sentence_says_for_whom_the_page_is(page: str) -> None:
    assert re.match(r"# [^\n]+\n\nThis page is for you if ", text_of(page))


@pytest.mark.parametrize("page", PAGES)
def test_a_command_or_a_file_comes_before_the_details(page: str) -> None:
    top = re.split(r"^## ", text_of(page), maxsplit=2, flags=re.MULTILINE)
    assert "```" in "".join(top[:2])


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith(REFERENCES)])
def test_a_page_that_is_no_reference_can_be_read_in_a_few_minutes(page: str) -> None:
    assert len(text_of(page).split()) <= LONGEST
