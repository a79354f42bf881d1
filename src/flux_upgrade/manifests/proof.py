"""What a manifest really is: its release, its flags, and the proof by regeneration.

The body tells the version, the header is hearsay. Every plausible release is
regenerated with the recovered flags; the one that leaves the smallest residue
made the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from flux_upgrade.manifests.candidates import Candidates
from flux_upgrade.manifests.compare import controllers_of, edits_of
from flux_upgrade.manifests.documents import Manifest, ObjectKey
from flux_upgrade.manifests.images import Controller
from flux_upgrade.manifests.infer import Inferred, infer
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.regenerate import Regenerated, Regenerator, without_images
from flux_upgrade.manifests.residue import Edit
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.versions import NO_VERSION, Version


class Verdict(StrEnum):
    """How well the regeneration fits."""

    EXACT = "exact"
    """Byte for byte."""
    IMAGES = "images"
    """But for image lines: bumps in place, digest pins."""
    FORMATTING = "formatting"
    """The same data, written by another tool, or with other line ends."""
    EDITED = "edited"
    """Changed by hand, or under another header; the residue says what, object by object."""
    UNPROVED = "unproved"
    """There is nothing to compare with."""
    UNREADABLE = "unreadable"
    """Broken, or not one Flux manifest."""


@dataclass(frozen=True)
class Proof:
    """A manifest with everything that could be found out about it."""

    verdict: Verdict
    manifest: Manifest | None = None
    """None where the file is unreadable."""
    version: Version = NO_VERSION
    """The body's release, a tag; empty where it is not known."""
    inferred: Inferred | None = None
    base: Regenerated | None = None
    """The regeneration; None where there is none."""
    controllers: tuple[Controller, ...] = ()
    edits: tuple[Edit, ...] = ()
    reason: str = ""
    """Why it is unproved or unreadable."""
    hint: str = ""

    @property
    def options(self) -> InstallOptions | None:
        """The recovered flags; None where the file is unreadable."""
        if self.base is not None:
            return self.base.options
        return self.inferred.options if self.inferred is not None else None


def prove(manifest: Manifest, regenerator: Regenerator) -> Proof:
    """Identify and prove. Never raises for what a file holds: that is a verdict.

    Raises SourceUnavailable where the releases cannot be had.
    """
    inferred = None
    try:
        _refuse_duplicates(manifest)
        inferred = infer(manifest)
        candidates = Candidates(manifest, inferred, regenerator)
        tags, problem = candidates.recorded_releases()
        proof = _quick(candidates, tags) or _thorough(candidates, tags) if tags else None
        if proof is None or (problem is not None and proof.edits):
            return Proof(
                Verdict.UNPROVED,
                manifest,
                inferred=inferred,
                controllers=controllers_of(manifest, None),
                reason=problem.message if problem else "the recovered flags are none that Flux takes",
                hint=problem.hint if problem else "compare the flags listed here with the file",
            )
    except Unreadable as error:
        return Proof(Verdict.UNREADABLE, manifest, inferred=inferred, reason=error.message, hint=error.hint)
    return proof


def _refuse_duplicates(manifest: Manifest) -> None:
    seen: dict[ObjectKey, int] = {}
    for document in manifest.documents:
        first = seen.setdefault(document.key, document.line)
        if first != document.line:
            raise Unreadable(
                f"two manifests in one file? {document.key} begins in lines {first} and {document.line}",
                hint="keep one of them; a cluster would get the last",
            )


def _quick(candidates: Candidates, tags: list[str]) -> Proof | None:
    """The proof by text alone: equal, or equal but for image lines."""
    manifest, image_free = candidates.manifest, ""
    for base in candidates.regenerations(tags):
        if base.text == manifest.text:
            verdict = Verdict.EXACT if manifest.pristine else Verdict.FORMATTING
        elif base.without_images == (image_free := image_free or without_images(manifest.text)):
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
    return Proof(
        verdict, manifest, Version(base.options.version), candidates.inferred, base, controllers, edits
    )
