"""YAML nodes → the values that the shapes of ``config.keys`` describe; problems are collected.

YAML 1.1 reads ``off`` as false and ``1.30`` as the number 1.3. Both are taken as they were written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from flux_upgrade.config import keys
from flux_upgrade.config.also_keys import ALSO
from flux_upgrade.config.config import Also, Known, slug
from flux_upgrade.config.install_flags import canonical, default, unknown
from flux_upgrade.config.keys import ChoiceShape, ListShape, MappingShape, PlainShape, Shape, TextShape
from flux_upgrade.config.known_keys import FACTS, KNOWN, VALUE, VARIABLE
from flux_upgrade.config.scalars import (
    read_boolean,
    read_count,
    read_date,
    read_duration,
    read_kubernetes_version,
    read_switch,
    shown,
)
from flux_upgrade.config.yaml_text import YamlText, is_text, kind, quoted, truth
from flux_upgrade.manifests.options import nearest
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.text import enumeration, repository_path
from flux_upgrade.policy.decision import HealthStatus

T = TypeVar("T")


def read(shape: Shape, name: str, node: Node, source: YamlText) -> Any:
    """The value; None where it cannot be read, which is noted in ``source``. ``name``: the key's."""
    match shape:
        case PlainShape():
            return _PLAIN[shape](name, node, source)
        case TextShape():
            return _read_text(shape, name, node, source)
        case ChoiceShape():
            return _read_choice(shape, name, node, source)
        case ListShape():
            return _read_list(shape, name, node, source)
        case MappingShape():
            return read_mapping(shape, name, node, source)
    return shape.read(name, node, source)


def _read_text(shape: TextShape, name: str, node: Node, source: YamlText) -> str | None:
    text = _text_of(name, shape.description, node, source)
    if text is None:
        return None
    if len(text) > shape.longest:
        refusal = f"is longer than {shape.longest} characters"
    elif not re.fullmatch(shape.pattern, text):
        more = shape.remedy(text) if shape.remedy is not None else ""
        refusal = f"is not {shape.description}{more and ': '}{more}"
    else:
        refusal = shape.problem(text) if shape.problem is not None else ""
    if refusal:
        source.refuse(node, f"{name} {quoted(text)} {refusal}")
    return None if refusal else text


def _read_choice(shape: ChoiceShape, name: str, node: Node, source: YamlText) -> Any:
    wanted = ", ".join(shape.words)
    is_off = "off" in shape.words and truth(node) is False
    word = "off" if is_off else node.value
    if not is_off and not is_text(node):
        source.refuse(node, f"{name} expects one of {wanted}, got {kind(node)}")
    elif word not in shape.words:
        source.refuse(node, f"{name} {quoted(word)} is not one of {wanted}{nearest(word, shape.words)}")
    else:
        return (shape.values or shape.words)[shape.words.index(word)]
    return None


def _read_list(shape: ListShape, name: str, node: Node, source: YamlText) -> tuple[str, ...] | None:
    if shape.word and is_text(node) and node.value == shape.word:
        return (shape.word,)
    if shape.takes_one and is_text(node):
        text = read(shape.item, name, node, source)
        return None if text is None else (text,)
    if not isinstance(node, SequenceNode):
        source.refuse(node, f"{name} expects a list, got {kind(node)}")
        return None
    if len(node.value) < shape.least:
        source.refuse(node, f"{name} is empty")
    nodes: list[Node] = []
    texts: list[str] = []
    for each in node.value:
        text = read(shape.item, name, each, source)
        if text is None:
            continue
        if text in texts and not shape.are_patterns:
            source.refuse(each, f"{name} has {quoted(text)} twice")
        nodes.append(each)
        texts.append(text)
    if shape.are_patterns and texts and texts[0].startswith("!"):
        source.refuse(nodes[0], f"{name} begins with an exception, {quoted(texts[0])}, and matches nothing")
    return tuple(texts)


def read_mapping(shape: MappingShape, name: str, node: Node, source: YamlText) -> dict[str, Any] | None:
    """Key → value; values that cannot be read are left out."""
    if not isinstance(node, MappingNode):
        source.refuse(node, f"{name} expects a mapping, got {kind(node)}")
        return None
    known, values = {key.name: key for key in shape.keys}, {}
    entries = source.entries(node)
    for word, (key, value) in entries.items():
        if word in known:
            values[word] = read(known[word].shape, word, value, source)
        elif word in shape.elsewhere:
            source.refuse(key, f"key {quoted(word)} {shape.elsewhere[word]}")
        else:
            source.refuse(key, f"unknown key {quoted(word)}{nearest(word, known)}")
    for missing in [each for each in shape.required if each not in entries]:
        source.refuse(node, f"{name} has no {missing}")
    return {word: value for word, value in values.items() if value is not None}


def _read_groups(name: str, node: Node, source: YamlText) -> dict[str, dict[str, Any]] | None:
    if not isinstance(node, MappingNode):
        source.refuse(node, f"{name} expects a mapping, name to group, got {kind(node)}")
        return None
    groups, slugs = {}, dict[str, str]()
    for word, (key, value) in source.entries(node).items():
        if _read_text(keys.GROUP_NAME, "group", key, source) is None:
            continue
        first = slugs.setdefault(slug(word), word)
        if first != word:
            source.refuse(key, f"group {quoted(word)} would have the branches of group {quoted(first)}")
        groups[word] = read_mapping(keys.GROUP, f"group {quoted(word)}", value, source) or {}
    return groups


def _read_healthy(name: str, node: Node, source: YamlText) -> HealthStatus | None:
    """None for what cannot be read, and for ``soak``."""
    if is_text(node) and node.value == "soak":
        return None
    if isinstance(node, ScalarNode):
        source.refuse(node, f"{name} expects soak, or context and creator, got {shown(node)}")
        return None
    value = read_mapping(keys.HEALTHY, name, node, source) or {}
    return HealthStatus(tuple(value.get("context", ())), value.get("creator", ""))


def _read_entries(name: str, node: Node, source: YamlText, entry: Callable[..., T | None]) -> tuple[T, ...] | None:
    if not isinstance(node, SequenceNode):
        source.refuse(node, f"{name} expects a list, got {kind(node)}")
        return None
    return tuple(each for item in node.value if (each := entry(name, item, source)) is not None)


def _read_also(name: str, node: Node, source: YamlText) -> Also | None:
    given = read_mapping(ALSO, f"an entry of {name}", node, source) or {}
    if given.get("for") and "cluster" in given:
        source.refuse(node, "cluster has no effect with for: cli")
    if not {"files", "match"} <= given.keys():
        return None
    cluster = repository_path(given["cluster"]) if "cluster" in given else None
    return Also(given["files"], given["match"], given.get("for", False), cluster, node.start_mark.line + 1)


def _read_known(name: str, node: Node, source: YamlText) -> Known | None:
    values = read_mapping(KNOWN, f"an entry of {name}", node, source) or {}
    facts = [fact for fact in FACTS if fact in source.entries(node)] if isinstance(node, MappingNode) else FACTS
    if not facts or (facts == ["migrated"] and values.get("migrated") is False):
        source.refuse(node, f"an entry of {name} needs {enumeration(FACTS, 'or')}")
    if not set(KNOWN.required) <= values.keys():
        return None
    root = repository_path(values["root"]) if "root" in values else None
    fields = {**values, "release": values["release"].removeprefix("v"), "root": root}
    return Known(**fields, line=node.start_mark.line + 1)


def _read_variables(name: str, node: Node, source: YamlText) -> dict[str, str] | None:
    if not isinstance(node, MappingNode):
        source.refuse(node, f"{name} expects a mapping, got {kind(node)}")
        return None
    values = {}
    for word, (key, value) in source.entries(node).items():
        text = _read_text(VALUE, word, value, source)
        if _read_text(VARIABLE, "variable", key, source) is not None and text is not None:
            values[word] = text
    if not source.entries(node):
        source.refuse(node, f"{name} is empty")
    return values


def read_install_flags(name: str, node: Node, source: YamlText) -> dict[str, str] | None:
    """Flux's name → value, as ``config.Governance`` has them; flags that cannot be changed are left out."""
    if not isinstance(node, MappingNode):
        source.refuse(node, f"{name} expects a mapping such as {{network-policy: false}}, got {kind(node)}")
        return None
    values: dict[str, str] = {}
    for flag, (key, value) in source.entries(node).items():
        refusal = unknown(flag)
        if refusal:
            source.refuse(key, refusal)
            continue
        text = _flag_text(flag, value, source)
        try:
            values |= {flag: canonical(flag, text)} if text is not None else {}
        except UsageError as error:
            source.refuse(value, error.message)
    return values


def _flag_text(flag: str, node: Node, source: YamlText) -> str | None:
    example = default(flag)
    if isinstance(example, bool):
        value = read_boolean(flag, node, source)
        return None if value is None else str(value).lower()
    is_list = isinstance(example, list)
    if not is_list or not isinstance(node, SequenceNode):
        return _text_of(flag, "a list" if is_list else "text", node, source)
    texts = [_text_of(f"an item of {flag}", "text", each, source) for each in node.value]
    for each, text in zip(node.value, texts, strict=True):
        if text is not None and (not text or "," in text):
            source.refuse(each, f"{flag}: {quoted(text)} is not one item")
            return None
    return None if None in texts else ",".join(filter(None, texts))


def _text_of(name: str, wanted: str, node: Node, source: YamlText) -> str | None:
    if is_text(node):
        return str(node.value)
    remedy = "; put it in quotes" if isinstance(node, ScalarNode) and node.value else ""
    source.refuse(node, f"{name} expects {wanted}, got {kind(node)}{remedy}")
    return None


_PLAIN: Mapping[PlainShape, Callable[[str, Node, YamlText], Any]] = {
    PlainShape.BOOLEAN: read_boolean,
    PlainShape.SWITCH: read_switch,
    PlainShape.DURATION: read_duration,
    PlainShape.COUNT: read_count,
    PlainShape.KUBERNETES_VERSION: read_kubernetes_version,
    PlainShape.INSTALL_FLAGS: read_install_flags,
    PlainShape.HEALTHY: _read_healthy,
    PlainShape.ALSO: lambda name, node, source: _read_entries(name, node, source, _read_also),
    PlainShape.KNOWN: lambda name, node, source: _read_entries(name, node, source, _read_known),
    PlainShape.DATE: read_date,
    PlainShape.VARIABLES: _read_variables,
    PlainShape.GROUPS: _read_groups,
    PlainShape.BOOTSTRAP: lambda name, node, source: source.readers[name](name, node, source),
}
