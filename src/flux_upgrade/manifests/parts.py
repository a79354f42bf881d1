"""One manifest in several files: its parts are joined to be compared and upgraded, and split again to be written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flux_upgrade.manifests.documents import Document, Manifest, ObjectKey, header_of, parse
from flux_upgrade.manifests.options import COMPONENTS
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.values import NamedTuple

_SEPARATOR = "---\n"


class Part(NamedTuple):
    """One of the files of an installation."""

    path: str
    content: bytes


def join(parts: Iterable[Part]) -> bytes:
    """Return one manifest with the objects of all parts. Raises Unreadable."""
    header, first = "", ""
    documents: list[Document] = []
    places: dict[ObjectKey, str] = {}
    for part in parts:
        manifest = read(part)
        for document in manifest.documents:
            other = places.setdefault(_key(part, document), part.path)
            if other != part.path:
                raise Unreadable(
                    f"{document.key} is in {other} and in {part.path}", hint="keep one of them, so that one file has it"
                )
            documents.append(document)
        if not manifest.header_line:
            continue
        if header and header_of(manifest) != header:
            raise Unreadable(
                f"{first} and {part.path} have different version headers", hint="keep the header of one release"
            )
        header, first = header_of(manifest), part.path
    # The order of the Deployments is that of the flag --components, whatever the files are called.
    documents.sort(key=_component_order)
    return (_SEPARATOR + header + _SEPARATOR.join(document.text for document in documents)).encode()


def _component_order(document: Document) -> int:
    key = document.key
    return COMPONENTS.index(key.name) if key.kind == "Deployment" and key.name in COMPONENTS else -1


def split(parts: Sequence[Part], new: bytes) -> dict[str, bytes]:
    """Return path → content of the parts, with the objects of ``new``.

    An object stays in its file, a new one goes behind the object of its kind before it. Everything else keeps its
    bytes. Raises Unreadable if a part has a form that this cannot be done in.
    """
    after = parse(new)
    places = {_key(part, document): part.path for part in parts for document in read(part).documents}
    joined: dict[str, list[tuple[ObjectKey, Document]]] = {part.path: [] for part in parts}
    additions: dict[ObjectKey, list[str]] = {}
    homes = _homes(after.objects, places)
    for key, document in after.objects.items():
        if key in places:
            joined[places[key]].append((key, document))
        else:
            additions.setdefault(homes[key], []).append(document.text)
    written = {part.path: _rewritten(part, dict(joined[part.path]), additions, after) for part in parts}
    again = parse(join(Part(path, content) for path, content in written.items()))
    if _texts(again) != _texts(after):
        raise Unreadable(
            f"{_listed(parts)} cannot be written back file by file",
            hint="separate the objects of these files with `---` lines, without comments of their own",
        )
    return written


def read(part: Part) -> Manifest:
    """Cut a part into documents. Raises Unreadable, with its path."""
    try:
        return parse(part.content)
    except Unreadable as error:
        raise Unreadable(f"{part.path}: {error.message}", hint=error.hint) from error


def _key(part: Part, document: Document) -> ObjectKey:
    try:
        return document.key
    except Unreadable as error:
        raise Unreadable(f"{part.path}: {error.message}", hint=error.hint) from error


def _texts(manifest: Manifest) -> dict[ObjectKey, str]:
    return {key: document.text for key, document in manifest.objects.items()}


def _listed(parts: Iterable[Part]) -> str:
    return ", ".join(part.path for part in parts)


def _homes(objects: Iterable[ObjectKey], places: Mapping[ObjectKey, str]) -> dict[ObjectKey, ObjectKey]:
    """Return new object → the object that it follows: of its kind, or else of any kind."""
    known = [key for key in objects if key in places]
    homes: dict[ObjectKey, ObjectKey] = {}
    last: dict[str, ObjectKey] = {}
    for key in objects:
        if key in places:
            last[key.kind] = last[""] = key
            continue
        of_kind = [each for each in known if each.kind == key.kind]
        home = last.get(key.kind) or next(iter(of_kind), None) or last.get("") or next(iter(known), None)
        if home is not None:
            homes[key] = home
    return homes


def _rewritten(
    part: Part, objects: Mapping[ObjectKey, Document], additions: Mapping[ObjectKey, list[str]], after: Manifest
) -> bytes:
    manifest = read(part)
    if manifest.documents and not objects:
        raise Unreadable(
            f"{part.path} would be left without an object", hint="put the objects of this file into another one"
        )
    text, end = manifest.text, 0
    pieces: list[str] = []
    lines = _line_starts(text)
    for document in manifest.documents:
        begin = text.find(document.text, max(end, lines[document.line - 1]))
        kept = objects.get(document.key)
        new = "" if kept is None else _SEPARATOR.join([kept.text, *additions.get(document.key, ())])
        if new == document.text:
            continue
        if begin < 0:
            raise Unreadable(
                f"{part.path} cannot be changed safely", hint="put the objects of this file into another one"
            )
        pieces += [text[end:begin], new]
        end = begin + len(document.text)
        if kept is None:
            separator = text[end:].partition("\n")[0]
            end += len(separator) + 1 if separator.strip() == "---" else 0
    content = "".join(pieces) + text[end:]
    if manifest.header_line:
        content = content.replace(header_of(manifest), header_of(after), 1)
    return part.content if content == text else manifest.encode(content)


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts
