"""Every key of the config file: one table for loader, schema, reference, and flags and inputs of that name.

It is data alone, and imports no YAML: every run declares flags by it. ``config.values`` reads what a shape
describes, and ``config.schema`` says the same as JSON Schema and as Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Protocol

from flux_upgrade.config.config import ALL, Migrate, problem
from flux_upgrade.config.shared_values import ANY, LONGER, LOWER, RESTRICTING, Shared, from_strict_to_loose, only
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.decision import ChangeKind, OnFailure
from flux_upgrade.policy.policy import MaxBump, Pending
from flux_upgrade.policy.schedule import cron_problem, timezone_problem
from flux_upgrade.policy.semver_range import Constraint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaml import Node

    from flux_upgrade.config.yaml_text import YamlText


class OwnShape(Protocol):
    @property
    def description(self) -> str:
        """What it is, for the reference; Markdown."""

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the values that ``read`` takes."""

    def read(self, name: str, node: Node, source: YamlText) -> Any:
        """As ``config.values.read``."""


class PlainShape(StrEnum):
    """A kind of value that there is one of; what the reference calls it, in Markdown."""

    BOOLEAN = "boolean"
    SWITCH = "`on`, `off`"
    DURATION = "duration: `0`, `12h`, `7d`, `2w`"
    COUNT = "whole number, `0` for no limit"
    KUBERNETES_VERSION = "version: `1.33`, `v1.33.4`"
    INSTALL_FLAGS = "mapping of [flags](#flags)"
    ALSO = "list of mappings of `files`, `match`, `for` and `cluster`, see [Also](#also)"
    KNOWN = "list of mappings, see [Known](#known)"
    DATE = "date: `2027-03-31`"
    VARIABLES = "mapping of names to values"
    HEALTHY = "`soak`, or mapping of `context` and `creator`"
    GROUPS = "mapping of [groups](#groups)"  # Name → `GROUP`
    BOOTSTRAP = "mapping of `provider`, `source`, `flags` and `clusters`, see [Bootstrap](#bootstrap)"
    """The room ``bootstrap`` owns what is below it: its reader comes with the source."""


class ChoiceShape(NamedTuple):
    words: tuple[str, ...]
    values: tuple[Any, ...] = ()


class TextShape(NamedTuple):
    description: str  # As it ends the sentence "… is not"
    pattern: str  # A regular expression that Python and ECMAScript read alike, for the whole text
    longest: int = 1000
    problem: Callable[[str], str] | None = None
    """What is wrong with a text that the pattern lets pass, to follow the text itself; empty: nothing."""
    remedy: Callable[[str], str] | None = None
    """What to do about a text that the pattern does not let pass, to follow the refusal; empty: nothing more."""


class ListShape(NamedTuple):
    """A list of texts, each of them once."""

    item: TextShape | ChoiceShape
    items: str = ""  # What several of them are called; Markdown. Empty: each is what `item` says.
    are_patterns: bool = False
    """Whether their order matters, so that one may be there again, and none can begin with an exception."""
    least: int = 0
    word: str = ""  # That stands for a list of itself
    takes_one: bool = False  # Whether an item may stand there without a list


class MappingShape(NamedTuple):
    keys: tuple[Key, ...]
    required: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = {}  # Key that is known, but not here → what to say of it


Shape = PlainShape | ChoiceShape | TextShape | ListShape | MappingShape | OwnShape


class Key(NamedTuple):
    """One key of a mapping, and the flag and the input that beat it."""

    name: str
    shape: Shape
    meaning: str  # Sentences for the reference and the schema; Markdown
    default: str = ""  # As it would be written in YAML; empty where there is none
    field: str = ""  # Of `config.Governance` or `config.Config`; empty: the one of the key's name, if there is one
    flag: str = ""
    metavar: str = ""  # Of the flag; empty: argparse has one, of the words that there are
    hint: str = ""  # What to do about a flag's value that cannot be read; empty: a pointer to the reference
    input: str = ""  # What `action.yml` says of the input of that name; empty: there is none
    shared: Shared | None = None  # What a file that others extend may do with it; None: nothing, it cannot set it
    is_protected: bool = False
    """Whether it says whom to ask or believe, so that in CI it counts only in a file that maintainers merged
    (``commands.config_trust``). A shared file cannot set it."""


FORGES = ("github", "gitlab", "gitea", "forgejo", "git")
# On GitHub letters, digits, hyphens and, for managed users, an underscore; on GitLab dots, too.
_LOGIN = "[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?"
# What git-check-ref-format(1) allows at the beginning of a branch's name.
_PREFIX = r"(?![./-]|refs/)(?!.*(?://|\.\.|@\{|/\.|\.lock/))[^\x00-\x20\x7f~^:?*\[\\]+"


def _range_problem(text: str) -> str:
    try:
        Constraint(text)
    except UsageError as error:
        return f"is not a range: {error.message}"
    return ""


def _commit_of(text: str) -> str:
    """How to get the commit of a branch, a tag or a short commit that is there instead."""
    found = re.fullmatch(r"([A-Za-z0-9_-]+/[A-Za-z0-9._-]+)/[^@]+@(?![0-9a-f]{40}$)([A-Za-z0-9._/-]+)", text)
    return f"`gh api repos/{found[1]}/commits/{found[2]} --jq .sha` shows the commit" if found else ""


_LABEL = TextShape("a label (at most 50 characters, no comma)", r"(?!\s|.*\s$)[^,\x00-\x1f\x7f-\x9f]+", longest=50)
_PERSON = TextShape("a login, without @", _LOGIN, longest=100)
_CREATOR = TextShape("a login, without @", rf"{_LOGIN}(?:\[bot\])?", longest=100)
_REVIEWER = TextShape("a login or org/team, without @", f"{_LOGIN}(?:/{_LOGIN})?", longest=200)
PATTERN = TextShape(
    "a pattern as in .gitignore, relative to the repository's root",
    r"(?!\s|#|!?/*$|!?\.{1,2}/|.*/\.\./|.*\[:|.*\\$|.*\s$)[^\x00-\x1f\x7f-\x9f]+",
    problem=problem,
)
_CRON = TextShape(
    "a cron schedule of five fields with `*` for the minute, such as '* 9-15 * * 1-4'",
    r"\*(?: [0-9A-Za-z*,/#-]+){4}",
    longest=200,
    problem=cron_problem,
)
_TIMEZONE = TextShape(
    "the name of a time zone, such as Europe/Berlin",
    "[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*",
    longest=100,
    problem=timezone_problem,
)
_COOL_DOWN = (
    Key("patch", PlainShape.DURATION, "The minimum age of a patch.", "0", shared=LONGER),
    Key("minor", PlainShape.DURATION, "The minimum age of the `.0` release of a minor or major.", "7d", shared=LONGER),
)
_PATTERNS = ListShape(PATTERN, "[patterns](#patterns)", are_patterns=True)
_FILE = "(default: the value in the config file, else"
LIMITS = (
    Key("open", PlainShape.COUNT, "Open pull requests, without drafts.", "10", shared=LOWER),
    Key("new", PlainShape.COUNT, "Pull requests that one run opens, without drafts.", "5", shared=LOWER),
    Key("drafts", PlainShape.COUNT, "Open drafts.", "10", shared=LOWER),
    Key("new-drafts", PlainShape.COUNT, "Drafts that one run opens.", "5", shared=LOWER),
    Key(
        "minutes",
        PlainShape.COUNT,
        "Minutes after which a run starts no further change. Set it below `timeout-minutes` of the job.",
        "7",
        shared=LOWER,
    ),
)
GOVERNING = (
    Key(
        "policy",
        ChoiceShape(tuple(MaxBump)),
        "The largest upgrade that needs no approval. If you set `range` but not `policy`, every version in the "
        "range is upgraded without approval.",
        "patch",
        flag="largest upgrade without approval: none, patch (default), minor, major",
        metavar="BUMP",
        hint="set the largest upgrade that needs no approval",
        input="Largest upgrade that needs no approval: `patch`, `minor`, `major` or `none`. "
        "Default: the value in the config file, or `patch`.",
        shared=from_strict_to_loose("only smaller", *MaxBump),
    ),
    Key(
        "range",
        TextShape("a range of versions in quotes, such as '>=2.6'", r".*\S.*", problem=_range_problem),
        "The versions that flux-upgrade proposes, such as `'>=2.6 <2.9'`, `2.x` or `~2.8`.",
        flag="versions to propose, such as '>=2.6 <2.9' or 2.x; without --policy, all of them need no approval",
        metavar="RANGE",
        input="Allowed versions as a semver range, like `2.x` or `>=2.6 <2.9`. "
        "Without `policy`, none of them needs approval. Default: the value in the config file, or all versions.",
        shared=RESTRICTING,
    ),
    Key(
        "pending",
        ChoiceShape(tuple(Pending)),
        "Where an upgrade that needs approval is shown: `draft` opens a draft pull request, `summary` shows it "
        "only in the job summary.",
        "draft",
        shared=ANY,
    ),
    Key(
        "cool-down",
        MappingShape(_COOL_DOWN),
        "The minimum age of a release before it is proposed.",
        "{patch: 0, minor: 7d}",
        shared=LONGER,
    ),
    Key(
        "flags",
        PlainShape.INSTALL_FLAGS,
        "Install flags to change. All others keep their values.",
        "{}",
        flag="install flags to change, with the names of Flux, such as 'network-policy: false'",
        metavar="FLAGS",
        input="Install flags to change, with Flux's names, like `network-policy=false log-level=debug`. "
        "With `mode: bootstrap`, any flag of `flux bootstrap`, in this form or as YAML. "
        "Default: the value in the config file, or none.",
    ),
    Key("labels", ListShape(_LABEL), "Labels for each pull request.", "[]"),
    Key(
        "reviewers",
        ListShape(_REVIEWER),
        "Reviewers of each pull request that is not a draft: logins, and teams as `org/team`.",
        "[]",
        shared=ANY,
    ),
    Key("assignees", ListShape(_PERSON), "Assignees of each pull request.", "[]", shared=ANY),
    Key(
        "auto-merge",
        ChoiceShape(tuple(MaxBump)[:-1]),
        "The largest upgrade whose pull request merges automatically once your Git host's rules are met. `minor` also "
        "needs a `policy` that requires no approval: see [Auto-merge](../how-to/merge-windows.md#merge-minors).",
        "none",
    ),
    Key(
        "schedule",
        ListShape(_CRON, "[schedules](../how-to/merge-windows.md)", takes_one=True),
        "When flux-upgrade opens pull requests, marks drafts as ready and turns on auto-merge: cron schedules, such as "
        "`'* 9-15 * * 1-4'`. What you ask for is done at any time. An empty list: always. See "
        "[both days](../how-to/merge-windows.md#both-days) if you set the day of the month and that of the week.",
        "[]",
    ),
    Key("timezone", _TIMEZONE, "The time zone of `schedule`, such as `Europe/Berlin`.", "UTC"),
    Key(
        "on-conflict",
        ChoiceShape(("hold", "take-release"), (False, True)),
        "What to do if a release changes a field that you edited manually: `hold` the upgrade, or `take-release` to "
        "accept the release's value.",
        "hold",
        field="take_release",
        flag="what to do if the release changes what you edited manually (default: hold)",
        shared=only("hold", value=False),
    ),
    Key(
        "check-images",
        PlainShape.BOOLEAN,
        "Whether flux-upgrade checks that your registry has the release's images. `ghcr.io/fluxcd` is not checked.",
        "true",
        flag=f"false: propose a release without checking that your own registry has its images {_FILE} true)",
        shared=only("true", value=True),
    ),
    Key(
        "migrate",
        ChoiceShape(tuple(Migrate)),
        "How manifests that use API versions removed by the target are migrated. `before`: in a separate pull "
        "request, which the upgrade waits for. `with-upgrade`: in the upgrade's pull request. `off`: you migrate "
        "them, and the upgrade waits. With `with-upgrade`, run `flux migrate` right after the merge, otherwise "
        "before it.",
        "before",
        flag="when to migrate manifests on removed API versions: in a pull request before the upgrade, with the "
        f"upgrade, or never (off) {_FILE} before)",
        shared=from_strict_to_loose("only `off` or `before`", Migrate.OFF, Migrate.BEFORE, Migrate.WITH_UPGRADE),
    ),
    Key(
        "multi-step",
        PlainShape.SWITCH,
        "Whether an upgrade that needs several steps is proposed one release at a time. `off`: one jump to the "
        "target, with a list of what blocks it.",
        "on",
        flag=f"false: propose a single upgrade even if it takes several steps {_FILE} true)",
        shared=only("on", value=True),
    ),
    Key(
        "include",
        _PATTERNS._replace(items=f"`{ALL[0]}`, or a list of [patterns](#patterns)", word=ALL[0]),
        "The files in which flux-upgrade looks for what an upgrade breaks. Without a pattern: every file that a "
        "cluster reads. `all`: also files that no cluster reads.",
        "[]",
        flag="files to search for breaking changes, as in .gitignore; all: also files that no cluster reads; "
        f"repeatable {_FILE} every file that a cluster reads)",
        metavar="PATTERN",
    ),
    Key(
        "kubernetes-version",
        PlainShape.KUBERNETES_VERSION,
        "The Kubernetes version of your clusters. flux-upgrade holds Flux releases that do not support it.",
        flag=f"Kubernetes version of the clusters, such as 1.33 {_FILE} unknown)",
        metavar="VERSION",
        shared=RESTRICTING,
    ),
    Key(
        "needs-approval",
        ListShape(ChoiceShape(tuple(ChangeKind)), "[changes](#changes)"),
        "Changes that always need approval, even in a patch.",
        "[]",
        shared=RESTRICTING,
    ),
)
HOST = TextShape(
    "a host: HOST, HOST:PORT or *.DOMAIN",
    r"(?:(?:\*\.)?[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?",
    longest=260,
)
_PATHS = Key(
    "paths",
    _PATTERNS._replace(least=1),
    "The files of the group. A file belongs to the first group with a matching pattern.",
)
_ENTRY = r"(?!\.{1,2}(?:/|@))[A-Za-z0-9._-]+"
EXTENDS = TextShape(
    "owner/repository/path@commit with all 40 digits of the commit",
    rf"[A-Za-z0-9][A-Za-z0-9_-]*(?:/{_ENTRY}){{2,}}@[0-9a-f]{{40}}",
    longest=500,
    remedy=_commit_of,
)
_IN_CI = " In CI, this key counts only [on the default branch](network.md#the-config-file-in-ci)."
_OWN = (
    Key(
        "extends",
        EXTENDS,
        "A config file in another repository on the same GitHub, at a commit: see "
        "[share a config file](../how-to/share-a-config.md). The keys of the file that extends it win." + _IN_CI,
        is_protected=True,
    ),
    Key(
        "accounts",
        ListShape(_CREATOR),
        "Logins that flux-upgrade used before you gave it another token: `alice`, `fleet-upgrades[bot]`. Their pull "
        "requests count as its own. Add `github-actions[bot]` if you used `GITHUB_TOKEN`, so that recorded approvals "
        "stay. See [Who may answer](../how-to/act-on-answers.md#who-may-answer)." + _IN_CI,
        "[]",
        is_protected=True,
    ),
    Key(
        "allow-hosts",
        ListShape(HOST),
        "Hosts that your files name and that flux-upgrade contacts although they have no public address or use plain "
        "http: `registry.internal`, `charts.internal:8080`, `*.example.internal`. See "
        "[Network](network.md#allow-a-host)." + _IN_CI,
        "[]",
        flag="host that your files name and that is contacted although it is not public, such as registry.internal; "
        f"several with commas; repeatable {_FILE} none)",
        metavar="HOST",
        input="Hosts that your files name and that are contacted although they are not public, like "
        "`registry.internal`. Several are separated by commas. Default: the value in the config file, or none.",
        is_protected=True,
    ),
    Key(
        "also",
        PlainShape.ALSO,
        "Files with a Flux version that flux-upgrade does not find by itself: see "
        "[your own places](../how-to/other-places.md).",
        "[]",
    ),
    Key(
        "known",
        PlainShape.KNOWN,
        "What is true of your clusters, and what the repository does not show: see "
        "[state what Git does not show](../how-to/known-facts.md)." + _IN_CI,
        "[]",
        is_protected=True,
    ),
    Key(
        "branch-prefix",
        TextShape("the beginning of a branch's name as Git allows it", _PREFIX, longest=100),
        "The prefix of branch names.",
        "flux-upgrade/",
    ),
    Key(
        "dashboard",
        PlainShape.BOOLEAN,
        "Whether one issue shows what runs, what is open and what waits, with boxes to tick: see "
        "[Dashboard](../how-to/dashboard.md). It needs GitHub.",
        "false",
    ),
    Key(
        "forge",
        ChoiceShape(FORGES),
        "The type of your Git host. `git`: flux-upgrade only pushes branches. Default: derived from the remote's host.",
    ),
    Key(
        "flux-operator",
        ChoiceShape(("report", "change"), (False, True)),
        "What to do with versions of the flux-operator: `report` them, or `change` them if the Flux release needs "
        "a newer flux-operator.",
        "report",
        field="moves_operator",
        shared=only("report", value=False),
    ),
    Key(
        "limits",
        MappingShape(LIMITS),
        "How much there is to review at a time: see [many clusters](../how-to/many-clusters.md). "
        "Open pull requests are updated and closed whatever their number.",
        "{open: 10, new: 5, drafts: 10, new-drafts: 5, minutes: 7}",
        shared=LOWER,
    ),
    Key("bootstrap", PlainShape.BOOTSTRAP, "The settings of `flux-upgrade bootstrap`." + _IN_CI, is_protected=True),
    Key(
        "ignore", _PATTERNS, "The files that flux-upgrade neither changes nor checks for what an upgrade breaks.", "[]"
    ),
)
GROUP_NAME = TextShape(
    "the name of a group (a-z, A-Z, 0-9, and after the first '.', '_' and '-')",
    "[A-Za-z0-9][A-Za-z0-9._-]*",
    longest=63,
)
_CONTEXT = TextShape(
    "the context of a commit status, in which `*` matches any text", r"(?!\s|.*\s$)[^\x00-\x1f\x7f-\x9f]+", longest=255
)
HEALTHY = MappingShape(
    (
        Key(
            "context",
            ListShape(_CONTEXT, "contexts", least=1, takes_one=True),
            "Contexts of commit statuses, all of which must be there.",
        ),
        Key("creator", _CREATOR, "The login that posts them, such as `flux-staging[bot]`."),
    ),
    required=("context", "creator"),
)
RING = (
    Key(
        "after",
        ListShape(GROUP_NAME, "groups", takes_one=True),
        "The groups that come before. A release is proposed as a draft until all of them run it, and are healthy.",
        "[]",
    ),
    Key(
        "soak",
        PlainShape.DURATION,
        "How long the groups in `after` must have run the release. Without `after`, it is an error.",
        "0",
    ),
    Key(
        "healthy",
        PlainShape.HEALTHY,
        "How flux-upgrade knows that this group is healthy. `soak`: it has run the release for the `soak` of the next "
        "group. Or `context` and `creator` of the commit statuses that Flux posts.",
        "soak",
    ),
    Key(
        "on-failure",
        ChoiceShape(tuple(OnFailure)),
        "What to do if an upgrade fails that other groups wait for. `comment`: comment on the merged pull request. "
        "`revert`: also open a draft that reverts it. Needs `healthy` with commit statuses.",
        "comment",
    ),
    Key(
        "one-release-at-a-time",
        PlainShape.BOOLEAN,
        "Whether this group keeps its release until the groups that come after it run that release, too.",
        "false",
    ),
)
GROUP = MappingShape(
    (_PATHS, *RING, *GOVERNING),
    required=("paths",),
    elsewhere=dict.fromkeys((*(key.name for key in _OWN), "groups"), "belongs to the top level"),
)
_GROUPS = Key(
    "groups", PlainShape.GROUPS, "Groups of installations by name. Each group is upgraded in one pull request.", "{}"
)
TOP = MappingShape(
    (*GOVERNING, *_OWN, _GROUPS), elsewhere=dict.fromkeys((key.name for key in (_PATHS, *RING)), "belongs in a group")
)
_SHARED = tuple(key for key in TOP.keys if key.shared and not key.is_protected)
SHARED = MappingShape(
    _SHARED,
    elsewhere=dict.fromkeys(
        (key.name for key in (*TOP.keys, _PATHS, *RING) if key not in _SHARED), "cannot be set in a shared file"
    ),
)
"""A file that others extend. It knows nothing of their paths, so it has no groups."""
PROTECTED = tuple(key.name for key in TOP.keys if key.is_protected)
