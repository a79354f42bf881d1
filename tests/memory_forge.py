"""The port Forge without a server: one repository whose commits are trees of files, and the people at work in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from flux_upgrade.model import markers
from flux_upgrade.model.errors import DraftsUnavailable, Overtaken
from flux_upgrade.model.file_history import blob_id
from flux_upgrade.model.forge import (
    BaseCommit,
    BaseFile,
    Branch,
    ClosePull,
    CommentPull,
    Commit,
    CommitStatus,
    DeleteBranch,
    Done,
    Issue,
    NewCommit,
    OpenIssue,
    OpenPull,
    PullRequest,
    PullState,
    Question,
    RecordAnswers,
    RejectPull,
    Repository,
    RevertPull,
    Step,
    UpdateIssue,
    UpdatePull,
    revert_branch,
)
from replacing import replace

URL = "https://git.example/acme/fleet"
BASE = "main"
_READ = 100  # Commits of the base that a run reads
_MOST_PULLS = 10


def _looked_at(commit: BaseCommit, paths: Iterable[str]) -> BaseCommit:
    return commit._replace(blobs={path: commit.blobs[path] for path in paths if path in commit.blobs})


@dataclass
class MemoryForge:
    """``files``: path → content at the base. ``steps``: what was asked of it, in order."""

    files: dict[str, bytes]
    has_drafts: bool = True
    recent: tuple[str, ...] = ()
    ancestry: tuple[str, ...] = ()
    steps: list[Step] = field(default_factory=list)
    heads: dict[str, str] = field(default_factory=dict)
    """Branch → oid."""
    pulls: dict[int, tuple[str, PullRequest]] = field(default_factory=dict)
    """Number → the branch, and the pull request as it was last touched."""
    issues: dict[int, Issue] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    trees: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    comments: list[tuple[int, str]] = field(default_factory=list)
    """Number of the pull request, and text."""
    made: set[str] = field(default_factory=set)
    """Oids of the commits that were made through the port."""
    base_commits: list[BaseCommit] = field(default_factory=list)
    _changed_at: dict[str, str] = field(default_factory=dict)
    """Of the base, newest first; `blobs` with all of its files."""
    today: str = "2026-03-02T06:00:00Z"
    calls: int = 0
    exhausted: str = ""
    viewer: str = "flux-upgrade[bot]"
    _base: str = ""
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 10_000)))

    def __post_init__(self) -> None:
        self._base = self._commit(self.files, "Begin\n", ())
        self._grow(self.today)

    # The port

    def fetch(self, question: Question) -> Repository:
        """See the port."""
        self.calls += 1
        return Repository(
            name="acme/fleet",
            url=URL,
            base=BASE,
            base_oid=self._base,
            ancestry=self.ancestry,
            base_tree=self.commits[self._base].tree,
            files={path: self._file(path) for path in question.paths},
            branches={name: self._branch(name) for name in question.branches},
            viewer=self.viewer,
            issues=tuple(self.issues.values()),
            recent=self.recent,
            commits=tuple(_looked_at(each, question.watched) for each in self.base_commits[:_READ] if question.watched),
            others=self._others(question, self.heads),
            closed=self._others(question, (of for of, pull in self.pulls.values() if pull.state is PullState.CLOSED)),
        )

    def apply(self, step: Step) -> Done:
        """See the port."""
        self.calls += 1
        self.steps.append(step)
        match step:
            case OpenPull():
                return self._open(step)
            case UpdatePull():
                return self._update(step)
            case RevertPull():
                return self._revert(step)
            case OpenIssue() | UpdateIssue():
                return self._on_issue(step)
            case DeleteBranch():
                return self._delete(step)
            case ClosePull() | CommentPull() | RejectPull() | RecordAnswers():
                return self._say(step)

    def _delete(self, step: DeleteBranch) -> Done:
        if self.heads.get(step.branch) != step.before:
            raise Overtaken("the branch moved")
        del self.heads[step.branch]
        return Done()

    def _say(self, step: ClosePull | CommentPull | RejectPull | RecordAnswers) -> Done:
        if isinstance(step, CommentPull | RejectPull):
            self.comments.append((step.pull.number, step.comment))
        if not isinstance(step, RejectPull):
            self._touch(step.pull.number, body=step.body)
        if isinstance(step, ClosePull | RejectPull):
            self.close_pull(step.pull.number)
        return Done(step.pull.number, step.pull.url)

    def close(self) -> None:
        """See the port."""

    def _on_issue(self, step: OpenIssue | UpdateIssue) -> Done:
        if isinstance(step, OpenIssue):
            number = next(self._numbers)
            url = f"{URL}/issues/{number}"
            self.issues[number] = Issue(number, url, step.title, step.body, step.labels, is_own=True)
            return Done(number, self.issues[number].url)
        is_open = step.reopen or (step.issue.is_open and not step.close)
        self.issues[step.issue.number] = replace(step.issue, body=step.body, is_open=is_open)
        return Done(step.issue.number, step.issue.url)

    def _open(self, step: OpenPull) -> Done:
        if step.is_draft and not self.has_drafts:
            # As on GitHub, the branch has been made by then.
            self._put(step.branch, step.before, step.commit, step)
            raise DraftsUnavailable("there are no drafts")
        if self.open_pull(step.branch) is not None:
            raise Overtaken("there is one already")
        head = self._put(step.branch, step.before, step.commit, step)
        number = next(self._numbers)
        opened = PullRequest(
            number=number,
            id=f"PR_{number}",
            url=f"{URL}/pull/{number}",
            state=PullState.OPEN,
            is_draft=step.is_draft,
            title=step.title,
            body=step.body,
            labels=step.extras.labels,
            head=self.commits[head],
            is_conflicting=False,
            created_at="2026-03-01T06:00:00Z",
            merges_for=self.viewer if step.extras.auto_merge else None,
        )
        self.pulls[number] = (step.branch, opened)
        return Done(number, opened.url, head)

    def _revert(self, step: RevertPull) -> Done:
        branch, merged = self.pulls[step.pull.number]
        assert merged.state is PullState.MERGED
        name, number = revert_branch(merged.number, branch), next(self._numbers)
        assert name not in self.heads
        assert merged.head is not None
        former = self.trees[merged.head.parents[0]]
        files = {path: former[path] for path, data in self.trees[merged.head.oid].items() if former.get(path) != data}
        head = self.push(name, files, f"{step.title}\n")
        opened = merged._replace(
            number=number,
            id=f"PR_{number}",
            url=f"{URL}/pull/{number}",
            state=PullState.OPEN,
            is_draft=True,
            title=step.title,
            body=step.body,
            labels=(),
            head=self.commits[head],
            closed_at="",
        )
        self.pulls[number] = (name, opened)
        return Done(number, opened.url, head)

    def _update(self, step: UpdatePull) -> Done:
        number = step.pull.number
        if self.pulls[number][1].state is not PullState.OPEN:
            raise Overtaken("it is closed")
        merges_for = self.pulls[number][1].merges_for
        if step.stop_auto_merge and merges_for is None:
            raise Overtaken("it is off")
        starts = step.extras is not None and step.extras.auto_merge
        stops = step.stop_auto_merge or step.make_draft
        head = self._put(step.branch, step.before, step.commit, step)
        pull = self.pulls[number][1]
        self._touch(
            number,
            title=pull.title if step.title is None else step.title,
            body=pull.body if step.body is None else step.body,
            is_draft=step.make_draft or (pull.is_draft and not step.make_ready),
            labels=tuple(label for label in pull.labels if label not in step.drop_labels),
            merges_for=self.viewer if starts else None if stops else merges_for,
        )
        return Done(number, pull.url, head)

    def _put(self, branch: str, before: str, commit: NewCommit | None, step: OpenPull | UpdatePull) -> str:
        if self.heads.get(branch, "") != before:
            raise Overtaken("the branch moved")
        if commit is not None:
            assert (commit.parent, commit.parent_tree) == (self._base, self.commits[self._base].tree)
            content = {path: data for path, (_, data) in commit.files.items()}
            head = self._commit({**self.files, **content}, commit.message, (commit.parent,), is_sealed=True)
            self.made.add(head)
            self._move(branch, head)
        head = self.heads[branch]
        if step.status is not None:
            statuses = {**self.commits[head].statuses, step.status.context: step.status.state}
            self.commits[head] = replace(self.commits[head], statuses=statuses)
        return head

    # What people do

    def push(self, branch: str, content: Mapping[str, bytes], message: str = "Touch up\n") -> str:
        """Commit to a branch, which is made where there is none."""
        parent = self.heads.get(branch, self._base)
        head = self._commit({**self.trees[parent], **content}, message, (parent,))
        self._move(branch, head)
        return head

    def push_to_base(self, content: Mapping[str, bytes], date: str = "") -> None:
        """Commit to the base, as a revert does too. ``date``: of the commit, if not today."""
        self.files = {**self.files, **content}
        self._base = self._commit(self.files, "Work\n", (self._base,))
        self._grow(date or self.today)

    def merge(self, number: int) -> None:
        """Squash the pull request's files onto the base; the branch stays."""
        branch, pull = self.pulls[number]
        assert pull.head is not None
        self.push_to_base(self.trees[self.heads[branch]])
        self._touch(number, state=PullState.MERGED, closed_at=self.today)

    def post(self, context: str, state: str, creator: str) -> None:
        """Post a commit status on the base, as Flux does once it has reconciled it."""
        head = self.base_commits[0]
        self.base_commits[0] = replace(head, statuses={**head.statuses, context: CommitStatus(state, creator)})

    def close_pull(self, number: int) -> None:
        """Close without merging."""
        self._touch(number, state=PullState.CLOSED, closed_at=self.today)

    def reopen(self, number: int) -> None:
        """Open it again."""
        self._touch(number, state=PullState.OPEN, closed_at="")

    def delete(self, branch: str) -> None:
        """Delete a branch, which closes its pull request."""
        self.heads.pop(branch, None)
        pull = self.open_pull(branch)
        if pull is not None:
            self.close_pull(pull.number)

    def edit(self, number: int, **changes: str | bool | tuple[str, ...] | None) -> None:
        """Title, body, labels, is_draft."""
        self._touch(number, **changes)

    def tick(self, number: int, box: str) -> None:
        """Tick a box, where it is."""
        pull = self.pulls[number][1]
        self.edit(
            number, body=pull.body.replace(f"- [ ] <!-- flux-upgrade:{box} -->", f"- [x] <!-- flux-upgrade:{box} -->")
        )

    def label(self, number: int, name: str) -> None:
        """Put a label on."""
        self.edit(number, labels=tuple(dict.fromkeys((*self.pulls[number][1].labels, name))))

    # What there is

    def open_pull(self, branch: str) -> PullRequest | None:
        """The open pull request of a branch."""
        return next(iter(self.open_pulls(branch)), None)

    def open_pulls(self, branch: str = "") -> list[PullRequest]:
        """All that are open, newest first."""
        return [
            pull
            for name, pull in reversed(self.pulls.values())
            if pull.state is PullState.OPEN and branch in ("", name)
        ]

    def _branch(self, name: str) -> Branch:
        head = self.heads.get(name)
        pulls = [self._shown(pull, name) for of, pull in reversed(self.pulls.values()) if of == name]
        return Branch(name, self.commits[head] if head else None, tuple(pulls[:_MOST_PULLS]))

    @staticmethod
    def _others(question: Question, names: Iterable[str]) -> tuple[str, ...]:
        found = (name for name in names if question.prefix and name.startswith(question.prefix))
        return tuple(dict.fromkeys(name for name in found if name not in question.branches))

    def _grow(self, date: str) -> None:
        blobs = {path: blob_id(content) for path, content in self.files.items()}
        before = self.base_commits[0].blobs if self.base_commits else {}
        self._changed_at |= {path: date for path, oid in blobs.items() if before.get(path) != oid}
        self.base_commits.insert(0, BaseCommit(self._base, date, blobs))

    def _shown(self, pull: PullRequest, branch: str) -> PullRequest:
        """An open one has the head of its branch, and the statuses that this has by now."""
        head = self.heads.get(branch) if pull.state is PullState.OPEN else None
        return replace(pull, head=self.commits[head]) if head else pull

    def _touch(self, number: int, **changes: object) -> None:
        branch, pull = self.pulls[number]
        self.pulls[number] = (branch, replace(self._shown(pull, branch), **changes))

    def _move(self, branch: str, head: str) -> None:
        self.heads[branch] = head
        pull = self.open_pull(branch)
        if pull is not None:
            self._touch(pull.number, head=self.commits[head])

    def _file(self, path: str) -> BaseFile:
        content = self.files.get(path)
        return BaseFile("" if content is None else blob_id(content), changed_at=self._changed_at.get(path, ""))

    def _commit(
        self, content: Mapping[str, bytes], message: str, parents: tuple[str, ...], *, is_sealed: bool = False
    ) -> str:
        listing = "".join(f"{path}\0{blob_id(data)}\0" for path, data in sorted(content.items()))
        tree = hashlib.sha1(listing.encode(), usedforsecurity=False).hexdigest()
        text = markers.sealed(message, tree) if is_sealed else message
        oid = hashlib.sha1(f"{len(self.commits)}{tree}{text}".encode(), usedforsecurity=False).hexdigest()
        self.commits[oid] = Commit(oid, tree, parents, text)
        self.trees[oid] = dict(content)
        return oid
