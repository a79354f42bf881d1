"""A new layer: files as ``flux push artifact`` packs a folder of them.

Rules: github.com/fluxcd/pkg/tar, ``Tar``; layout: POSIX.1-2001, "ustar Interchange Format", with what
Go's archive/tar leaves empty and what it fills. The machine has no part in it: modes, owners and times
are always the same, so that equal files give an equal ``diff_id``.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Mapping
from hashlib import sha256

from flux_upgrade.model.oci.tar import BLOCK, padding
from flux_upgrade.model.values import NamedTuple

LONGEST = 100  # Characters of a path in a header

_HEADER = struct.Struct("100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12x")
_FILE, _FOLDER = b"0", b"5"
_FILE_MODE, _FOLDER_MODE = 0o644, 0o755
_ZERO = b"%07o" % 0


class Packed(NamedTuple):
    content: bytes
    diff_id: str  # `sha256:…` of it


def is_packable(path: str) -> bool:
    """Whether a path is relative, stays inside, and fits a header that any program reads alike."""
    return (
        path.isascii()
        and path.isprintable()
        and len(path) <= LONGEST
        and not path.startswith("/")
        and posixpath.normpath(path) == path
        and path != "."
        and path.partition("/")[0] != ".."
    )


def pack(files: Mapping[str, bytes]) -> Packed:
    """``files``: path → content; for each path ``is_packable`` holds."""
    folders = {path[:at] for path in files for at, char in enumerate(path) if char == "/"}
    blocks = [_header(".", _FOLDER, _FOLDER_MODE, 0)]
    # Folder by folder, as Go's WalkDir does: a/b comes before a.yaml.
    for path in sorted(folders | files.keys(), key=lambda each: each.split("/")):
        if path in folders:
            blocks.append(_header(path, _FOLDER, _FOLDER_MODE, 0))
        else:
            content = files[path]
            blocks += [_header(path, _FILE, _FILE_MODE, len(content)), content, padding(len(content))]
    packed = b"".join([*blocks, bytes(2 * BLOCK)])
    return Packed(packed, f"sha256:{sha256(packed).hexdigest()}")


def _header(name: str, kind: bytes, mode: int, size: int) -> bytes:
    fields = [
        *(name.encode("ascii"), b"%07o" % mode, _ZERO, _ZERO, b"%011o" % size, b"%011o" % 0),
        *(b" " * 8, kind, b"", b"ustar\0", b"00", b"", b"", _ZERO, _ZERO, b""),
    ]
    checksum = sum(_HEADER.pack(*fields))
    fields[6] = b"%06o\0 " % checksum
    return _HEADER.pack(*fields)
