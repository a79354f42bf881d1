"""The GraphQL API: real execution, by graphql-core, of the part of the schema in ``schema.graphql``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from github_stand_in import access
from github_stand_in import graphql_mutations as mutations
from github_stand_in.branch_rules import RefUpdate
from github_stand_in.exchange import Request, Response
from github_stand_in.graphql_git import View, actor
from github_stand_in.graphql_views import Views
from github_stand_in.model import Pull, Token
from github_stand_in.refusals import Refused
from github_stand_in.repository import Repository
from github_stand_in.rest import Hub

if TYPE_CHECKING:
    from graphql import DocumentNode, GraphQLError, GraphQLSchema

SCHEMA = Path(__file__).with_name("schema.graphql")
_TYPES = {401: "FORBIDDEN", 403: "FORBIDDEN", 404: "NOT_FOUND", 409: "UNPROCESSABLE", 422: "UNPROCESSABLE"}


@cache
def _schema() -> GraphQLSchema:
    from graphql import build_schema

    return build_schema(SCHEMA.read_text(encoding="utf-8"))


@lru_cache(maxsize=64)
def _parsed(source: str) -> DocumentNode:
    """A document; clients send the same few texts again and again. Raises GraphQLSyntaxError."""
    from graphql import parse

    return parse(source)


@lru_cache(maxsize=64)
def _invalid(source: str) -> list[GraphQLError]:
    """What the schema has against a document that can be parsed."""
    from graphql import validate

    return validate(_schema(), _parsed(source))


def operation_of(request: Request) -> str:
    """``query``, or the names of the mutations; empty where it cannot be read."""
    from graphql import FieldNode, GraphQLSyntaxError, OperationDefinitionNode

    try:
        document = _parsed(str(request.json["query"]))
    except (GraphQLSyntaxError, ValueError, KeyError, TypeError):
        return ""
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            if definition.operation.value != "mutation":
                return "query"
            fields = (s for s in definition.selection_set.selections if isinstance(s, FieldNode))
            return ",".join(field.name.value for field in fields)
    return ""


def serve(hub: Hub, request: Request) -> Response:
    """Answer a POST to ``/graphql``. Raises Refused."""
    from graphql import GraphQLSyntaxError, execute_sync

    if request.token is None:
        raise Refused(401, "This endpoint requires you to be authenticated.")
    try:
        given = request.json
        source, variables = str(given["query"]), given.get("variables") or {}
    except (ValueError, KeyError, TypeError):
        raise Refused(400, "Problems parsing JSON") from None
    try:
        document = _parsed(source)
    except GraphQLSyntaxError as error:
        return Response(200, {"errors": [_shown(error)]})
    if errors := _invalid(source):
        return Response(200, {"errors": [_shown(error) for error in errors]})
    root = Root(hub, request, request.token)
    result = execute_sync(_schema(), document, root.fields(), variable_values=variables)
    answer: View = {"data": result.data}
    if result.errors:
        answer["errors"] = [_shown(error) for error in result.errors]
    return Response(200, answer)


def _shown(error: GraphQLError) -> View:
    """An error as GitHub shows it: with a type beside the message."""
    cause = error.original_error
    shown: View = {"message": cause.sentence() if isinstance(cause, Refused) else error.message}
    if isinstance(cause, Refused):
        shown["type"] = _TYPES[cause.status]
        if "SAML" in cause.message:
            shown["extensions"] = {"saml_failure": True}
    elif cause is not None:
        raise cause
    if error.path is not None:
        shown["path"] = list(error.path)
    if error.locations:
        shown["locations"] = [{"line": at.line, "column": at.column} for at in error.locations]
    return shown


@dataclass(frozen=True)
class Root:
    """The fields of Query and Mutation, for one request."""

    hub: Hub
    request: Request
    token: Token

    def fields(self) -> View:
        """Names of the schema → functions."""
        login = self.token.login
        return {
            "viewer": lambda _: {**actor(self.token.login, self.request.host), "login": self.token.login},
            "rateLimit": lambda _, **__: self.hub.limits.graphql(self.token),
            "node": lambda _, **a: self._node(a["id"]),
            "repository": lambda _, **a: self._repository(f"{a['owner']}/{a['name']}"),
            "updateRefs": lambda _, **a: self._update_refs(a["input"]),
            "markPullRequestReadyForReview": self._on_pull(partial(mutations.mark_ready, login), "contents"),
            "convertPullRequestToDraft": self._on_pull(mutations.to_draft, "contents"),
            "enablePullRequestAutoMerge": self._on_pull(partial(mutations.enable_auto_merge, login), "contents"),
            "disablePullRequestAutoMerge": self._on_pull(mutations.disable_auto_merge, "contents"),
            "closePullRequest": self._on_pull(partial(mutations.close, login)),
            "updatePullRequest": self._on_pull(partial(mutations.update, login)),
            "revertPullRequest": lambda _, **a: self._revert(a["input"]),
        }

    def _views(self, repository: Repository) -> Views:
        self.request.repository = repository.full_name
        access.require_visible(self.token, repository.full_name, repository.settings)
        return Views(repository, self.token, self.request.host)

    def _repository(self, full_name: str) -> View:
        unresolved = Refused(404, f"Could not resolve to a Repository with the name '{full_name}'.")
        repository = self.hub.repositories.get(full_name)
        if repository is None:
            raise unresolved
        try:
            return self._views(repository).whole()
        except Refused as refused:
            raise (unresolved if refused.status == 404 else refused) from None

    def _node(self, node_id: str) -> View:
        kind, _, rest = node_id.partition("_")
        if kind == "PR":
            repository, pull = self._pull(node_id)
            return self._views(repository).pull(pull)
        for repository in self.hub.repositories.values():
            if kind == "R" and repository.node_id == node_id:
                return self._views(repository).whole()
            number, _, issue = rest.partition("_")
            if kind == "I" and number == str(repository.id) and int(issue) in repository.issues:
                return self._views(repository).issue(repository.issues[int(issue)])
        raise _unresolved(node_id)

    def _pull(self, node_id: str) -> tuple[Repository, Pull]:
        for repository in self.hub.repositories.values():
            for pull in repository.pulls.values():
                if node_id == f"PR_{repository.id}_{pull.number}":
                    return repository, pull
        raise _unresolved(node_id)

    def _may_write(self, repository: Repository, *permissions: str) -> Views:
        views = self._views(repository)
        for permission in permissions:
            views.need(permission, "write")
        if repository.settings.is_archived:
            raise Refused(403, "Repository was archived so is read-only.")
        return views

    def _update_refs(self, given: View) -> View:
        found = [r for r in self.hub.repositories.values() if r.node_id == given["repositoryId"]]
        if not found:
            raise _unresolved(given["repositoryId"])
        self._may_write(found[0], "contents")
        updates = [
            RefUpdate(each["name"], each.get("beforeOid"), each["afterOid"], force=each.get("force") or False)
            for each in given["refUpdates"]
        ]
        mutations.compare_and_swap(found[0], updates, self.token)
        return {"clientMutationId": given.get("clientMutationId")}

    def _revert(self, given: View) -> View:
        repository, pull = self._pull(given["pullRequestId"])
        views = self._may_write(repository, "pull_requests", "contents")
        made = mutations.revert(repository, pull, given, self.token.login)
        return {
            "clientMutationId": given.get("clientMutationId"),
            "pullRequest": views.pull(pull),
            "revertPullRequest": views.pull(made),
        }

    def _on_pull(self, change: Callable[[Repository, Pull, View], None], *more: str) -> Callable[..., View]:
        """A mutation of one pull request."""

        def resolve(_: object, **arguments: Any) -> View:
            given = arguments["input"]
            repository, pull = self._pull(given["pullRequestId"])
            views = self._may_write(repository, "pull_requests", *more)
            change(repository, pull, given)
            pull.updated_at = self.hub.clock.text
            return {
                "clientMutationId": given.get("clientMutationId"),
                "pullRequest": views.pull(pull),
                "actor": actor(self.token.login, self.request.host),
            }

        return resolve


def _unresolved(node_id: str) -> Refused:
    return Refused(404, f"Could not resolve to a node with the global id of '{node_id}'")
