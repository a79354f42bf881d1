"""Texts for users avoid the words of ``words.toml``: what is left of them becomes less, and never more."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("words.toml")
_LINE = re.compile(r'^("(?P<word>[^"]+)") = \d+$', re.MULTILINE)


def texts() -> Iterator[str]:
    """README, documentation, the Action's description, examples, and pull requests as goldens have them."""
    yield from ((ROOT / name).read_text() for name in ("README.md", "action.yml"))
    for pattern in (
        "docs/**/*.md",
        "examples/*",
        "tests/pull_requests/*.txtar",
        "tests/bootstrap/pull_requests/*.txtar",
    ):
        yield from (path.read_text() for path in sorted(ROOT.glob(pattern)) if path.name != "design.md")


def test_what_is_left_of_each_word_becomes_less(*, update_golden: bool) -> None:
    whole = "\n".join(texts()).lower()
    left: dict[str, int] = tomllib.loads(TABLE.read_text())["words"]
    found = {word: len(re.findall(rf"\b{re.escape(word)}\b", whole)) for word in left}
    more = {word: count for word, count in found.items() if count > left[word]}
    assert not more, f"write these in other words: {more}"
    if update_golden:
        TABLE.write_text(_LINE.sub(lambda line: f"{line[1]} = {found[line['word']]}", TABLE.read_text()))
        return
    assert found == left, "fewer are left: run this test with --update-golden"
