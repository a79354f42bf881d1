"""What kustomize-controller reads when it builds a folder, and which of Flux's objects come of it.

Flux builds without a load restrictor: a kustomization may name files above its folder. For a folder without one,
kustomize-controller writes it: all YAML files below, and as a whole each folder below that has one
(github.com/fluxcd/pkg/kustomize, ``Generator.WriteFile``).
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from flux_upgrade.clusters.graph.artifact_files import ArtifactFiles
from flux_upgrade.clusters.graph.flux_objects import (
    INSTALLING,
    KINDS,
    BuiltObject,
    may_lead,
    may_lead_unread,
    value_sources,
)
from flux_upgrade.kustomize import kustomization
from flux_upgrade.kustomize.errors import CannotBuild, CannotTell
from flux_upgrade.kustomize.items import Item, Items, held, id_of
from flux_upgrade.kustomize.kustomization import Kustomization
from flux_upgrade.kustomize.steps import FaultyEntry, steps
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.kubernetes_objects import KUSTOMIZATION, part, parts
from flux_upgrade.model.text import repository_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument, readable

_DEEPEST = 50  # Kustomizations below each other
_MOST = 10_000  # Kustomizations that are gone through for one repository
_KIND = re.compile(r"^kind:[ \t]*[\"']?(\w+)", re.MULTILINE)  # Of a List, each document is parsed
_COMPONENTS = "components"
_MAP = "ConfigMap"
_PLAIN = {"apiVersion", "kind", "metadata", "resources", "bases", "components"}
_ELSEWHERE = ("validators", "openapi", "configurations", "generators", "helmCharts")
"""Fields of a kustomization that change no object of its resources."""
_UNREADABLE = "a document that may lead to other files cannot be read"
_TARGET = re.compile(r".* of ([A-Za-z]+)(?:/| with |$)")


class Trouble(NamedTuple):
    """Something that could not be followed."""

    path: str  # The file that leads there
    line: int  # 1-based
    message: str  # A sentence without markup
    is_open: bool = False  # May lead to any file of the repository
    is_outside: bool = False  # Leads out of the tree, or may

    @property
    def place(self) -> str:
        return f"{self.path}{self.at_line}"

    @property
    def at_line(self) -> str:
        return f":{self.line}" if self.line else ""

    @property
    def said(self) -> str:
        """The message, with its effect."""
        return f"{self.message}, so every file counts as read" if self.is_open else self.message


@dataclass(frozen=True)
class PlacedItem(Item):
    """An object, with the file that it stands in."""

    path: str = ""
    line: int = 0
    is_certain: bool = True

    def built(self, data: Mapping[str, Any]) -> BuiltObject:
        return BuiltObject(self.path, self.ids[0].kind, self.ids[0].name, data, self.is_certain)


class Build(NamedTuple):
    files: frozenset[str] = frozenset()
    items: Items = ()  # Those that may lead on
    troubles: tuple[Trouble, ...] = ()

    def plus(self, *others: Build) -> Build:
        """All of them. An object that is there twice is taken once: kustomize would refuse it."""
        items = {_key(item): item for item in self.items}
        for item in (item for other in others for item in other.items):
            items.setdefault(_key(item), item)
        troubles = dict.fromkeys((*self.troubles, *(each for other in others for each in other.troubles)))
        return Build(self.files.union(*(each.files for each in others)), tuple(items.values()), tuple(troubles))


class Builds:
    """Builds of one repository; each folder is gone through once."""

    def __init__(self, files: ArtifactFiles) -> None:
        self._files, self._tree = files, files.tree
        self._known: dict[tuple[str, str | None], Build] = {}
        self._read: dict[str, Build] = {}
        self._above: list[str] = []
        self._count = 0

    def of(self, folder: str, spec: Mapping[str, Any], ignore: str | None = None) -> Build:
        """What a Kustomization with ``spec`` builds of a folder; ``ignore``: as ``ArtifactFiles``."""
        build = self._folder(folder, ignore)
        for name in kustomization.entries_in(spec, "components"):
            path = repository_path(posixpath.join(folder, str(name)))
            below = kustomization.read(self._tree, path)
            if below is None:
                is_there = path in self._tree.kustomization_folders
                problem = f"the component {name} is not readable" if is_there else f"there is no component {name}"
                trouble = Trouble(path if is_there else folder, 0, problem, is_open=is_there)
                build = build._replace(items=_doubted(build.items), troubles=(*build.troubles, trouble))
            else:
                build = self._run(below, build)
        patches = kustomization.entries_in(spec, "patches")
        if build.items and patches:
            build = build._replace(items=_stepped(_kustomization({"patches": patches}, self._tree), build.items))
        return build

    def _folder(self, folder: str, ignore: str | None = None) -> Build:
        key = folder, ignore
        if key not in self._known:
            of = kustomization.read(self._tree, folder)
            self._known[key] = self._generated(folder, ignore) if of is None else self._run(of, Build())
            if of is None and folder in self._tree.kustomization_folders:
                trouble = Trouble(folder, 0, "its kustomization.yaml cannot be read", is_open=True)
                self._known[key] = self._known[key].plus(Build(troubles=(trouble,)))
        return self._known[key]

    def _generated(self, folder: str, ignore: str | None) -> Build:
        """What kustomize-controller makes of a folder without a kustomization."""
        found: list[Build] = []
        taken: set[str] = set()
        for path in self._files.yaml_below(folder, ignore):
            above = _outermost(path, folder, self._tree.kustomization_folders)
            if above is None:
                found.append(self._file(path))
            elif above not in taken:
                taken.add(above)
                found.append(self._folder(above))
        return Build().plus(*found)

    def _run(self, of: Kustomization, given: Build) -> Build:
        """A kustomization; ``given``: what a component is for."""
        self._count += 1
        if of.folder in self._above or len(self._above) > _DEEPEST or self._count > _MOST:
            is_loop = of.folder in self._above
            why = "it leads back to itself" if is_loop else "there are too many below each other"
            return given.plus(Build(troubles=(Trouble(of.path, 1, why, is_open=not is_loop),)))
        self._above.append(of.folder)
        build = given.plus(Build(frozenset([of.path])))
        try:
            taken = list(of.takes_in())
            found = [self._taken(of, location.line, text) for location, field, text in taken if field != _COMPONENTS]
            build = build.plus(*found)
            for location, field, text in taken:
                if field == _COMPONENTS:
                    build = self._taken(of, location.line, text, build)
            build = build.plus(self._named(of))
            if build.items and not _PLAIN.issuperset(of.data):
                build = build._replace(items=_stepped(of, build.items))
        except (CannotBuild, Unreadable) as error:
            build = build.plus(Build(troubles=(Trouble(of.path, 1, error.message),)))
        self._above.pop()
        return build

    def _taken(self, of: Kustomization, line: int, text: str, given: Build | None = None) -> Build:
        """A file, or what a folder comes to; ``given``: what a component is for, which is in the result."""
        build = given or Build()
        doubted = build._replace(items=_doubted(build.items))
        try:
            path = of.joined(text)
        except CannotTell as error:
            trouble = Trouble(of.path, line, error.message, is_outside=True)
            return doubted.plus(Build(troubles=() if kustomization.is_remote(text) else (trouble,)))
        found = self._file(path)
        if found.files:
            return build.plus(found)
        below = kustomization.read(self._tree, path)
        if below is None and path in self._tree.kustomization_folders:
            trouble = Trouble(of.path, line, f"the kustomization of {text} is not readable", is_open=True)
            return doubted.plus(self._generated(path, None), Build(troubles=(trouble,)))
        if below is None:
            return doubted.plus(Build(troubles=(Trouble(of.path, line, f"there is no {text}"),)))
        if given is not None:
            return self._run(below, build)
        return build.plus(self._run(below, Build()) if path in self._above else self._folder(path))

    def _file(self, path: str) -> Build:
        """A file's objects that may lead on; no files where there is none."""
        if path not in self._read:
            file = self._tree.at(path)
            if file is None:
                trouble = Trouble(path, 0, "this file is too large to read", is_open=True)
                self._read[path] = Build(frozenset([path]), (), (trouble,)) if path in self._files.large else Build()
            elif self._may_lead(file.content):
                self._read[path] = _build_of(file, self._maps)
            else:
                self._read[path] = Build(frozenset([path]))
        return self._read[path]

    def _may_lead(self, content: bytes) -> bool:
        has_map = b"ConfigMap" in content and any(name.encode() in content for name in self._maps)
        return may_lead(content) or has_map

    @cached_property
    def _maps(self) -> frozenset[str]:
        """Names of the ConfigMaps that Kustomizations of Flux take variables from."""
        names = set[str]()
        for _, written in self._tree.flux_kustomizations:
            if "substituteFrom" in written.text:
                with suppress(Unreadable):  # a template, or a value that Flux rejects
                    sources = value_sources(part(part(written.data(), "spec"), "postBuild"))
                    names |= {name for kind, name, _ in sources if kind == "ConfigMap"}
        return frozenset(names)

    def _named(self, of: Kustomization) -> Build:
        """What it names besides: patches, and what it generates and configures with. A folder is a kustomization."""
        build = Build()
        for name in kustomization.named_in(of.data):
            try:
                path = of.joined(name)
            except CannotTell:
                continue
            found = self._file(path)
            below = None if found.files else kustomization.read(self._tree, path)
            if below is not None and path not in self._above:
                found = self._folder(path)
            build = build.plus(Build(found.files))
        return build.plus(Build(items=tuple(_generated_maps(of))))


def _build_of(file: File, maps: Collection[str]) -> Build:
    """Only the documents of kinds that lead on are parsed: most of a repository is something else."""
    items: list[Item] = []
    troubles: list[Trouble] = []
    for parsed in file.parsed_where(lambda text: _may_lead_on(text, maps)):
        if isinstance(parsed, BrokenDocument):
            if may_lead_unread(parsed.text):
                troubles.append(Trouble(file.path, parsed.line, _UNREADABLE, is_open=True))
            continue
        with suppress(Unreadable):  # what has no plain values is no object: kustomize says so
            data = parsed.data()
            items.append(PlacedItem((id_of(data),), held(data), path=file.path, line=parsed.line))
    return Build(frozenset([file.path]), tuple(items), tuple(troubles))


def _may_lead_on(text: str, maps: Collection[str]) -> bool:
    """Whether a document may, or may install Flux; nearly all charts come from somewhere else than a repository.

    ``maps``: names of ConfigMaps with variables.
    """
    kind = _KIND.search(text)
    if kind is not None and kind[1] == _MAP:
        return any(name in text for name in maps)
    marks = ("GitRepository", "Bucket", "distribution", "flux2")
    is_elsewhere = kind is not None and kind[1] == "HelmRelease" and not any(mark in text for mark in marks)
    return kind is None or (kind[1] in KINDS and not is_elsewhere)


def _generated_maps(of: Kustomization) -> Sequence[Item]:
    """ConfigMaps from literals, which may hold values of variables."""
    found: list[Item] = []
    for each in parts(of.data, "configMapGenerator"):
        if each.get("name"):
            pairs = (str(text).partition("=") for text in kustomization.entries_in(each, "literals"))
            data = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": str(each["name"]), "namespace": str(each.get("namespace") or "")},
                "data": {key: value.strip("\"'") for key, _, value in pairs},
            }
            found.append(PlacedItem((id_of(data),), held(data), path=of.path))
    return found


def _key(item: Item) -> tuple[object, ...]:
    """Return the key of an item in a build. The cluster may have either of two Kustomizations of one name."""
    if isinstance(item, PlacedItem) and item.current.group == KUSTOMIZATION.group:
        return (*item.current.identity, item.path, item.line)
    return item.current.identity


def _stepped(of: Kustomization, items: Items) -> Items:
    """Return the items after the steps of a kustomization. A second of one name is for itself: no step takes both."""
    layers: list[dict[tuple[str, ...], Item]] = []
    for item in items:
        name = item.current.identity
        layer = next((layer for layer in layers if name not in layer), None)
        if layer is None:
            layers.append(layer := {})
        layer[name] = item
    return tuple(item for layer in layers for item in _layer_stepped(of, tuple(layer.values())))


def _layer_stepped(owner: Kustomization, items: Items) -> Items:
    """Apply the steps of a kustomization. What fails here is for other objects, or for kustomize to say."""
    for step in steps(owner):
        if isinstance(step, FaultyEntry):
            items = items if step.what in _ELSEWHERE else _doubted(items)
            continue
        try:
            result = step.apply(items)
        except (CannotBuild, CannotTell, Unreadable):
            items = _doubted(items, step.what)
        else:
            items = result.items if result.fault is None else _doubted(items, step.what)
    return items


def _doubted(items: Items, step: str = "") -> Items:
    """Return the items, but those that a failed step may be for are uncertain."""
    target = _TARGET.match(step)
    concerned = [kind for kind in (*INSTALLING, _MAP) if target is None or target[1] == kind]
    return tuple(
        replace(item, is_certain=False) if isinstance(item, PlacedItem) and item.current.kind in concerned else item
        for item in items
    )


def _kustomization(data: Mapping[str, Any], tree: Snapshot) -> Kustomization:
    """One that stands in no file: the fields of a Kustomization of Flux's."""
    content = json.dumps(data).encode()
    return Kustomization("", content, next(readable(content)), tree)


def _outermost(path: str, folder: str, folders: frozenset[str]) -> str | None:
    """The outermost of some folders below ``folder`` that a file is in."""
    found = None
    above = posixpath.dirname(path)
    while above != folder and above:
        found = above if above in folders else found
        above = posixpath.dirname(above)
    return found
