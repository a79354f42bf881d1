"""Patches: strategic merge patches and JSON patches, for an object that they name or for those selected."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flux_upgrade.kustomize import json_patch, strategic
from flux_upgrade.kustomize.errors import CannotBuild, CannotTell
from flux_upgrade.kustomize.items import Id, Item, Items, Step, StepResult, Touch, each_of, id_of, mapping, put
from flux_upgrade.kustomize.json_patch import JsonPatchOperation
from flux_upgrade.kustomize.kustomization import Location, PatchText
from flux_upgrade.kustomize.selectors import Selector
from flux_upgrade.manifests.nodes import MappingNode, Node, SequenceNode, child, compose, construct
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import decoded, line_of
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.yaml_places import BrokenDocument, objects

_MARK = "internal.config.kubernetes.io/previousNames"


class StrategicMergePatch(NamedTuple):
    patch: Mapping[str, Any]
    target: Selector | None
    options: frozenset[str]

    def __str__(self) -> str:
        """``patch of Deployment/source-controller``."""
        verb = "deletion" if self.patch.get("$patch") == "delete" else "patch"
        return f"{verb} of {self.target or id_of(self.patch)}"

    def apply(self, items: Items) -> StepResult:
        """With its targets patched. Raises CannotBuild, CannotTell."""
        if self.target is not None:
            return each_of(items, self.target.selected(items), self._patched)
        wanted = id_of(self.patch)
        targets = [item for item in items if any(wanted.identity == each.identity for each in item.ids)]
        if len(targets) != 1:
            raise _none_or_many(wanted, items, len(targets))
        return each_of(items, targets, self._patched)

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


_MOST = 200  # Operations of one patch: for each, what it finds is compared. People write ten.


class JsonPatch(NamedTuple):
    operations: tuple[JsonPatchOperation, ...]
    target: Selector | None
    marks: bool  # Whether kustomize notes the name that an object had; it does in `patches`

    def apply(self, items: Items) -> StepResult:
        """With its targets patched. Raises CannotBuild, CannotTell."""
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
) -> Iterator[Step]:
    """The patches of a text; none where it holds comments only. Raises CannotBuild, CannotTell.

    ``is_json``: nothing else is taken.
    """
    operations = _operations(text)
    if operations:
        location = Location(text.path, operations[0].line)
        patch = JsonPatch(operations, target, marks=not is_json)
        # What an operation removes was meant to go.
        removes = any(each.op == "remove" for each in operations)
        yield Step(location, f"JSON patch of {target or 'nothing'}", patch.apply, removes=removes)
    elif operations is None and is_json:
        raise CannotBuild("it is not a list of operations")
    elif operations is None:
        yield from _strategic(text, target, options)


def _strategic(text: PatchText, target: Selector | None, options: frozenset[str]) -> Sequence[Step]:
    steps = []
    for each in objects(text.content):
        if isinstance(each, BrokenDocument):
            raise CannotTell(each.message)
        location = text.location(each.line)
        try:
            patch = StrategicMergePatch(each.data(), target, options)
            id_of(patch.patch)
        except Unreadable as error:
            raise CannotBuild(f"it is not a patch: {error.message}", location.line) from error
        steps.append(Step(location, str(patch), patch.apply))
    if target is not None and len(steps) > 1:
        raise CannotBuild(f"a target takes one patch, but there are {len(steps)}")
    return steps


def _operations(text: PatchText) -> tuple[JsonPatchOperation, ...] | None:
    """Those of a JSON patch; None where the text is something else."""
    content = decoded(text.content).removeprefix("\ufeff")
    items = None
    if content.lstrip().startswith("["):
        # What begins like JSON is not read as YAML.
        try:
            items = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise CannotBuild(f"it is not valid JSON: {error}") from error
    try:
        node = compose(content)
    except Unreadable:
        # JSON may be laid out with tabs, which YAML does not take.
        if items is None or not all(isinstance(each, dict) for each in items):
            return None
        return tuple(_stated(each, text.location(1).line) for each in items)
    if not isinstance(node, SequenceNode):
        return None
    if len(node.value) > _MOST:
        raise CannotTell(f"the patch has more than {_MOST} operations")
    return tuple(_operation(text, content, item) for item in node.value)


def _operation(text: PatchText, content: str, item: Node) -> JsonPatchOperation:
    # The line that people look for is that of the path.
    path = child(item, "path") if isinstance(item, MappingNode) else None
    line = text.location(line_of(content, (path or item).start_mark.index)).line
    if not isinstance(item, MappingNode):
        raise CannotBuild("an item of the list is not an operation", line)
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
    near = [item.current for item in items if (item.current.kind, item.current.name) == (wanted.kind, wanted.name)]
    hint = "remove the patch, or use an existing object"
    if near:
        hint = f"use the existing object {near[0].spelled}"
    return CannotBuild(message, hint=hint)
