"""A ``kustomization.yaml`` as it stands in the repository, and the files that it names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from flux_upgrade.kustomize.errors import CannotBuild, CannotTell
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import decoded, joined_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.kustomize_files import NAMES, is_kustomization
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Object

TAKES_IN = ("resources", "bases", "components")  # Its fields that name files and folders with objects
MOST_ENTRIES = 200  # Of another list: each goes through all objects of a release. People write ten.
_BLOCK = "|>"
_SCP = re.compile(r"git@|[^/:{@]+@[^/:]+:", re.IGNORECASE)  # user@host:path, as Git takes it
_NAMES_FILES = {
    **dict.fromkeys(
        ("crds", "configurations", "generators", "transformers", "validators", "patchesStrategicMerge"), ""
    ),
    **dict.fromkeys(("patches", "patchesJson6902", "replacements"), "path"),
}
"""Its other fields that name files or folders, and the key of an entry that does; an empty key: the entry itself."""
_OF_FLUX = ("patches", "patchesJson6902", "images")
"""What Flux's objects have of it: kustomize-controller docs/spec/v1/kustomizations.md; older ones the second, too."""
_MADE_OF_FILES = ("configMapGenerator", "secretGenerator", "helmCharts", "helmChartInflationGenerator")


class Location(NamedTuple):
    """Where an entry begins."""

    path: str
    line: int  # 1-based


class PatchText(NamedTuple):
    """The text of a patch, in a file of its own or inside of another."""

    path: str
    content: bytes
    before: int = 0  # Lines of the file above its first
    is_one_line: bool = False  # Its lines are not the file's: it stands in quotes

    def location(self, line: int) -> Location:
        """Where a line of the text is; 1-based."""
        return Location(self.path, self.before + (1 if self.is_one_line else line))


@dataclass(frozen=True)
class Kustomization:
    """A ``kustomization.yaml``; its fields are those of kustomize's api/types/kustomization.go."""

    path: str
    content: bytes
    object: Object
    tree: Snapshot = field(repr=False)
    at: tuple[str, ...] = ()
    """Where its fields stand in an object of Flux, whose patches are for what that installs: `spec`."""

    @property
    def folder(self) -> str:
        """Relative to the root; empty for the root."""
        return posixpath.dirname(self.path)

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """Plain values. Raises Unreadable."""
        data: Mapping[str, Any] = self.object.data()
        if not self.at:
            return data
        for key in self.at:
            below = data.get(key)
            data = below if isinstance(below, dict) else {}
        return {name: data[name] for name in _OF_FLUX if data.get(name)}

    def items(self, name: str) -> Iterator[tuple[Location, Any]]:
        """The items of one of its lists, each with its place. Raises CannotBuild."""
        items = self.data.get(name)
        if items is not None and not isinstance(items, list):
            raise CannotBuild(f"{name} is not a list")
        for index, item in enumerate(items or ()):
            yield self.location(name, index), item

    def location(self, *path: str | int) -> Location:
        return Location(self.path, self.object.line_at(*self.at, *path))

    def takes_in(self) -> Iterator[tuple[Location, str, str]]:
        """Each place that it takes objects from: the field, and what stands there. Raises CannotBuild."""
        for name in TAKES_IN:
            for location, text in self.items(name):
                yield location, name, str(text)

    def names(self) -> Iterator[str]:
        """What ``takes_in`` has, without the places; nothing where it cannot be read."""
        with suppress(CannotBuild, Unreadable):
            yield from [text for _, _, text in self.takes_in()]

    def leads_to(self, path: str) -> bool:
        """Whether it takes in a file or a folder by itself."""
        with suppress(CannotBuild, Unreadable):
            for _, _, text in self.takes_in():
                with suppress(CannotTell):
                    if self.joined(text) == path:
                        return True
        return False

    def inline(self, location: Location, text: str, *path: str | int) -> PatchText:
        """The text of a patch that stands in it, at a path."""
        value = self.object.at(*self.at, *path)
        if value is None:
            return PatchText(self.path, text.encode(), location.line - 1, is_one_line=True)
        is_block = decoded(self.content)[value.start] in _BLOCK
        return PatchText(self.path, text.encode(), value.line - (not is_block), is_one_line=not is_block)

    def file(self, path: str) -> PatchText:
        """The text of a patch in a file of its own. Raises CannotBuild, CannotTell."""
        return PatchText(self.joined(path), self.read(path))

    def read(self, path: str) -> bytes:
        """A file that it names. Raises CannotBuild, CannotTell."""
        try:
            return self.tree.read(self.joined(path))
        except Unreadable as error:
            raise CannotBuild(f"there is no {path}", hint="remove the entry, or add the file") from error

    def joined(self, path: str) -> str:
        """Relative to the root. Raises CannotTell for what is not in the repository."""
        if is_remote(path):
            raise CannotTell(f"{path} is not in this repository")
        joined = joined_path(self.folder, path)
        if joined.startswith(("../", "/")) or joined == "..":
            raise CannotTell(f"{path} is outside of this repository")
        return joined


def read(tree: Snapshot, folder: str) -> Kustomization | None:
    """The kustomization of a folder; None: there is none, or none that can be read."""
    file = next(filter(None, (tree.at(posixpath.join(folder, name)) for name in NAMES)), None)
    first = next(iter(file.objects), None) if file is not None else None
    if file is None or not isinstance(first, Object) or not is_kustomization(file.path, first):
        return None
    return Kustomization(file.path, file.content, first, tree)


def entries_in(data: Mapping[str, Any], name: str) -> Sequence[Any]:
    """The items of one of its lists; none where it is no list."""
    items = data.get(name)
    return items if isinstance(items, list) else ()


def named_in(data: Mapping[str, Any]) -> Iterator[str]:
    """The files and folders that it names besides ``TAKES_IN``: patches, what it generates and configures with."""
    for field_name, key in _NAMES_FILES.items():
        for entry in entries_in(data, field_name):
            name = entry.get(key) if key and isinstance(entry, dict) else entry
            # A patch may stand there itself.
            if isinstance(name, str) and name and "\n" not in name:
                yield name
    for field_name in _MADE_OF_FILES:
        for entry in entries_in(data, field_name):
            yield from files_of(entry)
    schema = data.get("openapi")
    if isinstance(schema, dict) and isinstance(schema.get("path"), str):
        yield schema["path"]


def files_of(entry: Any) -> Iterator[str]:
    """Return the files that a generator makes an object from, or that a chart is given."""
    fields = entry if isinstance(entry, dict) else {}
    for key in ("files", "envs", "additionalValuesFiles"):
        names = fields.get(key)
        for name in names if isinstance(names, list) else ():
            # Of `files`, `key=path`, or the path alone.
            yield str(name).rpartition("=")[2] if key == "files" else str(name)
    yield from (str(fields[key]) for key in ("env", "valuesFile") if fields.get(key))


def is_remote(text: str) -> bool:
    """Whether kustomize takes it from somewhere else: a URL, or a repository as Git spells it; in any case."""
    is_url = "://" in text or "?" in text or text.casefold().startswith(("github.com", "gh:", "git::"))
    return is_url or _SCP.match(text) is not None
