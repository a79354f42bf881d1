"""Release notes of every version passed, quoted so that they reach nobody and break out of nothing.

They are Markdown of anybody's. What GitHub would act on is taken apart, wherever it
stands; each note is a block quote, which ends whatever it leaves open: a fence, a
list, a comment. What follows a block quote's ``>`` is no command for a bot either.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from flux_upgrade.model.markdown import BREAK, defused, fold
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pullrequests.text.view import View

_RELEASE = "https://github.com/fluxcd/flux2/releases/tag"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_TASK = re.compile(r"^(\s*(?:[-*+]|\d+[.)])\s+)\[([ xX])\](?=\s)")
_BARE_PULL = re.compile(
    r"(?:(?<=\s)|^)https://redirect\.github\.com/[\w.-]+/[\w.-]+/(?:pull|issues)/(\d+)(?=[\s.,;:)]|$)"
)
_IMAGE = re.compile(r"!+(?=\[)")
_IMG = re.compile(r"<img\b[^<>]*?\bsrc\s*=\s*[\"']?(https?://[^\s\"'<>()]+)[^<>]*>", re.IGNORECASE)
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+)>", re.IGNORECASE)
# What GitHub shows of HTML, less what stands for something itself.
_HTML = re.compile(
    r"</?(?:a|b|blockquote|br|center|code|dd|del|details|div|dl|dt|em|h[1-6]|hr|i|img|ins|kbd|li|ol|p|picture|pre|"
    r"q|s|samp|source|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|ul|var|video)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?=#?\w+;)")
_DEMOTED = 3
_DEEPEST = 6
_CHECKED = {" ": "☐", "x": "☑", "X": "☑"}


def link(tag: str) -> str:
    return f"[{tag}]({_RELEASE}/{tag})"


def passed(view: View) -> list[Version]:
    """The releases that any installation passes or comes to, newest first; prereleases only as a target."""
    spans = [(plan.pin.version, upgrade.target) for plan, upgrade in view.upgrades if is_tag(plan.pin.version)]
    tags = {
        release.tag
        for release in view.context.releases
        if (not release.prerelease or release.tag in view.targets)
        and any(after < release.tag <= upto for after, upto in spans)
    }
    return sorted(tags, reverse=True)


def notes(view: View, room: int) -> str:
    """The notes in a fold, in at most ``room`` characters; the oldest give way first.

    Empty where not even the links to the releases have room.
    """
    texts = {release.tag: release.notes for release in view.context.releases}
    tags = passed(view)
    quotes = [quoted(texts[tag][: 2 * room]) for tag in tags]
    for count in range(len(tags), -1, -1):
        text = _folded(tags, quotes[:count])
        if len(text) <= room:
            return text
        if count == 1:
            # All the others have given way: what there is of the newest is shown as far as it goes.
            text = _folded(tags, [_cut(quotes[0], room - len(_folded(tags, ["x"])), tags[0])])
            if len(text) <= room:
                return text
    return ""


def _folded(tags: Sequence[str], quotes: Sequence[str]) -> str:
    """The first releases with their notes, the others by their links."""
    if not any(quotes) and len(quotes) == len(tags):
        return f"**Release notes:** {', '.join(map(link, tags))}" if tags else ""
    sections = [f"#### {link(tag)}\n\n{quote}" for tag, quote in zip(tags, quotes, strict=False) if quote]
    silent = [tag for tag, quote in zip(tags, quotes, strict=False) if not quote]
    left_out = tags[len(quotes) :]
    if silent:
        sections.append(f"Without notes here: {', '.join(map(link, silent))}.")
    if left_out:
        sections.append(f"Omitted because of their length: {', '.join(map(link, left_out))}.")
    span = tags[0] if len(tags) == 1 else f"{tags[-1]} … {tags[0]}"
    return fold(f"Release notes: {span}", "\n\n".join(sections))


def _cut(quote: str, room: int, tag: str) -> str:
    """The lines of a quote that have room, and where the others are."""
    # Below the quote, which may have been cut within a fence.
    rest = f"\n\n… the rest is in {link(tag)}."
    kept = quote[: max(room - len(rest), 0)].rpartition("\n")[0]
    return kept + rest if kept else ""


def quoted(text: str) -> str:
    """Notes as a block quote; empty for empty ones."""
    lines = list(_lines(_without_html(text)))
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _without_html(text: str) -> str:
    """Without HTML; what is left of it is text. Characters that are not seen go, line ends stay."""
    # First of all, so that nothing below is hidden in an entity.
    text = html.unescape(text.replace("\r\n", "\n"))
    text = "".join(char for char in text if char in "\n\t" or char.isprintable() or char in "\u200d\ufe0f")
    text = _without_comments(text)
    text = _IMG.sub(r"[image](\1)", text)
    text = _AUTOLINK.sub(r"\1", _HTML.sub("", text))
    text = _ENTITY.sub("&amp;", _IMAGE.sub("", text))
    # A footnote would stand below everything else, out of the fold.
    return defused(text).replace("[^", f"[{BREAK}^").strip("\n")


def _without_comments(text: str) -> str:
    # Not by a regular expression: that takes time by the square of the comments that are left open.
    parts = []
    while True:
        before, begin, rest = text.partition("<!--")
        parts.append(before)
        _, end, after = rest.partition("-->")
        if not end:
            return "".join([*parts, begin, rest])
        text = after


def _lines(text: str) -> Iterator[str]:
    """Headings smaller, boxes that cannot be ticked, pull requests by their number; code as it is."""
    fence = ""
    before = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence or mark:
            if mark and not fence:
                fence = mark[1]
            elif mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            yield line
        elif _UNDERLINE.fullmatch(line) and before.strip():
            yield ""
        else:
            yield _prose(line)
        before = line


def _prose(line: str) -> str:
    line = _HEADING.sub(lambda found: "#" * min(len(found[1]) + _DEMOTED, _DEEPEST), line, count=1)
    line = _TASK.sub(lambda found: found[1] + _CHECKED[found[2]], line)
    return _BARE_PULL.sub(lambda found: f"[#{BREAK}{found[1]}]({found[0]})", line)
