"""YAML text → nodes with their lines; problems are collected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from flux_upgrade.config.config import BootstrapConfig
from flux_upgrade.model.text import line_of, printable

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = "tag:yaml.org,2002:null"
_BOOL = "tag:yaml.org,2002:bool"
_TYPES = {
    _BOOL: "true or false",
    "tag:yaml.org,2002:int": "a number",
    "tag:yaml.org,2002:float": "a number",
    "tag:yaml.org,2002:timestamp": "a date",
}
_MOST_CHARACTERS = 1_000_000
_LONGEST = 400
_DEEPEST = 50  # Levels. The file has five; libyaml's composer recurses in C.
_UNDECODED = re.compile("[\ud800-\udfff]")

Entries = Mapping[str, tuple[Node, Node]]
KeyReader = Callable[[str, Node, "YamlText"], BootstrapConfig | None]
"""As ``config.values.read``, for a key that another room owns."""


class YamlText:
    def __init__(self, readers: Mapping[str, KeyReader] | None = None) -> None:
        """``readers``: key → what reads it, for keys that another room owns."""
        self.readers = readers or {}
        self._problems: dict[tuple[int, str], None] = {}
        self._entries: dict[int, Entries] = {}

    def refuse(self, where: Node | int, message: str) -> None:
        """Note a problem at a node or in a line (counted from 1)."""
        line = where if isinstance(where, int) else where.start_mark.line + 1
        # Names and values come from anybody's file, and may steer a terminal.
        shown = printable(message)
        # What an alias repeats is said once.
        self._problems[line, shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"] = None

    def problems(self) -> Iterator[tuple[int, str]]:
        yield from sorted(self._problems, key=lambda problem: problem[0])

    def compose(self, text: str) -> Node | None:
        """The document; None where there is none, or one that cannot be read, which is a problem."""
        undecoded = _UNDECODED.search(text)
        if undecoded is not None:
            self.refuse(line_of(text, undecoded.start()), "the file is not UTF-8 text")
            return None
        if len(text) > _MOST_CHARACTERS:
            self.refuse(1, f"the file has more than {_MOST_CHARACTERS} characters")
            return None
        plain = text.removeprefix("\ufeff")
        try:
            if not self._is_one_document(plain):
                return None
            node: Node | None = yaml.compose(plain, Loader=_Loader)
        except yaml.YAMLError as error:
            self.refuse(*_explained(plain, error))
            return None
        return None if node is not None and node.tag == _NULL else node

    def _is_one_document(self, text: str) -> bool:
        documents = depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            documents += isinstance(event, yaml.DocumentStartEvent)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            mark: Any = event.start_mark
            if documents > 1 or depth > _DEEPEST:
                what = "a second YAML document begins here" if documents > 1 else "this is nested too deeply"
                self.refuse(mark.line + 1, what)
                return False
        return documents == 1

    def entries(self, node: MappingNode, above: frozenset[int] = frozenset()) -> Entries:
        """A mapping's entries, merge keys (``<<``) resolved; what cannot be one is a problem."""
        if id(node) in self._entries:
            return self._entries[id(node)]
        own: dict[str, tuple[Node, Node]] = {}
        merged: dict[str, tuple[Node, Node]] = {}
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                for source in value.value if isinstance(value, SequenceNode) else [value]:
                    merged = {**self._merged(source, above | {id(node)}), **merged}
            elif not is_text(key):
                self.refuse(key, "a key must be text; put it in quotes")
            elif key.value in own:
                first = own[key.value][0].start_mark.line + 1
                self.refuse(key, f"key {quoted(key.value)} is given twice, first in line {first}")
            else:
                own[key.value] = key, value
        self._entries[id(node)] = {**merged, **own}
        return self._entries[id(node)]

    def _merged(self, source: Node, above: frozenset[int]) -> Entries:
        if not isinstance(source, MappingNode):
            self.refuse(source, f"'<<' expects a mapping or a list of mappings, got {kind(source)}")
        elif id(source) in above:
            self.refuse(source, "'<<' merges a mapping into itself")
        else:
            return self.entries(source, above)
        return {}


def is_text(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:str"


def truth(node: Node) -> bool | None:
    """What YAML 1.1 reads as true or false; None for anything else."""
    if not isinstance(node, ScalarNode) or node.tag != _BOOL:
        return None
    return node.value.lower() in ("true", "yes", "on")


def kind(node: Node) -> str:
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return "a list"
    if node.tag == _NULL:
        return "nothing"
    return "text" if is_text(node) else _TYPES.get(node.tag, f"a value of type {quoted(node.tag)}")


def quoted(text: str) -> str:
    """``text`` in quotes, cut where it is long."""
    most = 80
    return f"'{text}'" if len(text) <= most else f"'{text[:most]}…'"


def _explained(text: str, error: yaml.YAMLError) -> tuple[int, str]:
    mark: Any = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    # A character that YAML does not know has a position instead of a mark.
    line = line_of(text, getattr(error, "position", 0)) if mark is None else mark.line + 1
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).partition("\n")[0]
    if "\t" in "".join(text.split("\n")[line - 1 : line]) and "cannot start any token" in reason:
        reason = "YAML is indented with spaces, but this line has a tab"
    return line, f"invalid YAML: {reason}"
