"""Markdown as HTML, as GitHub shows it: of the HTML in it, only what our texts use, and no attributes."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from mdit_py_plugins.tasklists import tasklists_plugin

_TAG = re.compile(r"<!--.*?-->|<(/?(?:b|br|details|sub|summary))\s*/?>", re.DOTALL)

Address = Callable[[str], str]
"""The address in a link → where the link leads to; empty: nowhere."""


def rendered(text: str, *, is_discussion: bool = False, address: Address = str) -> str:
    """``is_discussion``: a pull request, where line breaks are kept and boxes can be ticked."""

    def judge(state: StateCore) -> None:
        for token in (each for block in state.tokens for each in (block, *(block.children or ()))):
            if token.type in ("html_block", "html_inline"):
                token.content = _allowed(token.content)
            elif token.type == "link_open":
                there = address(str(token.attrs.pop("href")))
                token.attrs |= {"href": there} if there else {}

    markdown = MarkdownIt("commonmark", {"breaks": is_discussion}).enable(["table", "strikethrough"])
    markdown.use(tasklists_plugin, enabled=is_discussion)
    # Before the boxes, which are HTML too.
    markdown.core.ruler.after("inline", "judge", judge)
    return str(markdown.render(text))


def _allowed(text: str) -> str:
    """HTML without comments, in which other tags are shown as text."""
    parts, at = [], 0
    for found in _TAG.finditer(text):
        parts += [html.escape(text[at : found.start()], quote=False), f"<{found[1]}>" if found[1] else ""]
        at = found.end()
    return "".join([*parts, html.escape(text[at:], quote=False)])
