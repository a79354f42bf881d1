"""What the stand-in remembers, beside Git: the records of a forge. Times are RFC 3339, UTC."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self, now: str = "2026-03-02T06:00:00Z") -> None:
        self.now = datetime.fromisoformat(now)

    def advance(self, **amount: float) -> None:
        """Move on: ``advance(days=1, hours=2)``, as ``timedelta`` takes it."""
        self.now += timedelta(**amount)

    def set(self, now: str) -> None:
        """Set it to a time, ``2026-03-02T06:00:00Z``."""
        self.now = datetime.fromisoformat(now)

    @property
    def epoch(self) -> int:
        """Seconds since 1970."""
        return int(self.now.timestamp())

    @property
    def text(self) -> str:
        """As the API writes it."""
        return moment(self.epoch)


def moment(epoch: int) -> str:
    """A time as the API writes it."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Rule:
    """A rule for branches, of a ruleset or of classic branch protection."""

    type: str
    """GraphQL's ``RepositoryRuleType``: REQUIRED_SIGNATURES, PULL_REQUEST, CREATION, UPDATE,
    DELETION, NON_FAST_FORWARD are enforced; others are only told."""
    branches: str = "~ALL"
    """A pattern of branch names, or all of them."""
    is_classic: bool = False
    """Branch protection, not a ruleset."""
    is_strict: bool = False
    """Of REQUIRED_STATUS_CHECKS: branches have to be up to date before they are merged."""
    bypass: tuple[str, ...] = ()
    """Logins that a ruleset does not bind."""

    def covers(self, branch: str) -> bool:
        """Whether it is about a branch. As in Ruby's ``File.fnmatch`` with FNM_PATHNAME, no wildcard matches a slash."""
        if self.branches == "~ALL":
            return True
        parts = re.split(r"(\*\*/|\*+|\?)", self.branches)
        wildcards = {"**/": "(?:[^/]+/)*", "?": "[^/]"}
        pattern = "".join(wildcards.get(part) or ("[^/]*" if part[:1] == "*" else re.escape(part)) for part in parts)
        return re.fullmatch(pattern, branch) is not None


@dataclass
class Settings:
    """What the owner of a repository has set. A test may change it at any time."""

    is_private: bool = False
    is_internal: bool = False
    """Private, and open to the whole enterprise."""
    is_personal: bool = False
    """The owner is a person, not an organization."""
    description: str = ""
    is_archived: bool = False
    is_fork: bool = False
    has_issues: bool = True
    drafts: bool = True
    """Not in private repositories of some plans."""
    actions_may_open: bool = True
    """“Allow GitHub Actions to create and approve pull requests”."""
    auto_merge: bool = False
    merge_method: str = "MERGE"
    """The one that GitHub offers first: ``MERGE``, ``SQUASH`` or ``REBASE``."""
    delete_branch_on_merge: bool = False
    knows_mergeable: bool = True
    """GitHub finds out in the background: False for the time before it has."""
    requires_sso: bool = False
    """Of its organization: a personal access token needs to be authorized for it."""
    rules: tuple[Rule, ...] = ()
    required_contexts: tuple[str, ...] = ()
    """Contexts of statuses without which the default branch accepts no merge."""
    collaborators: tuple[str, ...] = ("alice", "bob")
    roles: dict[str, str] = field(default_factory=lambda: {"alice": "admin", "bob": "write"})
    """Login → role: read, triage, write, maintain, admin; none, or gone for an account that was deleted.
    Anybody else can read it, unless it is private."""
    teams: tuple[str, ...] = ("platform",)
    admins: tuple[str, ...] = ("alice",)
    """People who may change its deploy keys and its teams."""
    deploy_keys: bool = True
    """Organizations and enterprises forbid them: for new organizations, that is the default."""


@dataclass
class Status:
    """A commit status."""

    id: int
    sha: str
    context: str
    state: str
    description: str | None
    target_url: str | None
    creator: str
    at: str


@dataclass(frozen=True)
class Comment:
    """A comment on an issue or a pull request."""

    id: int
    body: str
    author: str
    at: str


@dataclass
class Issue:
    """An issue, or the part of a pull request that is one."""

    number: int
    title: str
    body: str
    author: str
    created_at: str
    updated_at: str
    state: str = "open"
    closed_at: str = ""
    labels: list[str] = field(default_factory=list)
    assignees: list[str] = field(default_factory=list)
    closings: list[tuple[str, str]] = field(default_factory=list)
    """Who closed it, and when."""
    comments: list[Comment] = field(default_factory=list)
    reopenings: list[tuple[str, str]] = field(default_factory=list)
    """Who opened it again, and when."""
    edits: list[tuple[str, str]] = field(default_factory=list)
    """Who changed the body, and when."""
    labelings: list[tuple[str, str, str]] = field(default_factory=list)
    """Which label was put on, by whom, and when."""


@dataclass
class Pull(Issue):
    """A pull request."""

    base: str = ""
    base_sha: str = ""
    """Where the base was when it was opened or pushed to: not where it is."""
    head: str = ""
    head_sha: str = ""
    head_owner: str = ""
    """Differs from the repository's owner for one from a fork."""
    is_draft: bool = False
    merged_at: str = ""
    merged_by: str = ""
    merge_commit: str = ""
    auto_merge: str = ""
    """The method, where it was enabled. Nothing is merged by itself here."""
    auto_merge_by: str = ""
    """Login of who enabled it."""
    is_queued: bool = False
    """It is in the merge queue. Nothing is merged by itself here."""
    readyings: list[tuple[str, str]] = field(default_factory=list)
    """Who marked it as ready for review, and when."""
    reviewers: list[str] = field(default_factory=list)
    team_reviewers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Asset:
    """A file of a release."""

    id: int
    name: str
    content: bytes


@dataclass
class Release:
    """A release."""

    id: int
    tag: str
    published_at: str
    body: str = ""
    draft: bool = False
    prerelease: bool = False
    assets: tuple[Asset, ...] = ()


@dataclass(frozen=True)
class Artifact:
    """What a workflow uploaded."""

    id: int
    name: str
    created_at: str
    storage_url: str
    """Where its zip is, on another host."""
    size: int = 0
    is_expired: bool = False
    is_of_fork: bool = False
    """The workflow ran for the pull request of a fork."""


@dataclass(frozen=True)
class Token:
    """A credential: its kind decides what it may do, and how it is refused."""

    value: str = field(repr=False)
    kind: str
    """``actions`` (GITHUB_TOKEN), ``app``, ``classic`` or ``fine-grained`` (personal access tokens)."""
    login: str
    permissions: Mapping[str, str]
    """Permission (``pull_requests``) → ``read`` or ``write``. Empty for a classic one."""
    scopes: tuple[str, ...] = ()
    """Of a classic one: ``repo``, ``workflow``."""
    repositories: tuple[str, ...] = ()
    """Full names that it was given for; empty: all of the stand-in."""
    is_sso_authorized: bool = False

    @property
    def is_installation(self) -> bool:
        """Whether a GitHub App acts, not a person: GITHUB_TOKEN is the token of one."""
        return self.kind in ("actions", "app")
