"""What people do to a repository, in the browser or with Git."""

from __future__ import annotations

import re

from github_stand_in.branch_rules import RefUpdate
from github_stand_in.gitstore import Person
from github_stand_in.model import Issue, Pull, Status
from github_stand_in.refusals import Refused
from github_stand_in.repository import FORGE, Repository


class People:
    """The deeds of one person. Pull requests and issues are named by number."""

    def __init__(self, repository: Repository, login: str = "alice") -> None:
        self._repository = repository
        self._login = login

    def _pull(self, number: int) -> Pull:
        return self._repository.pulls[number]

    def _issue(self, number: int) -> Issue:
        return self._repository.issue_or_pull(number)

    # Pull requests

    def merge(self, number: int, method: str = "merge") -> str:
        """Merge a pull request by ``merge``, ``squash`` or ``rebase``. Returns the base's new head."""
        repository, pull = self._repository, self._pull(number)
        base = repository.head(pull.base)
        tree = repository.store.merged_tree(base, pull.head_sha)
        if pull.state != "open" or pull.is_draft or not tree or repository.is_outdated(pull):
            raise Refused(405, "Pull Request is not mergeable")
        made = self._merged(pull, base, tree, method)
        pull.merged_at, pull.merged_by, pull.merge_commit = repository.clock.text, self._login, made
        repository.close(pull, self._login)
        repository.push([RefUpdate(f"refs/heads/{pull.base}", base, made)])
        if repository.settings.delete_branch_on_merge:
            self.delete_branch(pull.head)
        return made

    def update_branch(self, number: int, files: dict[str, bytes | None] | None = None) -> str:
        """Press “Update branch”: GitHub merges the base into it, and signs that. Returns the merge.

        ``files``: what the person changes besides, as the editor for conflicts lets them.
        """
        repository, pull, store = self._repository, self._pull(number), self._repository.store
        head, base = repository.head(pull.head), repository.head(pull.base)
        tree = store.merged_tree(head, base)
        if not tree:
            raise Refused(422, "merge conflict between base and head")
        if files:
            tree = store.tree(tree, repository.entries(head, files))
        message = f"Merge branch '{pull.base}' into {pull.head}"
        author, forge = repository.person(self._login), Person(*FORGE, repository.clock.epoch)
        made = store.commit(tree, [head, base], message, author, forge, sign=True)
        repository.push([RefUpdate(f"refs/heads/{pull.head}", head, made)])
        return made

    def _merged(self, pull: Pull, base: str, tree: str, method: str) -> str:
        store = self._repository.store
        author, forge = self._repository.person(self._login), Person(*FORGE, self._repository.clock.epoch)
        if method == "merge":
            message = f"Merge pull request #{pull.number} from {pull.head_owner}/{pull.head}\n\n{pull.title}"
            return store.commit(tree, [base, pull.head_sha], message, author, forge, sign=True)
        commits = [store.read(oid) for oid in reversed(store.ahead(base, pull.head_sha))]
        if method == "squash":
            first = commits[0].message.partition("\n")[2].strip("\n")
            message = f"{pull.title} (#{pull.number})\n\n{first}".rstrip("\n")
            return store.commit(tree, [base], message, commits[0].author, forge, sign=True)
        head = base
        for commit in commits:
            # What a rebase gives for one commit, and is close to it for several: each on top of the last.
            step = store.merged_tree(head, commit.oid)
            if not step:
                raise Refused(405, "This branch can't be rebased")
            head = store.commit(step, [head], commit.message, commit.author, author)
        return head

    def open_from_fork(self, branch: str, files: dict[str, bytes | None], title: str, owner: str = "mallory") -> Pull:
        """Open a pull request from a branch of the same name in somebody's fork."""
        self.push("stand-in/fork", files, title)
        pull = self.open_pull("stand-in/fork", title)
        pull.head, pull.head_owner, pull.author = branch, owner, owner
        self.delete_branch("stand-in/fork")
        return pull

    def close(self, number: int) -> None:
        """Close a pull request or an issue."""
        self._repository.close(self._issue(number), self._login)

    def reopen(self, number: int) -> None:
        """Open it again. Raises Refused where GitHub has no such button."""
        self._repository.reopen(self._issue(number), self._login)

    def mark_ready(self, number: int) -> None:
        """Press “Ready for review”."""
        self._repository.mark_ready(self._pull(number), self._login)

    def to_draft(self, number: int) -> None:
        """Press “Convert to draft”."""
        pull = self._pull(number)
        pull.is_draft, pull.auto_merge, pull.is_queued = True, "", False

    def queue(self, number: int) -> None:
        """Press “Merge when ready”, where the base branch has a merge queue."""
        self._pull(number).is_queued = True

    def unqueue(self, number: int) -> None:
        """Press “Remove from queue”."""
        self._pull(number).is_queued = False

    def enable_auto_merge(self, number: int) -> None:
        """Press “Enable auto-merge”."""
        pull = self._pull(number)
        pull.auto_merge, pull.auto_merge_by = "squash", self._login

    def disable_auto_merge(self, number: int) -> None:
        """Press “Disable auto-merge”."""
        self._pull(number).auto_merge = ""

    def post_status(self, context: str, state: str, sha: str = "") -> None:
        """Post a commit status, by default on the head of the default branch, as Flux does."""
        repository = self._repository
        at, number = repository.clock.text, len(repository.statuses) + 1
        status = Status(number, sha or repository.head(), context, state, None, None, self._login, at)
        repository.statuses.append(status)

    def label(self, number: int, name: str) -> None:
        """Put a label on."""
        issue = self._issue(number)
        self._repository.label(issue, [name], self._login)

    def unlabel(self, number: int, name: str) -> None:
        """Take a label off."""
        self._issue(number).labels.remove(name)

    def edit(self, number: int, *, title: str | None = None, body: str | None = None) -> None:
        """Edit in the browser, which ends lines with CRLF."""
        text = None if body is None else re.sub(r"\r?\n", "\r\n", body)
        self._repository.edit(self._issue(number), self._login, title=title, body=text)

    def tick(self, number: int, label: str) -> None:
        """Tick the box whose line holds ``label``: that changes this one character, and no line end."""
        issue = self._issue(number)
        lines = issue.body.splitlines(keepends=True)
        boxes = [i for i, line in enumerate(lines) if label in line and "- [ ]" in line]
        if len(boxes) != 1:
            raise LookupError(f"{len(boxes)} open boxes say {label!r}")
        lines[boxes[0]] = lines[boxes[0]].replace("- [ ]", "- [x]", 1)
        self._repository.edit(issue, self._login, body="".join(lines))

    # Git

    def push(self, branch: str, files: dict[str, bytes | None], message: str = "Touch up\n", *, age: int = 0) -> str:
        """Commit to a branch. Returns the commit, which was made ``age`` seconds before."""
        return self._repository.commit(files, message, branch=branch, author=self._login, age=age)

    def push_empty(self, count: int) -> None:
        """Push commits without a change to the default branch."""
        repository, store = self._repository, self._repository.store
        person, oid = repository.person(self._login), repository.head()
        for _ in range(count):
            oid = store.commit(store.read(oid).tree, [oid], "Trigger a build\n", person, person)
        self.force_push(repository.default_branch, oid)

    def force_push(self, branch: str, commit: str) -> None:
        """Put a branch (a new one, too) on a commit."""
        self._repository.push([RefUpdate(f"refs/heads/{branch}", None, commit, force=True)])

    def delete_branch(self, branch: str) -> None:
        """Delete a branch, which closes its pull requests."""
        self._repository.push([RefUpdate(f"refs/heads/{branch}", None, "")])

    def advance_base(self, path: str = "README.md", content: bytes = b"") -> str:
        """Somebody else's commit to the default branch. Returns it."""
        data = content or f"changed at {self._repository.clock.text}\n".encode()
        return self.push("", {path: data}, "Unrelated work\n")

    def revert(self, commit: str, branch: str = "", start: str = "") -> str:
        """Revert a commit (or a merge) on a branch, as “Revert” and a merge do. Returns the commit.

        ``start``: the commit to begin the branch from, where there is no such branch yet.
        """
        repository, store = self._repository, self._repository.store
        undone, head = store.read(commit), start or repository.head(branch)
        back = store.commit(store.read(undone.parents[0]).tree, [commit], "undo", undone.author, undone.author)
        tree = store.merged_tree(head, back)
        if not tree:
            raise Refused(405, "the revert conflicts")
        headline = undone.message.partition("\n")[0]
        person = repository.person(self._login)
        message = f'Revert "{headline}"\n\nThis reverts commit {commit}.\n'
        made = store.commit(tree, [head], message, person, person)
        repository.push([RefUpdate(f"refs/heads/{branch or repository.default_branch}", repository.head(branch), made)])
        return made

    def open_pull(self, head: str, title: str, body: str = "", *, base: str = "", is_draft: bool = False) -> Pull:
        """Open a pull request into the default branch, or into ``base``."""
        repository = self._repository
        into = base or repository.default_branch
        return repository.open_pull(head, into, title, body, self._login, is_draft=is_draft)
