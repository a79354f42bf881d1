"""``replacements`` and ``vars`` of a kustomization: values that are copied from one object to others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from flux_upgrade.kustomize.errors import CannotBuild, CannotTell
from flux_upgrade.kustomize.items import Id, Item, Items, StepResult, Touch, each_of, mapping, put
from flux_upgrade.kustomize.selectors import Selector, exact, refers_to
from flux_upgrade.model.patterns import BadPattern, search
from flux_upgrade.model.values import NamedTuple

NAME = "metadata.name"
_STEP = re.compile(r"\[([^\[\]]*)\]|((?:\\.|[^.\[\]\\])+)|\.")
_WANTED = "remove it, or use an existing field"


class FieldReplacement(NamedTuple):
    """One entry of ``replacements`` (kustomize api/filters/replacement)."""

    source: Mapping[str, Any]
    targets: Sequence[Mapping[str, Any]]
    value: str | None  # Given instead of a source

    def __str__(self) -> str:
        """``replacement from Deployment/source-controller metadata.name``."""
        if self.value is not None:
            return "replacement by a value"
        name = "/".join(filter(None, (str(self.source.get(key) or "") for key in ("kind", "name"))))
        return f"replacement from {name} {self.source.get('fieldPath') or NAME}"

    def apply(self, items: Items) -> StepResult:
        """With the value in all its targets. Raises CannotBuild, CannotTell."""
        value = self.value if self.value is not None else self._value(items)
        before, chosen = items, set[int]()
        for target in self.targets:
            rejects = [Selector.read(each) for each in target.get("reject") or ()]
            rejected = {id(item) for each in rejects for item in each.selected(items)}
            selected = Selector.read(target.get("select")).selected(items)
            wanted = {id(item): item for item in selected if id(item) not in rejected}
            chosen |= {at for at, item in enumerate(items) if id(item) in wanted}
            items = each_of(items, list(wanted.values()), partial(_set, target, value)).items
        pairs = ((before[at], items[at]) for at in sorted(chosen))
        return StepResult(items, tuple(Touch(old, new, new.data != old.data) for old, new in pairs))

    def _value(self, items: Items) -> Any:
        wanted = exact(self.source)
        source = _only([item for item in items if refers_to(wanted, item)], wanted, " to take the value from")
        if source.is_opaque:
            raise CannotTell(f"a generator creates {wanted}")
        path = str(self.source.get("fieldPath") or NAME)
        fields = list(_fields(source.data, _steps(path)))
        if len(fields) != 1:
            raise CannotBuild(f"the source {wanted} has no {path}", hint=_WANTED)
        options = mapping(self.source.get("options"))
        if not options.get("delimiter"):
            return fields[0]
        parts, index = str(fields[0]).split(str(options["delimiter"])), _index(options)
        if isinstance(fields[0], dict | list) or not 0 <= index < len(parts):
            raise CannotBuild(f"{path} has no part {index}", hint=_WANTED)
        return parts[index]


def looked_up(reference: Mapping[str, Any], path: str, items: Items) -> StepResult:
    """What an entry of ``vars`` does (kustomize api/internal/accumulator).

    Where its value goes makes no difference: only whether there is one.
    """
    group, _, version = str(reference.get("apiVersion") or "").rpartition("/")
    given = {"group": group, "version": version} if reference.get("apiVersion") else {}
    wanted = exact({**reference, **given})
    # Without a namespace, any will do.
    ids = ((item, each if wanted.namespace else each._replace(namespace="")) for item in items for each in item.ids)
    named = {id(item): item for item, each in ids if each.identity == wanted.identity}
    found = _only(list(named.values()), wanted)
    if not found.is_opaque and not any(_fields(found.data, _steps(path))):
        raise CannotBuild(f"there is no {path} in {wanted}", hint=_WANTED)
    return StepResult(items, (Touch(found, found, is_changed=True),))


def _only(found: Sequence[Item], wanted: Id, what_for: str = "") -> Item:
    if len(found) != 1:
        message = f"there is no {wanted}" if not found else f"{len(found)} objects are {wanted}"
        raise CannotBuild(f"{message}{what_for}", hint=_WANTED)
    return found[0]


def _set(target: Mapping[str, Any], value: Any, item: Item) -> Touch:
    options = mapping(target.get("options"))
    data = item.data
    for path in target.get("fieldPaths") or (NAME,):
        steps = _steps(str(path))
        if not options.get("create") and not any(True for _ in _fields(data, steps)):
            raise CannotBuild(f"there is no {path}", hint=_WANTED)
        data = _replaced(data, steps, lambda old: _joined(old, value, options))
    return put(item, data)


def _replaced(data: Any, steps: Sequence[str], change: Any) -> Any:
    if not steps:
        return change(data)
    if isinstance(data, list):
        return [
            _replaced(each, steps[1:], change) if _is_meant(steps[0], at, each) else each
            for at, each in enumerate(data)
        ]
    if data is None or isinstance(data, dict):
        held = data or {}
        return {**held, steps[0]: _replaced(held.get(steps[0]), steps[1:], change)}
    raise CannotTell("it changes part of a string")


def _fields(data: Any, steps: Sequence[str]) -> Iterator[Any]:
    """What a path leads to (kyaml yaml/match.go)."""
    if not steps:
        yield data
    elif isinstance(data, list):
        for at, each in enumerate(data):
            if _is_meant(steps[0], at, each):
                yield from _fields(each, steps[1:])
    elif isinstance(data, dict):
        if steps[0] in data:
            yield from _fields(data[steps[0]], steps[1:])
    elif data is not None:
        raise CannotTell("it changes part of a string")


def _is_meant(step: str, at: int, item: Any) -> bool:
    if step == "*":
        return True
    if step.isdigit():
        return int(step) == at
    key, is_pair, value = step.partition("=")
    if not is_pair:
        raise CannotBuild(f"{step} is not an item of a list")
    text = item if not key else item.get(key) if isinstance(item, dict) else None
    try:
        return text is not None and search(value, str(text)) is not None
    except BadPattern as error:
        raise CannotBuild(f"{value} is not a regular expression: {error}") from error


def _steps(path: str) -> list[str]:
    """``spec.containers.[name=manager].image``; what stands in brackets may hold dots."""
    return [
        match[1] if match[1] is not None else match[2].replace("\\.", ".")
        for match in _STEP.finditer(path)
        if match[0] != "."
    ]


def _index(options: Mapping[str, Any]) -> int:
    index = options.get("index") or 0
    if not isinstance(index, int):
        raise CannotBuild(f"{index} is not an index")
    return index


def _joined(old: Any, value: Any, options: Mapping[str, Any]) -> Any:
    if not options.get("delimiter"):
        return value
    parts, index = str(old).split(str(options["delimiter"])), _index(options)
    if index < 0:
        parts.insert(0, str(value))
    elif index >= len(parts):
        parts.append(str(value))
    else:
        parts[index] = str(value)
    return str(options["delimiter"]).join(parts)
