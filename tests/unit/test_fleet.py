"""What a row of the page says, for each thing that a report can say, and what anybody may have written into one."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from cases_on_disk import case_named, write_tree
from error_names import require_error
from flux_upgrade import main
from flux_upgrade.action.runner import SUMMARY_LIMIT
from flux_upgrade.fleet.fleet import Fleet, Lag, Source, fleet_of
from flux_upgrade.fleet.html_page import html_page
from flux_upgrade.fleet.json_page import json_page
from flux_upgrade.fleet.markdown_page import markdown_page
from flux_upgrade.fleet.rows import Row
from flux_upgrade.fleet.style import STYLE
from flux_upgrade.fleet.words import safe_link
from flux_upgrade.model.errors import NoReport, UsageError
from flux_upgrade.policy.hold_reasons import HoldReason
from written_fleet import NOW, decision, hold, installation, moment, pull, report, upgrade

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "reference" / "fleet.schema.json"
PAGE = Draft202012Validator(json.loads(SCHEMA.read_text()))
REPOSITORY = "octo-org/shop"
CLUSTER = "clusters/a"
GROUP = "clusters-a"


def page(*values: Any, **options: Any) -> Fleet:
    sources = [
        Source(f"{number}.json", each if isinstance(each, bytes) else json.dumps(each).encode())
        for number, each in enumerate(values)
    ]
    return fleet_of(sources, **{"now": NOW, "max_age": 3, **options})


def only(*decisions: Any, **fields: Any) -> Row:
    """The row of a cluster on v2.8.8."""
    (row,) = page(report(REPOSITORY, [installation(CLUSTER, "v2.8.8", *decisions)], **fields)).rows
    return row


def failure(slug: str, message: str) -> dict[str, Any]:
    return {"slug": slug, "message": message, "remedy": "Fix it."}


READY = upgrade("v2.9.4", "minor", approved=True)
UNOPENED = {"number": None, "url": None, "created-at": None}
PENDING = upgrade("v2.9.4", "minor", approved=False)


@pytest.mark.parametrize(
    ("found", "state", "why"),
    [
        pytest.param([decision()], "up to date", "", id="up-to-date"),
        pytest.param([READY], "available", "minor upgrade", id="available"),
        pytest.param([PENDING], "needs approval", "minor upgrade", id="pending"),
        pytest.param([hold("needs-approval", "minor", "")], "needs approval", "needs-approval", id="approve"),
        pytest.param([hold("edit-conflict", "minor", "a")], "held", "edit-conflict: a", id="held"),
        pytest.param([hold("reverted", "minor", "a")], "held", "reverted: a", id="declined"),
        pytest.param([hold("cooling-down", "minor", "a")], "waits", "cooling-down: a", id="cooling"),
        pytest.param([hold("of-tomorrow", "minor", "a")], "held", "of-tomorrow: a", id="unknown-reason"),
        pytest.param([decision(), READY], "available", "minor upgrade", id="patch-and-minor"),
        pytest.param(
            [upgrade("v2.9.4", "minor", approved=True, waits_for=("b does not run it", "c"))],
            "waits",
            "b does not run it; c",
            id="rings",
        ),
    ],
)
def test_what_is_decided_is_a_state(found: list[Any], state: str, why: str) -> None:
    row = only(*found)
    assert (row.state.title, row.why, row.current, row.clusters) == (state, why, "v2.8.8", (CLUSTER,))


def test_every_hold_reason_has_a_state() -> None:
    following = {HoldReason.UP_TO_DATE, HoldReason.FOLLOWS, HoldReason.CLUSTER_HELD}
    for reason in HoldReason:
        title = only(hold(str(reason), "minor", "a")).state.title
        assert (title == "up to date") == (reason in following), reason


@pytest.mark.parametrize(
    ("found", "fields", "state", "since"),
    [
        pytest.param(READY, {"days": 9}, "ready to merge", (9, "open"), id="open"),
        pytest.param(READY, {"days": 9, "action_required": True}, "action required", (9, "open"), id="to-do"),
        pytest.param(PENDING, {"days": 9, "action_required": True}, "needs approval", (9, "open"), id="pending"),
        pytest.param(
            READY, {"days": 9, "action": "failed", "error": "no"}, "run failed", (13, "since release"), id="failed"
        ),
        pytest.param(READY, {"days": 9, "action": "held", "reason": "limited"}, "waits", (9, "open"), id="limited"),
        pytest.param(READY, {"days": 9, "action": "held", "reason": "branch-edited"}, "held", (9, "open"), id="edited"),
        pytest.param(
            READY, {"days": 9, "action": "opened", "created_at": None}, "ready to merge", (0, "open"), id="new"
        ),
        pytest.param(READY, {"days": 9, "action": "closed"}, "ready to merge", (13, "since release"), id="closed"),
    ],
)
def test_the_pull_request_of_an_upgrade(found: Any, fields: dict[str, Any], state: str, since: tuple[int, str]) -> None:
    made = pull(REPOSITORY, 7, GROUP, "minor", **fields)
    fleet = page(report(REPOSITORY, [installation(CLUSTER, "v2.8.8", found)], pull_requests=[made]))
    (row,) = fleet.rows
    assert row.since is not None
    assert (row.state.title, (fleet.age(row.since), row.since.what)) == (state, since)
    assert (row.url, row.link) == (f"https://github.com/{REPOSITORY}/pull/7", "#7")


PROMOTED = f"sha256:{'1' * 64}"
PUSHED = {"version": "v2.8.9", "tag": "v2.8.9-0a1b2c3d", "digest": PROMOTED, "new": True}
LATER = {"version": "v2.8.10", "tag": "v2.8.10-4e5f6a7b", "digest": None, "new": False}
ARTIFACT = {
    "address": "oci://registry.example.com/flux:staging",
    "digest": f"sha256:{'0' * 64}",
    "kept": None,
    "promoted": PROMOTED,
    "pushed": [PUSHED],
}
PATCH = upgrade("v2.8.9", "patch", approved=True)


@pytest.mark.parametrize(
    ("changes", "dry_run", "version", "state"),
    [
        pytest.param({}, False, "v2.8.9", "up to date", id="moved"),
        pytest.param({"pushed": [LATER, PUSHED]}, False, "v2.8.9", "up to date", id="of-two"),
        pytest.param({}, True, "v2.8.8", "available", id="would-move"),
        pytest.param({"promoted": None}, False, "v2.8.8", "available", id="to-be-signed"),
        pytest.param({"pushed": []}, False, "v2.8.8", "available", id="of-an-unknown-release"),
    ],
)
def test_the_release_of_an_artifact_whose_tag_moved(
    changes: dict[str, Any], *, dry_run: bool, version: str, state: str
) -> None:
    clusters = [installation(CLUSTER, "v2.8.8", PATCH)]
    found = page(report(REPOSITORY, clusters, artifact=ARTIFACT | changes, dry_run=dry_run))
    assert [each.version for each in found.clusters] == [version]
    assert [(each.state.title, each.current) for each in found.rows] == [(state, version)]


def test_a_minor_waits_for_approval_after_the_tag_moved_to_a_patch() -> None:
    found = only(PATCH, PENDING, artifact=ARTIFACT)
    assert (found.state.title, found.current, found.target) == ("needs approval", "v2.8.9", "v2.9.4")


@pytest.mark.parametrize(
    ("found", "fields", "state", "since"),
    [
        pytest.param(READY, {"action": "opened"}, "available", "since release", id="opened"),
        pytest.param(READY, {"action": "opened", "action-required": True}, "available", "since release", id="to-do"),
        pytest.param(PENDING, {"action": "opened"}, "needs approval", "since release", id="pending"),
        pytest.param(READY, {"action": "updated", "number": 7}, "ready to merge", "since release", id="updated"),
        pytest.param(READY, {"action": "unchanged", "number": 7}, "ready to merge", "since release", id="unchanged"),
    ],
)
def test_a_dry_run_opens_no_pull_request(found: Any, fields: dict[str, Any], state: str, since: str) -> None:
    made = pull(REPOSITORY, 7, GROUP, "minor", 9) | UNOPENED | fields
    row = only(found, dry_run=True, pull_requests=[made])
    assert row.since is not None
    assert (row.state.title, row.since.what, row.url) == (state, since, "")


def test_a_migration_that_a_dry_run_would_open_is_available() -> None:
    waiting = installation(CLUSTER, "v2.8.8", hold("migration-pending", "minor", "a"))
    made = pull(REPOSITORY, 7, GROUP, "migration", 5, action="opened") | UNOPENED
    first, _ = page(report(REPOSITORY, [waiting], dry_run=True, pull_requests=[made])).rows
    assert (first.state.title, first.why, first.clusters) == ("available", "migrates API versions first", (CLUSTER,))


def test_what_is_available_does_not_need_you_and_has_a_color() -> None:
    fleet = page(report(REPOSITORY, [installation(CLUSTER, "v2.8.8", READY)]))
    assert not fleet.rows[0].state.needs_you
    assert '<tr class="waits"><td class="state"><span class="badge">available</span>' in html_page(fleet)


def test_a_pull_request_of_another_bump_or_group_is_not_that_of_the_upgrade() -> None:
    others = [pull(REPOSITORY, 7, GROUP, "patch", 9), pull(REPOSITORY, 8, "clusters-b", "minor", 9)]
    assert only(READY, pull_requests=others).url == ""


def test_a_migration_is_shown_with_the_clusters_that_wait_for_it() -> None:
    waiting = installation(CLUSTER, "v2.8.8", hold("migration-pending", "minor", "a"))
    made = pull(REPOSITORY, 7, GROUP, "migration", 5)
    first, second = page(report(REPOSITORY, [waiting], pull_requests=[made])).rows
    assert (first.state.title, first.clusters, first.why) == (
        "ready to merge",
        (CLUSTER,),
        "migrates API versions first",
    )
    assert second.state.title in ("held", "waits")


def test_a_failure_that_is_about_a_cluster_is_said_once() -> None:
    broken = hold("edit-conflict", "minor", "you edited it")
    told = [failure("edit-conflict", "clusters/a/x.yaml: you edited it")]
    assert only(broken, outcome="failed", failures=told).state.title == "run failed"
    made = pull(REPOSITORY, 7, GROUP, "minor", 9, action="failed", error="no right")
    assert (
        only(READY, outcome="failed", failures=[failure("forbidden", "a: no right")], pull_requests=[made]).why
        == "no right"
    )


def test_a_failure_of_the_run_is_a_row_of_its_own() -> None:
    rows = page(
        report(REPOSITORY, [installation(CLUSTER, "v2.9.4")], outcome="failed", failures=[failure("a", "b")])
    ).rows
    assert [(row.state.title, row.why, row.link) for row in rows] == [
        ("run failed", "a: b", "run"),
        ("up to date", "", ""),
    ]
    (row, *_) = page(report(REPOSITORY, [], outcome="failed")).rows
    assert row.why == "the report does not say why"


@pytest.mark.parametrize(("days", "is_old"), [(2.9, False), (3.1, True), (-1, False)])
def test_a_report_older_than_the_limit_is_a_row_and_its_clusters_are_shown(days: float, *, is_old: bool) -> None:
    titles = [row.state.title for row in page(report(REPOSITORY, [installation(CLUSTER, "v2.9.4")], days=days)).rows]
    assert titles == [*(["old report"] if is_old else []), "up to date"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "it is empty", id="empty"),
        pytest.param(b"\xff\xfe", "it is not valid JSON", id="bytes"),
        pytest.param(b"[" * 100_000, "it is not valid JSON", id="deep"),
        pytest.param(b"[]", "it is not a report of flux-upgrade", id="list"),
        pytest.param(b"{}", "it is not a report of flux-upgrade", id="object"),
        pytest.param({"installations": []}, "its schema is an early version, older than", id="before-versions"),
        pytest.param(report("a/b", [], schema_version=1), "its schema is version 1, older than", id="older"),
        pytest.param(report("a/b", [], schema_version=3), "its schema is version 3, newer than", id="newer"),
        pytest.param(report("a/b", [], schema_version="2"), "schema-version is not a number", id="odd-version"),
        pytest.param(report("a/b", [], created_at="today"), "created-at is not a time", id="odd-time"),
        pytest.param(
            report("a/b", [], created_at="0001-01-01T00:00:00+23:59"), "created-at is not a time", id="no-time"
        ),
        pytest.param(report("a/b", []) | {"installations": {"a": 1}}, "installations is not a list", id="odd-list"),
        pytest.param(
            report("a/b", []) | {"installations": ["a"]},
            "installations has an entry that is not an object",
            id="odd-entry",
        ),
        pytest.param(report("a/b", [], pull_requests=5), "pull-requests is not a list", id="odd-pulls"),
        pytest.param(report("a/b", [], releases=[]), "releases is not an object", id="odd-releases"),
        pytest.param(report("a/b", [installation("", "v2.9.4")]), "an installation has no cluster", id="empty-cluster"),
        pytest.param(report("a/b", [{"decisions": []}]), "an installation has no cluster", id="no-cluster"),
        pytest.param(report("a/b", [{}] * 20_001), "installations has more than", id="very-many"),
    ],
)
def test_what_cannot_be_read_is_a_row_and_the_others_are_shown(content: Any, why: str) -> None:
    fleet = page(content, report(REPOSITORY, [installation(CLUSTER, "v2.9.4")]))
    first, second = fleet.rows
    name = content.get("repository", "0.json") if isinstance(content, dict) else "0.json"
    assert (first.state.title, first.repository, second.state.title) == ("no report", name, "up to date")
    assert first.why.startswith(why)
    assert [each.name for each in fleet.problems] == [name]


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        pytest.param({}, ["octo-org/z"], id="once"),
        pytest.param({"repository": "Octo-Org/Z"}, ["Octo-Org/Z"], id="case"),
        pytest.param({"repository": 5}, ["0.json", "octo-org/z"], id="odd"),
        pytest.param({"repository": ""}, ["0.json", "octo-org/z"], id="empty"),
    ],
)
def test_a_report_that_cannot_be_read_is_that_of_the_repository_it_names(
    fields: dict[str, Any], shown: list[str]
) -> None:
    fleet = page(report("octo-org/z", [], schema_version=1) | fields, expected=("octo-org/z",))
    assert [row.repository for row in fleet.rows] == shown
    assert [each.name for each in fleet.problems] == shown


def test_a_repository_that_must_have_a_report() -> None:
    fleet = page(report("Octo-Org/Shop", []), expected=("octo-org/shop", "octo-org/data", "octo-org/data"))
    assert [(row.repository, row.why) for row in fleet.rows] == [("octo-org/data", "it has no report")]


def test_of_two_reports_of_a_job_the_newer_counts() -> None:
    old, new = (
        report(REPOSITORY, [installation(CLUSTER, tag)], days=days) for tag, days in (("v2.8.8", 2), ("v2.9.4", 1))
    )
    for reports in ((old, new), (new, old)):
        assert [row.current for row in page(*reports).rows] == ["v2.9.4"]


def test_the_case_of_a_repository_does_not_count() -> None:
    first = report("Octo/Shop", [installation("clusters/a", "v2.9.4")], days=2)
    second = report("octo/shop", [installation(name, "v2.9.4") for name in ("clusters/a", "clusters/b")])
    fleet = page(first, second, report("OCTO/SHOP", [], schema_version=1))
    assert fleet.repositories == ("Octo/Shop",)
    assert [row.repository for row in fleet.rows] == ["Octo/Shop", "Octo/Shop"]
    assert len(fleet.clusters) == 2


def test_the_case_of_a_file_counts() -> None:
    plan = json.dumps(report("", [installation(CLUSTER, "v2.9.4")])).encode()
    fleet = fleet_of([Source("Shop.json", plan), Source("shop.json", plan)], now=NOW, max_age=3)
    assert (len(fleet.repositories), len(fleet.clusters)) == (2, 2)


def test_one_report_is_read_at_a_time() -> None:
    # A fleet may have thousands of reports of megabytes each.

    released = list[bytes]()

    class Content(bytes):
        def __del__(self) -> None:
            released.append(self[:0])

    def sources() -> Iterator[Source]:
        for number, name in enumerate("abcd"):
            assert len(released) >= number - 1  # the one before may still be there
            value = report(f"octo/{name}", [installation(CLUSTER, "v2.9.4")])
            yield Source(name, Content(json.dumps(value).encode()))

    assert len(fleet_of(sources(), now=NOW, max_age=3).clusters) == 4


def days_of(days: float, clusters: dict[str, str], **fields: Any) -> Any:
    return report(REPOSITORY, [installation(name, tag) for name, tag in clusters.items()], days=days, **fields)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        pytest.param(
            days_of(2, {}, outcome="failed"),
            days_of(1, {"a": "v2.9.4"}),
            {("up to date", ("a",), "v2.9.4")},
            id="failed-early",
        ),
        pytest.param(
            days_of(2, {}, outcome="failed", failures=[failure("a", "b")]),
            days_of(1, {}, outcome="failed"),
            {("run failed", (), "")},
            id="failed-early-twice",
        ),
        pytest.param(
            days_of(2, {"a": "v2.9.4"}),
            days_of(1, {}, outcome="failed"),
            {("run failed", (), ""), ("up to date", ("a",), "v2.9.4")},
            id="fails-early-now",
        ),
        pytest.param(
            days_of(2, {"a": "v2.6.4"}, outcome="failed"),
            days_of(1, {"a": "v2.9.4", "b": "v2.9.4"}),
            {("up to date", ("a", "b"), "v2.9.4")},
            id="one-more",
        ),
        pytest.param(
            days_of(2, {"a": "v2.6.4", "b": "v2.6.4"}),
            days_of(1, {"b": "v2.9.4", "c": "v2.9.4"}),
            {("up to date", ("a",), "v2.6.4"), ("up to date", ("b", "c"), "v2.9.4")},
            id="another",
        ),
    ],
)
def test_the_newest_report_with_a_cluster_counts_for_it(old: Any, new: Any, shown: set[Any]) -> None:
    for reports in ((old, new), (new, old)):
        fleet = page(*reports)
        assert {(row.state.title, row.clusters, row.current) for row in fleet.rows} == shown
        runs = {name: tag for _, clusters, tag in shown for name in clusters}
        assert {each.name: each.version for each in fleet.clusters} == runs


def test_a_cluster_that_is_in_two_branches_is_counted_as_in_the_newer_report() -> None:
    old, new = days_of(2, {"a": "v2.6.4"}, base="next"), days_of(1, {"a": "v2.9.4"})
    for reports in ((old, new), (new, old)):
        fleet = page(*reports)
        assert len(fleet.rows) == 2
        assert [each.version for each in fleet.clusters] == ["v2.9.4"]


def test_a_migration_is_shown_with_the_clusters_that_no_newer_report_has() -> None:
    waiting = [installation(name, "v2.8.8", hold("migration-pending", "minor", "a"), group=GROUP) for name in "ab"]
    made = pull(REPOSITORY, 7, GROUP, "migration", 5)
    fleet = page(report(REPOSITORY, waiting, days=2, pull_requests=[made]), days_of(1, {"a": "v2.9.4"}))
    assert [row.clusters for row in fleet.rows] == [("b",), ("b",), ("a",)]


def test_reports_of_two_jobs_of_a_repository_are_both_shown() -> None:
    found = page(*(report(REPOSITORY, [installation(name, "v2.9.4")]) for name in ("clusters/a", "infra/b")))
    assert [row.clusters for row in found.rows] == [("clusters/a", "infra/b")]
    assert found.repositories == (REPOSITORY,)


def test_what_plan_prints_is_a_report_of_an_unknown_repository(tmp_path: Path, written_source: Path) -> None:
    tree = write_tree(tmp_path / "tree", case_named("exact-default").before)
    out = io.BytesIO()
    main.run(["plan", str(tree), f"--release-source={written_source}", "--json"], {}, out, io.StringIO())
    (row, *_) = page(out.getvalue()).rows
    assert (row.repository, row.state.title) == ("0.json", "needs approval")


def test_tools_of_several_clusters_are_no_cluster() -> None:
    tools = installation("flux-cli", "v2.8.8", READY)
    fleet = page(report(REPOSITORY, [installation(CLUSTER, "v2.9.4"), tools, installation("flux-cli", "v2.9.4")]))
    assert ([each.name for each in fleet.clusters], len(fleet.rows)) == ([CLUSTER], 2)


def test_the_chart_counts_the_oldest_releases_together() -> None:
    clusters = [installation(f"c{number}", f"v2.{number % 20}.0") for number in range(40)]
    fleet = page(report(REPOSITORY, [*clusters, installation("x", None)], releases={"v3.0.0-rc.1": moment(1)}))
    assert fleet.newest == "v2.19.0"
    assert len(fleet.releases) == 21
    assert sum(each.clusters for each in fleet.charted) == 41
    assert [each.name for each in fleet.charted][:2] == ["v2.19.0", "v2.18.0"]
    assert fleet.charted[-1].name == "10 others"


@pytest.mark.parametrize(
    ("version", "lag"),
    [
        ("v3.0.0-rc.1", "newer"),
        ("v2.12.0-rc.1", "newer"),
        ("v2.11.0-rc.1", "newer"),
        ("v2.10.0-rc.1", "newer"),
        ("v2.9.5-rc.1", "newer"),
        ("v2.9.4", "newest minor"),
        ("v2.9.0-rc.1", "newest minor"),
        ("v2.8.8", "one minor behind"),
        ("v2.8.0-rc.1", "one minor behind"),
        ("v2.7.5", "older"),
        ("v1.9.4", "older"),
        (None, "unknown"),
    ],
)
def test_how_far_a_release_is_behind_the_newest_stable_one(version: str | None, lag: str) -> None:
    fleet = page(report(REPOSITORY, [installation(CLUSTER, version)], releases={"v2.9.4": moment(1)}))
    (found,) = fleet.releases
    assert (fleet.newest, found.lag.value) == ("v2.9.4", lag)
    assert f">{lag}<" in html_page(fleet)
    assert f"| {lag} |" in markdown_page(fleet, SUMMARY_LIMIT)


def test_each_bar_of_the_chart_has_a_color() -> None:
    assert [each.value for each in Lag if f".{each.slug}" not in STYLE] == []


def test_a_page_without_clusters_says_so() -> None:
    fleet = page(report(REPOSITORY, []))
    assert markdown_page(fleet, SUMMARY_LIMIT) == (
        f"## Flux fleet\n\n1 repository, 0 clusters on {NOW:%Y-%m-%d}.\n\nThere is no cluster.\n"
    )
    assert '<p class="card">There is no cluster.</p>' in html_page(fleet)
    current = page(report(REPOSITORY, [installation(CLUSTER, "v2.9.4")]))
    assert all("Every cluster is up to date." in each for each in (html_page(current), markdown_page(current, 9_999)))


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</td></table><style>*{display:none}</style>",
    "](javascript:alert(1)) [x](https://evil.example",
    "| a | b |\n| --- | --- |\n# head",
    "@octo-org/everyone #1 <!-- flux-upgrade -->",
    "\x1b]0;title\x07\u202etxt.exe",
    "&lt;b&gt; &#x3c;script&#x3e;",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text(text: str) -> None:
    found = installation(text, text, hold(text, "minor", text), group=text)
    fleet = page(report(text, [found], failures=[failure(text, text)], run_url=text, releases={text: moment(1)}))
    html, markdown = html_page(fleet), markdown_page(fleet, SUMMARY_LIMIT)
    inside = html.partition("<body>")[2]
    assert "<script" not in inside
    assert "<img" not in inside
    assert "<style" not in inside
    assert "' onmouse" not in inside
    assert "<a " not in inside
    assert not {"\x1b", "\u202e", "\x07"} & {*html, *markdown}
    assert "](" not in markdown.replace("\\](", "").replace("`", "") or text.startswith("](")
    assert "<script" not in markdown.replace("`<script", "")
    tables = [line for line in markdown.splitlines() if line.startswith("|")]
    assert all(line.count(" | ") - line.count("\\|") <= 7 for line in tables)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)//https://github.com",
        "data:text/html,<script>",
        "http://github.com/a/b",
        "//evil.example/a",
        "https://",
        "https://user@evil.example/",
        'https://github.com/"onclick="alert(1)',
        "https://github.com/a b",
        "https://github.com/a)b",
        "https://github.com/a>b",
        "https://github.com\\@evil.example/",
        "https://github.com/\u202e",
        "https://github.com/a\n",
    ],
)
def test_no_other_address_than_plain_https_is_a_link(url: str) -> None:
    assert safe_link(url) == ""
    made = pull(REPOSITORY, 7, GROUP, "minor", 9, url=url)
    fleet = page(report(REPOSITORY, [installation(CLUSTER, "v2.8.8", READY)], pull_requests=[made]))
    assert "<a " not in html_page(fleet)
    assert "[#7]" not in markdown_page(fleet, SUMMARY_LIMIT)
    assert json.loads(json_page(fleet))["rows"][0]["url"] is None


@pytest.mark.parametrize("url", ["https://github.com/a/b/pull/7", "https://git.example.com:8443/a_b/c-d?x=1#y%20"])
def test_plain_https_is_a_link(url: str) -> None:
    assert safe_link(url) == url


def test_the_summary_fits_github() -> None:
    clusters = [
        installation(f"clusters/{number}", "v2.8.8", hold("edit-conflict", "minor", f"{number} {'x' * 250}"))
        for number in range(9000)
    ]
    text = markdown_page(page(report(REPOSITORY, clusters)), SUMMARY_LIMIT)
    assert SUMMARY_LIMIT - 3000 < len(text.encode()) <= SUMMARY_LIMIT
    shown = text.count("edit-conflict")
    assert f"{9000 - shown} more rows do not fit here" in text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def test_a_time_of_a_year_before_1000_is_a_time_in_json() -> None:
    value = json.loads(json_page(page(report(REPOSITORY, [], created_at="0987-06-05T04:03:02Z"))))
    assert [row["since"] for row in value["rows"]] == ["0987-06-05T04:03:02Z"]
    assert [error.message for error in PAGE.iter_errors(value)] == []


@given(st.data())
def test_whatever_stands_in_a_field_the_page_is_made(data: Any) -> None:
    made = pull(REPOSITORY, 7, GROUP, "minor", 9)
    value: Any = report(
        REPOSITORY, [installation(CLUSTER, "v2.8.8", PENDING)], pull_requests=[made], failures=[failure("a", "b")]
    )
    places = [value, value["installations"][0], value["installations"][0]["decisions"][0], made, value["failures"][0]]
    where = data.draw(st.sampled_from(places))
    where[data.draw(st.sampled_from([*where]))] = data.draw(_JSON)
    fleet = page(value, report("octo-org/other", []))
    assert len(html_page(fleet)) > 0
    assert [error.message for error in PAGE.iter_errors(json.loads(json_page(fleet)))] == []
    assert len(markdown_page(fleet, SUMMARY_LIMIT)) > 0


def run(*arguments: str) -> tuple[int, str]:
    err = io.StringIO()
    return main.run(["fleet", *arguments], {}, io.BytesIO(), err), err.getvalue()


def test_without_a_report_there_is_one_clear_error(tmp_path: Path) -> None:
    assert run() == (
        UsageError.exit_code,
        "flux-upgrade: no report is given [usage]\n  Try: set files or directories with reports, or --repository\n",
    )
    code, err = run(str(tmp_path))
    assert (code, err.splitlines()[0]) == (NoReport.exit_code, "flux-upgrade: no report could be read [no-report]")
    require_error(UsageError, *run(str(tmp_path / "none.json")))
    require_error(UsageError, *run("a.json", "--max-age=0"))
    require_error(UsageError, *run(f"--repositories={tmp_path / 'none'}"))


def test_a_page_is_made_if_no_report_can_be_read(tmp_path: Path) -> None:
    expected, html = [f"octo-org/{name}" for name in "abcdefg"], tmp_path / "page.html"
    code, err = run(str(tmp_path), f"--expect={','.join(expected)}", f"--html={html}")
    named = ", ".join(f"{name}: it has no report" for name in expected[:5])
    assert (code, err.splitlines()[0]) == (
        NoReport.exit_code,
        f"flux-upgrade: no report could be read: {named} and 2 more [no-report]",
    )
    assert html.read_text().count('<tr class="no-report') == 7
    damaged = write(tmp_path / "reports" / "a.json", b"{")
    assert [(row["state"], row["repository"]) for row in rows_of(damaged)] == [("no-report", damaged)]
    assert rows_of(str(tmp_path / "reports")) != []
    require_error(NoReport, *run(damaged))


PLAN = report("", [installation(CLUSTER, "v2.9.4")], created_at=None)


def rows_of(*arguments: str) -> list[dict[str, Any]]:
    out = io.BytesIO()
    main.run(["fleet", *arguments, "--json"], {}, out, io.StringIO())
    rows: list[dict[str, Any]] = json.loads(out.getvalue())["rows"]
    return rows


def write(path: Path, value: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return str(path)


@pytest.mark.parametrize("content", [PLAN, b"{"], ids=["plan", "damaged"])
def test_files_of_the_same_name_in_two_directories_are_two(tmp_path: Path, content: Any) -> None:
    for name in ("a", "b"):
        write(tmp_path / name / "plan.json", content)
    both = str(tmp_path / "a"), str(tmp_path / "b")
    assert [row["repository"] for row in rows_of(*both)] == [f"{each}/plan.json" for each in both]
    files = [f"{each}/plan.json" for each in both]
    assert [row["repository"] for row in rows_of(*files)] == files
    assert [row["repository"] for row in rows_of(str(tmp_path))] == ["a/plan.json", "b/plan.json"]


def test_a_name_with_a_directory_is_not_that_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/plan.json", "b/plan.json", "c/b/plan.json"):
        write(tmp_path / name, PLAN)
    found = [row["repository"] for row in rows_of("a", "b", "c")]
    assert found == ["a/plan.json", "b/plan.json", "c/b/plan.json"]


def test_a_file_that_is_given_twice_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "a" / "plan.json", PLAN)
    assert [row["repository"] for row in rows_of(str(tmp_path), str(tmp_path / "a"))] == ["a/plan.json"]


def test_a_day_ends_after_24_hours() -> None:
    fleet = page(report(REPOSITORY, []))
    (row,) = page(report(REPOSITORY, [], outcome="failed", days=0)).rows
    assert row.since is not None
    assert fleet.age(row.since._replace(at=NOW - timedelta(hours=47))) == 1
