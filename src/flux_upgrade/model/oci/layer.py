"""A layer with Flux's manifests: unpacked into a file, one file in it replaced, packed again.

Nothing is extracted: of the tar file that the layer is, all bytes are carried along but
those of the one file, and its size and checksum where the size changes. So modes, owners,
times, links and the order stay, and equal content gives an equal ``diff_id`` on any machine.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from math import inf
from typing import BinaryIO

from flux_upgrade.model.oci import tar
from flux_upgrade.model.oci.manifest import Descriptor
from flux_upgrade.model.oci.reference import refused
from flux_upgrade.model.oci.tar import CHUNK, WHAT, EntryType, TarEntry
from flux_upgrade.model.values import NamedTuple

MAX_UNCOMPRESSED = 4 * 1024 * 1024 * 1024
"""Bytes. Flux itself extracts 100 MiB unless it is set otherwise (fluxcd/pkg/tar, untar.go)."""
MAX_READ = 64 * 1024 * 1024  # Bytes of a file that are read into memory

_GZIP = b"\x1f\x8b"
_USTAR, _USTAR_AT = b"ustar", 257
_LEVEL = 6  # Go's and zlib's default
# No name, no time, system unknown: RFC 1952, "Member header and trailer", as Go writes it.
_HEADER = _GZIP + b"\x08\x00\x00\x00\x00\x00\x00\xff"
# Small, because a new member of a gzip file copies what is left of the piece that it begins in.
_PACKED = 16 * 1024


class Spliced(NamedTuple):
    file: BinaryIO  # The layer's, uncompressed
    before: int  # So many of its bytes come first
    middle: bytes  # Then these
    after: int  # Then what is in the file from here
    end: int  # To here
    diff_id: str = ""  # `sha256:…` of all of it

    @property
    def size(self) -> int:
        return self.before + len(self.middle) + self.end - self.after

    def chunks(self) -> Iterator[bytes]:
        yield from tar.span(self.file, 0, self.before)
        yield self.middle
        yield from tar.span(self.file, self.after, self.end)


class Layer(NamedTuple):
    file: BinaryIO  # Uncompressed, open as long as the layer is used
    diff_id: str  # `sha256:…` of it
    size: int

    def entries(self, wanted: Callable[[str], bool] = bool) -> tuple[TarEntry, ...]:
        """What extraction leaves of the entries whose names are wanted: of equal names, the last.

        Raises UntrustedArchive for a tar file that is damaged, cut off or too large.
        """
        found: dict[str, TarEntry] = {}
        for entry in tar.walk(self.file, self.size):
            if wanted(entry.name):
                found.pop(entry.name, None)
                found[entry.name] = entry
        return tuple(found.values())

    def files(self, wanted: Callable[[str], bool] = bool) -> tuple[TarEntry, ...]:
        return tuple(entry for entry in self.entries(wanted) if entry.is_file)

    def require_extractable(self) -> None:
        """Raises UntrustedArchive for a name that source-controller does not extract (fluxcd/pkg/tar, untar.go)."""
        for entry in tar.walk(self.file, self.size):
            name = f"{entry.name}/" if entry.kind is EntryType.FOLDER else entry.name
            if name.startswith("/") or "../" in name or "\\" in name:
                raise refused(WHAT, f"Flux does not extract it, because it holds '{entry.name}'")

    def read(self, entry: TarEntry, limit: int = MAX_READ) -> bytes:
        """The content of a file. Raises UntrustedArchive for what is none, or above ``limit`` bytes."""
        if not entry.is_file:
            raise refused(WHAT, f"'{entry.name}' in it is a {entry.kind}, not a file")
        if entry.size > limit:
            raise refused(WHAT, f"'{entry.name}' in it is larger than {limit} bytes")
        return b"".join(tar.span(self.file, entry.data_offset, entry.data_offset + entry.size))

    def replaced(self, entry: TarEntry, content: bytes) -> Spliced:
        """The layer with another content of one of its files, and nothing else changed.

        Raises UntrustedArchive where that would change another file too, or would not last:
        for what is no regular file, is hard-linked, comes again later, or has its size in
        an extended header (which only files above 8 GiB need).
        """
        self._refuse_to_replace(entry)
        begin, end = entry.data_offset, entry.data_offset + entry.size
        if len(content) == entry.size:
            spliced = Spliced(self.file, begin, content, end, self.size)
        else:
            header = b"".join(tar.span(self.file, begin - tar.BLOCK, begin))
            middle = tar.resized(header, len(content)) + content + tar.padding(len(content))
            end += len(tar.padding(entry.size))
            spliced = Spliced(self.file, begin - tar.BLOCK, middle, end, self.size)
        digest = sha256()
        for piece in spliced.chunks():
            digest.update(piece)
        return spliced._replace(diff_id=f"sha256:{digest.hexdigest()}")

    def _refuse_to_replace(self, entry: TarEntry) -> None:
        name = entry.name
        if not entry.is_file:
            raise refused(WHAT, f"'{name}' in it is a {entry.kind}, which cannot be replaced by a file")
        if not entry.is_resizable:
            raise refused(WHAT, f"the size of '{name}' is in an extended header, and cannot be changed")
        for other in tar.walk(self.file, self.size):
            if other.kind is EntryType.HARD_LINK and other.link == name:
                raise refused(WHAT, f"'{other.name}' is a hard link to '{name}', and would change with it")
            if other.name == name and other.data_offset > entry.data_offset:
                raise refused(WHAT, f"'{name}' comes again later in it")


def inflate(blob: BinaryIO, into: BinaryIO, limit: int = MAX_UNCOMPRESSED) -> Layer:
    """Unpack a layer, gzipped or a plain tar file, into an empty file that can be read and sought.

    Raises UntrustedArchive for what is neither, is damaged, cut off, followed by something,
    or unpacks to more than ``limit`` bytes. Of the tar file nothing is checked yet.
    """
    return Layer(into, *_written(_unpacked(blob), into, limit))


def deflate(chunks: Iterable[bytes], into: BinaryIO, media_type: str) -> Descriptor:
    """Pack into an empty file; the descriptor of what is in it then."""
    return Descriptor(media_type, *_written(_packed(chunks), into))


def _written(pieces: Iterable[bytes], into: BinaryIO, limit: float = inf) -> tuple[str, int]:
    """Write into a file; return the digest and the size of what is in it then. Raises UntrustedArchive."""
    digest, size = sha256(), 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise refused(WHAT, f"it unpacks to more than {limit} bytes")
        digest.update(piece)
        into.write(piece)
    into.flush()
    return f"sha256:{digest.hexdigest()}", size


def _packed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    checksum, size = 0, 0
    yield _HEADER
    for piece in chunks:
        checksum, size = zlib.crc32(piece, checksum), size + len(piece)
        yield stream.compress(piece)
    yield stream.flush()
    yield struct.pack("<II", checksum, size & 0xFFFFFFFF)


def _unpacked(blob: BinaryIO) -> Iterator[bytes]:
    first = blob.read(tar.BLOCK)
    if first.startswith(_GZIP):
        yield from _gunzipped(blob, first)
    elif first.startswith(_USTAR, _USTAR_AT):
        yield first
        while piece := blob.read(CHUNK):
            yield piece
    else:
        raise refused(WHAT, "it is neither a gzip file nor a tar file")


def _gunzipped(blob: BinaryIO, data: bytes) -> Iterator[bytes]:
    """Of one or more members, one after the other, as Go reads them."""
    stream = _gzip()
    while True:
        try:
            piece = stream.decompress(data, CHUNK)
        except zlib.error:
            raise refused(WHAT, "its gzip file is damaged") from None
        yield piece
        if not stream.eof:
            if not data and not piece:
                raise refused(WHAT, "its gzip file is truncated")
            data = stream.unconsumed_tail or blob.read(_PACKED)
        elif data := stream.unused_data or blob.read(_PACKED):
            if not data.startswith(_GZIP[:1]):
                raise refused(WHAT, "something follows the end of its gzip file")
            stream = _gzip()
        else:
            return


def _gzip() -> zlib._Decompress:
    return zlib.decompressobj(16 + zlib.MAX_WBITS)
