"""The site has every page, its links lead out of ``docs`` where they have to, and its lists are lists."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
import site_hook
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
FENCE_OR_ITEM = re.compile(r"^( +)(?:```|[-*] |\d+\. )", re.MULTILINE)
BLOCK = re.compile(r"^( *```)[^\n]*\n.*?^ *```$", re.DOTALL | re.MULTILINE)
PULL_REQUEST = re.compile(r"^> .*$\n?", re.MULTILINE)
REPOSITORY = "https://git.example.com/octo-org/flux-upgrade"


class Settings(yaml.SafeLoader):
    """mkdocs' own tags are passed over: they name Python."""


Settings.add_multi_constructor("", lambda *_: None)


def settings() -> dict[str, Any]:
    found: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(), Settings)  # noqa: S506 a safe loader
    return found


def listed(entry: object) -> list[str]:
    match entry:
        case str():
            return [entry]
        case list():
            return [page for each in entry for page in listed(each)]
        case dict():
            return [page for each in entry.values() for page in listed(each)]
    raise AssertionError(entry)


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(listed(settings()["nav"])) == sorted([site_hook.HOME, *PAGES])


def test_the_navigation_follows_the_reader() -> None:
    sections = [name for each in settings()["nav"] for name in each]
    path = ["Get started", "Read your first pull request", "Approve a minor", "What it checks", "Reference"]
    assert [name for name in sections if name in path] == path


def test_whatever_leads_nowhere_fails_the_build() -> None:
    validation = settings()["validation"]
    assert {validation["links"][name] for name in ("not_found", "anchors")} == {"warn"}
    assert {validation["nav"][name] for name in ("omitted_files", "not_found")} == {"warn"}
    assert re.search(r"mkdocs build --strict$", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "link", "on_the_site"),
    [
        ("README.md", "docs/how-to/upgrade.md#in-a-script", "how-to/upgrade.md#in-a-script"),
        ("README.md", "docs/reference/cli.md", "reference/cli.md"),
        ("README.md", "examples", f"{REPOSITORY}/tree/main/examples"),
        ("README.md", "LICENSE", f"{REPOSITORY}/blob/main/LICENSE"),
        ("docs/releases.md", "../CHANGELOG.md", f"{REPOSITORY}/blob/main/CHANGELOG.md"),
        ("docs/how-to/upgrade.md", "../../examples/scheduled.yaml", f"{REPOSITORY}/blob/main/examples/scheduled.yaml"),
        ("docs/how-to/upgrade.md", "../../README.md#turn-it-on", "../index.md#turn-it-on"),
        ("docs/how-to/upgrade.md", "../reference/cli.md#environment", "../reference/cli.md#environment"),
        ("docs/how-to/upgrade.md", "registries.md", "registries.md"),
        ("docs/how-to/upgrade.md", "#in-a-script", "#in-a-script"),
        ("docs/how-to/upgrade.md", "https://fluxcd.io", "https://fluxcd.io"),
    ],
)
def test_a_link_works_on_the_site(page: str, link: str, on_the_site: str) -> None:
    assert site_hook.linked(f"[x]({link})", page, REPOSITORY) == f"[x]({on_the_site})"


@pytest.mark.parametrize(
    ("page", "url", "source", "on_the_site"),
    [
        ("README.md", "", "docs/pictures/a.png", "pictures/a.png"),
        ("docs/concepts.md", "concepts/", "pictures/a.png", "../pictures/a.png"),
        ("docs/how-to/upgrade.md", "how-to/upgrade/", "../pictures/a.png", "../../pictures/a.png"),
        ("docs/how-to/upgrade.md", "how-to/upgrade/", "https://fluxcd.io/a.png", "https://fluxcd.io/a.png"),
    ],
)
def test_a_picture_is_found_on_the_site(page: str, url: str, source: str, on_the_site: str) -> None:
    text = '<picture><source srcset="{0}"><img width="9" src="{0}"></picture>'
    assert site_hook.pictured(text.format(source), page, url) == text.format(on_the_site)


def test_code_keeps_its_links() -> None:
    text = "`[x](../LICENSE)`\n\n```sh\n[x](../LICENSE)\n```\n"
    assert site_hook.linked(text, "docs/releases.md", REPOSITORY) == text


def test_a_link_to_a_file_that_does_not_exist_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        site_hook.linked("[x](../CHANGES)", "docs/releases.md", REPOSITORY)
    assert "docs/releases.md links to CHANGES" in caplog.text


@pytest.mark.parametrize("page", PAGES)
def test_what_belongs_to_a_list_item_is_indented_by_four(page: str) -> None:
    # Python-Markdown takes it out of the list otherwise; the hook renders pull requests by another program.
    text = BLOCK.sub(r"\1", PULL_REQUEST.sub("", (DOCS / page).read_text()))
    assert [indent for indent in FENCE_OR_ITEM.findall(text) if len(indent) % 4] == []
