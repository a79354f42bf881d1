"""Regular expressions that files and releases hold, in time that is linear in the text (github.com/google/re2).

Python's own engine tries every way to match: a short pattern keeps it busy forever. RE2 is what Go, so
Flux, kustomize and Kubernetes, and Renovate go by, too: it takes what they take, and refuses what they refuse.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, Protocol

_SURROGATE = re.compile("[\ud800-\udfff]")


class BadPattern(ValueError):
    """RE2 refuses it: a syntax error, a lookaround, a backreference, or more than a thousand repetitions."""


class Match(Protocol):
    def groupdict(self) -> dict[str, str | None]:
        """The named groups, written ``(?<name>…)`` or ``(?P<name>…)``."""


def search(pattern: str, text: str, *, ignore_case: bool = False, by_line: bool = False) -> Match | None:
    """The first place in ``text`` that fits. ``by_line``: ``^`` and ``$`` are of lines. Raises BadPattern."""
    found: Match | None = _compiled(f"(?m){pattern}" if by_line else pattern, ignore_case).search(_encodable(text))
    return found


def is_whole(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Whether all of ``text`` fits. Raises BadPattern."""
    return _compiled(pattern, ignore_case).fullmatch(_encodable(text)) is not None


def fits(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Whether all of ``text`` fits; nothing does where RE2 refuses the pattern."""
    try:
        return is_whole(pattern, text, ignore_case=ignore_case)
    except BadPattern:
        return False


def group_names(pattern: str) -> Collection[str]:
    """The names of its groups. Raises BadPattern."""
    names: Collection[str] = _compiled(pattern, False).groupindex  # noqa: FBT003  (a part of the cache's key)
    return names


def program_size(pattern: str) -> int:
    """How many instructions RE2 makes of it. The time of a search is at most this times the text's length.

    Raises BadPattern.
    """
    size: int = _compiled(pattern, False).programsize  # noqa: FBT003  (as above)
    return size


def spans(pattern: str, text: str, group: str) -> Iterator[tuple[int, int]]:
    """Where ``group`` is in each match in ``text``: offsets in characters. ``^`` and ``$`` are of lines.

    A match in which the group takes no part is left out. Raises BadPattern.
    """
    compiled = _compiled(f"(?m){pattern}", False)  # noqa: FBT003  (as above)
    number = compiled.groupindex[group]
    for match in compiled.finditer(_encodable(text)):
        start, end = match.span(number)
        if start >= 0:
            yield start, end


@lru_cache(maxsize=512)
def _compiled(pattern: str, ignore_case: bool) -> Any:  # noqa: FBT001  (a part of the cache's key)
    import re2  # late: few runs meet a pattern

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(_encodable(pattern), options)
    except re2.error as error:
        (why,) = error.args
        raise BadPattern(why.decode(errors="replace")) from error


def _encodable(text: str) -> str:
    """With U+FFFD for surrogates: JSON may hold some, and file names (PEP 383)."""
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
