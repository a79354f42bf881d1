"""GitHub as a forge: one GraphQL query to read, where it is small enough; PyGithub to write."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from flux_upgrade.adapters.github import query as queries
from flux_upgrade.adapters.github import refusals
from flux_upgrade.adapters.github.api import GitHubApi, owner_and_name
from flux_upgrade.adapters.github.query import Json, Parts, Query
from flux_upgrade.adapters.http.client import Response
from flux_upgrade.model.errors import FluxUpgradeError, ForbiddenByForge, RepositoryUnfit
from flux_upgrade.model.forge import Branch, Done, Question, Repository, Step
from flux_upgrade.model.text import one_line

_RECENT = 20  # headlines that tell the style of a history
_MAX_FURTHER = 5  # queries for pull requests that stand behind those of forks
_PERSONAL = ("ghp_", "github_pat_", "gho_")
"""How tokens begin that act for a person.

Source: https://docs.github.com/authentication/keeping-your-account-and-data-secure/about-authentication-to-github
"""
_UNSIGNED = (
    "the repository's rules require signed commits, which a personal token cannot create; "
    "use GITHUB_TOKEN or the token of an app, or change the rules"
)


class GitHubForge:
    """The port Forge. ``token`` tells of which kind it is, and is not kept.

    Raises UsageError for what cannot be a repository.
    """

    def __init__(self, github: GitHubApi, repository: str, token: str) -> None:
        self._github = github
        self._who = owner_and_name(repository)
        self._parts = Parts(rules=token.startswith(_PERSONAL))
        self._reading = refusals.Attempt(f"read {one_line(repository)}", "contents: read")
        self._facts: Json | None = None

    @property
    def calls(self) -> int:
        """Every request of the client counts, those of retries too."""
        return self._github.client.sent

    def close(self) -> None:
        self._github.client.close()

    def apply(self, step: Step) -> Done:
        """Writes are sent once, unless GitHub says that it did not look at them."""
        from flux_upgrade.adapters.github.writes import GitHubWrites

        if self._facts is None:
            self.fetch(Question((), ()))
        return GitHubWrites(self._github, self._facts or {}).apply(step)

    def fetch(self, question: Question) -> Repository:
        """One call, and one more for each further 50 branches or 100 paths."""
        try:
            facts = self._asked(partial(queries.first, self._who, question))
            self._require_fit(facts, question.base)
            oid = facts["base"]["target"]["oid"]
            merged, files = dict(facts), dict(facts["base"]["target"])
            for number in range(1, queries.chunks(question)):
                answer = self._asked(partial(queries.more, self._who, question, oid, number))
                merged |= answer
                files |= answer.get("object") or {}
            branches = {
                name: queries.branch_of(merged, number, name, facts["base"]["name"])
                for number, name in enumerate(question.branches)
            }
            branches |= self._behind_forks(merged, branches)
            seen = self._repository(question, merged, files, branches)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise refusals.nonsense(self._reading) from error
        self._facts = facts
        return seen

    def _repository(self, question: Question, seen: Json, files: Json, branches: Mapping[str, Branch]) -> Repository:
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
            closed=queries.closed_of(seen, question),
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
            answer = self._asked(partial(queries.further_pulls, self._who, cursors))
            connections = {number: answer[f"q{number}"] for number in cursors}
            for number, connection in connections.items():
                known = found.get(names[number], branches[names[number]])
                pulls = (*known.pulls, *queries.pulls_of(connection, base))[: queries.MAX_PULLS]
                found[names[number]] = known._replace(pulls=pulls)
        return found

    def _require_fit(self, facts: Json, base: str) -> None:
        name = one_line(facts["nameWithOwner"])
        if facts["isArchived"]:
            raise RepositoryUnfit(f"{name} is archived", hint="unarchive the repository, or remove this workflow")
        if facts["isEmpty"]:
            raise RepositoryUnfit(f"{name} is empty", hint=refusals.BOOTSTRAP)
        if facts["base"] is None:
            near = difflib.get_close_matches(base, self._branch_names(), n=1, cutoff=0.5)
            hint = f"did you mean {one_line(near[0])}?" if near else "set the name of an existing branch"
            raise RepositoryUnfit(f"{name} has no branch {one_line(base)}", hint=hint)

    def _branch_names(self) -> Sequence[str]:
        variables = {"owner": self._who[0], "name": self._who[1]}
        try:
            found = self._asked(lambda _: Query(queries.BRANCHES, variables))
        except FluxUpgradeError:
            return ()
        return [node["name"] for node in (found["refs"] or {"nodes": ()})["nodes"]]

    def _asked(self, build: Callable[[Parts], Query]) -> Json:
        """The ``repository`` of an answer; parts that the token may not see are not asked for again."""
        while True:
            response, answer = self._github.graphql(build(self._parts), self._reading)
            if not response.is_found:
                raise self._refusal(response, answer)
            if not isinstance(answer, dict) or not isinstance(answer.get("errors", []), list):
                raise refusals.nonsense(self._reading)
            repository, errors = (answer.get("data") or {}).get("repository"), answer.get("errors") or []
            if not all(map(queries.is_about_parts, errors)):
                raise self._refusal(response, answer)
            before, self._parts = self._parts, self._parts.without(errors)
            if isinstance(repository, dict):
                viewer = answer["data"].get("viewer") or {"login": ""}
                return {**repository, "viewer": viewer["login"]}
            if self._parts == before:
                raise self._refusal(response, answer)

    def _refusal(self, response: Response, answer: object) -> FluxUpgradeError:
        refusal = refusals.refusal_of(response.status, answer, response.headers)
        if "NOT_FOUND" in refusal.kinds:
            name = one_line("/".join(self._who))
            message = f"the repository {name} does not exist, or the token cannot read it: {refusal.text}"
            hint = "check the name, and that the token has read access to its contents"
            return ForbiddenByForge(message, hint=hint)
        attempt = self._reading._replace(permission=queries.permission_for(answer))
        return refusals.error_of(refusal, attempt, self._github.timing.now())
