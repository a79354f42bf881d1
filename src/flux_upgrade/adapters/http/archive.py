"""A release's ``manifests.tar.gz``, read without unpacking anything to disk.

gzip is inflated through zlib, which can be bounded, and the tar is read from
memory by Python's tarfile. tarfile ends quietly at a header that it cannot
read, so that whatever follows the last member must be the zeros of a tar's end.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Iterator

from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import UntrustedArchive
from flux_upgrade.values import NamedTuple

MAX_COMPRESSED = 10 * 1024 * 1024
"""Bytes. Real archives are below 100 kB."""
MAX_UNCOMPRESSED = 64 * 1024 * 1024
"""Bytes, headers and padding included. Real archives hold below 1 MB."""
MAX_ENTRIES = 64
"""Entries of any kind of a release's archive. Real ones hold nine."""
_MAX_LISTED = 4096
"""Entries of an archive that is only listed: flux-operator's holds a folder for each release of Flux."""

REQUIRED = (
    "rbac.yaml",
    "policies.yaml",
    "source-controller.yaml",
    "kustomize-controller.yaml",
    "helm-controller.yaml",
    "notification-controller.yaml",
)
"""Members that every release of Flux since v0.8.0 has."""

_GZIP = 16 + zlib.MAX_WBITS
# What tarfile was seen to raise on damage, beside its own errors.
_DAMAGE = (tarfile.TarError, ValueError, OverflowError, EOFError, KeyError, IndexError, RecursionError)


class _Entry(NamedTuple):
    name: str
    is_folder: bool
    data: bytes


def refused(what: str, why: str) -> UntrustedArchive:
    """The error for an archive or artifact that cannot be used; ``what`` names it."""
    return UntrustedArchive(
        f"{one_line(what)} cannot be trusted: {one_line(why)}",
        hint="nothing was written; fetch it again; if it stays so, do not use this copy: "
        "compare it with the release on github.com/fluxcd/flux2/releases",
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


def read_names(data: bytes, what: str) -> tuple[str, ...]:
    """Paths of the files in a gzipped tar, sorted, without ``./`` before them.

    Raises UntrustedArchive for damage, links, devices and size.
    """
    entries = _entries(data, what, _MAX_LISTED)
    return tuple(sorted({name.removeprefix("./") for name, is_folder, _ in entries if not is_folder}))


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


def _entries(data: bytes, what: str, most: int = MAX_ENTRIES) -> Iterator[_Entry]:
    content = _inflate(data, what)
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            for number, member in enumerate(tar):
                if number >= most:
                    raise refused(what, f"it holds more than {most} entries")
                yield _entry(tar, member, what)
            rest = content[tar.offset :]
    except _DAMAGE:
        raise refused(what, "its tar file is damaged") from None
    if rest.count(0) != len(rest):
        raise refused(what, "its tar file is damaged, or something follows its end")


def _entry(tar: tarfile.TarFile, member: tarfile.TarInfo, what: str) -> _Entry:
    name = member.name
    if not (member.isdir() or member.type in (tarfile.REGTYPE, tarfile.AREGTYPE)) or member.issparse():
        raise refused(what, f"'{name}' is neither a file nor a folder")
    if name.startswith("/") or ".." in name.split("/"):
        raise refused(what, f"it holds '{name}', a path that leaves its folder")
    file = None if member.isdir() else tar.extractfile(member)
    data = b"" if file is None else file.read()
    if len(data) < member.size:
        raise refused(what, "its tar file is cut off")
    return _Entry(name, member.isdir(), data)
