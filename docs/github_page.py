"""HTML pages that look like GitHub's: what github_page.css styles, around a text that is HTML already."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Literal

Scheme = Literal["light", "dark"]
STYLESHEET = Path(__file__).with_suffix(".css")
_BOT = "<b>github-actions</b><span class=github-bot>bot</span>"
_ICON = """<svg width="16" height="16" viewBox="0 0 16 16"><g fill="none" stroke="currentColor" stroke-width="1.5">
<circle cx="3.5" cy="3" r="1.9"/><circle cx="3.5" cy="13" r="1.9"/><circle cx="12.5" cy="13" r="1.9"/>
<path d="M3.5 5v6"/><path d="{branch}"/></g></svg>"""
_BRANCH = {True: "M12.5 3v1.4M12.5 7v1.4", False: "M12.5 11V5.5a2 2 0 0 0-2-2H8m2-2-2 2 2 2"}
"""By whether it is a draft."""


def pull_request(title: str, body: str, *, is_draft: bool, base: str = "main") -> str:
    """A pull request that the Action opened, as those see it who may tick its boxes."""
    state, kind = ("Draft", " draft") if is_draft else ("Open", "")
    badge = f'<span class="github-badge{kind}">{_ICON.format(branch=_BRANCH[is_draft])} {state}</span>'
    return f"""<h1 class=github-title>{html.escape(title)}</h1>
<p class=github-state>{badge}<span>{_BOT} wants to merge 1 commit into <code>{html.escape(base)}</code></span></p>
<section class=github-box><header>{_BOT} commented</header>{_text(body.replace(' disabled=""', ""))}</section>
"""


def job_summary(job: str, body: str) -> str:
    """The summary of a job, on the page of its run."""
    return f"""<section class=github-box><header><b>{html.escape(job)}</b> summary</header>{_text(body)}</section>
"""


def page(content: str, *, scheme: Scheme | None = None, style: str = "") -> str:
    """A page with the stylesheet in it. ``scheme``: by default the reader's own; ``style``: more rules."""
    chosen = f' style="color-scheme: {scheme}"' if scheme else ""
    return f"""<!doctype html>
<html lang="en"{chosen}>
<meta charset="utf-8">
<style>{STYLESHEET.read_text(encoding="utf-8")}{style}</style>
{content}
"""


def _text(body: str) -> str:
    return f'<div class="markdown-body">{body}</div>'
