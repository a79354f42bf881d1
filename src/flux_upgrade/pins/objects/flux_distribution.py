"""Where the distribution of a FluxInstance is stated: in the object, or in values of its chart.

flux-operator docs/api/v1/fluxinstance.md; controlplaneio-fluxcd/charts flux-instance, values.yaml.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Protocol

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.context import OperatorRelease
from flux_upgrade.pins.formats.config_maps import ABSENT, ConfigMaps
from flux_upgrade.pins.formats.ranges import folder_of, is_nothing
from flux_upgrade.pins.formats.resource_sets import inputs, made
from flux_upgrade.pins.objects.chart_place import last
from flux_upgrade.pins.objects.release_values import TOO_MANY, Layer, Stated, Unread, ValuesSource, layers
from flux_upgrade.pins.pin import SyncSource
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import Object, Step, dotted, is_variable

CHART = "flux-instance"
CHART_RANGE = "2.x"  # The chart's own default
INSTANCE = ("spec",)
VALUES = ("instance",)
INLINE = ("spec", "values", "instance")  # Where the chart's values stand in a HelmRelease
_SOURCES = ("OCIRepository", "HelmChart")
"""Kinds that ``chartRef`` of a HelmRelease may name."""
_MARKS = (b"flux-instance", b"flux-operator", b"FluxInstance", b"/distribution")
_MOST_NAMES = 100  # Of sources, that are searched for in each file
_RECONCILE = "fluxcd.controlplane.io/reconcile"


class Distribution(NamedTuple):
    """What is stated of one, wherever."""

    owner: str  # `FluxInstance flux-system/flux`
    file: File  # Of the owner
    line: int  # 1-based, where the version stands, or would
    field: str  # `spec.distribution`
    version: Stated | None
    artifact: Stated | None
    registry: Stated | None
    folder: str | None  # The folder that the cluster is reconciled from, as `Pin.folder`
    namespace: str = ""  # The namespace of the FluxInstance; empty if it is not stated
    sync_name: str = ""  # `sync.name`; empty if it is not stated
    sync_url: str = ""  # `sync.url`; empty if it is not stated, or unknown
    of_chart: bool = False
    unread: str = ""
    """Values that cannot be looked at, and why, in words; they may state what is stated nowhere else."""
    overriding: str = ""  # Those of `unread` that go before the version
    is_rendered: bool = False  # Whether some of `unread` is a template, which says more when it is rendered
    is_cut: bool = False  # Some of `unread` is left out because it is too much
    is_disabled: bool = False  # Whether the annotation `fluxcd.controlplane.io/reconcile` is `disabled`
    operator: OperatorRelease | None = None  # What its manifests come from without `artifact`; None: that is unknown

    @property
    def sync(self) -> SyncSource:
        """The source that the flux-operator makes of ``sync``.

        flux-operator api/v1/fluxinstance_types.go, ``Sync.Name``; ``DefaultNamespace`` if none is stated.
        """
        return SyncSource.named_after(self.namespace, self.sync_name, self.sync_url)

    @property
    def is_of_image(self) -> bool:
        """Whether its manifests come from the flux-operator's image. The chart has an artifact of its own."""
        return is_nothing(self.artifact.value) if self.artifact else not (self.of_chart or self.unread)


class Source(Protocol):
    """What states values at paths of keys."""

    def stated(self, *keys: str) -> Stated | None: ...


class Below(NamedTuple):
    """What a source states below some keys, where it has ``distribution`` and ``sync``."""

    source: Source
    above: tuple[str, ...]

    def stated(self, *keys: str) -> Stated | None:
        return self.source.stated(*self.above, *keys)


def is_instance(each: Object) -> bool:
    return each.text_at("apiVersion").startswith("fluxcd.controlplane.io/") and (each.text_at("kind") == "FluxInstance")


ChartSources = Mapping[tuple[str, str, str], Collection[str]]
"""Kind, name and namespace → names of the charts. Namespace: empty if it is not stated; ``*`` for all of them."""


def is_release(each: Object, sources: ChartSources) -> bool:
    """Whether it is a HelmRelease of the chart flux-instance.

    fluxcd.io, "Helm Releases" (chart template, chart reference).
    """
    if not each.text_at("apiVersion").startswith("helm.toolkit.fluxcd.io/") or each.text_at("kind") != "HelmRelease":
        return False
    chart = each.text_at("spec", "chart", "spec", "chart")
    if chart:
        return chart.rpartition("/")[2] == CHART
    kind, name = (each.text_at("spec", "chartRef", key) for key in ("kind", "name"))
    namespace = _plain(each.text_at("spec", "chartRef", "namespace") or each.text_at("metadata", "namespace"))
    # A namespace that is not stated is set by a kustomization: it may be any.
    found = [sources.get((kind, name, one), ()) for one in ((namespace, "") if namespace else ("*",))]
    # The source of that name may be in another repository.
    return any(CHART in charts for charts in found) if any(found) else name == CHART


def chart_sources(files: Sequence[File]) -> ChartSources:
    """The OCIRepositories and HelmCharts in ``files`` to which a HelmRelease of the chart may refer."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for file in files:
        if CHART.encode() in file.content and any(kind.encode() in file.content for kind in _SOURCES):
            for each in (one for found in file.readable for one in (found, *made(found))):
                if isinstance(each, Object) and each.text_at("kind") in _SOURCES:
                    kind, name = each.text_at("kind"), each.text_at("metadata", "name")
                    chart = last(each.text_at("spec", "url" if kind == "OCIRepository" else "chart"))
                    for namespace in (_plain(each.text_at("metadata", "namespace")), "*"):
                        found.setdefault((kind, name, namespace), set()).add(chart)
    return found


def without_other_releases(files: Sequence[File], sources: ChartSources) -> Sequence[File]:
    """``files`` without those that only have HelmReleases of other charts: there may be many, and each is YAML."""
    names = {name.encode() for (_, name, _), charts in sources.items() if name and CHART in charts}
    if len(names) > _MOST_NAMES:
        return files
    marks = (*_MARKS, *names)
    return [each for each in files if b"chartRef" not in each.content or any(mark in each.content for mark in marks)]


def _plain(namespace: str) -> str:
    """Empty for a variable."""
    return "" if is_variable(namespace) else namespace


def of_instance(file: File, each: Object) -> Distribution:
    """What a FluxInstance states itself."""
    is_disabled = each.text_at("metadata", "annotations", _RECONCILE).lower() == "disabled"
    path = (*INSTANCE, "distribution")
    line = each.line_at(*_deepest(each, (*path, "version")))
    sources = [ValuesSource(file, each, INSTANCE)]
    distribution = combined(each.called(), file, line, dotted(path), sources)
    return distribution._replace(is_disabled=is_disabled, namespace=_plain(each.text_at("metadata", "namespace")))


def of_release(file: File, each: Object, config_maps: ConfigMaps, key: str = "") -> Iterator[Distribution]:
    """What the values of a HelmRelease state; one for each build that gives it other values.

    ``key``: where a chart that depends on the chart flux-instance has the values of that one.
    """
    above = ((key,) if key else ()) + VALUES
    path = ("spec", "values", *above, "distribution")
    line = each.line_at(*_deepest(each, (*path, "version")))
    # The chart installs the FluxInstance where Helm installs the release: controlplaneio-fluxcd/charts flux-instance.
    namespace = _plain(each.text_at("spec", "targetNamespace") or each.text_at("metadata", "namespace"))
    for layered in layers(file, each, config_maps, dotted((*above, "distribution"))):
        found = of_layers(each.called(), file, line, layered, above)
        yield found._replace(field=dotted(path), namespace=namespace)


def of_layers(owner: str, file: File, line: int, layered: Sequence[Layer], above: tuple[str, ...]) -> Distribution:
    """What values state, those that go before the others first. ``above``: where they have `distribution`."""
    sources = [Below(each, above) for each in layered]
    found = combined(owner, file, line, dotted((*above, "distribution")), sources)
    unread = [each for each in layered if isinstance(each, Unread)]
    without = takewhile(lambda each: not each.stated(*above, "distribution", "version"), layered)
    before = [each for each in without if isinstance(each, Unread)]
    is_cut = any(each.reason == TOO_MANY for each in unread)
    overriding = _listed(before) if found.version else ""
    return found._replace(of_chart=True, unread=_listed(unread), overriding=overriding, is_cut=is_cut)


def _listed(unread: Sequence[Unread]) -> str:
    absent = [each.name for each in unread if each.reason == ABSENT]
    others = [str(each) for each in unread if each.reason != ABSENT]
    return ", and ".join([*([f"{' and '.join(absent)}, {ABSENT}"] if absent else []), *others])


def combined(owner: str, file: File, line: int, field: str, sources: Sequence[Source]) -> Distribution:
    """What the first of the sources states that states anything."""
    version, artifact, registry = (_stated(sources, "distribution", key) for key in ("version", "artifact", "registry"))
    kind, url, path, name = (_stated(sources, "sync", key) for key in ("kind", "url", "path", "name"))
    # The path in an artifact or a bucket is not one of the repository.
    is_git = url is not None and not is_nothing(url.value) and (kind is None or kind.value.text == "GitRepository")
    folder = folder_of(path.value) if path is not None and is_git else None
    distribution = Distribution(owner, file, line, field, version, artifact, registry, folder)
    return distribution._replace(sync_name=_text(name), sync_url=_text(url))


def _text(value: Stated | None) -> str:
    """Return a text; empty if it is not stated, null, or has a variable."""
    return "" if value is None or is_nothing(value.value) else _plain(value.value.text)


def filled(distribution: Distribution, maker: Object | None) -> Iterator[Distribution]:
    """One for each input of the ResourceSet that fills the version; itself where none does."""
    version = distribution.version
    values = inputs(version.value, maker) if version else []
    if version is None or not values:
        yield distribution
        return
    artifacts, registries = (
        _filled(each, maker, len(values)) for each in (distribution.artifact, distribution.registry)
    )
    for (value, path), artifact, registry in zip(values, artifacts, registries, strict=True):
        stated = Stated(version.file, value, dotted(path))
        yield distribution._replace(version=stated, artifact=artifact, registry=registry)


def _filled(stated: Stated | None, maker: Object | None, count: int) -> list[Stated | None]:
    """What it is with each of the first ``count`` inputs."""
    values = inputs(stated.value, maker, is_read=True) if stated else []
    if stated is None or not values:
        return [stated] * count
    return [Stated(stated.file, value, dotted(path)) for value, path in values[:count]]


def _stated(sources: Sequence[Source], *keys: str) -> Stated | None:
    return next((found for source in sources if (found := source.stated(*keys))), None)


def _deepest(each: Object, path: tuple[Step, ...]) -> tuple[Step, ...]:
    return next(path[:length] for length in range(len(path), -1, -1) if not length or each.has(*path[:length]))
