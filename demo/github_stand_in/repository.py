"""One repository of the stand-in: its records, and the rules that hold whoever changes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from github_stand_in import access
from github_stand_in.branch_rules import RefUpdate, refuse_by_rules
from github_stand_in.gitstore import NO_OBJECT, Entry, GitStore, Person
from github_stand_in.hosting import DeployKey, Vault
from github_stand_in.model import Artifact, Asset, Clock, Comment, Issue, Pull, Release, Settings, Status, Token
from github_stand_in.refusals import Refused, custom, invalid, require_text, unchangeable

if TYPE_CHECKING:
    from github_stand_in.people import People

FORGE = ("GitHub", "noreply@github.com")


class Repository:
    """A repository: ``store`` is its Git, ``settings`` are its owner's, ``pulls`` and ``issues`` by number."""

    def __init__(self, folder: Path, full_name: str, number: int, clock: Clock, settings: Settings) -> None:
        self.full_name = full_name
        self.owner, _, self.name = full_name.partition("/")
        self.id = number
        self.node_id = f"R_{number}"
        self.clock = clock
        self.settings = settings
        self.default_branch = "main"
        self.store = GitStore(folder, self.default_branch)
        self.created_at = clock.text
        self.pulls: dict[int, Pull] = {}
        self.issues: dict[int, Issue] = {}
        self.statuses: list[Status] = []
        self.releases: list[Release] = []
        self.artifacts: list[Artifact] = []
        self.labels: set[str] = {"bug", "dependencies"}
        self.deploy_keys: list[DeployKey] = []
        self.actions = Vault(full_name)
        """The secrets of its workflows; ``environments`` have some of their own."""
        self.environments: dict[str, Vault] = {}
        self.team_permissions: dict[str, str] = {}
        """Slug of a team → what it was granted."""

    @property
    def git(self) -> Path:
        """Where its bare Git repository is."""
        return self.store.path

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever pushed."""
        return not self.store.refs("refs/heads/")

    def head(self, branch: str = "") -> str:
        """The commit that a branch (empty: the default one) points to; empty where there is none."""
        return self.store.ref(f"refs/heads/{branch or self.default_branch}")

    def resolve(self, name: str) -> str:
        """The id of a commit, or any object, by branch, tag, full ref, ``HEAD`` or id; empty where it is none."""
        if name in ("", "HEAD"):
            return self.head()
        refs = (f"refs/heads/{name}", f"refs/tags/{name}", name)
        found = next(filter(None, map(self.store.ref, refs)), "")
        is_id = len(name) == len(NO_OBJECT) and bool(self.store.kind(name))
        return found or (name if is_id else "")

    def files(self, branch: str = "") -> dict[str, bytes]:
        """What a branch holds."""
        head = self.head(branch)
        entries = self.store.entries(head, recursive=True) if head else ()
        return {entry.path: self.store.content(entry.oid) for entry in entries}

    def commit(  # noqa: PLR0913  (what a commit consists of)
        self,
        files: Mapping[str, bytes | None],
        message: str,
        *,
        branch: str = "",
        start: str = "",
        author: str = "alice",
        is_signed: bool = False,
        age: int = 0,
    ) -> str:
        """Commit files (None: remove) to a branch, as if pushed. Returns the commit.

        ``start`` is the commit to begin the branch from, where there is no such branch yet. ``age``: seconds since the
        commit was made.
        """
        parent = self.head(branch) or start or self.head()
        person = self.person(author)
        person = replace(person, at=person.at - age)
        tree = self.store.tree(parent, self.entries(parent, files))
        made = self.store.commit(tree, [parent] if parent else [], message, person, person, sign=is_signed)
        self.push([RefUpdate(f"refs/heads/{branch or self.default_branch}", None, made, force=True)])
        return made

    def entries(self, parent: str, files: Mapping[str, bytes | None]) -> list[Entry]:
        """Files (None: remove) over those of a commit."""
        return [
            Entry(path, self._mode(parent, path), "" if content is None else self.store.blob(content))
            for path, content in files.items()
        ]

    def _mode(self, commit: str, path: str) -> str:
        entry = self.store.entry(commit, path) if commit else None
        return entry.mode if entry else "100644"

    @property
    def people(self) -> People:
        """What people do here."""
        from github_stand_in.people import People

        return People(self)

    def person(self, login: str) -> Person:
        """A login as Git's author."""
        return Person(login, f"{login}@users.noreply.github.example", self.clock.epoch)

    def add_environment(self, name: str) -> Vault:
        """Make an environment for deployments."""
        return self.environments.setdefault(name, Vault(f"{self.full_name}/{name}"))

    # Refs

    def first_push(self) -> None:
        """The branch that a repository begins with becomes its default branch."""
        branches = sorted(self.store.refs("refs/heads/"))
        if branches and not self.head():
            self.default_branch = branches[0].removeprefix("refs/heads/")
            self.store.git("symbolic-ref", "HEAD", branches[0])

    def refuse_update(self, update: RefUpdate, token: Token | None, *, by_push: bool = False) -> None:
        """Raise what the API answers, if it refuses to move a ref."""
        current = self.store.ref(update.name)
        if update.new:
            kind = self.store.kind(update.new)
            if not kind:
                raise Refused(422, "Object does not exist")
            if kind != "commit" and update.name.startswith("refs/heads/"):
                raise Refused(422, "Object is not a commit" if kind else "Object does not exist")
        if current and update.new and not update.force and not self.store.is_ancestor(current, update.new):
            raise Refused(422, "Update is not a fast forward")
        if token is not None and update.new:
            access.require_workflows(token, self.store, update.new, by_push=by_push)
        login = token.login if token is not None else ""
        refuse_by_rules(self.store, self.settings.rules, update, current, login)

    def push(self, updates: Iterable[RefUpdate]) -> None:
        """Move refs, all or none, and let pull requests follow. Raises Moved."""
        wanted = list(updates)
        before = {update.name: self.store.ref(update.name) for update in wanted}
        self.store.update_refs((update.name, update.old, update.new) for update in wanted)
        for update in wanted:
            self.follow(update.name, before[update.name], update.new)

    def follow(self, name: str, old: str, new: str) -> None:
        """What a push (of any kind) means for the pull requests."""
        if not name.startswith("refs/heads/") or old == new:
            return
        branch = name.removeprefix("refs/heads/")
        for pull in self.pulls.values():
            if pull.head == branch and pull.head_owner == self.owner:
                self._head_moved(pull, new)
            elif pull.base == branch:
                self._base_moved(pull, new)

    def _head_moved(self, pull: Pull, new: str) -> None:
        if pull.state != "open":
            return
        if new:
            self._track(pull, new)
        if not new or not self.store.ahead(self.head(pull.base), new):
            self.close(pull)

    def _base_moved(self, pull: Pull, new: str) -> None:
        if pull.state != "open":
            return
        if not new:
            self.close(pull)
        elif self.store.is_ancestor(pull.head_sha, new):
            pull.merged_at, pull.merged_by, pull.merge_commit = self.clock.text, "alice", new
            self.close(pull)

    def _track(self, pull: Pull, head: str) -> None:
        pull.is_queued = pull.is_queued and head == pull.head_sha
        pull.head_sha, pull.base_sha = head, self.head(pull.base)
        pull.updated_at = self.clock.text
        self.store.update_refs([(f"refs/pull/{pull.number}/head", None, head)])

    # Issues and pull requests

    def next_number(self) -> int:
        """Issues and pull requests are counted together."""
        return max([0, *self.pulls, *self.issues]) + 1

    def open_pull(  # noqa: PLR0913  (what a pull request consists of)
        self, head: str, base: str, title: str, body: str, author: str, *, is_draft: bool = False, owner: str = ""
    ) -> Pull:
        """Open a pull request. Raises Refused."""
        if not self.head(base):
            raise invalid("PullRequest", "base", "invalid")
        tip = self.head(head) if owner in ("", self.owner) else ""
        if not tip:
            raise invalid("PullRequest", "head", "invalid")
        if self._open_from(self.owner, head, base):
            raise custom(f"A pull request already exists for {self.owner}:{head}.")
        if not self.store.ahead(self.head(base), tip):
            raise custom(f"No commits between {base} and {head}")
        if is_draft and not self.settings.drafts:
            raise Refused(422, "Draft pull requests are not supported in this repository.")
        require_text(title, body)
        pull = Pull(
            self.next_number(), title, body, author, self.clock.text, self.clock.text,
            base=base, head=head, head_owner=self.owner, is_draft=is_draft,
        )  # fmt: skip
        self.pulls[pull.number] = pull
        self._track(pull, tip)
        return pull

    def _open_from(self, owner: str, head: str, base: str) -> list[Pull]:
        ends = (owner, head, base)
        return [p for p in self.pulls.values() if p.state == "open" and (p.head_owner, p.head, p.base) == ends]

    def open_issue(self, title: str, body: str, author: str) -> Issue:
        """Open an issue. Raises Refused."""
        if not self.settings.has_issues:
            raise Refused(410, "Issues has been disabled in this repository.")
        require_text(title, body)
        issue = Issue(self.next_number(), title, body, author, self.clock.text, self.clock.text)
        self.issues[issue.number] = issue
        return issue

    def edit(self, issue: Issue, by: str, *, title: str | None = None, body: str | None = None) -> None:
        """Change title or body. Raises Refused."""
        require_text(issue.title if title is None else title, body or "")
        issue.title = issue.title if title is None else title
        if body is not None and body != issue.body:
            issue.edits.append((by, self.clock.text))
        issue.body = issue.body if body is None else body
        issue.updated_at = self.clock.text

    def comment(self, issue: Issue, body: str, author: str) -> Comment:
        """Comment on an issue or a pull request. Raises Refused."""
        require_text(issue.title, body)
        number = self.id * 100_000 + issue.number * 100 + 1 + max((each.id % 100 for each in issue.comments), default=0)
        issue.comments.append(Comment(number, body, author, self.clock.text))
        return issue.comments[-1]

    def label(self, issue: Issue, names: Iterable[str], by: str) -> None:
        """Put labels on; those that the repository does not have yet are made."""
        for name in dict.fromkeys(names):
            self.labels.add(name)
            if name not in issue.labels:
                issue.labels.append(name)
                issue.labelings.append((name, by, self.clock.text))

    def close(self, issue: Issue, by: str = "alice") -> None:
        """Close an issue or a pull request."""
        if issue.state == "open":
            issue.closings.append((by, self.clock.text))
            issue.state, issue.closed_at, issue.updated_at = "closed", self.clock.text, self.clock.text
            if isinstance(issue, Pull):
                issue.is_queued = False

    def reopen(self, issue: Issue, by: str) -> None:
        """Open it again. Raises Refused where that cannot be."""
        if isinstance(issue, Pull) and issue.state != "open":
            if issue.merged_at:
                raise unchangeable("state cannot be changed. The pull request has already been merged.")
            if not self.head(issue.head):
                raise unchangeable(f"state cannot be changed. The {issue.head} branch has been deleted.")
            if not self.store.is_ancestor(issue.head_sha, self.head(issue.head)):
                raise unchangeable(f"state cannot be changed. The {issue.head} branch was force-pushed or recreated.")
            if self._open_from(issue.head_owner, issue.head, issue.base):
                raise unchangeable("state cannot be changed. There is already an open pull request.")
            self._track(issue, self.head(issue.head))
        if issue.state != "open":
            issue.reopenings.append((by, self.clock.text))
        issue.state, issue.closed_at, issue.updated_at = "open", "", self.clock.text

    def mark_ready(self, pull: Pull, by: str) -> None:
        """Make it no draft any more."""
        if pull.is_draft:
            pull.readyings.append((by, self.clock.text))
        pull.is_draft = False

    def role(self, login: str) -> str:
        """What a user may do here: none, read, triage, write, maintain or admin."""
        return self.settings.roles.get(login, "none" if self.settings.is_private else "read")

    def retarget(self, pull: Pull, base: str) -> None:
        """Give a pull request another base. Raises Refused."""
        if not self.head(base):
            raise invalid("PullRequest", "base", "invalid")
        pull.base = base
        self._track(pull, pull.head_sha)

    def issue_or_pull(self, number: int) -> Issue:
        """By number. Raises Refused."""
        found = self.pulls.get(number) or self.issues.get(number)
        if found is None:
            raise Refused(404, "Not Found")
        return found

    def mergeable(self, pull: Pull) -> str:
        """GraphQL's ``MergeableState``, by a real merge."""
        if pull.state != "open" or not self.settings.knows_mergeable:
            return "UNKNOWN"
        return "MERGEABLE" if self.store.merged_tree(self.head(pull.base), pull.head_sha) else "CONFLICTING"

    def merge_state(self, pull: Pull) -> str:
        """GraphQL's ``MergeStateStatus``. What is missing outranks being behind."""
        state = self.mergeable(pull)
        if state != "MERGEABLE":
            return "DIRTY" if state == "CONFLICTING" else "UNKNOWN"
        if pull.is_draft:
            return "DRAFT"
        statuses = self.status(pull.head_sha)
        required = self.settings.required_contexts if pull.base == self.default_branch else ()
        if not all(name in statuses and statuses[name].state == "success" for name in required):
            return "BLOCKED"
        return "BEHIND" if self.is_outdated(pull) else "CLEAN"

    def is_outdated(self, pull: Pull) -> bool:
        """Whether a rule demands that it is up to date with its base, and it is not."""
        rules = (rule for rule in self.settings.rules if rule.covers(pull.base))
        is_behind = not self.store.is_ancestor(self.head(pull.base), pull.head_sha)
        return is_behind and any(rule.is_strict for rule in rules)

    # Statuses and releases

    def status(self, sha: str) -> dict[str, Status]:
        """The newest status of each context of a commit."""
        return {each.context: each for each in self.statuses if each.sha == sha}

    def publish_release(  # noqa: PLR0913  (what a release consists of)
        self,
        tag: str,
        published_at: str,
        assets: Mapping[str, bytes] | None = None,
        *,
        body: str = "",
        draft: bool = False,
        prerelease: bool | None = None,
    ) -> Release:
        """Publish a release. ``prerelease`` None: as the tag says."""
        number = self.id * 1000 + len(self.releases) * 10
        release = Release(
            id=number,
            tag=tag,
            published_at=published_at,
            body=body,
            draft=draft,
            prerelease=bool(re.search(r"\d-", tag)) if prerelease is None else prerelease,
            assets=tuple(Asset(number + i, name, data) for i, (name, data) in enumerate((assets or {}).items(), 1)),
        )
        self.releases.append(release)
        return release
