"""What a forge (GitHub, or any Git server) reports, and the steps that change it: values only.

``Forge.fetch`` (ports) gives a ``Repository``; ``pullrequests.reconcile`` turns it into steps;
``Forge.apply`` takes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum

from flux_upgrade.model.file_history import blob_id
from flux_upgrade.model.values import NamedTuple


class PullState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


class Commit(NamedTuple):
    """A commit, as far as it tells whether it is ours."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    message: str
    statuses: Mapping[str, str] = {}
    """Context → state (``success``, ``failure`` …), of the contexts that were asked for."""
    merged: str = ""
    """Oid of the base's commit that the forge itself merged into it since: then ``oid`` is that of the merge."""


class Answers(NamedTuple):
    """Which answers to a pull request or an issue count, by who gave them.

    Approvals and lifts count only from users who may write to the repository. A refusal counts from anybody.
    """

    ready: bool | None = True  # Whether a user who may write marked it ready; None if nobody did
    is_readied_by_us: bool = False  # That user is the token's own account
    approved_at: str = ""  # When a user who may write added the approving label to one that is ready, RFC 3339, UTC
    reopened: bool = True  # Whether a user who may write reopened it, or nobody did
    body: bool = True  # Whether all who edited the body since flux-upgrade wrote it may write
    labels: tuple[str, ...] = ()  # Labels of flux-upgrade that another user added; ``labels`` leaves them out
    record: tuple[str, ...] = ()  # ``MarkerState.answers`` with what this run asked the Git host
    is_unknown: bool = False  # The Git host did not tell about somebody: nothing counts, and nothing is undone


class PullRequest(NamedTuple):
    """A pull request that an account of flux-upgrade opened from a branch of the repository itself."""

    number: int
    id: str  # GraphQL's node id; empty where the forge has none
    url: str
    state: PullState
    is_draft: bool
    title: str
    body: str
    labels: tuple[str, ...]
    head: Commit | None  # Its last commit, also after the branch is gone
    is_conflicting: bool  # It cannot be merged as it is. False while the forge does not know yet.
    created_at: str
    closed_at: str = ""  # RFC 3339, UTC; of a closed or merged one
    is_closed_by_bot: bool = False  # An app closed it, not a person: one that looks for what is stale, or we
    is_outdated: bool = False  # It has to be up to date with its base before it is merged, and is not
    labeled: Mapping[str, str] = {}
    """Label → when it was put on, RFC 3339, UTC: of the last few that were, where the forge tells."""
    merges_for: str | None = None
    """Login of who turned on auto-merge, as ``CommitStatus.creator``; None: it is off, or unknown."""
    is_queued: bool = False  # It is in the merge queue, which any change would remove it from
    is_rebase_asked: bool = False  # A box of the dashboard asks for what its own rebase box does
    author: str = ""  # Login of who opened it, as ``CommitStatus.creator``
    begun: Commit | None = None  # Its first commit: ours as a rule, whatever was pushed later
    answers: Answers = Answers()


class Issue(NamedTuple):
    """An issue with a label of ours: instead of a draft if the Git host has none, or a dashboard."""

    number: int
    url: str
    title: str
    body: str
    labels: tuple[str, ...]
    is_open: bool = True
    closed_at: str = ""  # RFC 3339, UTC; of a closed one
    is_closed_by_bot: bool = False  # As of a pull request
    is_own: bool = False  # An account of flux-upgrade opened it
    answers: Answers = Answers()


class Branch(NamedTuple):
    """One of our branches, as asked for."""

    name: str
    head: Commit | None  # None: there is no such branch
    pulls: tuple[PullRequest, ...] = ()
    """Newest first, at most ten; those into the base alone, as far as the forge can tell."""
    in_the_way: str = ""  # Another branch because of which there can be none of this name, `a` for `a/b`
    is_frozen: bool = False  # The repository's rules keep us from replacing its head
    forbids_creation: bool = False  # It does not exist, and the repository's rules keep us from creating it
    needs_signature: bool = False  # The repository's rules require signed commits on it, and ours would not be
    is_unread: bool = False  # Forks have so many pull requests of its name that ours may not be among those listed
    elsewhere: str = ""  # Address of an open pull request of it into another base; empty where there is none
    others: tuple[PullRequest, ...] = ()
    """Pull requests of it into the base that other accounts opened. They answer nothing, and are never updated."""
    is_kept: bool = False  # The repository's rules forbid deleting it

    @property
    def open_pull(self) -> PullRequest | None:
        return next((pull for pull in self.pulls if pull.state is PullState.OPEN), None)


def is_merged(branch: Branch) -> bool:
    """Whether its head was merged as it is, by whoever opened the pull request."""
    merged = (pull.head for pull in (*branch.pulls, *branch.others) if pull.state is PullState.MERGED)
    return any(each is not None and branch.head is not None and each.oid == branch.head.oid for each in merged)


class BaseFile(NamedTuple):
    oid: str  # Git's blob id; empty where there is no such file
    mode: str = "100644"  # Git's file mode, six octal digits
    history: tuple[str, ...] = ()  # Messages of the last commits that touched it, newest first, at most five
    changed_at: str = ""  # Date of the last commit that changed it, on whatever branch: RFC 3339, UTC; empty: unknown

    def holds(self, content: bytes) -> bool:
        return self.oid == blob_id(content, self.oid)


class CommitStatus(NamedTuple):
    """The latest commit status of one context on a commit."""

    state: str  # `success`, `failure`, `error`, `pending` or `expected`
    creator: str  # Login; of an app with `[bot]`, as GitHub's REST API has it. Empty where the forge does not tell


class BaseCommit(NamedTuple):
    """A commit of the base branch, by first parents."""

    oid: str
    committed_at: str  # RFC 3339, UTC
    blobs: Mapping[str, str]  # Path → Git's blob id, of the files that were asked for; without those that are not there
    statuses: Mapping[str, CommitStatus] = {}  # By context


class Question(NamedTuple):
    """What ``Forge.fetch`` is to read."""

    branches: tuple[str, ...]
    paths: tuple[str, ...]  # Of files at the base, relative to the repository's root
    base: str = ""  # Branch that pull requests go into; empty: the default branch
    prefix: str = ""  # What the names of our branches begin with, up to a slash; empty: others are not asked for
    watched: tuple[str, ...] = ()  # Files whose last commits are looked at, see ``Repository.commits``


class Repository(NamedTuple):
    """What ``Forge.fetch`` read."""

    name: str  # `owner/name`, or the remote's address
    url: str  # For a browser; no trailing slash
    base: str
    base_oid: str
    base_tree: str
    files: Mapping[str, BaseFile]  # One for each path of the question
    branches: Mapping[str, Branch]  # One for each branch of the question
    issues: tuple[Issue, ...] = ()
    recent: tuple[str, ...] = ()  # Headlines of the last twenty commits of the base
    ancestry: tuple[str, ...] = ()  # Oids of the last hundred commits of the base; none where the forge does not tell
    others: tuple[str, ...] = ()  # Branches with the question's prefix that it does not name, at most a hundred
    is_enterprise_server: bool = False
    closed: tuple[str, ...] = ()
    """The same of branches that closed pull requests had, gone or not: of the last hundred that were not merged."""
    former: tuple[Branch, ...] = ()  # Of these, what was asked for later
    viewer: str = ""  # Login that the token acts as; empty where the forge does not tell
    warnings: tuple[str, ...] = ()
    """What a person should know before a write, like a rule that demands signed commits of a PAT."""
    sees_statuses: bool = True  # False: the token may not read the statuses of commits, and so not set one
    commits: tuple[BaseCommit, ...] = ()
    """The last commits of the base by first parents, newest first, with what they hold of ``Question.watched``."""
    lists_pulls: bool = True
    """False: a Git server. A branch of ours stands for an open pull request, whose text nobody can read."""
    sees_issues: bool = True  # False: the token may not read issues


class NewCommit(NamedTuple):
    """A commit to be made: ``files`` over the base's tree, with the base as its one parent.

    The forge appends the trailer of ``markers.sealed`` to the message.
    """

    message: str
    parent: str
    parent_tree: str
    files: Mapping[str, tuple[str, bytes]]  # Path → file mode and content


class Status(NamedTuple):
    """A commit status of a pull request of ours; no other has it, so that no rule should require it."""

    context: str
    state: str  # `success` or `failure`
    description: str  # At most 140 characters (GitHub's limit)
    url: str = ""


class Extras(NamedTuple):
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()  # Logins, and teams as `org/team`
    auto_merge: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """``label:flux``, ``reviewer:org/team``: all but auto-merge, as ``MarkerState.given`` has them."""
        return tuple(f"{kind}:{name}" for kind, names in zip(_KINDS, self[:3], strict=True) for name in names)

    def without(self, names: Collection[str]) -> Extras:
        labels, assignees, reviewers = (
            tuple(each for each in values if f"{kind}:{each}" not in names)
            for kind, values in zip(_KINDS, self[:3], strict=True)
        )
        return Extras(labels, assignees, reviewers, self.auto_merge)

    def each(self) -> Iterator[Extras]:
        return (self.without({other for other in self.names if other != name}) for name in self.names)


_KINDS = ("label", "assignee", "reviewer")


class OpenPull(NamedTuple):
    """Make the commit and the branch where they are missing, and open the pull request."""

    branch: str
    base: str
    before: str  # Oid that the branch has now and is replaced; empty: there is no such branch
    commit: NewCommit | None  # None: the branch is as it should be (an earlier run was cut off), its head is `before`
    title: str
    body: str
    is_draft: bool
    status: Status
    extras: Extras = Extras()


class UpdatePull(NamedTuple):
    """Bring an open pull request up to date; None: that part stays as it is."""

    pull: PullRequest
    branch: str
    before: str
    commit: NewCommit | None = None
    title: str | None = None
    body: str | None = None
    make_ready: bool = False
    make_draft: bool = False
    status: Status | None = None
    extras: Extras | None = None  # What is missing by now, or a run that was cut off may not have come to
    drop_labels: tuple[str, ...] = ()
    stop_auto_merge: bool = False  # Nothing else is done along with it


class ClosePull(NamedTuple):
    """Close a pull request that is no longer needed: body (with the marker) and state in one call."""

    pull: PullRequest
    body: str


class RejectPull(NamedTuple):
    """Close a pull request that another account opened from a branch of ours, and say why in a comment, once.

    The first line of ``comment`` is a marker, as in ``CommentPull``.
    """

    pull: PullRequest
    comment: str


class RecordAnswers(NamedTuple):
    """Write ``Answers.record`` into the body of a pull request, whatever its state."""

    pull: PullRequest
    body: str


class DeleteBranch(NamedTuple):
    """Delete a merged branch of ours, if its head still is ``before``."""

    branch: str
    before: str


class CommentPull(NamedTuple):
    """Comment on a pull request, once: ``body`` remembers it.

    The first line of ``comment`` is a marker. A run that was cut off before it wrote the body left one with it.
    """

    pull: PullRequest
    comment: str
    body: str


class RevertPull(NamedTuple):
    """Open a draft that reverts a merged pull request. GitHub makes its commit and its branch: ``revert_branch``."""

    pull: PullRequest
    title: str
    body: str


def revert_branch(number: int, branch: str) -> str:
    """The branch of the revert of a pull request, as GitHub names it: https://github.com/cli/cli/pull/14294."""
    return f"revert-{number}-{branch}"


class OpenIssue(NamedTuple):
    """If the Git host has no drafts, an issue has the text of one. A dashboard is one, too."""

    title: str
    body: str
    labels: tuple[str, ...]


class UpdateIssue(NamedTuple):
    """Replace the body of an issue of ours, close it, or reopen it."""

    issue: Issue
    body: str
    close: bool = False
    reopen: bool = False


Step = (
    OpenPull
    | UpdatePull
    | ClosePull
    | RejectPull
    | RecordAnswers
    | DeleteBranch
    | CommentPull
    | RevertPull
    | OpenIssue
    | UpdateIssue
)


class Done(NamedTuple):
    number: int = 0  # 0: the forge gives no number (a Git server that only answers with text)
    url: str = ""
    head: str = ""  # Oid of the branch's head now
    warnings: tuple[str, ...] = ()
    """What did not work and does not matter enough to fail: labels, reviewers, auto-merge, the status."""
    missing: tuple[str, ...] = ()  # ``Extras.names`` that failed in passing: the next run gives them
