"""The Action promotes an artifact in a real registry, reports it in outputs, summary and report, and shows no secret."""

from __future__ import annotations

import io
import json
import re
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from written_release import write_source

from adapters.registries import PASSWORD, USERNAME
from error_names import require_error
from flux_upgrade import main
from flux_upgrade.action.action_yml import OUTPUTS, REPORT_FILE
from flux_upgrade.fleet.read_report import read_report
from flux_upgrade.fleet.rows import Since
from flux_upgrade.model.errors import NoWayBack
from flux_upgrade.model.timing import Timing
from promotion.program import NOW, Site
from promotion.protected import Protected


@dataclass
class Step:
    """What a step of a job left."""

    exit_code: int
    log: str
    outputs: dict[str, str]
    summary: str
    report: dict[str, Any]


@pytest.fixture
def site(
    registry_url: str, protected: Protected, written_source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Site:
    """A registry over TLS that wants a password, with Flux v2.8.7 as its user pushed it."""
    plain = Site(registry_url, written_source, f"action/{tmp_path.name.replace('_', '-').lower()}")
    plain.push("v2.8.7")
    assert protected.authority is not None
    shutil.copy(protected.authority, tmp_path / "ca.crt")
    monkeypatch.chdir(tmp_path)
    return protected.filled(plain)


def step(site: Site, *, command: str = "upgrade", **inputs: str) -> Step:
    """One step, with these inputs (``_`` for a hyphen)."""
    work = Path.cwd()
    for name in ("output", "summary", REPORT_FILE):
        (work / name).write_text("")
    env = {
        "GITHUB_WORKSPACE": str(work),
        "GITHUB_EVENT_NAME": "schedule",
        "GITHUB_REPOSITORY": "octo-org/fleet",
        "GITHUB_WORKFLOW_REF": "octo-org/fleet/.github/workflows/flux.yaml@refs/heads/main",
        "GITHUB_OUTPUT": str(work / "output"),
        "GITHUB_STEP_SUMMARY": str(work / "summary"),
        "RUNNER_TEMP": str(work),
        "INPUT_TOKEN": "token-of-the-job",
        "INPUT_PATH": site.address,
        "INPUT_MODE": command,
        "INPUT_RELEASE-SOURCE": str(site.source),
        "INPUT_CA-FILE": "ca.crt",
        "INPUT_REGISTRY-USERNAME": USERNAME,
        "INPUT_REGISTRY-PASSWORD": PASSWORD,
        **{f"INPUT_{name.upper().replace('_', '-')}": value for name, value in inputs.items()},
    }
    out, err = io.BytesIO(), io.StringIO()
    code = main.run(["action"], env, out, err, Timing(lambda: NOW, lambda _: None, lambda: 0.5))
    outputs = re.findall(r"^(\S+)<<(\S+)\n(.*?)\n?^\2$", (work / "output").read_text(), re.MULTILINE | re.DOTALL)
    report = (work / REPORT_FILE).read_text()
    return Step(
        code,
        out.getvalue().decode() + err.getvalue(),
        {name: value for name, _, value in outputs},
        (work / "summary").read_text(),
        json.loads(report) if report else {},
    )


def test_a_patch_is_promoted_and_reported(site: Site) -> None:
    done = step(site)

    assert done.exit_code == 0, done.log
    assert done.outputs["outcome"] == "updated"
    assert done.outputs["current-version"] == "v2.8.7"
    assert done.outputs["target-version"] == "v2.8.8"
    assert done.outputs["pending-version"] == "v2.9.4"
    repository = site.address.removeprefix("oci://").removesuffix(":production")
    assert re.fullmatch(rf"{repository}:v2\.8\.8-[0-9a-f]{{12}}", done.outputs["artifact"])
    assert done.report["artifact"]["promoted"] == done.outputs["digest"]
    assert [each["version"] for each in done.report["artifact"]["pushed"]] == ["v2.8.8", "v2.9.4"]


def test_the_report_says_when_what_waits_was_released(site: Site, tmp_path: Path) -> None:
    dates = {"v2.8.8": "2025-11-05T10:00:00Z", "v2.9.4": "2025-11-06T10:00:00Z", "v2.6.2": "2025-06-13T17:23:46Z"}
    report = step(site, release_source=str(write_source(tmp_path / "dated", dates=dates))).report

    assert report["releases"] == {"v2.8.8": dates["v2.8.8"], "v2.9.4": dates["v2.9.4"]}
    waits = next(each for each in read_report(json.dumps(report).encode(), "").rows if each.target == "v2.9.4")
    assert waits.since == Since(datetime.fromisoformat(dates["v2.9.4"]), "since release")


def test_the_page_of_a_fleet_shows_the_release_to_which_the_tag_moved(site: Site) -> None:
    found = read_report(json.dumps(step(site).report).encode(), "")

    assert [each.version for each in found.clusters] == ["v2.8.8"]
    shown = [(each.state.title, each.current, each.target) for each in found.rows]
    assert shown == [("needs approval", "v2.8.8", "v2.9.4")]


def test_the_summary_names_what_waits_and_how_to_approve_it(site: Site) -> None:
    done = step(site)

    assert "`production` moved" in done.summary
    assert re.search(r"v2\.9\.4: `v2\.9\.4-[0-9a-f]{12}` pushed, `sha256:", done.summary)
    assert "needs approval after `flux migrate` has run in every cluster that follows the tag" in done.summary
    assert "gh workflow run flux.yaml -f approve=production=2.9+migrated" in done.summary


def test_an_approval_an_idle_run_and_a_rollback(site: Site) -> None:
    first = step(site)
    approved = step(site, approve="2.9+migrated")
    idle = step(site)
    back = step(site, command="rollback")
    again = step(site)

    assert [each.outputs["outcome"] for each in (first, approved, idle, back, again)] == [
        "updated",
        "updated",
        "none",
        "updated",
        "held",
    ]
    assert approved.outputs["digest"] != first.outputs["digest"] == back.outputs["digest"]
    assert "rolled-back" in again.summary


def test_a_plan_and_a_dry_run_move_nothing(site: Site) -> None:
    planned = step(site, command="plan")
    dry = step(site, dry_run="true")
    none_yet = step(site, command="rollback")

    assert planned.outputs["outcome"] == dry.outputs["outcome"] == "held"
    require_error(NoWayBack, none_yet.exit_code, none_yet.log)
    assert dry.report["dry-run"]


def test_the_password_and_the_token_are_shown_nowhere_but_to_the_mask(site: Site) -> None:
    done = step(site, approve="2.9+migrated")
    wrong = step(site, registry_password="wrong-horse")

    assert wrong.exit_code
    assert "input `registry-password`" in wrong.log
    for ran, secret in ((done, PASSWORD), (done, "token-of-the-job"), (wrong, "wrong-horse")):
        shown = ran.log.replace(f"::add-mask::{secret}", "")
        everything = shown + ran.summary + json.dumps(ran.report) + json.dumps(ran.outputs)
        assert secret not in everything


def test_every_output_is_one_of_the_actions(site: Site) -> None:
    known = {each.name for each in OUTPUTS}

    assert set(step(site).outputs) <= known
    assert set(step(site, command="rollback").outputs) <= known
