"""YAML is composed, compared and serialized in Flux's form, and hostile YAML is refused."""

from __future__ import annotations

import pytest

from flux_upgrade.manifests.node_copies import serialize
from flux_upgrade.manifests.nodes import compose, construct, same
from flux_upgrade.model.errors import Unreadable


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a: 1\nb: x", "{b: 'x', a: 0x1}"),
        ("a: true", "a: True"),
        ("a: null", "a: ~"),
        ("a: |\n  x\n  y\n", 'a: "x\\ny\\n"'),
        ("a: &x [1]\nb: *x", "a: [1]\nb:\n- 1"),
        ("x: &x {a: 1}\ny: {<<: *x, b: 2}", "x: {a: 1}\ny: {a: 1, b: 2}"),
        ("x: &x {a: 1}\ny: {<<: *x, a: 2}", "x: {a: 1}\ny: {a: 2}"),
        ("a: &x 1\nb: *x\nc: &x [2]\nd: *x", "a: 1\nb: 1\nc: [2]\nd: [2]"),
        ("a: =\nb: [<<, '=']", "a: '='\nb: ['<<', '=']"),
    ],
)
def test_the_same_data(a: str, b: str) -> None:
    assert same(compose(a), compose(b))
    assert construct(compose(a)) == construct(compose(b))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a: 1", "a: '1'"),
        ("a: true", "a: 'true'"),
        ("a: yes", "a: 'yes'"),
        ("[1, 2]", "[2, 1]"),
        ("a: 1", "a: 1\nb: 2"),
        ("a: []", "a: {}"),
        ("a: ''", "a: null"),
    ],
)
def test_other_data(a: str, b: str) -> None:
    assert not same(compose(a), compose(b))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b\n c: d: e\n", "line 11"),
        ("a: 1\na: 2\n", "line 11: the key 'a' is given twice"),
        ("? [x]\n: 1\n", "not text"),
        ("&a [*a]\n", "alias to itself"),
        ("a: &x 1\nb: &x [*x]\n", "line 11: an alias to itself"),
        ("a: &a {b: *a}\n", "alias to itself"),
        ("", "empty document"),
        ("a: *nowhere\n", "line 10"),
        ("x: {<<: 3}\n", "line 10"),
        ("[" * 100, "line 11"),
    ],
)
def test_broken_documents(text: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        compose(text, 10)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        "{a: " * 50_000 + "}" * 50_000,
        "- " * 100_000,
        "? " * 100_000,
        "\n".join(" " * depth + "a:" for depth in range(2_000)),
    ],
    ids=["open", "flow lists", "flow mappings", "block lists", "keys", "block mappings"],
)
def test_deep_nesting_does_not_end_the_process(text: str) -> None:
    with pytest.raises(Unreadable, match="nested too deeply"):
        compose(text)


def test_an_alias_bomb_is_refused() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(Unreadable, match="expand to too much"):
        compose("\n".join(rows))


TOO_MANY, TOO_MUCH = "more than 50,000 values in one document", "aliases that expand to too much"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [" + "b," * 200_000 + "]\n", f"line 10: {TOO_MANY}"),
        ("- a\n" * 200_000, f"line 50009: {TOO_MANY}"),
        ("a: b\nc:\n" + "- d\n" * 5001, "line 12: lists with more than 5,000 items in one document"),
        ("a: &a [" + "b," * 500 + "]\nc: [" + "*a ," * 500 + "]\n", f"line 11: {TOO_MUCH}"),
        (
            "a: &a {"
            + "".join(f"k{n}: b, " for n in range(500))
            + "}\n"
            + "".join(f"b{n}: {{<<: *a}}\n" for n in range(500)),
            TOO_MUCH,
        ),
        ("a: &a {b: c}\nd:\n" + "  <<: *a\n" * 500, f"line 12: {TOO_MUCH}"),
        ("a0: &a0 {b: c}\n" + "".join(f"a{n + 1}: &a{n + 1}\n  <<: *a{n}\n  k{n}: b\n" for n in range(1000)), TOO_MUCH),
        ("a0: &a0 [b]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}]\n" for n in range(250)), "nested too deeply"),
    ],
    ids=[
        "values",
        "lines",
        "items",
        "aliases",
        "merge keys",
        "one merge key again",
        "merge keys of each other",
        "aliases of each other",
    ],
)
def test_a_document_has_a_budget_by_its_size(text: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        compose(text, 10)


def test_what_people_share_by_aliases_is_within_the_budget() -> None:
    defaults = "".join(f"  key-{n}: a value of some length\n" for n in range(20))
    jobs = "".join(f"job-{n}:\n  <<: *defaults\n  name: job-{n}\n" for n in range(30))
    assert len(construct(compose(f".defaults: &defaults\n{defaults}{jobs}"))) == 31


def test_a_number_that_takes_time_is_text() -> None:
    assert construct(compose("a: 1" + ":59" * 500)) == {"a": "1" + ":59" * 500}


@pytest.mark.parametrize("text", ["a: !!python/object:x.y {}\n", "a: !ours 1\n", "a: 2020-99-99\n"])
def test_values_that_cannot_be_read(text: str) -> None:
    with pytest.raises(Unreadable, match="line 1"):
        construct(compose(text))


def test_serialized_in_flux_form() -> None:
    text = 'a:\n- b: "true"\n  c: \'x: y\'\n- d: |-\n    two\n    lines\ne: {}\nf: "1000"\n'
    assert serialize(compose(text)) == text
