"""Whether an archive is the one that its release names.

``flux_<version>_checksums.txt`` (goreleaser's, ``<sha256>  <name>`` a line)
names ``manifests.tar.gz`` since v0.25.3; releases before it say nothing about
their manifests. GitHub adds a ``digest`` of its own to assets.
"""

from __future__ import annotations

from hashlib import sha256

from flux_upgrade.edges.archive import read_manifests, refused
from flux_upgrade.errors import UntrustedArchive
from flux_upgrade.model import ReleaseManifests
from flux_upgrade.versions import precedence

MANIFESTS = "manifests.tar.gz"
MAX_CHECKSUMS = 1024 * 1024
"""Bytes of a checksums file that are read; real ones are below 2 kB."""

_FIRST_WITH_CHECKSUM = precedence("v0.25.3")
_HEX_DIGITS = 64


def checksums_name(tag: str) -> str:
    """The name of the asset that holds the checksums of release ``tag``."""
    return f"flux_{tag[1:]}_checksums.txt"


def is_checksummed(tag: str) -> bool:
    """Whether Flux publishes a checksum for the manifests of release ``tag``."""
    return precedence(tag) >= _FIRST_WITH_CHECKSUM


def is_sha256(text: str) -> bool:
    """Whether ``text`` is a sha256 in lower-case hexadecimal."""
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


def check(tag: str, data: bytes, *expected: str | None) -> None:
    """Raise UntrustedArchive unless ``data`` has every sha256 in ``expected`` that is not None."""
    actual = sha256(data).hexdigest()
    for wanted in expected:
        if wanted is not None and wanted != actual:
            raise mismatch(f"{MANIFESTS} of {tag}", wanted, actual)


def mismatch(what: str, wanted: str, actual: str) -> UntrustedArchive:
    """The error for content that has another sha256 than it should."""
    return refused(what, f"its sha256 should be {wanted}, and is {actual}")


def checked_manifests(
    tag: str, data: bytes, stated: str | None, digest: str | None = None
) -> ReleaseManifests:
    """The manifests in ``data``, once they have the sha256 ``stated`` and ``digest``, where given.

    They count as verified only with ``stated``: Flux's own word, not the
    server's. Raises UntrustedArchive.
    """
    check(tag, data, stated, digest)
    files = read_manifests(data, f"{MANIFESTS} of {tag}")
    return ReleaseManifests(tag=tag, files=files, verified=stated is not None)
