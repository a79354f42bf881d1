"""Comments, docstrings and names: what ``words.toml`` counts, and that it becomes less."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest

from english_inside import Kind, Places, Text, merge, name_places, opening_places, parse, word_places
from ratchet import limits, ratchet

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("words.toml")
AREAS = {"src": ("src",), "elsewhere": ("bench", "demo", "docs", "tests")}
SLACK = 25  # A table follows once its numbers fell by so much

SOURCE = '''
"""It is the module's docstring."""

import os as own  # It is renamed, somebody said
# Where a block
# gives
# way

LIMIT = 3  # noqa: S105, X1 (what it limits)
"""What is a field's docstring, and nobody is in `nobody`."""
TEXT = "# Of a string"  # (who sees it)


class Outer:
    """Whoever is a class."""

    given: int = 3
    """A noun."""

    def told(self, found: int, /) -> int:
        """The result, told anew."""

        def nested() -> None:
            """Return nothing.

            Told twice: told.
            """

        return [each for each in ()]

    async def of(self) -> None:
        """Count of runs."""

    @property
    def size(self) -> int:
        """The size."""

    @own.cached_property
    def width(self) -> int:
        """Its width."""


def is_wide() -> bool:
    """Whether it is wide."""
    for each in ():
        found, (*what, at) = each
    pairs = {
        each: mine
        for each, mine in ()
    }
    match pairs:
        case {"key": given, **where}:
            pass
    with open() as its, open() as self.stated:
        (found := 3)
    try:
        pass
    except OSError as own:
        pass
    return lambda each: {each for each, at in ()}
'''


def written(source: str = SOURCE) -> list[Text]:
    return parse(source).texts


def lines_of(places: Places) -> dict[str, list[int]]:
    return {key: sorted(lines) for key, lines in places.items() if lines}


def test_comments_on_successive_lines_are_one_text_without_its_directive() -> None:
    assert [(text.line, text.text) for text in written() if text.kind is Kind.COMMENT] == [
        (4, "It is renamed, somebody said"),
        (5, "Where a block gives way"),
        (9, "what it limits)"),
        (11, "(who sees it)"),
    ]


def test_comments_at_different_depths_are_two() -> None:
    source = "if True:\n    # One\n    # text\n    pass\n    # Last\n# Another\n\n# Third\nx = 1  # Fourth\n# Fifth\n"
    assert [(text.line, text.text) for text in written(source)] == [
        (2, "One text"),
        (5, "Last"),
        (6, "Another"),
        (8, "Third"),
        (9, "Fourth"),
        (10, "Fifth"),
    ]


@pytest.mark.parametrize(
    ("comment", "text"),
    [
        ("# late: few runs need it", "few runs need it"),
        ("# noqa: S603  (ours)", "ours)"),
        ("# type: ignore[name]  # noqa: E402 of a kind", "of a kind"),
        ("# fmt: skip", ""),
        ("#: Note", ": Note"),
    ],
)
def test_a_directive_is_not_part_of_its_comment(comment: str, text: str) -> None:
    assert [each.text for each in written(f"x = 1  {comment}\n")] == [text]


def test_docstrings_are_those_of_modules_classes_fields_and_functions() -> None:
    docstrings = {text.text: text.kind for text in written() if text.kind is not Kind.COMMENT}
    assert docstrings == {
        "It is the module's docstring.": Kind.NOUN,
        "What is a field's docstring, and nobody is in `nobody`.": Kind.NOUN,
        "Whoever is a class.": Kind.NOUN,
        "A noun.": Kind.NOUN,
        "The size.": Kind.NOUN,
        "Its width.": Kind.NOUN,
        "The result, told anew.": Kind.FUNCTION,
        "Return nothing. Told twice: told.": Kind.FUNCTION,
        "Count of runs.": Kind.FUNCTION,
        "Whether it is wide.": Kind.FUNCTION,
    }


def test_a_word_counts_in_comments_and_docstrings_and_not_in_code() -> None:
    wanted = ("told", "anew", "gives way", "nobody", "somebody", "string", "tol")
    assert lines_of(word_places(written(), wanted)) == {
        "told": [21, 24, 24],
        "anew": [21],
        "gives way": [5],
        "nobody": [10],
        "somebody": [4],
    }


def test_openings_are_docstrings_without_a_verb_and_texts_that_open_with_a_pronoun() -> None:
    assert lines_of(opening_places(written())) == {"no-verb": [21, 32], "pronoun": [2, 4, 5, 9, 10, 11, 15, 40]}


@pytest.mark.parametrize(
    ("docstring", "is_imperative"),
    [
        ("Return it.", True),
        ("Whether it is.", True),
        ("Open, and close.", True),
        ("Returns it.", False),
        ("Plan of a cluster.", False),
        ("Group → its entries.", False),
        ("Plan a cluster.", True),
        ("What it returns.", False),
        ("``plan`` a cluster.", False),
        ("", False),
    ],
)
def test_a_docstring_of_a_function_begins_with_a_verb(docstring: str, is_imperative: bool) -> None:  # noqa: FBT001
    source = f'def f():\n    """{docstring}"""\n'
    assert lines_of(opening_places(written(source))) == ({} if is_imperative else {"no-verb": [2]})


def test_a_name_counts_where_it_is_bound() -> None:
    wanted = ("each", "found", "what", "own", "where", "at", "given", "of", "of()", "stated", "mine", "its", "told")
    assert lines_of(name_places(parse(SOURCE).nodes, (*wanted, "size()", "self"))) == {
        "each": [45, 49, 60],
        "found": [20, 46, 55],
        "what": [46],
        "own": [4, 58],
        "where": [52],
        "at": [46, 60],
        "given": [17, 52],
        "of": [31],
        "of()": [31],
        "stated": [54],
        "mine": [49],
        "its": [54],
        "told": [20],
        "self": [20, 31, 35, 39],
        "size()": [35],
    }


def test_places_have_the_path_of_their_module() -> None:
    assert merge([("a.py", {"own": [1, 2], "at": []}), ("b.py", {"own": [3]})]) == {
        "own": ["a.py:1", "a.py:2", "b.py:3"],
        "at": [],
    }


def test_comments_are_those_that_python_sees() -> None:
    source = Path(__file__).read_text(encoding="utf-8") + "\n".join(
        [
            r'x = r"\"# no"  # Yes: é',
            r"""y = f"{x!r:#x} #" '#' "\\"  # Yes: after a backslash""",
            r"""z = '''""" + '"""',
            r"""# no \''' # no""",
            r"""'''  # Yes: after a long string""",
        ]
    )
    tokens = [
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    assert len(tokens) >= 3
    assert [text.line for text in written(source) if text.kind is Kind.COMMENT] == tokens


@pytest.mark.parametrize("area", AREAS)
def test_what_is_left_of_words_openings_and_names_becomes_less(area: str, *, update_golden: bool) -> None:
    paths = [path for folder in AREAS[area] for path in sorted((ROOT / folder).rglob("*.py"))]
    paths.sort(key=lambda path: path.stat().st_mtime, reverse=True)  # Newest first: likely the cause of a rise
    wanted = {kind: list(limits(TABLE, f"{kind}-{area}")) for kind in ("comments", "openings", "names")}
    read: dict[str, list[tuple[str, Places]]] = {kind: [] for kind in wanted}
    for path in paths:
        name, source = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        module = parse(source)
        read["comments"].append((name, word_places(module.texts, wanted["comments"])))
        read["openings"].append((name, opening_places(module.texts)))
        read["names"].append((name, name_places(module.nodes, wanted["names"])))
    for kind, by_path in read.items():
        places = merge(by_path)
        counts = {key: len(places[key]) for key in wanted[kind]}
        ratchet(TABLE, f"{kind}-{area}", counts, update_golden=update_golden, slack=SLACK, places=places)


def test_comments_avoid_the_words_of_pages_and_some_more() -> None:
    pages = list(limits(TABLE, "pages"))
    assert list(limits(TABLE, "comments-src"))[: len(pages)] == pages


@pytest.mark.parametrize("kind", ["comments", "openings", "names"])
def test_all_python_files_avoid_the_same(kind: str) -> None:
    assert list(limits(TABLE, f"{kind}-src")) == list(limits(TABLE, f"{kind}-elsewhere"))
