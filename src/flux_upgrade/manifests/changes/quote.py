"""Names and values of the manifests within phrases, so that whoever shows a phrase can put them into form.

A phrase is words of ours, and what stands in the manifests, which is anybody's text. The latter is
in backticks, so that nothing of it is ever taken for Markdown, or for words of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from flux_upgrade.markdown import shortened, visible

_LONGEST = 240
_QUOTED = re.compile(r"`([^`]*)`")


def quoted(value: Any) -> str:
    """In one line; text as it is, anything else as JSON."""
    is_text = isinstance(value, str) and value
    text = value if is_text else json.dumps(value, default=str, ensure_ascii=False)
    return f"`{visible(text).replace('`', chr(39))}`"


def listed(values: Iterable[Any]) -> str:
    """One after the other."""
    return ", ".join(map(quoted, values))


def marked(phrase: str, mark: Callable[[str], str]) -> str:
    """The phrase, with ``mark`` around whatever is quoted in it, shortened where nobody would read it."""
    return _QUOTED.sub(lambda found: mark(shortened(found[1], _LONGEST)), phrase)
