"""What every pull request ends with: a box to rebase it, and notes."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.model import markers
from flux_upgrade.planning.proposal import ProposalContext

REBASE_BOX = markers.checkbox(
    markers.REBASE, "rebase: recreate this branch from the base branch, discarding other commits on it"
)
# When an answer counts. The same text whatever starts a run, and wherever: else runs would rewrite it in turn.
TAKING_EFFECT = "Boxes and labels take effect at the next run. To start one in GitHub Actions, click **Run workflow**."


def held_checks(context: ProposalContext) -> Iterator[str]:
    """A note, and no task: many repositories have no checks."""
    # https://docs.github.com/en/actions/concepts/security/github_token
    if context.waits_for_checks and context.is_enterprise_server:
        yield (
            "Checks missing? Close this pull request and reopen it. GitHub Enterprise Server starts no checks for pull "
            "requests that are opened with `GITHUB_TOKEN`."
        )
    elif context.waits_for_checks:
        yield (
            "Checks waiting? Click **Approve workflows to run** in the merge box. GitHub holds the checks of pull "
            "requests that are opened with `GITHUB_TOKEN`."
        )
