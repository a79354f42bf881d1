"""From the root of a cluster to every file that Flux reads for it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from flux_upgrade.clusters.graph.artifact_files import HOLE, ArtifactFiles
from flux_upgrade.clusters.graph.builds import Build, Builds, PlacedItem, Trouble
from flux_upgrade.clusters.graph.flux_objects import (
    INSTALLING,
    SOURCES,
    BuiltObject,
    FluxKustomization,
    FluxSource,
    LocalChart,
    SourceKey,
    chart_of,
    is_suspended,
    kustomization_of,
    source_of,
)
from flux_upgrade.clusters.graph.origins import Origins
from flux_upgrade.clusters.graph.path_troubles import called, path_trouble, spelled, template_trouble
from flux_upgrade.clusters.graph.pushed import ARTIFACT, PushedArtifacts
from flux_upgrade.clusters.graph.reads import ClusterReads, Reconciliation, Root
from flux_upgrade.clusters.graph.resource_sets import templated
from flux_upgrade.clusters.graph.substitute_values import SubstituteValues, data_of
from flux_upgrade.clusters.graph.substitution import substituted_in, unknown_in, without_unknown
from flux_upgrade.config.config import Known
from flux_upgrade.model.text import is_below, repository_path
from flux_upgrade.model.values import NamedTuple

_MOST = 2_000  # Kustomizations of one cluster


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

    def __init__(
        self, files: ArtifactFiles, builds: Builds, urls: frozenset[str], pushed: PushedArtifacts, origins: Origins
    ) -> None:
        self._files, self._builds, self._pushed, self._origins = files, builds, pushed, origins
        self._addresses = set(urls)
        self._seen: dict[SourceKey, FluxSource] = {}
        self._here: dict[SourceKey, FluxSource | None] = {}  # Sources that are this repository
        self._bases: dict[SourceKey, str] = {}  # Of those that are artifacts: the directory that they are made of
        self._known: dict[tuple[str, str, str], dict[str, str]] = {}  # Namespace, name, choice → path → place
        self._choices: dict[int, str] = {}  # Index of a reconciliation → the nearest of its directories that is a guess
        self._waiting: list[_Found] = []
        self._done: list[Reconciliation] = []
        self._charts: set[str] = set()
        self._led_on: dict[tuple[int, str, frozenset[tuple[str, str | None]]], Build] = {}
        self._troubles: list[Trouble] = []
        self._installing: list[BuiltObject] = []
        self._above = ""

    def reads(self, name: str, roots: Sequence[Root], known: Sequence[Known] = ()) -> ClusterReads:
        """``name``: of the cluster, for people. ``known``: entries of the config file about it."""
        self._values = SubstituteValues(self._files.tree, known)
        for root in roots:
            self._here[root.source] = None
            self._bases[root.source], self._above = root.base, root.above
            if root.url:
                self._addresses.add(normalized(root.url))
            if self._files.has(root.folder):
                self._begin(root)
            else:
                message = f"there is no directory {root.folder} with YAML files"
                self._troubles.append(Trouble(root.place, 0, message, is_open=True, is_outside=True))
        while self._follow() or self._guess():
            pass
        for item in self._waiting:
            if item.of.source.kind not in SOURCES:
                self._trouble(item.place, f"{called(item.of)} comes from {spelled(item.of.source)}", is_open=True)
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
        installing, used = tuple(self._installing), tuple(self._values.used)
        return ClusterReads(name, tuple(roots), done, files, ordered, tuple(troubles), installing, used)

    def _is_suspended(self, step: Reconciliation) -> bool:
        source = self._here.get(step.source)  # the source may be read later
        return step.is_suspended or (source is not None and source.is_suspended)

    def _begin(self, root: Root) -> None:
        """With the Kustomization that reconciles the root's folder, where one is found there."""
        items = [each for each in self._builds.of(root.folder, {}).items if isinstance(each, PlacedItem)]
        # Several may read the same directory; what says where the root is knows which one Flux begins with.
        for item in sorted(items, key=lambda each: each.path != root.place):
            own = kustomization_of(data_of(item))
            if own is not None and _reads(own, root):
                self._known[own.namespace, own.name, ""] = {own.folder: _place(item)}
                self._built(_reconciled(own, root.folder, -1, item))
                return
        self._built(Reconciliation("", root.folder, -1, source=root.source))

    def _follow(self) -> bool:
        """What can be followed by now; a source may be found later than who names it."""
        waiting, self._waiting = self._waiting, []
        progress = False
        for each in waiting:
            if self._is_here(each.of.source):
                progress = True
                self._take(each, (self._bases.get(each.of.source, ""),))
            else:
                self._waiting.append(each)
        return progress

    def _is_here(self, key: SourceKey) -> bool:
        """Whether a source is this repository; its address may be found later than the source."""
        source = self._seen.get(key)
        if key not in self._here and source is not None and source.url and normalized(source.url) in self._addresses:
            self._here[key] = source
            if key.kind != ARTIFACT:
                self._bases.setdefault(key, next(iter(self._bases.values()), ""))
        return key in self._here

    def _guess(self) -> bool:
        """Follow what is from sources that may be this repository, where its path exists here."""
        waiting, self._waiting = self._waiting, []
        progress = False
        for item in waiting:
            key, bases = item.of.source, tuple(dict.fromkeys((*self._bases.values(), "")))
            is_source = key.kind in SOURCES
            origin = self._origins.origin(key, self._seen.get(key), bases, is_addressed=bool(self._addresses))
            if is_source and any(self._folders(item.of, (base,)) for base in origin.bases):
                doubt = f"{called(item.of)} reads {item.of.path or './'} of {spelled(key)}, {origin.doubt}"
                self._trouble(item.place, f"{doubt}: it counts as this repository")
                self._take(item, origin.bases)
                progress = True
            else:
                self._waiting.append(item)
        return progress

    def _take(self, item: _Found, bases: tuple[str, ...]) -> None:
        """Follow an object. ``bases``: the directories that its source may contain."""
        if isinstance(item.of, LocalChart):
            self._chart(item.of, item.place, bases)
        else:
            self._reconcile(item.of, item, bases)

    def _folders(self, reader: FluxKustomization | LocalChart, bases: Sequence[str]) -> list[str]:
        """Return the directories of the tree that an object may read."""
        path = repository_path(without_unknown(reader.path, HOLE))
        if self._above:
            if not is_below(path, self._above):
                return []
            path = path[len(self._above) + 1 :]
        paths = [repository_path(posixpath.join(base, path)) for base in bases]
        return list(dict.fromkeys(folder for path in paths for folder in self._files.like(path)))

    def _reconcile(self, of: FluxKustomization, found: _Found, bases: Sequence[str]) -> None:
        choice = self._choices.get(found.parent, "")
        key = of.namespace, of.name, choice
        known = self._known.get((*key[:2], ""), {}) | self._known.get(key, {})
        if of.folder in known:
            return
        if max(len(self._known), len(self._done)) >= _MOST:
            self._trouble(found.place, f"more than {_MOST} Kustomizations", is_open=True)
            return
        if known:
            first = next(iter(known.values()))
            self._trouble(found.place, f"{called(of)} is in {first}, too, with another path: both count as read")
        self._known.setdefault(key, {})[of.folder] = _place(found.place)
        folders = self._folders(of, bases)
        self._troubles += path_trouble(of, found.place, self._above, is_there=bool(folders))
        for folder in folders:
            # Objects of one name may be in several directories if just one of these is the right one.
            self._choices[len(self._done)] = folder if len(folders) > 1 else choice
            self._built(_reconciled(of, folder, found.parent, found.place))

    def _built(self, step: Reconciliation) -> None:
        spec, source = step.spec, self._here.get(step.source)
        build = self._builds.of(step.folder, spec, source.ignore if source is not None else None)
        self._troubles += build.troubles
        index = len(self._done)
        self._done.append(step._replace(files=build.files, is_suspended=is_suspended(spec)))
        self._values.add(build)
        values = self._values.substituted(spec, step.name.partition("/")[0])
        target = str(spec.get("targetNamespace") or "")
        if not (spec.get("patches") or spec.get("components")):
            # Many may reconcile one directory: what it has leads on once, with the same values.
            once = id(build), target, frozenset(values.items())
            if once in self._led_on:
                return
            self._led_on[once] = build
        for item in build.items:
            if isinstance(item, PlacedItem):
                self._lead_on(item, data_of(item), index, values, target)

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
            self._seen[source.key] = source
            if base is not None or source.key in self._here:
                self._here[source.key] = source
                if source.url and source.key.kind != ARTIFACT and not unknown_in(source.url):
                    self._addresses.add(normalized(source.url))
            return
        self._troubles += template_trouble(data, item)
        for each in templated(data):
            self._lead_on(item, each, parent, {}, namespace)
        if item.current.kind in INSTALLING:
            self._installing.append(item.built(data))
        of = kustomization_of(data, namespace) or chart_of(data, namespace)
        if of is not None:
            self._waiting.append(_Found(of, item, parent))

    def _chart(self, of: LocalChart, place: PlacedItem, bases: Sequence[str]) -> None:
        folders = self._folders(of, bases)
        files = frozenset(path for folder in folders for path in self._files.yaml_below(folder))
        self._troubles += path_trouble(of, place, self._above, is_there=bool(files))
        values = {repository_path(posixpath.join(base, repository_path(each))) for each in of.values for base in bases}
        self._charts |= files | (values & set(self._files.tree.candidates()))

    def _trouble(self, place: PlacedItem, message: str, *, is_open: bool = False) -> None:
        self._troubles.append(Trouble(place.path, place.line, message, is_open))


def _place(item: PlacedItem) -> str:
    return f"{item.path}:{item.line}"


def _reads(of: FluxKustomization, root: Root) -> bool:
    folder = posixpath.join(root.above, root.folder).rstrip("/") if root.in_sync is None else root.in_sync
    return repository_path(posixpath.join(root.base, of.folder)) == folder and of.source == root.source


def normalized(url: str) -> str:
    """An address of a repository as its host and path: Git reaches the same one by several.

    ``ssh://git@github.com/org/fleet.git``, ``git@github.com:org/fleet`` and ``https://github.com/org/fleet`` are one.
    """
    scheme, separator, rest = url.strip().partition("://")
    rest = rest if separator else scheme.replace(":", "/", 1)
    host, _, path = rest.rpartition("@")[2].partition("/")
    return posixpath.join(host.partition(":")[0].lower(), path.strip("/").removesuffix(".git").lower())
