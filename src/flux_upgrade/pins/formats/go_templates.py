"""YAML that is written as a Go template: helmfiles, and files of values.

The characters of each action give way to others, as many as there were, so that what is left is YAML, and
every place is that of the file. A value with an action is still a variable (``yaml_places.is_variable``).
pkg.go.dev/text/template, "Actions".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from flux_upgrade.model.text import decoded
from flux_upgrade.snapshot import yaml_places
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.passages import whole
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object

HELMFILE = re.compile(r"^(?:releases|templates|repositories|bases):", re.MULTILINE)
# Possessive, and ended by the next action: many that never end take time by their number only.
_ACTION = re.compile(r"\{\{((?:(?!\{\{|\}\})[^\n])*+)\}\}")
_ONLY_AN_ACTION = re.compile(r"^([ \t]*+)\{(\{(?:(?!\{\{|\}\})[^\n])*+\}\}[ \t\r]*+)$", re.MULTILINE)
_ODD = re.compile(r"""[^\w.$ -]""")  # What may mean something else in YAML
_BLOCK = re.compile(r"\{\{-?[ \t]*(?:(if|range|with|define|block)|(end))\b")


def is_template(content: bytes) -> bool:
    return b"{{" in content


def is_conditional(content: bytes, line: int) -> bool:
    """Whether the template decides if, or how often, the line is there. ``line``: 1-based."""
    lines, depths = _depths(content)
    return depths[bisect_left(lines, line)] != 0


@lru_cache(maxsize=8)
def _depths(content: bytes) -> tuple[list[int], list[int]]:
    """The lines at which blocks begin and end, and how deep the lines up to each of them are."""
    lines, depths, line, position, text = [], [0], 1, 0, decoded(content)
    for match in _BLOCK.finditer(text):
        line += text.count("\n", position, match.start())
        position = match.start()
        lines.append(line)
        depths.append(depths[-1] + (1 if match[1] else -1))
    return lines, depths


@lru_cache(maxsize=8)
def objects(content: bytes) -> tuple[Object | BrokenDocument, ...]:
    """As ``yaml_places.objects``, of a file that may be a template."""
    found = yaml_places.objects(content)
    if not is_template(content) or not any(isinstance(each, BrokenDocument) for each in found):
        return found
    text = decoded(content)
    # A line of nothing but actions as a comment, any other action as plain text.
    plain = _ONLY_AN_ACTION.sub(lambda match: f"{match[1]}#{match[2]}", text)
    plain = _ACTION.sub(lambda match: f"<<{_ODD.sub('_', match[1])}>>", plain)
    passage = replace(whole(text), text=plain)
    masked = {document.line: document for document in yaml_places.documents(passage)}
    return tuple(_again(found, masked))


def helmfile_objects(file: File) -> tuple[Object | BrokenDocument, ...]:
    """The ``objects`` of a file; those of a template if one that cannot be read may be of a helmfile."""
    if any(isinstance(each, BrokenDocument) and HELMFILE.search(each.text) for each in file.objects):
        return objects(file.content)
    return file.objects


def _again(
    found: tuple[Object | BrokenDocument, ...], masked: dict[int, yaml_places.YamlDocument]
) -> Iterator[Object | BrokenDocument]:
    for each in found:
        document = masked.get(each.line) if isinstance(each, BrokenDocument) else None
        again = tuple(yaml_places.objects_of(document)) if document else ()
        yield from (each,) if any(isinstance(one, BrokenDocument) for one in again) else again or (each,)
