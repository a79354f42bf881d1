"""The text of a scalar leads back to its place in the file, in whatever style it is written."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.manifests.nodes import MappingNode, ScalarNode
from flux_upgrade.snapshot.passages import Passage, stated, whole
from flux_upgrade.snapshot.yaml_places import documents

words = st.text(st.sampled_from("ab/:'\"\\#-{}é€😀 \u00a0"), min_size=1, max_size=8)
texts = st.lists(st.one_of(words, st.sampled_from(["", "  ", "\t"])), max_size=6).map("\n".join)
STYLES = ("|", ">", '"', "'", None)


def _within(text: str) -> tuple[str, Passage | None]:
    """The value at the key ``a`` of a file's only document, and its passage."""
    (document,) = documents(whole(text))
    assert isinstance(document.root, MappingNode)
    (node,) = (value for key, value in document.root.value if key.value == "a")
    assert isinstance(node, ScalarNode)
    return node.value, document.passage.within(document.begin, node)


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  x: 1\n  y: 2\n",
        "a: |-\n  x: 1\n\n  y: 2\n\n# c\n",
        "a: |+\n  x: 1\n\n  y: 2\n\n\nb: 1\n",
        "a: |2\n    x\n   y\n",
        "z:\n  - 1\na: |1-\n   x\n  y\n",
        "a: | # why\n  x\n",
        "a: |\n\n\n  x\n",
        "a: |\n  \n   \n",
        "a: |\nb: 1\n",
        "a: |\n  x",
        "a: |\r\n  x: 1\r\n\r\n  y: 2\r\nb: 1\r\n",
        "a: >\n  x y\n  z\n\n  w\n    more\n    more2\n  less\n",
        "a: >-\n  x\n\n\n  y\n",
        "a: >+\n\n  x\n  y\n\n",
        "a: >\n    x\n      y\n\n      z\n\n    w\n    v\n",
        "a: >1\n   x\n  y\n z\n w\n",
        "a: >\n  x \n  y\n",
        "a: >\r\n  x: 1\r\n  y: 2\r\n\r\n  z\r\nb: 1\r\n",
        'a: "x\\ny: \\"2\\"\\x2f\\u002f\\U0000002f\\/\\\n  zz\\t\\e"\n',
        'a: "x\n\n  y  \n  z\\  \n w"\n',
        'a: "x\\\r\n  y\r\n  z"\r\n',
        "a: 'x''y\n  z\n\n  w'\n",
        "a: ''\n",
        "a: x\n  y\n\n  z\nb: 1\n",
        "a: &p |\n  x\n",
        "a: !!str &p >-\n  x\n  y\n",
        "# é😀\n---\n\ufeffa: |\n  é😀\n  x\n",
    ],
)
def test_each_character_comes_from_where_it_stands(text: str) -> None:
    value, passage = _within(text)
    assert passage is not None
    assert passage.text == value
    assert len(passage.offsets) == len(value) + 1
    assert list(passage.offsets) == sorted(passage.offsets)
    for character, offset in zip(value, passage.offsets, strict=False):
        assert text[offset] == character or text[offset] in "\r\n\\"


@given(texts, st.sampled_from(STYLES), st.integers(2, 6), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_whatever_is_written(text: str, style: str | None, indent: int, is_narrow: bool, end: str) -> None:  # noqa: FBT001
    written = yaml.dump(
        {"a": text}, default_style=style, indent=indent, width=10 if is_narrow else 1000, allow_unicode=True
    ).replace("\n", end)
    value, passage = _within(written)
    assert value == text
    assert passage is not None
    assert passage.text == text
    for character, offset in zip(text, passage.offsets, strict=False):
        assert written[offset] == character or written[offset] in '\r\n\\"'


@given(texts)
def test_json(text: str) -> None:
    written = json.dumps({"a": text}, ensure_ascii=False)
    value, passage = _within(written)
    assert passage is not None
    assert passage.text == value == text


def test_a_text_in_a_text() -> None:
    text = 'a: |\n  b: >-\n    x\n    y: 1\n  c: "z\\nw"\n'
    _, passage = _within(text)
    assert passage is not None
    (document,) = documents(passage)
    assert isinstance(document.root, MappingNode)
    inner = [passage.within(document.begin, value) for _, value in document.root.value]
    assert [[text[at] for at in each.offsets[:-1]] for each in inner if each] == [
        ["x", "\n", "y", ":", " ", "1"],
        ["z", "\\", "w"],
    ]


@pytest.mark.parametrize("text", ["a: |\n  x\u2028  y\n", 'a: "x \u2028 y"\n', "a: |\n  x\r  y\n"])
def test_line_breaks_that_only_yaml_knows_are_not_followed(text: str) -> None:
    value, passage = _within(text)
    assert passage is None
    assert value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gitops:\n  flux:\n    version: v2.8.8\n", (3, "v2.8.8")),
        ("gitops:\r\n  flux:\r\n    version: v2.8.8 # old\r\n", (3, "v2.8.8")),
        ("a: {{ b }}\ngitops:\n  {{- if c }}\n  flux:\n    version: {{ d }}\n", (5, "{{ d }}")),
        ('"gitops":\n  "flux":\n    "version":\n', (3, "")),
        ("- gitops:\n    flux:\n      - version: v2.8.8\n", (3, "v2.8.8")),
        ("gitops:\n  x: 1\nflux:\n  version: v2.8.8\n", None),
        ("gitops:\n  flux:\n  version: v2.8.8\n", None),
        ("gitops:\n  flux:\n    # version: v2.8.8\n", None),
        ("gitops:\n  flux: {}\ngitops:\n  flux:\n    version: v2.8.8\n", (5, "v2.8.8")),
        ("gitops:\n  flux:\n    flux-version: v2.8.8\n", None),
        ("", None),
    ],
)
def test_each_key_stands_below_the_one_before(text: str, found: tuple[int, str] | None) -> None:
    assert stated(text, "gitops", "flux", "version") == found
