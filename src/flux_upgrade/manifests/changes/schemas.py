"""Two structural schemas of one version of an API → the fields that changed.

What a structural schema is: https://kubernetes.io/docs/tasks/extend-kubernetes/
custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from flux_upgrade.manifests.changes.constraints import constraints
from flux_upgrade.manifests.changes.values import FieldChange
from flux_upgrade.manifests.changes.walk import Noise

DESCRIPTIONS = "descriptions"
_FILLED_IN = "required fields with a default"
_PROSE = ("description", "example", "externalDocs", "title")
Schema = Mapping[str, Any]


def fields(before: Schema, after: Schema) -> tuple[list[FieldChange], Noise]:
    """Each field once, in the order of the schemas; and what says nothing, such as descriptions."""
    noise: Noise = Counter()
    return list(_node("", before, after, noise)), +noise


def _node(path: str, before: Schema, after: Schema, noise: Noise) -> Iterator[FieldChange]:
    noise[DESCRIPTIONS] += sum(before.get(each) != after.get(each) for each in _PROSE)
    if _type(before) != _type(after):
        # All that is below is another thing.
        yield FieldChange(path, "type", _type(before), _type(after))
        return
    if ("default" in before, before.get("default")) != ("default" in after, after.get("default")):
        yield FieldChange(path, "default", before.get("default"), after.get("default"))
    what, old, new, reworded = constraints(before, after)
    noise[DESCRIPTIONS] += reworded
    if what:
        yield FieldChange(path, what, old, new)
    yield from _properties(path, before, after, noise)
    yield from _below(f"{path}[]", "items", before, after, noise)
    yield from _below(f"{path}.*", "additionalProperties", before, after, noise)


def _type(schema: Schema) -> str:
    """As a person would say it."""
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    return str(schema.get("type") or "")


def _below(path: str, keyword: str, before: Schema, after: Schema, noise: Noise) -> Iterator[FieldChange]:
    """The schema of a list's items or a map's values; the latter may be a truth value."""
    old, new = before.get(keyword), after.get(keyword)
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _node(path, old, new, noise)
    else:
        yield FieldChange(path, "validation", *({keyword: each} if each else {} for each in (old, new)))


def _properties(path: str, before: Schema, after: Schema, noise: Noise) -> Iterator[FieldChange]:
    olds, news = _mapping(before.get("properties")), _mapping(after.get("properties"))
    must, must_now = _names(before.get("required")), _names(after.get("required"))
    for name in dict.fromkeys([*olds, *news, *sorted(must | must_now)]):
        below = f"{path}.{name}" if path else name
        if name in olds and name not in news:
            yield FieldChange(below, "removed", _brief(olds[name]))
            continue
        # The API server fills in defaults before it validates: what has one is never missing.
        is_asked = name in must_now and "default" not in _mapping(news.get(name))
        if name in news and name not in olds:
            yield FieldChange(below, "required" if is_asked else "added", None, _brief(news[name]))
            continue
        if is_asked and name not in must:
            yield FieldChange(below, "required", "optional", "required")
        elif name in must and name not in must_now:
            yield FieldChange(below, "optional", "required", "optional")
        elif (name in must) != (name in must_now):
            noise[_FILLED_IN] += 1
        yield from _below(below, name, olds, news, noise)


def _brief(schema: Any) -> str:
    return _type(_mapping(schema))


def _mapping(value: Any) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _names(value: Any) -> set[str]:
    return {str(each) for each in value} if isinstance(value, list) else set()
