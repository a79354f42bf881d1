"""An artifact of one's own that holds Flux, where Git pins it: tag, digest, or both.

Such a pin is promoted by pull request: the artifact is rebased and pushed under an immutable tag
first, see ``OwnArtifacts``, and no tag is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.model.errors import SourceUnavailable, UnsupportedPin, UntrustedArchive
from flux_upgrade.pins.context import OwnArtifacts, PinContext
from flux_upgrade.pins.formats.readings import unknown_pin
from flux_upgrade.pins.objects.flux_manifests_reference import NO_SEMVER, SUSPENDED, not_served
from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference
from flux_upgrade.pins.pin import Pin, PinChange, PinState
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.snapshot.file import File

NAME = "artifact"
_SELECTIVE = "spec.layerSelector is set: check that it selects the first layer, which is the only one that changes"
_PIN_IT = "set a tag or digest if flux-upgrade should update it"


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """None: a run about an artifact reads its references itself, see ``pins_of``."""
    del files, context
    return iter(())


def pins_of(reference: Iterable[ArtifactReference], own: OwnArtifacts) -> Iterator[Pin]:
    return (_judged(each, own) for each in reference)


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the tag and the digest of the rebased artifact, which may not be pushed yet."""
    reference = pin.details
    if context.own is None or not isinstance(reference, ArtifactReference):
        raise UnsupportedPin(f"{pin.path}:{pin.line}: {pin.where} has no artifact")
    made = context.own.rebased(_reference(reference), target, pin.path)
    if isinstance(made, Hold):
        return PinChange((), pin.raw, hold=made)
    name = f"{context.own.address.repository}:{made.tag}"
    kept = f"{name} has Flux's manifest at {target}. All its other files are unchanged."
    unsigned = (
        f"Sign {name} by its digest, {made.digest}: Flux verifies signatures (spec.verify) and rejects"
        " artifacts without one."
    )
    parts = ((reference.stated.tag, made.tag), (reference.stated.digest, made.digest))
    stated = [(value, new) for value, new in parts if value is not None]
    return PinChange(
        tuple(value.replaced(new) for value, new in stated),
        "@".join(new for _, new in stated),
        (kept, *made.remarks, *not_served(reference.stated, target)),
        todo=(unsigned,) if reference.is_verified and not made.is_signed else (),
        artifact=f"{name}@{made.digest}",
        out_of_reach=made.out_of_reach,
    )


def manifests(pin: Pin, target: str, context: PinContext) -> tuple[bytes, bytes] | None:
    """Flux's manifest in the artifact, before and after a rebase; None: that is not known. Raises as ``change``."""
    reference = pin.details
    if context.own is None or not isinstance(reference, ArtifactReference):
        return None
    made = context.own.rebased(_reference(reference), target, pin.path)
    return None if isinstance(made, Hold) else made.manifests


def reference_of(pin: Pin) -> str:
    """The tag or digest that was asked about for a movable pin of this kind."""
    if not isinstance(pin.details, ArtifactReference):
        raise TypeError(pin.kind)
    return _reference(pin.details)


def _reference(reference: ArtifactReference) -> str:
    # Flux goes by the digest, and so do we.
    digest = reference.stated.digest
    return reference.follows if digest is None else digest.text


def _judged(reference: ArtifactReference, own: OwnArtifacts) -> Pin:
    spot = reference.line, reference.where, reference.stated.raw
    pin = unknown_pin(reference.file, NAME, spot, reference.reason, reference.hint)._replace(
        remarks=(*((SUSPENDED,) if reference.is_suspended else ()), *((_SELECTIVE,) if reference.is_selective else ())),
        details=reference,
    )
    if reference.reason:
        return pin
    if reference.stated.digest is not None and reference.stated.semver is not None:
        pin = pin._replace(remarks=(*pin.remarks, NO_SEMVER))
    if not reference.is_pinned:
        takes = f"it follows the tag {reference.follows}" if reference.follows else "Flux selects the tag"
        return pin._replace(state=PinState.FLOATING, reason=takes, hint=_PIN_IT)
    try:
        held = own.at(_reference(reference))
    except (SourceUnavailable, UntrustedArchive) as error:
        why = f"the artifact could not be looked up: {error.message}"
        is_odd = isinstance(error, UntrustedArchive)
        reason = HoldReason.UNTRUSTED_ARTIFACT if is_odd else HoldReason.SOURCE_UNAVAILABLE
        return pin._replace(reason=why, hint=error.hint, held=Hold(reason, why, error.hint, type(error)))
    if held.reason or not held.version:
        return pin._replace(version=held.version, reason=held.reason, hint=held.hint)
    return pin._replace(state=PinState.EXACT, version=held.version)
