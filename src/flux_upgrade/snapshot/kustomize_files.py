"""Files that kustomizations take up as something else than resources: patches."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from flux_upgrade.snapshot.passages import ENDS
from flux_upgrade.snapshot.yaml_places import Object

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""kustomize api/konfig/general.go: RecognizedKustomizationFileNames."""
TEMPLATES = tuple(f"{name}{end}" for name in NAMES for end in ENDS)  # What something else makes a kustomization of
_OF_KUSTOMIZE = "kustomize.config.k8s.io/"


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


def patches_in(folder: str, each: Object) -> Iterator[str]:
    """Paths of the files that a kustomization in a folder takes for patches."""
    for field, inner in (("patches", ("path",)), ("patchesJson6902", ("path",)), ("patchesStrategicMerge", ())):
        for entry in each.entries(field):
            text = each.text_at(*entry, *inner)
            # patchesStrategicMerge takes a patch itself, too.
            if text and not {"\n", ":"} & set(text):
                yield joined(folder, text)


def is_kustomization(path: str, each: Object) -> bool:
    """Whether it is a kustomization of kustomize's, which may leave out its ``apiVersion``."""
    version = each.text_at("apiVersion")
    return posixpath.basename(path) in NAMES and (version.startswith(_OF_KUSTOMIZE) or not version)
