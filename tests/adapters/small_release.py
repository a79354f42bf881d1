"""A release of ours, far smaller than Flux's, and the tar files to attack its reader with."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable, Mapping
from hashlib import sha256

COMPONENTS = ("source-controller", "kustomize-controller", "helm-controller", "notification-controller")

FILES: Mapping[str, str] = {
    "rbac.yaml": "kind: ClusterRole\n",
    "policies.yaml": "kind: NetworkPolicy\n",
    **{f"{name}.yaml": f"kind: Deployment\nname: {name}\n" for name in COMPONENTS},
}


def member(
    name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), kind, link
    return info, content


def pack(members: Iterable[tuple[tarfile.TarInfo, bytes]], tar_format: int = tarfile.USTAR_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tar_format) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def archive(files: Mapping[str, str] = FILES, *extra: tuple[tarfile.TarInfo, bytes]) -> bytes:
    return pack([*(member(name, text.encode()) for name, text in files.items()), *extra])


def checksums(data: bytes, name: str = "manifests.tar.gz") -> bytes:
    return f"{sha256(b'other').hexdigest()}  flux_linux.tar.gz\n{sha256(data).hexdigest()}  {name}\n".encode()
