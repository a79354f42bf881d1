"""Every key of the config file: the one table that the loader, the schema and the reference are made from."""

from __future__ import annotations

from typing import Any, NamedTuple

from yaml import MappingNode, Node

from flux_upgrade.config.config import BootstrapConfig, Migrate, problem, slug
from flux_upgrade.config.install_flag_shapes import InstallFlagsShape, parse_flags
from flux_upgrade.config.scalar_shapes import KubernetesVersionShape, OffChoiceShape, SwitchShape
from flux_upgrade.config.shapes import (
    BooleanShape,
    ChoiceShape,
    DurationShape,
    Key,
    KeyFlag,
    ListShape,
    MappingShape,
    PatternsShape,
    Schema,
    TextShape,
)
from flux_upgrade.config.yaml_text import YamlText, kind, quoted
from flux_upgrade.model.errors import UsageError
from flux_upgrade.policy.decision import ChangeKind
from flux_upgrade.policy.policy import MaxBump, Pending
from flux_upgrade.policy.semver_range import Constraint

FORGES = ("github", "gitlab", "gitea", "forgejo", "git")
# On GitHub letters, digits, hyphens and, for managed users, an underscore; on GitLab dots, too.
_LOGIN = "[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?"
# What git-check-ref-format(1) allows at the beginning of a branch's name.
_PREFIX = r"(?![./-]|refs/)(?!.*(?://|\.\.|@\{|/\.|\.lock/))[^\x00-\x20\x7f~^:?*\[\\]+"


def _range(text: str) -> str:
    """``text``, which is one. Raises UsageError."""
    Constraint(text)
    return text


def _range_problem(text: str) -> str:
    try:
        _range(text)
    except UsageError as error:
        return f"is not a range: {error.message}"
    return ""


_LABEL = TextShape(
    "a label (at most 50 characters, no comma)", r"(?!\s|.*\s$)[^,\x00-\x1f\x7f-\x9f]+", longest=50
)
_PERSON = TextShape("a login, without @", _LOGIN, longest=100)
_REVIEWER = TextShape("a login or org/team, without @", f"{_LOGIN}(?:/{_LOGIN})?", longest=200)
_PATTERN = TextShape(
    "a pattern as in .gitignore, relative to the repository's root",
    r"(?!\s|#|!?/*$|!?\.{1,2}/|.*/\.\./|.*\[:|.*\\$|.*\s$)[^\x00-\x1f\x7f-\x9f]+",
    problem=problem,
)
_COOL_DOWN = (
    Key("patch", DurationShape(), "The age that a patch must have.", "0"),
    Key("minor", DurationShape(), "The age that the `.0` of a minor or a major must have.", "7d"),
)


class _GroupsShape(NamedTuple):
    """Groups by their names."""

    group: MappingShape
    name: TextShape = TextShape(
        "the name of a group (a-z, A-Z, 0-9, and after the first '.', '_' and '-')",
        "[A-Za-z0-9][A-Za-z0-9._-]*",
        longest=63,
    )
    description: str = "mapping of [groups](#groups)"

    def schema(self) -> Schema:
        return {
            "type": "object",
            "propertyNames": self.name.schema(),
            "additionalProperties": self.group.schema(),
        }

    def read(self, name: str, node: Node, source: YamlText) -> dict[str, dict[str, Any]] | None:
        if not isinstance(node, MappingNode):
            source.refuse(node, f"{name} wants a mapping, name to group, not {kind(node)}")
            return None
        groups, slugs = {}, dict[str, str]()
        for word, (key, value) in source.entries(node).items():
            if self.name.read("group", key, source) is None:
                continue
            first = slugs.setdefault(slug(word), word)
            if first != word:
                source.refuse(key, f"group {quoted(word)} would have the branches of group {quoted(first)}")
            groups[word] = self.group.read(f"group {quoted(word)}", value, source) or {}
        return groups


class _BootstrapShape(NamedTuple):
    """The room ``bootstrap`` owns what is below it: its reader comes with the source."""

    description: str = "mapping of `provider`, `source`, `flags` and `clusters`, see [Bootstrap](#bootstrap)"

    def schema(self) -> Schema:
        """Any object: ``docs/config_reference.py`` puts the owner's schema here."""
        return {"type": "object"}

    def read(self, name: str, node: Node, source: YamlText) -> BootstrapConfig | None:
        return source.readers["bootstrap"](name, node, source)


_FILE = "(default: what the config file says, else"
GOVERNING = (
    Key(
        "policy",
        ChoiceShape(tuple(MaxBump)),
        "The largest bump that needs no approval. A `range` without `policy` is the whole policy.",
        "patch",
        flag=KeyFlag(
            "the largest bump that needs no approval: none, patch (the default), minor, major",
            "BUMP",
            "it is the largest bump that needs no approval",
        ),
        input="Largest bump that needs no approval: `patch`, `minor`, `major` or `none`. "
        "Default: the config file's, else `patch`.",
    ),
    Key(
        "range",
        TextShape("a range of versions in quotes, such as '>=2.6'", r".*\S.*", problem=_range_problem),
        "The versions that may be proposed, such as `'>=2.6 <2.9'`, `2.x` or `~2.8`.",
        flag=KeyFlag(
            "versions that may be proposed, like '>=2.6 <2.9' or 2.x; alone, it is the policy",
            "RANGE",
            read=_range,
        ),
        input="Versions that are allowed, as Flux writes ranges, like `2.x` or `>=2.6 <2.9`; "
        "without `policy` it is the whole policy. Default: the config file's, else all.",
    ),
    Key(
        "pending",
        ChoiceShape(tuple(Pending)),
        "Where a bump that waits for approval is shown: as a draft pull request, or in the summary alone.",
        "draft",
    ),
    Key("cool-down", MappingShape(_COOL_DOWN), "How old a release must be.", "{patch: 0, minor: 7d}"),
    Key(
        "flags",
        InstallFlagsShape(),
        "Install flags that are to change; all others stay as they are.",
        "{}",
        flag=KeyFlag(
            "install flags that are to change, like 'network-policy: false'; Flux's names",
            "FLAGS",
            read=lambda text: parse_flags(text, "--flags"),
        ),
        input="Install flags that are to change, with Flux's names, "
        "like `network-policy=false log-level=debug`. With `mode: bootstrap`, any flag of `flux bootstrap`, "
        "as such words or as YAML. "
        "Default: the config file's, else none.",
    ),
    Key("labels", ListShape(_LABEL), "Labels of the pull request.", "[]"),
    Key(
        "reviewers", ListShape(_REVIEWER), "Who is asked for a review: logins, and teams as `org/team`.", "[]"
    ),
    Key("assignees", ListShape(_PERSON), "Who is assigned.", "[]"),
    Key(
        "auto-merge",
        ChoiceShape(("none", "patch"), (False, True)),
        "Which pull requests are set to merge by themselves once the forge's own rules are met.",
        "none",
    ),
    Key(
        "on-conflict",
        ChoiceShape(("hold", "take-release"), (False, True)),
        "What is done where a release changed what was edited by hand.",
        "hold",
        field="take_release",
        flag=KeyFlag("what to do where the release changed what was edited by hand (default: hold)"),
    ),
    Key(
        "check-images",
        BooleanShape(),
        "Whether a registry other than `ghcr.io/fluxcd` is asked for the images of a release before that is "
        "proposed.",
        "true",
        flag=KeyFlag(
            "false: propose a release without asking the registry, where it is not ghcr.io/fluxcd, for its "
            f"images {_FILE} true)"
        ),
    ),
    Key(
        "migrate",
        OffChoiceShape(tuple(Migrate)),
        "What moves manifests away from versions of an API that the target does not serve. `before`: a pull "
        "request of their own, which the upgrade waits for; `with-upgrade`: that of the upgrade; `off`: "
        "people, and the upgrade waits until they have. With `with-upgrade`, run `flux migrate` right after "
        "the merge, otherwise before it.",
        "before",
        flag=KeyFlag(
            "when manifests with API versions that the target does not serve are moved: by a pull request "
            f"before the upgrade, with it, or by people {_FILE} before)"
        ),
    ),
    Key(
        "ladder",
        SwitchShape(),
        "Whether an upgrade that cannot be made in one step is proposed release by release. `off`: in one "
        "jump, with what is in its way said.",
        "on",
        flag=KeyFlag(
            f"false: propose one jump, even where it takes several releases to get there {_FILE} true)"
        ),
    ),
    Key(
        "scan",
        PatternsShape(_PATTERN),
        "The files that are searched for what an upgrade breaks; without a pattern, all of the repository's.",
        "[]",
        flag=KeyFlag(
            f"files to search for what an upgrade breaks, as in .gitignore; repeatable {_FILE} all)",
            "PATTERN",
        ),
    ),
    Key(
        "kubernetes-version",
        KubernetesVersionShape(),
        "What the clusters run; a release of Flux that refuses it is held. Without it, none is.",
        flag=KeyFlag(f"what the clusters run, like 1.33 {_FILE} not known)", "VERSION"),
    ),
    Key(
        "needs-approval",
        ListShape(ChoiceShape(tuple(ChangeKind)), "[changes](#changes)"),
        "What waits for approval whatever the size of the bump, should a release change it.",
        "[]",
    ),
)
_PATHS = Key(
    "paths",
    PatternsShape(_PATTERN, least=1),
    "The files of the group. A file belongs to the first group with a pattern for it.",
    at_top=False,
)
_OWN = (
    Key(
        "branch-prefix",
        TextShape("the beginning of a branch's name as Git allows it", _PREFIX, longest=100),
        "What the names of the branches begin with.",
        "flux-upgrade/",
        in_group=False,
    ),
    Key(
        "forge",
        ChoiceShape(FORGES),
        "What the repository's server is; `git`: branches are pushed, and no more. "
        "Without it, the remote's host tells.",
        in_group=False,
    ),
    Key(
        "flux-operator",
        ChoiceShape(("report", "change"), (False, True)),
        "What is done with the pins of the flux-operator itself: they are named, or move along with Flux, as "
        "far as it has to know the release.",
        "report",
        in_group=False,
    ),
    Key(
        "bootstrap",
        _BootstrapShape(),
        "What `flux-upgrade bootstrap` sets up.",
        in_group=False,
    ),
    Key(
        "ignore",
        PatternsShape(_PATTERN),
        "The files that are left alone: they are neither changed, nor searched for what an upgrade breaks.",
        "[]",
        in_group=False,
    ),
)
GROUP = MappingShape(
    (_PATHS, *GOVERNING),
    required=("paths",),
    elsewhere=dict.fromkeys((*(key.name for key in _OWN), "groups"), "belongs to the top level"),
)
_GROUPS = Key(
    "groups",
    _GroupsShape(GROUP),
    "Installations that are upgraded in one pull request, by the group's name.",
    "{}",
    in_group=False,
)
TOP = MappingShape((*GOVERNING, *_OWN, _GROUPS), elsewhere={"paths": "belongs into a group"})
