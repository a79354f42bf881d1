"""What a value in the config file can be: how it is read, and how JSON Schema says the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple, Protocol

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from flux_upgrade.config.yaml_text import YamlText, is_text, kind, quoted
from flux_upgrade.manifests.options import nearest

Schema = dict[str, Any]


class Shape(Protocol):
    """A kind of value."""

    @property
    def description(self) -> str:
        """What it is, for the reference; Markdown."""

    def schema(self) -> Schema:
        """The JSON Schema of the values that ``read`` takes."""

    def read(self, name: str, node: Node, source: YamlText) -> Any:
        """The value; None where it cannot be read, which is noted in ``source``. ``name``: the key's."""


class Key(NamedTuple):
    """One key of a mapping."""

    name: str
    shape: Shape
    meaning: str
    """Sentences for the reference and the schema; Markdown."""
    default: str = ""
    """As it would be written in YAML; empty where there is none."""
    at_top: bool = True
    in_group: bool = True
    field: str = ""
    """Of ``config.Governance``; empty: the one of the key's name, if there is one."""
    flag: KeyFlag | None = None
    input: str = ""
    """What ``action.yml`` says of the input of that name; empty: there is none."""

    @property
    def flag_name(self) -> str:
        """As argparse stores it."""
        return self.name.replace("-", "_")


class KeyFlag(NamedTuple):
    """The flag ``--name`` that beats a key."""

    help: str
    metavar: str = ""
    """Empty: argparse has one, of the words that there are."""
    hint: str = ""
    """What to do about a value that cannot be read; empty: a pointer to the reference."""
    read: Callable[[str], Any] | None = None
    """Text → the value; None: as the key's shape reads it."""


class ChoiceShape(NamedTuple):
    """One of a few words."""

    words: tuple[str, ...]
    values: tuple[Any, ...] = ()
    """What they mean; empty: themselves."""

    @property
    def description(self) -> str:
        """The words."""
        return ", ".join(f"`{word}`" for word in self.words)

    def schema(self) -> Schema:
        return {"enum": list(self.words)}

    def read(self, name: str, node: Node, source: YamlText) -> Any:
        wanted = ", ".join(self.words)
        if not is_text(node):
            source.refuse(node, f"{name} wants one of {wanted}, not {kind(node)}")
        elif node.value not in self.words:
            close = nearest(node.value, self.words)
            source.refuse(node, f"{name} {quoted(node.value)} is not one of {wanted}{close}")
        else:
            return (self.values or self.words)[self.words.index(node.value)]
        return None


class BooleanShape(NamedTuple):
    """True or false, as YAML 1.1 spells them."""

    description: str = "boolean"

    def schema(self) -> Schema:
        return {"type": "boolean"}

    def read(self, name: str, node: Node, source: YamlText) -> bool | None:
        if node.tag == "tag:yaml.org,2002:bool":
            return node.value.lower() in ("true", "yes", "on")
        given = quoted(node.value) if is_text(node) else kind(node)
        quotes = " in quotes" if is_text(node) and node.value.lower() in ("true", "false") else ""
        source.refuse(node, f"{name} wants true or false, not {given}{quotes}")
        return None


def _nothing_else(_: str) -> str:
    return ""


class TextShape(NamedTuple):
    """A text of some form."""

    description: str
    """As it ends the sentence "… is not"."""
    pattern: str
    """A regular expression that Python and ECMAScript read alike, for the whole text."""
    longest: int = 1000
    problem: Callable[[str], str] = _nothing_else
    """What is wrong with a text that the pattern lets pass, to follow the text itself; empty: nothing."""

    def schema(self) -> Schema:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "maxLength": self.longest}

    def read(self, name: str, node: Node, source: YamlText) -> str | None:
        if not is_text(node):
            remedy = "; put it in quotes" if isinstance(node, ScalarNode) and node.value else ""
            source.refuse(node, f"{name} wants {self.description}, not {kind(node)}{remedy}")
            return None
        text = str(node.value)
        if len(text) > self.longest:
            refusal = f"is longer than {self.longest} characters"
        elif not re.fullmatch(self.pattern, text):
            refusal = f"is not {self.description}"
        else:
            refusal = self.problem(text)
        if refusal:
            source.refuse(node, f"{name} {quoted(text)} {refusal}")
        return None if refusal else text


class ListShape(NamedTuple):
    """A set of texts, as a list."""

    item: TextShape | ChoiceShape
    items: str = ""
    """What several of them are called; Markdown. Empty: each is what ``item`` says."""

    @property
    def description(self) -> str:
        """What is listed."""
        return f"list of {self.items}" if self.items else f"list, each {self.item.description}"

    def schema(self) -> Schema:
        return {"type": "array", "items": self.item.schema(), "uniqueItems": True}

    def read(self, name: str, node: Node, source: YamlText) -> tuple[str, ...] | None:
        items: list[str] = []
        for each, text in _items(name, node, self.item, source):
            if text in items:
                source.refuse(each, f"{name} has {quoted(text)} twice")
            items.append(text)
        return tuple(items)


class PatternsShape(NamedTuple):
    """Patterns of paths, the order of which matters."""

    item: TextShape
    least: int = 0

    @property
    def description(self) -> str:
        """What is listed."""
        return "list of [patterns](#patterns)"

    def schema(self) -> Schema:
        least = {"minItems": self.least} if self.least else {}
        item = self.item.schema()
        first = {**item, "not": {"pattern": "^!"}}
        return {"type": "array", "prefixItems": [first], "items": item, **least}

    def read(self, name: str, node: Node, source: YamlText) -> tuple[str, ...] | None:
        if isinstance(node, SequenceNode) and len(node.value) < self.least:
            source.refuse(node, f"{name} is empty")
        items = list(_items(name, node, self.item, source))
        if items and items[0][1].startswith("!"):
            source.refuse(
                items[0][0], f"{name} begins with an exception, {quoted(items[0][1])}, and matches nothing"
            )
        return tuple(text for _, text in items)


def _items(
    name: str, node: Node, item: TextShape | ChoiceShape, source: YamlText
) -> Iterator[tuple[Node, str]]:
    """Those that are as they should be."""
    if not isinstance(node, SequenceNode):
        source.refuse(node, f"{name} wants a list, not {kind(node)}")
        return
    for each in node.value:
        text = item.read(name, each, source)
        if text is not None:
            yield each, text


class DurationShape(NamedTuple):
    """A time span in hours, days or weeks."""

    description: str = "duration: `0`, `12h`, `7d`, `2w`"

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "string", "pattern": "^(?:0|[0-9]{1,4}[hdw])$"}, {"const": 0}]}

    def read(self, name: str, node: Node, source: YamlText) -> timedelta | None:
        if isinstance(node, ScalarNode) and node.value == "0" and kind(node) in ("text", "a number"):
            return timedelta(0)
        found = re.fullmatch("([0-9]{1,4})([hdw])", node.value) if is_text(node) else None
        if found is None:
            shown = quoted(node.value) if isinstance(node, ScalarNode) and node.value else kind(node)
            source.refuse(node, f"{name} wants a duration like 0, 12h, 7d or 2w, not {shown}")
            return None
        return (
            int(found[1])
            * {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}[found[2]]
        )


class MappingShape(NamedTuple):
    """A mapping with known keys."""

    keys: tuple[Key, ...]
    required: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = {}
    """Key that is known, but not here → what to say of it."""

    @property
    def description(self) -> str:
        """The keys."""
        return "mapping of " + ", ".join(f"`{key.name}`" for key in self.keys)

    def schema(self) -> Schema:
        required = {"required": list(self.required)} if self.required else {}
        return {
            "type": "object",
            "additionalProperties": False,
            **required,
            "properties": {key.name: described(key) for key in self.keys},
        }

    def read(self, name: str, node: Node, source: YamlText) -> dict[str, Any] | None:
        """Values that cannot be read are left out."""
        if not isinstance(node, MappingNode):
            source.refuse(node, f"{name} wants a mapping, not {kind(node)}")
            return None
        known, values = {key.name: key for key in self.keys}, {}
        entries = source.entries(node)
        for word, (key, value) in entries.items():
            if word in known:
                values[word] = known[word].shape.read(word, value, source)
            elif word in self.elsewhere:
                source.refuse(key, f"key {quoted(word)} {self.elsewhere[word]}")
            else:
                source.refuse(key, f"unknown key {quoted(word)}{nearest(word, known)}")
        for missing in [each for each in self.required if each not in entries]:
            source.refuse(node, f"{name} has no {missing}")
        return {word: value for word, value in values.items() if value is not None}


def described(key: Key) -> Schema:
    """A key's schema with its meaning, as an editor shows it."""
    return {"description": key.meaning.replace("`", ""), **key.shape.schema()}
