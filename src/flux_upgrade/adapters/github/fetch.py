"""Reading a repository on GitHub: one GraphQL query, where it is small enough."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence

from flux_upgrade.adapters.github import query as queries
from flux_upgrade.adapters.github import refusals
from flux_upgrade.adapters.github.query import Json, Parts, Query, Who
from flux_upgrade.adapters.http.client import Client, RequestOptions, Response
from flux_upgrade.model.errors import FluxUpgradeError, RepositoryUnfit, SourceUnavailable
from flux_upgrade.model.forge import Branch, Question, Repository
from flux_upgrade.model.ports import Timing
from flux_upgrade.model.text import one_line

_OPTIONS = RequestOptions(accept_status=(400, 401, 403, 404, 410, 422, 451))
_RECENT = 20
"""Headlines that tell the style of a history."""
_MAX_FURTHER = 5
"""Queries for pull requests that stand behind those of forks."""
_UNSIGNED = (
    "the rules demand signed commits, and GitHub signs only those of apps and GITHUB_TOKEN: what a personal "
    "token commits cannot be merged, or not even be pushed; use one of these tokens, or change the rules"
)


class GitHubFetch:
    """Asks GitHub's GraphQL API. ``is_personal``: the token acts for a person, see ``_UNSIGNED``."""

    def __init__(
        self, client: Client, timing: Timing, who: Who, graphql_url: str, *, is_personal: bool
    ) -> None:
        self._client = client
        self._timing = timing
        self._who = who
        self._url = graphql_url
        self._parts = Parts(rules=is_personal)
        self._reading = refusals.Attempt(f"read {one_line('/'.join(who))}", "contents: read")

    def fetch(self, question: Question) -> tuple[Repository, Json]:
        """What was asked for; and the repository as GitHub calls it: ``id``, ``nameWithOwner`` and so on."""
        try:
            facts = self._asked(lambda parts: queries.first(self._who, parts, question))
            self._require_fit(facts, question.base)
            oid = facts["base"]["target"]["oid"]
            merged, files = dict(facts), dict(facts["base"]["target"])
            for number in range(1, queries.chunks(question)):
                answer = self._chunk(question, oid, number)
                merged |= answer
                files |= answer.get("object") or {}
            branches = {
                name: queries.branch_of(merged, number, name, facts["base"]["name"])
                for number, name in enumerate(question.branches)
            }
            branches |= self._behind_forks(merged, branches)
            return self._repository(question, merged, files, branches), facts
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise refusals.nonsense(self._reading) from error

    def _chunk(self, question: Question, oid: str, number: int) -> Json:
        return self._asked(lambda parts: queries.more(self._who, parts, question, oid, number))

    def _repository(
        self, question: Question, seen: Json, files: Json, branches: Mapping[str, Branch]
    ) -> Repository:
        base, commit = seen["base"], seen["base"]["target"]
        refs = [base, *(seen[f"b{number}"] for number in range(len(question.branches)))]
        return Repository(
            name=seen["nameWithOwner"],
            url=seen["url"],
            base=base["name"],
            base_oid=commit["oid"],
            base_tree=commit["tree"]["oid"],
            files={path: queries.file_of(files, number) for number, path in enumerate(question.paths)},
            branches=branches,
            issues=queries.issues_of(seen),
            sees_statuses=self._parts.statuses,
            others=queries.others_of(seen, question),
            viewer=seen["viewer"],
            recent=tuple(each["messageHeadline"] for each in commit["recent"]["nodes"][:_RECENT]),
            ancestry=tuple(each["oid"] for each in commit["recent"]["nodes"]),
            warnings=(_UNSIGNED,) if any(map(queries.demands_signatures, refs)) else (),
        )

    def _behind_forks(self, seen: Json, branches: Mapping[str, Branch]) -> dict[str, Branch]:
        """Branches whose own pull requests may stand behind those of forks, completed."""
        names, base = list(branches), seen["base"]["name"]
        found: dict[str, Branch] = {}
        connections = {number: seen[f"q{number}"] for number in range(len(names))}
        for _ in range(_MAX_FURTHER):
            cursors = {
                number: (names[number], cursor)
                for number, connection in connections.items()
                if (cursor := queries.cursor_of(connection))
                and len(found.get(names[number], branches[names[number]]).pulls) < queries.MAX_PULLS
            }
            if not cursors:
                break
            answer = self._further(cursors)
            connections = {number: answer[f"q{number}"] for number in cursors}
            for number, connection in connections.items():
                known = found.get(names[number], branches[names[number]])
                pulls = (*known.pulls, *queries.pulls_of(connection, base))[: queries.MAX_PULLS]
                found[names[number]] = known._replace(pulls=pulls)
        return found

    def _further(self, cursors: Mapping[int, tuple[str, str]]) -> Json:
        return self._asked(lambda parts: queries.further_pulls(self._who, parts, cursors))

    def _require_fit(self, facts: Json, base: str) -> None:
        name = one_line(facts["nameWithOwner"])
        if facts["isArchived"]:
            raise RepositoryUnfit(f"{name} is archived", hint="unarchive it, or remove this workflow")
        if facts["isEmpty"]:
            raise RepositoryUnfit(f"{name} is empty", hint=refusals.BOOTSTRAP)
        if facts["base"] is None:
            near = difflib.get_close_matches(base, self._branch_names(), n=1, cutoff=0.5)
            hint = f"did you mean {one_line(near[0])}?" if near else "give the name of a branch that is there"
            raise RepositoryUnfit(f"{name} has no branch {one_line(base)}", hint=hint)

    def _branch_names(self) -> Sequence[str]:
        """For a hint, which may be had without."""
        variables = {"owner": self._who[0], "name": self._who[1]}
        try:
            found = self._asked(lambda _: Query(queries.BRANCHES, variables))
        except FluxUpgradeError:
            return ()
        return [node["name"] for node in (found["refs"] or {"nodes": ()})["nodes"]]

    def _asked(self, build: Callable[[Parts], Query]) -> Json:
        """The ``repository`` of an answer; parts that the token may not see are not asked for again."""
        while True:
            response, answer = self._answer(build(self._parts))
            repository, errors = (answer.get("data") or {}).get("repository"), answer.get("errors") or []
            if not all(map(queries.is_about_parts, errors)):
                raise self._refusal(response, answer)
            before, self._parts = self._parts, self._parts.without(errors)
            if isinstance(repository, dict):
                viewer = answer["data"].get("viewer") or {"login": ""}
                return {**repository, "viewer": viewer["login"]}
            if self._parts == before:
                raise self._refusal(response, answer)

    def _answer(self, query: Query) -> tuple[Response, Json]:
        body = json.dumps({"query": query.text, "variables": query.variables}).encode()
        try:
            response = self._client.query(self._url, body, _OPTIONS)
        except SourceUnavailable as error:
            raise refusals.unreachable(error, self._reading) from None
        try:
            answer = json.loads(response.body)
        except (ValueError, RecursionError):
            answer = None
        if not response.is_found:
            raise self._refusal(response, answer)
        if not isinstance(answer, dict) or not isinstance(answer.get("errors", []), list):
            raise refusals.nonsense(self._reading)
        return response, answer

    def _refusal(self, response: Response, answer: object) -> FluxUpgradeError:
        refusal = refusals.refusal_of(response.status, answer, response.headers)
        if "NOT_FOUND" in refusal.kinds:
            return refusals.not_seen("/".join(self._who), refusal.text)
        attempt = self._reading._replace(permission=queries.permission_for(answer))
        return refusals.error_of(refusal, attempt, self._timing.now())
