"""Charts of the repository that depend on the chart flux-instance: the version is in their values.

A HelmRelease or an Application that installs such a chart may have values of its own.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.objects import argo_values
from flux_upgrade.pins.objects.chart_dependencies import LOCKS, Dependency, dependencies
from flux_upgrade.pins.objects.flux_distribution import CHART, VALUES, Distribution, of_layers, of_release
from flux_upgrade.pins.objects.release_values import Stated, Unread, local_chart, values_file
from flux_upgrade.pins.pin import Pin, reported_pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import joined
from flux_upgrade.snapshot.yaml_places import Object, Step

_KINDS = (b"HelmRelease", b"argoproj.io")
_APPLICATIONS: Mapping[str, tuple[Step, ...]] = {
    "Application": ("spec",),
    "ApplicationSet": ("spec", "template", "spec"),
}
_VERSION = (*VALUES, "distribution", "version")
_YAML = (".yaml", ".yml")
_NOT_CHANGED = "flux-upgrade reports the values of an Application but does not change them"
_UNUSED = "no HelmRelease and no Application in this repository uses this file"


def is_installed_by(each: Object, context: PinContext) -> bool:
    """Whether a HelmRelease installs a chart that ``found`` speaks for."""
    directory = local_chart(each)
    paths = (posixpath.join(directory, name) for name in LOCKS) if directory is not None else ()
    return any(any(dependencies(file, CHART)) for file in filter(None, map(context.tree.at, paths)))


def found(files: Sequence[File], kind: str, context: PinContext) -> Iterator[Distribution | Pin]:
    """What each such chart installs; a pin of ``kind`` where an Application or an unknown user decides."""
    charts = {each.directory: each for file in files for each in dependencies(file, CHART)}
    shown: dict[str, list[bool]] = {directory: [] for directory in charts}
    for file, each in _users(charts, context) if charts else ():
        directory = local_chart(each)
        if directory in charts:
            shown[directory].append(False)
            yield from of_release(file, each, context.config_maps, charts[directory].key)
        for source, path in _sources(each):
            if path in charts:
                value = argo_values.stated(file, each, source, context.tree, charts[path].key, *_VERSION)
                shown[path].append(value is None)
                if value is not None:
                    spot = value.value.line, f"{each.called()}, {value.field}", value.value.text
                    yield reported_pin(value.file, kind, spot, _NOT_CHANGED, "edit the version yourself")
    for directory, chart in charts.items():
        if not shown[directory] or any(shown[directory]):
            others = [] if shown[directory] else [*_other_values(chart, context)]
            path = posixpath.join(chart.directory, "values.yaml")
            own = [values_file(context.tree, path)] if context.tree.at(path) is not None else []
            layers = (*(Unread(other.file.path, "which no HelmRelease uses") for other in others), *own)
            line = chart.object.line_at(*chart.entry)
            yield of_layers(_called(chart), chart.file, line, layers, (chart.key, *VALUES))
            for other in others:
                spot = other.value.line, f"values of {_called(chart)}, {other.field}", other.value.text
                yield reported_pin(other.file, kind, spot, _UNUSED, "edit it together with values.yaml")


def _called(chart: Dependency) -> str:
    return f"chart {chart.object.text_at('name') or chart.directory}"


def _users(charts: Mapping[str, Dependency], context: PinContext) -> Iterator[tuple[File, Object]]:
    """HelmReleases and Applications in files that name the directory of a chart."""
    names = [posixpath.basename(directory).encode() for directory in charts]
    for file in filter(None, map(context.tree.at, context.tree.candidates())):
        is_named = all(any(mark in file.content for mark in marks) for marks in (_KINDS, names))
        if is_named and file.path not in context.tree.patch_files:
            yield from ((file, each) for each in file.readable)


def _sources(each: Object) -> Iterator[tuple[tuple[Step, ...], str]]:
    """The sources of an Application that are directories, with their paths."""
    above = _APPLICATIONS.get(each.text_at("kind"))
    if above is None or not each.text_at("apiVersion").startswith("argoproj.io/"):
        return
    for source in ((*above, "source"), *each.entries(*above, "sources")):
        if each.has(*source, "path"):
            yield source, joined("", each.text_at(*source, "path"))


def _other_values(chart: Dependency, context: PinContext) -> Iterator[Stated]:
    """Of files like ``values-production.yaml`` that state the version, too."""
    begin = posixpath.join(chart.directory, "values")
    for path in context.tree.named(_YAML):
        if path.startswith(begin) and path != f"{begin}.yaml" and posixpath.dirname(path) == chart.directory:
            version = values_file(context.tree, path).stated(chart.key, *_VERSION)
            if version is not None:
                yield version
