"""Changed fields of CRDs in plain sentences, kind by kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flux_upgrade.impact.diff.changes import TIGHTENED, CrdChange, FieldChange, listed, quoted

_LISTED = {
    "removed": "gone: ",
    "required": "required from now on: ",
    "added": "new: ",
    "optional": "no longer required: ",
}
_WORDS = {
    "format": "must be a {}",
    "maxItems": "at most {} items",
    "maxLength": "at most {} characters",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "minLength": "at least {} characters",
    "minimum": "at least {}",
    "pattern": "must match {}",
}
"""Of a schema's keywords, those that are met in Flux's CRDs; others are listed by their names."""


def tightened(crds: Iterable[CrdChange]) -> list[str]:
    """What may make an object invalid that was valid, or another."""
    return _lines(crds, TIGHTENED)


def loosened(crds: Iterable[CrdChange]) -> list[str]:
    """What is new, and what lets more through."""
    return _lines(crds, ("added", "optional", "loosened"))


def _lines(crds: Iterable[CrdChange], wanted: Sequence[str]) -> list[str]:
    """A line for each kind and its versions; kinds that changed alike share one."""
    found: dict[str, list[str]] = {}
    for crd in crds:
        for versions, fields in _by_versions(crd).items():
            phrases = "; ".join(_phrases(fields, wanted))
            if phrases:
                found.setdefault(phrases, []).append(f"{quoted(crd.kind)} ({listed(versions)})")
    return [f"{', '.join(heads)}: {phrases}" for phrases, heads in found.items()]


def _by_versions(crd: CrdChange) -> dict[tuple[str, ...], list[FieldChange]]:
    """What changed alike in several versions is one change."""
    found: dict[str, tuple[FieldChange, list[str]]] = {}
    for version, field in crd.fields:
        if not field.is_status:
            found.setdefault(repr(field), (field, []))[1].append(version)
    grouped: dict[tuple[str, ...], list[FieldChange]] = {}
    for field, versions in found.values():
        grouped.setdefault(tuple(versions), []).append(field)
    return grouped


def _phrases(fields: Sequence[FieldChange], wanted: Sequence[str]) -> Iterator[str]:
    for what in wanted:
        chosen = [each for each in fields if each.what == what]
        if what in _LISTED and chosen:
            yield _LISTED[what] + listed(each.path for each in chosen)
        else:
            yield from (f"{quoted(each.path or '.')} {_became(each)}" for each in chosen)


def _became(field: FieldChange) -> str:
    match field.what:
        case "type":
            return f"is {quoted(field.new)}, before {quoted(field.old)}"
        case "default":
            return _changed("default {}", field.old, field.new)
    old, new = field.old or {}, field.new or {}
    return ", ".join(_keyword(each, old.get(each), new.get(each)) for each in dict.fromkeys([*old, *new]))


def _keyword(name: str, old: Any, new: Any) -> str:
    match name, old, new:
        case "x-kubernetes-validations", _, _:
            return _changed_rules(_rules(old), _rules(new))
        case "enum", list(), list():
            gone, more = [each for each in old if each not in new], [each for each in new if each not in old]
            parts = (("no longer takes ", gone), ("also takes ", more))
            return ", ".join(words + listed(values) for words, values in parts if values)
        case "enum", list(), None:
            return f"no longer only {listed(old)}"
        case "enum", None, list():
            return f"only {listed(new)}"
    return _changed(_WORDS.get(name, f"{quoted(name)} {{}}"), old, new)


def _changed(words: str, old: Any, new: Any) -> str:
    """``words`` with the value in its place."""
    if new is None:
        return f"no longer: {words.format(quoted(old))}"
    return words.format(quoted(new)) + ("" if old is None else f", before {quoted(old)}")


def _rules(entries: Any) -> list[str]:
    """The message of each where there is one: it is meant for people."""
    found = [each.get("message") or each.get("rule") for each in entries or () if isinstance(each, dict)]
    return list(dict.fromkeys(quoted(each) for each in found))


def _changed_rules(old: Sequence[str], new: Sequence[str]) -> str:
    if not new:
        return f"need not satisfy any more: {', '.join(old)}"
    return f"must satisfy: {', '.join(new)}" + (f", before: {', '.join(old)}" if old else "")
