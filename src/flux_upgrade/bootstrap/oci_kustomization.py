"""What a user's ``kustomization.yaml`` needs beside it, to be built from an artifact alone.

Fields: kustomize ``api/types/kustomization.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flux_upgrade.bootstrap.oci_names import COMPONENTS_FILE, KUSTOMIZATION_FILE, SYNC_FILE
from flux_upgrade.manifests.nodes import compose, construct
from flux_upgrade.model.errors import Unreadable, UsageError
from flux_upgrade.model.files import Tree
from flux_upgrade.model.oci.packing import is_packable

DEFAULT = (
    f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- {COMPONENTS_FILE}\n"
).encode()
"""As ``flux bootstrap`` writes it, less the sync, which is not in an artifact."""
EMPTY = b"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n"
"""An overlay that holds nothing yet."""

_LISTS = (
    *("resources", "bases", "components", "crds", "configurations"),
    *("generators", "transformers", "validators", "patchesStrategicMerge"),
)
"""Of paths; most of them take the text of an object itself, too."""
_WITH_PATH = ("patches", "patchesJson6902", "replacements")
_GENERATORS = ("configMapGenerator", "secretGenerator")
_REMOTE = ("git@", "git::", "github.com/", "github.com:")
_REMOTE_PARTS = ("://", "?ref=", ".git//")
"""kustomize ``api/internal/git/repospec.go``."""


def kustomization_of(tree: Tree, name: str) -> dict[str, bytes]:
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
    if problems:
        raise UsageError(
            f"--kustomization names what cannot be put into an artifact: {'; '.join(problems)}",
            hint="name files, not folders, and have them beside or below it",
        )
    return files


def local_files(kustomization: bytes) -> tuple[str, ...]:
    """The files that it names, relative to it, without Flux's manifest itself.

    Raises UsageError for all that cannot be had in an artifact, at once.
    """
    document = _document(kustomization)
    named = tuple(dict.fromkeys(filter(_is_local, _named(document))))
    problems = [*_problems(document), *filter(None, map(_problem, named))]
    if problems:
        raise UsageError(
            f"--kustomization cannot be used in an artifact: {'; '.join(problems)}",
            hint="keep what it needs in files beside it, and name each of them",
        )
    return tuple(sorted(name.removeprefix("./") for name in named if not _is_flux(name)))


def _document(content: bytes) -> Mapping[str, Any]:
    try:
        found = construct(compose(content.decode("utf-8")))
    except (Unreadable, UnicodeDecodeError) as error:
        why = error.message if isinstance(error, Unreadable) else "it is not UTF-8"
        raise UsageError(f"--kustomization is no kustomization: {why}", hint="mend the file first") from error
    if not isinstance(found, dict) or found.get("kind", "Kustomization") != "Kustomization":
        raise UsageError(
            "--kustomization is no kustomization: it has another kind", hint="give a kustomization.yaml"
        )
    return found


def _problems(document: Mapping[str, Any]) -> Iterator[str]:
    resources = [name.removeprefix("./") for name in _texts(document.get("resources"))]
    if COMPONENTS_FILE not in resources:
        yield f"its resources do not name {COMPONENTS_FILE}, so that Flux would not be in it"
    if SYNC_FILE in resources:
        yield f"its resources name {SYNC_FILE}, which is not in an artifact: take it out"


def _problem(name: str) -> str:
    plain = name.removeprefix("./")
    if plain == KUSTOMIZATION_FILE or not is_packable(plain):
        return f"'{name}' is not the path of a file beside or below it, in at most 100 plain characters"
    return ""


def _is_flux(name: str) -> bool:
    return name.removeprefix("./") in (COMPONENTS_FILE, SYNC_FILE)


def _is_local(name: str) -> bool:
    is_remote = any(part in name for part in _REMOTE_PARTS) or name.startswith(_REMOTE)
    return bool(name) and not is_remote and "\n" not in name and ": " not in name and name[0] not in "{["


def _named(document: Mapping[str, Any]) -> Iterator[str]:
    for field in _LISTS:
        yield from _texts(document.get(field))
    for field in _WITH_PATH:
        yield from _texts([each.get("path") for each in _mappings(document.get(field))])
    yield from _texts([each.get("path") for each in _mappings([document.get("openapi")])])
    for field in _GENERATORS:
        for each in _mappings(document.get(field)):
            # key=path, or the path alone
            yield from (text.rpartition("=")[2] for text in _texts(each.get("files")))
            yield from _texts([*_texts(each.get("envs")), each.get("env")])


def _texts(value: object) -> Sequence[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _mappings(value: object) -> Sequence[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
