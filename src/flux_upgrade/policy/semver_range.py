"""Ranges of versions as Flux users write them (github.com/Masterminds/semver/v3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version

HINT = "write it like 2.x, ~2.8, ^2.6, >=2.6 <2.9, !=2.7.0 or 2.6 - 2.8; a space or comma means AND, || means OR"
_LONGEST = 512  # as in Masterminds/semver
_ORDERS = {"=": (0,), "!=": (-1, 1), ">": (1,), "<": (-1,), ">=": (0, 1), "<=": (-1, 0)}
"""Operator → how a version may stand to the one that is named: -1 is lower, 0 equal, 1 higher."""
_ALIASES = {"": "=", "=>": ">=", "=<": "<=", "~>": "~"}
_OPERATORS = {*_ORDERS, "~", "^"}
_ANY = {"=", ">=", "~"}
"""What may stand before ``*``. Of the others Masterminds makes what nobody means: ``^*`` is 0.0.0."""
_SIGNS = "=<>!~^"
_GAP = re.compile(rf"([{_SIGNS}])\s+")
_AND = re.compile(r"\s*,\s*|\s+")
_HYPHEN = re.compile(rf"(?<![^\s,])([^\s,{_SIGNS}]+)\s+-\s+([^\s,{_SIGNS}]+)")
_VERSION = re.compile(r"v?([^-+]+)(.*)")


class _Comparison(NamedTuple):
    operator: str
    base: Version  # What was not given is 0
    depth: int  # How many numbers were given: 2 for `2.8` and `2.8.x`

    def holds(self, version: Version) -> bool:
        given, numbers = self.base.numbers[: self.depth], version.numbers[: self.depth]
        is_whole = self.depth == len(("major", "minor", "patch"))
        if self.operator in ("~", "^") or (self.operator == "=" and not is_whole):
            # ^ keeps the numbers up to the first that is not 0, ~ major and minor.
            first = next((at for at, number in enumerate(given, 1) if number), len(given))
            kept = first if self.operator == "^" else 2
            return version >= self.base and numbers[:kept] == given[:kept]
        if is_whole or self.operator in (">=", "<"):
            order = (version > self.base) - (version < self.base)
        else:
            # >2.8 begins with 2.9.0, and <=2.8 holds all of 2.8.
            order = (numbers > given) - (numbers < given)
        return order in _ORDERS[self.operator]


@dataclass(frozen=True, repr=False)
class Constraint:
    """A parsed range: comparisons joined by "and", and such groups by "or".

    A version with a prerelease is admitted only by a group in which a comparison has
    one: ``>=2.8.0-0``. Unlike in Masterminds, ``!=2.8`` is about the prereleases of 2.8
    too, and a number after ``x`` or with leading zeros is an error. Raises UsageError
    for a text that is no range.
    """

    text: str

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise UsageError("the range is empty", hint=HINT)
        if len(self.text) > _LONGEST:
            raise UsageError(f"the range is longer than {_LONGEST} characters", hint=HINT)
        _ = self._groups  # now, for the errors

    @cached_property
    def _groups(self) -> tuple[tuple[_Comparison, ...], ...]:
        return tuple(_group(part, self.text) for part in self.text.split("||"))

    def allows(self, version: Version) -> bool:
        return any(
            (not version.is_prerelease or any(each.base.is_prerelease for each in group))
            and all(each.holds(version) for each in group)
            for group in self._groups
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Constraint({self.text!r})"


def _group(part: str, text: str) -> tuple[_Comparison, ...]:
    if not part.strip():
        raise UsageError(f"range {text!r}: one side of || is empty", hint=HINT)
    spelled = _HYPHEN.sub(r">=\1 <=\2", _GAP.sub(r"\1", part.strip()))
    return tuple(_comparison(word, text) for word in _AND.split(spelled))


def _comparison(word: str, text: str) -> _Comparison:
    if not word:
        raise UsageError(f"range {text!r}: one side of a comma is empty", hint=HINT)
    version = word.lstrip(_SIGNS)
    sign = word.removesuffix(version)
    operator = _ALIASES.get(sign, sign)
    if operator not in _OPERATORS:
        raise UsageError(f"range {text!r}: {sign!r} is not an operator", hint=HINT)
    given, base = _parsed(version)
    if base is None:
        raise UsageError(f"range {text!r}: {(version or word)!r} is not a version", hint=HINT)
    if not given and operator not in _ANY:
        raise UsageError(f"range {text!r}: {word!r} compares with a wildcard", hint=HINT)
    return _Comparison(operator, base, len(given))


def _parsed(text: str) -> tuple[tuple[str, ...], Version | None]:
    """The numbers before the first ``x``, and the version with 0 for those not given; None: it is none."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return (), None
    core, rest = match.groups()
    numbers = core.split(".")
    given = tuple(each for each in numbers if each not in ("x", "X", "*"))
    if numbers[: len(given)] != list(given) or len(numbers) > len(("major", "minor", "patch")):
        return (), None
    return given, Version.parse("v" + ".".join((*given, "0", "0", "0")[:3]) + rest)
