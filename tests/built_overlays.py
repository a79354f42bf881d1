"""Kustomizations built by the real kustomize, and evaluated by ours, to compare them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from flux_upgrade.impact.overlay import kustomization
from flux_upgrade.impact.overlay.evaluation import Evaluation, Sides
from flux_upgrade.impact.overlay.items import Item, items_of
from memory import MemoryTree

Objects = dict[tuple[str, ...], Any]


@dataclass(frozen=True)
class Built:
    """What came of a build."""

    objects: Objects = field(default_factory=dict)
    error: str = ""


class Kustomize:
    """The real one; it takes files from anywhere in the repository, as Flux does."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program, self._folder = program, folder

    def build(self, files: Mapping[str, bytes], folder: str) -> Built:
        with TemporaryDirectory(dir=self._folder) as root:
            for path, content in files.items():
                target = Path(root, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            words = ("build", "--load-restrictor", "LoadRestrictionsNone", os.path.join(root, folder))
            done = subprocess.run((self._program, *words), capture_output=True, check=False)  # noqa: S603  (ours)
            if done.returncode:
                return Built(error=done.stderr.decode().replace(f"{root}/", ""))
        loaded = yaml.load_all(done.stdout, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return Built({_name(each): each for each in loaded})


def evaluated(files: Mapping[str, bytes], folder: str, path: str, old: bytes, new: bytes) -> Sides:
    """What our own evaluation makes of it."""
    tree = MemoryTree({**files, path: old})
    root = kustomization.read(tree, folder)
    assert root is not None
    return Evaluation(tree, path, items_of(old, is_release=True), items_of(new, is_release=True)).run(root)


def objects(items: Iterable[Item]) -> Objects:
    """By their names."""
    return {_name(item.data): item.data for item in items}


def _name(data: Any) -> tuple[str, ...]:
    metadata = data["metadata"]
    return data["apiVersion"], data["kind"], metadata.get("namespace", ""), metadata["name"]
