"""What is looked up in any registry or chart repository; connected when something is asked for.

A run without artifacts and charts pays for no network: not even for the import of what does the asking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import TypeVar

from flux_upgrade.adapters.http.archive import read_names, refused
from flux_upgrade.model.errors import FluxUpgradeError, SourceUnavailable, UntrustedArchive
from flux_upgrade.model.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.adapters.oci.repository import PulledManifest, RegistryRepository

_Found = TypeVar("_Found")
_Name = TypeVar("_Name")
_Key = tuple[str, str]  # A repository, and a tag or a digest in it
_AT_ONCE = 8  # requests; Flux has no more controllers
_KEPT_ERRORS = (SourceUnavailable, UntrustedArchive)
"""What goes wrong with one image; anything else concerns the whole run."""


class RegistryArtifacts:
    """The port Artifacts, each repository at its own host.

    Whatever was asked for is remembered, failures as well. ``connect`` gives what opens a repository.
    """

    def __init__(self, connect: Callable[[], Callable[[str], RegistryRepository]]) -> None:
        self._opening = cache(connect)
        self._repositories: dict[str, RegistryRepository | FluxUpgradeError] = {}
        self._manifests: dict[_Key, PulledManifest | FluxUpgradeError | None] = {}
        self._images: dict[_Key, PulledManifest | FluxUpgradeError] = {}
        self._listings: dict[_Key, tuple[str, ...] | FluxUpgradeError] = {}
        self._tags: dict[str, tuple[str, ...] | FluxUpgradeError] = {}

    def digest(self, repository: str, reference: str) -> str | None:
        found = self._manifest(repository, reference)
        return None if found is None else found.digest

    def digests(self, references: Iterable[_Key]) -> dict[_Key, str | FluxUpgradeError | None]:
        """Several are asked for at the same time, and each of them once."""
        wanted = dict.fromkeys(references)
        unknown = [each for each in wanted if each not in self._manifests]
        for repository, _ in unknown:
            # These are made one after the other; that there is none is remembered, and returned below.
            with suppress(*_KEPT_ERRORS):
                self._repository(repository)
        if len(unknown) > 1:
            from concurrent.futures import ThreadPoolExecutor  # late: most runs ask for nothing

            with ThreadPoolExecutor(min(_AT_ONCE, len(unknown))) as pool:
                # Whatever it comes to is remembered.
                list(pool.map(self._answer, unknown))
        return {each: self._answer(each) for each in wanted}

    def _answer(self, key: _Key) -> str | FluxUpgradeError | None:
        try:
            return self.digest(*key)
        except _KEPT_ERRORS as error:
            return error

    def annotations(self, repository: str, reference: str) -> Mapping[str, str] | None:
        """Of an index, its own above those of the image that a node takes."""
        found = self._manifest(repository, reference)
        if found is None or not found.is_index:
            return None if found is None else found.annotations
        return self._image(repository, found).annotations | found.annotations

    def tags(self, repository: str) -> tuple[str, ...]:
        return remembered(self._tags, repository, lambda: self._repository(repository).tags())

    def listing(self, repository: str, reference: str) -> tuple[str, ...] | None:
        """Of the first layer: Flux reads that one, unless ``spec.layerSelector`` says otherwise."""
        found = self._manifest(repository, reference)
        if found is None:
            return None
        image = self._image(repository, found)
        key = repository, image.digest
        return remembered(self._listings, key, lambda: self._listed(repository, reference, image))

    def _listed(self, repository: str, reference: str, image: PulledManifest) -> tuple[str, ...]:
        what = f"the artifact {one_line(f'{repository}:{reference}')}"
        if not image.layers:
            raise refused(what, "it has no layer")
        layer = self._repository(repository).blob(str(image.layers[0].get("digest")), what)
        return read_names(layer, what)

    def _manifest(self, repository: str, reference: str) -> PulledManifest | None:
        key = repository, reference
        found = remembered(self._manifests, key, lambda: self._repository(repository).manifest(reference))
        if found is not None:
            self._manifests.setdefault((repository, found.digest), found)
        return found

    def _image(self, repository: str, found: PulledManifest) -> PulledManifest:
        key = repository, found.digest
        return remembered(self._images, key, lambda: self._repository(repository).image(found))

    def _repository(self, name: str) -> RegistryRepository:
        opening = self._opening()
        return remembered(self._repositories, name, lambda: opening(name))


class HelmCharts:
    """The port Charts, each repository at its own host.

    Whatever was asked for is remembered, failures as well. ``connect`` gives what asks for the versions
    of a chart.
    """

    def __init__(self, connect: Callable[[], Callable[[str, str], Mapping[str, str]]]) -> None:
        self._asking = cache(connect)
        self._known: dict[_Key, Mapping[str, str] | FluxUpgradeError] = {}

    def versions(self, repository: str, chart: str) -> Mapping[str, str]:
        """What a chart in a registry installs is asked for when it is looked at."""
        ask, key = self._asking(), (repository.rstrip("/"), chart)
        return remembered(self._known, key, lambda: ask(*key))


def remembered(memory: dict[_Name, _Found | FluxUpgradeError], key: _Name, ask: Callable[[], _Found]) -> _Found:
    """What ``ask`` gave or raised the first time."""
    if key not in memory:
        try:
            memory[key] = ask()
        except FluxUpgradeError as error:
            memory[key] = error
    found = memory[key]
    if isinstance(found, FluxUpgradeError):
        raise found
    return found
