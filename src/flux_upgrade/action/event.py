"""The pull request that started a run, from the event's payload. Pure.

https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from flux_upgrade.model.errors import UsageError

PULL_REQUEST_TARGET = "pull_request_target"


class PullRequestEvent(NamedTuple):
    """Names and numbers only: no title, text or label, which any user could have written."""

    number: int
    branch: str  # Its head
    repository: str  # `owner/name` of the head; empty: it is gone
    is_by_bot: bool

    def left_alone(self, repository: str, branch_prefix: str) -> str:
        """Why a run about ``repository`` has nothing to do with it; empty: it has."""
        if self.repository.lower() != repository.lower():
            return f"the branch of pull request #{self.number} is not in {repository}"
        if not self.branch.startswith(branch_prefix):
            return f"pull request #{self.number} is not one of flux-upgrade: its branch is not {branch_prefix}…"
        if self.is_by_bot:
            # What we write is an event, too, if an App's token wrote it. A person's token cannot be told from the
            # person: then a run looks, and finds nothing to do.
            return f"a bot changed pull request #{self.number}: the next scheduled run looks at it"
        return ""


def event_of(payload: str) -> PullRequestEvent:
    """Raises UsageError for what is no payload of a pull request."""
    try:
        found: Any = json.loads(payload)
        pull, sender = found["pull_request"], found["sender"]
        head = pull["head"]
        repository = head["repo"]["full_name"] if head["repo"] else ""
        return PullRequestEvent(int(pull["number"]), str(head["ref"]), str(repository), sender["type"] == "Bot")
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            "GITHUB_EVENT_PATH is not the payload of a pull request",
            hint="run it in a job of GitHub Actions, which sets this variable",
        ) from error
