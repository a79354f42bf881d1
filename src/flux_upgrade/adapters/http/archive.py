"""What is downloaded, checked: a release's ``manifests.tar.gz``, its checksums, and JSON.

Nothing is unpacked to disk.

gzip is inflated through zlib, which can be bounded, and the tar is read from
memory by Python's tarfile. tarfile ends quietly at a header that it cannot
read, so that whatever follows the last member must be the zeros of a tar's end.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Iterator
from hashlib import sha256

from flux_upgrade.model.errors import SourceUnavailable, UntrustedArchive
from flux_upgrade.model.text import one_line
from flux_upgrade.model.versions import ReleaseManifests, Version

MAX_COMPRESSED = 10 * 1024 * 1024  # bytes. Real archives are below 100 kB.
MAX_UNCOMPRESSED = 64 * 1024 * 1024  # bytes, headers and padding included. Real archives hold below 1 MB.
MAX_ENTRIES = 64  # entries of any kind of a release's archive. Real ones hold nine.
_MAX_HEADERS = 64 * 1024  # bytes of all headers of one entry, which are some hundred
_MAX_GLOBALS = 1000  # records that are for all entries; `git archive` writes one
_MAX_LISTED = 4096  # Entries of an archive that is only listed: flux-operator's holds a folder for each release of Flux

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


def refused(what: str, why: str) -> UntrustedArchive:
    """The error for an archive or artifact that cannot be used; ``what`` names it."""
    return UntrustedArchive(
        f"{one_line(what)} failed verification: {one_line(why)}",
        hint="run flux-upgrade again (nothing was written); if the error stays, compare the file with "
        "github.com/fluxcd/flux2/releases",
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
        raise refused(what, f"it does not contain {', '.join(missing)}")
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
        raise refused(what, f"it contains {len(found)} files named {base_name}")
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
        raise refused(what, "it is not a gzip file, or is damaged") from None
    if len(content) > MAX_UNCOMPRESSED:
        raise refused(what, f"it unpacks to more than {MAX_UNCOMPRESSED} bytes")
    if not stream.eof:
        raise refused(what, "it is truncated")
    if stream.unused_data:
        raise refused(what, "something follows the end of the gzip stream")
    return content


class _Rationed(io.BytesIO):
    """Gives only so much until it is renewed: what tarfile reads of the headers of one entry."""

    left = _MAX_HEADERS

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= self.left:
            raise ValueError(size)
        self.left -= size
        return super().read(size)


def _entries(data: bytes, what: str, most: int = MAX_ENTRIES) -> Iterator[tuple[str, bool, bytes]]:
    """Name, whether it is a folder, and content of each entry."""
    content = _inflate(data, what)
    rationed = _Rationed(content)
    try:
        with tarfile.open(fileobj=rationed, mode="r:") as tar:
            for number, member in enumerate(tar):
                if number >= most:
                    raise refused(what, f"it holds more than {most} entries")
                is_file = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE)
                if not (member.isdir() or is_file) or member.issparse():
                    raise refused(what, f"'{member.name}' is neither a file nor a directory")
                if member.name.startswith("/") or ".." in member.name.split("/"):
                    raise refused(what, f"it holds '{member.name}', a path outside its directory")
                # Each entry gets a copy of what is said of all of them.
                if len(tar.pax_headers) > _MAX_GLOBALS:
                    raise refused(what, "its tar file is damaged: its global header is too large")
                end = member.offset_data + (0 if member.isdir() else member.size)
                if not member.offset_data <= end <= len(content):
                    raise refused(what, "its tar file is damaged or truncated")
                yield member.name, member.isdir(), content[member.offset_data : end]
                rationed.left = _MAX_HEADERS
            rest = content[tar.offset :]
    except _DAMAGE:
        raise refused(what, "its tar file is damaged") from None
    if rest.count(0) != len(rest):
        raise refused(what, "its tar file is damaged, or something follows its end")


MANIFESTS = "manifests.tar.gz"
MAX_CHECKSUMS = 1024 * 1024  # bytes of a checksums file that are read; real ones are below 2 kB

_FIRST_WITH_CHECKSUM = (0, 25, 3)
_HEX_DIGITS = 64


def checksums_name(tag: str) -> str:
    """The name of the asset that holds the checksums of release ``tag``."""
    return f"flux_{tag[1:]}_checksums.txt"


def is_checksummed(tag: str) -> bool:
    """Whether Flux publishes a checksum for the manifests of release ``tag``."""
    return Version(tag).numbers >= _FIRST_WITH_CHECKSUM


def is_sha256(text: str) -> bool:
    return len(text) == _HEX_DIGITS and not text.strip("0123456789abcdef")


def sha256_of_digest(digest: object) -> str | None:
    """The hexadecimal part of ``sha256:…``; None for anything else (GitHub's old assets have null)."""
    if isinstance(digest, str) and digest.startswith("sha256:") and is_sha256(digest[7:].lower()):
        return digest[7:].lower()
    return None


def stated_sha256(tag: str, text: str) -> str | None:
    """The sha256 that a checksums file states for the manifests of ``tag``.

    None where a release from before v0.25.3 does not state it. Raises
    UntrustedArchive where a later one does not, or states several.
    """
    stated = set()
    for line in text.splitlines():
        digest, _, name = line.partition(" ")
        # sha256sum marks binary mode with an asterisk
        if name.strip().removeprefix("*") == MANIFESTS and is_sha256(digest.lower()):
            stated.add(digest.lower())
    if len(stated) > 1 or (not stated and is_checksummed(tag)):
        raise refused(
            f"{checksums_name(tag)} of {tag}", f"it states {len(stated)} sha256 sums for {MANIFESTS}, not one"
        )
    return stated.pop() if stated else None


def require_sha256(content: bytes, what: str, *stated: str | None) -> str:
    """The sha256 of ``content``. Raises UntrustedArchive where a stated one, if it is not None, is another."""
    actual = sha256(content).hexdigest()
    for wanted in stated:
        if wanted not in (None, actual):
            raise refused(what, f"its sha256 is {actual} instead of {wanted}")
    return actual


def checked_manifests(tag: str, data: bytes, stated: str | None, digest: str | None = None) -> ReleaseManifests:
    """The manifests in ``data``, once they have the sha256 ``stated`` and ``digest``, where given.

    They count as verified only with ``stated``: Flux's own word, not the
    server's. Raises UntrustedArchive.
    """
    what = f"{MANIFESTS} of {tag}"
    require_sha256(data, what, stated, digest)
    files = read_manifests(data, what)
    return ReleaseManifests(tag=tag, files=files, verified=stated is not None)


def parse_json(data: bytes, what: str) -> object:
    """The JSON value in ``data``. Raises SourceUnavailable; ``what`` names it there."""
    import json

    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        raise malformed(what, "is not JSON") from None
    return value


def malformed(what: str, why: str) -> SourceUnavailable:
    """The error for an answer of another shape; ``what`` names it."""
    return SourceUnavailable(
        f"{one_line(what)} {why}", hint="use GitHub's list of releases: each item needs at least tag_name"
    )
