"""HTML pages that look like GitHub's: what github_page.css styles, around a text that is HTML already."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Literal

Scheme = Literal["light", "dark"]
STYLESHEET = Path(__file__).with_suffix(".css")
State = Literal["open", "draft", "merged", "closed"]
_BOT = "<b>github-actions</b><span class=github-bot>bot</span>"
_ICON = """<svg width="16" height="16" viewBox="0 0 16 16"><g fill="none" stroke="currentColor" stroke-width="1.5">
<circle cx="3.5" cy="3" r="1.9"/><circle cx="3.5" cy="13" r="1.9"/><circle cx="12.5" cy="{end}" r="1.9"/>
<path d="M3.5 5v6"/><path d="{branch}"/></g></svg>"""
_OPEN = (13, "M12.5 11V5.5a2 2 0 0 0-2-2H8m2-2-2 2 2 2")
_ICONS: dict[State, tuple[int, str]] = {
    "open": _OPEN,
    "draft": (13, "M12.5 3v1.4M12.5 7v1.4"),
    "merged": (9, "M3.5 5c.5 2.5 3 4 7 4"),
    "closed": _OPEN,
}
"""How high the second branch ends, and its line."""


def pull_request(title: str, body: str, state: State = "open", *, number: int = 0, base: str = "main") -> str:
    """A pull request that the Action opened, as those see it who may tick its boxes. ``number``: 0 shows none."""
    shown = f" <span>#{number}</span>" if number else ""
    return f"""<h1 class=github-title>{html.escape(title)}{shown}</h1>
<p class=github-state>{_badge(state)}<span>{_BOT} wants to merge 1 commit into <code>{html.escape(base)}</code></span></p>
<section class=github-box><header>{_BOT} commented</header>{_text(body.replace(' disabled=""', ""))}</section>
"""


def issue(title: str, body: str) -> str:
    """An issue that the Action opened, as those see it who may tick its boxes."""
    return f"""<h1 class=github-title>{html.escape(title)}</h1>
<p class=github-state><span class="github-badge open">Open</span></p>
<section class=github-box><header>{_BOT} opened</header>{_text(body.replace(' disabled=""', ""))}</section>
"""


def pull_request_line(title: str, state: State, anchor: str, merged_by: str = "") -> str:
    """A pull request whose text is elsewhere on the page."""
    deed = f" by <b>{html.escape(merged_by)}</b>" if merged_by else ""
    linked = f'<a href="#{html.escape(anchor)}">{html.escape(title)}</a>'
    return f"<p class=github-state>{_badge(state)}<span class=markdown-body>{linked}{deed}</span></p>\n"


def job_summary(job: str, body: str, note: str = "") -> str:
    """The summary of a job, on the page of its run. ``note``: of which run."""
    shown = f"<span>{html.escape(note)}</span>" if note else ""
    header = f"<header><b>{html.escape(job)}</b> summary{shown}</header>"
    return f"<section class=github-box>{header}{_text(body)}</section>\n"


def page(content: str, *, title: str = "", scheme: Scheme | None = None, style: str = "") -> str:
    """A page with the stylesheet in it. ``scheme``: by default the reader's own; ``style``: more rules."""
    named = f"<title>{html.escape(title)}</title>\n" if title else ""
    chosen = f' style="color-scheme: {scheme}"' if scheme else ""
    return f"""<!doctype html>
<html lang="en"{chosen}>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
{named}<style>{STYLESHEET.read_text(encoding="utf-8")}{style}</style>
{content}
"""


def _badge(state: State) -> str:
    end, branch = _ICONS[state]
    return f'<span class="github-badge {state}">{_ICON.format(end=end, branch=branch)} {state.capitalize()}</span>'


def _text(body: str) -> str:
    return f'<div class="markdown-body">{body}</div>'
