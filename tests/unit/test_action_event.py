"""A run for ``pull_request_target`` knows which pull request it is about, and what is not its task."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from flux_upgrade.action.event import PullRequestEvent, event_of
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.artifact_sinks import artifact_sink
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import UsageError
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


def test_an_event_moves_no_tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = parsed(UpgradeOptions, ["upgrade", "oci://registry.example.com/org/flux-manifests:production"])
    options = options._replace(request=options.request._replace(branch=OURS.branch))
    with ExitStack() as stack, pytest.raises(UsageError, match="moves no tags"):
        artifact_sink(options, Environment(), print, None, stack, previews=False)
