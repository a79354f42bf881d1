"""Patches of an OCIRepository: kustomize puts another reference into it before it is applied."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence

from flux_upgrade.kinds.formats.kustomize_patches import Text, inline, operations, touches
from flux_upgrade.kinds.formats.yaml_places import Object, Step, readable
from flux_upgrade.kinds.parts.flux_manifests_reference import of_repository
from flux_upgrade.kinds.pin import SourceFile
from flux_upgrade.values import NamedTuple

_KIND = "OCIRepository"
_FIELDS = (
    ("spec", "ref", "digest"),
    ("spec", "ref", "semver"),
    ("spec", "ref", "tag"),
    ("spec", "url"),
)
_REGULAR = re.compile(r"[^\w.-]")


class Patch(NamedTuple):
    """Of a reference, wherever it stands."""

    file: SourceFile
    line: int
    """1-based, in the file."""
    where: str
    written: str


def patches(
    files: Sequence[SourceFile], names: Collection[str], patch_files: Collection[str]
) -> Iterator[Patch]:
    """Those of the OCIRepositories with these names. ``patch_files``: what kustomizations call patches."""
    files = [file for file in files if _is_concerned(file.content, names)]
    targets = list(_targets(files))
    for file in files:
        if any(path == file.path and _fits(aimed, names) for path, aimed in targets):
            yield from _operations(file, Text(file.content, 0))
        for each in readable(file.content):
            is_patch = file.path in patch_files or not each.has("spec", "url")
            if is_patch and (of_repository(each) is not None or _fits(_own(each), names)):
                yield from _merged(file, each, 0)
            yield from _inline(file, each, names)
            yield from _replacements(file, each, names)


def _is_concerned(content: bytes, names: Collection[str]) -> bool:
    """Whether it is worth to be read: OCIRepository stands in every file that takes a chart from one."""
    if b"flux-manifests" in content or (names and b"/spec" in content):
        return True
    words = (b"patch", b"replacements", *(name.encode() for name in names))
    return bool(names) and b"OCIRepository" in content and any(word in content for word in words)


def _inline(file: SourceFile, each: Object, names: Collection[str]) -> Iterator[Patch]:
    for text in inline(each, file.content):
        if _fits(text, names):
            yield from _operations(file, text)
        for inner in readable(text.content):
            own = _own(inner)
            aimed = Text(b"", 0, text.target_kind or own.target_kind, text.target_name or own.target_name)
            if _fits(aimed, names):
                yield from _merged(file, inner, text.before)


def _merged(file: SourceFile, each: Object, before: int) -> Iterator[Patch]:
    """A strategic merge patch; ``before``: lines of the file above its text."""
    for field in _FIELDS:
        if each.has(*field):
            where = f"patch of {_KIND} {each.text_at('metadata', 'name')}, {'.'.join(field)}"
            yield Patch(file, before + each.line_at(*field), where, each.text_at(*field))
            return


def _operations(file: SourceFile, text: Text) -> Iterator[Patch]:
    """A JSON patch."""
    for operation in operations(text.content):
        field = next((field for field in _FIELDS if touches(operation, field)), None)
        if field is not None:
            where = f"JSON patch of {_KIND}, {'.'.join(field)}"
            yield Patch(file, text.before + operation.line, where, operation.text)


def _replacements(file: SourceFile, each: Object, names: Collection[str]) -> Iterator[Patch]:
    """See kustomize api/types/replacement.go."""
    for index in range(each.count("replacements")):
        for position in range(each.count("replacements", index, "targets")):
            target: tuple[Step, ...] = ("replacements", index, "targets", position)
            if not _fits(_aimed(each, *target, "select"), names):
                continue
            for number in range(each.count(*target, "fieldPaths")):
                path = each.at(*target, "fieldPaths", number)
                if path is not None and tuple(path.text.split(".")) in _FIELDS:
                    yield Patch(file, path.line, f"replacement in {_KIND}, {path.text}", "")


def _targets(files: Sequence[SourceFile]) -> Iterator[tuple[str, Text]]:
    """Path of each file with a patch, and what it is for."""
    for file in files:
        folder = posixpath.dirname(file.path)
        for each in readable(file.content):
            for field in ("patches", "patchesJson6902"):
                for index in range(each.count(field)):
                    path = each.text_at(field, index, "path")
                    if path:
                        joined = posixpath.normpath(posixpath.join(folder, path))
                        yield joined, _aimed(each, field, index, "target")


def _aimed(each: Object, *target: Step) -> Text:
    return Text(b"", 0, each.text_at(*target, "kind"), each.text_at(*target, "name"))


def _own(each: Object) -> Text:
    """What a strategic merge patch is for by itself."""
    return Text(b"", 0, each.text_at("kind"), each.text_at("metadata", "name"))


def _fits(aimed: Text, names: Collection[str]) -> bool:
    """Whether it is, or may be, for an OCIRepository with one of the names."""
    if not names or aimed.target_kind not in (_KIND, f"^{_KIND}$"):
        return False
    name = aimed.target_name
    # A regular expression may match any: who has to look is a person.
    return not name or name in names or _REGULAR.search(name) is not None
