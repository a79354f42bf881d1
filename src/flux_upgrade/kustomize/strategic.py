"""Strategic merge patches, as kustomize applies them (kyaml yaml/merge2, yaml/walk).

Not quite as the API server does: what is not one of Kubernetes' own kinds has no merge keys, so that all
of its lists are replaced; ``$retainKeys`` and ``$deleteFromPrimitiveList`` mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flux_upgrade.kustomize.errors import CannotBuild, CannotTell

Path = tuple[str, ...]

_DIRECTIVE = "$patch"
_GONE: Any = object()
_ITEM = "[]"

# Field of a field → the keys by which its items are merged (x-kubernetes-patch-merge-key and
# x-kubernetes-list-map-keys of Kubernetes' OpenAPI description); any other list is replaced as a whole.
_MERGE_KEYS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "secrets"): ("name",),
    ("metadata", "finalizers"): (),
    ("metadata", "ownerReferences"): ("uid",),
    ("status", "conditions"): ("type",),
    ("spec", "ports"): ("port", "protocol"),
    ("spec", "containers"): ("name",),
    ("spec", "initContainers"): ("name",),
    ("spec", "ephemeralContainers"): ("name",),
    ("spec", "volumes"): ("name",),
    ("spec", "imagePullSecrets"): ("name",),
    ("spec", "hostAliases"): ("ip",),
    ("spec", "topologySpreadConstraints"): ("topologyKey", "whenUnsatisfiable"),
    **{
        (containers, field): keys
        for containers in ("containers", "initContainers", "ephemeralContainers")
        for field, keys in (
            ("env", ("name",)),
            ("ports", ("containerPort", "protocol")),
            ("volumeDevices", ("devicePath",)),
            ("volumeMounts", ("mountPath",)),
        )
    },
}


def merged(data: Any, patch: Mapping[str, Any]) -> Any:
    """The object with the patch put over it; None where the patch deletes it. Raises CannotBuild."""
    group = str(data.get("apiVersion") or "").rpartition("/")[0]
    is_built_in = "." not in group or group.endswith(".k8s.io")
    result = _map(data, patch, (), is_built_in)
    return None if result is _GONE else result


def _value(old: Any, patch: Any, path: Path, known: bool) -> Any:  # noqa: FBT001 private
    """``old``: None where there is none."""
    if patch is None:
        return _GONE
    if old is not None and _kind(old) != _kind(patch):
        raise CannotBuild(f"{_dotted(path)} is a {_kind(old)} in the release, but a {_kind(patch)} in the patch")
    if isinstance(patch, dict):
        return _map(old, patch, path, known)
    # Items of a list are of the list's field.
    field = next((step for step in reversed(path[:-1]) if step != _ITEM), "")
    keys = _MERGE_KEYS.get((field, path[-1])) if known else None
    if isinstance(patch, list) and keys is not None:
        return _list(old, patch, path, keys)
    return patch


def _map(old: Any, patch: Mapping[str, Any], path: Path, known: bool) -> Any:  # noqa: FBT001 private
    directive = patch.get(_DIRECTIVE, "merge")
    rest = {key: value for key, value in patch.items() if key != _DIRECTIVE}
    _require_known(directive)
    if directive == "delete":
        return _GONE
    result = {} if directive == "replace" or old is None else dict(old)
    for key, value in rest.items():
        new = _value(result.get(key), value, (*path, key), known)
        if new is _GONE:
            result.pop(key, None)
        else:
            result[key] = new
    return result


def _list(old: Any, patch: Sequence[Any], path: Path, keys: tuple[str, ...]) -> Any:
    """Items of the patch first, then the others in their order."""
    directives = [each for each in patch if isinstance(each, dict) and set(each) == {_DIRECTIVE}]
    items = [each for each in patch if each not in directives]
    directive = directives[0][_DIRECTIVE] if directives else "merge"
    _require_known(directive)
    if directive == "delete":
        return _GONE
    rest = [] if directive == "replace" else list(old or ())
    if not keys:
        return [*items, *(each for each in rest if each not in items)]
    if not all(isinstance(each, dict) for each in (*items, *rest)):
        raise CannotTell(f"an item of {_dotted(path)} is not a mapping")
    merge = _by_keys if len(keys) > 1 else _by_key
    return merge(rest, _first_of_each(items, keys), (*path, _ITEM), keys)


def _first_of_each(items: Sequence[Any], keys: tuple[str, ...]) -> list[Any]:
    """What stands twice in a patch counts once."""
    found: list[Any] = []
    for item in items:
        if _values(item, keys) not in (_values(each, keys) for each in found):
            found.append(item)
    return found


def _values(item: Mapping[str, Any], keys: tuple[str, ...]) -> list[Any]:
    return [item.get(key) for key in keys]


def _by_key(rest: list[Any], items: Sequence[Any], path: Path, keys: tuple[str, ...]) -> list[Any]:
    first: list[Any] = []
    for item in items:
        if keys[0] not in item:
            # A nameless item takes all others away: what kustomize does, whether or not it is meant.
            rest = []
            continue
        index = _index(rest, item, keys)
        first += _present(_map(None if index is None else rest.pop(index), item, path, known=True))
    return first + rest


def _by_keys(rest: list[Any], items: Sequence[Any], path: Path, keys: tuple[str, ...]) -> list[Any]:
    """What the patch changes stays where it is.

    An item that lacks a key, and has another one's values for the rest, is lost.
    """
    first: list[Any] = []
    changed: list[Any] = []
    for item in items:
        index = _index(rest, item, keys)
        if index is not None:
            rest[index : index + 1] = new = _present(_map(rest[index], item, path, known=True))
            changed += new
        elif not any(key in item for key in keys):
            rest = [each for each in rest if any(each is other for other in changed)]
        elif not any(_may_be(each, item, keys) for each in rest):
            first += _present(_map(None, item, path, known=True))
    return first + rest


def _present(item: Any) -> list[Any]:
    return [] if item is _GONE or not item else [item]


def _index(rest: Sequence[Any], item: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    values = _values(item, keys)
    return next((at for at, each in enumerate(rest) if _values(each, keys) == values), None)


def _may_be(each: Mapping[str, Any], item: Mapping[str, Any], keys: tuple[str, ...]) -> bool:
    given = [key for key in keys if key in item]
    return len(given) < len(keys) and all(each.get(key) == item[key] for key in given)


def _require_known(directive: Any) -> None:
    if directive not in ("merge", "replace", "delete"):
        raise CannotBuild(f"kustomize does not know {_DIRECTIVE}: {directive}")


def _dotted(path: Path) -> str:
    return ".".join(path).replace(f".{_ITEM}", _ITEM)


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "mapping"
    return "list" if isinstance(value, list) else "value"
