"""Globs as bots write them: ``*`` stays in a folder, ``**`` does not, ``{a,b}`` is a choice.

The common part of minimatch with ``dot`` (Renovate) and Ruby's ``File.fnmatch``
with ``FNM_PATHNAME`` and ``FNM_DOTMATCH`` (Dependabot).
"""

from __future__ import annotations

import re

_PART = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|\{[^{}]*\}|[^*?\[{]+|.", re.DOTALL)
_MEANING = {"**/": "(?:.+/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matches(glob: str, path: str, *, ignore_case: bool = False) -> bool:
    """Whether the whole of ``path`` fits."""
    try:
        return re.fullmatch(_regex(glob), path, re.IGNORECASE if ignore_case else 0) is not None
    except re.error:  # an odd class, like [z-a]
        return False


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
