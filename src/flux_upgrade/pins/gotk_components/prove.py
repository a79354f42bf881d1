"""The proof of a manifest by regeneration.

The body tells the version, the header is hearsay. Every plausible release is
regenerated with the recovered flags; the one that leaves the smallest residue
made the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from flux_upgrade.manifests.documents import Manifest
from flux_upgrade.manifests.generators import GENERATORS, Generator
from flux_upgrade.manifests.infer import RENDER, Inferred, infer
from flux_upgrade.manifests.options import validate_recovered
from flux_upgrade.manifests.proof import Proof, Regenerated, Verdict, controllers_of, edits_of
from flux_upgrade.model.errors import (
    FluxUpgradeError,
    ReleaseNotFound,
    Unreadable,
    UnsupportedRelease,
    UntrustedArchive,
    UsageError,
)
from flux_upgrade.model.versions import Version
from flux_upgrade.pins import before_flux_2
from flux_upgrade.pins.regenerate import Regenerator

_MOST_BODIES = 3
_MOST_LABELS = 3
_TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?")


def prove(manifest: Manifest, regenerator: Regenerator) -> Proof:
    """Identify and prove. Never raises for what a file holds: that is a verdict.

    Raises SourceUnavailable where the releases cannot be had.
    """
    inferred = None
    try:
        _ = manifest.objects  # raises where an object stands twice
        inferred = infer(manifest)
        candidates = Candidates(manifest, inferred, regenerator)
        tags, problem = candidates.recorded_releases()
        proof = _quick(candidates, tags) or _thorough(candidates, tags) if tags else _withdrawn(candidates)
        if proof is None or (problem is not None and proof.edits):
            return Proof(
                Verdict.UNVERIFIED,
                manifest,
                inferred=inferred,
                controllers=controllers_of(manifest, None),
                reason=problem.message if problem else "Flux does not accept the recovered flags",
                hint=problem.hint if problem else "compare the flags listed here with the file",
            )
    except Unreadable as error:
        return Proof(Verdict.UNREADABLE, manifest, inferred=inferred, reason=error.message, hint=error.hint)
    return proof


def _withdrawn(candidates: Candidates) -> Proof | None:
    """A release that is gone, by the nearest of its minor: if their objects are the same, the file has no edits."""
    version = candidates.withdrawn()
    if version is None:
        return None
    for base in candidates.regenerations(candidates.neighbors(version)):
        proof = _proof(candidates, base, Verdict.EDITED)
        if not proof.edits and base.foreign is None:
            return replace(proof, version=version)
    return None


def _quick(candidates: Candidates, tags: list[str]) -> Proof | None:
    """The proof by text alone: equal, or equal but for image lines."""
    manifest = candidates.manifest
    for base in candidates.regenerations(tags):
        if base.text == manifest.text:
            verdict = Verdict.EXACT if manifest.pristine else Verdict.FORMATTING
        elif base.manifest.without_images == manifest.without_images:
            verdict = Verdict.IMAGES if manifest.pristine else Verdict.FORMATTING
        else:
            continue
        # By another's templates: the documentation of the verdicts calls this edited, without residue.
        return _proof(candidates, base, Verdict.EDITED if base.foreign else verdict)
    return None


def _thorough(candidates: Candidates, tags: list[str]) -> Proof | None:
    """The proof by data: the regeneration with the fewest edits."""
    best = _fewest(candidates, tags)
    if best is None or any(edit.object.kind == "CustomResourceDefinition" for edit in best.edits):
        # CRDs tell a release best. If they do not fit, neither labels nor header
        # are to be believed: ask the bodies of all releases.
        others = [tag for tag in candidates.regenerator.stable_tags() if tag not in tags]
        nearest = candidates.nearest_bodies([*tags, *others])
        other = _fewest(candidates, [tag for tag in nearest if tag not in tags])
        if other is not None and (best is None or len(other.edits) < len(best.edits)):
            return other
    return best


def _fewest(candidates: Candidates, tags: list[str]) -> Proof | None:
    best: Proof | None = None
    for base in candidates.regenerations(tags):
        proof = _proof(candidates, base, Verdict.EDITED)
        if best is None or len(proof.edits) < len(best.edits):
            best = proof
        if not best.edits:
            break
    if best is None or best.edits or best.base is None or best.base.foreign:
        return best
    options, manifest = best.base.options, candidates.manifest
    honest = (manifest.header_version, manifest.header_components) == (options.version, options.components)
    return replace(best, verdict=Verdict.FORMATTING) if honest else best


def _proof(candidates: Candidates, base: Regenerated, verdict: Verdict) -> Proof:
    manifest = candidates.manifest
    controllers = controllers_of(manifest, base)
    edits = () if base.text == manifest.text else tuple(edits_of(manifest, base, controllers))
    return Proof(verdict, manifest, Version(base.options.version), candidates.inferred, base, controllers, edits)


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
                hint=f"replace it with the output of {RENDER}",
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
        if before_flux_2.is_older(version):
            raise UnsupportedRelease(before_flux_2.older(version), hint=before_flux_2.BY_CLI)
        if not _TAG.fullmatch(version):
            raise UnsupportedRelease(
                f"'{version}' is a development build, not a Flux release",
                hint="compare it with the output of `flux-upgrade render --version VERSION` and the flags that "
                "`flux-upgrade inspect` shows (VERSION: the release closest to the build)",
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
