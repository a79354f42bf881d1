"""Files that kustomizations take up as something else than resources: patches, and texts of ConfigMaps."""

from __future__ import annotations

import posixpath
from functools import cached_property
from typing import NamedTuple

from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import Tree
from flux_upgrade.pins.formats.passages import ENDS
from flux_upgrade.pins.formats.yaml_places import Object, readable
from flux_upgrade.pins.pin import SourceFile

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""kustomize api/konfig/general.go: RecognizedKustomizationFileNames."""
TEMPLATES = tuple(f"{name}{end}" for name in NAMES for end in ENDS)  # What something else makes a kustomization of
_OF_KUSTOMIZE = "kustomize.config.k8s.io/"


def read(tree: Tree, path: str) -> bytes | None:
    """None where there is no such file."""
    try:
        return tree.read(path) if path else None
    except Unreadable:
        return None


def joined(folder: str, path: str) -> str:
    """A path relative to ``folder``, as one relative to the root; empty where it leaves the tree."""
    parts: list[str] = []
    for part in f"{folder}/{path}".split("/"):
        if part == ".." and not parts:
            return ""
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


class Generated(NamedTuple):
    """A key of a ConfigMap that a kustomization makes from a file."""

    folder: str  # Of the kustomization
    name: str  # Of the ConfigMap, before kustomize puts a hash behind it
    key: str
    path: str  # Of the file, relative to the root


class Kustomizations:
    """All kustomizations of a tree; read when they are first asked about, and once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def source_of(self, consumer: str, name: str, key: str) -> SourceFile | None:
        """The file from which the ConfigMap's key is made for an object in the file ``consumer``.

        The nearest kustomization decides, in the consumer's folder or above it; None where there is none.
        """
        folder = posixpath.dirname(consumer)
        near = [
            each
            for each in self._generated
            if (each.name, each.key) == (name, key) and f"{folder}/".startswith(f"{each.folder}/".lstrip("/"))
        ]
        if not near:
            return None
        path = max(near, key=lambda each: len(each.folder)).path
        content = read(self._tree, path)
        return None if content is None else SourceFile(path, content)

    @cached_property
    def patch_files(self) -> frozenset[str]:
        """Paths of the files that are patches of something else."""
        fields = (("patches", ("path",)), ("patchesJson6902", ("path",)), ("patchesStrategicMerge", ()))
        return frozenset(
            joined(folder, text)
            for folder, each in self._all
            for field, inner in fields
            for entry in each.entries(field)
            # patchesStrategicMerge takes a patch itself, too.
            if (text := each.text_at(*entry, *inner)) and not {"\n", ":"} & set(text)
        )

    @cached_property
    def _generated(self) -> list[Generated]:
        return [
            Generated(folder, name, key or posixpath.basename(path), joined(folder, path))
            for folder, each in self._all
            for entry in each.entries("configMapGenerator")
            for name in [each.text_at(*entry, "name")]
            for file in each.entries(*entry, "files")
            for key, _, path in [each.text_at(*file).rpartition("=")]
        ]

    @cached_property
    def _all(self) -> list[tuple[str, Object]]:
        found: list[tuple[str, Object]] = []
        for path in self._tree.named(NAMES):
            content = read(self._tree, path) or b""
            if b"patch" in content or b"configMapGenerator" in content:
                folder = posixpath.dirname(path)
                found += [(folder, each) for each in readable(content) if is_kustomization(path, each)]
        return found


def is_kustomization(path: str, each: Object) -> bool:
    """Whether it is a kustomization of kustomize's, which may leave out its ``apiVersion``."""
    version = each.text_at("apiVersion")
    return posixpath.basename(path) in NAMES and (version.startswith(_OF_KUSTOMIZE) or not version)
