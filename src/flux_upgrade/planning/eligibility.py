"""Whether an installation can go to a release at all, whatever the policy says."""

from __future__ import annotations

from flux_upgrade.manifests.images import ImageState, tag_order
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.model.errors import Downgrade, Unproved, Unreadable, UnsupportedRelease
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.gotk_components import pin
from flux_upgrade.pins.pin import Installation
from flux_upgrade.policy.decision import Hold, HoldReason


def unfit(installation: Installation) -> Hold | None:
    """Why it can go nowhere: it is broken, or its settings could not be proved."""
    proof = installation.proof
    if proof.verdict is Verdict.UNREADABLE:
        return Hold(HoldReason.UNREADABLE, proof.reason, proof.hint, Unreadable)
    if proof.base is None:
        return Hold(HoldReason.UNPROVED, proof.reason, proof.hint, Unproved)
    return None


def downgrade(current: str, target: str) -> Hold:
    """An older release was asked for."""
    return Hold(
        HoldReason.DOWNGRADE,
        f"the manifest is {current}, newer than {target}",
        "Flux is not downgraded: restore an older manifest from the history, and mind the API versions "
        "that the cluster has stored",
        Downgrade,
    )


def is_behind(installation: Installation, target: str) -> bool:
    """Whether the body is of that release, but what stands around it is of an older or another one."""
    proof = installation.proof
    told = {proof.manifest.header_version} if proof.manifest is not None else set()
    told |= set(proof.inferred.versions) if proof.inferred is not None else set()
    return bool(told - {"", target}) or any(each.state is ImageState.BEHIND for each in proof.controllers)


def ahead_controllers(installation: Installation) -> list[str]:
    """A line for each controller that is newer than the release of the body."""
    return [
        f"{each.name} runs {each.image.tag}, newer than {each.release_image.tag} of the release"
        for each in installation.proof.controllers
        if each.state is ImageState.AHEAD
    ]


def ahead(installation: Installation, target: str, regenerator: Regenerator, *, asked: bool) -> Hold | None:
    """A controller never goes backwards, whatever bumped it."""
    newer = _newer_than(installation, target, regenerator)
    if not newer:
        return None
    align = _align(installation, target, regenerator)
    return Hold(
        HoldReason.CONTROLLER_NEWER,
        "; ".join(newer),
        f"align with --to {align}: the smallest release whose controllers are all at least the file's"
        if align
        else "no release in the source ships controllers this new yet; wait for the next one",
        Downgrade if asked else None,
    )


def _newer_than(installation: Installation, target: str, regenerator: Regenerator) -> list[str]:
    images = pin.shipped(target, installation, regenerator)
    newer = []
    for each in installation.proof.controllers:
        if each.state is ImageState.CUSTOM or each.name not in images:
            continue
        own, shipped = tag_order(each.image.tag), tag_order(images[each.name].tag)
        if own is not None and shipped is not None and own > shipped:
            newer.append(f"{each.name} runs {each.image.tag}, {target} ships {images[each.name].tag}")
    return newer


def _align(installation: Installation, target: str, regenerator: Regenerator) -> str:
    """The smallest release above ``target`` with no older controller; empty where there is none."""
    wanted = Version.parse(target)
    for tag in reversed(regenerator.stable_tags()):
        version = Version.parse(tag)
        if version is None or wanted is None or version <= wanted:
            continue
        try:
            if not _newer_than(installation, tag, regenerator):
                return tag
        except UnsupportedRelease:
            continue
    return ""
