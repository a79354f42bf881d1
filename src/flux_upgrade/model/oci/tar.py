"""What a tar file holds, and where: its entries one after the other, nothing unpacked.

Python's tarfile reads the headers. It keeps every entry in memory, reads extended
headers of any length, follows negative sizes backwards, and ends quietly at a header
that it cannot read; so the entries are dropped, what it reads is rationed, it has to
go forwards, and what follows the last entry must be zeros.

Layout of a header: POSIX.1-2001, "ustar Interchange Format"; sizes in base 256: GNU
tar's manual, "Extensions".
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import BinaryIO

from flux_upgrade.model.errors import WriteFailed
from flux_upgrade.model.oci.reference import refused
from flux_upgrade.model.values import NamedTuple

WHAT = "the artifact's layer"
BLOCK = 512  # Bytes. Headers and contents begin at multiples of it.
CHUNK = 256 * 1024  # Bytes that are in memory at once
MAX_ENTRIES = 1_000_000  # Entries of any kind

_MAX_HEADERS = 256 * 1024  # Bytes of all headers of one entry. A path has at most 4096, and there is little else.
_MAX_GLOBALS = 1000  # Records of the headers that are for all entries; `git archive` writes one
# What moves or renames entries, if it is said for all of them: readers do not agree on that.
_ONE_ENTRY_ONLY = ("path", "linkpath", "size", "GNU.sparse.")
_SIZE = slice(124, 136)
_CHECKSUM = slice(148, 156)
_BASE_256 = 0x80
# What tarfile was seen to raise on damage, beside its own errors.
_DAMAGE = (tarfile.TarError, ValueError, OverflowError, EOFError, KeyError, IndexError, RecursionError)


class EntryType(StrEnum):
    """What an entry is, as a person would say it."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "symbolic link"
    HARD_LINK = "hard link"
    SPARSE = "sparse file"
    OTHER = "special file"


class TarEntry(NamedTuple):
    name: str  # Without `./` and doubled slashes: `apps/patch.yaml`; `.` for the top. Nothing is resolved.
    kind: EntryType
    data_offset: int  # Where the content begins; the header is the block before it
    size: int
    mode: int
    link: str  # What a hard link points to, written like `name`
    is_resizable: bool  # Whether nothing but its header tells how long its content is

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file, whose content is in one piece."""
        return self.kind is EntryType.FILE


def walk(file: BinaryIO, size: int, most: int = MAX_ENTRIES) -> Iterator[TarEntry]:
    """The entries of a tar file of ``size`` bytes, in its order.

    Raises UntrustedArchive for damage, what is cut off, what follows its end, and more than
    ``most`` entries; all of that is known only once the last entry has been given.
    """
    file.seek(0)
    rationed, count, end = _Rationed(file), 0, 0
    try:
        with _Tar(fileobj=rationed, encoding="utf-8", errors="surrogateescape") as tar:
            while (member := tar.next()) is not None:
                tar.members.clear()
                count += 1
                if count > most:
                    raise refused(WHAT, f"it holds more than {most} entries")
                if member.size < 0 or tar.offset <= end or tar.offset > size:
                    raise refused(WHAT, "its tar file is damaged or truncated")
                _refuse_globals(tar)
                end = tar.offset
                yield TarEntry(
                    name=normal(member.name),
                    kind=_kind(member),
                    data_offset=member.offset_data,
                    size=member.size,
                    mode=member.mode,
                    link=normal(member.linkname) if member.islnk() else "",
                    is_resizable="size" not in member.pax_headers,
                )
                rationed.renew()
    except _DAMAGE:
        raise refused(WHAT, "its tar file is damaged or truncated") from None
    for piece in span(file, end, size):
        if piece.count(0) != len(piece):
            raise refused(WHAT, "its tar file is damaged, or something follows its end")


def span(file: BinaryIO, begin: int, end: int) -> Iterator[bytes]:
    """The bytes of a file from ``begin`` to before ``end``, in pieces; it may be moved about in meanwhile."""
    while begin < end:
        file.seek(begin)
        piece = file.read(min(CHUNK, end - begin))
        if not piece:
            raise refused(WHAT, "it was truncated while it was read")
        yield piece
        begin += len(piece)


def normal(name: str) -> str:
    """A path as entries are compared by; ``..`` stays, and so does a slash that leads it."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return ("/" if name.startswith("/") else "") + "/".join(parts) or "."


def resized(header: bytes, size: int) -> bytes:
    """A header with another size and checksum, each in the notation that it had."""
    block, field, old = bytearray(header), header[_SIZE], header[_CHECKSUM]
    if field[0] & _BASE_256:
        block[_SIZE] = bytes([_BASE_256]) + size.to_bytes(11, "big")
    else:
        block[_SIZE] = b"%011o" % size + (field[-1:] if field[-1:] in b"\0 " else b"\0")
    block[_CHECKSUM] = b" " * 8  # what the sum is taken with
    block[_CHECKSUM] = b"%06o" % sum(block) + (old[-2:] if not old[-2:].strip(b"\0 ") else b"\0 ")
    return bytes(block)


def padding(size: int) -> bytes:
    """What follows ``size`` bytes of content, up to the next block."""
    return bytes(-size % BLOCK)


class _Tar(tarfile.TarFile):
    members: list[tarfile.TarInfo]


class _Rationed(io.RawIOBase):
    """A file that gives only so much until it is renewed: what one entry's headers may take."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.renew()

    def renew(self) -> None:
        self._left = _MAX_HEADERS

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= self._left:
            raise ValueError(size)
        self._left -= size
        return self._file.read(size)

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)


def _refuse_globals(tar: tarfile.TarFile) -> None:
    if len(tar.pax_headers) > _MAX_GLOBALS:
        raise refused(WHAT, "its tar file is damaged: its global header is too large")
    for key in tar.pax_headers:
        if key.startswith(_ONE_ENTRY_ONLY):
            raise refused(WHAT, f"its tar file has the global header '{key}'")


def _kind(member: tarfile.TarInfo) -> EntryType:
    if member.issparse() or any(key.startswith("GNU.sparse.") for key in member.pax_headers):
        return EntryType.SPARSE
    if member.isreg():
        return EntryType.FILE
    kinds = {tarfile.DIRTYPE: EntryType.FOLDER, tarfile.SYMTYPE: EntryType.LINK, tarfile.LNKTYPE: EntryType.HARD_LINK}
    return kinds.get(member.type, EntryType.OTHER)


@contextmanager
def temporary_file_errors() -> Iterator[None]:
    """For a block that writes a temporary file: raises WriteFailed where that fails."""
    try:
        yield
    except OSError as error:
        raise WriteFailed(
            f"a temporary file for the artifact cannot be written: {error.strerror}",
            hint="free space in the temporary directory, or set TMPDIR to another one",
        ) from error
