"""Whether a manifest or a pin can go to a release at all, whatever the policy says."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.manifests.images import ImageState, tag_order
from flux_upgrade.manifests.proof import Proof
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.model.errors import Downgrade, UnsupportedRelease
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.gotk_components import pin
from flux_upgrade.pins.pin import Pin, PinState
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason


def downgrade(current: Version, target: Version) -> Hold:
    """An older release was asked for."""
    return Hold(
        HoldReason.DOWNGRADE,
        f"the manifest is {current}, newer than {target}",
        "Flux is not downgraded: restore an older manifest from the history, and mind the API versions "
        "that the cluster has stored",
        Downgrade,
    )


def is_behind(proof: Proof, target: Version) -> bool:
    """Whether the objects are of that release, but header, labels or images are of another one."""
    versions = {proof.manifest.header_version} if proof.manifest is not None else set()
    versions |= set(proof.inferred.versions) if proof.inferred is not None else set()
    return bool(versions - {"", target}) or any(each.state is ImageState.BEHIND for each in proof.controllers)


def ahead_controllers(proof: Proof) -> list[str]:
    """A line for each controller that is newer than the release of the body."""
    return [
        f"{each.name} runs {each.image.tag}, newer than {each.release_image.tag} of the release"
        for each in proof.controllers
        if each.state is ImageState.AHEAD
    ]


def ahead(proof: Proof, target: Version, regenerator: Regenerator, *, asked: bool) -> Hold | None:
    """A controller never goes backwards, whatever bumped it."""
    newer = _newer_than(proof, target, regenerator)
    if not newer:
        return None
    align = _align(proof, target, regenerator)
    return Hold(
        HoldReason.CONTROLLER_NEWER,
        "; ".join(newer),
        f"align with --to {align}: the smallest release whose controllers are all at least the file's"
        if align
        else "no release in the source ships controllers this new yet; wait for the next one",
        Downgrade if asked else None,
    )


def _newer_than(proof: Proof, target: Version, regenerator: Regenerator) -> list[str]:
    images = pin.shipped(target, proof, regenerator)
    newer = []
    for each in proof.controllers:
        if each.state is ImageState.CUSTOM or each.name not in images:
            continue
        own, shipped = tag_order(each.image.tag), tag_order(images[each.name].tag)
        if own is not None and shipped is not None and own > shipped:
            newer.append(f"{each.name} runs {each.image.tag}, {target} ships {images[each.name].tag}")
    return newer


def _align(proof: Proof, target: Version, regenerator: Regenerator) -> str:
    """The smallest release above ``target`` with no older controller; empty where there is none."""
    wanted = Version.parse(target)
    for tag in reversed(regenerator.stable_tags()):
        version = Version.parse(tag)
        if version is None or wanted is None or version <= wanted:
            continue
        try:
            if not _newer_than(proof, tag, regenerator):
                return tag
        except UnsupportedRelease:
            continue
    return ""


def unmovable(pin: Pin) -> Hold | None:
    """Why a pin stays as it is, whatever there is to upgrade to."""
    if pin.held is not None:
        return pin.held
    if pin.state is PinState.FLOATING:
        return Hold(HoldReason.FLOATING, pin.reason, pin.hint)
    if not pin.is_movable or Version.parse(pin.version) is None:
        return Hold(HoldReason.UNSUPPORTED_PIN, pin.reason or f"{pin.raw} is no release of Flux", pin.hint)
    return None


def unled(pin: Pin) -> Hold:
    """Why a pin of the flux-operator stays as it is if nothing else in its cluster says a version."""
    detail = f"it knows Flux up to {pin.version}, and nothing in its cluster says which Flux is wanted"
    return Hold(
        HoldReason.FOLLOWS, detail, "move its file into the folder of its cluster, or raise it by hand"
    )


def within_reach(pin: Pin, versions: Sequence[Version]) -> Version | Hold:
    """The newest of ``versions``, lowest first, within one minor of each (fluxcd.io/flux/releases)."""
    lowest, highest = versions[0], versions[-1]
    if compare(pin.version, highest) > 0 and skew(lowest, pin.version) > 1:
        detail = f"the CLI is {pin.version}, more than one minor ahead of a cluster at {lowest}"
        return Hold(HoldReason.CLI_SKEW, detail, "upgrade that cluster, or give its tools a pin of their own")
    able = [each for each in versions if skew(lowest, each) <= 1]
    target = able[-1]
    if compare(pin.version, target) >= 0:
        if skew(pin.version, highest) > 1:
            detail = f"the clusters are at {lowest} to {highest}: no CLI is within one minor of all of them"
            hint = f"upgrade the cluster at {lowest}, or give its tools a pin of their own"
            return Hold(HoldReason.CLI_SKEW, detail, hint)
        span = " to ".join(dict.fromkeys((lowest, highest)))
        return Hold(HoldReason.UP_TO_DATE, f"it is {pin.version}, within one minor of {span}")
    return target


def compare(tag: str, other: str) -> int:
    """-1, 0 or 1; 0 also where one is no version."""
    a, b = Version.parse(tag), Version.parse(other)
    return 0 if a is None or b is None else (a > b) - (a < b)


def skew(lower: str, higher: str) -> int:
    """Minors between two releases; of different majors, more than any."""
    a, b = Version.parse(lower), Version.parse(higher)
    if a is None or b is None:
        return 0
    return b.numbers[1] - a.numbers[1] if a.numbers[0] == b.numbers[0] else (99 if b > a else -99)
