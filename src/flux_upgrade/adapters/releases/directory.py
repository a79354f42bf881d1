"""Releases that are laid out as ``<tag>/<asset>``, with GitHub's release objects in ``releases.json``.

A mirror, an air gap, a test: mirrors leave out names, notes, dates and assets, so that only ``tag_name`` is
needed. Modules that cost time to import are not imported here: this is the short way to ``render``.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from hashlib import sha256

from flux_upgrade.adapters.http import archive
from flux_upgrade.adapters.http.archive import MAX_COMPRESSED, malformed, parse_json, refused
from flux_upgrade.adapters.local.files import read_regular
from flux_upgrade.model.errors import ReleaseNotFound, SourceUnavailable
from flux_upgrade.model.text import one_line
from flux_upgrade.model.versions import Release, ReleaseManifests, Version, is_tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import Releases

_MAX_FILE = 32 * 1024 * 1024
INDEX = "releases.json"


def parse_releases(data: bytes, what: str) -> tuple[Release, ...]:
    """The releases in a list of release objects, in its order.

    Drafts are left out, and tags that are not ``v`` and a semantic version.
    Raises SourceUnavailable where it is no list of objects.
    """
    return tuple(filter(None, map(release_of, objects(data, what))))


def objects(data: bytes, what: str) -> list[dict[str, object]]:
    """The list of objects in ``data``. Raises SourceUnavailable where it is none."""
    value = parse_json(data, what)
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise malformed(what, "is not a list of release objects")
    return value


def release_of(entry: dict[str, object]) -> Release | None:
    """One release object as a value; None for drafts and for tags that are no versions."""
    tag = entry.get("tag_name")
    if not isinstance(tag, str) or not is_tag(tag) or entry.get("draft") is True:
        return None
    prerelease, published, notes = entry.get("prerelease"), entry.get("published_at"), entry.get("body")
    return Release(
        tag=Version(tag),
        prerelease=prerelease if isinstance(prerelease, bool) else "-" in tag,
        published_at=published if isinstance(published, str) else "",
        notes=notes if isinstance(notes, str) else "",
    )


def asset_of(entry: dict[str, object], name: str) -> dict[str, object] | None:
    assets = entry.get("assets")
    for asset in assets if isinstance(assets, list) else ():
        if isinstance(asset, dict) and asset.get("name") == name:
            return asset
    return None


def require_tag(tag: str) -> None:
    """Raise ReleaseNotFound unless ``tag`` is ``v`` and a semantic version."""
    if not is_tag(tag):
        hint = f"did you mean v{tag}?" if is_tag(f"v{tag}") else "write the full tag, for example v2.9.4"
        raise ReleaseNotFound(f"'{one_line(tag)}' is not a Flux release", hint=hint)


def known_tags(releases: Releases) -> tuple[Version, ...]:
    """What a source lists, for a hint, which may be had without."""
    try:
        return tuple(release.tag for release in releases.list())
    except SourceUnavailable:
        return ()


def not_found(tag: str, source: str, known: Iterable[str] = ()) -> ReleaseNotFound:
    """The error for a well-formed ``tag`` that ``source`` does not have, naming those it has."""
    newest_first = sorted((Version(each) for each in known if is_tag(each)), reverse=True)
    near = [t for t in newest_first if t.minor == Version(tag).minor][:3]
    if tag in newest_first:
        return ReleaseNotFound(
            f"{one_line(source)} lists the Flux release {tag}, but has no manifests for it",
            hint="run flux-upgrade again later: assets appear some minutes after the release",
        )
    hint = "check the version and the release source"
    if near:
        hint = f"use one of {', '.join(near)}, or its newest release {newest_first[0]}"
    elif newest_first:
        hint = f"use its newest release {newest_first[0]}"
    return ReleaseNotFound(f"{one_line(source)} has no Flux release {tag}", hint=hint)


class LaidOutReleases:
    """What of the port Releases is the same wherever the files are."""

    _where_index: str  # what errors call `releases.json`

    def _read(self, *parts: str) -> bytes | None:
        raise NotImplementedError

    def published(self, tag: str) -> str | None:
        require_tag(tag)
        content = self._read(tag, "gotk-components.yaml")
        try:
            return None if content is None else content.decode("utf-8")
        except UnicodeDecodeError:
            raise refused(f"gotk-components.yaml of {tag}", "it is not UTF-8 text") from None

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> Mapping[str, str] | None:
        """The sha256 of each ``<tag>/<path>`` that is there; None if none is."""
        require_tag(tag)
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
        for entry in [] if text is None else objects(text, self._where_index):
            if entry.get("tag_name") == tag:
                asset = asset_of(entry, archive.MANIFESTS)
                return None if asset is None else archive.sha256_of_digest(asset.get("digest"))
        return None


class DirectoryReleases(LaidOutReleases):
    """The port Releases over a folder.

    Raises SourceUnavailable when built on what is not a directory.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._where_index = os.path.join(root, INDEX)
        if not os.path.isdir(root):
            raise SourceUnavailable(
                f"the release source {one_line(root)} is not a directory",
                hint="use a directory with <tag>/manifests.tar.gz, or an http(s) URL",
            )

    def list(self) -> tuple[Release, ...]:
        """Return the releases in ``releases.json``. Raises SourceUnavailable without it: folders have no dates."""
        text = self._read(INDEX)
        if text is None:
            raise no_index(f"the release source {one_line(self._root)}")
        return parse_releases(text, self._where_index)

    def manifests(self, tag: str) -> ReleaseManifests:
        """Without a checksums file they are not verified."""
        require_tag(tag)
        data = self._read(tag, archive.MANIFESTS, limit=MAX_COMPRESSED)
        if data is None:
            raise not_found(tag, f"the release source {self._root}", self._folders())
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


def no_index(source: str) -> SourceUnavailable:
    """Make the error for a release source without ``releases.json``."""
    return SourceUnavailable(
        f"{source} has no {INDEX}",
        hint="add it next to the tags: `gh api --paginate repos/fluxcd/flux2/releases > releases.json`",
    )


def _unreadable(path: str, error: OSError) -> SourceUnavailable:
    return SourceUnavailable(
        f"{one_line(path)} could not be read: {error.strerror}",
        hint="check its permissions; a source has <tag>/manifests.tar.gz and releases.json",
    )
