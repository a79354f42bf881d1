"""The chart in the files of Helm, helmfile and kustomize, and in k3s' HelmChart.

helm.sh, "Charts" (Chart.yaml, dependencies) and "Helm Dependency"; helmfile.readthedocs.io,
"Configuration", and its pkg/state/chart_dependency.go; kustomize, api/types/helmchartargs.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.model.files import Tree
from flux_upgrade.model.text import decoded
from flux_upgrade.pins.formats.kustomize_files import joined, read
from flux_upgrade.pins.formats.yaml_places import Object, Step, is_variable, readable
from flux_upgrade.pins.objects.chart_place import (
    CHART,
    ChartSource,
    ChartVersionPlace,
    Files,
    Lock,
    folder_of,
    identity,
    lock_at,
    overridden,
    overridden_by_set,
    source_at,
)
from flux_upgrade.pins.pin import SourceFile

_LOCKS = {"Chart.yaml": "Chart.lock", "requirements.yaml": "requirements.lock"}
_CONTROL = re.compile(r"\{\{-?\s*(?:if|else|range|with|end|define|template|block)\b")
"""What a Go template decides or repeats with."""
_TEMPLATE = ("the file is a template, which sets the version when it is rendered", "edit the version yourself")
_DIGEST = ("the chart has a version and a digest", "remove the digest, or edit both together")


def places(files: Files, tree: Tree) -> Iterator[ChartVersionPlace]:
    for file in files.naming_the_chart():
        name = file.path.rpartition("/")[2]
        for each in files.readable(file):
            if name in _LOCKS:
                yield from _dependencies(tree, file, each)
            elif each.count("releases") and not each.has("kind"):
                yield from _releases(files, tree, file, each)
            elif name.startswith("kustomization.") or each.text_at("kind") == "HelmChartInflationGenerator":
                yield from _inflated(tree, file, each)
            elif identity(each)[:2] == ("helm.cattle.io", "HelmChart"):
                yield from _deployed(file, each)


def _dependencies(tree: Tree, file: SourceFile, each: Object) -> Iterator[ChartVersionPlace]:
    folder, _, name = file.path.rpartition("/")
    folder = f"{folder}/" if folder else ""
    for entry in each.entries("dependencies"):
        if each.text_at(*entry, "name") != CHART:
            continue
        alias = each.text_at(*entry, "alias")
        yield _place(
            file,
            each,
            entry,
            where=f"dependency {CHART}" + (f" as {alias}" if alias else "") + ", version",
            source=_dependency_source(each.text_at(*entry, "repository")),
            lock=_chart_lock(tree, folder, _LOCKS[name]),
            remarks=tuple(
                remark
                for values in readable(read(tree, f"{folder}values.yaml") or b"")
                for remark in overridden(values, alias or CHART)
            ),
        )


def _dependency_source(repository: str) -> ChartSource:
    if repository.startswith(("@", "alias:")):
        return ChartSource(
            "", f"the repository {repository} is a local name from `helm repo add`", "write the repository's URL"
        )
    if repository.startswith("file://") or not repository:
        return ChartSource(
            "", "the chart is a local directory, which sets the version", "update the chart in that directory"
        )
    return source_at(repository)


def _chart_lock(tree: Tree, folder: str, name: str) -> Lock | None:
    command = f"helm dependency update {folder.rstrip('/') or '.'}"
    lock = lock_at(tree, f"{folder}{name}", command)
    if lock is not None:
        return lock
    archive = re.compile(rf"{re.escape(folder)}charts/{CHART}-\d.*")
    archives = (path for path in tree.named((".tgz",)) if archive.fullmatch(path))
    copies = (f"{folder}charts/{CHART}/Chart.yaml", *archives)
    return next((Lock(path, command) for path in copies if read(tree, path) is not None), None)


def _releases(files: Files, tree: Tree, file: SourceFile, each: Object) -> Iterator[ChartVersionPlace]:
    """Those of a helmfile, and the templates that they inherit from."""
    listed = [*each.entries("releases"), *(("templates", name) for name in each.keys("templates"))]
    repositories = _repositories(files, tree, file)
    lock = _helmfile_lock(tree, file.path, each.text_at("lockFilePath"))
    trouble = _TEMPLATE if _CONTROL.search(decoded(file.content)) else ("", "")
    seen: set[int] = set()
    for entry in listed:
        source = _release_source(each.text_at(*entry, "chart"), repositories)
        version = each.at(*entry, "version")
        if source is None or (version is not None and version.start in seen):
            continue
        if version is not None:
            seen.add(version.start)
        name = each.text_at(*entry, "name") or entry[1]
        values = [remark for place in each.entries(*entry, "values") for remark in overridden(each, *place)]
        yield _place(
            file,
            each,
            entry,
            where=f"{entry[0].removesuffix('s')} {name}, version" if isinstance(entry[0], str) else "",
            source=source,
            lock=lock,
            remarks=(*values, *overridden_by_set(each, *entry, "set")),
            trouble=trouble,
        )


def _release_source(chart: str, repositories: dict[str, str]) -> ChartSource | None:
    """None: it is another chart."""
    parent, _, name = chart.rstrip("/").rpartition("/")
    if name != CHART:
        return None
    if chart.startswith("oci://"):
        return source_at(parent)
    alias, _, below = parent.partition("/")
    if alias in repositories:
        return source_at(f"{repositories[alias].rstrip('/')}/{below}")
    return ChartSource(
        "", f"neither the file nor its bases declare the repository '{alias}' for {chart}", "add it to `repositories`"
    )


def _repositories(files: Files, tree: Tree, file: SourceFile) -> dict[str, str]:
    """Address by name, of all parts of the file and of its bases."""
    parts = [*files.readable(file)]
    for each in tuple(parts):
        for entry in each.entries("bases"):
            base = joined(folder_of(file.path), each.text_at(*entry))
            parts += readable(read(tree, base) or b"")
    found = {}
    for each in parts:
        for entry in each.entries("repositories"):
            url, is_oci = each.text_at(*entry, "url"), each.text_at(*entry, "oci") == "true"
            found[each.text_at(*entry, "name")] = f"oci://{url}" if is_oci else url
    return found


def _helmfile_lock(tree: Tree, path: str, stated: str) -> Lock | None:
    name = path.removesuffix(".gotmpl").removesuffix(".yaml").removesuffix(".yml")
    lock = joined(folder_of(path), stated) if stated else f"{name}.lock"
    return lock_at(tree, lock, f"helmfile --file {path} deps")


def _inflated(tree: Tree, file: SourceFile, each: Object) -> Iterator[ChartVersionPlace]:
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
            yield _place(
                file,
                each,
                entry,
                where=f"{chart}, {version}",
                source=_inflated_source(tree, file, each, each.text_at(*entry, repository)),
                key=version,
                remarks=tuple(overridden(each, *entry, "valuesInline")),
                trouble=_DIGEST if each.has(*entry, "digest") else ("", ""),
            )


def _inflated_source(tree: Tree, file: SourceFile, each: Object, repository: str) -> ChartSource:
    home = each.text_at("helmGlobals", "chartHome") or "charts"
    copy = joined(folder_of(file.path), f"{home}/{CHART}/Chart.yaml")
    if not repository or read(tree, copy) is not None:
        return ChartSource(
            "", f"kustomize uses the chart in the directory {home}/{CHART}", "update the chart in that directory"
        )
    return source_at(repository)


def _deployed(file: SourceFile, each: Object) -> Iterator[ChartVersionPlace]:
    """A HelmChart of k3s, RKE2 and Fleet: docs.k3s.io, "Helm"."""
    parent, _, name = each.text_at("spec", "chart").rpartition("/")
    if name == CHART:
        source = source_at(parent or each.text_at("spec", "repo"))
        yield _place(file, each, ("spec",), where=f"{each.called()}, spec.version", source=source)


def _place(  # noqa: PLR0913  (what the spellings have in common)
    file: SourceFile,
    each: Object,
    entry: tuple[Step, ...],
    *,
    where: str,
    source: ChartSource,
    key: str = "version",
    lock: Lock | None = None,
    remarks: tuple[str, ...] = (),
    trouble: tuple[str, str] = ("", ""),
) -> ChartVersionPlace:
    line = each.line_at(*entry, key) if each.has(*entry, key) else each.line_at(*entry)
    if each.has(*entry, key) and is_variable(each.text_at(*entry, key)):
        trouble = ("", "")  # said of the version itself
    return ChartVersionPlace(
        file, line, where, source, each.at(*entry, key), lock=lock, remarks=remarks, trouble=trouble
    )
