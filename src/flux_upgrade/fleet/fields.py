"""Fields of JSON that any user may have written: each is what it has to be, or an error says where it is not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from flux_upgrade.model.text import one_line

LONGEST = 300  # Characters of a text that are shown
_MOST = 20_000  # Entries of a list: more than any fleet has clusters

Object = Mapping[str, Any]
_Kind = TypeVar("_Kind")


class NotAReport(Exception):
    """What keeps a file from being a report, in one clause."""

    repository = ""  # That the file names nonetheless


def text(value: Object, name: str) -> str:
    """In one line; empty for null or a field that is missing. Raises NotAReport."""
    return one_line(_found(value, name, str, "a text") or "", LONGEST)


def address(value: Object, name: str) -> str:
    """As ``text``, not cut: empty where it is too long to be an address."""
    found = text(value, name)
    return "" if found.endswith("…") else found


def flag(value: Object, name: str) -> bool:
    """False for null or a field that is missing. Raises NotAReport."""
    return _found(value, name, bool, "true or false") or False


def number(value: Object, name: str) -> int:
    """0 for null or a field that is missing. Raises NotAReport."""
    return _found(value, name, int, "a number") or 0


def texts(value: Object, name: str) -> tuple[str, ...]:
    """Raises NotAReport."""
    return tuple(text({name: each}, name) for each in _list(value, name))


def objects(value: Object, name: str) -> tuple[Object, ...]:
    """Raises NotAReport."""
    found = _list(value, name)
    if not all(isinstance(each, dict) for each in found):
        raise NotAReport(f"{name} has an entry that is not an object")
    return tuple(found)


def mapping(value: Object, name: str) -> Object:
    """Raises NotAReport."""
    return _found(value, name, dict, "an object") or {}


def moment(value: Object, name: str) -> datetime | None:
    """A time of RFC 3339, in UTC; None for null or a field that is missing. Raises NotAReport."""
    found = text(value, name)
    if not found:
        return None
    try:
        parsed = datetime.fromisoformat(found)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        raise NotAReport(f"{name} is not a time") from None


def _list(value: Object, name: str) -> list[Any]:
    found = _found(value, name, list, "a list") or []
    if len(found) > _MOST:
        raise NotAReport(f"{name} has more than {_MOST} entries")
    return found


def _found(value: Object, name: str, kind: type[_Kind], what: str) -> _Kind | None:
    """None for null or a field that is missing."""
    found = value.get(name)
    if found is not None and type(found) is not kind:  # For Python, true is a number
        raise NotAReport(f"{name} is not {what}")
    return found
