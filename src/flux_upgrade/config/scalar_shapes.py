"""Values that YAML 1.1 reads as something else where nobody put quotes around them.

``off`` is false there, and ``1.30`` is the number 1.3. Both are taken as they were written.
An editor that reads YAML 1.2 takes ``off`` for text, so that the schema has both.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from yaml import Node, ScalarNode

from flux_upgrade.config.shapes import ChoiceShape, Schema
from flux_upgrade.config.yaml_text import YamlText, is_text, kind, quoted

_BOOL = "tag:yaml.org,2002:bool"
_FLOAT = "tag:yaml.org,2002:float"
_ON = ("on", "true", "yes")
_REST = r"(?:\.[0-9]{1,3}(?:[-+][0-9A-Za-z.+-]{1,60})?)?"
_VERSION = re.compile(rf"v?1\.([0-9]{{1,2}}){_REST}")
_OLDEST = 16
"""Flux 0.1 needed Kubernetes 1.16: what is older is 1.30 that lost its zero, or no version of Kubernetes."""


class OffChoiceShape(NamedTuple):
    """One of a few words, ``off`` among them."""

    words: tuple[str, ...]

    @property
    def description(self) -> str:
        """The words."""
        return ChoiceShape(self.words).description

    def schema(self) -> Schema:
        return {"enum": [*self.words, False]}

    def read(self, name: str, node: Node, source: YamlText) -> str | None:
        if node.tag == _BOOL and node.value.lower() not in _ON:
            return self.words[self.words.index("off")]
        found: str | None = ChoiceShape(self.words).read(name, node, source)
        return found


class SwitchShape(NamedTuple):
    """On or off, as a boolean or as these words."""

    description: str = "`on`, `off`"

    def schema(self) -> Schema:
        return {"enum": [True, False, "on", "off"]}

    def read(self, name: str, node: Node, source: YamlText) -> bool | None:
        if node.tag == _BOOL or (is_text(node) and node.value in ("on", "off")):
            return node.value.lower() in _ON
        source.refuse(
            node, f"{name} wants on or off, not {quoted(node.value) if is_text(node) else kind(node)}"
        )
        return None


class KubernetesVersionShape(NamedTuple):
    """A version of Kubernetes, with or without its patch."""

    description: str = "version: `1.33`, `v1.33.4`"

    def schema(self) -> Schema:
        """A schema reads 1.30 as the number 1.3, and cannot tell the two apart."""
        return {
            "anyOf": [
                {"type": "string", "pattern": rf"^v?1\.(?:1[6-9]|[2-9][0-9]){_REST}$"},
                {"type": "number", "minimum": 1.16, "exclusiveMaximum": 2},
            ]
        }

    def read(self, name: str, node: Node, source: YamlText) -> str | None:
        """The text counts, in quotes or not."""
        is_version = isinstance(node, ScalarNode) and (is_text(node) or node.tag == _FLOAT)
        found = _VERSION.fullmatch(node.value) if is_version else None
        if found is None:
            shown = quoted(node.value) if isinstance(node, ScalarNode) and node.value else kind(node)
            source.refuse(node, f"{name} wants a version of Kubernetes like 1.33 or v1.33.4, not {shown}")
            return None
        if int(found[1]) < _OLDEST:
            # Whatever has read 1.30 as a number before has written 1.3.
            lost = f", did you mean 1.{found[1]}0?" if found[1] in "23456789" else ""
            refusal = f"is older than any that Flux has run on, 1.{_OLDEST}{lost}"
            source.refuse(node, f"{name} {quoted(node.value)} {refusal}")
            return None
        return str(node.value)
