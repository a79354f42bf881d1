"""Patches: strategic merge patches and JSON patches, for an object that they name or for those selected."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flux_upgrade.impact.overlay import json_patch, strategic
from flux_upgrade.impact.overlay.items import Id, Item, Items, id_of, items_known_as
from flux_upgrade.impact.overlay.json_patch import JsonPatchOperation
from flux_upgrade.impact.overlay.result import CannotBuild, CannotTell
from flux_upgrade.impact.overlay.selectors import Selector
from flux_upgrade.impact.overlay.steps import Location, Step, StepResult, Touch, each_of, mapping, put
from flux_upgrade.manifests.nodes import MappingNode, Node, SequenceNode, child, compose, construct
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import decoded, line_of
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.yaml_places import BrokenDocument, objects

_MARK = "internal.config.kubernetes.io/previousNames"


class PatchText(NamedTuple):
    """The text of a patch, in a file of its own or inside of another."""

    path: str
    content: bytes
    before: int = 0
    """Lines of the file above its first."""
    is_one_line: bool = False
    """Its lines are not the file's: it stands in quotes."""

    def location(self, line: int) -> Location:
        """Where a line of the text is; 1-based."""
        return Location(self.path, self.before + (1 if self.is_one_line else line))


@dataclass(frozen=True)
class StrategicMergePatch(Step):
    """One strategic merge patch."""

    patch: Mapping[str, Any]
    target: Selector | None = None
    options: frozenset[str] = frozenset()

    @property
    def what(self) -> str:
        verb = "deletion" if self.patch.get("$patch") == "delete" else "patch"
        return f"{verb} of {self.target or self._id}"

    @property
    def _id(self) -> Id:
        return id_of(self.patch)

    def apply(self, items: Items) -> StepResult:
        return each_of(items, self._targets(items), self._patched)

    def _targets(self, items: Items) -> Sequence[Item]:
        if self.target is not None:
            return self.target.selected(items)
        targets = items_known_as(items, self._id)
        if len(targets) != 1:
            raise _none_or_many(self._id, items, len(targets))
        return targets

    def _patched(self, item: Item) -> Touch:
        data = strategic.merged(item.data, self.patch)
        if data is None:
            return Touch(item, None, is_changed=True)
        now = item.current
        data = {**data, **{key: item.data[key] for key in ("apiVersion",) if key in item.data}}
        if "allowKindChange" not in self.options:
            data["kind"] = now.kind
        metadata = dict(mapping(data.get("metadata")))
        if "allowNameChange" not in self.options:
            metadata["name"] = now.name
        # kustomize never lets a patch move an object to another namespace.
        metadata.pop("namespace", None)
        if now.namespace:
            metadata["namespace"] = now.namespace
        return put(item, {**data, "metadata": metadata})


@dataclass(frozen=True)
class JsonPatch(Step):
    """One JSON patch."""

    operations: tuple[JsonPatchOperation, ...]
    target: Selector | None
    marks: bool = True
    """Whether kustomize notes the name that an object had; it does in ``patches``."""

    @property
    def what(self) -> str:
        return f"JSON patch of {self.target or 'nothing'}"

    def apply(self, items: Items) -> StepResult:
        if self.target is None:
            raise CannotBuild("a JSON patch needs a target")
        return each_of(items, self.target.selected(items), self._patched)

    def _patched(self, item: Item) -> Touch:
        # What kustomize notes are annotations: there are some, whether or not the object has any.
        is_marked = self.marks or len(item.ids) > 1
        applied = json_patch.apply(_marked(item.data) if is_marked else item.data, self.operations)
        after = item.with_data(_unmarked(applied.data) if is_marked else applied.data)
        return Touch(item, after, applied.is_changed, applied.landings)


def _marked(data: Any) -> Any:
    metadata = data["metadata"]
    annotations = {**mapping(metadata.get("annotations")), _MARK: ""}
    return {**data, "metadata": {**metadata, "annotations": annotations}}


def _unmarked(data: Any) -> Any:
    metadata = dict(mapping(data.get("metadata")))
    annotations = mapping(metadata.pop("annotations", None))
    rest = {key: value for key, value in annotations.items() if key != _MARK}
    return {**data, "metadata": {**metadata, "annotations": rest} if rest else metadata}


def read(
    text: PatchText, target: Selector | None, options: frozenset[str] = frozenset(), *, is_json: bool = False
) -> Iterator[StrategicMergePatch | JsonPatch]:
    """The patches of a text; none where it holds comments only. Raises CannotBuild, CannotTell.

    ``is_json``: nothing else is taken.
    """
    operations = _operations(text)
    if operations is not None:
        if operations:
            yield JsonPatch(Location(text.path, operations[0].line), operations, target, marks=not is_json)
        return
    if is_json:
        raise CannotBuild("it is no list of operations")
    yield from _strategic(text, target, options)


def _strategic(
    text: PatchText, target: Selector | None, options: frozenset[str]
) -> Iterator[StrategicMergePatch]:
    patches = []
    for each in objects(text.content):
        if isinstance(each, BrokenDocument):
            raise CannotTell(each.message)
        try:
            patch = each.data()
            id_of(patch)
        except Unreadable as error:
            raise CannotBuild(f"it is no patch: {error.message}", text.location(each.line).line) from error
        patches.append(StrategicMergePatch(text.location(each.line), patch, target, options))
    if target is not None and len(patches) > 1:
        raise CannotBuild(f"a target takes one patch, and there are {len(patches)}")
    yield from patches


def _operations(text: PatchText) -> tuple[JsonPatchOperation, ...] | None:
    """Those of a JSON patch; None where the text is something else."""
    content = decoded(text.content).removeprefix("\ufeff")
    if content.lstrip().startswith("["):
        # What begins like JSON is not read as YAML.
        try:
            json.loads(content)
        except (ValueError, RecursionError) as error:
            raise CannotBuild(f"it begins like JSON, and is none: {error}") from error
    try:
        node = compose(content)
    except Unreadable:
        return _of_json(text, content)
    if not isinstance(node, SequenceNode):
        return None
    return tuple(_operation(text, content, item) for item in node.value)


def _of_json(text: PatchText, content: str) -> tuple[JsonPatchOperation, ...] | None:
    """JSON may be laid out with tabs, which YAML does not take."""
    try:
        items = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        return None
    return tuple(_stated(each, text.location(1).line) for each in items)


def _operation(text: PatchText, content: str, item: Node) -> JsonPatchOperation:
    # The line that people look for is that of the path.
    path = child(item, "path") if isinstance(item, MappingNode) else None
    line = text.location(line_of(content, (path or item).start_mark.index)).line
    if not isinstance(item, MappingNode):
        raise CannotBuild("an item of the list is no operation", line)
    try:
        return _stated(construct(item), line)
    except Unreadable as error:
        raise CannotTell(error.message) from error


def _stated(fields: Mapping[str, Any], line: int) -> JsonPatchOperation:
    op, path, source = fields.get("op"), fields.get("path"), fields.get("from", "")
    if not (isinstance(op, str) and isinstance(path, str) and isinstance(source, str)):
        raise CannotBuild("an operation needs op and path", line)
    return JsonPatchOperation(op, path, line, fields.get("value"), source)


def _none_or_many(wanted: Id, items: Items, count: int) -> CannotBuild:
    if count:
        return CannotBuild(f"{count} objects are {wanted.spelled}")
    message = f"there is no {wanted} (“no matches for Id {wanted.spelled}”)"
    near = [
        item.current for item in items if (item.current.kind, item.current.name) == (wanted.kind, wanted.name)
    ]
    hint = "remove the patch, or name an object that is there"
    if near:
        hint = f"the object that is there is {near[0].spelled}: name it like that"
    return CannotBuild(message, hint=hint)
