"""What a program builds of a kustomization, with the old manifest and with the new one."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from flux_upgrade.impact.diff.compare import manifest_changes
from flux_upgrade.impact.overlay.result import Overlay, OverlayVerdict
from flux_upgrade.kustomize import kustomization
from flux_upgrade.kustomize.errors import CannotTell
from flux_upgrade.kustomize.kustomization import Kustomization
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import FluxUpgradeError, Unreadable
from flux_upgrade.model.files import Tree
from flux_upgrade.model.ports import Builder
from flux_upgrade.pins.formats.yaml_places import BrokenDocument, objects, readable

Files = Mapping[str, bytes]
_MOST_FILES = 2_000
_SYNC = "gotk-sync.yaml"
_PLUGINS = ("generators", "transformers", "validators")
_LOADING = frozenset(
    (
        *("resources", "bases", "components", "crds", "configurations", "patches", "patchesstrategicmerge"),
        *("replacements", "path", "files", "env", "envs", "valuesfile", "additionalvaluesfiles", "openapi"),
    )
)
_SCP = re.compile(r"[^/:{]+@[^/]+:")  # user@host:path, as Git takes it
_USUAL = "flux-system"  # What `flux bootstrap` calls the Kustomization in it


def with_build(
    overlay: Overlay, tree: Tree, of: Kustomization, manifests: tuple[Files, Files], builder: Builder
) -> Overlay:
    """``manifests``: the old one and the new one, each with its path."""
    old, new = manifests
    try:
        files = _files_of(tree, of)
    except CannotTell as error:
        return overlay._replace(unbuilt=error.message)
    name = _called(files.get(posixpath.join(of.folder, _SYNC), b""))
    try:
        before = builder.build({**files, **old}, of.folder, name)
    except FluxUpgradeError as error:
        return overlay._replace(unbuilt=f"it does not build today either: {error.message}")
    try:
        after = builder.build({**files, **new}, of.folder, name)
    except FluxUpgradeError as error:
        return overlay._replace(builder=builder.name, failed=error.message)
    try:
        changes = manifest_changes(parse(before).documents, parse(after).documents)
    except Unreadable as error:
        return overlay._replace(unbuilt=f"what {builder.name} built cannot be read: {error.message}")
    # The program has the last word about what builds.
    findings = tuple(
        each._replace(
            verdict=OverlayVerdict.UNKNOWN,
            detail=f"{builder.name} builds it nevertheless: {each.detail}",
            hint="",
            fails=False,
        )
        if each.fails
        else each
        for each in overlay.findings
    )
    return overlay._replace(builder=builder.name, built=changes, findings=findings)


def _files_of(tree: Tree, of: Kustomization) -> dict[str, bytes]:
    """All files that a build of it reads. Raises CannotTell where some are not in the repository."""
    files: dict[str, bytes] = {}
    waiting = [of]
    while waiting:
        each = waiting.pop()
        if each.path in files:
            continue
        _require_local(tree, each)
        files[each.path] = each.content
        _add(tree, files, posixpath.join(each.folder, _SYNC))
        for name in (*each.names(), *each.named()):
            path = each.joined(name)
            below = None if _add(tree, files, path) else kustomization.read(tree, path)
            waiting += [below] if below is not None else []
        if len(files) > _MOST_FILES:
            raise CannotTell(f"it is made of more than {_MOST_FILES} files")
    return files


def _require_local(tree: Tree, each: Kustomization) -> None:
    """Raise CannotTell where a build would load something over the network.

    A build runs on this machine, and a repository must not decide whom it talks to. Plugins have fields of the same
    names in files of their own.
    """
    for field, text in _loaded(each.data):
        if field not in _PLUGINS or "\n" not in text:
            _require_file(text)
        if field in _PLUGINS:
            for name in _loaded_by_plugins(tree, each, text):
                _require_file(name)


def _require_file(name: str) -> None:
    if kustomization.is_remote(name) or _SCP.match(name):
        raise CannotTell(f"{name} is not in this repository")


def _loaded_by_plugins(tree: Tree, each: Kustomization, text: str) -> Iterator[str]:
    """``text``: the plugins themselves, or their file."""
    content = text.encode() if "\n" in text else b""
    with suppress(Unreadable):
        content = content or tree.read(each.joined(text))
    plugins = list(objects(content))
    if not plugins:
        raise CannotTell("a plugin of it is not a file in this repository")
    for plugin in plugins:
        if isinstance(plugin, BrokenDocument):
            raise CannotTell("a plugin of it is not valid YAML")
        yield from (name for _, name in _loaded(plugin.data()))


def _loaded(root: Any) -> Iterator[tuple[str, str]]:
    """The names of files in some fields, at any depth; field names as kustomize reads them, in any case."""
    waiting: list[tuple[str, Any]] = [("", root)]
    seen: set[tuple[str, int]] = set()  # An alias is the same object again
    while waiting:
        field, value = waiting.pop()
        if isinstance(value, str):
            if field in _PLUGINS or (field in _LOADING and "\n" not in value):
                yield field, value
        elif isinstance(value, (dict, list)) and (field, id(value)) not in seen:
            seen.add((field, id(value)))
            pairs = value.items() if isinstance(value, dict) else ((field, below) for below in value)
            waiting += [(str(key).lower(), below) for key, below in pairs]


def _add(tree: Tree, files: dict[str, bytes], path: str) -> bool:
    try:
        files[path] = tree.read(path)
    except Unreadable:
        return False
    return True


def _called(sync: bytes) -> str:
    """The Kustomization in a ``gotk-sync.yaml``."""
    for each in readable(sync):
        if each.text_at("apiVersion").startswith("kustomize.toolkit.fluxcd.io/"):
            return each.text_at("metadata", "name") or _USUAL
    return _USUAL
