"""What a pin of the flux-operator comes to, and how it is taken to a release that knows a release of Flux."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.model.errors import ReleaseNotFound, SourceUnavailable, UnsupportedPin, UntrustedArchive
from flux_upgrade.model.oci.reference import with_host
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.flux_operator.places import OperatorPlace
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.readings import published, refusal
from flux_upgrade.pins.objects.operator_releases import DistributionArtifact, lowest_with, releases, releases_in
from flux_upgrade.pins.pin import Pin, PinChange, PinState
from flux_upgrade.snapshot.yaml_places import is_variable

NEWEST = ("", "latest", "main")  # What stands where nothing is pinned
_EXACT = re.compile(r"(=?)(v?)(\d+\.\d+\.\d+)(-ubi)?")
"""With the variant of the image for OpenShift (flux-operator docs, ``distro verify artifacts``)."""
_PUBLIC = ("ghcr.io/controlplaneio-fluxcd/", "quay.io/fluxoperatordev/")
"""Where the operator is published: everybody can look whether a release is there yet."""
_MISSING = "set a flux-operator release whose manifests are published"
_TROUBLE = (ReleaseNotFound, SourceUnavailable, UntrustedArchive)


def is_floating(place: OperatorPlace) -> bool:
    """Whether the newest release is taken, whichever that is."""
    is_odd = place.value is not None and bool(place.value.reason)
    text = place.version.text if place.version else ""
    return not (is_odd or place.trouble[0]) and place.digest is None and text in NEWEST and not is_variable(place.raw)


def raw_of(place: OperatorPlace) -> str:
    """What stands there, tag and digest as in a reference to an image."""
    return f"{place.version.text}@{place.digest.text}" if place.version and place.digest else place.raw


def release_at(place: OperatorPlace) -> str:
    """The release that is written there, a tag; empty where that is a range or unclear."""
    exact = None if _unclear(place)[0] else _exact(place)
    return f"v{exact[3]}" if exact else ""


def judged(pin: Pin, place: OperatorPlace, context: PinContext) -> Pin:
    """The pin with what it comes to; asks the registry what its release knows."""
    reason, hint = _unclear(place)
    if reason:
        return pin._replace(reason=reason, hint=hint)
    try:
        own = _own(place, context)
        known = _known(place, own, context)
    except _TROUBLE as error:
        is_missing = isinstance(error, ReleaseNotFound)
        reason = f"the Flux versions that the flux-operator supports could not be looked up: {error.message}"
        hint = _MISSING if is_missing else error.hint
        return pin._replace(reason=reason, hint=hint, held=refusal(error, reason))
    pin = pin._replace(version=max(known))
    if _exact(place) is not None:
        return pin._replace(state=PinState.EXACT)
    reason = f"the flux-operator is the highest release in the range, {own} today"
    return pin._replace(state=PinState.RANGE, reason=reason)


def made(pin: Pin, place: OperatorPlace, target: Version, context: PinContext) -> PinChange:
    """What takes it to the lowest release that knows ``target``. Raises as ``KindModule.change``."""
    at, version = f"{pin.path}:{pin.line}", place.version
    if version is None:
        raise UnsupportedPin(f"{at}: {pin.where} is not a release")
    own = _own(place, context)
    _require_own_digest(place, at, context)
    if target in _known(place, own, context):
        return PinChange((), pin.raw)
    new = lowest_with(place.manifests, own, target, context.artifacts)
    exact = _exact(place)
    if exact is not None:
        text = f"{exact[1]}{exact[2]}{new[1:]}{exact[4] or ''}"
    else:
        text = ranges.require_raised(version.text, new, at)
        new = ranges.newest(text, releases(place.manifests, context.artifacts))
    known = max(releases_in(DistributionArtifact(place.manifests, new, ""), context.artifacts))
    replacements = [version.replaced(text)]
    digest = _new_digest(place, text, context)
    if place.digest is not None:
        replacements.append(place.digest.replaced(digest))
        text = f"{text}@{digest}"
    beyond = known if known > max(target, pin.version) else NO_VERSION
    return PinChange(tuple(replacements), text, tuple(_notes(place, new, known)), beyond)


def _unclear(place: OperatorPlace) -> tuple[str, str]:
    """Why what is stated is not to be read as it stands, and what to do; empty where it is."""
    if place.trouble[0]:
        return place.trouble
    values = [each for each in (place.value, place.version, place.digest) if each is not None]
    reason = next((each.reason for each in values if each.reason), "")
    if reason:
        return reason, "write the release as plain text"
    if any(is_variable(each.text) for each in values) or (place.digest and is_variable(place.repository)):
        return "a variable sets it, or part of it", "edit the variable where it is set"
    if place.version is None or place.version.text in NEWEST:
        return "the digest does not show the release", "add the release's tag"
    text = place.version.text
    is_range = place.is_range and not ranges.is_exact(text) and ranges.parsed(text) is not None
    if _exact(place) is not None or is_range:
        return "", ""
    kind = "neither a stable release nor a range" if place.is_range else "not a stable release"
    return f"{text} is {kind} of the flux-operator", "write it like 0.58.1"


def _exact(place: OperatorPlace) -> re.Match[str] | None:
    return _EXACT.fullmatch(place.version.text) if place.version else None


def _own(place: OperatorPlace, context: PinContext) -> str:
    """Its release today, a tag. Raises ReleaseNotFound where a range admits none."""
    exact = _exact(place)
    if exact is not None:
        return f"v{exact[3]}"
    text = place.version.text if place.version else ""
    found = ranges.newest(text, releases(place.manifests, context.artifacts))
    if not found:
        raise ReleaseNotFound(f"{place.manifests} has no release in the range {text}", hint=_MISSING)
    return found


def _known(place: OperatorPlace, own: str, context: PinContext) -> tuple[Version, ...]:
    """The releases of Flux that the release holds; by digest, where the artifact itself is pinned by one."""
    digest = place.digest.text if place.digest and place.manifests == place.repository else ""
    return releases_in(DistributionArtifact(place.manifests, own, digest), context.artifacts)


def _require_own_digest(place: OperatorPlace, at: str, context: PinContext) -> None:
    if place.digest is None or place.version is None:
        return
    tag = place.version.text
    actual = context.artifacts.digest(with_host(place.repository), tag)
    if actual != place.digest.text:
        actually = f"the tag has {actual}" if actual else "the tag does not exist"
        raise UnsupportedPin(
            f"{at}: the digest does not belong to the tag {tag} of {place.repository}: {actually}",
            hint="set a tag and a digest that belong together",
        )


def _new_digest(place: OperatorPlace, text: str, context: PinContext) -> str:
    """Of what is pinned, at its new release; empty where nobody has to know it."""
    is_public = place.repository.startswith(_PUBLIC)
    if place.digest is None and (not is_public or (place.is_range and _exact(place) is None)):
        return ""
    hint = "run again later: it is pushed some time after the release, and to a mirror later"
    return published(context.artifacts, with_host(place.repository), text, hint)


def _notes(place: OperatorPlace, new: str, known: str) -> Iterator[str]:
    yield f"The flux-operator {new} supports Flux up to {known}."
    is_seen = place.digest is not None or place.manifests == place.repository
    if place.repository and not is_seen and not place.repository.startswith(_PUBLIC):
        yield f"It comes from {place.repository}, which must have that release."
