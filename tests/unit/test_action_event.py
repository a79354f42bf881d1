"""A run for ``pull_request_target`` knows which pull request it is about, and what is not its task."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from flux_upgrade.action.event import ISSUES, DashboardEvent, PullRequestEvent, event_of
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.artifact_sinks import artifact_sink
from flux_upgrade.commands.read_action import reason_to_pass
from flux_upgrade.config.environment import Environment
from flux_upgrade.model import markers
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.versions import Version
from flux_upgrade.policy.feedback import APPROVED
from parsed_options import parsed

OURS = PullRequestEvent(7, "flux-upgrade/clusters.a/patch", "acme/fleet", is_by_bot=False)


def payload(**pull: Any) -> str:
    head = {"ref": OURS.branch, "repo": {"full_name": OURS.repository}}
    return json.dumps({"pull_request": {"number": 7, "head": head, **pull}, "sender": {"type": "User"}})


def test_what_is_read_of_an_event() -> None:
    assert event_of(payload(title="::error::owned")) == OURS
    assert event_of(payload(head={"ref": "x", "repo": None})) == PullRequestEvent(7, "x", "", is_by_bot=False)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", payload(head=None), payload(number="x")])
def test_what_is_no_event_of_a_pull_request(text: str) -> None:
    with pytest.raises(UsageError, match="not the payload of a pull request"):
        event_of(text)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (OURS, ""),
        (OURS._replace(repository="Acme/Fleet"), ""),
        (OURS._replace(repository="mallory/fleet"), "the branch of pull request #7 is not in acme/fleet"),
        (OURS._replace(repository=""), "the branch of pull request #7 is not in acme/fleet"),
        (OURS._replace(branch="feature"), "its branch is not flux-upgrade/…"),
        (OURS._replace(is_by_bot=True), "a bot changed pull request #7"),
    ],
)
def test_what_is_left_alone(event: PullRequestEvent, reason: str) -> None:
    found = event.left_alone("acme/fleet", "flux-upgrade/")
    assert (reason in found) and bool(found) == bool(reason)


def test_an_event_is_left_alone_whether_the_path_exists_or_not(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").touch()
    options = parsed(UpgradeOptions, ["upgrade", str(tmp_path / "gone" / "away"), "--repository=acme/fleet"])
    event = OURS._replace(is_by_bot=True)
    assert reason_to_pass(event, options, Environment()).startswith("a bot changed pull request #7")


DASHBOARD = DashboardEvent(9, is_dashboard=True, is_ticked=True, is_by_bot=False)
BODY = markers.dashboard_block(markers.checkbox("rebase-1", "text", is_ticked=True), "")


def edited(body: str | None = BODY, *labels: str, sender: str = "User") -> str:
    names = [{"name": label} for label in labels or [markers.DASHBOARD]]
    issue = {"number": 9, "body": body, "labels": names, "title": "::error::owned"}
    return json.dumps({"issue": issue, "sender": {"type": sender}})


@pytest.mark.parametrize(
    ("text", "wanted", "reason"),
    [
        (edited(), DASHBOARD, ""),
        (edited(BODY, "bug"), DASHBOARD._replace(is_dashboard=False), "issue #9 is not the dashboard"),
        (edited("- [x] <!-- flux-upgrade:rebase-1 -->"), None, "issue #9 is not the dashboard"),
        (edited(None), None, "issue #9 is not the dashboard"),
        (edited(sender="Bot"), DASHBOARD._replace(is_by_bot=True), "a bot changed the dashboard #9"),
        (edited(BODY.replace("[x]", "[ ]")), DASHBOARD._replace(is_ticked=False), "no box of the dashboard #9"),
    ],
)
def test_only_a_box_that_a_user_ticked_in_a_dashboard_starts_a_run(
    text: str, wanted: DashboardEvent | None, reason: str
) -> None:
    found = event_of(text, ISSUES)
    assert wanted in (None, found)
    assert (reason in found.left_alone("acme/fleet", "flux-upgrade/")) and bool(reason) == bool(
        found.left_alone("acme/fleet", "flux-upgrade/")
    )


PENDING = markers.block("text", markers.MarkerState("clusters.a", "minor", Version("v2.9.4"), pending=True))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (edited(PENDING, markers.PENDING, APPROVED), ""),
        (edited(PENDING, markers.PENDING), "issue #9 does not have the label flux-upgrade/approved"),
        (edited(PENDING, markers.PENDING, APPROVED, sender="Bot"), "a bot changed issue #9"),
        (edited("text", markers.PENDING, APPROVED), "issue #9 is not the dashboard"),
        (edited(PENDING, APPROVED), "issue #9 is not the dashboard"),
    ],
)
def test_the_label_that_approves_a_pending_issue_starts_a_run(text: str, reason: str) -> None:
    found = event_of(text, ISSUES).left_alone("acme/fleet", "flux-upgrade/")
    assert (reason in found) and bool(reason) == bool(found)


@pytest.mark.parametrize("text", ["", "{}", json.dumps({"sender": {"type": "User"}, "issue": {"number": "x"}})])
def test_what_is_no_event_of_an_issue(text: str) -> None:
    with pytest.raises(UsageError, match="not the payload of an issue"):
        event_of(text, ISSUES)


def test_an_event_moves_no_tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = parsed(UpgradeOptions, ["upgrade", "oci://registry.example.com/org/flux-manifests:production"])
    options = options._replace(request=options.request._replace(branch=OURS.branch))
    with ExitStack() as stack, pytest.raises(UsageError, match="moves no tags"):
        artifact_sink(options, Environment(), print, None, stack, previews=False)
