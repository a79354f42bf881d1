"""``postBuild.substitute``: what becomes of ``${NAME}`` in what a Kustomization builds.

Flux evaluates variables as https://github.com/fluxcd/pkg/tree/main/envsubst does; of its operators, those are known
here that only need the value: ``${NAME}``, ``${NAME:=default}``, ``${NAME:-default}``, ``${NAME=default}``,
``${NAME-default}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_VARIABLE = re.compile(r"(?<!\$)\$\{(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)(?:(?P<op>:?[-=])(?P<default>[^{}]*))?\}")


_LEFT = re.compile(r"\$\{[^{}]*\}|<<[^<>]*>>")
OTHERS = ""
"""Key among values, if a ConfigMap or Secret that is not in Git may have more."""


def substituted(text: str, values: Mapping[str, str | None]) -> str:
    """With the values that are known put in. ``values``: None where there is one, and it is not in Git.

    A default is no value if a ConfigMap or Secret that is not in Git may have another.
    """

    def value(match: re.Match[str]) -> str:
        known = values.get(match["name"], None if OTHERS in values else match["default"])
        return match[0] if known is None else known

    return _VARIABLE.sub(value, text)


def substituted_in(data: Any, values: Mapping[str, str | None]) -> Any:
    """All texts of an object, with the values that are known put in."""
    if isinstance(data, str):
        return substituted(data, values)
    if isinstance(data, dict):
        return {key: substituted_in(each, values) for key, each in data.items()}
    return [substituted_in(each, values) for each in data] if isinstance(data, list) else data


def unknown_in(text: str) -> str:
    """The first variable, or input of a ResourceSet, that is left in a text; empty if there is none."""
    match = _LEFT.search(text)
    return match[0] if match else ""


def without_unknown(text: str, instead: str) -> str:
    """Return a text with ``instead`` in the place of each variable and input that is left."""
    count = 1
    while count:  # a default may have a variable, too
        text, count = _LEFT.subn(instead, text)
    return text
