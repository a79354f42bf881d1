"""Release notes are quoted so that they mention nobody, break nothing, and fit."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from flux_upgrade.model import markers
from flux_upgrade.pullrequests.text import body as pages
from flux_upgrade.pullrequests.text.notes import notes, quoted
from flux_upgrade.pullrequests.text.view import View
from written_proposals import proposal, proposal_context, state

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
PROPOSAL = proposal()
OURS = {"<details>\n<summary>Release notes: v2.9.3 … v2.9.4</summary>\n", "</details>\n"}
# What GitHub acts on, in what Markdown makes of a text.
MENTION = re.compile(r"@[A-Za-z0-9]")
REFERENCE = re.compile(r"#\d|\bGH-\d", re.IGNORECASE)
INTO_GITHUB = re.compile(r"//(?:www\.)?github\.com/[^/]+/[^/]+/(?:issues|pull|discussions|commit)", re.IGNORECASE)

PIECES = (
    "</details>", "<details>", "<summary>", "<!--", "-->", "<!-- /flux-upgrade -->", "<!-- flux-upgrade {} -->\n",
    "- [x] <!-- flux-upgrade:rebase -->", "- [x] <!-- flux-upgrade:skip -->", "```", "~~~", "````", "`", "``",
    "<pre>", "</pre>", "<script>", '<a b="', "<img src=https://x.example/p.png>", "![", "[", "](", ")", "]: ",
    "@octocat", "\\@octocat", "&#64;octocat", "&commat;octocat", "&amp;#64;octocat", "@", "octocat", "#1", "\\#1",
    "&#35;1", "&num;1", "#", "1", "GH-1", "gh\\-1", "o/r#1", "https://github.com/o/r/issues/1",
    "https://github.com/o/r/pull/1", "<https://github.com/o/r/pull/1>", "//github.com/o/r/issues/1",
    "www.github.com/o/r/issues/1", "https\\://github\\.com/o/r/issues/1", "HTTPS://GitHub.COM/o/r/commit/abcdef0",
    "[^1]", "[^1]: note", "> ", "    ", "\t", "\n", "\n\n", "\r\n", " ", "- ", "1. ", "# ", "===", "---", "***",
    "|", "&lt;", "&", "\\", "\x00", "\u202e", "\u200b", "<", ">", "!", "/lgtm", "$", "<![CDATA[", "<?", "x",
)  # fmt: skip
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=25).map("".join)


def tokens(text: str) -> list[Token]:
    found = []
    for token in MARKDOWN.parse(text):
        found.append(token)
        found += token.children or []
    return found


def body(text: str, limit: int = 65_536) -> str:
    context = proposal_context({"v2.9.4": text, "v2.9.3": "plain"}, limit=limit)
    return pages.body(PROPOSAL, context, state(PROPOSAL))


@given(hostile)
@example("<details\n>@octocat")
@example("```\n</details>\n- [x] <!-- flux-upgrade:rebase -->")
def test_notes_reach_nobody_and_break_out_of_nothing(text: str) -> None:
    whole = body(text)
    parsed = tokens(whole)
    html = [token.content for token in parsed if token.type in ("html_block", "html_inline")]
    assert {each for each in html if "flux-upgrade" not in each} <= OURS
    assert whole.count("<!--") == 4, "the markers of the block, and those of the two boxes"
    assert not markers.is_ticked(whole, markers.REBASE)
    assert not markers.is_ticked(whole, markers.SKIP)
    assert markers.state_of(whole) == state(PROPOSAL)
    ended = [token for token in parsed if token.content == "</details>\n"]
    assert all(token.level == 0 for token in ended)
    shown = "\n".join(token.content for token in parsed if token.type == "text")
    assert not MENTION.search(shown)
    assert not REFERENCE.search(shown)
    links = [str(token.attrs.get("href", "")) for token in parsed if token.type == "link_open"]
    assert not any(map(INTO_GITHUB.search, [*links, shown]))
    assert not any(token.type == "image" for token in parsed)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("\n\n", ""),
        ("a\r\nb", "> a\n> b"),
        ("a\n\n\n", "> a"),
        ("# Big\n### Less\n###### Least\n#5 tag", "> #### Big\n> ###### Less\n> ###### Least\n> #\u200b5 tag"),
        ("Title\n=====\ntext\n---\n\n---", "> Title\n>\n> text\n>\n>\n> ---"),
        ("```sh\n# a comment\n```\n# Big", "> ```sh\n> # a comment\n> ```\n> #### Big"),
        ("- [ ] a\n* [x] b\n1. [X] c\n[ ] d", "> - ☐ a\n> * ☑ b\n> 1. ☑ c\n> [ ] d"),
        ("by @a in https://github.com/o/r/pull/7", "> by @\u200ba in [#\u200b7](https://redirect.github.com/o/r/pull/7)"),
        ("[x](https://github.com/o/r/pull/7)", "> [x](https://redirect.github.com/o/r/pull/7)"),
        ("https://github.community/x", "> https://github.community/x"),
        ("https://raw.githubusercontent.com/o", "> https://raw.githubusercontent.com/o"),
        ("a<!-- b -->c<br>d<kbd>e</kbd>", "> acde"),
        ("<name> && a < b", "> <\u200bname> && a < b"),
        ('<img width="1" src="https://x.example/a.png">', "> [image](https://x.example/a.png)"),
        ("![alt](https://x.example/a.png)", "> [alt](https://x.example/a.png)"),
        ("a\u202eb\x1b[0m", "> ab[0m"),
        ("👩\u200d🚀 ❤\ufe0f", "> 👩\u200d🚀 ❤\ufe0f"),
    ],
)  # fmt: skip
def test_notes_are_quoted(text: str, shown: str) -> None:
    assert quoted(text) == shown


@pytest.mark.parametrize("limit", [2_000, 2_200, 2_500, 3_000, 5_000, 20_000, 65_536])
@pytest.mark.parametrize("line", ["word " * 20, "- [ ] @octocat <b>#1</b> ", "x" * 5_000, "```"])
def test_the_text_fits_and_is_whole(limit: int, line: str) -> None:
    text = body(f"{line}\n" * 2_000, limit)
    assert len(text) <= limit
    assert text.count("<details>") == text.count("</details>")
    assert text.endswith("<!-- /flux-upgrade -->\n")
    assert "tag/v2.9.4)" in text
    assert "flux-upgrade:rebase" in text


def test_the_oldest_notes_give_way_first() -> None:
    noted = {"v2.9.4": "newest " * 50, "v2.9.3": "older " * 50, "v2.9.0": "oldest " * 50}
    view = View(PROPOSAL, proposal_context(noted))
    whole = notes(view, 10_000)
    without = notes(view, len(whole) - 1)
    assert "oldest" in whole
    assert "oldest" not in without
    assert "Omitted because of their length: [v2.9.0]" in without
    assert "older" in without
    assert "older" not in notes(view, len(without) - 1)
    assert notes(view, 10) == ""


def test_only_notes_of_releases_on_the_way_are_quoted() -> None:
    context = proposal_context({"v2.8.8": "the one in use", "v2.9.4-rc.1": "a candidate", "v2.10.0": "later"})
    text = pages.body(PROPOSAL, context, state(PROPOSAL))
    for absent in ("the one in use", "a candidate", "later"):
        assert absent not in text


def test_an_open_comment_many_times_over_takes_no_time() -> None:
    assert quoted("<!--" * 30_000).count("<\u200b!--") == 30_000
