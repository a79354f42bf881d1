"""The chart in the files of Helm, helmfile and kustomize, and in k3s' HelmChart.

helm.sh, "Charts" (Chart.yaml, dependencies) and "Helm Dependency"; helmfile.readthedocs.io,
"Configuration", and its pkg/state/chart_dependency.go; kustomize, api/types/helmchartargs.go.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from flux_upgrade.pins.formats.readings import unknown
from flux_upgrade.pins.formats.resource_sets import readable
from flux_upgrade.pins.objects import helmfile
from flux_upgrade.pins.objects.chart_dependencies import LOCKS, Dependency, dependencies
from flux_upgrade.pins.objects.chart_place import (
    CHART,
    LOCAL,
    ChartSource,
    ChartVersionPlace,
    identity,
    naming_the_chart,
    overridden,
    overridden_by_set,
    source_at,
)
from flux_upgrade.pins.objects.release_values import ValuesSource, values_file
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import joined
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object, Step

_DIGEST = ("the chart has a version and a digest", "remove the digest, or edit both together")


def places(files: Sequence[File], tree: Snapshot) -> Iterator[ChartVersionPlace]:
    for file in naming_the_chart(files):
        name = file.path.rpartition("/")[2]
        yield from (place for found in dependencies(file, CHART) for place in _dependencies(tree, found))
        for each in readable(file) if name not in LOCKS else ():
            if name.startswith("kustomization.") or each.text_at("kind") == "HelmChartInflationGenerator":
                yield from _inflated(tree, file, each)
            elif identity(each)[:2] == ("helm.cattle.io", "HelmChart"):
                # A HelmChart of k3s, RKE2 and Fleet: docs.k3s.io, "Helm".
                parent, _, chart = each.text_at("spec", "chart").rpartition("/")
                source = source_at(parent or each.text_at("spec", "repo"))
                place = _place(file, each, ("spec", "version"), f"{each.called()}, spec.version", source)
                yield from [place] if chart == CHART else []
            else:
                yield from _releases(tree, file, each)


def _dependencies(tree: Snapshot, found: Dependency) -> Iterator[ChartVersionPlace]:
    values = values_file(tree, posixpath.join(found.directory, "values.yaml"))
    source = _dependency_source(found.object.text_at(*found.entry, "repository"))
    remarks = tuple(overridden(values.object, found.key)) if isinstance(values, ValuesSource) else ()
    place = _place(found.file, found.object, (*found.entry, "version"), found.place, source)
    yield place._replace(lock=found.lock(tree), remarks=remarks)


def _dependency_source(repository: str) -> ChartSource:
    if repository.startswith(("@", "alias:")):
        return unknown(
            f"the repository {repository} is a local name from `helm repo add`", "write the repository's URL"
        )
    if repository.startswith("file://") or not repository:
        return LOCAL
    return source_at(repository)


def _releases(tree: Snapshot, file: File, each: Object) -> Iterator[ChartVersionPlace]:
    """Those of a helmfile, and the templates that they inherit from."""
    for release, address, lock in helmfile.of_chart(file, each, CHART, tree):
        entry = release.entry
        values = [remark for place in each.entries(*entry, "values") for remark in overridden(each, *place)]
        source, path = _release_source(release, address), (*entry, "version")
        yield _place(file, each, path, f"{release.called}, version", source)._replace(
            lock=lock,
            remarks=(*values, *overridden_by_set(each, *entry, "set")),
            trouble=helmfile.doubt(file, each.line_at(*path)),
        )


def _release_source(release: helmfile.HelmfileRelease, address: str) -> ChartSource:
    if address:
        return source_at(address.rpartition("/")[0])
    alias = release.chart.partition("/")[0]
    reason = f"neither the file nor its bases declare the repository '{alias}' for {release.chart}"
    return unknown(reason, "add it to `repositories`")


def _inflated(tree: Snapshot, file: File, each: Object) -> Iterator[ChartVersionPlace]:
    """Charts that kustomize has Helm render, in the spelling of today and in those that it left behind."""
    spellings: tuple[tuple[tuple[Step, ...], str, str, str], ...] = (
        *((entry, "name", "repo", "version") for entry in each.entries("helmCharts")),
        *(
            (entry, "chartName", "chartRepoUrl", "chartVersion")
            for entry in each.entries("helmChartInflationGenerator")
        ),
        *([((), "name", "repo", "version")] if each.text_at("kind") == "HelmChartInflationGenerator" else []),
    )
    for entry, name, repository, version in spellings:
        if each.text_at(*entry, name) == CHART:
            chart = f"{entry[0] if entry else each.text_at('kind')} {CHART}"
            source = _inflated_source(tree, file, each, each.text_at(*entry, repository))
            yield _place(file, each, (*entry, version), f"{chart}, {version}", source)._replace(
                remarks=tuple(overridden(each, *entry, "valuesInline")),
                trouble=_DIGEST if each.has(*entry, "digest") else ("", ""),
            )


def _inflated_source(tree: Snapshot, file: File, each: Object, repository: str) -> ChartSource:
    home = each.text_at("helmGlobals", "chartHome") or "charts"
    copy = joined(posixpath.dirname(file.path), f"{home}/{CHART}/Chart.yaml")
    if not repository or tree.content(copy) is not None:
        return unknown(
            f"kustomize uses the chart in the directory {home}/{CHART}", "update the chart in that directory"
        )
    return source_at(repository)


def _place(file: File, each: Object, path: tuple[Step, ...], where: str, source: ChartSource) -> ChartVersionPlace:
    """Make a place. ``path``: where the version is, or would be."""
    line = each.line_at(*path) if each.has(*path) else each.line_at(*path[:-1])
    return ChartVersionPlace(file, line, where, source, each.at(*path))
