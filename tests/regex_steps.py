"""How many steps a backtracking engine takes for a pattern, and texts that make it take many.

Patterns are not seen by a tracer. This is the engine of ``re`` written out, on the tree of its own parser, with a
counter: what it counts grows as the time of ``re`` does, on every machine alike.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

# Python's own, which no stubs describe.
op: Any = import_module("re._constants")
parser: Any = import_module("re._parser")

Items = list[tuple[Any, Any]]
_Next = Callable[[int], int | None]
_BOUND = 4
"""A finite bound of a repetition counts as this: it is a constant, and texts would have to be longer than it."""
_ONE = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
_EXAMPLES = "x \n\t#-v1.a_{}[]()\"'\\$:/,@|;&<>=~^*!\0é"


_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


class _Bounds(NamedTuple):
    low: int
    high: int


class TooManySteps(Exception):
    """More than were allowed."""


class Engine:
    def __init__(self, pattern: re.Pattern[Any], most: int) -> None:
        source = pattern.pattern
        text = source.decode("latin-1") if isinstance(source, bytes) else source
        self.flags = pattern.flags
        self.items: Items = list(parser.parse(text, pattern.flags))
        self.most, self.steps = most, 0
        self._text, self._groups = "", dict[int, str]()
        self._fits: dict[tuple[Any, int, str], bool] = {}
        """By the part, which is in the tree as long as this is there, and the character."""
        self._ignores_case = bool(pattern.flags & re.IGNORECASE)
        self._is_multiline = bool(pattern.flags & re.MULTILINE)

    def steps_of(self, text: str, *, is_anchored: bool) -> int:
        """The steps in which every match is found, one behind the other; ``is_anchored``: one at the start.

        ``most`` where there are more.
        """
        self._text, self.steps = text, 0
        with suppress(TooManySteps):
            self._run(is_anchored=is_anchored)
        return self.steps

    def _run(self, *, is_anchored: bool) -> None:
        position = 0
        while position <= (0 if is_anchored else len(self._text)):
            self._groups = {}
            end = self.match(self.items, position, _as_it_is)
            position = position + 1 if end is None or end == position else end

    def match(self, items: Items, at: int, then: _Next) -> int | None:
        return self._match(items, 0, at, then)

    def _match(self, items: Items, index: int, at: int, then: _Next) -> int | None:
        self.steps += 1
        if self.steps > self.most:
            raise TooManySteps
        if index == len(items):
            return then(at)
        kind, value = items[index]

        def rest(position: int) -> int | None:
            return self._match(items, index + 1, position, then)

        if kind in _ONE:
            return rest(at + 1) if at < len(self._text) and self.fits(kind, value, self._text[at]) else None
        if kind in _REPEATS:
            return self._repeat(kind, value, at, rest)
        if kind is op.BRANCH:
            return self._first(self._match(list(each), 0, at, rest) for each in value[1])
        if kind is op.SUBPATTERN:
            return self._group(value, at, rest)
        end = self._without_way_back(kind, value, at)
        return None if end is None else rest(end)

    def _group(self, value: Any, at: int, rest: _Next) -> int | None:
        def close(position: int) -> int | None:
            self._groups[value[0]] = self._text[at:position]
            return rest(position)

        return self._match(list(value[3]), 0, at, close)

    def _without_way_back(self, kind: Any, value: Any, at: int) -> int | None:
        """What matches in one way, or not at all."""
        if kind is op.ATOMIC_GROUP:
            return self._match(list(value), 0, at, _as_it_is)
        if kind in (op.ASSERT, op.ASSERT_NOT):
            start = at - value[1].getwidth()[0] if value[0] < 0 else at
            found = start >= 0 and self._match(list(value[1]), 0, start, _as_it_is) is not None
            return at if found == (kind is op.ASSERT) else None
        if kind is op.AT:
            return at if self._is_at(value, at) else None
        text = self._groups.get(value) if kind is op.GROUPREF else None
        return at + len(text) if text is not None and self._text.startswith(text, at) else None

    def _repeat(self, kind: Any, value: Any, at: int, rest: _Next) -> int | None:
        bounds = _Bounds(*(sys.maxsize if each is op.MAXREPEAT else min(int(each), _BOUND) for each in value[:2]))
        body = list(value[2])
        if len(body) == 1 and body[0][0] in _ONE:
            return self._of_one(kind, bounds, body[0], at, rest)
        if kind is not op.POSSESSIVE_REPEAT:
            return _Repetition(self, body, bounds, rest, is_lazy=kind is op.MIN_REPEAT).match(at, 0)
        end = _Repetition(self, body, bounds, _as_it_is, is_lazy=False).match(at, 0)
        return None if end is None else rest(end)

    @staticmethod
    def _first(found: Iterator[int | None]) -> int | None:
        return next((each for each in found if each is not None), None)

    def _of_one(self, kind: Any, bounds: _Bounds, one: tuple[Any, Any], at: int, rest: _Next) -> int | None:
        ends = self._ends(bounds.high, one, at)
        places = (each for each in ends if each - at >= bounds.low)
        if kind is not op.MIN_REPEAT:
            found = list(places)[::-1]
            return self._first(rest(each) for each in (found[:1] if kind is op.POSSESSIVE_REPEAT else found))
        return self._first(rest(each) for each in places)

    def _ends(self, high: int, one: tuple[Any, Any], at: int) -> Iterator[int]:
        yield at
        for end in range(at, min(len(self._text), at + high)):
            self.steps += 1
            if not self.fits(*one, self._text[end]):
                return
            yield end + 1

    def fits(self, kind: Any, value: Any, character: str) -> bool:
        """Whether a part takes a character: asked for the same ones over and over."""
        key = kind, id(value), character
        if key not in self._fits:
            self._fits[key] = self._is_fit(kind, value, character)
        return self._fits[key]

    def _is_fit(self, kind: Any, value: Any, character: str) -> bool:
        if kind is op.ANY:
            return character != "\n" or bool(self.flags & re.DOTALL)
        if kind is op.IN:
            negated = value[0][0] is op.NEGATE
            return any(self._is_in(each, character) for each in value[negated:]) != negated
        return self._is_in((op.LITERAL, value), character) == (kind is op.LITERAL)

    def _is_in(self, item: tuple[Any, Any], character: str) -> bool:
        kind, value = item
        if kind is op.CATEGORY:
            return re.match(_CATEGORIES[value], character, self.flags & re.ASCII) is not None
        spellings = {character, character.lower(), character.upper()} if self._ignores_case else {character}
        if kind is op.RANGE:
            return any(len(each) == 1 and value[0] <= ord(each) <= value[1] for each in spellings)
        return chr(value) in spellings

    def _is_at(self, where: Any, at: int) -> bool:
        text, many = self._text, self._is_multiline
        if where in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            return at == 0 or (many and where is op.AT_BEGINNING and text[at - 1] == "\n")
        if where in (op.AT_END, op.AT_END_STRING):
            ends = at == len(text) or (where is op.AT_END and at == len(text) - 1 and text[at] == "\n")
            return ends or (many and where is op.AT_END and text[at] == "\n")
        sides = [0 <= each < len(text) and (text[each].isalnum() or text[each] == "_") for each in (at - 1, at)]
        return (sides[0] != sides[1]) == (where is op.AT_BOUNDARY)


class _Repetition(NamedTuple):
    """Of more than a character."""

    engine: Engine
    body: Items
    bounds: _Bounds
    rest: _Next
    is_lazy: bool

    def match(self, at: int, count: int) -> int | None:
        for again in (False, True) if self.is_lazy else (True, False):
            if again and count < self.bounds.high:
                end = self.engine.match(self.body, at, lambda to: None if to == at else self.match(to, count + 1))
            elif not again and count >= self.bounds.low:
                end = self.rest(at)
            else:
                end = None
            if end is not None:
                return end
        return None


def _as_it_is(position: int) -> int:
    return position


def hostile_texts(engine: Engine, count: int) -> Iterator[str]:
    """Texts in which something that a part of the pattern takes is repeated, and then does not go on."""
    for before, again in sorted(set(_pumps(engine, engine.items, ""))):
        for behind in ("", "\0", "x\n"):
            yield before + again * count + behind


def _pumps(engine: Engine, items: Items, before: str) -> Iterator[tuple[str, str]]:
    """What stands before a part, and what the part takes: for each run of the parts of each sequence."""
    examples = [_example(engine, each) for each in items]
    for start, (kind, value) in enumerate(items):
        above = before + "".join(examples[:start])
        for end in {start + 1, start + 2, len(items)}:
            yield above, "".join(examples[start:end]) or " "
        yield "", above + examples[start]
        for inner in _inner(kind, value):
            yield from _pumps(engine, inner, above)
        if kind in _ONE and kind is not op.LITERAL:
            yield from ((above, each) for each in " \t\n-{" if engine.fits(kind, value, each))
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT) and value[2][0][0] in _ONE:
            fitting = [each for each in _EXAMPLES if engine.fits(value[2][0][0], value[2][0][1], each)]
            yield from ((above, each) for each in fitting[:6])


def _inner(kind: Any, value: Any) -> list[Items]:
    if kind is op.BRANCH:
        return [list(each) for each in value[1]]
    if kind is op.SUBPATTERN:
        return [list(value[3])]
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return [list(value[2])]
    return [list(value)] if kind is op.ATOMIC_GROUP else []


def _example(engine: Engine, item: tuple[Any, Any]) -> str:
    """A text that a part takes; a repetition once."""
    kind, value = item
    if kind is op.LITERAL:
        return chr(value)
    if kind in _ONE:
        return next((each for each in _EXAMPLES if engine.fits(kind, value, each)), "x")
    inner = _inner(kind, value)
    return "".join(_example(engine, each) for each in inner[0]) if inner else ""
