"""Regenerations, each made once: identical installations cost one rendering."""

from __future__ import annotations

from flux_upgrade.manifests.generators import Generator, Rules
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.plausible import require_plausible
from flux_upgrade.manifests.proof import Regenerated
from flux_upgrade.manifests.render import render, rules_for
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.versions import ReleaseManifests, Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import FluxCli, Releases


class Regenerator:
    """Renders releases from a source, and remembers what it rendered."""

    def __init__(self, releases: Releases, flux: FluxCli) -> None:
        self._releases = releases
        self._flux = flux
        self._rules: dict[str, Rules | FluxUpgradeError] = {}
        self._stable_tags: list[Version] | None = None
        self._rendered: dict[tuple[InstallOptions, Generator | None], Regenerated] = {}
        self._manifests: dict[str, ReleaseManifests] = {}
        self._published: dict[str, str | None] = {}

    # No `functools.cache`: it keeps a text and a Version apart that are equal.
    def manifests(self, tag: str) -> ReleaseManifests:
        """``Releases.manifests``, each fetched once. Raises as that, and ImplausibleRelease."""
        if tag not in self._manifests:
            found = self._releases.manifests(tag)
            require_plausible(found, self._manifests.values())
            self._manifests[tag] = found
        return self._manifests[tag]

    def are_identical(self, tag: str, other: str) -> bool:
        """Whether two releases have the same files. False for one that was not read: nothing is fetched."""
        one, two = self._manifests.get(tag), self._manifests.get(other)
        return one is not None and two is not None and one.files == two.files

    def published(self, tag: str) -> str | None:
        """``Releases.published``, each asked for once. Raises as that."""
        if tag not in self._published:
            self._published[tag] = self._releases.published(tag)
        return self._published[tag]

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
        foreign = generator if generator != rules.generator else None
        key = options, foreign
        if key not in self._rendered:
            if foreign is None:
                text = rules.render(options)
            else:
                text = render(self.manifests(options.version), options, foreign)
            self._rendered[key] = Regenerated(text, options, foreign)
        return self._rendered[key]

    def stable_tags(self) -> list[Version]:
        """Every release of Flux 2 in the source that is no prerelease, newest first."""
        if self._stable_tags is None:
            stable = [each.tag for each in self._releases.list() if not each.prerelease]
            flux_2 = [tag for tag in stable if tag.is_flux_2 and not tag.is_prerelease]
            self._stable_tags = sorted(flux_2, reverse=True)
        return self._stable_tags
