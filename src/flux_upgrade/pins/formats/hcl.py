"""Blocks of a Terraform file with their attributes, and which characters of the file say so.

A tolerant scanner of HCL's native syntax (hashicorp/hcl, hclsyntax/spec.md): what
is no block or attribute at the top of a body is skipped, never refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

from flux_upgrade.model.values import NamedTuple

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
_OPEN = "{[("
_DEPTHS = {**dict.fromkeys(_OPEN, 1), **dict.fromkeys("}])", -1)}
_DEEPEST = 100  # Brackets in brackets: people write ten
_MARK = "\ufeff"  # Terraform accepts a byte order mark


class Attribute(NamedTuple):
    """``name = expression`` at the top of a body, or an item of an expression."""

    line: int  # 1-based
    text: str  # The expression as it stands, on one line, without comments and gaps
    literal: str | None  # What is between the quotes of an expression that is a string, `${…}` included; else None
    start: int = 0  # Offset of the literal's first character, behind the quote, or of the heredoc's; see `TextEdit`
    members: Mapping[str, Attribute] = {}  # Of an expression that is an object
    items: Sequence[Attribute] = ()  # Of an expression that is a list; the arguments of one that is a call
    call: str = ""  # Of an expression that is a call: the function, `yamlencode`
    heredoc: str = ""  # Of an expression that is a heredoc: its lines as they are in the file


class Block(NamedTuple):
    """``type "label" "label" { … }``."""

    type: str
    labels: tuple[str, ...]
    line: int  # 1-based
    attributes: Mapping[str, Attribute] = {}
    blocks: tuple[Block, ...] = ()

    def bodies(self, name: str) -> Iterator[Mapping[str, Attribute]]:
        """Of the blocks ``name { … }`` in it; an object or a list of objects may stand for them."""
        yield from (block.attributes for block in self.blocks if block.type == name)
        given = self.attributes.get(name)
        if given is not None and not given.call:
            yield from (each.members for each in (given, *given.items) if each.members)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int
    start: int  # Of a string: behind its quote
    depth: int  # 1: opens a bracket; -1: closes one; else 0

    def is_one_of(self, signs: str) -> bool:
        return self.kind == "other" and self.text in signs


def blocks(text: str) -> tuple[Block, ...]:
    """The blocks at the top of a file; none where it is nested too deeply to be read."""
    return _read(text)[1]


def attributes(text: str) -> Mapping[str, Attribute]:
    """The attributes at the top of a file, as in ``terraform.tfvars``; none as with ``blocks``."""
    return _read(text)[0]


@lru_cache(maxsize=8)  # For each block that is changed, its file is read
def _read(text: str) -> tuple[Mapping[str, Attribute], tuple[Block, ...]]:
    try:
        tokens = list(_tokens(text))
    except RecursionError:  # templates in strings in templates
        return {}, ()
    # Each level is gone through anew: what nobody writes would take minutes.
    steps = accumulate(token.depth for token in tokens)
    return ({}, ()) if max(steps, default=0) > _DEEPEST else _body(tokens)


def _body(tokens: list[_Token]) -> tuple[dict[str, Attribute], tuple[Block, ...]]:
    found: dict[str, Attribute] = {}
    nested: list[Block] = []
    for line in _split(tokens, ends_at=""):
        if line[0].kind != "word":
            continue
        if line[1:2] and line[1].is_one_of("="):
            found[line[0].text] = _expression(line[0].line, line[2:])
            continue
        at = next((at for at, each in enumerate(line) if each.kind not in ("word", "string")), len(line))
        if line[at:] and line[at].is_one_of("{"):
            labels = tuple(each.text for each in line[1:at])
            inner = _body(line[at + 1 : _end(line, at + 1)])
            nested.append(Block(line[0].text, labels, line[0].line, *inner))
    return found, tuple(nested)


def _expression(line: int, tokens: list[_Token]) -> Attribute:
    literal, start, heredoc, call = None, 0, "", ""
    if len(tokens) == 1 and tokens[0].kind == "string":
        literal, start = tokens[0].text, tokens[0].start
    elif len(tokens) == 1 and tokens[0].kind == "heredoc":
        before, _, heredoc = tokens[0].text.partition("\n")
        start, heredoc = tokens[0].start + len(before) + 1, heredoc[: heredoc.rfind("\n") + 1]
    members: dict[str, Attribute] = {}
    items: tuple[Attribute, ...] = ()
    if tokens[1:2] and tokens[0].kind == "word" and tokens[1].is_one_of("(") and _end(tokens, 2) == len(tokens) - 1:
        call = tokens[0].text
        items = tuple(_expression(part[0].line, part) for part in _split(tokens[2:-1], ends_at=","))
    elif tokens and tokens[0].is_one_of("{[") and _end(tokens, 1) == len(tokens) - 1:
        parts = _split(tokens[1:-1], ends_at=",")
        if tokens[0].text == "{":
            members = {
                part[0].text: _expression(part[0].line, part[2:])
                for part in parts
                if part[1:2] and part[0].kind in ("word", "string") and part[1].is_one_of("=:")
            }
        else:
            items = tuple(_expression(part[0].line, part) for part in parts)
    shown = (f'"{each.text}"' if each.kind == "string" else each.text for each in tokens if each.kind != "end")
    return Attribute(line, "".join(shown), literal, start, members, items, call, heredoc)


def _split(tokens: list[_Token], *, ends_at: str) -> Iterator[list[_Token]]:
    """What stands between the ends of lines, and the signs ``ends_at``, that are in no bracket."""
    part: list[_Token] = []
    depth = 0
    for token in tokens:
        depth += token.depth
        if depth <= 0 and (token.kind == "end" or (ends_at and token.is_one_of(ends_at))):
            yield from [part] if part else []
            part, depth = [], 0
        elif part or token.kind != "end":
            part.append(token)
    yield from [part] if part else []


def _end(tokens: list[_Token], position: int) -> int:
    """Of the bracket that closes the one before ``position``; behind all where none does."""
    depth = 1
    for at in range(position, len(tokens)):
        depth += tokens[at].depth
        if depth == 0:
            return at
    return len(tokens)


def _tokens(text: str) -> Iterator[_Token]:
    line, position = 1, len(_MARK) if text.startswith(_MARK) else 0
    while (token := _TOKEN.search(text, position)) is not None:
        kind, shown = token.lastgroup or "other", token[0]
        begin, position = token.span()
        if kind == "end":
            yield _Token(kind, shown, line, begin, 0)
            line += 1
        elif kind == "word":
            yield _Token(kind, shown, line, begin, 0)
        elif shown == '"':
            start, position = position, _string_end(text, position)
            yield _Token("string", text[start : position - 1], line, start, 0)
            line += text.count("\n", start, position)
        elif kind == "other":
            yield _Token(kind, shown, line, begin, _DEPTHS.get(shown, 0))
        else:
            if token["heredoc"] is not None:
                yield _Token("heredoc", shown, line, begin, 0)
            line += text.count("\n", begin, position)


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
