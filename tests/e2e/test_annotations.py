"""What an upgrade breaks stands on the very lines of the files, on the page of the run."""

from __future__ import annotations

from pathlib import Path

from e2e.fleet import Fleet
from flows import fleet

ALERT = b"""apiVersion: notification.toolkit.fluxcd.io/v1beta2
kind: Alert
metadata:
  name: page
spec:
  interval: 1m
"""


def test_a_manifest_that_is_to_be_moved_is_annotated(tmp_path: Path) -> None:
    files = {**fleet({"clusters/staging": "v2.8.8"}), "apps/page.yaml": b"# ours\n" + ALERT}
    with Fleet(tmp_path, files) as opened:
        done = opened.run({"mode": "plan", "policy": "minor"})
    assert done.exit_code == 0, done.log
    (annotation,) = done.annotations
    assert (annotation.level, annotation.message) == ("warning", "Alert page is moved to v1.")
    assert annotation.properties == {
        "title": "v2.9.4 does not serve notification.toolkit.fluxcd.io/v1beta2",
        "file": "apps/page.yaml",
        "line": "2",
    }
    assert "migration-pending" in done.summary


def test_what_there_is_no_room_for_stands_in_the_summary_with_its_place(tmp_path: Path) -> None:
    pages = {f"apps/{number:02}.yaml": ALERT for number in range(1, 13)}
    with Fleet(tmp_path, {**fleet({"clusters/staging": "v2.8.8"}), **pages}) as opened:
        done = opened.run({"mode": "plan", "policy": "minor"})
    assert [each.properties["file"] for each in done.annotations] == sorted(pages)[:10]
    for path in sorted(pages)[10:]:
        assert (
            f"> {path}:1: v2.9.4 does not serve notification.toolkit.fluxcd.io/v1beta2: Alert page"
            in done.summary
        )
