"""What goes wrong on the way to GitHub, by name."""

from __future__ import annotations

from collections.abc import Callable

from github_stand_in.exchange import Fault, Request, Response
from github_stand_in.refusals import Refused

_SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    " If you reach out to GitHub Support for help, please include the request ID."
)
_PRIMARY = "API rate limit exceeded for installation ID 1."

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("401", 401, "Bad credentials"),
        Fault("403 permission", 403, "Resource not accessible by integration"),
        Fault(
            "403 workflows",
            403,
            "refusing to allow a GitHub App to create or update workflow `.github/workflows/flux.yaml`"
            " without `workflows` permission",
        ),
        Fault("403 primary limit", 403, _PRIMARY, {"x-ratelimit-remaining": "0"}),
        Fault("403 secondary limit", 403, _SECONDARY, {"Retry-After": "60"}),
        Fault("404", 404, "Not Found"),
        Fault("409", 409, "Git Repository is empty."),
        Fault("422", 422, "Validation Failed"),
        Fault("429", 429, _SECONDARY, {"Retry-After": "7"}),
        Fault("500", 500, "Server Error"),
        Fault("502", 502, "Server Error"),
        Fault("503", 503, "Service Unavailable"),
        Fault("504", 504, "We couldn't respond to your request in time."),
        Fault("reset", how="reset"),
        Fault("truncated", how="truncated", is_applied=True),
        Fault("slow", how="slow", is_applied=True),
        Fault("500", 500, "Server Error").after_the_work(),
        Fault("502", 502, "Server Error").after_the_work(),
        Fault("504", 504, "We couldn't respond to your request in time.").after_the_work(),
        Fault("reset", how="reset").after_the_work(),
    )
}
"""Each is given to ``StandIn.fail``; any other status or text is a ``Fault`` of one's own."""

HEAVY: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault(
            "timeout",
            200,
            "Something went wrong while executing your query. This may be the result of a timeout, or it could be a"
            " GitHub bug. Please include `0000:0001:0002:0003:0004` when reporting this issue.",
        ),
        Fault("resource limits", 200, "Resource limits for this query exceeded."),
        Fault(
            "node limit",
            200,
            "This query requests up to 1,010,000 possible nodes which exceeds the maximum limit of 500,000.",
        ),
    )
}
"""How GraphQL refuses a query that asks for too much, with status 200. Sources:
https://github.com/semantic-release/github/issues/911, https://github.com/cicirello/user-statistician/issues/315
and https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api."""

_GRAPHQL_TYPES = {
    "403 permission": "FORBIDDEN",
    "403 primary limit": "RATE_LIMITED",
    "404": "NOT_FOUND",
    "resource limits": "RESOURCE_LIMITS_EXCEEDED",
    "node limit": "MAX_NODE_LIMIT_EXCEEDED",
}


def answer_of(fault: Fault, request: Request, reset: int) -> Response:
    """What is answered; ``reset`` is when the limit ends (epoch seconds).

    GraphQL tells permissions, what is not there and the primary limit with status 200:
    https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
    """
    headers = dict(fault.headers)
    if "x-ratelimit-remaining" in headers:
        headers["x-ratelimit-reset"] = str(reset)
    if request.path == "/graphql" and (fault.name in _GRAPHQL_TYPES or fault.name in HEAVY):
        error: dict[str, object] = {"message": fault.message}
        if fault.name in _GRAPHQL_TYPES:
            error["type"] = _GRAPHQL_TYPES[fault.name]
        # Some of the answer comes along, and the error is about what is missing.
        is_partial = fault.name == "resource limits"
        if is_partial:
            error["path"] = ["repository", "issues"]
        return Response(200, {"data": {"repository": None} if is_partial else None, "errors": [error]}, headers)
    if fault.status >= 500:
        page = f"<html><body><h1>{fault.status}</h1>{fault.message}</body></html>".encode()
        return Response(fault.status, page, {**headers, "Content-Type": "text/html"})
    return Response(fault.status, Refused(fault.status, fault.message).body(), headers)


def to(method: str, path: str = "") -> Callable[[Request], bool]:
    """Matches requests by method, and by a part of the path (``/git/refs``) or a mutation's name."""

    def matches(request: Request) -> bool:
        return request.method == method and (path in request.path or path == request.operation)

    return matches
