"""``kustomization.yaml`` beside Flux: generated where there is none, and the user's own where there is one.

Source: fluxcd/flux2 ``pkg/manifestgen/kustomization``; which files are Kubernetes objects:
kustomize ``api/resource/factory.go``; fields that name files: ``api/types/kustomization.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flux_upgrade.bootstrap.go_formats import line
from flux_upgrade.bootstrap.options import COMPONENTS_FILE, KUSTOMIZATION_FILE, SYNC_FILE
from flux_upgrade.kustomize.kustomization import TAKES_IN, entries_in, named_in
from flux_upgrade.manifests.nodes import compose, construct
from flux_upgrade.manifests.options import refuse
from flux_upgrade.model.errors import Unreadable, UsageError
from flux_upgrade.model.oci.packing import is_packable
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.snapshot import Snapshot

_HEAD = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:"
_SEPARATOR = re.compile(r"^---(?=[ \t\r\n]|\Z)|^\.\.\.[ \t\r]*$", re.MULTILINE)

DEFAULT = f"{_HEAD}\n- {COMPONENTS_FILE}\n".encode()
"""As ``flux bootstrap`` writes it, less the sync, which is not in an artifact."""
EMPTY = f"{_HEAD} []\n".encode()  # An overlay that holds nothing yet

_REMOTE = ("git@", "git::", "gh:", "github.com/", "github.com:")  # In any case of letters
_REMOTE_PARTS = ("://", "?ref=", ".git//")  # kustomize `api/internal/git/repospec.go`


def render_kustomization(tree: Snapshot, folder: str, ours: Iterable[str]) -> bytes:
    """The file as it is to be in ``folder``: what is there, verbatim, or one that lists the folder.

    ``ours``: names of the files that will be there besides. Raises UsageError where kustomize
    would find two, Unreadable.
    """
    inside = f"{folder}/"
    below = frozenset(path.removeprefix(inside) for path in tree.named(("",)) if path.startswith(inside))
    if KUSTOMIZATION_FILE in below:
        return tree.read(f"{folder}/{KUSTOMIZATION_FILE}")
    twins = [name for name in NAMES if name in below]
    if twins:
        raise UsageError(
            f"{folder}/{twins[0]} conflicts with {KUSTOMIZATION_FILE}, which flux-upgrade would add: kustomize rejects "
            "a directory with both",
            hint=f"rename it to {KUSTOMIZATION_FILE}; its content is kept",
        )
    listed = {*ours, *_resources(tree, folder, below)}
    # As a walk through the folder comes to them.
    names = sorted(listed, key=lambda name: name.split("/"))
    return (f"{_HEAD}\n" + "".join(line("- ", name) for name in names)).encode()


def unlisted(content: bytes, names: Iterable[str]) -> tuple[str, ...]:
    """Which of ``names`` the user's own file does not list. Raises Unreadable."""
    data = _read(content.decode("utf-8", "replace"))
    found = data.get("resources") if isinstance(data, dict) else None
    listed = {str(each).removeprefix("./") for each in found} if isinstance(found, list) else set()
    return tuple(name for name in names if name not in listed)


def _resources(tree: Snapshot, folder: str, below: frozenset[str]) -> Iterator[str]:
    for name in below:
        parts = name.split("/")
        above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        # The highest folder above it that has a kustomization of its own.
        built = next((each for each in above if any(f"{each}/{own}" in below for own in NAMES)), "")
        if built:
            yield built
        elif _is_kubernetes(tree.read(f"{folder}/{name}")):
            yield name


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


def kustomization_of(tree: Snapshot, name: str) -> dict[str, bytes]:
    """A user's kustomization and the files that it names: ``name`` in ``tree``, its folder.

    Raises UsageError for all that cannot be had in an artifact, at once; Unreadable.
    """
    content = tree.read(name)
    files, problems = {KUSTOMIZATION_FILE: content}, []
    for each in local_files(content):
        try:
            files[each] = tree.read(each)
        except Unreadable as error:
            problems.append(f"'{each}': {error.message}")
    refuse(
        problems,
        "list files, not directories, in the directory of the kustomization or below",
        "--kustomization refers to files that cannot be in an artifact: ",
    )
    return files


def local_files(kustomization: bytes) -> tuple[str, ...]:
    """The files that it names, relative to it, without Flux's manifest itself.

    Raises UsageError for all that cannot be had in an artifact, at once.
    """
    try:
        document = construct(compose(kustomization.decode("utf-8")))
    except (Unreadable, UnicodeDecodeError) as error:
        why = error.message if isinstance(error, Unreadable) else "not UTF-8"
        raise UsageError(f"--kustomization is not a kustomization: {why}", hint="fix the file") from error
    if not isinstance(document, dict) or document.get("kind", "Kustomization") != "Kustomization":
        raise UsageError("--kustomization is not a kustomization: it has another kind", hint="use a kustomization.yaml")
    taken_in = [each for field in TAKES_IN for each in entries_in(document, field) if isinstance(each, str)]
    named = tuple(dict.fromkeys(filter(_is_local, (*taken_in, *named_in(document)))))
    refuse(
        _problems(document, named),
        "keep its files in its directory or below, and list each of them",
        "--kustomization cannot be used in an artifact: ",
    )
    return tuple(sorted({name.removeprefix("./") for name in named} - {COMPONENTS_FILE, SYNC_FILE}))


def _problems(document: Mapping[str, Any], named: Sequence[str]) -> Iterator[str]:
    resources = [str(each).removeprefix("./") for each in entries_in(document, "resources")]
    if COMPONENTS_FILE not in resources:
        yield f"its resources do not list {COMPONENTS_FILE}, so Flux would be missing"
    if SYNC_FILE in resources:
        yield f"its resources list {SYNC_FILE}, which is not in an artifact: remove it"
    for name in named:
        plain = name.removeprefix("./")
        if plain == KUSTOMIZATION_FILE or not is_packable(plain):
            yield f"'{name}' is not a file in its directory or below, with at most 100 plain characters"


def _is_local(name: str) -> bool:
    is_remote = any(part in name for part in _REMOTE_PARTS) or name.casefold().startswith(_REMOTE)
    return bool(name) and not is_remote and "\n" not in name and ": " not in name and name[0] not in "{["
