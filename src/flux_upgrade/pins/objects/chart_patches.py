"""Patches that change which version of the chart an object asks for, wherever kustomize takes them from.

kustomize, api/types/kustomization.go, patch.go and selector.go; fluxcd.io, "Kustomizations" (patches).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.manifests.nodes import ScalarNode
from flux_upgrade.model.files import Tree
from flux_upgrade.model.text_edit import decoded
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.kustomize_patches import operations, touches
from flux_upgrade.pins.formats.yaml_places import Object, Step, readable
from flux_upgrade.pins.objects.chart_place import (
    HELM,
    SOURCE,
    VERSIONS,
    ChartVersionPlace,
    Files,
    folder_of,
    identity,
    joined,
    read,
)
from flux_upgrade.pins.pin import SourceFile

_WHOLE: dict[str, tuple[Step, ...]] = {
    "HelmRelease": ("spec", "chart", "spec", "chart"),
    "HelmChart": ("spec", "chart"),
    "OCIRepository": ("spec", "url"),
}
"""What a kind cannot do without, and a patch of it can."""
_LISTS: tuple[tuple[Step, ...], ...] = (
    ("patches",),
    ("patchesJson6902",),
    ("spec", "patches"),
    ("spec", "patchesJson6902"),
)
_STRATEGIC: tuple[tuple[Step, ...], ...] = (("patchesStrategicMerge",), ("spec", "patchesStrategicMerge"))


class ChartPatch(NamedTuple):
    """A patch that changes the version of the chart in another object."""

    file: SourceFile
    line: int
    where: str
    raw: str
    """The version; empty where it is not a plain one."""
    of: str
    """What is patched: ``HelmRelease flux``."""


Target = tuple[str, str]
"""Kind and name."""


class ChartPatches:
    """The patches in a tree."""

    def __init__(self, files: Files, tree: Tree) -> None:
        self._files, self._tree = files, tree

    def of(self, places: Sequence[ChartVersionPlace]) -> Iterator[ChartPatch]:
        """The patches that change the version of a place; the place itself is none."""
        targets = sorted({place.target for place in places if place.target})
        for target in targets:
            for file in self._files.holding(target[0].encode()):
                if not any(mark in file.content for mark in (target[1].encode(), b"patch", b"replacements")):
                    continue
                for each in self._files.readable(file):
                    yield from _objects(file, each, target)
                    yield from self._listed(file, each, target)
                    yield from _replacements(file, each, target)

    def _listed(self, file: SourceFile, each: Object, target: Target) -> Iterator[ChartPatch]:
        """The patches of a Kustomization, whose texts stand there or in a file."""
        for path in _LISTS:
            for at in range(each.count(*path)):
                if _selects(each, (*path, at, "target"), target):
                    yield from self._texts(file, each, (*path, at), target)
        for path in _STRATEGIC:
            for at in range(each.count(*path)):
                yield from _inline(file, each, (*path, at), target)

    def _texts(
        self, file: SourceFile, each: Object, entry: tuple[Step, ...], target: Target
    ) -> Iterator[ChartPatch]:
        yield from _inline(file, each, (*entry, "patch"), target)
        path = joined(folder_of(file.path), each.text_at(*entry, "path"))
        content = read(self._tree, path) if each.has(*entry, "path") else None
        if content is not None:
            is_aimed = each.has(*entry, "target", "kind") or each.has(*entry, "target", "name")
            yield from _text(SourceFile(path, content), content, target, 0, is_aimed=is_aimed)


def _objects(file: SourceFile, each: Object, target: Target) -> Iterator[ChartPatch]:
    group, kind, _, name = identity(each)
    if group in (HELM, SOURCE) and (kind, name) == target and not each.has(*_WHOLE[kind]):
        yield from _merged(file, each, target, 0)


def _selects(each: Object, path: tuple[Step, ...], target: Target) -> bool:
    """Whether a patch's target may be it. Names are regular expressions for the whole name."""
    for key, text in zip(("kind", "name"), target, strict=True):
        pattern = each.text_at(*path, key)
        try:
            if pattern and not re.fullmatch(pattern, text):
                return False
        except re.error:
            continue
    return True


def _inline(file: SourceFile, each: Object, path: tuple[Step, ...], target: Target) -> Iterator[ChartPatch]:
    value = each.at(*path)
    if value is not None:
        is_block = decoded(file.content)[value.start : value.start + 1] in ("|", ">")
        is_aimed = each.has(*path[:-1], "target", "kind") or each.has(*path[:-1], "target", "name")
        before = value.line - (not is_block)
        yield from _text(file, value.text.encode(), target, before, is_aimed=is_aimed)


def _text(
    file: SourceFile, text: bytes, target: Target, before: int, *, is_aimed: bool
) -> Iterator[ChartPatch]:
    """A JSON patch or strategic merge patches; ``before``: lines of the file above the text."""
    for each in operations(text):
        path = next((path for path in VERSIONS[target[0]] if touches(each, [*map(str, path)])), None)
        if path and is_aimed:
            written = each.value.value if isinstance(each.value, ScalarNode) else ""
            yield _patch(file, before + each.line, path, written, target)
    for each_object in readable(text):
        if is_aimed or identity(each_object)[1::2] == target:
            yield from _merged(file, each_object, target, before)


def _merged(file: SourceFile, each: Object, target: Target, before: int) -> Iterator[ChartPatch]:
    for path in VERSIONS[target[0]]:
        if each.has(*path):
            yield _patch(file, before + each.line_at(*path), path, each.text_at(*path), target)
            return


def _replacements(file: SourceFile, each: Object, target: Target) -> Iterator[ChartPatch]:
    fields = {".".join(map(str, path)): path for path in VERSIONS[target[0]]}
    for at in range(each.count("replacements")):
        for number in range(each.count("replacements", at, "targets")):
            entry = ("replacements", at, "targets", number)
            if not _selects(each, (*entry, "select"), target):
                continue
            for which in range(each.count(*entry, "fieldPaths")):
                path = fields.get(each.text_at(*entry, "fieldPaths", which))
                if path:
                    yield _patch(file, each.line_at(*entry, "fieldPaths", which), path, "", target)


def _patch(file: SourceFile, line: int, path: tuple[Step, ...], written: str, target: Target) -> ChartPatch:
    of = " ".join(target)
    return ChartPatch(file, line, f"patch of {of}, {'.'.join(map(str, path))}", written, of)
