"""Changes in plain sentences, one a line: what may hurt first, what is merely new after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from flux_upgrade.impact.diff.changes import (
    TIGHTENED,
    Changes,
    CrdChange,
    FieldChange,
    ObjectChange,
    RuleChange,
    listed,
    marked,
    quoted,
)
from flux_upgrade.manifests.images import Image
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import grouped
from flux_upgrade.policy.decision import ChangeKind

_ONE_NAME = re.compile(r"([^`]*)(`[^`]*`)([^`]*)")
_COLUMNS = re.compile(r"spec\.versions\[.*?\]\.additionalPrinterColumns")
_FEW = 4  # So many kinds are named, more are counted
_LISTED = {"removed": "removed: ", "required": "now required: ", "added": "new: ", "optional": "no longer required: "}
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
_LOOSENED = ("added", "optional", "loosened")  # What is new, and what lets more through


def lines(changes: Changes, mark: Callable[[str], str] = str) -> list[str]:
    """``mark`` puts names and values from the manifests into form, as ``markdown.code`` does."""
    return [marked(line, mark) for line in _lines(changes)]


def _lines(changes: Changes) -> Iterator[str]:
    yield from _apis(changes)
    for name, old, now in changes.controllers:
        if not now:
            yield f"Controller removed: {quoted(name)}"
        elif not old:
            yield f"Controller added: {quoted(name)}, {quoted(now)}"
    yield from map(_rule, changes.rules)
    new = [each for each in changes.others if each.content is None and each.phrase == "added"]
    rest = [each for each in changes.others if each not in new]
    for content in (*ChangeKind, None):
        yield from _others(each for each in rest if each.content is content)
    yield from _fields(changes.crds, TIGHTENED)
    bumped = [f"{quoted(name)} {_image(old, now)}" for name, old, now in changes.controllers if old and now]
    if bumped:
        yield f"Images: {', '.join(bumped)}"
    yield from _versions("API version added", changes.crds, lambda crd: crd.added)
    if changes.crds_added:
        yield f"CRDs added: {listed(changes.crds_added)}"
    yield from _others(new)
    yield from _fields(changes.crds, _LOOSENED)
    yield from _beside(changes.crds)
    if changes.noise:
        yield f"Left out: {', '.join(f'{name} ({count})' for name, count in changes.noise)}"


def _apis(changes: Changes) -> Iterator[str]:
    yield from _versions("API version removed", changes.crds, lambda crd: crd.removed)
    yield from _versions("API version no longer served", changes.crds, lambda crd: crd.unserved)
    if changes.crds_removed:
        yield f"CRDs removed, and with them every object of their kinds: {listed(changes.crds_removed)}"
    yield from _versions("API version now deprecated", changes.crds, lambda crd: crd.deprecated)
    stored = grouped([((crd.group, *crd.storage), crd.kind) for crd in changes.crds if crd.storage is not None])
    for (group, old, new), kinds in stored.items():
        yield f"Stored as {quoted(f'{group}/{new}')} (was {quoted(old)}): {listed(kinds)}"


def _versions(label: str, crds: Iterable[CrdChange], of: Callable[[CrdChange], tuple[str, ...]]) -> Iterator[str]:
    """A line for each version of an API group."""
    kinds_of = grouped([(f"{crd.group}/{version}", crd.kind) for crd in crds for version in of(crd)])
    for version, kinds in kinds_of.items():
        yield f"{label}: {quoted(version)} of {listed(kinds)}"


def _image(old: str, new: str) -> str:
    """The tags, where nothing else changed."""
    was, now = Image.parse(old), Image.parse(new)
    is_tag = was._replace(tag="") == now._replace(tag="") and was.tag and now.tag and not now.digest
    return f"{quoted(was.tag)} → {quoted(now.tag)}" if is_tag else f"{quoted(old)} → {quoted(new)}"


def _rule(change: RuleChange) -> str:
    name, more, less = quoted(change.object), _permissions(change.widened), _permissions(change.narrowed)
    if change.state:
        return f"{name} {change.state}, with {more or less or 'no permissions'}"
    left = _permissions(change.left)
    less = f"{less}, but still {left}" if left else less
    parts = (("also grants ", more), ("no longer grants ", less))
    return f"{name} " + "; ".join(words + permissions for words, permissions in parts if permissions)


def _permissions(permissions: Iterable[str]) -> str:
    """All verbs of a resource together, and all resources with the same verbs."""
    verbs = grouped([(thing, verb) for verb, _, thing in (each.partition(" ") for each in permissions)])
    things = grouped([(",".join(of_it), thing) for thing, of_it in verbs.items()])
    return ", ".join(_grant(*each) for each in things.items())


def _grant(verbs: str, things: Sequence[str]) -> str:
    """``everything on `secrets```, ```get,list` on `pods`, `events```, ```ClusterRole/x` for `User y```."""
    word, _, _ = things[0].partition(" ")
    what = "everything" if verbs in ("*", "everything") else quoted(verbs)
    if word in ("for", "of"):
        return f"{what} {word} {listed(each.partition(' ')[2] for each in things)}"
    return f"{what} on {listed(things)}"


def _others(changes: Iterable[ObjectChange]) -> Iterator[str]:
    """The same change of many objects is one line, and so are all changes of the same objects."""
    objects = grouped([(each.phrase, each.object) for each in changes])
    phrases = grouped([(tuple(names), phrase) for phrase, names in objects.items()])
    for (first, *rest), changed in phrases.items():
        kind = f"{first.partition('/')[0]}/"
        # Their kind once, where all are of it.
        is_one_kind = all(name.startswith(kind) for name in rest)
        others = [name.removeprefix(kind) for name in rest] if is_one_kind else rest
        yield f"{listed([first, *others])}: {'; '.join(_folded(changed))}"


def _folded(phrases: Iterable[str]) -> list[str]:
    """Phrases that differ in one name only as one: ``pod label `a`, `b` added``."""
    parts = [match.groups() if (match := _ONE_NAME.fullmatch(each)) else (each, "", "") for each in phrases]
    found = grouped([((before, after), name) for before, name, after in parts])
    return [f"{before}{', '.join(names)}{after}" for (before, after), names in found.items()]


def _beside(crds: Iterable[CrdChange]) -> Iterator[str]:
    """What no object's validity depends on."""
    things: list[tuple[str, str]] = []
    for crd in crds:
        status = ["fields of `status`"] if any(field.is_status for _, field in crd.fields) else []
        columns = ["printed columns"] if any(map(_COLUMNS.match, crd.other)) else []
        paths = (quoted(path) for path in crd.other if not _COLUMNS.match(path))
        things += ((thing, crd.kind) for thing in (*paths, *columns, *status))
    found = grouped(things)
    if found:
        parts = (
            f"{thing} of {listed(kinds) if len(kinds) <= _FEW else counted(len(kinds), 'CRD')}"
            for thing, kinds in found.items()
        )
        yield f"Also changed: {'; '.join(parts)}"


def _fields(crds: Iterable[CrdChange], wanted: Sequence[str]) -> Iterator[str]:
    """A line for each kind and its versions; kinds that changed alike share one."""
    found = [
        ("; ".join(_phrases(fields, wanted)), f"{quoted(crd.kind)} ({listed(versions)})")
        for crd in crds
        for versions, fields in _by_versions(crd).items()
    ]
    for phrases, heads in grouped([each for each in found if each[0]]).items():
        yield f"{', '.join(heads)}: {phrases}"


def _by_versions(crd: CrdChange) -> dict[tuple[str, ...], list[FieldChange]]:
    """What changed alike in several versions is one change."""
    found: dict[str, tuple[FieldChange, list[str]]] = {}
    for version, field in crd.fields:
        if not field.is_status:
            found.setdefault(repr(field), (field, []))[1].append(version)
    return grouped([(tuple(versions), field) for field, versions in found.values()])


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
            return f"is {quoted(field.new)} (was {quoted(field.old)})"
        case "default":
            return _changed("default {}", field.old, field.new)
    old, new = field.old or {}, field.new or {}
    return ", ".join(_keyword(each, old.get(each), new.get(each)) for each in dict.fromkeys([*old, *new]))


def _keyword(name: str, old: Any, new: Any) -> str:
    match name, old, new:
        case "x-kubernetes-validations", _, _:
            before, after = ", ".join(_rules(old)), ", ".join(_rules(new))
            if not after:
                return f"no longer must satisfy: {before}"
            return f"must satisfy: {after}" + (f" (was: {before})" if before else "")
        case "enum", list(), list():
            gone, more = [each for each in old if each not in new], [each for each in new if each not in old]
            parts = (("no longer allows ", gone), ("also allows ", more))
            return ", ".join(words + listed(values) for words, values in parts if values)
        case "enum", list(), None:
            return f"no longer only {listed(old)}"
        case "enum", None, list():
            return f"only {listed(new)}"
    return _changed(_WORDS.get(name, f"{quoted(name)} {{}}"), old, new)


def _changed(words: str, old: Any, new: Any) -> str:
    if new is None:
        return f"no longer: {words.format(quoted(old))}"
    return words.format(quoted(new)) + ("" if old is None else f" (was {quoted(old)})")


def _rules(entries: Any) -> list[str]:
    """The message of each where there is one: it is meant for people."""
    found = [each.get("message") or each.get("rule") for each in entries or () if isinstance(each, dict)]
    return list(dict.fromkeys(map(quoted, found)))
