"""Read the configuration of bots: JSON5 (json5.org), glob patterns, and the images that a manifest names."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from flux_upgrade.model.patterns import fits

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n\r]*|/\*.*?\*/)
      | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<mark>[{}\[\]:,])
      | (?P<word>[^\s{}\[\]:,"'/]+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_LINE_ENDS = ("\n", "\r", "\r\n", "\u2028", "\u2029")
_PART = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|[^*?\[{]+|.", re.DOTALL)
_MEANING = {"**/": "(?:.+/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_IMAGE = re.compile(rb"^\s*(?:- )?image:\s*[\"']?([^\s\"'@:]+(?::\d+/[^\s\"'@:]+)?)", re.MULTILINE)


def loads(text: str) -> Any:
    """The value in ``text``: JSON with comments, trailing commas, single quotes, bare keys.

    Raises ValueError if there is none, or if it is nested too deeply.
    """
    tokens: list[str] = []
    position = 0
    text = text.removeprefix("\ufeff")
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError(f"unexpected character at position {position}")
        position = token.end()
        if token["mark"] in ("}", "]") and tokens and tokens[-1] == ",":
            tokens.pop()
        if token.lastgroup != "blank":
            tokens.append(_as_json(token))
    try:
        return json.loads(" ".join(tokens))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _as_json(token: re.Match[str]) -> str:
    if token["string"]:
        return json.dumps(_ESCAPE.sub(_unescaped, token["string"][1:-1]))
    word = token["word"]
    if not word:
        return token[0]
    try:
        json.loads(word.removeprefix("+"))
    except ValueError:
        return json.dumps(word)  # a bare key, or a number in a form of JavaScript's
    return word.removeprefix("+")


def _unescaped(escape: re.Match[str]) -> str:
    if escape[3] is None:
        return chr(int(escape[1] or escape[2], 16))
    return "" if escape[3] in _LINE_ENDS else _ESCAPED.get(escape[3], escape[3])


def matches(glob: str, path: str, *, ignore_case: bool = False) -> bool:
    """Whether the whole of ``path`` fits; none does an odd class, like [z-a]."""
    return fits(_regex(glob), path, ignore_case=ignore_case)


@lru_cache(maxsize=512)
def _regex(glob: str) -> str:
    return "".join(map(_translated, _PART.findall(glob)))


def _translated(part: str) -> str:
    if part in _MEANING:
        return _MEANING[part]
    if len(part) > 1 and part[0] == "{":
        return "(?:" + "|".join(map(_regex, part[1:-1].split(","))) + ")"
    if len(part) > 1 and part[0] == "[":
        inner = part[1:-1].replace("\\", "\\\\")
        return f"[^{inner[1:]}]" if inner[0] == "!" else f"[{inner}]"
    return re.escape(part)


def images_in(content: bytes) -> frozenset[str]:
    """The images of ``content``, without tag and digest."""
    return frozenset(match.decode(errors="replace") for match in _IMAGE.findall(content))
