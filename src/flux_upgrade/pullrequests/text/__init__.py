"""The text of a pull request, its commit and its status: the same for the same proposal."""

from flux_upgrade.pullrequests.text.body import body, issue
from flux_upgrade.pullrequests.text.checklist import has_to_do, needs_nobody
from flux_upgrade.pullrequests.text.commit import (
    changes_digest,
    closing,
    commit_message,
    conventional_prefix,
    held,
    plan_digest,
    state_for,
    status,
    title,
)

__all__ = [
    "body",
    "changes_digest",
    "closing",
    "commit_message",
    "conventional_prefix",
    "has_to_do",
    "held",
    "issue",
    "needs_nobody",
    "plan_digest",
    "state_for",
    "status",
    "title",
]
