"""A text as Go's YAML writes it: the one emitter through which all of Flux's bootstrap files go.

Source of the rules: sigs.k8s.io/yaml, which emits through go-yaml 2 (``resolve.go``, ``encode.go``,
``emitterc.go``). A library of Python's decides otherwise about numbers, dates and line breaks.
"""

from __future__ import annotations

import math
import re

_BEST_WIDTH = 80
_PLANE = 0xFFFF  # The last character that the emitter takes to be printable
_MOST = 2**64
_LEAST = -(2**63)
_WORD = re.compile(
    r"y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF|true|True|TRUE|false|False|FALSE"
    r"|~|null|Null|NULL|\.nan|\.NaN|\.NAN|[-+]?\.(inf|Inf|INF)"
)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_TIME = r"([01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9](\.[0-9]+)?"
_DATE = re.compile(rf"([0-9]{{4}})-([0-9]{{1,2}})-([0-9]{{1,2}})([Tt]{_TIME}(Z|[-+][0-9]{{2}}:[0-9]{{2}})| {_TIME})?")
_FIRST = frozenset("#,[]{}&*!|>'\"%@`")


def line(prefix: str, text: str) -> str:
    """``prefix`` (``  path: ``, ``- ``) and ``text`` with its quotes, folded at 80 columns.

    ``text`` is one line of printable characters.
    """
    quote = ""
    if any(ord(character) > _PLANE for character in text):
        plain = text.replace("\\", "\\\\").replace('"', '\\"')
        text = "".join(f"\\U{ord(each):08X}" if ord(each) > _PLANE else each for each in plain)
        quote = '"'
    elif not text or _is_something_else(text):
        quote = '"'
    elif _takes_quotes(text):
        text, quote = text.replace("'", "''"), "'"
    indent = len(prefix) - len(prefix.lstrip(" ")) + 2
    return f"{prefix}{quote}{_folded(text, len(prefix) + len(quote), indent)}{quote}\n"


def _is_something_else(text: str) -> bool:
    """Whether the unquoted text would be read as something else than a string."""
    if _WORD.fullmatch(text) or _BASE_60.fullmatch(text):
        return True
    if text[0] == ".":
        return _FLOAT.fullmatch(text) is not None
    if text[0] not in "+-0123456789":
        return False
    plain = text.replace("_", "")
    if _INTEGER.fullmatch(plain):
        # Python has no leading zero for octal numbers; their size is all that matters here.
        digits = re.sub(r"^([-+]?)0([0-7]+)$", r"\g<1>0o\2", plain)
        if _LEAST <= int(digits, 0) < _MOST:
            return True
    is_float = _FLOAT.fullmatch(plain) is not None and not math.isinf(float(plain))
    return is_float or _is_date(text)


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    from datetime import date

    try:
        date(int(found[1]) or 4, int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


def _takes_quotes(text: str) -> bool:
    return (
        text[0] in _FIRST
        or text.startswith(("---", "...", "- ", "? ", ": "))
        or text in ("-", "?", ":")
        or text[0] == " "
        or text[-1] in " :"
        or ": " in text
        or " #" in text
    )


def _folded(text: str, column: int, indent: int) -> str:
    """Broken at single spaces beyond the best width, as libyaml does."""
    parts = []
    for index, character in enumerate(text):
        is_inside = character == " " and 0 < index < len(text) - 1
        if is_inside and column > _BEST_WIDTH and " " not in (text[index - 1], text[index + 1]):
            parts.append("\n" + " " * indent)
            column = indent
        else:
            parts.append(character)
            column += 1
    return "".join(parts)
