"""An artifact of one's own that holds Flux, where Git pins it: tag, digest, or both.

Such a pin is promoted by pull request: the artifact is rebased and pushed under an immutable tag
first, see ``own_artifacts``, and no tag is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_upgrade.model.errors import SourceUnavailable, UnsupportedPin, UntrustedArchive
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.pins.context import OwnArtifacts, PinContext, Successor
from flux_upgrade.pins.objects.flux_manifests_reference import not_served
from flux_upgrade.pins.own_artifact.artifact_reference import Reference
from flux_upgrade.pins.pin import Pin, PinChange, PinState, SourceFile
from flux_upgrade.policy.decision import Hold, HoldReason

NAME = "artifact"
_SUSPENDED = "spec.suspend is set, so that Flux takes nothing new before it is resumed"
_SELECTIVE = "spec.layerSelector is set: see that it takes the first layer, which is the one that is changed"
_PIN_IT = "write the tag or the digest of one artifact there, to have it promoted by pull request"


def find(files: Sequence[SourceFile], world: PinContext) -> Iterator[Pin]:
    """See ``PinKind``: none, for a run about an artifact knows its references, see ``pins_of``."""
    del files, world
    return iter(())


def pins_of(found: Iterable[Reference], own: OwnArtifacts) -> Iterator[Pin]:
    """A pin for each reference to the artifact."""
    return (_judged(each, own) for each in found)


def change(pin: Pin, target: str, world: PinContext) -> PinChange:
    """See ``PinKind``. What is written need not have been pushed yet: see ``reference_of``."""
    found = pin.details
    if world.own is None or not isinstance(found, Reference):
        raise UnsupportedPin(f"{pin.path}:{pin.line}: {pin.where} names no artifact")
    made = world.own.rebased(_written(found), target, pin.path)
    if isinstance(made, Hold):
        return PinChange((), pin.written, hold=made)
    parts = ((found.tag, made.tag), (found.digest, made.digest))
    stated = [(value, new) for value, new in parts if value is not None]
    return PinChange(
        tuple(value.replaced(new) for value, new in stated),
        "@".join(new for _, new in stated),
        remarks=(_kept(world.own.address, made, target), *made.remarks, *not_served(found.stated, target)),
        todo=(_unsigned(world.own.address, made),) if found.is_verified and not made.is_signed else (),
        artifact=f"{world.own.address.repository}:{made.tag}@{made.digest}",
    )


def reference_of(pin: Pin) -> str:
    """The tag or digest that was asked about for a movable pin of this kind."""
    if not isinstance(pin.details, Reference):
        raise TypeError(pin.kind)
    return _written(pin.details)


def _kept(address: Address, made: Successor, target: str) -> str:
    return (
        f"{address.repository}:{made.tag} is what was pinned, with Flux's manifest taken to {target}:"
        " every other file in it stays."
    )


def _unsigned(address: Address, made: Successor) -> str:
    return (
        f"Sign {address.repository}:{made.tag} by its digest, {made.digest}: Flux verifies signatures"
        " (spec.verify), and takes nothing that has none."
    )


def _written(found: Reference) -> str:
    # Flux goes by the digest, and so do we.
    return found.follows if found.digest is None else found.digest.text


def _judged(found: Reference, own: OwnArtifacts) -> Pin:
    pin = Pin(
        found.path,
        NAME,
        found.file.content,
        found.line,
        found.where,
        found.stated.written,
        PinState.UNKNOWN,
        reason=found.reason,
        hint=found.hint,
        remarks=(
            *((_SUSPENDED,) if found.is_suspended else ()),
            *((_SELECTIVE,) if found.is_selective else ()),
        ),
        details=found,
    )
    if found.reason:
        return pin
    if found.digest is not None and found.semver is not None:
        pin = pin._replace(remarks=(*pin.remarks, "spec.ref.semver has no effect beside spec.ref.digest"))
    if not found.is_pinned:
        takes = f"it follows the tag {found.follows}" if found.follows else "Flux picks the tag by itself"
        return pin._replace(standing=PinState.FLOATING, reason=takes, hint=_PIN_IT)
    try:
        held = own.at(_written(found))
    except (SourceUnavailable, UntrustedArchive) as error:
        why = f"what the artifact holds could not be asked: {error.message}"
        is_odd = isinstance(error, UntrustedArchive)
        reason = HoldReason.UNTRUSTED_ARTIFACT if is_odd else HoldReason.SOURCE_UNAVAILABLE
        return pin._replace(reason=why, hint=error.hint, held=Hold(reason, why, error.hint, type(error)))
    if held.reason or not held.version:
        return pin._replace(version=held.version, reason=held.reason, hint=held.hint)
    return pin._replace(standing=PinState.EXACT, version=held.version)
