"""All that a build of a kustomization reads, before a program is let do it: nothing of it is from elsewhere.

kustomize fetches whatever is written like a URL in whatever field names a file, and clones what is
written like a repository. What it takes in several times it builds as often.

It reads the names of fields as Go's encoding/json does: in any case, where U+017F is an `s`, and U+212A a `k`. It
ignores `!!set`, takes `!!binary` for text, and a merge key overrides the keys before it (sigs.k8s.io/yaml, its copy
of go-yaml v2).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

import yaml

from flux_upgrade.kustomize import kustomization
from flux_upgrade.kustomize.errors import CannotTell
from flux_upgrade.kustomize.kustomization import MOST_ENTRIES, TAKES_IN, Kustomization, entries_in, is_remote, named_in
from flux_upgrade.model.text import decoded
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument, objects

_MOST = 2_000  # Files, and kustomizations, each as often as it is taken in
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SYNC = "gotk-sync.yaml"
_PLUGINS = ("generators", "transformers", "validators")
_LOADING = frozenset(
    (
        *("resources", "bases", "components", "crds", "configurations", "patches", "patchesstrategicmerge"),
        *("replacements", "path", "files", "env", "envs", "valuesfile", "additionalvaluesfiles", "openapi", *_PLUGINS),
    )
)


def files_of(tree: Snapshot, of: Kustomization) -> dict[str, bytes]:
    """Path → content. Raises CannotTell where some of it is not in the repository, or there is too much of it."""
    files: dict[str, bytes] = {}
    waiting = [_Taken(of)]
    built = 0
    while waiting:
        taken = waiting.pop()
        each, built = taken.kustomization, built + 1
        files[each.path] = each.content
        _require_buildable(each)
        _add(tree, files, posixpath.join(each.folder, _SYNC))
        plugins = {text for name in _PLUGINS for text in entries_in(each.data, name) if isinstance(text, str)}
        for text in plugins:
            if "\n" in text:  # it stands there itself
                _refuse_remote(each.path, text.encode())
        for name in (*each.names(), *named_in(each.data)):
            path, is_plugin = each.joined(name), taken.is_plugin or name in plugins
            if _add(tree, files, path):
                if is_plugin:
                    _refuse_remote(path, files[path])
                continue
            below = kustomization.read(tree, path)
            if below is None and any(_add(tree, files, posixpath.join(path, name)) for name in NAMES):
                raise CannotTell(f"the kustomization of {path} cannot be read")
            if below is not None and below.path not in taken.above:
                waiting.append(_Taken(below, taken.above | {each.path}, is_plugin))
        if max(len(files), built) > _MOST:
            raise CannotTell(f"it is made of more than {_MOST} files")
    return files


class _Taken(NamedTuple):
    kustomization: Kustomization
    above: frozenset[str] = frozenset()  # What takes it in: of a circle the program speaks
    is_plugin: bool = False  # Its resources say what is generated or transformed


def _add(tree: Snapshot, files: dict[str, bytes], path: str) -> bool:
    content = tree.content(path)
    if content is not None:
        files[path] = content
    return content is not None


def _require_buildable(of: Kustomization) -> None:
    _require_plain(of.path, of.content)
    for field, text in _texts(of.data):
        if field in _LOADING and "\n" not in text:
            _require_local(text, of.path)
    for key, value in of.data.items():
        if key.casefold() in _PLUGINS and key not in _PLUGINS:
            raise CannotTell(f"{key} in {of.path} is not written in lower case")
        if key not in TAKES_IN and isinstance(value, list) and len(value) > MOST_ENTRIES:
            raise CannotTell(f"{key} in {of.path} has more than {MOST_ENTRIES} entries")


def _refuse_remote(path: str, content: bytes) -> None:
    """A plugin names files in fields of any name. Raises CannotTell where one is from elsewhere."""
    for each in objects(content):
        if isinstance(each, BrokenDocument):
            raise CannotTell(f"{path} cannot be read: {each.message}")
        for _, text in _texts(each.data()):
            _require_local(text, path)
    _require_plain(path, content)


def _require_plain(path: str, content: bytes) -> None:
    """Raises CannotTell for what a program may read in another way than we do: tags and merge keys."""
    try:
        for event in yaml.parse(decoded(content), Loader=_Loader):
            if getattr(event, "tag", None) or getattr(event, "value", "") == "<<":
                raise CannotTell(f"{path} has a YAML tag or a merge key")
    except (yaml.YAMLError, ValueError) as error:
        raise CannotTell(f"{path} cannot be read") from error


def _require_local(text: str, path: str) -> None:
    if is_remote(text):
        raise CannotTell(f"{text} in {path} is not in this repository")


def _texts(root: Any) -> Iterator[tuple[str, str]]:
    """Every text with the name of its field, at any depth; case-folded, as kustomize reads names in any."""
    waiting: list[tuple[str, Any]] = [("", root)]
    seen: set[tuple[str, int]] = set()  # An alias is the same object again
    while waiting:
        field, value = waiting.pop()
        if isinstance(value, str):
            yield field, value
        elif isinstance(value, (dict, list)) and (field, id(value)) not in seen:
            seen.add((field, id(value)))
            pairs = value.items() if isinstance(value, dict) else ((field, below) for below in value)
            waiting += [(key.casefold(), below) for key, below in pairs]
