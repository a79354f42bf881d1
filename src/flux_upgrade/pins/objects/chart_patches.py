"""Patches that change which version of the chart an object asks for, wherever kustomize takes them from.

kustomize, api/types/kustomization.go, patch.go and selector.go; fluxcd.io, "Kustomizations" (patches).
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Sequence

from flux_upgrade.model.patterns import BadPattern, is_whole
from flux_upgrade.pins.formats.kustomize_patches import PatchedPlace, operations, replaced, text_at, touches
from flux_upgrade.pins.formats.resource_sets import readable
from flux_upgrade.pins.objects.chart_place import HELM, SOURCE, VERSIONS, holding, identity
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import joined
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, Step
from flux_upgrade.snapshot.yaml_places import readable as objects_in

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
    ("patchesStrategicMerge",),
)


Target = tuple[str, str]  # Kind and name


def patches(files: Sequence[File], targets: Collection[Target | None], tree: Snapshot) -> Iterator[PatchedPlace]:
    """Yield the patches that change the version of the chart in one of ``targets``, whole objects left out."""
    for target in sorted({target for target in targets if target}):
        for file in holding(files, target[0].encode()):
            if not any(mark in file.content for mark in (target[1].encode(), b"patch", b"replacements")):
                continue
            for each in readable(file):
                group, kind, _, name = identity(each)
                if group in (HELM, SOURCE) and (kind, name) == target and not each.has(*_WHOLE[kind]):
                    yield from _merged(file, each, target, 0)
                yield from _listed(file, each, target, tree)
                yield from _replacements(file, each, target)


def _listed(file: File, each: Object, target: Target, tree: Snapshot) -> Iterator[PatchedPlace]:
    """The patches of a Kustomization, whose texts stand there or in a file."""
    for entry in (entry for path in _LISTS for entry in each.entries(*path)):
        kind, name = (each.text_at(*entry, "target", key) for key in ("kind", "name"))
        if not _selects(kind, name, target):
            continue
        is_aimed = bool(kind or name)
        text = text_at(each, file.content, *entry, "patch") or text_at(each, file.content, *entry)
        if text is not None:
            yield from _text(file, text.content, target, text.before, is_aimed=is_aimed)
        path = joined(posixpath.dirname(file.path), each.text_at(*entry, "path"))
        patch = tree.at(path) if each.has(*entry, "path") else None
        if patch is not None:
            yield from _text(patch, patch.content, target, 0, is_aimed=is_aimed)


def _selects(kind: str, name: str, target: Target) -> bool:
    """Whether a patch's target may be it. Names are regular expressions for the whole name."""
    for pattern, text in zip((kind, name), target, strict=True):
        try:
            if pattern and not is_whole(pattern, text):
                return False
        except BadPattern:
            continue
    return True


def _text(file: File, text: bytes, target: Target, before: int, *, is_aimed: bool) -> Iterator[PatchedPlace]:
    """A JSON patch or strategic merge patches; ``before``: lines of the file above the text."""
    for each in operations(text):
        path = next((path for path in VERSIONS[target[0]] if touches(each, [*map(str, path)])), None)
        if path and is_aimed:
            yield _patch(file, before + each.line, path, each.text, target)
    for each_object in objects_in(text):
        if is_aimed or identity(each_object)[1::2] == target:
            yield from _merged(file, each_object, target, before)


def _merged(file: File, each: Object, target: Target, before: int) -> Iterator[PatchedPlace]:
    for path in VERSIONS[target[0]]:
        if each.has(*path):
            yield _patch(file, before + each.line_at(*path), path, each.text_at(*path), target)
            return


def _replacements(file: File, each: Object, target: Target) -> Iterator[PatchedPlace]:
    fields = {".".join(map(str, path)): path for path in VERSIONS[target[0]]}
    for kind, name, field in replaced(each):
        if field.text in fields and _selects(kind, name, target):
            yield _patch(file, field.line, fields[field.text], "", target)


def _patch(file: File, line: int, path: tuple[Step, ...], written: str, target: Target) -> PatchedPlace:
    of = " ".join(target)
    return PatchedPlace(file, line, f"patch of {of}, {'.'.join(map(str, path))}", written, of)
