"""Patches of an OCIRepository, or of another object: kustomize changes it before it is applied."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.kustomize_patches import InlinePatch, PatchedPlace, inline, operations, replaced, touches
from flux_upgrade.pins.objects.flux_manifests_reference import of_repository
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.kustomize_files import joined
from flux_upgrade.snapshot.yaml_places import Object, readable

REPOSITORY = "OCIRepository"
_FIELDS = (("spec", "ref", "digest"), ("spec", "ref", "semver"), ("spec", "ref", "tag"), ("spec", "url"))
_REGULAR = re.compile(r"[^\w.-]")


class Aim(NamedTuple):
    names: Collection[str]  # Of the objects that are patched
    kind: str = REPOSITORY  # Of these objects
    fields: tuple[tuple[str, ...], ...] = _FIELDS
    whole: tuple[str, ...] = ("spec", "url")  # What an object has that is no patch
    is_theirs: Callable[[Object], bool] = lambda _: False
    """Whether something that is a patch is of them, though its name does not say so."""

    def fits(self, kind: str, name: str) -> bool:
        """Whether a patch with this target is, or may be, for an object of the kind with one of the names."""
        if not self.names or kind not in (self.kind, f"^{self.kind}$"):
            return False
        # A regular expression may match any: who has to look is a person.
        return not name or name in self.names or _REGULAR.search(name) is not None


def of_flux_manifests(names: Collection[str]) -> Aim:
    """Patches of references to Flux's own artifact."""
    return Aim(names, is_theirs=lambda each: of_repository(each) is not None)


def patches(files: Sequence[File], aim: Aim, patch_files: Collection[str]) -> Iterator[PatchedPlace]:
    """All of them; of a patch that changes several of the fields, the first.

    ``patch_files``: what kustomizations call patches.
    """
    files = [file for file in files if _is_concerned(file.content, aim)]
    targets = list(_targets(files))
    for file in files:
        if any(path == file.path and aim.fits(*target) for path, *target in targets):
            yield from _operations(file, InlinePatch(file.content, 0), aim)
        for each in file.readable:
            is_patch = file.path in patch_files or not each.has(*aim.whole)
            if is_patch and (aim.is_theirs(each) or aim.fits(*_own(each))):
                yield from _merged(file, each, 0, aim)
            yield from _inline(file, each, aim)
            yield from _replacements(file, each, aim)


def _is_concerned(content: bytes, aim: Aim) -> bool:
    """Whether it is worth to be read: OCIRepository stands in every file that takes a chart from one."""
    if b"flux-manifests" in content or (aim.names and b"/spec" in content):
        return True
    words = (b"patch", b"replacements", *(name.encode() for name in aim.names))
    return bool(aim.names) and aim.kind.encode() in content and any(word in content for word in words)


def _inline(file: File, each: Object, aim: Aim) -> Iterator[PatchedPlace]:
    for text in inline(each, file.content):
        if aim.fits(text.target_kind, text.target_name):
            yield from _operations(file, text, aim)
        for inner in readable(text.content):
            kind, name = _own(inner)
            if aim.fits(text.target_kind or kind, text.target_name or name):
                yield from _merged(file, inner, text.before, aim)


def _merged(file: File, each: Object, before: int, aim: Aim) -> Iterator[PatchedPlace]:
    """A strategic merge patch; ``before``: lines of the file above its text."""
    for field in aim.fields:
        if each.has(*field):
            where = f"patch of {aim.kind} {each.text_at('metadata', 'name')}, {'.'.join(field)}"
            written = each.text_at(*field)
            removes = written in ("~", "null")  # RFC 7386
            yield PatchedPlace(file, before + each.line_at(*field), where, written, removes=removes)
            return


def _operations(file: File, text: InlinePatch, aim: Aim) -> Iterator[PatchedPlace]:
    for operation in operations(text.content):
        field = next((field for field in aim.fields if touches(operation, field)), None)
        if field is not None:
            where = f"JSON patch of {aim.kind}, {'.'.join(field)}"
            removes = operation.value is None
            yield PatchedPlace(file, text.before + operation.line, where, operation.text, removes=removes)


def _replacements(file: File, each: Object, aim: Aim) -> Iterator[PatchedPlace]:
    for kind, name, path in replaced(each):
        if aim.fits(kind, name) and tuple(path.text.split(".")) in aim.fields:
            yield PatchedPlace(file, path.line, f"replacement in {aim.kind}, {path.text}", "")


def _targets(files: Sequence[File]) -> Iterator[tuple[str, str, str]]:
    """Yield the paths of files with patches, with the kind and the name of their targets."""
    for file in files:
        folder = posixpath.dirname(file.path)
        for each in file.readable:
            for field in ("patches", "patchesJson6902"):
                for entry in each.entries(field):
                    kind, name = (each.text_at(*entry, "target", key) for key in ("kind", "name"))
                    path = each.text_at(*entry, "path")
                    if path:
                        yield joined(folder, path), kind, name


def _own(each: Object) -> tuple[str, str]:
    return each.text_at("kind"), each.text_at("metadata", "name")
