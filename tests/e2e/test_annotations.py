"""What an upgrade breaks is annotated on its line of the file, on the page of the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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
    assert (annotation.level, annotation.message) == ("warning", "Alert page is migrated to v1.")
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
        assert f"> {path}:1: v2.9.4 does not serve notification.toolkit.fluxcd.io/v1beta2: Alert page" in done.summary


CONFIG = b"groups:\n  production:\n    paths: [clusters/prod/**]\n    policy: none\n"
VOID = (
    'group "production" matches nothing: paths clusters/prod/** (nearest directory: clusters/production)',
    "correct the paths in .github/flux-upgrade.yaml, or remove the group",
)


@pytest.mark.parametrize("mode", ["plan", "upgrade"])
def test_a_group_that_matches_nothing_is_annotated_and_summarized(tmp_path: Path, mode: str) -> None:
    files = {**fleet({"clusters/production": "v2.8.8"}), ".github/flux-upgrade.yaml": CONFIG}
    with Fleet(tmp_path, files) as opened:
        done = opened.run({"mode": mode, "dry-run": "true"})
    assert done.exit_code == 0, done.log
    (annotation,) = done.annotations
    assert (annotation.level, annotation.message) == ("warning", "\n".join(VOID))
    (line,) = (line for line in done.summary.splitlines() if "matches nothing" in line)
    assert line.replace("\\", "") == f"> {' → '.join(VOID)}"
    report = json.loads(done.outputs["report"])
    assert [each["message"] for each in report["warnings"]] == [VOID[0]]
    assert report["outcome"] == "held", "it is only a warning"


def test_a_group_that_matches_is_not_spoken_of(tmp_path: Path) -> None:
    config = CONFIG.replace(b"prod/", b"production/")
    files = {**fleet({"clusters/production": "v2.8.8"}), ".github/flux-upgrade.yaml": config}
    with Fleet(tmp_path, files) as opened:
        done = opened.run({"mode": "plan"})
    assert not done.annotations
    assert "matches nothing" not in done.summary + done.log
    assert "warnings" not in json.loads(done.outputs["report"])
