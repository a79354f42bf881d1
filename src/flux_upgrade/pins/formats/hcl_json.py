"""Blocks of a Terraform file in JSON syntax (hashicorp/hcl, json/spec.md), and their places.

JSON is read as the YAML that it also is, because that tells the places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import decoded, encoded
from flux_upgrade.pins.formats.hcl import Attribute, Block
from flux_upgrade.snapshot.yaml_places import Object, Step, objects

_LABELS = {"resource": 2, "data": 2, "variable": 1, "module": 1, "provider": 1, "terraform": 0, "locals": 0}
"""How many labels the blocks of a type have: so many levels of the JSON are their names."""
_EXPRESSION = re.compile(r"\$\{[^{}]*\}")
_PAIR = re.compile(r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w")  # A character as two escapes, which YAML does not know
_PLAIN_PAIR = "\\u0020\\u0020"


@lru_cache(maxsize=8)  # For each block that is changed, its file is read
def blocks(content: bytes) -> tuple[Block, ...] | None:
    read = _read(content)
    if read is None:
        return None
    file, data = read
    return tuple(
        block for kind, labels in _LABELS.items() if kind in data for block in file.blocks(data[kind], (kind,), labels)
    )


def attributes(content: bytes) -> Mapping[str, Attribute]:
    """The members of a file's object, as in ``terraform.tfvars.json``; none where it cannot be read."""
    read = _read(content)
    return {} if read is None else read[0].attributes(read[1], ())


def _read(content: bytes) -> tuple[_File, dict[str, Any]] | None:
    text = decoded(content)
    documents = tuple(objects(encoded(_PAIR.sub(lambda _: _PLAIN_PAIR, text))))
    if len(documents) != 1 or not isinstance(documents[0], Object):
        return None
    try:
        return _File(documents[0], text), documents[0].data()
    except Unreadable:  # The kind terraform reports it if it has the resource
        return None


class _File:
    def __init__(self, document: Object, text: str) -> None:
        self._document, self._text = document, text

    def blocks(self, data: Any, path: tuple[Step, ...], labels: int) -> Iterator[Block]:
        """Below a path, at which mappings, or lists of them, stand for so many labels."""
        if isinstance(data, list):
            for at, item in enumerate(data):
                yield from self.blocks(item, (*path, at), labels)
        elif isinstance(data, dict) and labels:
            for key, value in data.items():
                yield from self.blocks(value, (*path, key), labels - 1)
        elif isinstance(data, dict):
            names = [step for step in path if isinstance(step, str)]
            line = self._document.line_at(*path)
            yield Block(names[0], tuple(names[1:]), line, self.attributes(data, path))

    def attributes(self, data: Mapping[str, Any], path: tuple[Step, ...]) -> dict[str, Attribute]:
        return {key: self._attribute(value, (*path, key)) for key, value in data.items()}

    def _attribute(self, data: Any, path: tuple[Step, ...]) -> Attribute:
        line, value = self._document.line_at(*path), self._document.at(*path)
        if value is None:
            if isinstance(data, list):
                items = tuple(self._attribute(each, (*path, at)) for at, each in enumerate(data))
                return Attribute(line, "", None, items=items)
            members = self.attributes(data, path) if isinstance(data, dict) else {}
            return Attribute(line, "", None, members=members)
        if self._text[value.start - 1] != '"':
            return Attribute(line, value.text, None)
        if _EXPRESSION.fullmatch(value.text):
            # A string that is nothing but ${…} is an expression.
            return Attribute(line, value.text, None)
        return Attribute(line, f'"{value.text}"', value.text, value.start)
