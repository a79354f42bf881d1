"""Keys of a text that was meant to be YAML and is none as it stands: a template of Helm's or Jinja's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

ENDS = (".j2", ".jinja", ".tmpl", ".tpl", ".gotmpl")
"""Of the names of templates."""
_KEY = re.compile(r"""([ \t]*(?:-[ \t]+)*)["']?([\w.-]+)["']?:(?:[ \t]+(.*?))?(?:[ \t]#.*)?[ \t\r]*""")


def stated(text: str, *keys: str) -> tuple[int, str] | None:
    """Where the last of ``keys`` stands, each below the one before: line (1-based) and what follows it.

    Only layout counts. None: no such keys, or only in comments.
    """
    rows = [_KEY.fullmatch(row) for row in text.split("\n")]
    return next(_below(rows, 0, -1, keys), None)


def _below(
    rows: Sequence[re.Match[str] | None], start: int, depth: int, keys: Sequence[str]
) -> Iterator[tuple[int, str]]:
    for index in range(start, len(rows)):
        match = rows[index]
        if match is None:
            continue
        indent = len(match[1])
        if indent <= depth:
            return
        if match[2] != keys[0]:
            continue
        if len(keys) == 1:
            yield index + 1, match[3] or ""
        else:
            yield from _below(rows, index + 1, indent, keys[1:])
