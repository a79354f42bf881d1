"""The chart in Flux's own objects: HelmRelease, HelmChart, and OCIRepository.

fluxcd.io, "Helm Releases" (chart template, chart reference), "Helm Charts", "Helm Repositories",
"OCI Repositories".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.ranges import is_exact
from flux_upgrade.pins.formats.readings import unknown
from flux_upgrade.pins.formats.resource_sets import readable
from flux_upgrade.pins.objects.chart_place import (
    CHART,
    HELM,
    SOURCE,
    VERSIONS,
    ChartSource,
    ChartVersionPlace,
    holding,
    identity,
    naming_the_chart,
    overridden,
    source_at,
)
from flux_upgrade.pins.objects.release_values import ValuesSource, layers
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import Object, Step, is_variable

_PUBLISHED = "oci://ghcr.io/fluxcd-community/charts"
_CHART_LAYER = "application/vnd.cncf.helm.chart.content"


def places(files: Sequence[File], context: PinContext) -> Iterator[ChartVersionPlace]:
    for file in naming_the_chart(files):
        for each in readable(file):
            group, kind, _, _ = identity(each)
            if (group, kind) == (HELM, "HelmRelease"):
                yield from _charts(files, file, each, context, ("spec", "chart", "spec"))
            elif (group, kind) == (SOURCE, "HelmChart"):
                yield from _charts(files, file, each, context, ("spec",))
            elif (group, kind) == (SOURCE, "OCIRepository"):
                yield from _oci_repositories(files, file, each, context)


def _charts(
    files: Sequence[File], file: File, each: Object, context: PinContext, spec: tuple[Step, ...]
) -> Iterator[ChartVersionPlace]:
    chart = each.text_at(*spec, "chart")
    if chart.rstrip("/").rpartition("/")[2] != CHART:
        return
    _, kind, _, name = identity(each)
    yield ChartVersionPlace(
        file,
        each.line_at(*spec, "version") if each.has(*spec, "version") else each.line_at(*spec, "chart"),
        f"{each.called()}, {'.'.join(map(str, (*spec, 'version')))}",
        _source(files, file, each, *spec),
        each.at(*spec, "version"),
        remarks=_overridden(file, each, context),
        target=(kind, name),
    )


def _source(files: Sequence[File], file: File, each: Object, *spec: Step) -> ChartSource:
    kind, name = each.text_at(*spec, "sourceRef", "kind"), each.text_at(*spec, "sourceRef", "name")
    if not name:
        reason = f"it has no sourceRef: it is a patch of another {each.text_at('kind')}"
        return unknown(reason, "set the version in the complete object")
    if is_variable(name):
        return unknown(f"the chart's repository is a variable: {name}", "write the repository as plain text")
    if kind != "HelmRepository":
        return unknown(
            f"the chart is a directory of {kind or 'source'} {name}, which sets the version",
            "update the chart in that source, or use the chart from its repository",
        )
    # A HelmChart's source is in its own namespace; a HelmRelease may name another.
    namespace = each.text_at(*spec, "sourceRef", "namespace") or each.text_at("metadata", "namespace")
    return _helm_repository(files, file, name, namespace)


def _helm_repository(files: Sequence[File], file: File, name: str, namespace: str) -> ChartSource:
    """The HelmRepository, first in the object's own file, then in the tree."""
    everywhere = [*holding(files, b"HelmRepository", name.encode())]
    for among in ([each for each in everywhere if each.path == file.path], everywhere):
        found = {
            each.text_at("spec", "url").rstrip("/")
            for other in among
            for each in readable(other)
            if identity(each)[:2] == (SOURCE, "HelmRepository") and _is_same(each, namespace, name)
        } - {""}
        if len(found) == 1:
            return source_at(found.pop())
        if found:
            return unknown(
                f"there are {len(found)} HelmRepositories {name} with different addresses",
                "give them different names, or set the namespaces",
            )
    return unknown(
        f"its HelmRepository {name} is not in this repository",
        "edit the version yourself, or add the HelmRepository to this repository",
    )


def _is_same(each: Object, namespace: str, name: str) -> bool:
    """A namespace that is not stated is set by a kustomization: it may be any."""
    _, _, own, own_name = identity(each)
    return own_name == name and (own == namespace or not own or not namespace or is_variable(own + namespace))


def _overridden(file: File, each: Object, context: PinContext) -> tuple[str, ...]:
    """What the values of a HelmRelease pin by themselves, wherever they are."""
    if each.text_at("kind") != "HelmRelease":
        return ()
    known = (
        one
        for layered in layers(file, each, context.config_maps, "")
        for one in layered
        if isinstance(one, ValuesSource) and not one.target
    )
    return tuple(dict.fromkeys(remark for one in known for remark in overridden(one.object, *one.path)))


def _oci_repositories(
    files: Sequence[File], file: File, each: Object, context: PinContext
) -> Iterator[ChartVersionPlace]:
    parent, _, chart = each.text_at("spec", "url").rstrip("/").rpartition("/")
    _, kind, _, name = identity(each)
    if chart != CHART:
        return
    users = [*_users(files, each)]
    media_type = each.text_at("spec", "layerSelector", "mediaType")
    if not (parent == _PUBLISHED or users or media_type.startswith(_CHART_LAYER)):
        return
    stated = [path for path in VERSIONS[kind] if each.has(*path)]
    path = stated[0] if stated else ("spec", "ref", "tag")
    digest, tag, trouble = each.at("spec", "ref", "digest"), each.text_at(*path), ("", "")
    if path[-1] == "digest" or (digest and tag in ("", "latest")):
        trouble = ("the digest does not show the chart version", "add the tag")
    elif path[-1] == "semver" and len(stated) > 1:
        trouble = ("spec.ref has a semver range and a tag or a digest", "set only one of them")
    elif path[-1] == "tag" and not (is_exact(tag) or tag in ("", "latest") or is_variable(tag)):
        trouble = (f"the tag {tag} is not a version of the chart", "state one")
    elif each.has("spec", "ref", "semverFilter"):
        trouble = ("spec.ref.semverFilter also applies", "set a tag, or only a range")
    yield ChartVersionPlace(
        file,
        each.line_at(*path) if stated else each.line_at("spec", "url"),
        f"{each.called()}, {'.'.join(map(str, path))}",
        source_at(parent),
        each.at(*path),
        digest,
        is_tag=path[-1] == "tag",
        remarks=tuple(remark for user in users for remark in _overridden(*user, context)),
        trouble=trouble,
        target=(kind, name),
    )


def _users(files: Sequence[File], repository: Object) -> Iterator[tuple[File, Object]]:
    """HelmReleases whose chartRef leads to the OCIRepository."""
    _, kind, namespace, name = identity(repository)
    for file in holding(files, b"chartRef", name.encode()):
        for each in readable(file):
            ref = tuple(each.text_at("spec", "chartRef", key) for key in ("kind", "name"))
            theirs = each.text_at("spec", "chartRef", "namespace") or identity(each)[2]
            if ref == (kind, name) and (theirs == namespace or not theirs or not namespace):
                yield file, each
