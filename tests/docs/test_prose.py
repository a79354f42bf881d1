"""What counts as a sentence, as a word of it, and as a text of a module."""

from __future__ import annotations

import pytest

from prose import messages, sentences, words

SPLIT = {
    "One. Two! Three? Four": ["One.", "Two!", "Three?", "Four"],
    "A line\nthat goes on.\n\nAnother.": ["A line that goes on.", "Another."],
    "Upgrade to v2.9.4 and 2.10, e.g. with a flag.": ["Upgrade to v2.9.4 and 2.10, e.g. with a flag."],
    "**Bold.** *Other.* (In brackets.) [A link](a.md).": ["**Bold.**", "*Other.*", "(In brackets.)", "A link."],
    "- An item\n  of two lines\n- Another": ["An item of two lines", "Another"],
    "1. First.\n2. Second.": ["First.", "Second."],
    "- [ ] Tick me": ["Tick me"],
    "> Quoted\n> text.\n>\n> More.": ["Quoted text.", "More."],
    "Above.\n# Heading\nBelow.": ["Above.", "Below."],
    "Above.\n\n| A cell. | Another |\n| --- | --- |\n\nBelow.": ["Above.", "Below."],
    "Above:\n```yaml\nkey: A sentence. Or two.\n```\nBelow.": ["Above:", "Below."],
    "> ```\n> code\n> ```\n> Text.": ["Text."],
    "A <!-- hidden. Text --> sentence.": ["A  sentence."],
    "<details><summary>More</summary>": ["More"],
    "Run `a. B`. Then wait.": ["Run \N{NUMERO SIGN}.", "Then wait."],
    "": [],
}


@pytest.mark.parametrize("markdown", SPLIT)
def test_a_sentence_ends_where_its_text_does(markdown: str) -> None:
    assert list(sentences(markdown)) == SPLIT[markdown]


@pytest.mark.parametrize(
    ("markdown", "number"),
    [
        ("Three plain words.", 3),
        ("One → two - three · four", 4),
        ("Run `flux-upgrade plan --json` now.", 3),
        ("One of `a`, `b`, `c` and `d`.", 3),
        ("See [two words](https://host/a/long/path.md).", 3),
        ("At https://host/path it is.", 4),
        ("don't count-twice", 2),
    ],
)
def test_a_word_is_what_a_reader_reads(markdown: str, number: int) -> None:
    (sentence,) = sentences(markdown)
    assert words(sentence) == number


def test_a_text_of_a_module_is_neither_docstring_nor_pattern_nor_part_of_another() -> None:
    source = '''
"""A docstring of it."""
import re
PATTERN = re.compile("a pattern of it")
SHORT = "word"
def f(x):
    """Another docstring."""
    raise Error(f"{x} is not " "a number", hint="write a number" if x else "")
'''
    assert sorted(messages(source)) == ["write a number", "\N{NUMERO SIGN} is not a number"]
