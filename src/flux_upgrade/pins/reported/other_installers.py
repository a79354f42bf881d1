"""Objects by which other systems install Flux: they are named, and never changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from flux_upgrade.model.errors import Unreadable, UnsupportedPin
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.flux2_repository import judge, parse
from flux_upgrade.pins.formats.yaml_places import Object, Step, readable
from flux_upgrade.pins.pin import Pin, PinChange, PinState, SourceFile, named

NAME = "other-installers"

_CHART = r"(?:.*/)?flux2"
_REPOSITORY = r"(?:https://|ssh://git@|git@)github\.com[:/]fluxcd/flux2(?:\.git)?/?"
_FOLDER = r"(?:\./)?manifests/(?:install|crds)/?"
_RELEASE = r"https://github\.com/fluxcd/flux2/releases/.*/install\.yaml"
_OF_CHART = "raise the version by hand; the chart's appVersion says which Flux it installs"
_BY_HAND = "raise the version by hand"
_EACH = "*"
"""In a path: every item of the list."""


class _Style(NamedTuple):
    """How an object of another system installs Flux."""

    group: str
    """Of ``apiVersion``; empty where the file has none."""
    kind: str
    conditions: tuple[tuple[tuple[str, ...], str], ...]
    """Paths below the object, and what has to stand there, as a regular expression."""
    version: tuple[str, ...]
    hint: str


def _argo(kind: str, *above: str) -> tuple[_Style, ...]:
    chart = (((*above, "chart"), _CHART),)
    folder = (((*above, "repoURL"), _REPOSITORY), ((*above, "path"), _FOLDER))
    version = (*above, "targetRevision")
    return (
        _Style("argoproj.io", kind, chart, version, _OF_CHART),
        _Style("argoproj.io", kind, folder, version, _BY_HAND),
    )


_PROVIDER = ("spec", "forProvider", "chart")
_CHARTS = ("spec", "helmCharts", _EACH)
_CONTENTS = ("directories", _EACH, "contents", _EACH, "githubRelease")
_STYLES = (
    *_argo("Application", "spec", "source"),
    *_argo("Application", "spec", "sources", _EACH),
    *_argo("ApplicationSet", "spec", "template", "spec", "source"),
    *_argo("ApplicationSet", "spec", "template", "spec", "sources", _EACH),
    _Style(
        "helm.crossplane.io", "Release", (((*_PROVIDER, "name"), _CHART),), (*_PROVIDER, "version"), _OF_CHART
    ),
    _Style(
        "addons.cluster.x-k8s.io",
        "HelmChartProxy",
        ((("spec", "chartName"), _CHART),),
        ("spec", "version"),
        _OF_CHART,
    ),
    *(
        _Style(
            "config.projectsveltos.io",
            kind,
            (((*_CHARTS, "chartName"), _CHART),),
            (*_CHARTS, "chartVersion"),
            _OF_CHART,
        )
        for kind in ("ClusterProfile", "Profile")
    ),
    _Style(
        "operators.coreos.com",
        "Subscription",
        ((("spec", "name"), "flux"),),
        ("spec", "startingCSV"),
        "choose the release with its channel and startingCSV, or move to the Flux Operator",
    ),
    _Style(
        "kubernetesconfiguration.azure.com",
        "Extension",
        ((("spec", "extensionType"), r"(?i:microsoft\.flux)"),),
        ("spec", "version"),
        "Azure decides which Flux its extension installs",
    ),
    _Style(
        "vendir.k14s.io", "Config", (((*_CONTENTS, "slug"), "fluxcd/flux2"),), (*_CONTENTS, "tag"), _BY_HAND
    ),
    # Rancher Fleet, in fleet.yaml, and the configuration of Talos: both without apiVersion.
    _Style("", "", ((("helm", "chart"), _CHART),), ("helm", "version"), _OF_CHART),
    _Style(
        "",
        "",
        ((("cluster", "extraManifests", _EACH), _RELEASE),),
        ("cluster", "extraManifests", _EACH),
        _BY_HAND,
    ),
)


def find(files: Sequence[SourceFile], world: PinContext) -> Iterator[Pin]:
    """See ``PinKind``."""
    del world
    for file in files:
        for each in readable(file.content):
            try:
                data = each.data()
            except Unreadable:
                continue
            for root, value in _roots(data, ()):
                yield from _in_object(file, each, root, value)


def change(pin: Pin, target: str, world: PinContext) -> PinChange:
    """Never. Raises UnsupportedPin."""
    del target, world
    raise UnsupportedPin(f"{pin.path}:{pin.line}: {pin.reason}", hint=pin.hint)


def _roots(value: Any, path: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], dict[str, Any]]]:
    """The object itself, and those that are nested in it: the bases of a Composition, say."""
    if isinstance(value, dict):
        if not path or (isinstance(value.get("apiVersion"), str) and "kind" in value):
            yield path, value
        children: Iterator[tuple[Step, Any]] = ((key, each) for key, each in value.items())
    elif isinstance(value, list):
        children = ((index, each) for index, each in enumerate(value))
    else:
        return
    for step, each in children:
        yield from _roots(each, (*path, step))


def _in_object(
    file: SourceFile, found: Object, root: tuple[Step, ...], data: dict[str, Any]
) -> Iterator[Pin]:
    group, kind = str(data.get("apiVersion", "")).partition("/")[0], str(data.get("kind", ""))
    for style in _STYLES:
        if (style.group, style.kind) != (group, kind):
            continue
        for indices in _matches(found, root, style):
            yield _pin(file, found, root, style, indices)


def _matches(found: Object, root: tuple[Step, ...], style: _Style) -> Iterator[tuple[int, ...]]:
    """For each place in the object that fits the style: which items of the lists on the way."""
    first = style.conditions[0][0]
    waiting: list[tuple[int, ...]] = [()]
    for at, step in enumerate(first):
        if step == _EACH:
            waiting = [
                (*indices, index)
                for indices in waiting
                for index in range(found.count(*root, *_filled(first[:at], indices)))
            ]
    for indices in waiting:
        texts = (
            (found.text_at(*root, *_filled(path, indices)), expected) for path, expected in style.conditions
        )
        if all(re.fullmatch(expected, text) for text, expected in texts):
            yield indices


def _filled(path: tuple[str, ...], indices: tuple[int, ...]) -> tuple[Step, ...]:
    left = iter(indices)
    return tuple(next(left) if step == _EACH else step for step in path)


def _pin(
    file: SourceFile, found: Object, root: tuple[Step, ...], style: _Style, indices: tuple[int, ...]
) -> Pin:
    version = (*root, *_filled(style.version, indices))
    named_at = (*root, *_filled(style.conditions[0][0], indices))
    value = found.at(*version)
    name = found.text_at(*root, "metadata", "name")
    what = " ".join(part for part in (style.kind, name, style.group and f"of {style.group}") if part)
    field = ".".join(str(step) for step in version[len(root) :])
    spot = (
        value.line if value is not None else found.line_at(*named_at),
        ", ".join(part for part in (what, field) if part),
        value.text if value is not None else "",
    )
    return _told(
        named(file, NAME, spot, "this way to install Flux is recognised, and not changed", style.hint)
    )


def _told(pin: Pin) -> Pin:
    """With the release, where what is written names one and no chart's version."""
    if not pin.written:
        return pin._replace(standing=PinState.FLOATING, reason="it names no version")
    if pin.hint == _OF_CHART:
        return pin
    reference = parse(pin.written)
    text = reference.ref if reference is not None else pin.written.removeprefix("flux.")
    meaning = judge(text)
    return pin._replace(standing=meaning.standing, version=meaning.version)
