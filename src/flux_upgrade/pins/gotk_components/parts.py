"""Find the files that are one installation together: those of a kustomization, or of a directory without one.

Flux builds a directory without a `kustomization.yaml` of all manifests in it and below it:
https://fluxcd.io/flux/components/kustomize/kustomizations/#generating-a-kustomizationyaml-file.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import chain

from flux_upgrade.manifests.documents import Document
from flux_upgrade.manifests.infer import INSTANCE, PART_OF, is_dump
from flux_upgrade.manifests.options import COMPONENTS
from flux_upgrade.manifests.parts import Part, read
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import is_below
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.kustomize_tree import KustomizeTree
from flux_upgrade.snapshot.kustomize_files import NAMES, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.pins.pin import Pin
    from flux_upgrade.snapshot.snapshot import Snapshot

_OURS = {
    # Kind → how the names begin that flux2 has in manifests/ (bases, rbac, policies), v2.0.0 to v2.9.4
    "Deployment": COMPONENTS,
    "ServiceAccount": COMPONENTS,
    "Service": ("source-controller", "notification-controller", "webhook-receiver", "source-watcher"),
    "ClusterRole": ("crd-controller", "flux-edit", "flux-view"),
    "ClusterRoleBinding": ("crd-controller", "cluster-reconciler"),
    "NetworkPolicy": ("allow-egress", "allow-scraping", "allow-webhooks"),
    "ResourceQuota": ("critical-pods",),
    "Namespace": ("",),
}
_MARKS = tuple(each.encode() for each in (PART_OF, INSTANCE, ".toolkit.fluxcd.io"))
_NEEDED = frozenset({"CustomResourceDefinition", "Deployment", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"})
_APART = "its CRDs are not in the kustomization or directory that has its controllers"
_TOGETHER = "list all of them in one kustomization, or upgrade them together yourself"
_ONE = "keep one of them, or put each installation into a separate directory"
_KIND = re.compile(rb"^kind: *[\"']?(\w+)", re.MULTILINE)


class Parts(NamedTuple):
    """The files of one installation."""

    parts: tuple[Part, ...]  # By path
    main: str  # Path of the file that has a controller
    problem: Unreadable | None = None  # The reason not to take them together


class PartFinder:
    """Finds the other files of an installation in a tree."""

    def __init__(self, tree: Snapshot) -> None:
        self._tree = tree
        self._ours, self.parts_at = cache(self._own_objects), cache(self._parts_at)

    def _parts_at(self, path: str) -> Parts | None:
        """Return the files of the installation that has ``path``, a manifest; None if that is the only one."""
        try:
            if not self._ours(path):
                return None
        except Unreadable:
            return None  # Reported for the file itself
        # A whole file can be completed only by its own kustomization, with network policies for example.
        units = [self._beside(path)] if self._is_whole([path]) else self._units(path)
        chosen = self._chosen(path, units)
        has_controller = chosen is not None and any(b"Deployment" in part.content for part in chosen.parts)
        return chosen if has_controller else None

    def with_crds_elsewhere(self, pin: Pin) -> Parts | None:
        """Return the files of a manifest and those with its absent CRDs; None if no file has them."""
        names = {key.name for key in pin.proof.absent_crds}
        if not names:
            return None
        present, others = [part.path for part in pin.parts] or [pin.path], list[str]()
        for path in self._tree.candidates():
            content = self._tree.content(path) if path not in present else None
            if content is None or b"CustomResourceDefinition" not in content or not self._is_marked(path):
                continue
            if not self._may_be_built(path):
                continue  # Schemas for a linter
            try:
                objects = self._ours(path)
            except Unreadable:
                continue  # A template, or no manifest
            # CRDs next to a controller are those of that controller.
            is_other = any(kind == "Deployment" for kind, _ in objects)
            others += [] if is_other or names.isdisjoint(name for _, name in objects) else [path]
        return self._made([*present, *others], Unreadable(_APART, hint=_TOGETHER)) if others else None

    def _chosen(self, path: str, units: Iterable[frozenset[str]]) -> Parts | None:
        """Take the largest unit that has nothing twice, up to the first that is whole."""
        chosen: Parts | None = None
        is_whole = self._is_whole([path])
        for unit in units:
            paths = sorted(other for other in unit | {path} if other == path or self._is_marked(other))
            try:
                paths = [other for other in paths if other == path or self._ours(other)]
                twice = self._twice(paths)
            except Unreadable as error:
                return chosen if is_whole else self._made(paths, error)
            if twice and (is_whole or chosen is not None):
                break
            if twice:
                return self._made(paths, Unreadable(f"{twice} is in more than one of them", hint=_ONE))
            if len(paths) > 1:
                chosen = self._made(paths)
                if self._is_whole(paths):
                    break
        return chosen

    def _made(self, paths: Iterable[str], problem: Unreadable | None = None) -> Parts:
        parts = tuple(Part(path, self._tree.content(path) or b"") for path in sorted(paths))
        return Parts(parts, min(parts, key=self._rank).path, problem)

    def _rank(self, part: Part) -> tuple[bool, bool, bool, str]:
        """Sort a file with a controller first."""
        name = posixpath.basename(part.path)
        kinds = _KIND.findall(part.content)
        is_named = name in ("gotk-components.yaml", "gotk-components.yml")
        return b"Deployment" not in kinds, not is_named, b"source-controller" not in part.content, part.path

    def _units(self, path: str) -> Iterator[frozenset[str]]:
        """Yield the files of what may build a file, from the inside out."""
        tree = self._kustomizations
        above = [path]
        seen: set[str] = set()
        while above:
            directories = {each for below in above for each in tree.above.get(below, ())}
            above = sorted(directories - seen)
            seen |= directories
            for directory in above:
                yield self._yaml(tree.files(directory))
        if not seen:
            yield self._folder(path)

    def _beside(self, path: str) -> frozenset[str]:
        """Return the files of the kustomization in the same directory; none if it does not list the file."""
        folder = posixpath.dirname(path)
        for file in filter(None, (self._tree.at(joined(folder, name)) for name in NAMES)):
            for each in file.readable:
                paths = frozenset(joined(folder, value.text) for value in each.scalars("resources"))
                if path in paths:
                    return self._yaml(paths)
        return frozenset()

    def _folder(self, path: str) -> frozenset[str]:
        """Return the files that Flux builds with a file that no kustomization lists."""
        built = self._tree.kustomization_folders
        folder = top = posixpath.dirname(path)
        if top in built:
            return frozenset()
        roots = self._roots
        while folder and folder not in built:
            if folder in roots:
                top = folder
            folder = posixpath.dirname(folder)
        if not folder and "" not in built and "" in roots:
            top = ""
        paths = set[str]()
        is_root = top in roots
        for other in self._tree.candidates(top):
            inner = posixpath.dirname(other)
            if not is_root and inner != top:
                continue
            while inner != top and inner not in built:
                inner = posixpath.dirname(inner)
            paths |= {other} if inner == top else self._kustomizations.files(inner)
        return self._yaml(paths)

    def _yaml(self, paths: Iterable[str]) -> frozenset[str]:
        return frozenset(path for path in paths if path.endswith((".yaml", ".yml"))) - self._tree.patch_files

    @cached_property
    def _kustomizations(self) -> KustomizeTree:
        return KustomizeTree(self._tree)

    @cached_property
    def _roots(self) -> frozenset[str]:
        """Directories of this tree that a Kustomization names."""
        part = self._tree.location.part
        paths = (joined("", each.text_at("spec", "path")) for _, each in self._tree.flux_kustomizations)
        return frozenset(f"{path}/".removeprefix(part).strip("/") for path in paths if f"{path}/".startswith(part))

    def _may_be_built(self, path: str) -> bool:
        """Return whether a kustomization, or a Kustomization of Flux's, may lead to a file."""
        if path in self._tree.patch_files:
            return False
        roots = self._roots
        is_below_root = not roots or any(not root or is_below(path, root) for root in roots)
        return is_below_root or bool(self._kustomizations.above.get(path))

    def _is_marked(self, path: str) -> bool:
        content = self._tree.content(path)
        return content is not None and any(content.rfind(mark) >= 0 for mark in _MARKS)

    def _own_objects(self, path: str) -> frozenset[tuple[str, str]]:
        """Return kind and name of the objects that are Flux's. Raises Unreadable, with the path."""
        part = Part(path, self._tree.read(path))
        return frozenset((each.key.kind, each.key.name) for each in read(part).documents if _is_ours(each))

    def _twice(self, paths: Iterable[str]) -> str:
        """Name an object that two of the files have; empty if there is none."""
        counted = Counter(chain.from_iterable(map(self._ours, paths)))
        return next((f"{kind}/{name}" for (kind, name), count in sorted(counted.items()) if count > 1), "")

    def _is_whole(self, paths: Iterable[str]) -> bool:
        return {kind for path in paths for kind, _ in self._ours(path)} >= _NEEDED


def _is_ours(document: Document) -> bool:
    # What names none of these may be no object at all: a List of HelmReleases in the same directory.
    if not any(mark in document.text for mark in (PART_OF, INSTANCE, "CustomResourceDefinition")):
        return False
    key = document.key
    is_crd = key.kind == "CustomResourceDefinition" and key.name.endswith(".toolkit.fluxcd.io")
    if not is_crd and not key.name.startswith(_OURS.get(key.kind, ("/",))):
        return False
    is_labelled = PART_OF in document.text or INSTANCE in document.text
    return (is_labelled or is_crd) and not is_dump(document)
