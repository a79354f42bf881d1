"""``kustomization.yaml`` beside Flux: generated where there is none, and the user's own where there is one.

Source: fluxcd/flux2 ``pkg/manifestgen/kustomization``; which files are Kubernetes objects:
kustomize ``api/resource/factory.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from flux_upgrade.bootstrap.go_formats import line
from flux_upgrade.manifests.nodes import compose, construct
from flux_upgrade.model.errors import Unreadable, UsageError
from flux_upgrade.model.files import Tree

NAME = "kustomization.yaml"
_NAMES = (NAME, "kustomization.yml", "Kustomization")
_HEAD = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
_SEPARATOR = re.compile(r"^---(?=[ \t\r\n]|\Z)|^\.\.\.[ \t\r]*$", re.MULTILINE)


def render_kustomization(tree: Tree, folder: str, ours: Iterable[str]) -> bytes:
    """The file as it is to be in ``folder``: what is there, verbatim, or one that lists the folder.

    ``ours``: names of the files that will be there besides. Raises UsageError where kustomize
    would find two, Unreadable.
    """
    below = _below(tree, folder)
    if NAME in below:
        return tree.read(f"{folder}/{NAME}")
    twins = [name for name in _NAMES if name in below]
    if twins:
        raise UsageError(
            f"{folder}/{twins[0]} is another name for {NAME}, which Flux would write beside it: "
            "kustomize refuses a folder with both",
            hint=f"rename it to {NAME}; it is kept as it is then",
        )
    listed = {*ours, *_resources(tree, folder, below)}
    # As a walk through the folder comes to them.
    names = sorted(listed, key=lambda name: name.split("/"))
    return (_HEAD + "resources:\n" + "".join(line("- ", name) for name in names)).encode()


def is_in(tree: Tree, folder: str) -> bool:
    """Whether a folder has one, which says what of it is applied. ``folder``: empty for the root."""
    inside = f"{folder}/" if folder else ""
    return any(path in {inside + name for name in _NAMES} for path in tree.named(_NAMES))


def unlisted(content: bytes, names: Iterable[str]) -> tuple[str, ...]:
    """Which of ``names`` the user's own file does not list. Raises Unreadable."""
    data = _read(content.decode("utf-8", "replace"))
    found = data.get("resources") if isinstance(data, dict) else None
    listed = {str(each).removeprefix("./") for each in found} if isinstance(found, list) else set()
    return tuple(name for name in names if name not in listed)


def _below(tree: Tree, folder: str) -> frozenset[str]:
    """Names of all files below ``folder``, relative to it."""
    prefix = f"{folder}/"
    return frozenset(path.removeprefix(prefix) for path in tree.named(("",)) if path.startswith(prefix))


def _resources(tree: Tree, folder: str, below: frozenset[str]) -> Iterator[str]:
    for name in below:
        built = _built_above(name, below)
        if built:
            yield built
        elif _is_kubernetes(tree.read(f"{folder}/{name}")):
            yield name


def _built_above(name: str, below: frozenset[str]) -> str:
    """The highest folder above ``name`` that has a kustomization of its own; empty where none has."""
    parts = name.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        folder = "/".join(parts[:depth])
        if any(f"{folder}/{each}" in below for each in _NAMES):
            return folder
    return ""


def _is_kubernetes(content: bytes) -> bool:
    """Whether kustomize reads the file as objects; one that holds nothing at all is read, too."""
    try:
        text = content.decode("utf-8")
        return all(map(_is_object, map(_read, _SEPARATOR.split(text))))
    except (Unreadable, UnicodeDecodeError):
        return False


def _read(document: str) -> Any:
    is_empty = all(not each.strip() or each.lstrip().startswith("#") for each in document.splitlines())
    return None if is_empty else construct(compose(document))


def _is_object(value: Any) -> bool:
    """An object needs a kind and a name, a list no name; what a list holds are objects."""
    if value in (None, {}):
        return True
    if not isinstance(value, dict) or not _is_text(value.get("kind")):
        return False
    kind, metadata, items = str(value["kind"]), value.get("metadata"), value.get("items")
    if kind.endswith("List"):
        return all(map(_is_object, items)) if isinstance(items, list) else kind == "List" or items is None
    return isinstance(metadata, dict) and _is_text(metadata.get("name"))


def _is_text(value: Any) -> bool:
    # A number is one for kustomize, too.
    return isinstance(value, str | int | float) and value != ""
