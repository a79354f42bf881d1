"""Markdown is shown as GitHub shows it, and text from elsewhere adds nothing to a page but text."""

from __future__ import annotations

import pytest
from github_markdown import rendered


def test_what_our_texts_use_is_kept() -> None:
    text = "<details>\n<summary><b>1 file</b></summary>\n\n* a<br>b\n\n</details>\n\n<sub>small</sub>\n"
    html = rendered(text)
    for element in ("<details>", "<summary><b>1 file</b></summary>", "a<br>b", "</details>", "<sub>small</sub>"):
        assert element in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "<details open ontoggle=alert(1)>\n\n</details>",
        "<a href='javascript:alert(1)'>a</a>",
        "<details>\n<iframe src=x></iframe>\n</details>",
        "<!-- a --><style>b</style>",
    ],
)
def test_other_html_is_text(text: str) -> None:
    html = rendered(text)
    for element in ("<script", "<img", "<details open", "<a ", "<iframe", "<style"):
        assert element not in html
    assert "&lt;" in html


def test_a_link_to_a_script_is_text() -> None:
    assert "href" not in rendered("[a](javascript:alert(1))")


def test_comments_are_not_seen() -> None:
    assert rendered('<!-- {"a": 1}\n -->\nText <!-- b -->') == "\n<p>Text </p>\n"


def test_a_discussion_keeps_line_breaks_and_its_boxes_can_be_ticked() -> None:
    assert rendered("a\nb", is_discussion=True) == "<p>a<br />\nb</p>\n"
    assert "disabled" in rendered("- [ ] a")
    assert "disabled" not in rendered("- [ ] a", is_discussion=True)


def test_links_lead_where_the_page_says() -> None:
    places = {"https://a.example/1": "#one"}
    text = "[1](https://a.example/1) [2](https://a.example/2)"
    assert rendered(text, address=lambda address: places.get(address, "")) == '<p><a href="#one">1</a> <a>2</a></p>\n'
