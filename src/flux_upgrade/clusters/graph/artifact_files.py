"""Which files of the repository source-controller puts into the artifact of a source.

source-controller v1 leaves out what ``spec.ignore`` says, or else its defaults, and what a ``.sourceignore``
of any folder says (https://fluxcd.io/flux/components/source/gitrepositories/#excluding-files).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cached_property

from flux_upgrade.config.config import match
from flux_upgrade.model.files import YAML
from flux_upgrade.model.text import decoded, is_below
from flux_upgrade.snapshot.snapshot import Snapshot

# sourceignore.ExcludeVCS, ExcludeExt, ExcludeCI and ExcludeExtra of github.com/fluxcd/pkg/sourceignore.
_DEFAULTS = (
    *(".git/", ".gitignore", ".gitmodules", ".gitattributes"),
    *("*.jpg", "*.jpeg", "*.gif", "*.png", "*.wmv", "*.flv", "*.tar.gz", "*.zip"),
    *(".github/", ".circleci/", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml"),
    *("cloudbuild.yaml", "codeship-services.yml", "codeship-steps.yml"),
    *("**/.goreleaser.yml", "**/.sops.yaml", "**/.flux.yaml"),
)
_MAY_BE_LEFT_OUT = re.compile(r"(?:^|/)(?:\.|appveyor|cloudbuild|codeship)")  # What these say of YAML files
_NAME = ".sourceignore"
HOLE = "\0"
"""An unknown value in a path."""


class ArtifactFiles:
    """The files of a tree, as far as a source takes them."""

    def __init__(self, tree: Snapshot) -> None:
        self.tree = tree

    def yaml_below(self, folder: str, ignore: str | None = None) -> Iterator[str]:
        """Paths of the YAML files in a folder and below it. ``ignore``: ``spec.ignore`` of the source."""
        return (path for path in self._manifests(folder) if not self._is_left_out(path, ignore))

    def has(self, folder: str) -> bool:
        """Whether there is a YAML file in a folder or below it."""
        return next(self._manifests(folder), None) is not None

    @cached_property
    def large(self) -> frozenset[str]:
        """Paths of the YAML files that are too large to read."""
        return frozenset(self.tree.named(YAML)).difference(self.tree.candidates())

    def _manifests(self, folder: str = "") -> Iterator[str]:
        """Yield the YAML files of any size in a directory and below it."""
        yield from self.tree.candidates(folder)
        yield from (path for path in sorted(self.large) if is_below(path, folder))

    def like(self, path: str) -> list[str]:
        """Directories that a path with unknown values may be: a value has no ``/``, unless nothing is there without."""
        parts = path.split(HOLE)
        for value in ("[^/]+", ".*") if len(parts) > 1 else ():
            fits = re.compile(value.join(map(re.escape, parts)))
            if matching := [folder for folder in self._folders if fits.fullmatch(folder)]:
                return matching
        return [path] if len(parts) == 1 and self.has(path) else []

    @cached_property
    def _folders(self) -> list[str]:
        """Directories that have YAML files in them or below, sorted."""
        matching = set[str]()
        for path in self._manifests():
            folder = posixpath.dirname(path)
            while folder and folder not in matching:
                matching.add(folder)
                folder = posixpath.dirname(folder)
        return sorted(matching)

    def _is_left_out(self, path: str, ignore: str | None) -> bool:
        if ignore is None and not self._own and not _MAY_BE_LEFT_OUT.search(path):
            return False
        patterns = _DEFAULTS if ignore is None else tuple(ignore.splitlines())
        if match((*patterns, *self._own.get("", ())), path):
            return True
        nested = ((folder, own) for folder, own in self._own.items() if folder and is_below(path, folder))
        return any(match(own, path[len(folder) + 1 :]) for folder, own in nested)

    @cached_property
    def _own(self) -> dict[str, tuple[str, ...]]:
        """Folder → the patterns of its ``.sourceignore``."""
        files = filter(None, map(self.tree.at, self.tree.named((_NAME,))))
        return {posixpath.dirname(file.path): tuple(decoded(file.content).splitlines()) for file in files}
