"""Literals of Terraform files are found in their places, and a broken file raises nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest

from flux_upgrade.model.text import decoded
from flux_upgrade.pins.formats import hcl, hcl_json
from flux_upgrade.pins.formats.hcl import Attribute, Block

TEXT = """\ufeff# a comment, "quoted"
terraform {
  required_providers {
    flux  = { source = "fluxcd/flux", version = "~> 1.8" } // one line
    kind  = { "source": "tehcyx/kind", version : "0.5" }
    helm  = {
      /* two
         lines */
      source  = "hashicorp/helm"

      version = ">= 2.9.0"
    }
  }
}

resource "helm_release" "a" {
  count  = var.on ? 1 : 0
  values = [yamlencode({ version = "in a call" }), "b"]
  set {
    name = "x"
    value = "${lookup({ a = "}" }, "a")} and \\"more\\""
  }
  set {
    name = "y"
  }
  list = [
    { name = "one" },
    {
      name = "two"
    }, # the last
  ]
  last = "ü"
}
"""


def literals(blocks: Iterable[Block]) -> Iterator[Attribute]:
    for block in blocks:
        yield from nested(block.attributes.values())
        yield from literals(block.blocks)


def nested(attributes: Iterable[Attribute]) -> Iterator[Attribute]:
    for each in attributes:
        yield each
        yield from nested(each.members.values())
        yield from nested(each.items)


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), TEXT.removeprefix("\ufeff")])
def test_every_literal_stands_where_it_is_said_to(text: str) -> None:
    found = [each for each in literals(hcl.blocks(text)) if each.literal is not None]

    assert [each.literal for each in found] == [
        "fluxcd/flux", "~> 1.8", "tehcyx/kind", "0.5", "hashicorp/helm", ">= 2.9.0",
        "in a call", "b", "one", "two", "ü", "x", '${lookup({ a = "}" }, "a")} and \\"more\\"', "y",
    ]  # fmt: skip
    for each in found:
        assert text[each.start : each.start + len(each.literal or "")] == each.literal
        assert text.count("\n", 0, each.start) + 1 == each.line


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("dash", ["", "-"])
def test_a_heredoc_stands_where_it_is_said_to(dash: str, end: str) -> None:
    text = f'# ü{end}a = f(1, <<{dash}E{end}  b: "c"{end}{end}  E{end}){end}'

    found = hcl.attributes(text)["a"]

    (_, given) = found.items
    assert (found.call, given.heredoc, given.literal) == ("f", f'  b: "c"{end}{end}', None)
    assert text[given.start :].startswith(given.heredoc)
    assert given.line == 2


def test_bodies_are_blocks_objects_or_lists() -> None:
    terraform, release = hcl.blocks(TEXT)

    (providers,) = terraform.bodies("required_providers")
    assert {name: each.members["version"].literal for name, each in providers.items()} == {
        "flux": "~> 1.8",
        "kind": "0.5",
        "helm": ">= 2.9.0",
    }
    assert [each["name"].literal for each in release.bodies("set")] == ["x", "y"]
    assert [each["name"].literal for each in release.bodies("list")] == ["one", "two"]
    assert list(release.bodies("other")) == []
    assert release.attributes["count"].text == "var.on?1:0"


def test_values_of_variables() -> None:
    assert {name: each.text for name, each in hcl.attributes('a = "x" # why\n\nb = {\n  c = 1\n}\n').items()} == {
        "a": '"x"',
        "b": "{c=1}",
    }
    assert hcl.attributes("a = " + '"${' * 9999) == {}


def test_half_a_file_is_read_without_a_traceback() -> None:
    for end in range(len(TEXT)):
        text = TEXT[:end]
        for each in literals(hcl.blocks(text)):
            if each.literal is not None:
                assert text[each.start :].startswith(each.literal)


def test_json_says_the_same() -> None:
    data = {
        "terraform": [{"required_providers": {"flux": {"source": "fluxcd/flux", "version": "~> 1.8"}}}],
        "resource": {"helm_release": {"a": {"set": [{"name": "x"}, {"name": "y"}], "empty": {}, "on": True, "n": None}}},
        "locals": {"a": "${var.a}", "b": "x ${var.a}", "c": "es\ncaped", "rocket": "\U0001f680"},
        "provider": {"flux": {"version": "1.8"}},
    }  # fmt: skip
    for text in (json.dumps(data), json.dumps(data, indent="\t"), "\ufeff" + json.dumps(data, ensure_ascii=False)):
        content = text.encode()
        blocks = hcl_json.blocks(content)
        assert blocks is not None
        by_type = {each.type: each for each in blocks}

        (providers,) = by_type["terraform"].bodies("required_providers")
        assert providers["flux"].members["version"].literal == "~> 1.8"
        release = by_type["resource"]
        assert release.labels == ("helm_release", "a")
        assert [each["name"].literal for each in release.bodies("set")] == ["x", "y"]
        assert release.attributes["on"] == Attribute(release.attributes["on"].line, "true", None)
        assert release.attributes["n"].text == "null"
        a, b, c, _ = by_type["locals"].attributes.values()
        assert (a.text, a.literal, b.literal, c.literal) == ("${var.a}", None, "x ${var.a}", "es\ncaped")
        assert decoded(content)[b.start :].startswith("x ${var.a}")
        assert by_type["provider"].labels == ("flux",)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"a: b\n---\nc: d\n", b"\xff", b'{"a": 1, "a": 2}', b"[" * 9999])
def test_what_is_no_json_object(content: bytes) -> None:
    assert hcl_json.blocks(content) is None
    assert hcl_json.attributes(content) == {}


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param("x = " + "[" * 20_000 + "]" * 20_000, id="brackets"),
        pytest.param("a {\n" * 5_000 + "}\n" * 5_000, id="blocks"),
        pytest.param('x = "' + '${"' * 5_000, id="templates"),
    ],
)
def test_what_is_nested_too_deeply_is_not_read(rest: str) -> None:
    assert hcl.blocks(f'resource "x" "y" {{\n  version = "v2.9.4"\n}}\n{rest}\n') == ()
