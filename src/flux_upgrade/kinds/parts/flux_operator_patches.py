"""Patches that change the release of the flux-operator: kustomize puts another one in before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.kinds.formats.kustomize_patches import Text, inline, operations
from flux_upgrade.kinds.formats.yaml_places import Object, Value, readable
from flux_upgrade.kinds.parts import chart_patches
from flux_upgrade.kinds.parts.chart_place import Files, Source
from flux_upgrade.kinds.parts.chart_place import Place as Chart
from flux_upgrade.kinds.parts.flux_operator_places import OPERATOR, image, images, places
from flux_upgrade.kinds.parts.operator_release import last
from flux_upgrade.kinds.pin import SourceFile
from flux_upgrade.ports import Tree
from flux_upgrade.values import NamedTuple

_OF_CHARTS = ("HelmRelease", "HelmChart", "OCIRepository")


class Patched(NamedTuple):
    """Of a pin, wherever that stands."""

    file: SourceFile
    line: int
    """1-based, in the file."""
    where: str
    written: str


def patches(files: Sequence[SourceFile], tree: Tree) -> Iterator[Patched]:
    """Those of charts and manifests that are in ``files``, and of the operator's image."""
    charts = [chart for file in files for each in readable(file.content) for chart in _charts(file, each)]
    for found in chart_patches.Patches(Files(files), tree).of(charts):
        yield Patched(found.file, found.line, found.where, found.written)
    for file in files:
        for each in readable(file.content):
            for text in inline(each, file.content):
                yield from _of_images(file, text)


def _charts(file: SourceFile, each: Object) -> Iterator[Chart]:
    kind, name = each.text_at("kind"), each.text_at("metadata", "name")
    if kind in _OF_CHARTS:
        for place in places(file, each):
            yield Chart(file, place.line, place.where, Source(""), None, target=(kind, name))


def _of_images(file: SourceFile, text: Text) -> Iterator[Patched]:
    for inner in readable(text.content):
        for place in images(inner):
            yield Patched(file, text.before + place.line, f"patch of {place.where}", place.written)
    for operation in operations(text.content):
        value = Value(operation.text, 0, 0, operation.line)
        found = image(value, f"JSON patch, {'.'.join(operation.path)}")
        if found is not None and last(found.repository) == OPERATOR:
            yield Patched(file, text.before + found.line, found.where, found.written)
