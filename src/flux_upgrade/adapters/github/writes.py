"""The steps, taken by PyGithub. Imports it: only a run that writes pays for that."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, assert_never
from urllib.parse import quote

from github.Commit import Commit
from github.GitCommit import GitCommit
from github.GithubException import GithubException
from github.GithubObject import NotSet
from github.GitTree import GitTree
from github.InputGitTreeElement import InputGitTreeElement
from github.Issue import Issue
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.Repository import Repository

from flux_upgrade.adapters.github import refusals
from flux_upgrade.adapters.github.api import GitHubApi, translated_errors
from flux_upgrade.adapters.github.extras import ExtrasGiver, Unacceptable
from flux_upgrade.adapters.github.query import Json
from flux_upgrade.adapters.github.transport import Transport
from flux_upgrade.model import forge, markers
from flux_upgrade.model.errors import (
    DraftsUnavailable,
    FluxUpgradeError,
    ForbiddenByForge,
    ForgeUnavailable,
    LimitReached,
    Overtaken,
)
from flux_upgrade.model.forge import Done
from flux_upgrade.model.markers import is_same, sealed

MAX_INLINE = 5 * 1024 * 1024
"""Bytes of contents in one request to make a tree: https://docs.github.com/rest/git/trees#create-a-tree."""
_CONTENTS, _PULLS, _STATUSES, _ISSUES = ("contents: write", "pull-requests: write", "statuses: write", "issues: write")
_NO_OBJECT = (
    "0" * 40
)  # As the new oid of a ref, it deletes the ref: https://docs.github.com/graphql/reference/mutations#updaterefs
_AGAIN = 1.0  # seconds before something that may be repeated is


def split(files: Mapping[str, tuple[str, bytes]], limit: int = MAX_INLINE) -> tuple[dict[bytes, str], list[bytes]]:
    """Contents that go inline, with their text, and those that are uploaded first, each once.

    What fits stays inline, the small before the large; what is no text cannot.
    """
    inline: dict[bytes, str] = {}
    blobs: list[bytes] = []
    uses = [content for _, content in files.values()]
    for content in sorted(dict.fromkeys(uses), key=len):
        size = len(content) * uses.count(content)
        try:
            if size > limit or b"\0" in content:
                blobs.append(content)
                continue
            inline[content] = content.decode()
        except UnicodeDecodeError:
            blobs.append(content)
        else:
            limit -= size
    return inline, blobs


class GitHubWrites:
    """Takes steps in the repository that ``fetch`` read the ``facts`` of.

    PyGithub's objects are made from what is known already, so that none of them asks for itself.
    """

    def __init__(self, github: GitHubApi, facts: Json) -> None:
        self._github = github
        self._transport = transport = Transport(github)
        self._facts = facts
        self._name: str = facts["nameWithOwner"]
        self._url = f"/repos/{self._name}"
        self._repository = Repository(transport, {}, {"url": self._url}, completed=False)

    def apply(self, step: forge.Step) -> Done:
        match step:
            case forge.OpenPull():
                return self._open(step)
            case forge.UpdatePull():
                return self._update(step)
            case forge.ClosePull() | forge.RecordAnswers() | forge.CommentPull() | forge.RejectPull():
                return self._write_text(step)
            case forge.DeleteBranch():
                self._update_ref(f"delete the branch {step.branch}", step.branch, step.before, _NO_OBJECT)
                return Done()
            case forge.RevertPull():
                return self._revert(step)
            case forge.OpenIssue() | forge.UpdateIssue():
                return self._on_issue(step)
            case _:
                assert_never(step)

    def _write_text(self, step: forge.ClosePull | forge.RecordAnswers | forge.CommentPull | forge.RejectPull) -> Done:
        pull, done = step.pull, Done(step.pull.number, step.pull.url)
        if isinstance(step, forge.ClosePull):
            self._edit("close the pull request", pull, {"body": step.body, "state": "closed"})
        elif isinstance(step, forge.RecordAnswers):
            self._edit("record answers in the pull request", pull, {"body": step.body})
        elif (refused := self._say(pull, step.comment)) is not None:
            # The conversation may be locked. The report says the same in every run.
            if isinstance(step, forge.RejectPull):
                raise refused
            return done._replace(warnings=_warned(refused))
        elif isinstance(step, forge.CommentPull):
            self._edit("change the pull request", pull, {"body": step.body})
        else:
            self._edit("close the pull request", pull, {"state": "closed"}, otherwise=ForbiddenByForge)
            return Done(warnings=(f"closed {pull.url}, which {pull.author} opened",))
        return done

    def _on_issue(self, step: forge.OpenIssue | forge.UpdateIssue) -> Done:
        if isinstance(step, forge.OpenIssue):
            with self._telling("open an issue", _ISSUES):
                made = self._repository.create_issue(step.title, step.body, labels=list(step.labels))
            return Done(made.number, made.html_url)
        return self._update_issue(step)

    def _open(self, step: forge.OpenPull) -> Done:
        head = self._moved(step.branch, step.before, step.commit)
        with self._telling("open the pull request", _PULLS):
            pull = self._repository.create_pull(
                step.base, step.branch, title=step.title, body=step.body, draft=step.is_draft
            )
        # The status comes last: where it is missing, a run was cut off, and the next one completes it. And
        # auto-merge is refused where nothing is waited for any more.
        done = self._extras(pull, head, step.extras, is_new=True)
        body = markers.with_refused(markers.without_given(step.body, done.missing), done.refused)
        self._note(pull, step.body, body)
        error = self._status(head, step.status)
        self._note(pull, body, markers.with_refused(body, _refused_status(error)))
        warnings = dict.fromkeys((*done.warnings, *_warned(error)))  # A rate limit is reported once
        return Done(pull.number, pull.html_url, head, tuple(warnings), tuple(done.missing))

    def _note(self, pull: PullRequest, before: str, body: str) -> None:
        """Write down what has become of the extras and of the status. A rate limit leaves that to the next run."""
        if body != before and not self._github.is_limited:
            with self._telling("change the pull request", _PULLS):
                pull.edit(body=body)

    def _update(self, step: forge.UpdatePull) -> Done:
        pull = self._pull(step.pull)
        if step.stop_auto_merge:
            # GitHub does not say in which words it refuses that for one that is merged, or is off by now.
            with self._telling("turn off auto-merge", _CONTENTS, otherwise=Overtaken):
                pull.disable_automerge()
            return Done(step.pull.number, step.pull.url, step.before)
        if step.make_draft:
            # First of all: what comes next is not to be merged by whoever had approved something else.
            with self._telling("convert the pull request to a draft", _PULLS):
                pull.convert_to_draft()
        head = self._moved(step.branch, step.before, step.commit)
        error = None if step.status is None else self._status(head, step.status)
        warnings, missing, refused = _warned(error), tuple[str, ...](), [*_refused_status(error)]
        new = step.body
        # The body will say that it waits for nobody: until it is ready, that is not true.
        if step.make_ready:
            with self._telling("mark the pull request as ready for review", _PULLS):
                pull.mark_ready_for_review()
        # Nothing merges by itself while it is a draft.
        if step.extras is not None:
            if isinstance(error, ForgeUnavailable):
                missing = (*step.extras.names, markers.AUTO_MERGE)
            else:
                done = self._extras(pull, head, step.extras, is_new=False)
                warnings, missing = (*warnings, *done.warnings), tuple(done.missing)
                refused += done.refused
        if step.extras is not None or error is not None:
            body = markers.without_given(step.pull.body if new is None else new, missing)
            body = markers.with_refused(body, refused)
            new = None if is_same(body, step.pull.body) else body
        if step.title is not None or new is not None:
            changes = {"title": step.title, "body": new}
            self._edit("change the pull request", step.pull, {k: v for k, v in changes.items() if v is not None})
        # Last: a label that asked for this is gone only once all of it was done.
        for label in step.drop_labels:
            warnings += self._dropped(step.pull.number, label)
        return Done(step.pull.number, step.pull.url, head, warnings, missing)

    def _update_issue(self, step: forge.UpdateIssue) -> Done:
        """Change an issue as it was looked at: a box that a user has ticked since is not lost. Raises Overtaken."""
        seen = step.issue
        with self._telling("change the issue", _ISSUES):
            _, now = self._transport.requestJsonAndCheck("GET", f"{self._url}/issues/{seen.number}")
            if (now.get("state") == "open", now.get("body") or "") != (seen.is_open, seen.body):
                raise Overtaken(f"another user or run changed {seen.url}")
            state = "closed" if step.close else "open" if step.reopen else NotSet
            body = NotSet if step.body == seen.body else step.body
            self._issue(seen.number).edit(body=body, state=state)
        return Done(seen.number, seen.url)

    def _say(self, pull: forge.PullRequest, comment: str) -> ForbiddenByForge | None:
        """Comment once. Return why GitHub refuses the comment, or None.

        GitHub takes a comment twice: of those that two runs wrote at the same time, the first stays. Others may write
        the mark, too: only comments of our own account count, and are deleted.
        """
        issue, mark = self._issue(pull.number), comment.partition("\n")[0]
        viewer = str(self._facts.get("viewer", "")).lower()

        def found() -> list[IssueComment]:
            marked = (each for each in issue.get_comments() if each.body.startswith(mark))
            return [each for each in marked if not viewer or each.user.login.lower() == viewer]

        doing = "comment on the pull request"
        try:
            with self._telling(doing, _PULLS, otherwise=ForbiddenByForge):
                if not found():
                    own = issue.create_comment(comment).user.login
                    for each in [each for each in found() if each.user.login == own][1:]:
                        self._tried(doing, _PULLS, each.delete)  # the other run may have done that
        except ForbiddenByForge as error:
            return error
        return None

    def _revert(self, step: forge.RevertPull) -> Done:
        """GitHub makes the revert of whatever was merged, and signs it."""
        wanted = {"pullRequestId": step.pull.id, "title": step.title, "body": step.body, "draft": True}
        try:
            with self._telling("revert the pull request", _CONTENTS):
                _, answer = self._transport.graphql_named_mutation(
                    "revertPullRequest", wanted, "revertPullRequest { number url }"
                )
        except DraftsUnavailable as error:
            raise ForbiddenByForge(error.message, hint="set `on-failure: comment`") from None
        made = answer["revertPullRequest"]
        return Done(made["number"], made["url"])

    def _edit(
        self,
        doing: str,
        seen: forge.PullRequest,
        changes: Mapping[str, Any],
        otherwise: type[FluxUpgradeError] = ForgeUnavailable,
    ) -> None:
        """Change a pull request that nobody else has changed since it was looked at. Raises Overtaken.

        ``changes``: of title, body and state. GitHub cannot compare and swap these: what is left is the time between
        two calls.
        """
        with self._telling(doing, _PULLS, otherwise=otherwise):
            _, now = self._transport.requestJsonAndCheck("GET", f"{self._url}/pulls/{seen.number}")
            is_as_seen = (now.get("title"), now.get("body") or "") == (seen.title, seen.body)
            if now.get("state") != ("open" if seen.state is forge.PullState.OPEN else "closed") or not is_as_seen:
                raise Overtaken(f"another user or run changed {seen.url}")
            self._pull(seen).edit(**changes)

    # Git

    def _moved(self, branch: str, before: str, commit: forge.NewCommit | None) -> str:
        """The branch's head, after ``commit`` was put there in place of ``before``."""
        if commit is None:
            return before
        made = self._commit(commit)
        if before:
            self._update_ref(f"replace the branch {branch}", branch, before, made, commit)
        else:
            with self._telling(f"make the branch {branch}", _CONTENTS, commit):
                self._repository.create_git_ref(f"refs/heads/{branch}", made)
        return made

    def _update_ref(
        self, doing: str, branch: str, before: str, after: str, commit: forge.NewCommit | None = None
    ) -> None:
        """Compare and swap a branch. Raises Overtaken."""
        update = {"name": f"refs/heads/{branch}", "beforeOid": before, "afterOid": after, "force": True}
        with self._telling(doing, _CONTENTS, commit, otherwise=Overtaken):
            self._transport.graphql_named_mutation(
                "updateRefs", {"repositoryId": self._facts["id"], "refUpdates": [update]}, "clientMutationId"
            )

    def _commit(self, commit: forge.NewCommit) -> str:
        """Without author and committer, GitHub signs it for apps and GITHUB_TOKEN."""
        inline, blobs = split(commit.files)
        with self._telling("make the commit", _CONTENTS, commit):
            oids = {
                content: self._repository.create_git_blob(base64.b64encode(content).decode(), "base64").sha
                for content in blobs
            }
            tree = self._repository.create_git_tree(
                [
                    InputGitTreeElement(path, mode, "blob", sha=oids[content])
                    if content in oids
                    else InputGitTreeElement(path, mode, "blob", content=inline[content])
                    for path, (mode, content) in commit.files.items()
                ],
                GitTree(self._transport, {}, {"sha": commit.parent_tree}, completed=True),
            )
            if tree.sha == commit.parent_tree:
                raise Overtaken(f"{self._name} already has these files on its base branch")
            parent = GitCommit(self._transport, {}, {"sha": commit.parent}, completed=True)
            return self._repository.create_git_commit(sealed(commit.message, tree.sha), tree, [parent]).sha

    # What is not worth failing for

    def _status(self, head: str, status: forge.Status) -> FluxUpgradeError | None:
        def post() -> None:
            commit = Commit(self._transport, {}, {"url": f"{self._url}/commits/{head}", "sha": head}, completed=True)
            commit.create_status(
                status.state, target_url=status.url or NotSet, description=status.description, context=status.context
            )

        return self._failure(f"set the status {status.context}", post, permission=_STATUSES)

    def _extras(self, pull: PullRequest, head: str, extras: forge.Extras, *, is_new: bool) -> ExtrasGiver:
        """Give them: what did not work is in the answer."""
        giver = ExtrasGiver(pull, self._issue(pull.number), partial(self._failure, permission=_PULLS))
        giver.give(extras, is_new=is_new)
        if extras.auto_merge:
            method = self._facts["viewerDefaultMergeMethod"]
            error = self._failure(
                "turn on auto-merge",
                lambda: pull.enable_automerge(method, expected_head_oid=head),
                permission=_CONTENTS,
            )
            giver.warnings += _warned(error)
            # What GitHub does not want is not tried again in every run.
            giver.missing += [markers.AUTO_MERGE] if isinstance(error, ForgeUnavailable) else []
        return giver

    def _dropped(self, number: int, label: str) -> tuple[str, ...]:
        """PyGithub leaves the slash in a label's name as it is."""
        url = f"{self._url}/issues/{number}/labels/{quote(label, safe='')}"
        return self._tried(
            f"remove the label {label}", _PULLS, lambda: self._transport.requestJsonAndCheck("DELETE", url)
        )

    def _tried(self, doing: str, permission: str, action: Callable[[], object]) -> tuple[str, ...]:
        """A warning of what went wrong, if it did."""
        return _warned(self._failure(doing, action, permission=permission))

    def _failure(self, doing: str, action: Callable[[], object], *, permission: str) -> FluxUpgradeError | None:
        """What went wrong, if it did. All of these may be repeated: that changes nothing more."""
        for is_last in (False, True):
            try:
                with self._telling(doing, permission, otherwise=Unacceptable):
                    action()
            except Overtaken:
                break
            except FluxUpgradeError as error:
                may_pass = isinstance(error, ForgeUnavailable) and not isinstance(error, LimitReached)
                if is_last or not may_pass:
                    return error
                self._github.timing.sleep(_AGAIN)
            else:
                break
        return None

    # How

    def _pull(self, pull: forge.PullRequest) -> PullRequest:
        attributes = {"url": f"{self._url}/pulls/{pull.number}", "node_id": pull.id, "number": pull.number}
        return PullRequest(self._transport, {}, attributes, completed=False)

    def _issue(self, number: int) -> Issue:
        return Issue(self._transport, {}, {"url": f"{self._url}/issues/{number}"}, completed=False)

    @contextmanager
    def _telling(
        self,
        doing: str,
        permission: str,
        commit: forge.NewCommit | None = None,
        otherwise: type[FluxUpgradeError] = ForgeUnavailable,
    ) -> Iterator[None]:
        workflows = commit is not None and any(path.startswith(".github/workflows/") for path in commit.files)
        attempt = refusals.Attempt(f"{doing} in {self._name}", permission, otherwise, has_workflows=workflows)
        try:
            with translated_errors(attempt):
                yield
        except GithubException as error:
            refusal = refusals.refusal_of(error.status, error.data, error.headers or {})
            raise self._github.refused(refusal, attempt) from None


def _refused_status(error: FluxUpgradeError | None) -> tuple[str, ...]:
    return (markers.STATUS,) if isinstance(error, ForbiddenByForge) else ()


def _warned(error: FluxUpgradeError | None) -> tuple[str, ...]:
    return () if error is None else (f"{error.message} ({error.hint})",)
