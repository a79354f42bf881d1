"""The page of a written fleet of 30 repositories with 120 clusters: Markdown, HTML and JSON."""

from __future__ import annotations

import io
import json
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import written_fleet
from flux_upgrade import main
from flux_upgrade.fleet.rows import State
from flux_upgrade.model.errors import NoReport
from flux_upgrade.model.timing import Timing

ROOT = Path(__file__).resolve().parents[2]
GOLDENS = ROOT / "tests" / "fleet_pages"
REFERENCE = ROOT / "docs" / "reference"
REPORT = Draft202012Validator(json.loads((REFERENCE / "report.schema.json").read_text()))
PAGE = Draft202012Validator(json.loads((REFERENCE / "fleet.schema.json").read_text()))
TIMING = Timing(now=written_fleet.NOW.timestamp, sleep=lambda _: None, jitter=lambda: 0.0)
MOST_SECONDS = 10


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    out, err = io.BytesIO(), io.StringIO()
    code = main.run(["fleet", *arguments], {}, out, err, TIMING)
    return code, out.getvalue().decode(), err.getvalue()


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    return written_fleet.write(tmp_path / "reports")


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_written_reports_are_reports() -> None:
    found = [each for _, each in written_fleet.fleet() if isinstance(each, dict)]
    assert [error.message for each in found for error in REPORT.iter_errors(each)] == []
    assert (len(found), sum(len(each["installations"]) for each in found)) == (30, 120)


def test_the_pages(reports: Path, tmp_path: Path, *, update_golden: bool) -> None:
    page = tmp_path / "page.html"
    began = time.monotonic()
    code, text, err = run(str(reports), f"--html={page}")
    assert time.monotonic() - began < MOST_SECONDS
    assert code == NoReport.exit_code
    assert "vault-fleet/flux-upgrade-report.json: it is not valid JSON [no-report]" in err
    if update_golden:
        (GOLDENS / "page.html").write_text(page.read_text())
        (GOLDENS / "page.md").write_text(text)
    assert page.read_text() == (GOLDENS / "page.html").read_text()
    assert text == (GOLDENS / "page.md").read_text()


def test_the_page_asks_no_host_and_runs_nothing(reports: Path, tmp_path: Path) -> None:
    run(str(reports), f"--html={tmp_path / 'page.html'}")
    page = (tmp_path / "page.html").read_text()
    elements = Elements(page).found
    assert {tag for tag, _ in elements} & {
        "script",
        "img",
        "iframe",
        "object",
        "embed",
        "link",
        "form",
        "base",
    } == set()
    assert [name for _, attributes in elements for name in attributes if name.startswith("on") or name == "src"] == []
    assert [tag for tag, attributes in elements if "href" in attributes and tag != "a"] == []
    assert "url(" not in page
    assert "@import" not in page
    policy = next(each for tag, each in elements if tag == "meta" and "http-equiv" in each)
    assert str(policy["content"]).startswith("default-src 'none';")


def test_what_needs_you_comes_first_and_what_is_oldest_before_that(reports: Path) -> None:
    planned = written_fleet.installation(
        "clusters/a", "v2.9.3", written_fleet.upgrade("v2.9.4", "patch", approved=True)
    )
    (reports / "dry-run.json").write_text(json.dumps(written_fleet.report("octo-org/new", [planned], dry_run=True)))
    rows = page_of(reports)["rows"]
    order = [each.slug for each in State]
    places = [order.index(row["state"]) for row in rows]
    assert places == sorted(places)
    assert {row["state"] for row in rows} == {*order}
    for state in ("needs-approval", "ready-to-merge", "waits"):
        days = [row["days"] for row in rows if row["state"] == state]
        assert days == sorted(days, reverse=True)
    assert [row["needs-you"] for row in rows] == sorted((row["needs-you"] for row in rows), reverse=True)


def test_the_page_as_json(reports: Path) -> None:
    page = page_of(reports)
    assert [error.message for error in PAGE.iter_errors(page)] == []
    assert len(page["repositories"]) == 31
    assert sum(each["clusters"] for each in page["releases"]) == 120
    shown = {(row["repository"], name) for row in page["rows"] for name in row["clusters"]}
    written = [each for _, each in written_fleet.fleet() if isinstance(each, dict)]
    assert shown == {(each["repository"], one["cluster"]) for each in written for one in each["installations"]}


def test_every_enumeration_of_the_schema_is_the_programs() -> None:
    row = json.loads((REFERENCE / "fleet.schema.json").read_text())["$defs"]["row"]["properties"]
    assert row["state"]["enum"] == [each.slug for each in State]


def page_of(reports: Path) -> Any:
    return json.loads(run(str(reports), "--json")[1])
