"""The pull request or the dashboard that started a run, from the event's payload. Pure.

https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request and …#issues.
"""

from __future__ import annotations

import json
from typing import Any

from flux_upgrade.model import markers
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.feedback import APPROVED

PULL_REQUEST_TARGET = "pull_request_target"
ISSUES = "issues"


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


class DashboardEvent(NamedTuple):
    """As above. Whether our own account has opened the issue is looked at later: the token tells that."""

    number: int
    is_dashboard: bool  # It has our label and our marker
    is_ticked: bool  # A box of it is ticked
    is_by_bot: bool
    branch: str = ""  # It is about all pull requests

    def left_alone(self, repository: str, branch_prefix: str) -> str:
        del repository, branch_prefix  # GitHub sends events of the workflow's own repository only
        if not self.is_dashboard:
            return f"issue #{self.number} is not the dashboard of flux-upgrade"
        if self.is_by_bot:
            return f"a bot changed the dashboard #{self.number}: the next scheduled run looks at it"
        # It ends the loop where what we write looks like a user's edit, because the token is a user's.
        return "" if self.is_ticked else f"no box of the dashboard #{self.number} is ticked"


class PendingIssueEvent(NamedTuple):
    """An event of an issue that stands in for a draft. Like a dashboard, it counts only if our account opened it."""

    number: int
    is_approved: bool
    is_by_bot: bool
    branch: str = ""  # As of a dashboard

    def left_alone(self, repository: str, branch_prefix: str) -> str:
        del repository, branch_prefix
        if self.is_by_bot:
            return f"a bot changed issue #{self.number}: the next scheduled run looks at it"
        return "" if self.is_approved else f"issue #{self.number} does not have the label {APPROVED}"


Event = PullRequestEvent | DashboardEvent | PendingIssueEvent


def event_of(payload: str, name: str = PULL_REQUEST_TARGET) -> Event:
    """``name``: one of those above. Raises UsageError for what is no payload of it."""
    try:
        found: Any = json.loads(payload)
        is_by_bot = found["sender"]["type"] == "Bot"
        return _issue(found, is_by_bot=is_by_bot) if name == ISSUES else _pull(found, is_by_bot=is_by_bot)
    except (ValueError, TypeError, KeyError) as error:
        what = "an issue" if name == ISSUES else "a pull request"
        raise UsageError(
            f"GITHUB_EVENT_PATH is not the payload of {what}",
            hint="run it in a job of GitHub Actions, which sets this variable",
        ) from error


def _pull(found: Any, *, is_by_bot: bool) -> PullRequestEvent:
    pull = found["pull_request"]
    head = pull["head"]
    repository = head["repo"]["full_name"] if head["repo"] else ""
    return PullRequestEvent(int(pull["number"]), str(head["ref"]), str(repository), is_by_bot)


def _issue(found: Any, *, is_by_bot: bool) -> DashboardEvent | PendingIssueEvent:
    issue = found["issue"]
    number, body = int(issue["number"]), str(issue["body"] or "")
    labels = [label["name"] for label in issue["labels"]]
    if markers.PENDING in labels and markers.state_of(body) is not None:
        return PendingIssueEvent(number, APPROVED in labels, is_by_bot)
    is_dashboard = markers.DASHBOARD in labels and markers.dashboard_scope(body) is not None
    return DashboardEvent(number, is_dashboard, bool(markers.ticked(body)), is_by_bot)
