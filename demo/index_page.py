"""The page of the demo's acts, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import github_page

_STYLE = Path(__file__).with_suffix(".css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_INTRODUCTION = """<p>Everything on this page was written by flux-upgrade while the demo ran. The repositories and
GitHub were simulated on your machine. The releases are small ones with the shape of Flux's.
An act shows a pull request when its text is new or changed.</p>"""


@dataclass(frozen=True)
class Entry:
    """``content``: HTML, as it is; ``state``: of a pull request."""

    anchor: str
    label: str
    content: str
    state: str = ""


@dataclass(frozen=True)
class Act:
    number: int
    title: str
    when: str
    outcome: str
    entries: Sequence[Entry]


def index_page(acts: Sequence[Act]) -> str:
    """Nothing is loaded from elsewhere, and nothing runs."""
    content = f"""<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<nav class=demo-contents><h2>Contents</h2>
<ol>
{"".join(map(_contents, acts))}</ol></nav>
<main>
<h1>The flux-upgrade demo</h1>
{_INTRODUCTION}
{"".join(map(_act, acts))}</main>"""
    return github_page.page(content, title="The flux-upgrade demo", style=_STYLE.read_text(encoding="utf-8"))


def in_repository(name: str, content: str) -> str:
    """A page of a repository."""
    return f"<p class=demo-repository>{escape(name)}</p>\n{content}"


def shown_diff(short: str, whole: str) -> str:
    """A diff, of which the whole is folded."""
    return f"""<section class=github-box><header><b>flux install --export &gt;</b> or <b>Renovate's flux manager</b>
would have written instead</header>
<div class=markdown-body>{_diff(short)}<details><summary>The whole diff</summary>{_diff(whole)}</details></div></section>
"""


def _diff(text: str) -> str:
    kinds = {"-": "removed", "+": "added"}
    lines = (f"<span class={kinds.get(line[:1], 'context')}>{escape(line)}</span>" for line in text.splitlines())
    return f"<pre class=demo-diff>{''.join(lines)}</pre>"


def _contents(act: Act) -> str:
    entries = "".join(
        f'<li><a href="#{each.anchor}">{escape(each.label)}</a>{_state(each.state)}</li>\n' for each in act.entries
    )
    return f'<li value={act.number}><a href="#act-{act.number}">{escape(act.title)}</a>\n<ul>\n{entries}</ul></li>\n'


def _state(state: str) -> str:
    return f' <span class="demo-state {escape(state)}">{escape(state)}</span>' if state else ""


def _act(act: Act) -> str:
    entries = "".join(f'<article id="{each.anchor}">{each.content}</article>\n' for each in act.entries)
    return f"""<section class=demo-act id="act-{act.number}">
<h2>{act.number}. {escape(act.title)}</h2>
<p class=demo-outcome><b>{escape(act.when)}</b> · {escape(act.outcome)}</p>
{entries}</section>
"""
