"""A release's ``manifests.tar.gz``, read without unpacking anything to disk.

The reader is our own and narrow: gzip through zlib, then ustar blocks. Python's
tarfile reads far more than a release may hold (links, devices, sparse files,
names from extension headers), raises a dozen kinds of exception on damage, and
its import takes 7 ms (Python 3.11). What is not understood here is refused.
Block layout: POSIX.1-2024, pax, "ustar Interchange Format".
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import UntrustedArchive

MAX_COMPRESSED = 10 * 1024 * 1024
"""Bytes. Real archives are below 100 kB."""
MAX_UNCOMPRESSED = 64 * 1024 * 1024
"""Bytes, headers and padding included. Real archives hold below 1 MB."""
MAX_ENTRIES = 64
"""Entries of any kind. Real archives hold nine."""

REQUIRED = (
    "rbac.yaml",
    "policies.yaml",
    "source-controller.yaml",
    "kustomize-controller.yaml",
    "helm-controller.yaml",
    "notification-controller.yaml",
)
"""Members that every release of Flux since v0.8.0 has."""

_BLOCK = 512
_MAX_PAX = 64 * 1024
_ZEROS = bytes(_BLOCK)
_GZIP = 16 + zlib.MAX_WBITS
_RENAMES = (b"path", b"linkpath", b"size", b"hdrcharset", b"GNU.sparse")


class _Entry(NamedTuple):
    name: str
    is_folder: bool
    data: bytes


def refused(what: str, why: str) -> UntrustedArchive:
    """The error for an archive or artifact that cannot be used; ``what`` names it."""
    return UntrustedArchive(
        f"{one_line(what)} cannot be trusted: {one_line(why)}.",
        hint="Nothing was written. Fetch it again; if it stays so, do not use this copy: "
        "compare it with the release on github.com/fluxcd/flux2/releases.",
    )


def read_manifests(data: bytes, what: str) -> dict[str, str]:
    """The YAML files of a release archive, file name to text.

    Raises UntrustedArchive for anything that is not a gzipped tar of regular
    files ``*.yaml`` at top level, within the bounds above, none twice, none of
    ``REQUIRED`` missing, all UTF-8.
    """
    files: dict[str, str] = {}
    for name, is_folder, content in _entries(data, what):
        if is_folder and name in (".", "./"):
            continue
        plain = name.removeprefix("./")
        if is_folder or "/" in plain or "\\" in plain or plain.startswith(".") or not plain.endswith(".yaml"):
            raise refused(what, f"it holds '{name}'")
        if plain in files:
            raise refused(what, f"it holds '{plain}' twice")
        files[plain] = _text(content, plain, what)
    missing = [name for name in REQUIRED if name not in files]
    if missing:
        raise refused(what, f"it lacks {', '.join(missing)}")
    return files


def read_single(data: bytes, base_name: str, what: str) -> str:
    """The text of the one file named ``base_name``, in any folder of a gzipped tar.

    Raises UntrustedArchive where it is missing or there are several, and as
    ``read_manifests`` does for damage, links, devices and size.
    """
    found = [
        content
        for name, is_folder, content in _entries(data, what)
        if not is_folder and name.rpartition("/")[2] == base_name
    ]
    if len(found) != 1:
        raise refused(what, f"it holds {len(found)} files named {base_name}")
    return _text(found[0], base_name, what)


def _text(content: bytes, name: str, what: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise refused(what, f"its {name} is not UTF-8 text") from None


def _inflate(data: bytes, what: str) -> bytes:
    if len(data) > MAX_COMPRESSED:
        raise refused(what, f"it is larger than {MAX_COMPRESSED} bytes")
    stream = zlib.decompressobj(_GZIP)
    try:
        content = stream.decompress(data, MAX_UNCOMPRESSED + 1)
    except zlib.error:
        raise refused(what, "it is no gzip file, or a damaged one") from None
    if len(content) > MAX_UNCOMPRESSED:
        raise refused(what, f"it unpacks to more than {MAX_UNCOMPRESSED} bytes")
    if not stream.eof:
        raise refused(what, "it is cut off")
    if stream.unused_data:
        raise refused(what, "something follows the end of the gzip stream")
    return content


def _entries(data: bytes, what: str) -> Iterator[_Entry]:
    tar = _inflate(data, what)
    offset = 0
    for _ in range(MAX_ENTRIES + 1):
        header = tar[offset : offset + _BLOCK]
        if header == _ZEROS:
            if tar.count(0, offset) != len(tar) - offset:
                raise refused(what, "something follows the end of the tar file")
            return
        size = _size(header, what)
        start = offset + _BLOCK
        content = tar[start : start + size]
        if len(content) < size:
            raise refused(what, "its tar file is cut off")
        offset = start + -(-size // _BLOCK) * _BLOCK
        entry = _entry(header, content, what)
        if entry is not None:
            yield entry
    raise refused(what, f"it holds more than {MAX_ENTRIES} entries")


def _size(header: bytes, what: str) -> int:
    """The size that a header block states, once its own checksum is right."""
    if len(header) < _BLOCK:
        raise refused(what, "its tar file is cut off")
    if _octal(header[148:156], what) != sum(header[:148]) + sum(b" " * 8) + sum(header[156:]):
        raise refused(what, "a header of its tar file is damaged")
    return _octal(header[124:136], what)


def _octal(field: bytes, what: str) -> int:
    digits = field.strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        raise refused(what, "a number in its tar file is damaged")
    return int(digits, 8)


def _entry(header: bytes, content: bytes, what: str) -> _Entry | None:
    """The entry of one header block; None for extension headers that change nothing we use."""
    kind = header[156:157]
    if kind in (b"x", b"g"):
        _check_pax(content, what)
        return None
    name = header[:100].partition(b"\0")[0]
    if header[257:263] == b"ustar\0" and header[345]:
        name = header[345:500].partition(b"\0")[0] + b"/" + name
    shown = _text(name, "list of names", what)
    if kind not in (b"0", b"\0", b"5"):
        raise refused(what, f"'{shown}' is neither a file nor a folder")
    if shown.startswith("/") or ".." in shown.split("/"):
        raise refused(what, f"it holds '{shown}', a path that leaves its folder")
    return _Entry(shown, kind == b"5", content)


def _check_pax(block: bytes, what: str) -> None:
    """Let times and owners pass, refuse what would rename, resize or relink the next entry."""
    if len(block) > _MAX_PAX:
        raise refused(what, "an extended header of its tar file is too large")
    offset = 0
    while offset < len(block):
        digits = block[offset : offset + len(str(_MAX_PAX))].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        record = block[offset + len(digits) + 1 : offset + length]
        if not record.endswith(b"\n") or offset + length > len(block):
            raise refused(what, "an extended header of its tar file is damaged")
        if record.startswith(_RENAMES):
            raise refused(what, "an extended header of its tar file renames or resizes an entry")
        offset += length
