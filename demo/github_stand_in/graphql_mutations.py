"""What the mutations of the GraphQL API do to a pull request, or to refs. Each raises Refused."""

from __future__ import annotations

from collections.abc import Iterable

from github_stand_in.branch_rules import RefUpdate
from github_stand_in.gitstore import NO_OBJECT, Moved
from github_stand_in.graphql_git import View
from github_stand_in.model import Pull, Token
from github_stand_in.refusals import Refused, require_text
from github_stand_in.repository import Repository


def compare_and_swap(repository: Repository, updates: Iterable[RefUpdate], token: Token) -> None:
    """UpdateRefs: all or nothing."""
    wanted = [
        RefUpdate(u.name, "" if u.old == NO_OBJECT else u.old, "" if u.new == NO_OBJECT else u.new, u.force)
        for u in updates
    ]
    for update in wanted:
        current = repository.store.ref(update.name)
        if update.old is not None and current != update.old:
            raise Refused(422, f"{update.name} is at {current or NO_OBJECT} but expected {update.old or NO_OBJECT}")
        repository.refuse_update(update, token, by_push=True)
    try:
        repository.push(wanted)
    except Moved as error:
        raise Refused(422, str(error)) from error


def mark_ready(by: str, repository: Repository, pull: Pull, _: View) -> None:
    """MarkPullRequestReadyForReview."""
    if pull.state != "open":
        raise Refused(422, "Could not mark the pull request as ready for review: it is closed")
    repository.mark_ready(pull, by)


def to_draft(repository: Repository, pull: Pull, _: View) -> None:
    """ConvertPullRequestToDraft."""
    if not repository.settings.drafts:
        raise Refused(422, "Draft pull requests are not supported in this repository.")
    pull.is_draft, pull.auto_merge, pull.is_queued = True, "", False


def disable_auto_merge(_: Repository, pull: Pull, __: View) -> None:
    """See https://docs.github.com/graphql/reference/mutations#disablepullrequestautomerge."""
    if pull.state != "open" or not pull.auto_merge:
        raise Refused(422, "Can't disable auto-merge for this pull request.")
    pull.auto_merge = ""


def enable_auto_merge(by: str, repository: Repository, pull: Pull, arguments: View) -> None:
    """See https://docs.github.com/graphql/reference/mutations#enablepullrequestautomerge."""
    if not repository.settings.auto_merge:
        raise Refused(422, "Auto merge is not allowed for this repository")
    if (arguments.get("expectedHeadOid") or pull.head_sha) != pull.head_sha:
        raise Refused(422, "Expected head sha didn't match current head ref.")
    statuses = repository.status(pull.head_sha)
    required = repository.settings.required_contexts if pull.base == repository.default_branch else ()
    if all(name in statuses and statuses[name].state == "success" for name in required):
        raise Refused(422, "Pull request Pull request is in clean status")
    if pull.is_draft:
        raise Refused(422, "Can't enable auto-merge for this pull request.")
    pull.auto_merge, pull.auto_merge_by = (arguments.get("mergeMethod") or "MERGE").lower(), by


def revert(repository: Repository, pull: Pull, arguments: View, author: str) -> Pull:
    """RevertPullRequest: a new pull request, whose branch GitHub makes and names."""
    if not pull.merged_at:
        raise Refused(422, "Could not revert the pull request: it is not merged")
    branch = f"revert-{pull.number}-{pull.head}"
    if repository.head(branch):
        raise Refused(422, f"Could not revert the pull request: the branch {branch} exists")
    if arguments.get("draft") and not repository.settings.drafts:
        raise Refused(422, "Draft pull requests are not supported in this repository.")
    title = arguments.get("title") or f'Revert "{pull.title}"'
    body = arguments.get("body") or f"Reverts {repository.full_name}#{pull.number}"
    require_text(title, body)
    try:
        repository.people.revert(pull.merge_commit, branch, start=repository.head(pull.base))
    except Refused as error:
        raise Refused(422, "Could not revert the pull request: it conflicts with its base") from error
    return repository.open_pull(branch, pull.base, title, body, author, is_draft=bool(arguments.get("draft")))


def close(by: str, repository: Repository, pull: Pull, _: View) -> None:
    """ClosePullRequest."""
    repository.close(pull, by)


def update(by: str, repository: Repository, pull: Pull, arguments: View) -> None:
    """UpdatePullRequest."""
    if arguments.get("state") == "OPEN" and pull.state != "open":
        repository.reopen(pull, by)
    repository.edit(pull, by, title=arguments.get("title"), body=arguments.get("body"))
    if arguments.get("baseRefName"):
        repository.retarget(pull, arguments["baseRefName"])
    if arguments.get("state") == "CLOSED":
        repository.close(pull, by)
