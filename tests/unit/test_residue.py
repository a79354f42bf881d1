"""Differences between two documents are listed by path, and images and version labels have their own rules."""

from __future__ import annotations

import pytest

from flux_upgrade.manifests.documents import ObjectKey
from flux_upgrade.manifests.nodes import SequenceNode, compose
from flux_upgrade.manifests.residue import differences, labelled

KEY = ObjectKey("apps", "Deployment", "x", "y")


def edits(base: str, mine: str) -> list[tuple[str, str, object, object]]:
    return [(str(e.op), e.where, e.old, e.new) for e in differences(KEY, compose(base), compose(mine))]


@pytest.mark.parametrize(
    ("base", "mine", "expected"),
    [
        ("a: 1", "a: 1", []),
        ("a: 1\nb: 2", "b: 2\na: 1", []),
        ("a: 1", "a: 2", [("replace", "a", 1, 2)]),
        ("a: '1'", "a: 1", [("replace", "a", "1", 1)]),
        ("a: 1", "{}", [("remove", "a", 1, None)]),
        ("a: {b: {c: 1}}", "a: {b: {c: 1, d: 2}}", [("add", "a.b.d", None, 2)]),
        ("a: 1", "a: 1\nb: {c: {d: 2, e: 3}}", [("add", "b.c.d", None, 2), ("add", "b.c.e", None, 3)]),
        ("a: 1", "a: 1\nb: {}", [("add", "b", None, {})]),
        ("a: {x/y.z: 1}", "a: {x/y.z: 2}", [("replace", 'a["x/y.z"]', 1, 2)]),
        ("l: [{name: a, v: 1}]", "l: [{name: a, v: 2}]", [("replace", "l[name=a].v", 1, 2)]),
        ("l: [--x=1, --y]", "l: [--x=2, --y]", [("replace", "l[--x]", "--x=1", "--x=2")]),
        ("l: [--x=1]", "l: [--x=1, --x=2]", [("add", "l[--x]#2", None, "--x=2")]),
        ("l: [get, list]", "l: [get, list, watch]", [("add", "l[watch]", None, "watch")]),
        ("l: [a, b]", "l: [b, a]", [("replace", "l", ["a", "b"], ["b", "a"])]),
        ("l: [{a: 1}]", "l: [{a: 1}, {a: 2}]", [("add", 'l[{"a":2}]', None, {"a": 2})]),
        ("a: [1]", "a: {b: 1}", [("replace", "a", [1], {"b": 1})]),
    ],
)
def test_paths(base: str, mine: str, expected: list[tuple[str, str, object, object]]) -> None:
    assert edits(base, mine) == expected


@pytest.mark.parametrize("version", ["v2.9.4", "2.9.4", "latest"])
def test_a_bumped_version_label_is_hearsay(version: str) -> None:
    base = "metadata: {labels: {app.kubernetes.io/version: v2.8.0}}"
    assert edits(base, f"metadata: {{labels: {{app.kubernetes.io/version: {version}}}}}") == []


def test_a_version_label_that_is_none() -> None:
    base = "metadata: {labels: {app.kubernetes.io/version: v2.8.0}}"
    assert len(edits(base, "metadata: {labels: {app.kubernetes.io/version: mine}}")) == 1


def test_image_parts() -> None:
    base = "containers: [{name: m, image: 'r/x:v1'}]"
    assert edits(base, "containers: [{name: m, image: 'other/x:main'}]") == [
        ("replace", "containers[name=m].image.repository", "r/x", "other/x"),
        ("replace", "containers[name=m].image.tag", "v1", "main"),
    ]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("[{name: a}, {name: b}]", ["[name=a]", "[name=b]"]),
        ("[{name: a, mountPath: /x}, {name: a, mountPath: /y}]", ["[mountPath=/x]", "[mountPath=/y]"]),
        ("[{key: a}, {operator: Exists}]", ['[{"key":"a"}]', '[{"operator":"Exists"}]']),
        ("[--a=1, --b]", ["[--a]", "[--b]"]),
        ("[x, x]", ["[x]", "[x]#2"]),
        ("[[1], [2]]", ["[[1]]", "[[2]]"]),
        ("[]", []),
    ],
)
def test_labels(text: str, labels: list[str]) -> None:
    node = compose(text)
    assert isinstance(node, SequenceNode)
    (found,) = labelled(node)
    assert list(found) == labels
