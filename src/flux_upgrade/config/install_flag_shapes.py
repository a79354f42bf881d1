"""The key ``flags``: how Flux's install flags are read from YAML or one text, and their JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from flux_upgrade.config.flag_text import FlagText
from flux_upgrade.config.install_flags import EXTRA, MEANINGS, canonical, default, unknown
from flux_upgrade.config.shapes import BooleanShape, Key, Schema, described
from flux_upgrade.config.yaml_text import YamlText, is_text, kind, quoted
from flux_upgrade.manifests.options import COMPONENTS, LOG_LEVELS, PATTERNS
from flux_upgrade.model.errors import UsageError


class InstallFlagShape(NamedTuple):
    """The value of one flag; it is read as Flux's command line would have it."""

    flag: str

    @property
    def description(self) -> str:
        """The type."""
        if self.flag == "log-level":
            return ", ".join(f"`{level}`" for level in LOG_LEVELS)
        example = default(self.flag)
        return "boolean" if isinstance(example, bool) else "text" if isinstance(example, str) else "list"

    def schema(self) -> Schema:
        example = default(self.flag)
        if isinstance(example, bool):
            return BooleanShape().schema()
        if isinstance(example, list):
            return self._list_schema()
        if self.flag == "log-level":
            return {"enum": list(LOG_LEVELS)}
        refused = {"registry": "(?!.*://)", "image-pull-secret": "(?!.*[A-Z])"}.get(self.flag, "")
        optional = "" if self.flag == "cluster-domain" else "?"
        return {"type": "string", "pattern": f"^{refused}(?:{PATTERNS[self.flag]}){optional}$"}

    def _list_schema(self) -> Schema:
        is_controller = self.flag in ("components", EXTRA)
        item = "|".join(COMPONENTS) if is_controller else PATTERNS[self.flag]
        items = (
            {"enum": list(COMPONENTS)} if is_controller else {"type": "string", "pattern": f"^(?:{item})$"}
        )
        least = {"minItems": 1} if self.flag == "components" else {}
        optional = "" if least else "?"
        return {
            "anyOf": [
                {
                    "type": "array",
                    "items": items,
                    **({"uniqueItems": True} if is_controller else {}),
                    **least,
                },
                {"type": "string", "pattern": f"^(?:(?:{item})(?:,(?:{item}))*){optional}$"},
            ]
        }

    def read(self, name: str, node: Node, source: YamlText) -> str | None:
        example = default(self.flag)
        text: str | None
        if isinstance(example, bool):
            truth = BooleanShape().read(name, node, source)
            text = None if truth is None else str(truth).lower()
        elif isinstance(example, list) and isinstance(node, SequenceNode):
            text = self._joined(name, node, source)
        else:
            text = self._text(name, node, source)
        if text is None:
            return None
        try:
            return canonical(self.flag, text)
        except UsageError as error:
            source.refuse(node, error.message)
            return None

    def _text(self, name: str, node: Node, source: YamlText) -> str | None:
        if is_text(node):
            return str(node.value)
        wanted = "a list" if isinstance(default(self.flag), list) and name == self.flag else "text"
        remedy = "; put it in quotes" if isinstance(node, ScalarNode) and node.value else ""
        source.refuse(node, f"{name} wants {wanted}, not {kind(node)}{remedy}")
        return None

    def _joined(self, name: str, node: SequenceNode, source: YamlText) -> str | None:
        texts = [self._text(f"an item of {name}", each, source) for each in node.value]
        for each, text in zip(node.value, texts, strict=True):
            if text is not None and (not text or "," in text):
                source.refuse(each, f"{name}: {quoted(text)} is not one item")
                return None
        return None if None in texts else ",".join(filter(None, texts))


class InstallFlagsShape(NamedTuple):
    """The mapping of flags."""

    description: str = "mapping of [flags](#flags)"

    def schema(self) -> Schema:
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {key.name: described(key) for key in FLAGS},
        }

    def read(self, name: str, node: Node, source: YamlText) -> dict[str, str] | None:
        """Flags that cannot be changed are left out."""
        if not isinstance(node, MappingNode):
            source.refuse(node, f"{name} wants a mapping such as {{network-policy: false}}, not {kind(node)}")
            return None
        values: dict[str, str] = {}
        for word, (key, value) in source.entries(node).items():
            refusal = unknown(word)
            text = None if refusal else InstallFlagShape(word).read(word, value, source)
            if refusal:
                source.refuse(key, refusal)
            elif text is not None:
                values[word] = text
        return values


FLAGS = tuple(Key(flag, InstallFlagShape(flag), meaning) for flag, meaning in MEANINGS.items())


def parse_flags(text: str, where: str) -> Mapping[str, str]:
    """Install flags given in one text, as ``config.Governance`` has them: Flux's name → value.

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
