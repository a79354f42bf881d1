"""Texts for users avoid the words of ``words.toml`` and long sentences: what is left becomes less, and never more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from prose import messages, sentences, words
from ratchet import limits, ratchet

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("words.toml")
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md")
SCHEMAS = tuple(f"docs/reference/{each}.schema.json" for each in ("api-uses", "bootstrap", "inspect", "plan", "report"))
PULL_REQUESTS = ("tests/pull_requests/*.txtar", "tests/bootstrap/pull_requests/*.txtar")
LONGEST = 25  # Words in a sentence
NAME = re.compile(r"(?<!`)`[^`\n]+`(?!`)")  # In a page, code in a line: the program and others chose the word


def read(*patterns: str) -> dict[str, str]:
    """Path → text. design.md is for maintainers."""
    found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern)) if path.name != "design.md"]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in found}


@cache
def said_by_modules() -> dict[str, tuple[str, ...]]:
    """Module → its texts, of which some reach users as messages, holds, reports, help or pull requests."""
    return {path: tuple(messages(source)) for path, source in read("src/**/*.py").items()}


def descriptions(schema: Any) -> Iterator[str]:
    """Whatever a schema says of its fields, as editors and generated pages show it."""
    if isinstance(schema, dict):
        if isinstance(text := schema.get("description"), str):
            yield text
        schema = list(schema.values())
    for each in schema if isinstance(schema, list) else ():
        yield from descriptions(each)


def described() -> dict[str, tuple[str, ...]]:
    """Schema → its descriptions; that of the config file has the texts of a module."""
    return {path: tuple(descriptions(json.loads(text))) for path, text in read(*SCHEMAS).items()}


def count(texts: Iterable[str], wanted: Iterable[str]) -> dict[str, int]:
    whole = "\n".join(texts).lower()
    return {word: len(re.findall(rf"\b{re.escape(word)}\b", whole)) for word in wanted}


def too_long(texts: Iterable[str]) -> list[str]:
    return [sentence for text in texts for sentence in sentences(text) if words(sentence) > LONGEST]


def long_sentences() -> dict[str, list[str]]:
    """Path → sentences of more than 25 words. The body of a pull request ends where the next file begins."""
    texts = {path: (text,) for path, text in read(*PAGES).items()}
    for path, text in read(*PULL_REQUESTS).items():
        texts[path] = tuple(re.findall(r"^-- \S+\.md --\n(.*?)(?=^-- \S+ --$|\Z)", text, re.DOTALL | re.MULTILINE))
    found = {path: too_long(each) for path, each in (texts | described() | said_by_modules()).items()}
    return {path: sorted(long) for path, long in found.items() if long}


def test_what_is_left_of_each_word_in_pages_becomes_less(*, update_golden: bool) -> None:
    read_pages = read("action.yml", "examples/*", *PAGES, *PULL_REQUESTS).values()
    texts = [NAME.sub("", text) for text in (*read_pages, *(text for each in described().values() for text in each))]
    avoided = limits(TABLE, "pages")
    ratchet(TABLE, "pages", count(texts, avoided), update_golden=update_golden)


def test_what_is_left_of_each_word_in_messages_becomes_less(*, update_golden: bool) -> None:
    texts = [text for each in said_by_modules().values() for text in each]
    avoided = limits(TABLE, "messages")
    ratchet(TABLE, "messages", count(texts, avoided), update_golden=update_golden)


def test_pages_and_messages_avoid_the_same_words() -> None:
    assert list(limits(TABLE, "pages")) == list(limits(TABLE, "messages"))


def test_what_is_left_of_long_sentences_becomes_less(*, update_golden: bool) -> None:
    found = {path: len(long) for path, long in long_sentences().items()}
    ratchet(TABLE, "sentences-of-more-than-25-words", found, update_golden=update_golden)
