"""GitHub as a forge: one GraphQL query to read, where it is small enough; PyGithub to write."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from http import HTTPStatus
from itertools import islice
from urllib.parse import quote

from flux_upgrade.adapters.github import answers, branch_rules, refusals
from flux_upgrade.adapters.github import query as queries
from flux_upgrade.adapters.github.api import GitHubApi, json_object, owner_and_name, sensible
from flux_upgrade.adapters.github.blocked_branches import blocked
from flux_upgrade.adapters.github.query import Chunk, Json, Parts, Query
from flux_upgrade.adapters.github.updated_branches import is_candidate, unmerged
from flux_upgrade.adapters.github.who_may import BOT, Accounts, Judge
from flux_upgrade.adapters.http.client import Response
from flux_upgrade.model.errors import FluxUpgradeError, ForbiddenByForge, RepositoryUnfit
from flux_upgrade.model.forge import Branch, Done, Issue, Question, Repository, Step, is_merged
from flux_upgrade.model.text import one_line

_AGAIN = 1.0  # seconds before a query that GitHub gave up on is sent again
_RECENT = 20  # headlines that tell the style of a history
_MAX_FURTHER = 5  # queries for pull requests that stand behind those of forks
_PERSONAL = ("ghp_", "github_pat_", "gho_", "ghu_")
"""How tokens begin that act for a person, also those that an app has from one.

Source: https://docs.github.com/authentication/keeping-your-account-and-data-secure/about-authentication-to-github
"""
_WRITERS = ("admin", "maintain", "write")
_ENTERPRISE = "x-github-enterprise-version"
"""The header of GitHub Enterprise Server's answers, which github.com and ghe.com do not send."""
_BINDING = ("never", "pull_requests_only")
"""Who may bypass a ruleset for pull requests only may do so when one is merged."""
_UNSIGNED = (
    "the repository's rules require signed commits, which a personal token cannot create; "
    "use GITHUB_TOKEN or the token of an app, or change the rules"
)


class _TooHeavy(Exception):
    """GitHub does not answer a query of this size."""

    def __init__(self, error: FluxUpgradeError) -> None:
        super().__init__(error.message)
        self.error = error


class GitHubForge:
    """The port Forge. ``token`` tells of which kind it is, and is not kept.

    Raises UsageError for what cannot be a repository.
    """

    def __init__(self, github: GitHubApi, repository: str, token: str, accounts: Sequence[str] = ()) -> None:
        self._github = github
        self._who = owner_and_name(repository)
        self._parts = Parts()
        self._is_personal = token.startswith(_PERSONAL)
        self._reading = refusals.Attempt(f"read {one_line(repository)}", "contents: read")
        self._is_enterprise = False
        self._facts: Json | None = None
        self._most = queries.MAX_BRANCHES  # Of one query, as far as GitHub has answered queries of that size
        self._accounts = tuple(accounts)
        self._may_write = cache(self._asked_permission)  # One call for each user
        self._doubts: list[str] = []
        self._binds = cache(self._is_binding)  # one call for each ruleset

    @property
    def calls(self) -> int:
        """Every request of the client counts, those of retries too."""
        return self._github.client.sent

    @property
    def exhausted(self) -> str:
        return self._github.exhausted

    def close(self) -> None:
        self._github.client.close()

    def apply(self, step: Step) -> Done:
        """Writes are sent once, unless GitHub says that it did not look at them."""
        from flux_upgrade.adapters.github.writes import GitHubWrites

        if self._facts is None:
            self.fetch(Question((), ()))
        return GitHubWrites(self._github, self._facts or {}).apply(step)

    def fetch(self, question: Question) -> Repository:
        """One call, and one more for each further 50 branches or 100 paths; fewer, if that is too much for GitHub."""
        with sensible(self._reading):
            chunk, facts = self._chunk(question, None, partial(queries.first, self._who, question))
            self._require_fit(facts, question.base)
            merged, files = facts, dict(facts["base"]["target"])
            while not chunk.is_last(question):
                chunk, answer = self._chunk(question, chunk, partial(queries.more, self._who, question, merged))
                merged = queries.joined(merged, answer)
                files |= answer.get("object") or {}
            self._doubts = []
            judge = Judge(Accounts(merged["viewer"], self._accounts), self._may_write, self._doubts)
            branches = {
                name: answers.branch_of(merged, number, name, judge) for number, name in enumerate(question.branches)
            }
            branches |= self._behind_others(merged, branches, judge)
            branches |= self._updated(merged, branches)
            existing = (*answers.parents_of(merged), *answers.others_of(merged, question))
            branches |= blocked(merged, branches, existing, self._binds, signs=self._signs(merged))
            seen = self._repository(question, merged, files, branches, answers.issues_of(merged, judge))
        self._facts = facts
        return seen

    def _chunk(
        self, question: Question, before: Chunk | None, build: Callable[[Chunk, Parts], Query]
    ) -> tuple[Chunk, Json]:
        """The chunk after ``before``, and the answer about it."""
        while True:
            chunk = Chunk.of(question, before, self._most)
            try:
                return chunk, self._asked(partial(build, chunk))
            except _TooHeavy as heavy:
                self._halve(chunk.half, heavy)

    def _halve(self, most: int, heavy: _TooHeavy) -> None:
        if not most:
            raise heavy.error from None
        self._most = most

    def _repository(
        self, question: Question, seen: Json, files: Json, branches: Mapping[str, Branch], issues: tuple[Issue, ...]
    ) -> Repository:
        base, commit = seen["base"], seen["base"]["target"]
        return Repository(
            name=seen["nameWithOwner"],
            url=seen["url"],
            base=base["name"],
            base_oid=commit["oid"],
            base_tree=commit["tree"]["oid"],
            files={path: answers.file_of(files, number) for number, path in enumerate(question.paths)},
            branches=branches,
            issues=issues,
            sees_statuses=self._parts.statuses,
            sees_issues=self._parts.issues,
            others=answers.others_of(seen, question),
            is_enterprise_server=self._is_enterprise,
            closed=answers.closed_of(seen, question),
            viewer=seen["viewer"],
            recent=tuple(each["messageHeadline"] for each in commit["recent"]["nodes"][:_RECENT]),
            ancestry=tuple(each["oid"] for each in commit["recent"]["nodes"]),
            commits=answers.commits_of(commit, question),
            warnings=(
                *((_UNSIGNED,) if not self._signs(seen) and branch_rules.demands_signatures(base) else ()),
                *dict.fromkeys(self._doubts),
            ),
        )

    def _asked_permission(self, login: str) -> bool | None:
        """Ask whether a user may write to the repository. None if GitHub does not tell, which is added to the doubts.

        Source: https://docs.github.com/rest/collaborators/collaborators#get-repository-permissions-for-a-user
        """
        path = f"/repos/{'/'.join(self._who)}/collaborators/{quote(login, safe='')}/permission"
        attempt = self._reading._replace(doing=f"ask for the permissions of {one_line(login)}")
        try:
            # GitHub names no account that is gone, and knows the permission of every other one: 404 is no answer.
            answer = self._github.require(self._github.answer(path, attempt), attempt)
            return json_object(answer, attempt).get("permission") in _WRITERS
        except FluxUpgradeError as error:
            self._doubts.append(error.message)
            return None

    def _behind_others(self, seen: Json, branches: Mapping[str, Branch], judge: Judge) -> dict[str, Branch]:
        """Branches whose own pull requests may stand behind those of forks and strangers, completed."""
        names, base = list(branches), seen["base"]
        found: dict[str, Branch] = {}
        connections = {number: seen[f"q{number}"] for number in range(len(names))}
        for page in range(_MAX_FURTHER + 1):
            cursors = {
                number: (names[number], cursor)
                for number, connection in connections.items()
                if (cursor := answers.cursor_of(connection, judge))
                and len(found.get(names[number], branches[names[number]]).pulls) < queries.MAX_PULLS
            }
            if page == _MAX_FURTHER:
                found |= {name: found[name]._replace(is_unread=True) for name, _ in cursors.values()}
            if page == _MAX_FURTHER or not cursors:
                break
            connections = self._further(cursors)
            for number, connection in connections.items():
                known = found.get(names[number], branches[names[number]])
                more, others = answers.pulls_of(connection, base, judge)
                pulls = (*known.pulls, *more)[: queries.MAX_PULLS]
                elsewhere = known.elsewhere or answers.open_elsewhere(connection, base, judge)
                found[names[number]] = known._replace(pulls=pulls, others=(*known.others, *others), elsewhere=elsewhere)
        return found

    def _further(self, cursors: Mapping[int, tuple[str, str]]) -> dict[int, Json]:
        """The next page of pull requests of each branch."""
        left, found = dict(cursors), dict[int, Json]()
        while left:
            chunk = dict(islice(left.items(), self._most))
            try:
                answer = self._asked(partial(queries.further_pulls, self._who, chunk))
            except _TooHeavy as heavy:
                self._halve(len(chunk) // 2, heavy)
                continue
            found |= {number: answer[f"q{number}"] for number in chunk}
            left = {number: cursor for number, cursor in left.items() if number not in chunk}
        return found

    def _updated(self, seen: Json, branches: Mapping[str, Branch]) -> Iterator[tuple[str, Branch]]:
        """Branches into which GitHub merged the base, with our commit below the merge."""
        for number, branch in enumerate(branches.values()):
            head = branch.head
            if head is None or not is_candidate(seen[f"b{number}"]) or is_merged(branch):
                continue
            commit = unmerged(head, partial(self._compared, seen["base"]["target"]["oid"]))
            if commit is not None:
                of_it = (pull.head is not None and pull.head.oid == head.oid for pull in branch.pulls)
                pulls = (p._replace(head=commit) if same else p for p, same in zip(branch.pulls, of_it, strict=True))
                yield branch.name, branch._replace(head=commit, pulls=tuple(pulls))

    def _signs(self, seen: Json) -> bool:
        """Whether GitHub signs the commits that we make: those of apps, and no person's.

        Source: https://docs.github.com/authentication/managing-commit-signature-verification/
        about-commit-signature-verification#signature-verification-for-bots
        """
        return str(seen["viewer"]).endswith(BOT) if seen["viewer"] else not self._is_personal

    def _is_binding(self, ruleset: int) -> bool:
        """Whether a ruleset binds the token. Where GitHub does not tell, the write will."""
        answer = self._github.answer(f"/repos/{'/'.join(self._who)}/rulesets/{ruleset}", self._reading)
        about = json_object(answer, self._reading) if answer.is_found else {}
        return about.get("current_user_can_bypass") in _BINDING

    def _compared(self, base_oid: str, oid: str) -> Json | None:
        path = f"/repos/{'/'.join(self._who)}/compare/{base_oid}...{oid}"
        found = self._github.answer(path, self._reading)
        # Any other 404 is trouble: it must not turn what GitHub did into an edit by a user.
        if found.status == HTTPStatus.NOT_FOUND and b"No common ancestor" in found.body:
            return None
        return json_object(self._github.require(found, self._reading), self._reading)

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
        except (FluxUpgradeError, _TooHeavy):
            return ()
        return [node["name"] for node in (found["refs"] or {"nodes": ()})["nodes"]]

    def _asked(self, build: Callable[[Parts], Query]) -> Json:
        """The ``repository`` of an answer; parts that the token may not see are not asked for again.

        Raises _TooHeavy.
        """
        is_again = False
        while True:
            response, answer = self._github.graphql(build(self._parts), self._reading)
            self._is_enterprise = _ENTERPRISE in response.headers
            if not response.is_found:
                raise self._refusal(response, answer)
            if not isinstance(answer, dict) or not isinstance(answer.get("errors", []), list):
                raise refusals.nonsense(self._reading)
            repository, errors = (answer.get("data") or {}).get("repository"), answer.get("errors") or []
            refusal = refusals.refusal_of(response.status, answer, response.headers)
            # First of all: such an error may name a part, which the token may see all the same.
            if refusals.is_too_heavy(refusal):
                if is_again or not refusals.has_timed_out(refusal):
                    raise _TooHeavy(self._refusal(response, answer))
                is_again = True
                self._github.timing.sleep(_AGAIN)
                continue
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
        return self._github.refused(refusal, attempt)
