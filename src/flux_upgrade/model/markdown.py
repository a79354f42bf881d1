"""Markdown that shows text of anybody's, and lets it do nothing: no HTML, mention, reference or marker.

Paths, YAML values and the like are escaped (``code``, ``plain``). GitHub looks for
mentions and references in what Markdown makes of a text, so that a backslash does not
keep them off: a zero width space does (https://docs.github.com/en/get-started/writing-on-github/
working-with-advanced-formatting/autolinked-references-and-urls).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from flux_upgrade.model.text import printable

BREAK = "\u200b"  # Zero width space: takes mentions, references and tags apart, and is not seen
_LONGEST = 120
# A backslash may stand before any punctuation, and is gone once Markdown has read the text.
_MENTION = re.compile(r"@(?=\S)")
_REFERENCE = re.compile(r"(#|\bGH\\?-)(?=\d)", re.IGNORECASE)
_GITHUB = re.compile(
    r"(https?\\?:)?\\?/\\?/(?:www\\?\.)?github\\?\.com(?=[\\/:?#\s)\]>\"']|$)|\bwww\\?\.github\\?\.com(?=\\?/)",
    re.IGNORECASE,
)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SPECIAL = re.compile(r"[\\`*\[\]|~$]|(?<!\w)_|_(?!\w)")
_BACKTICKS = re.compile(r"`+")
_BLOCK = re.compile(r"[#>+=:-]|\d+[.)](?=\s|$)")


def visible(text: str) -> str:
    """In one line, without characters that steer a terminal or turn the direction of writing."""
    return printable(" ".join(text.split()))


def shortened(text: str, longest: int = _LONGEST) -> str:
    """At most ``longest`` characters; what is in the middle gives way, paths tell most at their ends."""
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[: longest - 1 - half]}…{text[len(text) - half :]}"


def defused(text: str) -> str:
    """``text`` with nothing in it that GitHub would act on; it looks as it did.

    Links into GitHub go by its redirecting host, which leaves no trace at the other end.
    """
    text = _GITHUB.sub(lambda found: f"{found[1] or 'https:'}//redirect.github.com", text)
    text = _REFERENCE.sub(rf"\1{BREAK}", text)
    text = _MENTION.sub(f"@{BREAK}", text)
    return _TAG.sub(f"<{BREAK}", text)


def inert(text: str) -> str:
    """For titles and commit messages, which are no Markdown."""
    return defused(visible(text))


def plain(text: str, longest: int = 400) -> str:
    """As running text, wherever it stands."""
    shown = shortened(visible(text), longest).replace("&", "&amp;").replace("<", "&lt;")
    escaped = _SPECIAL.sub(r"\\\g<0>", defused(shown))
    return BREAK + escaped if _BLOCK.match(escaped) else escaped


def prose(text: str) -> str:
    """As running text of ours, in which names stand between backticks; they come out as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0 or not all(parts[1::2]):
        return plain(text)
    return "".join(code(part) if at % 2 else _inner(part) for at, part in enumerate(parts))


def _inner(text: str) -> str:
    before, after = (" " if text != bare else "" for bare in (text.lstrip(), text.rstrip()))
    return f"{before}{plain(text)}{after}" if text.strip() else before


def code(text: str, longest: int = _LONGEST) -> str:
    """As code, where GitHub looks for neither mentions nor references; ours look for markers there."""
    shown = shortened(visible(text), longest).replace("<!--", f"<{BREAK}!--")
    if not shown:
        return "(empty)"
    fence = "`" * (max(map(len, _BACKTICKS.findall(shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def fenced(text: str, language: str = "") -> str:
    """As lines of code, to be copied: whatever backticks are in it."""
    fence = "`" * max(3, *(len(each) + 1 for each in ["", *_BACKTICKS.findall(text)]))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """``head`` and cells are Markdown, made with ``code`` and ``plain`` as anywhere else."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    # `plain` has escaped its pipes; `code` has not, for in code that works in a table alone.
    # A backslash before a pipe may itself be one that is escaped.
    return re.sub(r"(?<!\\)((?:\\\\)*)\|", r"\1\\|", text)


def fold(summary: str, content: str) -> str:
    """What is opened with a click. ``summary`` is HTML."""
    return f"<details>\n<summary>{summary}</summary>\n\n{content.strip()}\n\n</details>"


def bullets(lines: Iterable[str]) -> str:
    """A list; lines within an item are indented."""
    return "\n".join("- " + line.replace("\n", "\n  ") for line in lines)


def numbered(things: Iterable[str]) -> str:
    """A numbered list; an item may be paragraphs."""
    items = []
    for number, thing in enumerate(things, 1):
        mark = f"{number}. "
        items.append(mark + thing.replace("\n", "\n" + " " * len(mark)).replace(f"\n{' ' * len(mark)}\n", "\n\n"))
    return "\n".join(items)


def counted(count: int, one: str) -> str:
    """``1 edit``, ``2 edits``."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"
