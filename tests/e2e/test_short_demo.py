"""``make demo`` is short: a line for each act as it ends, what the usual recipe loses, and a page with the rest."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import fleet
import pytest
import recipe
from album import Album
from github_stand_in import Clock
from short_diff import in_short
from stage import Clone, Machine, Surprise
from telling import Teller
from written_release import write_source

from real_parts import require_program

DEMO = Path(__file__).resolve().parents[2] / "demo" / "run.py"
ACTS = [str(number) for number in range(1, 15)]
VERSION = "v2.9.4"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def lines(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What it prints; its first act is read while it runs."""
    require_program("git")
    cwd = tmp_path_factory.mktemp("cwd")
    begun = []
    # Lines appear early by the demo itself, not by a setting of the machine.
    command = ["env", "-u", "PYTHONUNBUFFERED", sys.executable, str(DEMO), str(kept)]
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, encoding="utf-8") as running:  # noqa: S603 the demo
        assert running.stdout is not None
        for line in running.stdout:
            begun.append(line)
            if line.startswith("  1  "):
                break
        assert not (kept / "index.html").exists(), "".join(begun)
        printed = "".join(begun) + running.stdout.read()
    assert running.returncode == 0, printed
    assert not list(cwd.iterdir())
    return printed.splitlines()


class Page(HTMLParser):
    """Its elements, their addresses and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements = Counter[str]()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.texts: list[str] = []
        self.comments: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src", "srcset", "action")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


@pytest.fixture(scope="module")
def page(lines: list[str], kept: Path) -> Page:
    assert lines
    return Page((kept / "index.html").read_text(encoding="utf-8"))


def test_it_is_short(lines: list[str]) -> None:
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 110


def test_every_act_has_a_line(lines: list[str]) -> None:
    assert re.findall(r"^ +(\d+)  [A-Z][a-z]+", "\n".join(lines), re.MULTILINE) == ACTS


def test_it_shows_what_the_usual_recipe_would_have_lost(lines: list[str]) -> None:
    shown = [line.strip() for line in lines if line.startswith(("  -", "  +"))]
    assert {"-        - --concurrent=20", "-  replicas: 2", "+  replicas: 1"} < set(shown)
    assert "-            memory: 2Gi # the charts are large" in shown


def test_it_ends_with_the_page_and_the_next_command(lines: list[str], kept: Path) -> None:
    assert lines[-4:] == [
        f"  {kept / 'index.html'}",
        "",
        "Try it on your own repository, where it only reads (`make demo-full` shows more commands):",
        "  pipx install . && cd PATH/TO/YOUR/REPOSITORY && flux-upgrade plan",
    ]


def test_the_page_shows_every_pull_request_and_every_job_summary(page: Page, kept: Path) -> None:
    text = "".join(page.texts)
    titles = [each.read_text().splitlines()[0].removeprefix("# ") for each in kept.glob("pull-requests/*.md")]
    assert len(titles) == 10
    assert not [title for title in titles if title not in text]
    summaries = [*kept.glob("*/summary.md")]
    assert len(summaries) == 17
    assert text.count("Job summary") == (kept / "index.html").read_text().count("</b> summary") == 17


def test_the_page_has_a_list_of_contents(page: Page) -> None:
    assert [each for each in page.ids if re.fullmatch(r"act-\d+", each)] == [f"act-{number}" for number in ACTS]
    assert len(page.ids) == len(set(page.ids))
    inside = {each.removeprefix("#") for each in page.addresses if each.startswith("#")}
    assert inside == set(page.ids)


def test_the_page_needs_nothing_else(page: Page) -> None:
    assert not page.elements.keys() & {"script", "link", "img", "iframe", "source"}
    elsewhere = [each for each in page.addresses if not each.startswith(("#", "https://github.com/"))]
    assert elsewhere == []
    assert page.comments == []


def test_the_page_follows_the_readers_color_scheme(page: Page, kept: Path) -> None:
    assert page.elements["html"] == 1
    assert "color-scheme: light dark;" in (kept / "index.html").read_text(encoding="utf-8")


def test_the_same_change_is_shown_once() -> None:
    diff = """\
@@ -1,2 +1,2 @@
-  name: fleet
-  image: fleet/a
+  name: flux-system
+  image: flux-system/a
@@ -9 +9,0 @@
-    - --concurrent=20
@@ -20,2 +19 @@
-replicas: 2
-x: 1
+replicas: 1
"""
    assert [re.sub(" +", " ", line) for line in in_short(diff)] == [
        "- name: fleet (2 places)",
        "+ name: flux-system",
        "- - --concurrent=20",
        "-replicas: 2",
        "-x: 1",
        "+replicas: 1",
    ]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    require_program("git")
    write_source(tmp_path / "releases", (VERSION,))
    return Clone(Machine(Clock(fleet.BEGINNING)), tmp_path / "clone")


def test_what_the_recipe_loses_is_computed(clone: Clone) -> None:
    written = clone.run("flux-upgrade", "render", "--release-source=../releases", f"--version={VERSION}")
    assert recipe.written(clone, VERSION, "../releases", written) == written
    edited = written.replace("  replicas: 1\n", "  replicas: 7\n", 1)
    assert in_short(recipe.lost(clone, "a/b.yaml", edited, written)) == ["-  replicas: 7", "+  replicas: 1"]


def test_a_recipe_that_differs_from_renovates_is_a_surprise(clone: Clone) -> None:
    with pytest.raises(Surprise, match="write different manifests"):
        recipe.written(clone, VERSION, "../releases", "# Components: source-controller\n")


def test_a_title_or_a_label_is_no_html(tmp_path: Path) -> None:
    album = Album(Teller())
    album.act("<script>1</script>", 1)
    album.outcome("<b>", "<img src=x>")
    album.end(tmp_path)
    found = Page((tmp_path / "index.html").read_text())
    assert not found.elements.keys() & {"script", "img"}
    assert "<script>1</script>" in found.texts


def test_a_teller_keeps_it_to_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    teller = Teller()
    teller.act("An act", 1)
    teller.say("…")
    teller.end(tmp_path)
    assert capsys.readouterr().out == ""
