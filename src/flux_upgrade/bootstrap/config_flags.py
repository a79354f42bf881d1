"""Flux's bootstrap flags as YAML values, or as words of a command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from flux_upgrade.bootstrap.flag_table import FLAGS, Flag, FlagKind, FlagUse
from flux_upgrade.bootstrap.flags import read_value
from flux_upgrade.bootstrap.validation import FORMS, unknown
from flux_upgrade.config.config import FlagValue
from flux_upgrade.config.flag_text import read_flag_text
from flux_upgrade.config.keys import Key
from flux_upgrade.config.schema import Schema, described
from flux_upgrade.config.yaml_text import YamlText, is_text, kind
from flux_upgrade.manifests.options import COMPONENTS, PATTERNS
from flux_upgrade.model.errors import UsageError

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
        """The kind."""
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

    def _wanted(self, node: Node) -> str:
        if self.flag.kind is FlagKind.LIST and isinstance(node, SequenceNode):
            return "wants a list of words, and one of them is no text; put it in quotes"
        wanted = "text" if self.flag.kind is FlagKind.TEXT else f"a {self.flag.kind}"
        remedy = "; put it in quotes" if isinstance(node, ScalarNode) and node.value else ""
        return f"wants {wanted}, not {kind(node)}{remedy}"

    def read(self, name: str, node: Node, source: YamlText) -> FlagValue | None:
        value = _plain(node)
        if value is None or (isinstance(value, list) and self.flag.kind is not FlagKind.LIST):
            source.refuse(node, f"{name} {self._wanted(node)}")
            return None
        try:
            return read_value(self.flag, value)
        except UsageError as error:
            source.refuse(node, error.message)
            return None


class BootstrapFlags(NamedTuple):
    """A mapping of flags."""

    description: str = "mapping of [flags](#flags-of-a-bootstrap)"
    is_committed: bool = True
    """Whether it stands in a file of the repository, where no secret may."""

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
            source.refuse(
                node, f"{name} wants a mapping such as {{path: clusters/staging}}, not {kind(node)}"
            )
            return None
        values: dict[str, FlagValue] = {}
        for word, (key, value) in source.entries(node).items():
            refusal = unknown(word) or _refusal(FLAGS[word], is_committed=self.is_committed)
            read = None if refusal else BootstrapFlagValue(FLAGS[word]).read(f"--{word}", value, source)
            if refusal:
                source.refuse(key, refusal)
            elif read is not None:
                values[word] = read
        return values


KEYS = tuple(
    Key(flag.name, BootstrapFlagValue(flag), flag.description)
    for flag in FLAGS.values()
    if flag.use is not FlagUse.REFUSED and not flag.is_secret
)
"""The flags that a file may have."""


def _refusal(flag: Flag, *, is_committed: bool) -> str:
    if flag.use is FlagUse.REFUSED:
        return f"--{flag.name} {flag.meaning}"
    if flag.is_secret and is_committed:
        return (
            f"--{flag.name} holds a password, and has no place in a repository: give it to the command itself"
        )
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
    return read_flag_text(text, where, _BootstrapWords())


class _BootstrapWords:
    """The protocol ``Vocabulary``: the flags of ``flux bootstrap``."""

    hint = _HINT

    def refusal(self, name: str) -> str:
        return unknown(name) or _refusal(FLAGS[name], is_committed=False)

    def called(self, name: str) -> str:
        return f"--{name}"

    def is_list(self, name: str) -> bool:
        return FLAGS[name].kind is FlagKind.LIST

    def is_boolean(self, name: str) -> bool:
        return FLAGS[name].kind is FlagKind.BOOLEAN

    def stray(self, number: int, word: str) -> str:
        """The word may be a password that was meant for the flag before it."""
        del word
        return f"word {number}"

    def value(self, name: str, text: str) -> FlagValue:
        return read_value(FLAGS[name], text)

    def mapping(self, root: Node, source: YamlText) -> Mapping[str, FlagValue] | None:
        return BootstrapFlags(is_committed=False).read("this", root, source)
