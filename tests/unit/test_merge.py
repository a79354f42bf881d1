"""A three-way merge carries edits, reports conflicts, and leaves the target alone otherwise."""

from __future__ import annotations

import pytest

from flux_upgrade.manifests.documents import ObjectKey
from flux_upgrade.manifests.merge import Merge
from flux_upgrade.manifests.node_copies import serialize
from flux_upgrade.manifests.nodes import compose, construct

KEY = ObjectKey("apps", "Deployment", "x", "y")

CARRIED = [
    pytest.param("a: 1\nb: 1", "a: 2\nb: 1", "a: 1\nb: 9", "a: 2\nb: 9", id="neighbour changed"),
    pytest.param("a: 1", "a: 1\nc: 3", "a: 1\nb: 2", "a: 1\nb: 2\nc: 3", id="both added keys"),
    pytest.param("a: 1\nb: 2", "a: 1", "a: 1\nb: 2\nc: 3", "a: 1\nc: 3", id="removed key"),
    pytest.param("l: [--a=1, --b]", "l: [--a=2, --b]", "l: [--new, --a=1, --b]", "l: [--new, --a=2, --b]", id="moved"),
    pytest.param("l: [--a, --b]", "l: [--a, --x, --b]", "l: [--a, --n, --b]", "l: [--a, --x, --n, --b]", id="inserted"),
    pytest.param("l: [--a]", "l: [--x, --a]", "l: [--n, --a]", "l: [--x, --n, --a]", id="at the head"),
    pytest.param("l: [--a, --b]", "l: [--b]", "l: [--a, --b, --c]", "l: [--b, --c]", id="removed item"),
    pytest.param("l: [{name: a, v: 1}]", "l: [{name: a, v: 2}]", "l: [{name: b}, {name: a, v: 1}]",
                 "l: [{name: b}, {name: a, v: 2}]", id="in an item"),
    pytest.param("a: 1", "a: 1\nm: {x: 1}", "a: 1\nm: {y: 2}", "a: 1\nm: {x: 1, y: 2}", id="both added the mapping"),
    pytest.param("a: 1", "a: 1\nl: [x]", "a: 1\nl: [y]", "a: 1\nl: [x, y]", id="both added the list"),
    pytest.param("l: [a, b]", "l: [b, a]", "l: [a, b]", "l: [b, a]", id="order"),
    pytest.param("l: [--a, --b]", "l: [--x, --b]", "l: [--b]", "l: [--x, --b]", id="both removed, one added"),
    pytest.param("l: [{a: 1}]", "l: [{a: 1}, {a: 2}]", "l: [{a: 3}]", "l: [{a: 3}, {a: 2}]", id="behind"),
    pytest.param("m: {v: 1}", "m: {v: 1, metadata: {labels: {app.kubernetes.io/version: v1.0.0}}}", "m: {v: 1}",
                 "m: {v: 1, metadata: {labels: {app.kubernetes.io/version: v1.0.0}}}", id="version label of the user's"),
    pytest.param("containers: [{name: m, image: 'r/x:v1'}]", "containers: [{name: m, image: 'own/x:v1'}]",
                 "containers: [{name: m, image: 'r/x:v2'}]", "containers: [{name: m, image: 'own/x:v2'}]",
                 id="own registry follows the release"),
    pytest.param("containers: [{name: m, image: 'r/x:v1'}]", "containers: [{name: m, image: 'r/x:main'}]",
                 "containers: [{name: m, image: 'r/x:v2'}]", "containers: [{name: m, image: 'r/x:main'}]",
                 id="own tag stays"),
]  # fmt: skip

ABSORBED = [
    pytest.param("a: 1", "a: 2", "a: 2", id="value"),
    pytest.param("a: 1\nb: 2", "a: 1", "a: 1", id="removed"),
    pytest.param("a: 1", "a: 1\nb: 2", "a: 1\nb: 2", id="added"),
    pytest.param("l: [{a: 1}]", "l: [{a: 1}, {a: 2}]", "l: [{a: 1}, {a: 2}]", id="item"),
    pytest.param("l: [--a, --b]", "l: [--b]", "l: [--b]", id="removed item"),
]

CONFLICTS = [
    pytest.param("l: [{a: 1}]", "l: [{a: 2}]", "l: [{a: 3}]", ["l"], id="item without a name replaced"),
    pytest.param("l: [{a: 1}]", "l: [{a: 2}]", "l: []", ["l"], id="item without a name replaced and removed"),
    pytest.param("a: 1", "a: 2", "a: 3", ["a"], id="both changed"),
    pytest.param("a: 1", "a: 2", "{}", ["a"], id="changed and removed"),
    pytest.param("a: 1\nb: 0", "b: 0", "a: 3\nb: 0", ["a"], id="removed and changed"),
    pytest.param("a: 1", "a: 1\nb: 2", "a: 1\nb: 3", ["b"], id="both added"),
    pytest.param("m: {a: 1}", "m: {a: 1, b: 2}", "{}", ["m"], id="parent removed"),
    pytest.param("l: [a, b]", "l: [b, a]", "l: [a, b, c]", ["l"], id="order and item"),
    pytest.param("m: {a: 1}", "m: [1]", "m: {a: 2}", ["m"], id="another type"),
    pytest.param("l: [--a=1]", "l: [--a=2]", "l: [--a=3]", ["l[--a]"], id="argument"),
    pytest.param("l: [{name: a, v: 1}]", "l: [{name: a, v: 2}]", "l: [{name: b}]", ["l[name=a]"], id="item gone"),
]

NOOPS = [
    pytest.param("a: 1", "a: 1", "a: 2", id="untouched"),
    pytest.param("a: {b: [1, 2]}", "a: {b: [1, 2]}", "a: {b: [3]}", id="untouched list"),
    pytest.param("metadata: {labels: {app.kubernetes.io/version: v1.0.0}}",
                 "metadata: {labels: {app.kubernetes.io/version: v9.0.0}}",
                 "metadata: {labels: {app.kubernetes.io/version: v2.0.0}}", id="label bumped by hand"),
]  # fmt: skip


def merge(base: str, mine: str, target: str) -> tuple[object, Merge]:
    work = Merge(KEY)
    node = work.merge(compose(base), compose(mine), compose(target))
    assert construct(compose(serialize(node))) == construct(node)
    return construct(node), work


@pytest.mark.parametrize(("base", "mine", "target", "expected"), CARRIED)
def test_carried(base: str, mine: str, target: str, expected: str) -> None:
    data, work = merge(base, mine, target)
    assert data == construct(compose(expected))
    assert not work.conflicts
    again, _ = merge(target, expected, target)
    assert again == data


@pytest.mark.parametrize(("base", "mine", "target"), ABSORBED)
def test_already_in_the_release(base: str, mine: str, target: str) -> None:
    data, work = merge(base, mine, target)
    assert data == construct(compose(target))
    assert work.absorbed
    assert not work.conflicts


@pytest.mark.parametrize(("base", "mine", "target", "paths"), CONFLICTS)
def test_conflicts(base: str, mine: str, target: str, paths: list[str]) -> None:
    data, work = merge(base, mine, target)
    assert [conflict.where for conflict in work.conflicts] == paths
    assert data == construct(compose(target))


@pytest.mark.parametrize(("base", "mine", "target"), NOOPS)
def test_nothing_to_carry(base: str, mine: str, target: str) -> None:
    data, work = merge(base, mine, target)
    assert data == construct(compose(target))
    assert not work.conflicts
    assert not work.absorbed


@pytest.mark.parametrize(
    ("base", "mine", "target", "expected"),
    [
        ("m: {a: 1, b: 2}", "m: {b: 3}", "m: {b: 2}", "m: {b: 3}"),
        ("m: [--a, --b=2]", "m: [--b=3]", "m: [--b=2]", "m: [--b=3]"),
    ],
)
def test_what_both_removed_is_in_the_release(base: str, mine: str, target: str, expected: str) -> None:
    data, work = merge(base, mine, target)
    assert data == construct(compose(expected))
    assert [path[0] for path in work.absorbed] == ["m"]
    assert not work.conflicts


def test_quotes_and_aliases_of_the_user() -> None:
    work = Merge(KEY)
    mine = compose("a: 1\nb: &x {c: '1', d: \"y\"}\ne: *x\n")
    node = work.merge(compose("a: 1"), mine, compose("a: 1"))
    assert serialize(node) == "a: 1\nb:\n  c: '1'\n  d: \"y\"\ne:\n  c: '1'\n  d: \"y\"\n"
