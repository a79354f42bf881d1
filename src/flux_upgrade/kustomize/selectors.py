"""Which objects a ``target`` selects.

Its fields are regular expressions that have to match from end to end; an empty one matches anything
(kustomize api/types/selector.go). Labels are selected as ``kubectl -l`` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flux_upgrade.kustomize.errors import CannotBuild, CannotTell
from flux_upgrade.kustomize.items import Id, Item, Items
from flux_upgrade.model.patterns import BadPattern, is_whole
from flux_upgrade.model.values import NamedTuple

_FIELDS = ("group", "version", "kind", "namespace", "name")
_REQUIREMENT = re.compile(
    r"\s*(?:(?P<key>[\w./-]+)\s*(?:"
    r"(?P<op>==|=|!=)\s*(?P<value>[\w.-]*)|"
    r"(?P<set>in|notin)\s*\((?P<values>[^()]*)\))?|"
    r"!\s*(?P<absent>[\w./-]+))\s*"
)
_BETWEEN = re.compile(r",(?![^(]{0,1000}\))")


class Selector(NamedTuple):
    """The ``target`` of a patch."""

    fields: Mapping[str, str]
    labels: str = ""
    annotations: str = ""

    @classmethod
    def read(cls, target: Any) -> Selector:
        """Raises CannotBuild where kustomize would not take it."""
        if not isinstance(target, dict):
            raise CannotBuild("its target is not a mapping")
        fields = {name: _text(target, name) for name in _FIELDS}
        return cls(fields, _text(target, "labelSelector"), _text(target, "annotationSelector"))

    def selected(self, items: Items) -> list[Item]:
        """In the order of the items. Raises CannotBuild, CannotTell."""
        return [item for item in items if self._selects(item)]

    def _selects(self, item: Item) -> bool:
        first, now = item.ids[0], item.current
        return (
            any(self._fits("namespace", each.effective_namespace) for each in (first, now))
            and any(self._fits("name", each.name) for each in (first, now))
            and all(self._fits(name, getattr(now, name)) for name in ("group", "version", "kind"))
            and _matches(self.labels, item, "labels")
            and _matches(self.annotations, item, "annotations")
        )

    def _fits(self, field: str, text: str) -> bool:
        pattern = self.fields[field]
        try:
            return not pattern or is_whole(pattern, text)
        except BadPattern as error:
            raise CannotBuild(f"{pattern} is not a regular expression: {error}") from error

    def __str__(self) -> str:
        """``Deployment/(helm|source)-controller``, or what else narrows it."""
        kind, name = self.fields["kind"], self.fields["name"]
        what = "/".join(filter(None, (kind, name))) or "any object"
        rest = [f"{key} {self.fields[key]}" for key in ("group", "namespace") if self.fields[key] and not name]
        marks = [*rest, *filter(None, (self.labels, self.annotations))]
        return f"{what} with {', '.join(marks)}" if marks else what


def exact(target: Mapping[str, Any]) -> Id:
    """A reference that is no pattern: empty fields match anything."""
    return Id(*(_text(target, name) for name in _FIELDS))


def refers_to(wanted: Id, item: Item) -> bool:
    """Whether such a reference means an object (kyaml resid: IsSelectedBy)."""
    return any(
        wanted.name in ("", each.name)
        and (not wanted.namespace or wanted.effective_namespace == each.effective_namespace)
        and all(not mine or mine == its for mine, its in zip(wanted[:3], each[:3], strict=True))
        for each in item.ids
    )


def _text(target: Mapping[str, Any], name: str) -> str:
    value = target.get(name)
    if value is not None and not isinstance(value, str):
        raise CannotBuild(f"{name} of its target is not text")
    return value or ""


def _matches(selector: str, item: Item, field: str) -> bool:
    if not selector.strip():
        return True
    marks = item.data["metadata"].get(field)
    if not isinstance(marks, dict | None):
        raise CannotTell(f"the {field} of {item.current} are not a mapping")
    found = {str(key): str(value) for key, value in (marks or {}).items()}
    return all(_meets(requirement, found) for requirement in _BETWEEN.split(selector))


def _meets(requirement: str, found: Mapping[str, str]) -> bool:
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None:
        if re.search(r"[<>]", requirement):
            raise CannotTell(f"{requirement.strip()} compares numbers")
        raise CannotBuild(f"{requirement.strip() or 'an empty text'} is not a selector")
    key, value = match["key"], match["value"]
    if match["absent"]:
        return match["absent"] not in found
    if match["set"]:
        values = {each.strip() for each in match["values"].split(",")}
        return (found.get(key) in values) == (match["set"] == "in")
    if match["op"]:
        return (found.get(key) == value) == (match["op"] != "!=")
    return key in found
