"""Patches of kustomize: the texts that stand in a Kustomization, and JSON patches (RFC 6902).

They change a pin somewhere else, so that what stands there is not what is applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.manifests.nodes import MappingNode, Node, ScalarNode, SequenceNode
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import decoded
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import Object, Step, Value, documents_of

# kustomize api/types/kustomization.go; spec.patches is Flux's, spec.kustomize.patches flux-operator's.
_LISTS: tuple[tuple[tuple[Step, ...], tuple[Step, ...]], ...] = (
    (("patches",), ("patch",)),
    (("patchesJson6902",), ("patch",)),
    (("patchesStrategicMerge",), ()),
    (("spec", "patches"), ("patch",)),
    (("spec", "kustomize", "patches"), ("patch",)),
)


class InlinePatch(NamedTuple):
    content: bytes
    before: int  # Lines of the file above its first
    target_kind: str = ""  # Of the objects that it is for, a regular expression; empty: what it says itself, or any
    target_name: str = ""


class PatchedPlace(NamedTuple):
    """Where a patch changes what is a pin in another object, be it in the same file."""

    file: File
    line: int  # 1-based, in the file
    where: str
    raw: str  # What it puts there; empty where that is not a plain value
    of: str = ""  # What is patched: `HelmRelease flux`
    removes: bool = False  # It takes the field away

    @property
    def spot(self) -> tuple[int, str, str]:
        """Line, place and value, as ``unknown_pin`` takes them."""
        return self.line, self.where, self.raw


class PatchOperation(NamedTuple):
    """One of a JSON patch."""

    path: tuple[str, ...]  # Keys from the object's root; of a list an index or `-`
    value: Node | None
    line: int  # 1-based, in the text of the patch

    @property
    def text(self) -> str:
        return self.value.value if isinstance(self.value, ScalarNode) else ""


def inline(each: Object, content: bytes) -> Iterator[InlinePatch]:
    """The patches that are written out in an object; ``content`` is the file that it stands in."""
    for place, inner in _LISTS:
        for entry in each.entries(*place):
            text = text_at(each, content, *entry, *inner)
            if text is not None:
                kind, name = (each.text_at(*entry, "target", key) for key in ("kind", "name"))
                yield text._replace(target_kind=kind, target_name=name)


def text_at(each: Object, content: bytes, *path: Step) -> InlinePatch | None:
    """The scalar at a path as a patch, for what it says itself; None where there is none."""
    value = each.at(*path)
    if value is None:
        return None
    is_block = decoded(content)[value.start : value.start + 1] in ("|", ">")
    return InlinePatch(value.text.encode(), value.line - (not is_block))


def replaced(each: Object) -> Iterator[tuple[str, str, Value]]:
    """Kind and name of what replacements choose, and each field path (kustomize api/types/replacement.go)."""
    for entry in each.entries("replacements"):
        for target in each.entries(*entry, "targets"):
            kind, name = (each.text_at(*target, "select", key) for key in ("kind", "name"))
            for path in each.scalars(*target, "fieldPaths"):
                yield kind, name, path


def operations(content: bytes) -> Iterator[PatchOperation]:
    """The operations of a JSON patch; none where the text is something else."""
    document, *others = documents_of(content) or (None,)
    if document is None or others:
        return
    try:
        node = document.root
    except Unreadable:  # `File.objects` has a broken document of a file, and its reason
        return
    if not isinstance(node, SequenceNode):
        return
    for item in node.value:
        fields = {key.value: value for key, value in item.value} if isinstance(item, MappingNode) else {}
        path, action = fields.get("path"), fields.get("op")
        if isinstance(path, ScalarNode) and isinstance(action, ScalarNode) and action.value != "test":
            keys = tuple(path.value.strip("/").split("/"))
            yield PatchOperation(keys, fields.get("value"), document.line + path.start_mark.line)


def touches(operation: PatchOperation, pin: Sequence[str | None]) -> bool:
    """Whether it writes the scalar at ``pin``: keys from the root, None for any item of a list."""
    if len(operation.path) > len(pin):
        return False
    if any(key not in (None, step) for key, step in zip(pin, operation.path, strict=False)):
        return False
    return _has(operation.value, pin[len(operation.path) :])


def _has(node: Node | None, path: Sequence[str | None]) -> bool:
    if not path:
        return True
    if isinstance(node, SequenceNode) and path[0] is None:
        return any(_has(item, path[1:]) for item in node.value)
    if isinstance(node, MappingNode):
        return any(_has(value, path[1:]) for key, value in node.value if key.value == path[0])
    return False
