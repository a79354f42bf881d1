"""Blocks of a Terraform file with their attributes, as far as they tell who writes a manifest.

A tolerant scanner of HCL's native syntax (hashicorp/hcl, hclsyntax/spec.md): what
is no block or attribute at the top of a block is skipped, never refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<heredoc><<-?(?P<tag>[\w-]+)[ \t]*\r?\n(?:(?:.*?\n)??[ \t]*(?P=tag)[ \t]*(?=\r?\n|\Z)|.*\Z))
      | (?P<word>[A-Za-z_][\w-]*)
      | (?P<end>\n)
      | (?P<other>\S)""",
    re.VERBOSE | re.DOTALL,
)
_IN_STRING = re.compile(r'\\.|\$\$\{|%%\{|[$%]\{|"|[^\\$%"]+|.', re.DOTALL)
_IN_TEMPLATE = re.compile(r'[{}"]|[^{}"]+', re.DOTALL)
_OPEN, _CLOSE = "{[(", "}])"


@dataclass(frozen=True)
class Attribute:
    """``name = expression`` at the top of a block."""

    line: int
    """1-based."""
    text: str
    """The expression as it stands, on one line, without comments."""
    literal: str | None
    """What is between the quotes of an expression that is a string, ``${…}`` included; else None."""


@dataclass(frozen=True)
class Block:
    """``type "label" "label" { … }``."""

    type: str
    labels: tuple[str, ...]
    line: int
    """1-based."""
    attributes: dict[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


def blocks(text: str) -> tuple[Block, ...]:
    """The blocks at the top of a file; none where strings are nested too deeply to be read."""
    try:
        tokens = list(_tokens(text))
    except RecursionError:
        return ()
    found: list[Block] = []
    start, position, depth = 0, 0, 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        if token.kind == "end" and depth == 0:
            start = position
        elif token.text == "{" and token.kind == "other" and depth == 0:
            head = tokens[start : position - 1]
            end = _end(tokens, position)
            if head and head[0].kind == "word" and all(each.kind in ("word", "string") for each in head):
                labels = tuple(each.text for each in head[1:])
                found.append(
                    Block(head[0].text, labels, head[0].line, _attributes(tokens[position : end - 1]))
                )
            position = end
        elif token.kind == "other":
            depth = max(0, depth + (token.text in _OPEN) - (token.text in _CLOSE))
    return tuple(found)


def _end(tokens: list[_Token], position: int) -> int:
    """Behind the bracket that closes the one before ``position``; the end where nothing does."""
    depth = 1
    while position < len(tokens) and depth:
        if tokens[position].kind == "other":
            depth += (tokens[position].text in _OPEN) - (tokens[position].text in _CLOSE)
        position += 1
    return position


def _attributes(tokens: list[_Token]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {}
    for line in _logical_lines(tokens):
        if [(each.kind, each.text) for each in line[1:2]] != [("other", "=")] or line[0].kind != "word":
            continue
        values = line[2:]
        literal = values[0].text if len(values) == 1 and values[0].kind == "string" else None
        found[line[0].text] = Attribute(line[0].line, _shown(values), literal)
    return found


def _logical_lines(tokens: list[_Token]) -> Iterator[list[_Token]]:
    """Tokens up to an end of line that stands in no bracket."""
    line: list[_Token] = []
    depth = 0
    for token in tokens:
        if token.kind == "other":
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if token.kind != "end":
            line.append(token)
        elif depth <= 0:
            yield line
            line, depth = [], 0
    yield line


def _shown(tokens: list[_Token]) -> str:
    return "".join(f'"{each.text}"' if each.kind == "string" else each.text for each in tokens)


def _tokens(text: str) -> Iterator[_Token]:
    line, position = 1, 0
    while (token := _TOKEN.search(text, position)) is not None:
        line += text.count("\n", position, token.start())
        kind, shown, position = token.lastgroup or "other", token[0], token.end()
        if token["heredoc"] is not None:
            kind = "heredoc"
        elif shown == '"':
            position = _string_end(text, position)
            kind, shown = "string", text[token.end() : position - 1]
        if kind != "comment":
            yield _Token(kind, shown, line)
        line += text.count("\n", token.start(), position)


def _string_end(text: str, position: int) -> int:
    """Behind the quote that ends the string that begins at ``position``."""
    while (part := _IN_STRING.match(text, position)) is not None:
        position = part.end()
        if part[0] == '"':
            break
        if part[0] in ("${", "%{"):
            position = _template_end(text, position)
    return position


def _template_end(text: str, position: int) -> int:
    """Behind the brace that ends the ``${`` before ``position``; strings nest in it."""
    depth = 1
    while depth and (part := _IN_TEMPLATE.match(text, position)) is not None:
        position = part.end()
        depth += (part[0] == "{") - (part[0] == "}")
        if part[0] == '"':
            position = _string_end(text, position)
    return position
