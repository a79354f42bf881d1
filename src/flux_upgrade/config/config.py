"""The config file as values: its groups, and what governs each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from functools import cache

from flux_upgrade.model.errors import UntrustedConfig
from flux_upgrade.model.text import enumeration
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.decision import Ring
from flux_upgrade.policy.policy import MaxBump, Policy
from flux_upgrade.policy.schedule import Schedule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathspec import PathSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

PATH = ".github/flux-upgrade.yaml"
FlagValue = str | bool | int | Sequence[str]


def slug(name: str) -> str:
    """``name`` as it can stand in a branch's name: a-z, 0-9 and single hyphens between them."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


ALL = ("all",)  # Of `include`: what no cluster reads counts, too


class Migrate(StrEnum):
    """When manifests with API versions that the target does not serve are moved."""

    BEFORE = "before"  # In a pull request of their own, which the upgrade waits for
    WITH_UPGRADE = "with-upgrade"  # In the pull request of the upgrade
    OFF = "off"  # By people: the upgrade waits until they have


class Governance(NamedTuple):
    """What governs installations: said by the config file's top level and by its groups, beaten by flags.

    Each field is a row of ``config.keys``, or several.
    """

    policy: Policy = Policy()
    flags: Mapping[str, str] = {}
    """Install flags that are to change, with Flux's names; values as on Flux's command line."""
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    auto_merge: MaxBump = MaxBump.NONE  # The largest whose pull request merges by itself: no major does
    schedule: tuple[str, ...] = ()  # As `Schedule.cron`
    timezone: str = "UTC"
    take_release: bool = False  # Where a release changed what was edited by hand, its own value is taken
    check_images: bool = True  # Whether a registry other than Flux's own is asked for the target's images
    migrate: Migrate = Migrate.BEFORE
    multi_step: bool = True  # Whether a jump that cannot be made in one step is proposed hop by hop
    include: tuple[str, ...] = ()
    """Patterns of the files that are searched for uses of Flux's APIs; empty: all that clusters read; see ``ALL``."""
    kubernetes_version: str = ""  # What the clusters run, `1.33`; empty: unknown
    needs_approval: tuple[str, ...] = ()
    """Values of ``policy.decision.ChangeKind`` whose bump waits for approval, whatever its size."""

    @property
    def window(self) -> Schedule:
        """When pull requests are opened and merged without a request from a user."""
        return Schedule(self.schedule, self.timezone)


class Group(NamedTuple):
    """Installations that are governed alike and, if ``name`` is given, share a pull request."""

    name: str = ""  # Empty: the defaults, where each installation has a pull request of its own
    paths: tuple[str, ...] = ()  # Patterns as in .gitignore, relative to the repository's root
    governance: Governance = Governance()
    ring: Ring = Ring()


class Limits(NamedTuple):
    """The most that there may be, each 0 for any number. A draft counts only as a draft."""

    open: int = 10  # Pull requests that can be merged
    new: int = 5  # Of them, opened by one run
    drafts: int = 10
    new_drafts: int = 5
    minutes: int = 7  # After which a run begins nothing more: less than `timeout-minutes` of the examples


class SharedFile(NamedTuple):
    """What the key ``extends`` names: a config file in a repository on the same GitHub."""

    repository: str  # `owner/name`
    path: str
    commit: str  # All 40 digits

    def __str__(self) -> str:
        return f"{self.repository}/{self.path}@{self.commit[:12]}"


class Origin(NamedTuple):
    """Which file a value comes from."""

    key: str  # `cool-down.minor`
    value: str  # As it is written there
    file: str
    unused: str = ""  # What the shared file has in its place, which has no effect


class BootstrapConfig(NamedTuple):
    """The key ``bootstrap``; flags of the command beat it."""

    provider: str = ""  # As `--provider`; empty: the flags or the checkout's remote decide
    source: str = ""  # `git` or `oci`; empty: `git`
    flags: Mapping[str, FlagValue] = {}  # Flux's name → value, each of its kind; for all clusters
    clusters: tuple[tuple[str, Mapping[str, FlagValue]], ...] = ()
    """Names, and the flags that differ; empty: there is one, without a name."""


class Also(NamedTuple):
    """An entry of the key ``also``: versions of Flux at places that no kind of version reference knows."""

    files: tuple[str, ...]  # Patterns as in .gitignore, relative to the repository's root
    match: str  # For RE2, with the group ``version``
    is_cli: bool = False  # Whether it is the version of the Flux CLI
    cluster: str | None = None  # The directory that Flux reconciles the cluster from; empty: the root; None: not given
    line: int = 1  # Of the entry in the config file, from 1


class Known(NamedTuple):
    """An entry of the key ``known``: facts about clusters that their repository does not show."""

    paths: tuple[str, ...]  # Patterns of the files that install Flux in the clusters, as in .gitignore
    reason: str
    release: str  # The minor that the clusters run, `2.8`; with another one, the entry does not count
    until: date  # The last day on which the entry counts
    migrated: bool = False  # `flux migrate` has run with the Flux CLI of that minor
    root: str | None = None  # The directory that Flux begins to read, from the repository's root; None: not given
    reads: tuple[str, ...] = ()  # Patterns of all files that the clusters read; empty: not given
    variables: Mapping[str, str] = {}  # Variables of `postBuild` whose values are not in Git
    line: int = 1  # Of the entry in the config file, from 1
    file: str = PATH

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


class Withheld(NamedTuple):
    """Keys of the file that the run does not use: see ``keys.Key.is_protected``."""

    keys: tuple[str, ...] = ()
    why: str = ""


class Config(NamedTuple):
    """The whole file. The first group whose patterns match an installation has it."""

    default: Group = Group()
    groups: tuple[Group, ...] = ()
    ignore: tuple[str, ...] = ()
    branch_prefix: str = "flux-upgrade/"
    forge: str = ""  # `github`, `gitlab`, `gitea`, `forgejo`, `git`; empty: the remote's host decides
    moves_operator: bool = False  # Whether the flux-operator's own pins move along with Flux; else they are named alone
    bootstrap: BootstrapConfig | None = None
    name: str = ""  # Of the file, from the repository's root; empty for the usual one
    limits: Limits = Limits()
    allow_hosts: tuple[str, ...] = ()  # That the tree names, and that are asked though they are not public
    accounts: tuple[str, ...] = ()  # Logins whose pull requests count as those of the token's account
    dashboard: bool = False  # Whether an issue shows everything
    also: tuple[Also, ...] = ()
    known: tuple[Known, ...] = ()
    lapsed: tuple[Known, ...] = ()  # Entries of `known` whose last day is past
    extends: str = ""  # As it is written; empty: the file extends no other
    origins: tuple[Origin, ...] = ()  # Of what is set, where the shared file was read
    withheld: Withheld = Withheld()

    def require_trusted(self, keys: Iterable[str]) -> None:
        """Raises UntrustedConfig where one of ``keys`` is withheld."""
        if names := [name for name in self.withheld.keys if name in keys]:
            raise UntrustedConfig(
                f"{self.name or PATH} sets {enumeration(names)}, which this run does not use: {self.withheld.why}",
                hint="run it on the default branch, or add --trust-config if you trust the file",
            )

    def counting_on(self, today: date, file: str) -> Config:
        """Return the config as it counts on a day. ``file``: its name in reports."""
        known = [entry._replace(file=file) for entry in self.known]
        lapsed = tuple(entry for entry in known if entry.until < today)
        return self._replace(known=tuple(entry for entry in known if entry.until >= today), lapsed=lapsed)

    def group_of(self, path: str) -> Group | None:
        """The group of a file, by its path from the repository's root, with ``/``; None: the defaults apply."""
        return next((group for group in self.groups if match(group.paths, path)), None)

    def is_ignored(self, path: str) -> bool:
        return match(self.ignore, path)


def is_scanned(patterns: tuple[str, ...], path: str) -> bool:
    """Whether `include` wants a file to be searched, whoever reads it."""
    return patterns in ((), ALL) or match(patterns, path)


def match(patterns: tuple[str, ...], path: str) -> bool:
    """Whether ``patterns`` take the file ``path``, relative to the repository's root.

    They are those of .gitignore (https://git-scm.com/docs/gitignore), but the last one that matches always
    decides. Git does not look into a directory that is ignored, so ``!`` cannot take back what is below it;
    ``clusters/**`` with ``!clusters/sandbox/**`` in a config file means just that.
    """
    return bool(patterns) and _compiled(patterns).match_file(path)


@cache
def _compiled(patterns: tuple[str, ...]) -> PathSpec[GitIgnoreSpecPattern]:
    # Late, as requests is: a repository without patterns does not pay for it.
    from pathspec import PathSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    # Linear in the path, and named: what matches must not depend on what else is installed.
    return PathSpec.from_lines(GitIgnoreSpecPattern, patterns, backend="re2")


def problem(pattern: str) -> str:
    """Why there can be no such pattern, or why it matches nothing, ever; empty for a good one."""
    try:
        (compiled,) = _compiled((pattern,)).patterns
    except ValueError:
        return "is not a pattern as in .gitignore"
    return "matches nothing" if compiled.include is None else ""
