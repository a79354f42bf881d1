"""Pieces of knowledge that a repository can lack: each is a function that yields variants of the repository's files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

Files = Mapping[str, bytes]

TOO_MANY = b"---\n" * 2_001
"""More documents than the program reads of a file."""
TOO_LARGE = 32 * 1024 * 1024 + 1
"""Bytes, more than the program reads of a file."""
_FLUX = re.compile(rb"\.toolkit\.fluxcd\.io/|kustomize\.config\.k8s\.io/|fluxcd\.controlplane\.io/")
_YAML = (".yaml", ".yml")
_SEPARATOR = re.compile(rb"^(---[ \t]*(?:#.*)?\r?\n)", re.MULTILINE)
_KUSTOMIZATION = re.compile(rb"^apiVersion: *[\"']?kustomize\.toolkit\.fluxcd\.io/", re.MULTILINE)
_PATH = re.compile(rb"^(  path: *)[\"']?(?:\./)?([\w./-]+?)/*[\"']?[ \t]*$", re.MULTILINE)
_SOURCE_NAME = re.compile(rb"^(  sourceRef:[ \t]*\n(?: {4}\w+:.*\n)*? {4}name: *)[^\s#]+", re.MULTILINE)
_API_VERSION = re.compile(rb"^(apiVersion: *)([\w.]+\.toolkit\.fluxcd\.io)/\w+[ \t]*$", re.MULTILINE)
_CONFIG_MAP = re.compile(rb"^kind: *ConfigMap[ \t]*$", re.MULTILINE)
_VALUES_FROM = re.compile(rb"^ *(?:- )?kind: *ConfigMap[ \t]*\n *name: *([\w.-]+)", re.MULTILINE)
_INSTALLATION = re.compile(rb"app\.kubernetes\.io/part-of: flux|^kind: *FluxInstance", re.MULTILINE)
_DATA = re.compile(rb"^data:[ \t]*\n(?:  .*\n)*", re.MULTILINE)
_VALUE = re.compile(rb"^(  [\w.-]+:) .*$", re.MULTILINE)
_ENCRYPTED = b"ENC[AES256_GCM,data:aGlkZGVu,iv:aXY=,tag:dGFn,type:str]"
_ENTRY = re.compile(rb"^ *- (?:path: *)?([\w./-]+\.ya?ml)[ \t]*$", re.MULTILINE)
_VERSION = re.compile(rb"\bv?2\.\d+\.\d+\b")
_KUSTOMIZATION_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


class Variant(NamedTuple):
    """A repository without a piece of knowledge."""

    files: Mapping[str, bytes | None]  # Path → content; None: there is no such file
    hidden: tuple[str, ...]  # Paths that a report may name as unknown
    mode: str = ""  # The mode of the repository to take instead; empty: the same
    renamed: tuple[str, str] = ("", "")  # A directory, before and now
    argv: tuple[str, ...] = ()  # Further arguments of the plan


Piece = Callable[[Files], Iterator[Variant]]


def broken_yaml(files: Files) -> Iterator[Variant]:
    """Break the syntax of a file from its first line on."""
    for path in _manifests(files):
        yield _changed(path, b"flux: {is: [unreadable\n" + files[path])


def broken_at_the_end(files: Files) -> Iterator[Variant]:
    """Break the syntax of the last document of a file."""
    for path in _manifests(files):
        yield _changed(path, files[path].rstrip() + b"\nflux: {is: [unreadable\n")


def too_many_documents(files: Files) -> Iterator[Variant]:
    for path in _manifests(files):
        yield _changed(path, TOO_MANY + files[path])


def too_large(files: Files) -> Iterator[Variant]:
    for path in _manifests(files):
        content = files[path]
        yield _changed(path, content + b"\n" * (TOO_LARGE - len(content)))


def a_template(files: Files) -> Iterator[Variant]:
    """Put a file into a condition of a Go template."""
    for path in _manifests(files):
        yield _changed(path, b"{{- if .Values.enabled }}\n" + files[path].rstrip() + b"\n{{- end }}\n")


def a_jinja_template(files: Files) -> Iterator[Variant]:
    """Put a file into a condition of a Jinja template."""
    for path in _manifests(files):
        yield _changed(path, b"{% if enabled %}\n" + files[path].rstrip() + b"\n{% endif %}\n")


def end_of_a_path(files: Files) -> Iterator[Variant]:
    """Replace the last directory of a Kustomization's path by a variable."""
    yield from _in_kustomizations(files, _PATH, lambda match: match[1] + _above(match[2]) + b"${HIDDEN}")


def whole_path(files: Files) -> Iterator[Variant]:
    """Replace the path of a Kustomization by a variable."""
    yield from _in_kustomizations(files, _PATH, lambda match: match[1] + b"${HIDDEN}")


def name_of_a_source(files: Files) -> Iterator[Variant]:
    """Replace the name of a Kustomization's source by a variable."""
    yield from _in_kustomizations(files, _SOURCE_NAME, lambda match: match[1] + b"${HIDDEN}")


def a_source_that_is_not_in_git(files: Files) -> Iterator[Variant]:
    """Rename the source of a Kustomization."""
    yield from _in_kustomizations(files, _SOURCE_NAME, lambda match: match[1] + b"hidden")


def an_api_version(files: Files) -> Iterator[Variant]:
    """Replace the version of an object of Flux by a variable, and keep its API group."""
    for path in _manifests(files):
        yield from _edits(path, files[path], _API_VERSION, lambda match: match[1] + match[2] + b"/${HIDDEN}")


def a_version(files: Files) -> Iterator[Variant]:
    """Replace the releases that a file names by a variable."""
    for path, content in sorted(files.items()):
        is_small = len(content) < 20_000
        if is_small and b"flux" in content.lower() and _VERSION.search(content):
            yield _changed(path, _VERSION.sub(b"${HIDDEN}", content))


def values_in_git(files: Files) -> Iterator[Variant]:
    """Encrypt the values of a ConfigMap that a Kustomization takes values from."""
    wanted = {match[1] for content in files.values() for match in _VALUES_FROM.finditer(content)}
    for path, content in sorted(files.items()):
        if path.endswith(_YAML) and _CONFIG_MAP.search(content) and any(name in content for name in wanted):
            encrypted = _DATA.sub(lambda match: _VALUE.sub(rb"\1 " + _ENCRYPTED, match[0]), content)
            if encrypted != content:
                yield _changed(path, encrypted + b"sops:\n  mac: " + _ENCRYPTED + b"\n")


def config_map_out_of_git(files: Files) -> Iterator[Variant]:
    """Remove a file with a ConfigMap that a Kustomization takes values from, and the line that lists it."""
    wanted = {match[1] for content in files.values() for match in _VALUES_FROM.finditer(content)}
    for path, content in sorted(files.items()):
        if path.endswith(_YAML) and _CONFIG_MAP.search(content) and any(name in content for name in wanted):
            yield Variant({path: None, **dict(_without_entries(files, path))}, (path, *_users(files, wanted)))


def file_out_of_the_checkout(files: Files) -> Iterator[Variant]:
    """Remove a file that a kustomization names, but not Flux itself."""
    naming: dict[str, set[str]] = {}
    for path in _manifests(files):
        if posixpath.basename(path) in _KUSTOMIZATION_NAMES:
            for match in _ENTRY.finditer(files[path]):
                name = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1].decode()))
                naming.setdefault(name, set()).add(path)
    for path in sorted(naming.keys() & files.keys()):
        if not _INSTALLATION.search(files[path]) and not path.endswith("gotk-sync.yaml"):
            yield Variant({path: None}, (path, *sorted(naming[path])))


def directory_of_a_root(files: Files) -> Iterator[Variant]:
    """Rename the directory where Flux begins to read."""
    syncs = (path for path in files if posixpath.basename(path) == "gotk-sync.yaml")
    paths = (match[2].decode() for path in syncs for match in _PATH.finditer(files[path]))
    for root in sorted({posixpath.normpath(path) for path in paths} - {"."}):
        below = [path for path in sorted(files) if path.startswith(f"{root}/")]
        if below:
            moved = {f"{root}-renamed{path.removeprefix(root)}": files[path] for path in below}
            yield Variant({**dict.fromkeys(below), **moved}, (root, *moved), renamed=(root, f"{root}-renamed"))


def _manifests(files: Files) -> Iterator[str]:
    """Yield the paths of files that matter to Flux."""
    for path, content in sorted(files.items()):
        if posixpath.basename(path) in _KUSTOMIZATION_NAMES or (path.endswith(_YAML) and _FLUX.search(content)):
            yield path


def _changed(path: str, content: bytes) -> Variant:
    return Variant({path: content}, (path,))


def _in_kustomizations(
    files: Files, pattern: re.Pattern[bytes], replace: Callable[[re.Match[bytes]], bytes]
) -> Iterator[Variant]:
    for path in _manifests(files):
        if _KUSTOMIZATION.search(files[path]):
            yield from _edits(path, files[path], pattern, replace, _KUSTOMIZATION)


def _edits(
    path: str,
    content: bytes,
    pattern: re.Pattern[bytes],
    replace: Callable[[re.Match[bytes]], bytes],
    only: re.Pattern[bytes] | None = None,
) -> Iterator[Variant]:
    """Yield a variant for each place of a pattern. ``only``: a pattern of the documents to look at."""
    documents = _SEPARATOR.split(content)
    for number, document in enumerate(documents):
        if only is not None and not only.search(document):
            continue
        for match in pattern.finditer(document):
            edited = document[: match.start()] + replace(match) + document[match.end() :]
            yield _changed(path, b"".join((*documents[:number], edited, *documents[number + 1 :])))


def _above(path: bytes) -> bytes:
    above = posixpath.dirname(path)
    return b"./" + above + b"/" if above else b"./"


def _without_entries(files: Files, removed: str) -> Iterator[tuple[str, bytes]]:
    """Yield the kustomizations that list a file, without that line."""
    for path in _manifests(files):
        name = posixpath.relpath(removed, posixpath.dirname(path) or ".").encode()
        if posixpath.basename(path) in _KUSTOMIZATION_NAMES and name in files[path]:
            yield path, re.sub(rb"(?m)^ *- (?:\./)?" + re.escape(name) + rb"[ \t]*\n", b"", files[path])


def _users(files: Files, names: set[bytes]) -> Iterator[str]:
    """Yield the files that take values from ConfigMaps."""
    return (
        path for path in _manifests(files) if any(match[1] in names for match in _VALUES_FROM.finditer(files[path]))
    )


PIECES: tuple[Piece, ...] = (
    broken_yaml,
    broken_at_the_end,
    too_many_documents,
    too_large,
    a_template,
    a_jinja_template,
    end_of_a_path,
    whole_path,
    name_of_a_source,
    a_source_that_is_not_in_git,
    an_api_version,
    a_version,
    values_in_git,
    config_map_out_of_git,
    file_out_of_the_checkout,
    directory_of_a_root,
)
