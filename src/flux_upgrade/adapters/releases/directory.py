"""Releases that are laid out as ``<tag>/<asset>``, with ``releases.json`` beside the tags; those in a folder.

A mirror, an air gap, a test. Modules that cost time to import are not imported here: this is the short way
to ``render``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from hashlib import sha256

from flux_upgrade.adapters.http import archive
from flux_upgrade.adapters.http.archive import MAX_COMPRESSED, refused
from flux_upgrade.adapters.local.files import read_regular
from flux_upgrade.adapters.releases import listing
from flux_upgrade.model.errors import SourceUnavailable
from flux_upgrade.model.text import one_line
from flux_upgrade.model.versions import Release, ReleaseManifests, Version, is_tag

_MAX_FILE = 32 * 1024 * 1024
INDEX = "releases.json"


class LaidOutReleases:
    """What of the port Releases is the same wherever the files are."""

    _where_index: str
    """What errors call ``releases.json``."""

    def _read(self, *parts: str) -> bytes | None:
        """A file, by the parts of its path; None where there is none."""
        raise NotImplementedError

    def published(self, tag: str) -> str | None:
        """The text of ``<tag>/gotk-components.yaml``, or None."""
        listing.require_tag(tag)
        content = self._read(tag, "gotk-components.yaml")
        try:
            return None if content is None else content.decode("utf-8")
        except UnicodeDecodeError:
            raise refused(f"gotk-components.yaml of {tag}", "it is not UTF-8 text") from None

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> Mapping[str, str] | None:
        """The sha256 of each ``<tag>/<path>`` that is there; None if none is."""
        listing.require_tag(tag)
        contents = {path: self._read(tag, path) for path in paths}
        found = {path: sha256(data).hexdigest() for path, data in contents.items() if data is not None}
        return found or None

    def commit(self, tag: str) -> str:
        """Unknown: there are files here, and no Git."""
        del tag
        return ""

    def _digest(self, tag: str) -> str | None:
        """The sha256 that ``releases.json`` gives for the archive, where it does."""
        text = self._read(INDEX)
        return None if text is None else listing.archive_digest(text, tag, self._where_index)


class DirectoryReleases(LaidOutReleases):
    """The port Releases over a folder.

    Raises SourceUnavailable when built on what is not a folder.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._where_index = os.path.join(root, INDEX)
        if not os.path.isdir(root):
            raise SourceUnavailable(
                f"the release source {one_line(root)} is not a folder",
                hint="give a folder that is laid out as <tag>/manifests.tar.gz, or an http(s) address",
            )

    def list(self) -> tuple[Release, ...]:
        """What ``releases.json`` lists; without it the folders named like tags, the newest first."""
        text = self._read(INDEX)
        if text is not None:
            return listing.parse_releases(text, self._where_index)
        return tuple(Release(Version(tag), prerelease="-" in tag) for tag in self._folders())

    def manifests(self, tag: str) -> ReleaseManifests:
        """Without a checksums file they are not verified."""
        listing.require_tag(tag)
        data = self._read(tag, archive.MANIFESTS, limit=MAX_COMPRESSED)
        if data is None:
            raise listing.not_found(tag, f"the release source {self._root}", self._folders())
        text = self._read(tag, archive.checksums_name(tag), limit=archive.MAX_CHECKSUMS)
        if text is None:
            return archive.checked_manifests(tag, data, None, self._digest(tag))
        stated = archive.stated_sha256(tag, text.decode("utf-8", "replace"))
        return archive.checked_manifests(tag, data, stated)

    def _folders(self) -> tuple[str, ...]:
        try:
            names = [name for name in os.listdir(self._root) if is_tag(name)]
        except OSError as error:
            raise _unreadable(self._root, error) from error
        return tuple(sorted(names, key=Version, reverse=True))

    def _read(self, *parts: str, limit: int = _MAX_FILE) -> bytes | None:
        path = os.path.join(self._root, *parts)
        try:
            return read_regular(path, limit)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.EFBIG:
                raise refused(path, f"{error.strerror}") from None
            raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> SourceUnavailable:
    return SourceUnavailable(
        f"{one_line(path)} cannot be read: {error.strerror}",
        hint="check its permissions; a source is laid out as <tag>/manifests.tar.gz beside releases.json",
    )
