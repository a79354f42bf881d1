"""Layers to replace a file in, written by Python, by hand as Go does, and by the tar program."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable, Mapping
from hashlib import sha256

import pytest

from flux_upgrade.model.errors import UntrustedArchive
from flux_upgrade.model.oci.layer import Layer, inflate
from flux_upgrade.model.oci.tar import TarEntry

TARGET = "flux-system/gotk-components.yaml"
OLD = b"kind: Deployment\n" * 40
NEW = b"kind: Deployment\nnew: true\n" * 100

Member = tuple[tarfile.TarInfo, bytes]


def member(
    name: str, content: bytes = b"", *, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644
) -> Member:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname, info.mode = len(content), kind, link, mode
    info.uid, info.gid, info.uname, info.mtime = 1001, 121, "runner", 1_700_000_000
    return info, content


def usual() -> list[Member]:
    """A folder as people have it: patches, a sub-folder, a script, links, an empty file, long names."""
    return [
        member("./", kind=tarfile.DIRTYPE, mode=0o755),
        member("./flux-system", kind=tarfile.DIRTYPE, mode=0o750),
        member(f"./{TARGET}", OLD, mode=0o640),
        member("./flux-system/kustomization.yaml", b"resources:\n- gotk-components.yaml\n"),
        member("./empty", b""),
        member("./" + "f" * 90 + "/" + "n" * 120, b"long"),
        member("./" + "/".join(["ordner-äöü-" + "d" * 60] * 5), "schön".encode()),
        member("./run.sh", b"#!/bin/sh\n", mode=0o755),
        member("./latest", kind=tarfile.SYMTYPE, link="flux-system"),
        member("./out", kind=tarfile.SYMTYPE, link="../../etc/" + "p" * 120),
        member("./twin.sh", kind=tarfile.LNKTYPE, link="./run.sh"),
        member("./null", kind=tarfile.CHRTYPE),
        member("/etc/absolute", b"root\n"),
        member("./last.bin", bytes(range(256)) * 3),
    ]


def tar_of(
    members: Iterable[Member], tar_format: int = tarfile.PAX_FORMAT, pax_headers: Mapping[str, str] | None = None
) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tar_format, pax_headers=pax_headers) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def go_like(members: Iterable[Member]) -> bytes:
    """As Go's archive/tar ends a file: with two blocks of zeros, not with a whole record."""
    content = tar_of(members, tarfile.USTAR_FORMAT)
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        tar.getmembers()
        return content[: tar.offset] + bytes(1024)


def layer_of(content: bytes) -> Layer:
    """``content``: a tar file."""
    layer = inflate(io.BytesIO(gzip.compress(content, mtime=0)), io.BytesIO())
    assert layer.diff_id == f"sha256:{sha256(content).hexdigest()}"
    assert layer.size == len(content)
    return layer


def target(layer: Layer, name: str = TARGET) -> TarEntry:
    (entry,) = layer.files(lambda each: each == name)
    return entry


def replaced(content: bytes, new: bytes = NEW, name: str = TARGET) -> bytes:
    """A tar file with a file replaced; its reported digest and size are checked."""
    layer = layer_of(content)
    spliced = layer.replaced(target(layer, name), new)
    result = b"".join(spliced.chunks())
    assert spliced.diff_id == f"sha256:{sha256(result).hexdigest()}"
    assert spliced.size == len(result)
    return result


Entry = tuple[str, bytes, int, int, int, str, str, float, str, int, int, Mapping[str, str], bytes]


def entries(content: bytes) -> list[Entry]:
    """Headers and contents of a tar file, as tarfile reads them, in its order."""
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return [
            (
                each.name,
                each.type,
                each.mode,
                each.uid,
                each.gid,
                each.uname,
                each.gname,
                each.mtime,
                each.linkname,
                each.devmajor,
                each.devminor,
                each.pax_headers,
                b"" if (file := tar.extractfile(each) if each.isreg() else None) is None else file.read(),
            )
            for each in tar
        ]


def others(content: bytes) -> list[Entry]:
    return [each for each in entries(content) if not each[0].endswith(TARGET)]


def refusal_to_replace(content: bytes, name: str = TARGET) -> str:
    layer = layer_of(content)
    (entry,) = layer.entries(lambda each: each == name)
    with pytest.raises(UntrustedArchive) as caught:
        layer.replaced(entry, NEW)
    return caught.value.message


SHORT = [each for each in usual() if len(each[0].name) < 90 and len(each[0].linkname) < 90]
ARCHIVES = {
    "gnu": tar_of(usual(), tarfile.GNU_FORMAT),
    "pax": tar_of(usual(), tarfile.PAX_FORMAT),
    "ustar": tar_of(SHORT, tarfile.USTAR_FORMAT),
    "go": go_like(SHORT),
    "global header": tar_of(usual(), pax_headers={"comment": "0123456789abcdef"}),
    "no end": go_like(SHORT)[:-1024],
}
