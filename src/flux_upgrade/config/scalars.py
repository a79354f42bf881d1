"""YAML nodes → values of one word: booleans, dates, durations, counts and versions; problems are collected."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, timedelta

from yaml import Node, ScalarNode

from flux_upgrade.config.yaml_text import YamlText, is_text, kind, quoted, truth

_INTEGER = "tag:yaml.org,2002:int"
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
KUBERNETES_PATCH = r"(?:\.[0-9]{1,3}(?:[-+][0-9A-Za-z.+-]{1,60})?)?"
"""A regular expression for what may follow the minor of a version of Kubernetes."""
DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_OLDEST = 16  # Flux 0.1 needed Kubernetes 1.16: what is older is 1.30 that lost its zero, or no version of Kubernetes


def read_boolean(name: str, node: Node, source: YamlText) -> bool | None:
    value = truth(node)
    if value is None:
        given = quoted(node.value) if is_text(node) else kind(node)
        quotes = " in quotes" if is_text(node) and node.value.lower() in ("true", "false") else ""
        source.refuse(node, f"{name} expects true or false, got {given}{quotes}")
    return value


def read_switch(name: str, node: Node, source: YamlText) -> bool | None:
    """A boolean, or ``on`` or ``off`` in quotes."""
    if is_text(node) and node.value in ("on", "off"):
        return bool(node.value == "on")
    value = truth(node)
    if value is None:
        given = quoted(node.value) if is_text(node) else kind(node)
        source.refuse(node, f"{name} expects on or off, got {given}")
    return value


def read_duration(name: str, node: Node, source: YamlText) -> timedelta | None:
    if isinstance(node, ScalarNode) and node.value == "0" and kind(node) in ("text", "a number"):
        return timedelta(0)
    found = re.fullmatch("([0-9]{1,4})([hdw])", node.value) if is_text(node) else None
    if found is None:
        source.refuse(node, f"{name} expects a duration like 0, 12h, 7d or 2w, got {shown(node)}")
        return None
    return int(found[1]) * _UNITS[found[2]]


def read_date(name: str, node: Node, source: YamlText) -> date | None:
    # Python also takes 20270331.
    if isinstance(node, ScalarNode) and re.fullmatch(DATE, node.value):
        with suppress(ValueError):  # 2027-02-30
            return date.fromisoformat(node.value)
    source.refuse(node, f"{name} expects a date like 2027-03-31, got {shown(node)}")
    return None


def read_count(name: str, node: Node, source: YamlText) -> int | None:
    is_count = isinstance(node, ScalarNode) and node.tag == _INTEGER and re.fullmatch("0|[1-9][0-9]{0,3}", node.value)
    if not is_count:
        source.refuse(node, f"{name} expects a whole number from 0 to 9999, got {shown(node)}")
        return None
    return int(node.value)


def read_kubernetes_version(name: str, node: Node, source: YamlText) -> str | None:
    """The text counts, in quotes or not."""
    is_version = isinstance(node, ScalarNode) and (is_text(node) or node.tag == "tag:yaml.org,2002:float")
    found = re.fullmatch(rf"v?1\.([0-9]{{1,2}}){KUBERNETES_PATCH}", node.value) if is_version else None
    if found is None:
        source.refuse(node, f"{name} expects a version of Kubernetes like 1.33 or v1.33.4, got {shown(node)}")
        return None
    if int(found[1]) < _OLDEST:
        # Whatever has read 1.30 as a number before has written 1.3.
        lost = f", did you mean 1.{found[1]}0?" if found[1] in "23456789" else ""
        refusal = f"is older than any that Flux has run on, 1.{_OLDEST}{lost}"
        source.refuse(node, f"{name} {quoted(node.value)} {refusal}")
        return None
    return str(node.value)


def shown(node: Node) -> str:
    return quoted(node.value) if isinstance(node, ScalarNode) and node.value else kind(node)
