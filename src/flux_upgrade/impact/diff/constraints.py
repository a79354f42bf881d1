"""What a schema lets through, beside type and fields: which keywords changed, and in which direction."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

RULES = "x-kubernetes-validations"
"""CEL, https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules"""
_ELSEWHERE = frozenset(
    {
        *("additionalProperties", "default", "items", "properties", "required", "type"),
        *("description", "example", "externalDocs", "title", "x-kubernetes-int-or-string"),
    }
)
_MESSAGES = frozenset({"message", "messageExpression"})
_SETS = frozenset({"allOf", "anyOf", "enum", "oneOf", "x-kubernetes-list-map-keys"})
_AT_MOST = frozenset({"maxItems", "maxLength", "maxProperties", "maximum"})
_AT_LEAST = frozenset({"minItems", "minLength", "minProperties", "minimum"})
_LIMITS = _AT_MOST | _AT_LEAST | {RULES, "enum", "format", "multipleOf", "not", "pattern", "uniqueItems"}
_FREEDOMS = frozenset({"nullable", "x-kubernetes-preserve-unknown-fields"})

Keyword = tuple[str, str]
"""The keyword; of a CEL rule its text beside it, for a schema has many."""


def constraints(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[str, dict[str, Any], dict[str, Any], int]:
    """What became of them, the keywords that changed with their values before and now, and messages reworded.

    ``loosened`` where all that was valid stays valid, else ``validation``; empty where nothing changed.
    """
    olds, news = dict(_stated(before)), dict(_stated(after))
    was: dict[str, Any] = {}
    now: dict[str, Any] = {}
    reworded, is_looser = 0, True
    for keyword in dict.fromkeys([*olds, *news]):
        old, new = olds.get(keyword), news.get(keyword)
        if keyword in olds and keyword in news and _same(keyword[0], old, new):
            reworded += keyword[0] == RULES and old != new
            continue
        is_looser = is_looser and _lets_more(keyword[0], old, new)
        for side, values in ((olds, was), (news, now)):
            if keyword in side:
                _put(values, keyword, side[keyword])
    changed = "loosened" if is_looser else "validation"
    return changed if was or now else "", was, now, reworded


def _stated(schema: Mapping[str, Any]) -> Iterator[tuple[Keyword, Any]]:
    for keyword, value in schema.items():
        if keyword == RULES and isinstance(value, list):
            yield from (((RULES, _rule(each)), each) for each in value)
        elif keyword not in _ELSEWHERE:
            yield (keyword, ""), value


def _rule(entry: Any) -> str:
    return str(entry.get("rule", "")) if isinstance(entry, Mapping) else str(entry)


def _put(values: dict[str, Any], keyword: Keyword, value: Any) -> None:
    if keyword[1]:
        values.setdefault(RULES, []).append(value)
    else:
        values[keyword[0]] = value


def _same(keyword: str, old: Any, new: Any) -> bool:
    if keyword == RULES and isinstance(old, Mapping) and isinstance(new, Mapping):
        return _without_messages(old) == _without_messages(new)
    if keyword in _SETS and isinstance(old, list) and isinstance(new, list):
        return _set(old) == _set(new)
    return bool(old == new)


def _without_messages(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in _MESSAGES}


def _set(values: list[Any]) -> set[str]:
    return {json.dumps(each, sort_keys=True) for each in values}


def _lets_more(keyword: str, old: Any, new: Any) -> bool:
    """Whether everything that was valid stays valid."""
    if keyword in _FREEDOMS:
        return new is True
    if new is None:
        return keyword in _LIMITS
    if keyword == "enum" and isinstance(old, list) and isinstance(new, list):
        return _set(old) <= _set(new)
    if isinstance(old, int | float) and isinstance(new, int | float):
        return (keyword in _AT_MOST and new >= old) or (keyword in _AT_LEAST and new <= old)
    return False
