"""JSON patches (RFC 6902), as kustomize applies them.

The library that it uses is more lenient than the RFC: ``replace`` adds a key that is not there, ``copy``
takes null from one, and an index may count from the end (gopkg.in/evanphx/json-patch.v4 patch.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from flux_upgrade.kustomize.errors import CannotBuild
from flux_upgrade.model.values import NamedTuple

_INDEX = re.compile(r"[+-]?\d{1,9}")
_NOTHING: Any = object()


class JsonPatchOperation(NamedTuple):
    op: str
    path: str
    line: int  # 1-based, in the file that it stands in
    value: Any = None
    source: str = ""  # `from`, of `move` and `copy`


class Landing(NamedTuple):
    """An item of a list that an operation found by counting."""

    operation: JsonPatchOperation
    pointer: str  # Of the list
    items: Sequence[Any]  # The list as the operation found it
    at: int  # Its index


class Applied(NamedTuple):
    data: Any
    landings: tuple[Landing, ...]
    is_changed: bool  # False also where all that it appends stands in the list already


def apply(data: Any, operations: Sequence[JsonPatchOperation]) -> Applied:
    """Raises CannotBuild with the line of the operation that fails."""
    landings: list[Landing] = []
    is_changed = False
    for operation in operations:
        try:
            landings += _landings(data, operation)
            result = _done(data, operation)
        except CannotBuild as error:
            raise CannotBuild(error.message, operation.line, error.hint) from error
        is_changed = is_changed or (result != data and not _is_repeated(data, operation))
        data = result
    return Applied(data, tuple(landings), is_changed)


def _done(data: Any, operation: JsonPatchOperation) -> Any:
    path, value = operation.path, operation.value
    match operation.op:
        case "add":
            return _put(data, path, value, _added)
        case "remove":
            return _put(data, path, None, _removed)
        case "replace":
            return value if path == "" and isinstance(value, dict) else _put(data, path, value, _replaced)
        case "move":
            moved = _got(data, operation.source)
            return _put(_put(data, operation.source, None, _removed), path, moved, _added)
        case "copy":
            return _put(data, path, _got(data, operation.source), _added)
        case "test":
            if (data if path == "" else _got(data, path)) != value:
                raise CannotBuild(f"its test of {path} fails")
            return data
    raise CannotBuild(f"JSON patches have no operation {operation.op}")


def _put(data: Any, pointer: str, value: Any, change: Any) -> Any:
    """A copy of ``data`` along the pointer, with ``change`` made to what holds its last key."""
    return _along(data, _keys(pointer), pointer, value, change)


def _keys(pointer: str) -> list[str]:
    if "/" not in pointer:
        raise CannotBuild(f"{pointer or 'an empty pointer'} does not exist")
    return _decoded(pointer)


def _decoded(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _along(data: Any, keys: Sequence[str], pointer: str, value: Any, change: Any) -> Any:
    key = keys[0]
    if not isinstance(data, dict | list):
        raise CannotBuild(f"there is no {pointer}")
    copied: Any = data.copy()
    if len(keys) == 1:
        change(copied, key, value, pointer)
        return copied
    at: Any = _position(copied, key, pointer) if isinstance(copied, list) else key
    inner = copied[at] if isinstance(copied, list) else copied.get(at)
    if inner is None:
        raise CannotBuild(f"there is no {pointer}")
    copied[at] = _along(inner, keys[1:], pointer, value, change)
    return copied


def _added(holder: Any, key: str, value: Any, pointer: str) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    else:
        holder.insert(len(holder) if key == "-" else _position(holder, key, pointer, beyond=1), value)


def _removed(holder: Any, key: str, _: Any, pointer: str) -> None:
    if isinstance(holder, dict) and key not in holder:
        raise CannotBuild(f"there is no {pointer} to remove")
    del holder[key if isinstance(holder, dict) else _position(holder, key, pointer)]


def _replaced(holder: Any, key: str, value: Any, pointer: str) -> None:
    holder[key if isinstance(holder, dict) else _position(holder, key, pointer)] = value


def _position(items: Sequence[Any], key: str, pointer: str, *, beyond: int = 0) -> int:
    """``beyond``: 1 where one behind the last will do."""
    size = len(items) + beyond
    index = int(key) if _INDEX.fullmatch(key) else None
    if index is None:
        raise CannotBuild(f"{key} in {pointer} is not an index of a list")
    if not -size <= index < size:
        raise CannotBuild(f"{pointer} refers to item {index} of a list that has {len(items)}")
    return index % size


def _got(data: Any, pointer: str) -> Any:
    """What stands there; None also where a mapping has no such key."""
    keys = _keys(pointer)
    for count, key in enumerate(keys, 1):
        if isinstance(data, list):
            data = data[_position(data, key, pointer)]
        elif isinstance(data, dict):
            data = data.get(key)
        else:
            raise CannotBuild(f"there is no {pointer}")
        if data is None and count < len(keys):
            raise CannotBuild(f"there is no {pointer}")
    return data


def _landings(data: Any, operation: JsonPatchOperation) -> Iterator[Landing]:
    """Where a new item is put in by counting, nothing is found by it."""
    inserts = operation.op in ("add", "move", "copy")
    for pointer, is_inserted in ((operation.path, inserts), (operation.source, False)):
        parts = pointer.split("/")[1:]
        for count, key in enumerate(_decoded(pointer)):
            holder = "".join(f"/{part}" for part in parts[:count])
            is_last = count == len(parts) - 1
            if isinstance(data_at := _reached(data, holder), list) and not (is_last and is_inserted):
                index = int(key) if _INDEX.fullmatch(key) else len(data_at)
                if -len(data_at) <= index < len(data_at):
                    yield Landing(operation, holder or "/", data_at, index % len(data_at))


def _reached(data: Any, pointer: str) -> Any:
    try:
        return _got(data, pointer) if pointer else data
    except CannotBuild:
        return _NOTHING


def _is_repeated(data: Any, operation: JsonPatchOperation) -> bool:
    """Whether it appends to a list what stands there already."""
    holder, _, last = operation.path.rpartition("/")
    if operation.op != "add" or last != "-":
        return False
    items = _reached(data, holder)
    return isinstance(items, list) and operation.value in items
