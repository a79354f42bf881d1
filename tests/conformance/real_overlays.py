"""Real kustomizations with the manifests that stood beside them, whole enough to be built.

What the shared data has not of their repositories has a stand-in: a ConfigMap, a folder with one, or a
patch that adds an annotation. Where no manifest of the folder is known, it is a rendered one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conformance.real_files import TARGET, members, regenerator_of, rows
from discovered import manifests_in
from flux_upgrade.kustomize import kustomization
from flux_upgrade.kustomize.kustomization import TAKES_IN, Kustomization, is_remote
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.pins.gotk_components import pin
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.snapshot.kustomize_files import NAMES
from memory import MemoryTree

RENDERED = "v2.2.3"
_MANIFESTS = ("gotk-components.yaml", "flux-manifests.yaml", "flux-components.yaml")


@dataclass(frozen=True)
class RealOverlay:
    """One of them."""

    name: str
    """Repository and path."""
    files: Mapping[str, bytes]
    path: str
    """Of the manifest."""
    version: str
    old: bytes
    new: bytes
    stand_ins: int

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)


def siblings_of(conformance: Path) -> dict[str, dict[str, bytes]]:
    """Repository → path → content."""
    found: dict[str, dict[str, bytes]] = {}
    for name, content in members(conformance / "siblings.tar.xz"):
        owner, _, path = name.partition("/")
        found.setdefault(owner.replace("+", "/", 1), {})[path.replace("__", "/")] = content
    return found


def real_overlays(conformance: Path) -> tuple[list[RealOverlay], list[str]]:
    """All that stand beside a manifest, each once; and the names of the others."""
    siblings = siblings_of(conformance)
    regenerator = regenerator_of(conformance / "releases")
    manifests = _manifests(conformance, siblings)
    found, others = [], []
    for repository, files in siblings.items():
        for path in sorted(files):
            if posixpath.basename(path) in NAMES:
                of = kustomization.read(MemoryTree(files), posixpath.dirname(path))
                overlay = _overlay(repository, files, of, manifests, regenerator) if of else None
                if overlay is None:
                    others.append(f"{repository} {path}")
                else:
                    found.append(overlay)
    once = {(tuple(each.files.items()), each.path, each.old): each for each in found}
    return list(once.values()), others


def _overlay(
    repository: str,
    files: Mapping[str, bytes],
    of: Kustomization,
    manifests: Mapping[tuple[str, str], bytes],
    regenerator: Regenerator,
) -> RealOverlay | None:
    listed = (posixpath.join(of.folder, name) for name in _MANIFESTS)
    path = next((each for each in listed if of.leads_to(each)), None)
    if path is None:
        return None
    version, old, new = _sides(manifests.get((repository, path)), regenerator)
    whole = {each: files[each] for each in (of.path,)}
    made = _complete(whole, files, of, path)
    return RealOverlay(f"{repository} {of.path}", whole, path, version, old, new, made)


def _manifests(conformance: Path, siblings: Mapping[str, Mapping[str, bytes]]) -> dict[tuple[str, str], bytes]:
    """The newest known manifest in the folder of each kustomization; those of Flux 2 first."""
    folders = {(repository, posixpath.dirname(path)) for repository in siblings for path in siblings[repository]}
    newest: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows(conformance / "wild.jsonl"):
        place = row["repo"], row["path"]
        if (row["repo"], posixpath.dirname(row["path"])) in folders:
            newest[place] = max(newest.get(place, row), row, key=_newness)
    contents = dict(members(conformance / "wild.tar.xz", {row["file"] for row in newest.values()}))
    return {place: contents[row["file"]] for place, row in newest.items()}


def _newness(row: Mapping[str, Any]) -> tuple[bool, str]:
    return str(row["header_version"] or "").startswith("v2."), row["date"]


def _sides(content: bytes | None, regenerator: Regenerator) -> tuple[str, bytes, bytes]:
    """Version, the manifest as it is, and as it would be at the target: with its flags where they are known."""
    options = InstallOptions(version=RENDERED)
    wanted = regenerator.regenerate(options._replace(version=TARGET)).text.encode()
    if content is None:
        return f"{RENDERED}, rendered", regenerator.regenerate(options).text.encode(), wanted
    (installation,) = manifests_in(MemoryTree({"gotk-components.yaml": content}), regenerator)
    proof = installation.proof
    if proof.options is None or proof.base is None:
        return proof.version or "unknown", content, wanted
    changed = pin.change(proof, proof.options._replace(version=TARGET), regenerator)
    return proof.version, content, changed.new


def _complete(whole: dict[str, bytes], known: Mapping[str, bytes], of: Kustomization, manifest: str) -> int:
    """Put what a kustomization names into ``whole``; the count of stand-ins."""
    made = 0
    for path, stand_in in _named(of):
        if path == manifest or path in whole:
            continue
        below = kustomization.read(MemoryTree(known), path)
        if path in known:
            whole[path] = known[path]
        elif below is not None:
            whole[below.path] = below.content
            made += _complete(whole, known, below, manifest)
        else:
            made += 1
            if path.endswith((".yaml", ".yml")):
                whole[path] = stand_in
            else:
                whole[f"{path}/kustomization.yaml"] = b"resources: [one.yaml]\n"
                whole[f"{path}/one.yaml"] = stand_in
    return made


def _named(of: Kustomization) -> Iterator[tuple[str, bytes]]:
    """Paths that it names, with what stands there if nothing is known of it."""
    for field in TAKES_IN:
        for _, text in of.items(field):
            if not is_remote(text):
                path = of.joined(text)
                yield path, _config_map(re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-"))
    for field in ("patches", "patchesStrategicMerge"):
        for _, item in of.items(field):
            text = item if isinstance(item, str) else item.get("path")
            if text and "\n" not in text:
                target = {} if isinstance(item, str) else item.get("target") or {}
                yield of.joined(text), _patch(target)


def _config_map(name: str) -> bytes:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: stand-in}}}}\n".encode()


def _patch(target: Mapping[str, str]) -> bytes:
    metadata = {"name": "source-controller", "namespace": "flux-system", "annotations": {"stand-in": "yes"}}
    data = {"apiVersion": "apps/v1", "kind": target.get("kind", "Deployment"), "metadata": metadata}
    return yaml.safe_dump(data).encode()
