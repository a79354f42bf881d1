"""Text → config; all problems of a file are reported at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaml import MappingNode, Mark, Node, ScalarNode, SequenceNode

from flux_upgrade.config.config import Config, Group, Migrate
from flux_upgrade.config.flag_text import FlagText
from flux_upgrade.config.install_flag_shapes import InstallFlagsShape
from flux_upgrade.config.install_flags import canonical, default, unknown
from flux_upgrade.config.keys import TOP
from flux_upgrade.config.yaml_text import KeyReader, YamlText, quoted
from flux_upgrade.model.errors import InvalidConfig, UsageError
from flux_upgrade.policy.policy import MaxBump, Pending, Policy
from flux_upgrade.policy.semver_range import Constraint

_MAPS = ("cool-down", "flags")
_STRING = "tag:yaml.org,2002:str"
_SEQUENCE = "tag:yaml.org,2002:seq"
_NOWHERE = (Mark("", 0, 0, 0, None, 0),) * 2


def load(text: str, path: str, readers: Mapping[str, KeyReader] | None = None) -> Config:
    """The config file ``path`` with the content ``text``; bytes that are no UTF-8 as surrogates (PEP 383).

    ``readers``: of the keys that another room owns; see ``YamlText``.

    Raises InvalidConfig with all problems, a line ``path:line: problem`` for each.
    """
    source = YamlText(readers)
    root = source.compose(text)
    given = {} if root is None else TOP.read("the file", root, source) or {}
    problems = [f"{path}:{line}: {message}" for line, message in source.problems()]
    if problems:
        raise InvalidConfig("\n".join(problems), hint="see docs/reference/config.md for every key")
    return _config(given)


def lines_of_groups(text: str) -> Mapping[str, int]:
    """Group → its line, counted from 1, in a file that ``load`` takes."""
    source = YamlText()
    root = source.compose(text)
    groups = source.entries(root).get("groups") if isinstance(root, MappingNode) else None
    if groups is None or not isinstance(groups[1], MappingNode):
        return {}
    return {name: key.start_mark.line + 1 for name, (key, _) in source.entries(groups[1]).items()}


def _config(given: Mapping[str, Any]) -> Config:
    plain = Config()
    groups = given.get("groups", {})
    return Config(
        default=_group("", given),
        groups=tuple(_group(name, _inherited(given, own)) for name, own in groups.items()),
        ignore=given.get("ignore", plain.ignore),
        branch_prefix=given.get("branch-prefix", plain.branch_prefix),
        forge=given.get("forge", plain.forge),
        moves_operator=given.get("flux-operator") == "change",
        bootstrap=given.get("bootstrap", plain.bootstrap),
    )


def _inherited(top: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    maps = {name: {**top.get(name, {}), **own.get(name, {})} for name in _MAPS}
    return {**top, **own, **maps}


def _group(name: str, given: Mapping[str, Any]) -> Group:
    plain = Group()
    return Group(
        name=name,
        paths=given.get("paths", plain.paths),
        policy=_policy(given),
        flags=given.get("flags", plain.flags),
        labels=given.get("labels", plain.labels),
        reviewers=given.get("reviewers", plain.reviewers),
        assignees=given.get("assignees", plain.assignees),
        auto_merge=given.get("auto-merge") == "patch",
        take_release=given.get("on-conflict") == "take-release",
        check_images=given.get("check-images", plain.check_images),
        migrate=Migrate(given.get("migrate", plain.migrate)),
        ladder=given.get("ladder", plain.ladder),
        scan=given.get("scan", plain.scan),
        kubernetes=given.get("kubernetes-version", plain.kubernetes),
        gates=frozenset(given.get("needs-approval", plain.gates)),
        is_bump_given="policy" in given,
    )


def _policy(given: Mapping[str, Any]) -> Policy:
    plain = Policy()
    cool_down = given.get("cool-down", {})
    return Policy(
        bump=MaxBump(given.get("policy", MaxBump.MAJOR if "range" in given else plain.bump)),
        range=Constraint(given["range"]) if "range" in given else plain.range,
        pending=Pending(given.get("pending", plain.pending)),
        patch_cool_down=cool_down.get("patch", plain.patch_cool_down),
        minor_cool_down=cool_down.get("minor", plain.minor_cool_down),
    )


def parse_key(name: str, given: str | Sequence[str]) -> Any:
    """What was given on the command line as ``--name``, by the rules of the file's key ``name``.

    Raises UsageError with all problems.
    """
    source = YamlText()
    (shape,) = (key.shape for key in TOP.keys if key.name == name)
    words = [ScalarNode(_STRING, each, *_NOWHERE) for each in ([given] if isinstance(given, str) else given)]
    node = words[0] if isinstance(given, str) else SequenceNode(_SEQUENCE, words, *_NOWHERE)
    value = shape.read(f"--{name}", node, source)
    problems = [message for _, message in source.problems()]
    if problems:
        raise UsageError("; ".join(problems), hint=f"see docs/reference/config.md for {name}")
    return value


def parse_flags(text: str, where: str) -> Mapping[str, str]:
    """Install flags given in one text, as ``config.Group`` has them: Flux's name → value.

    Either a YAML mapping (``network-policy: false``), or ``name=value`` as on Flux's
    command line, each in a line or all in one, with or without ``--``. ``where``: what
    the text was given as. Raises UsageError with all problems.
    """
    return FlagText(_InstallFlags()).read(text, where)


class _InstallFlags:
    """The protocol ``Vocabulary``: the flags of ``flux install``."""

    hint = "see docs/reference/config.md for the flags and their values"

    def refusal(self, name: str) -> str:
        return unknown(name)

    def called(self, name: str) -> str:
        return f"flag '{name}'"

    def is_list(self, name: str) -> bool:
        return isinstance(default(name), list)

    def is_boolean(self, name: str) -> bool:
        return isinstance(default(name), bool)

    def stray(self, number: int, word: str) -> str:
        del number
        return quoted(word)

    def value(self, name: str, text: str) -> str:
        return canonical(name, text)

    def mapping(self, root: Node, source: YamlText) -> Mapping[str, str] | None:
        return InstallFlagsShape().read("this", root, source)
