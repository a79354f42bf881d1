"""Two CustomResourceDefinitions → versions, storage, fields, and whatever else changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from flux_upgrade.impact.diff.changes import Changes, CrdChange, FieldChange
from flux_upgrade.impact.diff.objects import Noise, edits, object_changes
from flux_upgrade.manifests.crds import Crd
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.residue import Path

_DESCRIPTIONS = "descriptions"
_SCHEMA_PROSE = ("description", "example", "externalDocs", "title")
Schema = Mapping[str, Any]
Keyword = tuple[str, str]  # The keyword; of a CEL rule its text beside it, for a schema has many
_VERSIONS: Path = ("spec", "versions")
# What `Crd` reads of a version.
_READ = frozenset({"deprecated", "name", "schema", "served", "storage"})
_PROSE = frozenset({"deprecationWarning", "description"})
_RULES = "x-kubernetes-validations"
"""CEL, https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules"""
_ELSEWHERE = frozenset(
    {
        *("additionalProperties", "default", "items", "properties", "required", "type"),
        *(*_SCHEMA_PROSE, "x-kubernetes-int-or-string"),
    }
)
_NO_MESSAGES = {"message": None, "messageExpression": None}
_SETS = frozenset({"allOf", "anyOf", "enum", "oneOf", "x-kubernetes-list-map-keys"})
_AT_MOST = frozenset({"maxItems", "maxLength", "maxProperties", "maximum"})
_AT_LEAST = frozenset({"minItems", "minLength", "minProperties", "minimum"})
_LIMITS = _AT_MOST | _AT_LEAST | {_RULES, "enum", "format", "multipleOf", "not", "pattern", "uniqueItems"}
_FREEDOMS = frozenset({"nullable", "x-kubernetes-preserve-unknown-fields"})


def crd_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one CRD. Raises Unreadable."""
    if before is None or after is None:
        return Changes(crds_added=(key.name,)) if before is None else Changes(crds_removed=(key.name,))
    if not (_is_whole(before) and _is_whole(after)):
        return object_changes(key, before, after)
    old, new = Crd(before), Crd(after)
    fields: list[tuple[str, FieldChange]] = []
    found, noise = edits(before, after, (_VERSIONS, _READ))
    for version in new.versions:
        same = old.version(version.name)
        if same is not None and same.schema != version.schema:
            changed, more = field_changes(same.schema, version.schema)
            fields += [(version.name, each) for each in changed]
            noise += more
    other: list[str] = []
    for edit in found:
        if edit.path[-1] in _PROSE:
            noise[_DESCRIPTIONS] += 1
        elif edit.path[:2] != _VERSIONS or len(edit.path) > len(_VERSIONS) + 1:
            other.append(edit.where)
    change = version_changes(old, new)._replace(fields=tuple(fields), other=tuple(other))
    is_empty = change == CrdChange(change.name, change.kind, change.group)
    return Changes(crds=() if is_empty else (change,), noise=tuple(noise.items()))


def _is_whole(document: Document) -> bool:
    """Whether it is a CRD as the API server would take it: people edit these files."""
    match document.data:
        case {"spec": {"names": {"kind": str()}, "versions": [*versions]}}:
            for each in versions:
                match each:
                    case {"name": str(), "schema": {"openAPIV3Schema": dict()}}:
                        continue
                    case {"name": str(), **rest} if not rest.get("schema"):
                        continue
                return False
            return True
    return False


def version_changes(old: Crd, new: Crd) -> CrdChange:
    """Return what changes in the versions of a CRD, without their schemas. Raises Unreadable."""
    names = [each.name for each in new.versions]
    before = [each.name for each in old.versions]
    was_deprecated = {each.name for each in old.versions if each.deprecated}
    return CrdChange(
        new.name,
        new.kind,
        new.group,
        added=tuple(each for each in names if each in new.served - old.served),
        deprecated=tuple(each.name for each in new.versions if each.deprecated and each.name not in was_deprecated),
        unserved=tuple(each for each in before if each in names and each in old.served - new.served),
        removed=tuple(each for each in before if each not in names),
        storage=(old.storage, new.storage) if old.storage != new.storage else None,
    )


def field_changes(before: Schema, after: Schema) -> tuple[list[FieldChange], Noise]:
    """Each field once, in the order of the schemas; and what says nothing, such as descriptions."""
    noise: Noise = Counter()
    return list(_node("", before, after, noise)), +noise


def _node(path: str, before: Schema, after: Schema, noise: Noise) -> Iterator[FieldChange]:
    noise[_DESCRIPTIONS] += sum(before.get(each) != after.get(each) for each in _SCHEMA_PROSE)
    if _type(before) != _type(after):
        # All that is below is another thing.
        yield FieldChange(path, "type", _type(before), _type(after))
        return
    if ("default" in before, before.get("default")) != ("default" in after, after.get("default")):
        yield FieldChange(path, "default", before.get("default"), after.get("default"))
    what, old, new, reworded = _constraints(before, after)
    noise[_DESCRIPTIONS] += reworded
    if what:
        yield FieldChange(path, what, old, new)
    yield from _properties(path, before, after, noise)
    yield from _below(f"{path}[]", "items", before, after, noise)
    yield from _below(f"{path}.*", "additionalProperties", before, after, noise)


def _type(value: Any) -> str:
    """``string``, ``integer or string``; empty where the schema has none."""
    schema = _mapping(value)
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
            yield FieldChange(below, "removed", _type(olds[name]))
            continue
        # The API server fills in defaults before it validates: what has one is never missing.
        is_asked = name in must_now and "default" not in _mapping(news.get(name))
        if name in news and name not in olds:
            yield FieldChange(below, "required" if is_asked else "added", None, _type(news[name]))
            continue
        if is_asked and name not in must:
            yield FieldChange(below, "required", "optional", "required")
        elif name in must and name not in must_now:
            yield FieldChange(below, "optional", "required", "optional")
        elif (name in must) != (name in must_now):
            noise["required fields with a default"] += 1
        yield from _below(below, name, olds, news, noise)


def _mapping(value: Any) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _names(value: Any) -> set[str]:
    return set(map(str, value)) if isinstance(value, list) else set()


def _constraints(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[str, dict[str, Any], dict[str, Any], int]:
    """What became of them, the keywords that changed with their values before and now, and messages reworded.

    ``loosened`` where all that was valid stays valid, else ``validation``; empty where nothing changed.
    """
    olds, news = _stated(before), _stated(after)
    was: dict[str, Any] = {}
    now: dict[str, Any] = {}
    reworded, is_looser = 0, True
    for keyword in dict.fromkeys([*olds, *news]):
        old, new = olds.get(keyword), news.get(keyword)
        if keyword in olds and keyword in news and _same(keyword[0], old, new):
            reworded += keyword[0] == _RULES and old != new
            continue
        is_looser = is_looser and _lets_more(keyword[0], old, new)
        for side, values in ((olds, was), (news, now)):
            if keyword in side and keyword[1]:
                values.setdefault(_RULES, []).append(side[keyword])
            elif keyword in side:
                values[keyword[0]] = side[keyword]
    changed = "loosened" if is_looser else "validation"
    return changed if was or now else "", was, now, reworded


def _stated(schema: Schema) -> dict[Keyword, Any]:
    stated: dict[Keyword, Any] = {}
    for keyword, value in schema.items():
        if keyword == _RULES and isinstance(value, list):
            for each in value:
                rule = each.get("rule", "") if isinstance(each, Mapping) else each
                stated[_RULES, str(rule)] = each
        elif keyword not in _ELSEWHERE:
            stated[keyword, ""] = value
    return stated


def _same(keyword: str, old: Any, new: Any) -> bool:
    if keyword == _RULES and isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **_NO_MESSAGES} == {**new, **_NO_MESSAGES}
    if keyword in _SETS and isinstance(old, list) and isinstance(new, list):
        return _set(old) == _set(new)
    return bool(old == new)


def _set(values: list[Any]) -> set[str]:
    return {json.dumps(each, sort_keys=True) for each in values}


def _lets_more(keyword: str, old: Any, new: Any) -> bool:
    if keyword in _FREEDOMS:
        return new is True
    if new is None:
        return keyword in _LIMITS
    if keyword == "enum" and isinstance(old, list) and isinstance(new, list):
        return _set(old) <= _set(new)
    if isinstance(old, int | float) and isinstance(new, int | float):
        return (keyword in _AT_MOST and new >= old) or (keyword in _AT_LEAST and new <= old)
    return False
