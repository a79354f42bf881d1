"""Two CustomResourceDefinitions → versions, storage, fields, and whatever else changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from flux_upgrade.impact.diff.changes import Changes, CrdChange, FieldChange
from flux_upgrade.impact.diff.constraints import constraints
from flux_upgrade.impact.diff.others import object_changes
from flux_upgrade.impact.diff.walk import Noise, edits
from flux_upgrade.manifests.crds import Crd
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.residue import Path

DESCRIPTIONS = "descriptions"
_FILLED_IN = "required fields with a default"
_SCHEMA_PROSE = ("description", "example", "externalDocs", "title")
Schema = Mapping[str, Any]
_VERSIONS: Path = ("spec", "versions")
# What `Crd` reads of a version.
_READ = frozenset({"deprecated", "name", "schema", "served", "storage"})
_PROSE = frozenset({"deprecationWarning", "description"})


def crd_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one CRD. Raises Unreadable."""
    if before is None or after is None:
        return Changes(crds_added=(key.name,)) if before is None else Changes(crds_removed=(key.name,))
    if not (_is_whole(before) and _is_whole(after)):
        return object_changes(key, before, after)
    old, new = Crd(before), Crd(after)
    change, noise = _versions(old, new), Counter[str]()
    for version in new.versions:
        same = old.version(version.name)
        if same is not None and same.schema != version.schema:
            found, more = field_changes(same.schema, version.schema)
            change = change._replace(fields=(*change.fields, *((version.name, each) for each in found)))
            noise += more
    other, more = _rest(before, after)
    change, noise = change._replace(other=other), noise + more
    is_empty = change == CrdChange(change.name, change.kind, change.group)
    return Changes(crds=() if is_empty else (change,), noise=tuple(noise.items()))


def _is_whole(document: Document) -> bool:
    """Whether it is a CRD as the API server would take it: people edit these files."""
    match document.data:
        case {"spec": {"names": {"kind": str()}, "versions": [*versions]}}:
            return all(_is_version(each) for each in versions)
    return False


def _is_version(entry: object) -> bool:
    match entry:
        case {"name": str(), "schema": {"openAPIV3Schema": dict()}}:
            return True
        case {"name": str(), **rest}:
            return not rest.get("schema")
    return False


def _versions(old: Crd, new: Crd) -> CrdChange:
    names = [each.name for each in new.versions]
    before = [each.name for each in old.versions]
    was_deprecated = {each.name for each in old.versions if each.deprecated}
    return CrdChange(
        new.name,
        new.kind,
        new.group,
        added=tuple(each for each in names if each in new.served - old.served),
        deprecated=tuple(
            each.name for each in new.versions if each.deprecated and each.name not in was_deprecated
        ),
        unserved=tuple(each for each in before if each in names and each in old.served - new.served),
        removed=tuple(each for each in before if each not in names),
        storage=(old.storage, new.storage) if old.storage != new.storage else None,
    )


def _rest(before: Document, after: Document) -> tuple[tuple[str, ...], Noise]:
    """Paths outside of what `Crd` reads."""
    found, noise = edits(before, after, _is_read)
    paths = []
    for edit in found:
        if edit.path[-1] in _PROSE:
            noise[DESCRIPTIONS] += 1
        elif edit.path[:2] != _VERSIONS or len(edit.path) > len(_VERSIONS) + 1:
            paths.append(edit.where)
    return tuple(paths), noise


def _is_read(path: Path) -> bool:
    return path[:2] == _VERSIONS and len(path) == len(_VERSIONS) + 2 and path[-1] in _READ


def field_changes(before: Schema, after: Schema) -> tuple[list[FieldChange], Noise]:
    """Each field once, in the order of the schemas; and what says nothing, such as descriptions."""
    noise: Noise = Counter()
    return list(_node("", before, after, noise)), +noise


def _node(path: str, before: Schema, after: Schema, noise: Noise) -> Iterator[FieldChange]:
    noise[DESCRIPTIONS] += sum(before.get(each) != after.get(each) for each in _SCHEMA_PROSE)
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
    """``string``, ``integer or string``; empty where the schema has none."""
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
