"""REST: pull requests and issues (https://docs.github.com/rest/pulls, https://docs.github.com/rest/issues)."""

from __future__ import annotations

from typing import Any

from github_stand_in.exchange import Response
from github_stand_in.model import Issue, Pull
from github_stand_in.refusals import Refused, invalid
from github_stand_in.rest import Context, Route, paged
from github_stand_in.shapes_pulls import PullShapes

_EITHER = "issues|pull_requests"
"""The issues' endpoints serve pull requests too, and then with either permission."""


def list_pulls(context: Context) -> Response:
    """GET /pulls. ``head`` without an owner filters nothing, as on GitHub."""
    query = context.request.query
    state, head, base = query.get("state", "open"), query.get("head", ""), query.get("base", "")
    found = [
        pull
        for pull in sorted(context.repository.pulls.values(), key=lambda each: -each.number)
        if state in ("all", pull.state)
        and (not base or pull.base == base)
        and (":" not in head or head == f"{pull.head_owner}:{pull.head}")
    ]
    return paged(context, [context.shaped(PullShapes).pull(pull) for pull in found])


def create_pull(context: Context) -> Response:
    """POST /pulls."""
    body, repository = context.json, context.repository
    if context.token.kind == "actions" and not repository.settings.actions_may_open:
        raise Refused(
            403,
            "GitHub Actions is not permitted to create or approve pull requests.",
            docs="https://docs.github.com/rest/pulls/pulls#create-a-pull-request",
        )
    owner, _, branch = str(body.get("head", "")).rpartition(":")
    pull = repository.open_pull(
        branch,
        str(body.get("base", "")),
        str(body.get("title", "")),
        str(body.get("body") or ""),
        context.token.login,
        is_draft=bool(body.get("draft")),
        owner=owner,
    )
    return Response(201, context.shaped(PullShapes).whole_pull(pull, is_new=True))


def _pull(context: Context) -> Pull:
    pull = context.repository.pulls.get(context.number())
    if pull is None:
        raise Refused(404, "Not Found")
    return pull


def read_pull(context: Context) -> Response:
    """GET /pulls/{pull_number}."""
    return Response(200, context.shaped(PullShapes).whole_pull(_pull(context)))


def update_pull(context: Context) -> Response:
    """PATCH /pulls/{pull_number}."""
    pull, body = _pull(context), context.json
    _change(context, pull, body)
    if body.get("base"):
        context.repository.retarget(pull, body["base"])
    return Response(200, context.shaped(PullShapes).whole_pull(pull))


def _change(context: Context, issue: Issue, body: dict[str, Any]) -> None:
    """Title, body and state: all or nothing."""
    if body.get("state") not in (None, "open", "closed"):
        raise invalid("PullRequest", "state", "invalid")
    if body.get("state") == "open" and issue.state != "open":
        context.repository.reopen(issue, context.token.login)
    text = "" if "body" in body and body["body"] is None else body.get("body")
    context.repository.edit(issue, context.token.login, title=body.get("title"), body=text)
    if body.get("state") == "closed":
        context.repository.close(issue, context.token.login)


def request_reviewers(context: Context) -> Response:
    """POST /pulls/{pull_number}/requested_reviewers."""
    pull, body, settings = _pull(context), context.json, context.repository.settings
    people, teams = body.get("reviewers", []), body.get("team_reviewers", [])
    if pull.author in people:
        raise Refused(422, "Review cannot be requested from pull request author.")
    if not set(people) <= set(settings.collaborators) or not set(teams) <= set(settings.teams):
        raise Refused(
            422,
            "Reviews may only be requested from collaborators. One or more of the users or teams you"
            f" specified is not a collaborator of the {context.repository.full_name} repository.",
        )
    pull.reviewers += [each for each in people if each not in pull.reviewers]
    pull.team_reviewers += [each for each in teams if each not in pull.team_reviewers]
    return Response(201, context.shaped(PullShapes).pull(pull))


def list_issues(context: Context) -> Response:
    """GET /issues: pull requests are issues too."""
    query = context.request.query
    state, wanted = query.get("state", "open"), set(filter(None, query.get("labels", "").split(",")))
    every: list[Issue] = [*context.repository.issues.values(), *context.repository.pulls.values()]
    found = [
        issue
        for issue in sorted(every, key=lambda each: -each.number)
        if state in ("all", issue.state) and wanted <= set(issue.labels)
    ]
    return paged(context, [context.shaped(PullShapes).issue(issue) for issue in found])


def create_issue(context: Context) -> Response:
    """POST /issues."""
    body = context.json
    _require_assignable(context, body.get("assignees", []))
    title, text = str(body.get("title", "")), str(body.get("body") or "")
    issue = context.repository.open_issue(title, text, context.token.login)
    _put_labels(context, issue, body.get("labels", []))
    issue.assignees = list(body.get("assignees", []))
    return Response(201, context.shaped(PullShapes).issue(issue))


def _issue(context: Context) -> Issue:
    issue = context.repository.issue_or_pull(context.number())
    context.need(_EITHER if isinstance(issue, Pull) else "issues", "write" if context.request.is_write else "read")
    return issue


def read_issue(context: Context) -> Response:
    """GET /issues/{issue_number}."""
    return Response(200, context.shaped(PullShapes).issue(_issue(context)))


def update_issue(context: Context) -> Response:
    """PATCH /issues/{issue_number}: labels and assignees given here replace those there are."""
    issue, body = _issue(context), context.json
    _require_assignable(context, body.get("assignees") or [])
    _change(context, issue, body)
    if "labels" in body:
        issue.labels = []
        _put_labels(context, issue, body["labels"] or [])
    if "assignees" in body:
        issue.assignees = list(body["assignees"] or [])
    return Response(200, context.shaped(PullShapes).issue(issue))


def _require_assignable(context: Context, logins: list[str]) -> None:
    for login in logins:
        if login not in context.repository.settings.collaborators:
            error = {"value": login, "resource": "Issue", "field": "assignees", "code": "invalid"}
            raise Refused(422, "Validation Failed", [error])


def _put_labels(context: Context, issue: Issue, labels: list[Any]) -> None:
    """Labels that the repository does not have yet are made."""
    names = [each["name"] if isinstance(each, dict) else str(each) for each in labels]
    context.repository.label(issue, names, context.token.login)


def list_comments(context: Context) -> Response:
    """GET /issues/{issue_number}/comments, oldest first."""
    issue = _issue(context)
    return paged(context, [context.shaped(PullShapes).comment(issue, each) for each in issue.comments])


def add_comment(context: Context) -> Response:
    """POST /issues/{issue_number}/comments."""
    issue = _issue(context)
    comment = context.repository.comment(issue, str(context.json.get("body") or ""), context.token.login)
    return Response(201, context.shaped(PullShapes).comment(issue, comment))


def delete_comment(context: Context) -> Response:
    """DELETE /issues/comments/{comment_id}."""
    number = int(context.parameters["id"])
    for issue in (*context.repository.pulls.values(), *context.repository.issues.values()):
        for comment in issue.comments:
            if comment.id == number:
                issue.comments.remove(comment)
                return Response(204)
    raise Refused(404, "Not Found")


def add_labels(context: Context) -> Response:
    """POST /issues/{issue_number}/labels; the body is an object, or the list itself."""
    issue, body = _issue(context), context.request.json
    _put_labels(context, issue, body.get("labels", []) if isinstance(body, dict) else body)
    return Response(200, [context.shaped(PullShapes).label(name) for name in issue.labels])


def remove_label(context: Context) -> Response:
    """DELETE /issues/{issue_number}/labels/{name}."""
    issue, name = _issue(context), context.parameters["name"]
    if name not in issue.labels:
        raise Refused(404, "Label does not exist")
    issue.labels.remove(name)
    return Response(200, [context.shaped(PullShapes).label(each) for each in issue.labels])


def add_assignees(context: Context) -> Response:
    """POST /issues/{issue_number}/assignees: who cannot be assigned is left out, silently."""
    issue = _issue(context)
    known = context.repository.settings.collaborators
    wanted = [login for login in context.json.get("assignees", []) if login in known]
    issue.assignees += [login for login in wanted if login not in issue.assignees]
    return Response(201, context.shaped(PullShapes).issue(issue))


_PULLS, _ISSUES = "/repos/{owner}/{repo}/pulls", "/repos/{owner}/{repo}/issues"
ROUTES = (
    Route("GET", _PULLS, "pull_requests", list_pulls),
    Route("POST", _PULLS, "pull_requests", create_pull),
    Route("GET", f"{_PULLS}/{{number}}", "pull_requests", read_pull),
    Route("PATCH", f"{_PULLS}/{{number}}", "pull_requests", update_pull),
    Route("POST", f"{_PULLS}/{{number}}/requested_reviewers", "pull_requests", request_reviewers),
    Route("GET", _ISSUES, "issues", list_issues),
    Route("POST", _ISSUES, "issues", create_issue),
    Route("GET", f"{_ISSUES}/{{number}}", _EITHER, read_issue),
    Route("PATCH", f"{_ISSUES}/{{number}}", _EITHER, update_issue),
    Route("GET", f"{_ISSUES}/{{number}}/comments", _EITHER, list_comments),
    Route("POST", f"{_ISSUES}/{{number}}/comments", _EITHER, add_comment),
    Route("DELETE", f"{_ISSUES}/comments/{{id}}", _EITHER, delete_comment),
    Route("POST", f"{_ISSUES}/{{number}}/labels", _EITHER, add_labels),
    Route("DELETE", f"{_ISSUES}/{{number}}/labels/{{name}}", _EITHER, remove_label),
    Route("POST", f"{_ISSUES}/{{number}}/assignees", _EITHER, add_assignees),
)
