"""How the API says no."""

from __future__ import annotations

from collections.abc import Mapping

MAX_BODY = 65_536
"""Characters of a body: https://github.com/renovatebot/renovate/issues/2032."""
_MAX_TITLE = 256


class Refused(Exception):
    """A request that the API answers with an error."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: list[dict[str, str]] | None = None,
        headers: Mapping[str, str] | None = None,
        docs: str = "https://docs.github.com/rest",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.headers = dict(headers or {})
        self.docs = docs

    def body(self) -> dict[str, object]:
        """As the REST API says it."""
        body: dict[str, object] = {"message": self.message}
        if self.errors is not None:
            body["errors"] = self.errors
        return {**body, "documentation_url": self.docs, "status": str(self.status)}

    def sentence(self) -> str:
        """As the GraphQL API says it."""
        return "; ".join(error.get("message", "") for error in self.errors or () if error.get("message")) or (
            self.message
        )


def invalid(resource: str, field: str, code: str, message: str = "") -> Refused:
    """422, one field is wrong."""
    error = {"resource": resource, "field": field, "code": code}
    return Refused(422, "Validation Failed", [{**error, "message": message} if message else error])


def custom(message: str) -> Refused:
    """422, a pull request cannot be opened."""
    return Refused(
        422,
        "Validation Failed",
        [{"resource": "PullRequest", "code": "custom", "message": message}],
        docs="https://docs.github.com/rest/pulls/pulls#create-a-pull-request",
    )


def unchangeable(message: str) -> Refused:
    """422, a pull request cannot be opened again."""
    return Refused(
        422, "Validation Failed", [{"resource": "PullRequest", "code": "custom", "field": "state", "message": message}]
    )


def require_text(title: str, body: str) -> None:
    """422 for a title or a body that is too long, and for no title."""
    if not title.strip():
        raise invalid("Issue", "title", "missing_field")
    for name, text, most in (("title", title, _MAX_TITLE), ("body", body, MAX_BODY)):
        if len(text) > most:
            raise invalid("Issue", name, "custom", f"{name} is too long (maximum is {most} characters)")
