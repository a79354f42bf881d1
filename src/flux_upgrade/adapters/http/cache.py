"""Downloads kept by their sha256, and answers kept by their ETag, in a folder.

A cache may only ever save time: what cannot be written is not kept, what was
damaged, cut off or tampered with is dropped and fetched anew.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256

from flux_upgrade.adapters.local.files import read_regular
from flux_upgrade.model.values import NamedTuple

_MAX_ENTRY = 64 * 1024 * 1024


class DownloadCache:
    """A content-addressed cache below ``folder``; with None, one that keeps nothing."""

    def __init__(self, folder: str | None) -> None:
        self._folder = None if folder is None else os.path.join(folder, "sha256")

    def get(self, digest: str) -> bytes | None:
        """The content with this sha256 (hexadecimal), or None. Entries that differ are removed."""
        if self._folder is None or not digest.isalnum():
            return None
        path = os.path.join(self._folder, digest)
        content = _read(path)
        if content is not None and sha256(content).hexdigest() != digest:
            _remove(path)
            return None
        return content

    def put(self, content: bytes) -> None:
        """Keep ``content`` under its sha256, if the folder can be written."""
        if self._folder is not None:
            _write(self._folder, sha256(content).hexdigest(), content)


class CachedResponse(NamedTuple):
    """An answer that a server may confirm with 304."""

    etag: str
    link: str  # the `Link` header, for paging
    body: bytes


class EtagCache:
    """Answers below ``folder``, each bound to its URL and to the token it was given for."""

    def __init__(self, folder: str | None) -> None:
        self._folder = None if folder is None else os.path.join(folder, "etag")

    def get(self, url: str, token: str) -> CachedResponse | None:
        """What was kept for this URL and token; None where nothing is, or it is damaged."""
        name = _name(url, token)
        content = None if self._folder is None else _read(os.path.join(self._folder, name))
        if content is None:
            return None
        try:
            entry = json.loads(content)
            kept = CachedResponse(entry["etag"], entry["link"], entry["body"].encode())
            intact = entry["sha256"] == _seal(name, kept)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return kept if intact else None

    def put(self, url: str, token: str, kept: CachedResponse) -> None:
        """Keep an answer, if it is text and the folder can be written."""
        if self._folder is None:
            return
        name = _name(url, token)
        with suppress(UnicodeDecodeError):
            entry = {"etag": kept.etag, "link": kept.link, "body": kept.body.decode()}
            entry["sha256"] = _seal(name, kept)
            _write(self._folder, name, json.dumps(entry).encode())


def _name(url: str, token: str) -> str:
    # The token itself is never written: only a hash over it and the URL.
    return sha256(f"{url}\n{token}".encode()).hexdigest() + ".json"


def _seal(name: str, kept: CachedResponse) -> str:
    return sha256(f"{name}\n{kept.etag}\n{kept.link}".encode() + b"\n" + kept.body).hexdigest()


def _read(path: str) -> bytes | None:
    try:
        return read_regular(path, _MAX_ENTRY)
    except OSError:
        return None


def _remove(path: str) -> None:
    with suppress(OSError):
        os.remove(path)


def _write(folder: str, name: str, content: bytes) -> None:
    """Write atomically, or not at all: readers see a whole entry or none."""
    temporary = os.path.join(folder, f".{name}.{os.urandom(6).hex()}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(temporary, "xb") as file:
            file.write(content)
        os.replace(temporary, os.path.join(folder, name))
    except OSError:
        _remove(temporary)
