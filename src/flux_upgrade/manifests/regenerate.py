"""Regenerations, each made once: identical installations cost one rendering."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from flux_upgrade.manifests.documents import Manifest, parse
from flux_upgrade.manifests.generators import GENERATORS, Generator, Rules
from flux_upgrade.manifests.infer import Inferred
from flux_upgrade.manifests.options import InstallOptions, validate_recovered
from flux_upgrade.manifests.plausible import require_plausible
from flux_upgrade.manifests.render import render, rules_for
from flux_upgrade.model.errors import (
    FluxUpgradeError,
    ReleaseNotFound,
    UnsupportedRelease,
    UntrustedArchive,
    UsageError,
)
from flux_upgrade.model.ports import FluxCli, Releases
from flux_upgrade.model.versions import ReleaseManifests, Version

_MOST_BODIES = 3
_MOST_LABELS = 3
_TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?")


@dataclass(frozen=True)
class Regenerated:
    """What Flux would write for ``options``."""

    text: str
    options: InstallOptions
    foreign: Generator | None  # Whose rules it was made by, where they are not those of the manifests' own release

    @cached_property
    def manifest(self) -> Manifest:
        return parse(self.text.encode())


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


@dataclass(frozen=True)
class Candidates:
    """One manifest, and what it can be compared with."""

    manifest: Manifest
    inferred: Inferred
    regenerator: Regenerator

    def recorded_releases(self) -> tuple[list[str], FluxUpgradeError | None]:
        """The releases that labels and header name and that can be rendered.

        Second: why the first of them cannot be rendered; None where it can. Only a clean
        proof by another release speaks against it.
        """
        versions = [*self.inferred.versions[:_MOST_LABELS], self.manifest.header_version]
        recorded = list(dict.fromkeys(filter(None, versions)))
        if not recorded:
            return [], UnsupportedRelease(
                "the file has no version: it looks like the install.yaml of a Flux release",
                hint="replace it with the output of `flux-upgrade render` and your flags",
            )
        problems: dict[str, FluxUpgradeError] = {}
        for version in recorded:
            try:
                self._require(version)
            except ReleaseNotFound as error:
                hint = f"set a --release-source that has {version}"
                problems[version] = UnsupportedRelease(error.message, hint=hint)
            except (UnsupportedRelease, UntrustedArchive) as error:
                problems[version] = error
        return [version for version in recorded if version not in problems], problems.get(recorded[0])

    def withdrawn(self) -> Version | None:
        """The release that the file states, if the source no longer lists it but a newer one; else None.

        A source that ends before it, such as a mirror that lags behind, says nothing about it.
        """
        stated = {*self.inferred.versions, self.manifest.header_version} - {""}
        version = Version.parse(next(iter(stated))) if len(stated) == 1 else None
        stable = self.regenerator.stable_tags()
        if version is None or not version.is_flux_2 or version in stable:
            return None
        return version if any(tag > version for tag in stable) else None

    def neighbors(self, version: Version) -> list[Version]:
        """Releases of the same minor, older ones first, and the nearest first."""
        of_minor = [tag for tag in self.regenerator.stable_tags() if tag.minor == version.minor]
        older = [tag for tag in of_minor if tag < version][:_MOST_BODIES]
        return [*older, *reversed([tag for tag in of_minor if tag > version][-_MOST_BODIES:])]

    def _require(self, version: str) -> None:
        if re.match(r"v?0\.", version) and not re.match(r"v?0\.0\.0-", version):
            raise UnsupportedRelease(
                f"Flux {version} is older than v2.0.0",
                # Flux v2.0.0 release notes: v1 of GitRepository, Kustomization and Receiver alone.
                hint="upgrade to v2.0.0 with the Flux CLI first (https://fluxcd.io/flux/installation/upgrade/), and "
                "leave HelmRepository at v1beta2: v2.0.0 does not serve v1 of it. "
                "Or replace the file with the output of `flux-upgrade render`, with the flags that "
                "`flux-upgrade inspect` shows",
            )
        if not _TAG.fullmatch(version):
            raise UnsupportedRelease(
                f"'{version}' is a development build, not a Flux release",
                hint="run `flux-upgrade render` with the flags that `flux-upgrade inspect` shows, and compare",
            )
        self.regenerator.rules(version)
        known = set(self.regenerator.manifests(version).components)
        lacking = [sorted({*components} - known) for components in self.inferred.components]
        if all(lacking):
            # A source may hold less than the release ships: no other release is to speak for it.
            fewest = min(lacking, key=len)
            raise UnsupportedRelease(
                f"the release source has no {', '.join(fewest)} of {version}",
                hint="set a --release-source that has the complete release",
            )

    def regenerations(self, tags: Iterable[str]) -> Iterator[Regenerated]:
        """Each release by its own rules first, then by others'.

        Others' rules: a generator that is linked into another program
        (Terraform's provider), and a prerelease CLI, take any release's manifests.
        """
        own: dict[str, Generator | None] = {}
        for tag in tags:
            with suppress(ReleaseNotFound, UnsupportedRelease, UntrustedArchive):
                own[tag] = self.regenerator.rules(tag).generator
        for foreign in (False, True):
            for tag, generator in own.items():
                known = self.regenerator.manifests(tag).components
                for each in [each for each in GENERATORS if each != generator] if foreign else [generator]:
                    for components in self.inferred.components:
                        options = self.inferred.options._replace(version=tag, components=components)
                        try:
                            validate_recovered(options, known)
                        except UsageError:
                            continue
                        yield self.regenerator.regenerate(options, each)

    def nearest_bodies(self, tags: Iterable[str]) -> list[str]:
        """The few releases whose documents, versions and images aside, are most like the file's.

        For a file whose labels are as wrong as its header.
        """
        mine = self.manifest.skeleton
        scored = []
        for position, tag in enumerate(tags):
            base = next(self.regenerations([tag]), None)
            if base is not None:
                theirs = base.manifest.skeleton
                scored.append(((mine - theirs).total() + (theirs - mine).total(), position, tag))
        return [tag for _, _, tag in sorted(scored)[:_MOST_BODIES]]
