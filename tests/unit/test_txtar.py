"""A case file gives back the very bytes that were put into it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from txtar import Archive, TxtarError, parse, render

MANIFEST = "".join(f"line {number}\n" for number in range(100))
NAMES = some.sampled_from(["args", "before/a.yaml", "after/a.yaml", "b (1).yaml", "c/d-- e --.yaml"])
LINES = some.sampled_from(
    ["", "a: 1", "b:\\x41", "-- a --", "-- args (CRLF) --", " ", "\t", "é", "\u2028", "\x00", "\ufeff"]
)
TEXTS = some.builds(
    lambda lines, end, last: (end.join(lines) + last).encode(),
    some.lists(LINES, max_size=5),
    some.sampled_from(["\n", "\r\n", "\r"]),
    some.sampled_from(["", "\n", "\r\n"]),
)
LONG = some.integers(0, 99).map(lambda number: MANIFEST.replace(f" {number}\n", " -- a --\n").encode())
CONTENTS = TEXTS | LONG | some.binary(max_size=9) | TEXTS.map(lambda text: b"\xef\xbb\xbf" + text)


@given(some.dictionaries(NAMES, CONTENTS))
@example({"before/a.yaml": MANIFEST.encode(), "after/a.yaml": MANIFEST.replace("5", "6").encode()})
@example({"before/a.yaml": MANIFEST.replace("\n", "\r\n").encode(), "after/a.yaml": MANIFEST.encode()})
def test_what_is_rendered_is_parsed_to_the_same_bytes(files: dict[str, bytes]) -> None:
    archive = Archive("What it shows.", files)

    assert parse(render(archive)) == archive


def test_what_differs_from_lines_of_text_is_said_in_the_header() -> None:
    files = {"a": b"\xef\xbb\xbf1\r\n2", "b": b"\xff\\\n", "c": b"-- a --\n", "d": b""}

    assert render(Archive("", files)) == (
        "-- a (byte order mark, CRLF, no final newline) --\n1\n2\n"
        "-- b (escaped) --\n\\xff\\\\\n"
        "-- c (escaped) --\n\\x2d- a --\n"
        "-- d --\n"
    )


def test_a_long_file_is_written_as_what_changes() -> None:
    before, after = MANIFEST.encode(), MANIFEST.replace(" 50\n", " fifty\n").encode()

    assert render(Archive("", {"before/a": before, "after/a": after, "after/b": before})).endswith(
        "-- after/a (patch of before/a) --\n@@ -50,3 +50,3 @@\n line 49\n-line 50\n+line fifty\n line 51\n"
        f"-- after/b --\n{MANIFEST}"
    )


def test_a_reference_may_be_to_a_file_above_or_to_a_shared_one() -> None:
    archive = parse(
        "-- a --\n1\n2\n-- b (same as a) --\n-- c (patch of a) --\n@@ -2 +2 @@\n-2\n+3\n-- d (same as v2.8.7.yaml) --\n"
    )

    assert archive.text("b") == "1\n2\n"
    assert archive.text("c") == "1\n3\n"
    assert "# Flux Version: v2.8.7\n" in archive.text("d")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- a --\n-- a --\n", "a: stands there twice"),
        (
            "-- a (same as none.yaml) --\n",
            "a: refers to none.yaml, which is neither above it nor in manifests/",
        ),
        ("-- a --\n1\n-- b (same as a) --\n2\n", "b: is the same as a, but has lines of its own"),
        (
            "-- a --\n1\n-- b (patch of a) --\n@@ -1 +1 @@\n-2\n+3\n",
            "b: line 1 of what the patch is of is not '2\\n'",
        ),
        ("-- a --\n1\n-- b (patch of a) --\n3\n", "b: '3\\n' is no line of a unified diff"),
    ],
)
def test_what_is_not_in_the_format_is_refused(text: str, message: str) -> None:
    with pytest.raises(TxtarError, match=f"^{re.escape(message)}$"):
        parse(text)
