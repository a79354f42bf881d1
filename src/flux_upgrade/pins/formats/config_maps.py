"""What a ConfigMap or a Secret holds, if the tree says so: a kustomization makes it, or it is written out.

kustomize api/types/kustomization.go, kvpairsources.go and generatorargs.go. kustomize puts a hash behind the
name, and changes references only in the fields that it knows: not those of a HelmRelease, unless a file of
`configurations` lists them as nameReference (fluxcd.io, "Helm Releases", "Refer to values in ConfigMaps
generated with Kustomize").
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.kustomize_patches import inline
from flux_upgrade.pins.formats.kustomize_tree import KustomizeTree
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import joined
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, documents, is_variable, objects_of

ABSENT = "which is not in this repository"
ENCRYPTED = "which SOPS encrypts"
TEMPLATE = "which is a template"
_KINDS = {"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}
_REFERENCE = "spec/valuesFrom/name"
_MOST_NAMES = 50  # Whose manifests are looked for
_MOST = 100  # Manifests, or generators, of one name


class Wanted(NamedTuple):
    """A key of a ConfigMap or a Secret, as a HelmRelease refers to it."""

    kind: str
    namespace: str  # Empty: a kustomization sets it
    name: str
    key: str


class Held(NamedTuple):
    """What is at the key; nothing, and the reason, if the tree does not say."""

    file: File | None = None
    values: Object | None = None  # The mapping in its text
    holder: Object | None = None  # The ConfigMap or Secret, if it is written out
    reason: str = ""


class _Generator(NamedTuple):
    directory: str
    name: str
    files: Mapping[str, str]  # Key → path
    literals: frozenset[str]
    behavior: str
    is_hashed: bool


class ConfigMaps:
    """Those of a tree, as seen by the objects that refer to them."""

    def __init__(self, tree: Snapshot) -> None:
        self.tree, self.kustomize = tree, KustomizeTree(tree)
        self.at, self._generators = cache(self._at), cache(self._generated)
        self._manifests: dict[tuple[str, str], list[tuple[File, Object]]] = {}
        self._held: dict[tuple[str, int, str], Held] = {}  # By file, line of the manifest, and key

    def _at(self, consumer: str, wanted: Wanted, root: str | None) -> Held:
        """What an object in the file ``consumer`` gets, if ``root`` is the kustomization that applies it.

        None: no kustomization takes it in. Then the nearest one decides, in its directory or above it.
        """
        found = self._made(consumer, wanted, root) if root is not None else None
        written = [] if found else self._written(wanted)
        inside = self.kustomize.files(root) | {consumer} if root is not None else {consumer}
        near = [each for each in written if each[0].path in inside]
        if not found and not near:
            above = [posixpath.dirname(consumer)]
            while above[-1]:
                above.append(posixpath.dirname(above[-1]))
            known = (each for each in above if each in self.kustomize.takers)
            found = next((made for each in known if (made := self._made(consumer, wanted, each))), None)
        return found or self._of_manifests(consumer, wanted, near or written)

    def _made(self, consumer: str, wanted: Wanted, root: str) -> Held | None:
        """What kustomizations make, ``root`` and those that it takes in."""
        hits = self._generators(root, wanted.kind).get(wanted.name, [])
        if not hits:
            return None
        usable = [generator for generator, is_name in hits if is_name or self._refers(root, wanted.kind)]
        if not usable:
            return Held(reason="which kustomize renames: no nameReference covers the HelmRelease")
        while len(usable) > 1 and usable[0].behavior in ("merge", "replace"):
            if usable[0].behavior == "replace" or wanted.key in (*usable[0].files, *usable[0].literals):
                usable = usable[:1]
            else:
                usable = usable[1:]
        nearest = max(_shared(consumer, each.directory) for each in usable)
        usable = [each for each in usable if _shared(consumer, each.directory) == nearest]
        if len(usable) > 1:
            return Held(reason=f"which {len(usable)} kustomizations make")
        return self._of_generator(usable[0], wanted.key)

    def _of_generator(self, generator: _Generator, key: str) -> Held:
        if key in generator.literals:
            return Held(reason="which a literal of a kustomization sets")
        if key not in generator.files:
            return Held(reason=f"which has no key {key}")
        path = generator.files[key]
        file = self.tree.at(path)
        if file is None:
            return Held(reason=f"which is made from {path or 'a file outside the repository'}, which does not exist")
        return _read(file, file.objects)

    def _generated(self, root: str, kind: str) -> Mapping[str, list[tuple[_Generator, bool]]]:
        """By each name that they have on the way to the root, and whether the cluster has that name."""
        found: dict[str, list[tuple[_Generator, bool]]] = {}
        taken = self.kustomize.built(root)
        for directory in taken:
            for generator in self._of_directory(directory, kind):
                names = [generator.name, *self._renamed(generator.name, directory, root, taken)]
                for name in dict.fromkeys(names):
                    if len(found.setdefault(name, [])) < _MOST:
                        found[name].append((generator, name == names[-1] and not generator.is_hashed))
        return found

    def _of_directory(self, directory: str, kind: str) -> Iterator[_Generator]:
        each = self.kustomize.takers[directory].object
        off = each.text_at("generatorOptions", "disableNameSuffixHash")
        for field in (name for name, made in _KINDS.items() if made == kind):
            for entry in each.entries(field):
                pairs = [value.text.rpartition("=") for value in each.scalars(*entry, "files")]
                files = {key or posixpath.basename(path): joined(directory, path) for key, _, path in pairs}
                literals = frozenset(value.text.partition("=")[0] for value in each.scalars(*entry, "literals"))
                own = each.text_at(*entry, "options", "disableNameSuffixHash") or off
                behavior = each.text_at(*entry, "behavior")
                yield _Generator(directory, each.text_at(*entry, "name"), files, literals, behavior, own != "true")

    def _renamed(self, name: str, directory: str, root: str, taken: Mapping[str, str]) -> Iterator[str]:
        while True:
            each = self.kustomize.takers[directory].object
            name = f"{each.text_at('namePrefix')}{name}{each.text_at('nameSuffix')}"
            yield name
            if directory == root:
                return
            directory = taken[directory]

    def _refers(self, root: str, kind: str) -> bool:
        """Whether kustomize changes the names in `valuesFrom`; a configuration that is not here is believed."""
        for directory in self.kustomize.built(root):
            for value in self.kustomize.takers[directory].object.scalars("configurations"):
                file = self.tree.at(joined(directory, value.text))
                if file is None or any(_is_reference(each, kind) for each in file.readable):
                    return True
        return False

    def _written(self, wanted: Wanted) -> list[tuple[File, Object]]:
        """Manifests of the kind and name that may be in the namespace; patches are none."""
        place = wanted.kind, wanted.name
        if place not in self._manifests:
            is_looked_for = len(self._manifests) < _MOST_NAMES and wanted.name and not is_variable(wanted.name)
            self._manifests[place] = [*islice(self._search(wanted), _MOST)] if is_looked_for else []
        return [
            (file, each)
            for file, each in self._manifests[place]
            if each.text_at("metadata", "namespace") in ("", wanted.namespace) or not wanted.namespace
        ]

    def _search(self, wanted: Wanted) -> Iterator[tuple[File, Object]]:
        kind, name = wanted.kind.encode(), wanted.name.encode()
        for file in filter(None, map(self.tree.at, self.tree.candidates())):
            if name in file.content and kind in file.content and file.path not in self.tree.patch_files:
                for each in file.readable:
                    if each.text_at("kind") == wanted.kind and each.text_at("metadata", "name") == wanted.name:
                        yield file, each

    def _of_manifests(self, consumer: str, wanted: Wanted, found: Sequence[tuple[File, Object]]) -> Held:
        if not found:
            return Held(reason=ABSENT)
        nearest = max(_shared(consumer, posixpath.dirname(file.path)) for file, _ in found)
        near = [each for each in found if _shared(consumer, posixpath.dirname(each[0].path)) == nearest]
        if len(found) > 1 and (len(near) > 1 or nearest < _depth(posixpath.dirname(consumer))):
            return Held(reason=f"which {len(found)} files have")
        file, each = near[0]
        place = file.path, each.line, wanted.key
        if place not in self._held:
            self._held[place] = self._of_manifest(file, each, wanted)
        return self._held[place]

    def _of_manifest(self, file: File, each: Object, wanted: Wanted) -> Held:
        field = "data" if wanted.kind == "ConfigMap" else "stringData"
        if each.has("sops"):
            return Held(reason=ENCRYPTED)
        if not each.has(field, wanted.key):
            is_encoded = each.has("data", wanted.key) or each.has("binaryData", wanted.key)
            return Held(reason="which is encoded" if is_encoded else f"which has no key {wanted.key}")
        if self._is_patched(wanted):
            return Held(reason="which a patch changes")
        passage = each.passage_at(field, wanted.key)
        if passage is None:
            return Held(reason="whose text has escapes")
        return _read(file, [one for document in documents(passage) for one in objects_of(document)], each)

    def _is_patched(self, wanted: Wanted) -> bool:
        name = wanted.name.encode()
        texts = [
            (patch.content, patch.target_name)
            for taker in self.kustomize.takers.values()
            if name in taker.file.content
            for patch in inline(taker.object, taker.file.content)
        ]
        texts += [(self.tree.content(path) or b"", "") for path in self.tree.patch_files]
        return any(wanted.key.encode() in text and (name in text or target == wanted.name) for text, target in texts)


def _read(file: File, found: Sequence[Object | BrokenDocument], holder: Object | None = None) -> Held:
    if any(isinstance(each, BrokenDocument) and is_variable(each.text) for each in found):
        return Held(file, holder=holder, reason=TEMPLATE)
    values = found[0] if len(found) == 1 else None
    if not isinstance(values, Object):
        return Held(file, holder=holder, reason="which is not one document of YAML")
    return Held(reason=ENCRYPTED) if values.has("sops") else Held(file, values, holder)


def _is_reference(each: Object, kind: str) -> bool:
    return any(
        each.text_at(*entry, "kind") == kind and each.text_at(*field, "path") == _REFERENCE
        for entry in each.entries("nameReference")
        for field in each.entries(*entry, "fieldSpecs")
    )


def _depth(directory: str) -> int:
    return len(directory.split("/")) if directory else 0


def _shared(path: str, directory: str) -> int:
    """How many directories from the root on a file has in common with a directory."""
    return _depth(posixpath.commonpath((posixpath.dirname(path), directory)))
