"""Regenerations, each made once: identical installations cost one rendering."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from flux_upgrade.manifests.documents import Document, Manifest, ObjectKey, parse
from flux_upgrade.manifests.evidence import Rules, rules_for
from flux_upgrade.manifests.generators import Generator
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.render import render
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.ports import FluxCli, Releases
from flux_upgrade.model.versions import ReleaseManifests, Version

_IMAGE_LINE = re.compile(r"^( +(?:- )?image: ).*$", re.MULTILINE)
_VERSION_LINE = re.compile(r"^( +app\.kubernetes\.io/version: ).*$", re.MULTILINE)


@dataclass(frozen=True)
class Regenerated:
    """What Flux would write for ``options``."""

    text: str
    options: InstallOptions
    generator: Generator | None
    foreign: bool
    """Made by the rules of another release than the manifests': ``generator`` says which."""

    @cached_property
    def manifest(self) -> Manifest:
        """The text, cut into documents."""
        return parse(self.text.encode())

    @cached_property
    def documents(self) -> dict[ObjectKey, Document]:
        """Its documents by object, in order."""
        return {document.key: document for document in self.manifest.documents}

    @cached_property
    def without_images(self) -> str:
        """The text, less what its image lines name."""
        return without_images(self.text)

    @cached_property
    def skeleton(self) -> Counter[str]:
        """The texts of its documents, without images and version labels."""
        return skeleton_of(self.manifest.documents)


def without_images(text: str) -> str:
    """A manifest's text with its image lines emptied."""
    return _IMAGE_LINE.sub(r"\1", text) if "image: " in text else text


def skeleton_of(documents: Iterable[Document]) -> Counter[str]:
    """The documents' texts, less images and version labels: what is left is the release's own."""
    return Counter(_VERSION_LINE.sub(r"\1", without_images(document.text)) for document in documents)


class Regenerator:
    """Renders releases from a source, and remembers what it rendered."""

    def __init__(self, releases: Releases, flux: FluxCli) -> None:
        self._releases = releases
        self._flux = flux
        self._manifests: dict[str, ReleaseManifests] = {}
        self._rules: dict[str, Rules | FluxUpgradeError] = {}
        self._rendered: dict[tuple[InstallOptions, str], Regenerated] = {}
        self._published: dict[str, str | None] = {}

    def manifests(self, tag: str) -> ReleaseManifests:
        """The manifests of a release, fetched once. Raises as ``Releases.manifests``."""
        if tag not in self._manifests:
            self._manifests[tag] = self._releases.manifests(tag)
        return self._manifests[tag]

    def rules(self, tag: str) -> Rules:
        """The rules of a release, found once; a failure is remembered as well. Raises as ``rules_for``."""
        if tag not in self._rules:
            try:
                self._rules[tag] = rules_for(self.manifests(tag), self._releases, self._flux)
            except FluxUpgradeError as error:
                self._rules[tag] = error
        found = self._rules[tag]
        if isinstance(found, FluxUpgradeError):
            raise found
        return found

    def regenerate(self, options: InstallOptions, generator: Generator | None = None) -> Regenerated:
        """Render by the release's own rules, or by those of ``generator``. Raises as ``rules``."""
        rules = self.rules(options.version)
        foreign = generator is not None and generator != rules.generator
        key = (options, generator.since if generator and foreign else "")
        if key not in self._rendered:
            text = (
                render(self.manifests(options.version), options, generator)
                if generator is not None and foreign
                else rules.render(options)
            )
            self._rendered[key] = Regenerated(text, options, generator or rules.generator, foreign)
        return self._rendered[key]

    def published(self, tag: str) -> str | None:
        """The manifest that Flux published for a release; None: there is none. Fetched once."""
        if tag not in self._published:
            self._published[tag] = self._releases.published(tag)
        return self._published[tag]

    def stable_tags(self) -> list[Version]:
        """Every release of Flux 2 in the source that is no prerelease, newest first."""
        return self._stable_tags

    @cached_property
    def _stable_tags(self) -> list[Version]:
        tags = [release.tag for release in self._releases.list() if not release.prerelease]
        return sorted((each for each in tags if each.is_flux_2 and not each.is_prerelease), reverse=True)
