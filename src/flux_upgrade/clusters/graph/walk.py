"""From the root of a cluster to every file that Flux reads for it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from flux_upgrade.clusters.graph.artifact_files import ArtifactFiles
from flux_upgrade.clusters.graph.builds import Build, Builds, PlacedItem, Trouble
from flux_upgrade.clusters.graph.flux_objects import (
    INSTALLING,
    BuiltObject,
    FluxKustomization,
    FluxSource,
    LocalChart,
    SourceKey,
    chart_of,
    inputs_of,
    is_suspended,
    kustomization_of,
    resources_of,
    source_of,
    value_sources,
)
from flux_upgrade.clusters.graph.pushed import PushedArtifacts
from flux_upgrade.clusters.graph.substitution import substituted_in, unknown_in
from flux_upgrade.kustomize.items import Item
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.kubernetes_objects import part
from flux_upgrade.model.text import repository_path

_MOST = 2_000  # Kustomizations of one cluster
_INPUT = re.compile(r"<<-?\s*inputs\.([\w.]+)\s*-?>>")
_TEMPLATE = "<<"
_NO_SOURCE = SourceKey("", "", "")


class Root(NamedTuple):
    """Where Flux begins to read for a cluster."""

    folder: str  # Relative to the repository's root; empty for the root
    source: SourceKey  # What stands for this repository in the cluster
    place: str  # What says so: a file, or a line of one
    base: str = ""  # The directory that the source contains, if it is an artifact


class Reconciliation(NamedTuple):
    """A Kustomization that the cluster reconciles from this repository."""

    name: str  # `flux-system/apps`; empty for the root itself
    folder: str
    parent: int  # Index of the one that built it; -1 for the root
    files: frozenset[str] = frozenset()
    spec: Mapping[str, Any] = {}  # With patches applied and variables substituted; empty for the root itself
    source: SourceKey = _NO_SOURCE
    path: str = ""  # Of the file that has it
    line: int = 0  # 1-based, of its first line
    is_suspended: bool = False  # `spec.suspend` of the Kustomization or of its source

    @property
    def post_build(self) -> Mapping[str, Any]:
        return part(self.spec, "postBuild")


class ClusterReads(NamedTuple):
    """What Flux reads for one cluster."""

    name: str
    roots: tuple[Root, ...] = ()  # None: it reads the whole repository, as far as anybody knows
    reconciliations: tuple[Reconciliation, ...] = ()
    files: frozenset[str] = frozenset()
    others: tuple[Reconciliation, ...] = ()  # From other sources than this repository, in the order of their names
    troubles: tuple[Trouble, ...] = ()
    installing: tuple[BuiltObject, ...] = ()

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Names of the Kustomizations from other sources."""
        return tuple(each.name for each in self.others)

    @property
    def is_known(self) -> bool:
        return bool(self.roots)


class _Found(NamedTuple):
    """An object that leads on, and which Kustomization built it."""

    of: FluxKustomization | LocalChart
    place: PlacedItem
    parent: int


def _reconciled(built: FluxKustomization, folder: str, parent: int, place: PlacedItem) -> Reconciliation:
    name = "/".join(filter(None, (built.namespace, built.name)))
    return Reconciliation(name, folder, parent, spec=built.spec, source=built.source, path=place.path, line=place.line)


class Walk:
    """One cluster. ``urls``: the addresses of this repository, normalized; see ``normalized``."""

    def __init__(self, files: ArtifactFiles, builds: Builds, urls: frozenset[str], pushed: PushedArtifacts) -> None:
        self._files, self._builds, self._urls, self._pushed = files, builds, urls, pushed
        self._here: dict[SourceKey, FluxSource | None] = {}  # Sources that are this repository
        self._bases: dict[SourceKey, str] = {}  # Of those that are artifacts: the directory that they are made of
        self._known: set[tuple[str, str]] = set()
        self._waiting: list[_Found] = []
        self._generated: list[Any] = []  # ConfigMaps
        self._maps: dict[tuple[str, str, str], Mapping[str, str | None]] = {}
        self._done: list[Reconciliation] = []
        self._charts: set[str] = set()
        self._led_on: dict[tuple[int, str, frozenset[tuple[str, str | None]]], Build] = {}
        self._troubles: list[Trouble] = []
        self._installing: list[BuiltObject] = []

    def reads(self, name: str, roots: Sequence[Root]) -> ClusterReads:
        """``name``: of the cluster, for people."""
        for root in roots:
            self._here[root.source] = None
            self._bases[root.source] = root.base
            if self._files.has(root.folder):
                self._begin(root)
            else:
                self._troubles.append(Trouble(root.place, 0, f"there is no directory {root.folder} with YAML files"))
        progress = True
        while progress:
            progress = self._follow()
        troubles = dict.fromkeys(self._troubles)
        files = frozenset[str](self._charts).union(*(each.files for each in self._done))
        left = (
            _reconciled(waiting.of, waiting.of.folder, waiting.parent, waiting.place)
            for waiting in self._waiting
            if isinstance(waiting.of, FluxKustomization)
        )
        others = {each.name: each for each in left}
        ordered = tuple(others[other] for other in sorted(others))
        done = tuple(each._replace(is_suspended=self._is_suspended(each)) for each in self._done)
        return ClusterReads(name, tuple(roots), done, files, ordered, tuple(troubles), tuple(self._installing))

    def _is_suspended(self, step: Reconciliation) -> bool:
        source = self._here[step.source]  # the source may be read after the Kustomization
        return step.is_suspended or (source is not None and source.is_suspended)

    def _begin(self, root: Root) -> None:
        """With the Kustomization that reconciles the root's folder, where one is found there."""
        items = [each for each in self._builds.of(root.folder, {}).items if isinstance(each, PlacedItem)]
        # Several may read the same directory; what says where the root is knows which one Flux begins with.
        for item in sorted(items, key=lambda each: each.path != root.place):
            own = kustomization_of(_data(item))
            if own is not None and _reads(own, root):
                self._known.add((own.namespace, own.name))
                self._built(_reconciled(own, root.folder, -1, item))
                return
        self._built(Reconciliation("", root.folder, -1, source=root.source))

    def _follow(self) -> bool:
        """What can be followed by now; a source may be found later than who names it."""
        waiting, self._waiting = self._waiting, []
        progress = False
        for each in waiting:
            if each.of.source in self._here:
                progress = True
                if isinstance(each.of, LocalChart):
                    self._chart(each.of, each.place)
                else:
                    self._reconcile(each.of, each)
            else:
                self._waiting.append(each)
        return progress

    def _reconcile(self, of: FluxKustomization, found: _Found) -> None:
        key = of.namespace, of.name
        if key in self._known:
            return
        if len(self._known) >= _MOST:
            self._trouble(found.place, f"more than {_MOST} Kustomizations")
            return
        self._known.add(key)
        folder = repository_path(posixpath.join(self._bases.get(of.source, ""), of.folder))
        if unknown := unknown_in(of.path):
            self._trouble(found.place, f"{of.namespace}/{of.name} reads {of.path}, and ${{{unknown}}} is not in Git")
        elif not self._files.has(folder):
            self._trouble(found.place, f"{of.namespace}/{of.name} reads {folder}, which is not in this repository")
        else:
            self._built(_reconciled(of, folder, found.parent, found.place))

    def _built(self, step: Reconciliation) -> None:
        spec, source = step.spec, self._here[step.source]
        build = self._builds.of(step.folder, spec, source.ignore if source is not None else None)
        self._troubles += build.troubles
        index = len(self._done)
        self._done.append(step._replace(files=build.files, is_suspended=is_suspended(spec)))
        self._generated += [_data(each) for each in build.items if each.current.kind == "ConfigMap"]
        values = self._values(spec, step.name.partition("/")[0])
        target = str(spec.get("targetNamespace") or "")
        if not (spec.get("patches") or spec.get("components")):
            # Many may reconcile one directory: what it has leads on once, with the same values.
            once = id(build), target, frozenset(values.items())
            if once in self._led_on:
                return
            self._led_on[once] = build
        for item in build.items:
            if isinstance(item, PlacedItem):
                self._lead_on(item, _data(item), index, values, target)

    def _map(self, kind: str, namespace: str, name: str) -> Mapping[str, str | None]:
        """The values of a ConfigMap that has been read so far, or is generated; of a Secret, only what it has."""
        key = kind, namespace, name
        if key not in self._maps:
            found: dict[str, str | None] = {}
            for data in (*self._generated, *self._objects(kind, name)):
                metadata = part(data, "metadata")
                if metadata.get("name") == name and metadata.get("namespace") in (None, "", namespace):
                    known = {**part(data, "data"), **part(data, "stringData")}
                    # What a Secret holds is encoded, or encrypted.
                    found |= {each: str(value) if kind == "ConfigMap" else None for each, value in known.items()}
            self._maps[key] = found
        return self._maps[key]

    def _objects(self, kind: str, name: str) -> Iterator[Mapping[str, Any]]:
        """Those of a kind in the files that have been read so far."""
        marks = f"kind: {kind}".encode(), name.encode()
        for path in sorted(frozenset[str]().union(*(each.files for each in self._done))):
            file = self._files.tree.at(path)
            if file is not None and all(mark in file.content for mark in marks):
                with suppress(Unreadable):  # a value that is none, such as a broken timestamp: Flux rejects the file
                    found = [each.data() for each in file.readable if each.text_at("kind") == kind]
                    yield from (each for each in found if isinstance(each, dict))

    def _values(self, spec: Mapping[str, Any], namespace: str) -> Mapping[str, str | None]:
        """The values of ``postBuild``; ``substitute`` comes before ``substituteFrom``."""
        post_build = part(spec, "postBuild")
        found: dict[str, str | None] = {}
        for kind, name, _ in value_sources(post_build):
            found |= self._map(kind, namespace, name)
        return found | {key: str(value) for key, value in part(post_build, "substitute").items()}

    def _lead_on(
        self, item: PlacedItem, data: Any, parent: int, values: Mapping[str, str | None], namespace: str
    ) -> None:
        if values:
            data = substituted_in(data, values)
        if not isinstance(data, dict):
            return
        if (source := source_of(data, namespace)) is not None:
            base = self._pushed.folder_of(source.key, source.url)
            if base is not None:
                self._bases[source.key] = base
            if base is not None or (source.url and normalized(source.url) in self._urls) or source.key in self._here:
                self._here[source.key] = source
            return
        for each in _templated(data):
            self._lead_on(item, each, parent, {}, namespace)
        if item.current.kind in INSTALLING:
            self._installing.append(item.built(data))
        of = kustomization_of(data, namespace) or chart_of(data, namespace)
        if of is not None:
            self._waiting.append(_Found(of, item, parent))

    def _chart(self, of: LocalChart, place: PlacedItem) -> None:
        folder = repository_path(of.path)
        found = frozenset(self._files.yaml_below(folder))
        if not found:
            self._trouble(place, f"HelmRelease {of.release} installs {of.path}, which is not in this repository")
        values = {repository_path(each) for each in of.values}
        self._charts |= found | (values & set(self._files.tree.candidates()))

    def _trouble(self, place: PlacedItem, message: str) -> None:
        self._troubles.append(Trouble(place.path, place.line, message))


def _reads(of: FluxKustomization, root: Root) -> bool:
    return repository_path(posixpath.join(root.base, of.folder)) == root.folder and of.source == root.source


def _templated(data: Mapping[str, Any]) -> Iterator[Any]:
    """The objects of a ResourceSet, for each of its inputs; those in which something is left to be put in, too."""
    resources = resources_of(data)
    for values in inputs_of(data) if resources else ():
        for each in resources:
            yield _put_in(each, values)


def _put_in(data: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(data, str) and _TEMPLATE in data:
        return _INPUT.sub(lambda match: str(values.get(match[1], match[0])), data)
    if isinstance(data, dict):
        return {key: _put_in(each, values) for key, each in data.items()}
    return [_put_in(each, values) for each in data] if isinstance(data, list) else data


def _data(item: Item) -> Any:
    try:
        return item.data
    except Unreadable:  # a step made something of it that is no object: kustomize says so
        return {}


def normalized(url: str) -> str:
    """An address of a repository as its host and path: Git reaches the same one by several.

    ``ssh://git@github.com/org/fleet.git``, ``git@github.com:org/fleet`` and ``https://github.com/org/fleet`` are one.
    """
    scheme, separator, rest = url.strip().partition("://")
    rest = rest if separator else scheme.replace(":", "/", 1)
    host, _, path = rest.rpartition("@")[2].partition("/")
    return posixpath.join(host.partition(":")[0].lower(), path.strip("/").removesuffix(".git").lower())
