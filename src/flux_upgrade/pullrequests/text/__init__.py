"""What stands in a pull request, its commit and its status: text only, the same for the same proposal."""

from flux_upgrade.pull_request.body import body, issue
from flux_upgrade.pull_request.closing import closing, held
from flux_upgrade.pull_request.commit import changes_digest, commit_message, plan_digest, status
from flux_upgrade.pull_request.headline import conventional_prefix, title
from flux_upgrade.pull_request.todo import has_to_do

__all__ = [
    "body",
    "changes_digest",
    "closing",
    "commit_message",
    "conventional_prefix",
    "has_to_do",
    "held",
    "issue",
    "plan_digest",
    "status",
    "title",
]
