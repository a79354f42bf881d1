"""Objects by which other systems install Flux: they are reported, and never changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.flux2_repository import judge, parse
from flux_upgrade.pins.formats.readings import never_changed
from flux_upgrade.pins.objects import argo_values
from flux_upgrade.pins.pin import Pin, PinState, reported_pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, Step

NAME = "other-installers"
change = never_changed

_MARK = re.compile(r"flux(?:2|-operator|-instance)|microsoft\.flux|operators\.coreos", re.IGNORECASE)
_CHART = r"(?:.*/)?flux2"
_OPERATOR = r"(?:.*/)?flux-operator"
_INSTANCE = r"(?:.*/)?flux-instance"
_REPOSITORY = r"(?:https://|ssh://git@|git@)github\.com[:/]fluxcd/flux2(?:\.git)?/?"
_FOLDER = r"(?:\./)?manifests/(?:install|crds)/?"
_RELEASE = r"https://github\.com/fluxcd/flux2/releases/.*/install\.yaml"
_OF_CHART = "edit the version yourself; the chart's appVersion is its Flux version"
_OF_OPERATOR = "edit the version yourself: the release of the flux-operator has to support your Flux version"
_OF_INSTANCE = "edit instance.distribution.version in the values of the chart"
_BY_HAND = "edit the version yourself"
_EACH = "*"  # In a path: every item of the list
_VALUE = ("valuesObject", "instance", "distribution", "version")


class _Installer(NamedTuple):
    """How an object of another system installs Flux."""

    group: str  # Of `apiVersion`; empty where the file has none
    kind: str
    conditions: tuple[tuple[tuple[str, ...], str], ...]
    """Paths below the object, and what has to stand there, as a regular expression."""
    version: tuple[str, ...]
    hint: str


class _Place(NamedTuple):
    """An object of another system, which may be nested in one of the file."""

    file: File
    object: Object
    root: tuple[Step, ...]


def _chart(group: str, kind: str, chart: tuple[str, ...], version: str) -> tuple[_Installer, ...]:
    """Its ``version`` stands beside the name of the chart."""
    place = (*chart[:-1], version)
    return (
        _Installer(group, kind, ((chart, _CHART),), place, _OF_CHART),
        _Installer(group, kind, ((chart, _OPERATOR),), place, _OF_OPERATOR),
    )


def _argo(kind: str, *above: str) -> tuple[_Installer, ...]:
    folder = (((*above, "repoURL"), _REPOSITORY), ((*above, "path"), _FOLDER))
    version, values = (*above, "targetRevision"), (*above, "helm", *_VALUE)
    # The address of a registry may end with the chart: then there is no `chart`.
    operator, instance = ((((*above, "repoURL"), rf"oci://{chart}/?"),) for chart in (_OPERATOR, _INSTANCE))
    return (
        *_chart("argoproj.io", kind, (*above, "chart"), "targetRevision"),
        _Installer("argoproj.io", kind, folder, version, _BY_HAND),
        _Installer("argoproj.io", kind, operator, version, _OF_OPERATOR),
        _Installer("argoproj.io", kind, (((*above, "chart"), _INSTANCE),), values, _OF_INSTANCE),
        _Installer("argoproj.io", kind, instance, values, _OF_INSTANCE),
    )


_CHARTS = ("spec", "helmCharts", _EACH, "chartName")
_CONTENTS = ("directories", _EACH, "contents", _EACH, "githubRelease")
_INSTALLERS = (
    *_argo("Application", "spec", "source"),
    *_argo("Application", "spec", "sources", _EACH),
    *_argo("ApplicationSet", "spec", "template", "spec", "source"),
    *_argo("ApplicationSet", "spec", "template", "spec", "sources", _EACH),
    *_chart("helm.crossplane.io", "Release", ("spec", "forProvider", "chart", "name"), "version"),
    *_chart("addons.cluster.x-k8s.io", "HelmChartProxy", ("spec", "chartName"), "version"),
    *_chart("config.projectsveltos.io", "ClusterProfile", _CHARTS, "chartVersion"),
    *_chart("config.projectsveltos.io", "Profile", _CHARTS, "chartVersion"),
    _Installer(
        "operators.coreos.com",
        "Subscription",
        ((("spec", "name"), "flux"),),
        ("spec", "startingCSV"),
        "set the release with `channel` and `startingCSV`, or migrate to the Flux Operator",
    ),
    _Installer(
        "kubernetesconfiguration.azure.com",
        "Extension",
        ((("spec", "extensionType"), r"(?i:microsoft\.flux)"),),
        ("spec", "version"),
        "Azure selects the Flux version of its extension",
    ),
    _Installer("vendir.k14s.io", "Config", (((*_CONTENTS, "slug"), "fluxcd/flux2"),), (*_CONTENTS, "tag"), _BY_HAND),
    # Rancher Fleet, in fleet.yaml, and the configuration of Talos: both without apiVersion.
    *_chart("", "", ("helm", "chart"), "version"),
    _Installer(
        "", "", ((("cluster", "extraManifests", _EACH), _RELEASE),), ("cluster", "extraManifests", _EACH), _BY_HAND
    ),
)


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    for file in files:
        for each in file.readable:
            if not _MARK.search(each.document.text):
                continue
            try:
                data = each.data()
            except Unreadable:  # No object of Kubernetes has such values, and no installer reads them
                continue
            for root, value in _roots(data, ()):
                group, kind = (str(value.get(key, "")) for key in ("apiVersion", "kind"))
                for installer in _INSTALLERS:
                    if (installer.group, installer.kind) == (group.partition("/")[0], kind):
                        for indices in _matches(each, root, installer):
                            yield _pin(_Place(file, each, root), installer, indices, context.tree)


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


def _matches(found: Object, root: tuple[Step, ...], installer: _Installer) -> Iterator[tuple[int, ...]]:
    """For each place in the object that fits the installer: which items of the lists on the way."""
    first = installer.conditions[0][0]
    waiting: list[tuple[int, ...]] = [()]
    for at, step in enumerate(first):
        if step == _EACH:
            waiting = [
                (*indices, index)
                for indices in waiting
                for index in range(found.count(*root, *_filled(first[:at], indices)))
            ]
    for indices in waiting:
        texts = ((found.text_at(*root, *_filled(path, indices)), expected) for path, expected in installer.conditions)
        if all(re.fullmatch(expected, text) for text, expected in texts):
            yield indices


def _filled(path: tuple[str, ...], indices: tuple[int, ...]) -> tuple[Step, ...]:
    left = iter(indices)
    return tuple(next(left) if step == _EACH else step for step in path)


def _pin(place: _Place, installer: _Installer, indices: tuple[int, ...], tree: Snapshot) -> Pin:
    file, found, root = place
    version = (*root, *_filled(installer.version, indices))
    first = (*root, *_filled(installer.conditions[0][0], indices))
    value, path = found.at(*version), version[len(root) :]
    field = ".".join(map(str, path))
    if installer.hint == _OF_INSTANCE:
        source = version[: -len(_VALUE) - 1]
        decided = argo_values.stated(file, found, source, tree, *_VALUE[1:])
        if decided is not None:
            file, value = decided.file, decided.value
            field = ".".join([*map(str, source[len(root) :]), decided.field])
    name = found.text_at(*root, "metadata", "name")
    what = " ".join(part for part in (installer.kind, name, installer.group and f"of {installer.group}") if part)
    spot = (
        value.line if value is not None else found.line_at(*first),
        ", ".join(part for part in (what, field) if part),
        value.text if value is not None else "",
    )
    return _with_release(
        reported_pin(
            file, NAME, spot, "flux-upgrade reports this kind of installation but does not change it", installer.hint
        )
    )


def _with_release(pin: Pin) -> Pin:
    """With the release, where what is written names one and no chart's version."""
    if pin.hint == _OF_INSTANCE:
        is_exact = ranges.is_exact(pin.raw)
        if is_exact:
            return pin._replace(state=PinState.EXACT, version=Version(f"v{pin.raw.lstrip('=v')}"))
        return pin._replace(state=PinState.RANGE) if pin.raw and ranges.parsed(pin.raw) else pin
    if not pin.raw:
        return pin._replace(state=PinState.FLOATING, reason="it has no version")
    if pin.hint in (_OF_CHART, _OF_OPERATOR):
        return pin
    reference = parse(pin.raw)
    text = reference.ref if reference is not None else pin.raw.removeprefix("flux.")
    meaning = judge(text)
    return pin._replace(state=meaning.state, version=Version(meaning.version))
