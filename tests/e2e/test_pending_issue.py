"""An issue that replaces a draft is approved by its label, at once, if our own account opened it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from e2e.fleet import Fleet
from flows import fleet
from flux_upgrade.model import markers
from flux_upgrade.policy.feedback import APPROVED


def labeled(on: Fleet, number: int) -> dict[str, Any]:
    """The payload of the event after a user added a label to an issue."""
    issue = on.repository.issues[number]
    labels = [{"name": name} for name in issue.labels]
    return {"issue": {"number": number, "body": issue.body, "labels": labels}, "sender": {"type": "User"}}


@pytest.mark.parametrize("is_ours", [True, False])
def test_the_label_opens_the_pull_request(tmp_path: Path, *, is_ours: bool) -> None:
    with Fleet(tmp_path, fleet({"clusters/staging": "v2.8.8"})) as on:
        on.repository.settings.drafts = False
        on.run()
        (number,) = on.repository.issues
        assert markers.PENDING in on.repository.issues[number].labels
        if not is_ours:
            on.repository.issues[number].author = "mallory"
        assert on.opened() == {}
        on.repository.people.label(number, APPROVED)
        done = on.run(event="issues", payload=labeled(on, number))
        assert done.exit_code == 0, done.log
        assert bool(on.opened()) == is_ours
