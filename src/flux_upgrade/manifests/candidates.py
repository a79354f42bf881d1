"""The releases that a manifest may have been made from, and its regenerations with each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from flux_upgrade.manifests.documents import Manifest
from flux_upgrade.manifests.generators import GENERATORS
from flux_upgrade.manifests.infer import Inferred
from flux_upgrade.manifests.options import validate_recovered
from flux_upgrade.manifests.regenerate import Regenerated, Regenerator, skeleton_of
from flux_upgrade.model.errors import (
    FluxUpgradeError,
    ReleaseNotFound,
    UnsupportedRelease,
    UntrustedArchive,
    UsageError,
)

_TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?")
_MOST_LABELS = 3
_MOST_BODIES = 3


class Unusable(FluxUpgradeError):
    """A version that a file names and that cannot be regenerated. Never leaves this package."""


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
            return [], Unusable(
                "no version is recorded in the file: it looks like the install.yaml of a Flux release",
                hint="replace it by the output of `flux-upgrade render` with the flags that you want",
            )
        usable: list[str] = []
        problem: FluxUpgradeError | None = None
        for version in recorded:
            try:
                self._require(version)
                usable.append(version)
            except ReleaseNotFound as error:
                hint = f"give a --release-source that has {version}"
                problem = Unusable(error.message, hint=hint) if version == recorded[0] else problem
            except (Unusable, UnsupportedRelease, UntrustedArchive) as error:
                problem = error if version == recorded[0] else problem
        return usable, problem

    def _require(self, version: str) -> None:
        if re.match(r"v?0\.", version) and not re.match(r"v?0\.0\.0-", version):
            raise Unusable(
                f"Flux {version} is older than v2.0.0",
                hint="upgrade to v2.0.0 with the Flux CLI first "
                "(https://fluxcd.io/flux/installation/upgrade/), or render a new manifest with these flags",
            )
        if not _TAG.fullmatch(version):
            raise Unusable(
                f"'{version}' is a development build, no release of Flux",
                hint="render the release that you want with these flags, and compare",
            )
        self.regenerator.rules(version)
        known = set(self.regenerator.manifests(version).components)
        lacking = [sorted({*components} - known) for components in self._components()]
        if all(lacking):
            # A source may hold less than the release ships: no other release is to speak for it.
            fewest = min(lacking, key=len)
            raise Unusable(
                f"the release source has no {', '.join(fewest)} of {version}",
                hint="give a --release-source that has the whole release",
            )

    def _components(self) -> tuple[tuple[str, ...], ...]:
        """The components in the body, and those in the header if it lists any."""
        body, header = self.inferred.options.components, self.manifest.header_components
        return tuple(dict.fromkeys(filter(None, (body, header))))

    def regenerations(self, tags: Iterable[str]) -> Iterator[Regenerated]:
        """Each release by its own rules first, then by others'.

        Others' rules: a generator that is linked into another program
        (Terraform's provider), and a prerelease CLI, take any release's manifests.
        """
        usable = []
        for tag in tags:
            with suppress(ReleaseNotFound, UnsupportedRelease, UntrustedArchive):
                self.regenerator.rules(tag)
                usable.append(tag)
        for foreign in (False, True):
            for tag in usable:
                yield from self._of(tag, foreign=foreign)

    def _of(self, tag: str, *, foreign: bool) -> Iterator[Regenerated]:
        known = self.regenerator.manifests(tag).components
        own = self.regenerator.rules(tag).generator
        for generator in [each for each in GENERATORS if each != own] if foreign else [own]:
            for components in self._components():
                options = self.inferred.options._replace(version=tag, components=components)
                try:
                    validate_recovered(options, known)
                except UsageError:
                    continue
                yield self.regenerator.regenerate(options, generator)

    def nearest_bodies(self, tags: Iterable[str]) -> list[str]:
        """The few releases whose documents, versions and images aside, are most like the file's.

        For a file whose labels are as wrong as its header.
        """
        mine = skeleton_of(self.manifest.documents)
        scored = []
        for position, tag in enumerate(tags):
            base = next(self.regenerations([tag]), None)
            if base is not None:
                theirs = base.skeleton
                scored.append(((mine - theirs).total() + (theirs - mine).total(), position, tag))
        return [tag for _, _, tag in sorted(scored)[:_MOST_BODIES]]
