"""What a place says of a release, and the pin that is made of it."""

from __future__ import annotations

from flux_upgrade.model.errors import (
    FluxUpgradeError,
    HostNotAllowed,
    ReleaseNotFound,
    SourceUnavailable,
    UnsupportedPin,
)
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import Pin, PinChange, PinState
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import BrokenDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import Artifacts

BY_HAND = "edit the version yourself"
PATCH = ("it is a patch of another version reference", "edit both versions, or remove the patch")
"""Why a patch is not changed, and what to do."""
PATCH_NOT_APPLIED = (
    "it is a patch of another version reference, so it is not what is applied",
    "edit the patch, or set the version in the object",
)
TEMPLATE = ("the file is not valid YAML (it may be a template)", "edit the version here and in the generated file")
MADE = ("another file is generated from this file", TEMPLATE[1])
RESOURCE_SET = ("the flux-operator generates the object from a ResourceSet", BY_HAND)


class Reading(NamedTuple):
    """What the text at a place comes to; the fields are those of ``Pin``."""

    state: PinState
    version: str = ""
    reason: str = ""
    hint: str = ""
    remarks: tuple[str, ...] = ()
    held: Hold | None = None


def unknown(reason: str, hint: str = BY_HAND, version: str = "") -> Reading:
    """A version that is unknown, or cannot be changed safely."""
    return Reading(PinState.UNKNOWN, version, reason, hint)


def floating(reason: str, hint: str = "") -> Reading:
    return Reading(PinState.FLOATING, "", reason, hint)


def refusal(error: FluxUpgradeError, reason: str) -> Hold | None:
    """What holds a pin if looking it up raised ``error``; None: what its kind makes of that."""
    if isinstance(error, HostNotAllowed):
        return Hold(HoldReason.HOST_NOT_ALLOWED, reason, error.hint)
    if isinstance(error, SourceUnavailable):
        return Hold(HoldReason.SOURCE_UNAVAILABLE, reason, error.hint, type(error))
    return None


def not_looked_up(what: str, error: FluxUpgradeError) -> Reading:
    """Of a place whose release was asked for, which raised ``error``."""
    why = f"{what} could not be looked up: {error.message}"
    return unknown(why, error.hint)._replace(held=refusal(error, why))


def judged(pin: Pin, reading: Reading) -> Pin:
    """``pin`` with what stands there; what was remarked of it before stays."""
    state, version, reason, hint, remarks, held = reading
    return pin._replace(
        state=state, version=Version(version), reason=reason, hint=hint, remarks=(*pin.remarks, *remarks), held=held
    )


def unknown_pin(file: File, kind: str, spot: tuple[int, str, str], reason: str = "", hint: str = "") -> Pin:
    """A pin of which no more is known than where it is. ``spot``: its ``line``, ``where`` and ``raw``."""
    return Pin(file.path, kind, file.content, *spot, PinState.UNKNOWN, reason=reason, hint=hint)


def in_template(file: File, kind: str, spot: tuple[int, str, str], broken: BrokenDocument) -> Pin:
    """A pin in a document that is no YAML. ``spot``: as above, its line that of the document."""
    line, where, raw = spot
    reason = f"the file is not valid YAML (it may be a template): {broken.message}"
    hint = "edit the version, or the value that the template uses"
    return unknown_pin(file, kind, (broken.line + line - 1, where, raw), reason, hint)


def never_changed(pin: Pin, target: str, context: object) -> PinChange:
    """``change`` of the kinds whose pins are only reported. Raises UnsupportedPin."""
    del target, context
    raise UnsupportedPin(f"{pin.path}:{pin.line}: {pin.reason}", hint=pin.hint)


def published(artifacts: Artifacts, repository: str, tag: str, hint: str) -> str:
    """The digest of an image or artifact. Raises ReleaseNotFound if there is no such tag (yet).

    SourceUnavailable, UntrustedArchive.
    """
    digest = artifacts.digest(repository, tag)
    if digest is None:
        raise ReleaseNotFound(f"the registry has no {repository}:{tag}", hint=hint)
    return digest
