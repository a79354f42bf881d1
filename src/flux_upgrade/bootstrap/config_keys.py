"""The key ``bootstrap``, what is set up for one cluster or many, and Flux's bootstrap flags in it.

Flags are YAML values there; elsewhere they may be words of a command line, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from flux_upgrade.bootstrap.flag_table import FLAGS, Flag, FlagKind, FlagUse
from flux_upgrade.bootstrap.flags import read_value
from flux_upgrade.bootstrap.options import Provider
from flux_upgrade.bootstrap.options import Source as From
from flux_upgrade.bootstrap.validation import FORMS, misfit, unknown
from flux_upgrade.config.config import BootstrapConfig, FlagValue
from flux_upgrade.config.flag_text import Vocabulary, read_flag_text
from flux_upgrade.config.keys import ChoiceShape, Key, MappingShape, TextShape
from flux_upgrade.config.schema import Schema, described, schema_of
from flux_upgrade.config.values import read as read_shape
from flux_upgrade.config.values import read_mapping
from flux_upgrade.config.yaml_text import YamlText, is_text, kind, quoted
from flux_upgrade.manifests.options import COMPONENTS, PATTERNS
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.values import NamedTuple

_NULL = "tag:yaml.org,2002:null"
_BOOL = "tag:yaml.org,2002:bool"
_INT = "tag:yaml.org,2002:int"
_HINT = "see docs/reference/config.md for the flags and their values"
_DURATION = r"(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ms|s|m|h))+"
_CONTROLLERS = ("components", "components-extra")
# strconv.ParseBool.
_BOOLEANS = ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")


class BootstrapFlagValue(NamedTuple):
    """The value of one flag, of its own kind or as text."""

    flag: Flag

    @property
    def description(self) -> str:
        choices = ", ".join(f"`{each}`" for each in self.flag.choices)
        return choices or str(self.flag.kind)

    def schema(self) -> Schema:
        match self.flag.kind:
            case FlagKind.BOOLEAN:
                return {"enum": [True, False, 0, 1, *_BOOLEANS]}
            case FlagKind.NUMBER:
                number = {"type": "integer", "minimum": 0}
                return {"anyOf": [number, {"type": "string", "pattern": "^[0-9]+$"}]}
            case FlagKind.DURATION:
                return {"type": "string", "pattern": f"^{_DURATION}$"}
            case FlagKind.CHOICE:
                return {"enum": list(self.flag.choices)}
            case FlagKind.LIST:
                is_controller = self.flag.name in _CONTROLLERS
                text = {"type": "string", **self._pattern()}
                items = {"enum": list(COMPONENTS)} if is_controller else text
                return {"anyOf": [{"type": "array", "items": items}, {"type": "string"}]}
        return {"type": "string", **self._pattern()}

    def _pattern(self) -> Schema:
        name = self.flag.name
        form = FORMS[name].pattern if name in FORMS else PATTERNS.get(name, "")
        return {"pattern": f"^(?:{form}){'' if self.flag.default else '?'}$"} if form else {}

    def read(self, name: str, node: Node, source: YamlText) -> FlagValue | None:
        value = _plain(node)
        if value is None or (isinstance(value, list) and self.flag.kind is not FlagKind.LIST):
            if self.flag.kind is FlagKind.LIST and isinstance(node, SequenceNode):
                problem = "must be a list of texts: put each item in quotes"
            else:
                wanted = "text" if self.flag.kind is FlagKind.TEXT else f"a {self.flag.kind}"
                remedy = "; put it in quotes" if isinstance(node, ScalarNode) and node.value else ""
                problem = f"must be {wanted}, not {kind(node)}{remedy}"
            source.refuse(node, f"{name} {problem}")
            return None
        try:
            return read_value(self.flag, value)
        except UsageError as error:
            source.refuse(node, error.message)
            return None


class BootstrapFlags(NamedTuple):
    description: str = "mapping of [flags](#flags-of-a-bootstrap)"
    is_committed: bool = True  # Whether it stands in a file of the repository, where no secret may

    def schema(self) -> Schema:
        return {
            "type": ["object", "null"],
            "additionalProperties": False,
            "properties": {key.name: described(key) for key in KEYS},
        }

    def read(self, name: str, node: Node, source: YamlText) -> dict[str, FlagValue] | None:
        """Flags that cannot be given are left out."""
        if node.tag == _NULL:
            return {}
        if not isinstance(node, MappingNode):
            source.refuse(node, f"{name} must be a mapping such as {{path: clusters/staging}}, not {kind(node)}")
            return None
        values: dict[str, FlagValue] = {}
        for word, (key, value) in source.entries(node).items():
            if refusal := _refusal(word, is_committed=self.is_committed):
                source.refuse(key, refusal)
            elif (read := BootstrapFlagValue(FLAGS[word]).read(f"--{word}", value, source)) is not None:
                values[word] = read
        return values


KEYS = tuple(
    Key(flag.name, BootstrapFlagValue(flag), flag.description)
    for flag in FLAGS.values()
    if flag.use is not FlagUse.REFUSED and not flag.is_secret
)
"""The flags that a file may have."""


def _refusal(name: str, *, is_committed: bool) -> str:
    if problem := unknown(name):
        return problem
    if FLAGS[name].use is FlagUse.REFUSED:
        return f"--{name} {FLAGS[name].meaning}"
    if FLAGS[name].is_secret and is_committed:
        return f"--{name} contains a password, which must not be committed: give it on the command line"
    return ""


def _plain(node: Node) -> FlagValue | None:
    """What YAML makes of it, of the types that a flag can have."""
    if isinstance(node, SequenceNode):
        return [str(each.value) for each in node.value] if all(map(is_text, node.value)) else None
    if node.tag == _BOOL:
        return str(node.value).lower() in ("true", "yes", "on")
    if node.tag == _INT and re.fullmatch("[0-9]+", node.value):
        return int(node.value)
    return str(node.value) if is_text(node) else None


def parse_bootstrap_flags(text: str, where: str) -> Mapping[str, FlagValue]:
    """Flags given in one text: Flux's name → value.

    Either a YAML mapping (``path: clusters/staging``), or ``name=value`` as on Flux's command
    line, each in a line or all in one, with or without ``--``. ``where``: what the text was
    given as. Raises UsageError with all problems.
    """
    return read_flag_text(text, where, _WORDS)


_WORDS = Vocabulary(
    hint=_HINT,
    refusal=partial(_refusal, is_committed=False),
    called="--{}".format,
    # The word may be a password that was meant for the flag before it.
    stray=lambda number, _: f"word {number}",
    is_list=lambda name: FLAGS[name].kind is FlagKind.LIST,
    is_boolean=lambda name: FLAGS[name].kind is FlagKind.BOOLEAN,
    value=lambda name, text: read_value(FLAGS[name], text),
    mapping=BootstrapFlags(is_committed=False).read,
)


_NAME = TextShape(
    "the name of a cluster (a-z, A-Z, 0-9, and after the first '.', '_' and '-')",
    "[A-Za-z0-9][A-Za-z0-9._-]*",
    longest=63,
)


class _ClustersShape(NamedTuple):
    description: str = "mapping of names to [flags](#flags-of-a-bootstrap)"

    def schema(self) -> Schema:
        return {
            "type": "object",
            "minProperties": 1,
            "propertyNames": schema_of(_NAME),
            "additionalProperties": {"$ref": "#/$defs/bootstrap-flags"},
        }

    def read(self, name: str, node: Node, source: YamlText) -> dict[str, dict[str, FlagValue]] | None:
        if not isinstance(node, MappingNode):
            source.refuse(node, f"{name} must be a mapping of names to flags, not {kind(node)}")
            return None
        clusters, seen = {}, dict[str, str]()
        for word, (key, value) in source.entries(node).items():
            if read_shape(_NAME, "cluster", key, source) is None:
                continue
            # What its secret of GitHub Actions would be called.
            first = seen.setdefault(re.sub("[^A-Z0-9]", "_", word.upper()), word)
            if first != word:
                source.refuse(
                    key, f"cluster {quoted(word)} would use the Actions secrets of cluster {quoted(first)}: rename it"
                )
            clusters[word] = BootstrapFlags().read(f"cluster {quoted(word)}", value, source) or {}
        if not node.value:
            source.refuse(node, f"{name} is empty")
        return clusters


TOP = MappingShape(
    (
        Key(
            "provider",
            ChoiceShape(tuple(Provider)),
            "The subcommand of `flux bootstrap`. Default: derived from `hostname`, `url` or the remote.",
        ),
        Key(
            "source",
            ChoiceShape(tuple(From)),
            "The source that Flux reconciles: a Git repository, or an OCI artifact.",
            "git",
        ),
        Key("flags", BootstrapFlags(), "Flags for all clusters.", "{}"),
        Key(
            "clusters",
            _ClustersShape(),
            "Clusters by name, each with the flags that differ. They share one pull request.",
        ),
    )
)


def schema() -> Schema:
    """The flags are ``#/$defs/bootstrap-flags``."""
    plain = schema_of(TOP)
    meaning = plain["properties"]["flags"]["description"]
    plain["properties"]["flags"] = {"description": meaning, "$ref": "#/$defs/bootstrap-flags"}
    return plain


def read(name: str, node: Node, source: YamlText) -> BootstrapConfig | None:
    """The value of the key; None where ``node`` is no such mapping, which ``source`` then reports."""
    given = read_mapping(TOP, name, node, source)
    if given is None:
        return None
    assert isinstance(node, MappingNode)  # noqa: S101 TOP takes nothing else
    provider, origin = given.get("provider", ""), given.get("source", "")
    entries = source.entries(node)
    maps = [entries["flags"][1]] if "flags" in entries else []
    if "clusters" in entries and isinstance(entries["clusters"][1], MappingNode):
        maps += [value for _, value in source.entries(entries["clusters"][1]).values()]
    its = Provider(provider) if provider else None
    for each in maps:
        for word, (key, _) in source.entries(each).items() if isinstance(each, MappingNode) else ():
            if word in FLAGS and (problem := misfit(FLAGS[word], its, From(origin or From.GIT))):
                source.refuse(key, problem)
    return BootstrapConfig(provider, origin, given.get("flags", {}), tuple(given.get("clusters", {}).items()))
