"""Equal documents share their nodes, and each has its own places."""

from __future__ import annotations

import gc
import weakref

import pytest

from flux_upgrade.impact.api_uses.flux_file import UsePlace
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.manifests.nodes import MappingNode, Node, SequenceNode, compose
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import edited
from flux_upgrade.snapshot.yaml_places import BrokenDocument, documents_of, objects, readable

DOCUMENT = "\nmetadata:\n  name: flux\nspec:\n  version: 2.8.x\n"
BROKEN = "\nkind: A\nkind: B\n"
GROUPS = {"source.toolkit.fluxcd.io"}
LARGE = 300_000  # Characters


def _changed(content: bytes) -> tuple[list[int], bytes]:
    """Return the lines of the versions, and the file with all of them replaced."""
    values = [each.at("spec", "version") for each in readable(content)]
    versions = [value for value in values if value is not None]
    return [value.line for value in versions], edited(content, [value.replaced("2.9.x") for value in versions])


def _one(text: str) -> MappingNode:
    node = compose(text)
    assert isinstance(node, MappingNode)
    return node


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"---{DOCUMENT}", [5]),
        (f"---{DOCUMENT}---{DOCUMENT}", [5, 10]),
        (f"# é😀\n# another\n---{DOCUMENT}---\nspec: {{version: 1.x}}\n---{DOCUMENT}", [7, 9, 14]),
        (f"a: [\n---{DOCUMENT}", [6]),
        (f"\ufeff---{DOCUMENT}---{DOCUMENT}", [5, 10]),
        (f"\ufeff{DOCUMENT}---{DOCUMENT}", [5, 10]),
        (f"---{DOCUMENT}---{DOCUMENT}".replace("\n", "\r\n"), [5, 10]),
        (f"\ufeff---{DOCUMENT}---{DOCUMENT}".replace("\n", "\r\n"), [5, 10]),
    ],
)
def test_places_of_equal_documents(text: str, lines: list[int]) -> None:
    assert _changed(text.encode()) == (lines, text.replace("2.8.x", "2.9.x").replace("1.x", "2.9.x").encode())


def test_equal_documents_share_nodes() -> None:
    first, second = documents_of(f"---{DOCUMENT}---{DOCUMENT}".encode())
    (third,) = documents_of(f"\ufeff# A comment\n---{DOCUMENT}".encode())
    assert first.root is second.root
    assert first.root is third.root
    assert first != second
    (windows,) = documents_of(f"---{DOCUMENT}".replace("\n", "\r\n").encode())
    assert windows.root is not first.root


def test_equal_documents_with_anchors_have_their_own_uses() -> None:
    resource = "apiVersion: source.toolkit.fluxcd.io/v1beta1\n  kind: GitRepository\n  metadata: {name: a}"
    content = (f"---\nkind: List\nitems:\n- &a\n  {resource}\n- *a\n" * 2).encode()
    file = find("a.yaml", content, GROUPS)
    assert file is not None
    assert [(use.line, use.place, use.name) for use in file.uses] == [
        (5, UsePlace.RESOURCE, "a"),
        (13, UsePlace.RESOURCE, "a"),
    ]
    assert [each.line for each in file.objects] == [4, 12]


def test_identities_of_equal_documents() -> None:
    first, second = readable(f"---{DOCUMENT}---{DOCUMENT}".encode())
    assert first.identity("spec") == first.identity("spec")
    assert first.identity("spec") != second.identity("spec")


def test_errors_of_equal_documents() -> None:
    entries = objects(f"---{BROKEN}---{BROKEN}".encode())
    message = "the key 'kind' is given twice"
    assert [(each.line, each.message) for each in entries if isinstance(each, BrokenDocument)] == [
        (1, f"line 3: {message}"),
        (4, f"line 6: {message}"),
    ]
    for line in (1, 10):
        with pytest.raises(Unreadable, match=f"line {line + 2}: {message}"):
            compose(BROKEN, line)


@pytest.mark.parametrize("text", ["a: [1]\n", "a: &a {b: [1]}\nc: {<<: *a, d: [2]}\n", "a: {}\nb: []\n"])
def test_collections_cannot_be_changed(text: str) -> None:
    waiting: list[Node] = [_one(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, MappingNode):
            assert isinstance(node.value, tuple)
            waiting += [value for _, value in node.value]
        elif isinstance(node, SequenceNode):
            assert isinstance(node.value, tuple)
            waiting += node.value


def test_a_large_document_lives_as_long_as_it_is_in_use() -> None:
    text = f"a: {'x' * LARGE}\n"
    node = _one(text)
    assert _one(text) is node
    known = weakref.ref(node)
    del node
    gc.collect()
    assert known() is None


def test_other_documents_take_the_place_of_one_that_is_not_in_use() -> None:
    text = "first: document\n"
    known = weakref.ref(_one(text))
    assert known() is _one(text)
    for number in range(110):
        compose(f"a: {number}{'x' * 10_000}\n")
    gc.collect()
    assert known() is None


def test_a_document_that_was_used_again_stays() -> None:
    text = "used: again\n"
    known = weakref.ref(_one(text))
    for number in range(110):
        compose(f"b: {number}{'x' * 10_000}\n")
        compose(text)
    assert known() is _one(text)
