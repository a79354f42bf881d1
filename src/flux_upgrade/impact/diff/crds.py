"""Two CustomResourceDefinitions → versions, storage, fields, and whatever else changed."""

from __future__ import annotations

from collections import Counter

from flux_upgrade.manifests.changes import others
from flux_upgrade.manifests.changes.schemas import DESCRIPTIONS, fields
from flux_upgrade.manifests.changes.values import Changes, CrdChange
from flux_upgrade.manifests.changes.walk import Noise, edits
from flux_upgrade.manifests.crds import Crd
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.residue import Path

_VERSIONS: Path = ("spec", "versions")
# What `Crd` reads of a version.
_READ = frozenset({"deprecated", "name", "schema", "served", "storage"})
_PROSE = frozenset({"deprecationWarning", "description"})


def changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one CRD. Raises Unreadable."""
    if before is None or after is None:
        return Changes(crds_added=(key.name,)) if before is None else Changes(crds_removed=(key.name,))
    if not (_is_whole(before) and _is_whole(after)):
        return others.changes(key, before, after)
    old, new = Crd(before), Crd(after)
    change, noise = _versions(old, new), Counter[str]()
    for version in new.versions:
        same = old.version(version.name)
        if same is not None and same.schema != version.schema:
            found, more = fields(same.schema, version.schema)
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
