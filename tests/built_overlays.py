"""Builds of kustomizations: those of the real kustomize, and our own evaluation, to compare them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from flux_upgrade.impact.overlay.evaluation import Evaluation, Sides
from flux_upgrade.kustomize import kustomization
from flux_upgrade.kustomize.items import Item, Items, items_of
from memory import MemoryTree

Objects = dict[tuple[str, ...], Any]


@dataclass(frozen=True)
class Built:
    """The objects of a build, or its error."""

    objects: Objects = field(default_factory=dict)
    error: str = ""


class Kustomize:
    """The real kustomize; as with Flux, a build may use files from anywhere in the repository."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder

    def build(self, files: Mapping[str, bytes], folder: str) -> Built:
        with TemporaryDirectory(dir=self._folder) as root:
            for path, content in files.items():
                target = Path(root, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            words = ("build", "--load-restrictor", "LoadRestrictionsNone", os.path.join(root, folder))
            # It ends before collecting garbage would pay.
            env = {"GOGC": "off"}
            done = subprocess.run((self._program, *words), capture_output=True, check=False, env=env)  # noqa: S603  (ours)
            if done.returncode:
                return Built(error=done.stderr.decode().replace(f"{root}/", ""))
        loaded = yaml.load_all(done.stdout, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return Built({_name(each): each for each in loaded})


def evaluated(files: Mapping[str, bytes], folder: str, path: str, old: bytes, new: bytes) -> Sides:
    """Our own evaluation, with the manifest at ``path`` before and after an upgrade."""
    tree = MemoryTree({**files, path: old})
    root = kustomization.read(tree, folder)
    assert root is not None
    return Evaluation(tree, path, _release_items(old), _release_items(new)).run(root)


@lru_cache(maxsize=8)
def _release_items(manifest: bytes) -> Items:
    """Shared by many kustomizations: nothing changes the data of an item."""
    return items_of(manifest, is_release=True)


def objects(items: Iterable[Item]) -> Objects:
    """By their names."""
    return {_name(item.data): item.data for item in items}


def _name(data: Any) -> tuple[str, ...]:
    metadata = data["metadata"]
    return data["apiVersion"], data["kind"], metadata.get("namespace", ""), metadata["name"]
