"""Plan an upgrade: installations → decisions → changes. Reads, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from flux_upgrade.errors import (
    Downgrade,
    FluxUpgradeError,
    ReleaseNotFound,
    ResidueConflict,
    Unproved,
    Unreadable,
    UnsupportedRelease,
)
from flux_upgrade.kinds import Change, Installation, gotk
from flux_upgrade.manifests.images import ImageState, tag_order
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.versions import Version


class HoldReason(StrEnum):
    """Why an installation is left as it is."""

    UP_TO_DATE = "up-to-date"
    RESIDUE_CONFLICT = "residue-conflict"
    CONTROLLER_NEWER = "controller-newer"
    DOWNGRADE = "downgrade"
    UNREADABLE = "unreadable"
    UNPROVED = "unproved"
    UNSUPPORTED_RELEASE = "unsupported-release"


@dataclass(frozen=True)
class Hold:
    """Nothing is written."""

    reason: HoldReason
    detail: str = ""
    hint: str = ""
    error: type[FluxUpgradeError] | None = None
    """What the run ends with; None: holding is all right."""


@dataclass(frozen=True)
class Upgrade:
    """The installation goes to ``target``."""

    target: str
    change: Change


@dataclass(frozen=True)
class Plan:
    """One installation and what is to become of it."""

    installation: Installation
    decision: Upgrade | Hold
    change: Change | None = None
    """With a Hold for a conflict: the change that was tried, to show its conflicts."""


def newest_stable(regenerator: Regenerator) -> str:
    """The highest stable release of Flux 2 in the source. Raises ReleaseNotFound."""
    tags = regenerator.stable_tags()
    if not tags:
        raise ReleaseNotFound(
            "the release source lists no stable release of Flux 2", hint="look at --release-source"
        )
    return tags[0]


def plan_upgrade(
    installations: Iterable[Installation], regenerator: Regenerator, *, to: str, take_release: bool
) -> Iterator[Plan]:
    """Decide for each installation; one that fails does not stop the others.

    ``to``: a tag; empty for the newest stable release. Raises ReleaseNotFound,
    SourceUnavailable and UntrustedArchive, which concern all of them.
    """
    target = to or newest_stable(regenerator)
    regenerator.manifests(target)
    for installation in installations:
        try:
            yield _plan_one(installation, target, regenerator, asked=bool(to), take_release=take_release)
        except UnsupportedRelease as error:
            yield Plan(
                installation,
                Hold(
                    HoldReason.UNSUPPORTED_RELEASE,
                    error.message,
                    error.hint,
                    None if error.pending and not to else UnsupportedRelease,
                ),
            )


def _plan_one(
    installation: Installation, target: str, regenerator: Regenerator, *, asked: bool, take_release: bool
) -> Plan:
    hold = _unfit(installation) or _order(installation, target, asked=asked)
    if hold is None:
        hold = _ahead(installation, target, regenerator, asked=asked)
    if hold is not None:
        return Plan(installation, hold)
    change = gotk.change(installation, target, regenerator, take_release=take_release)
    conflicts = change.carried.conflicts
    if conflicts:
        detail = f"{target} changed or removed {len(conflicts)} of the paths that were edited by hand"
        hint = (
            "take these edits out of the file, or give them up for the release's own values with "
            "--on-conflict take-release"
        )
        return Plan(installation, Hold(HoldReason.RESIDUE_CONFLICT, detail, hint, ResidueConflict), change)
    return Plan(installation, Upgrade(target, change), change)


def _unfit(installation: Installation) -> Hold | None:
    proof = installation.proof
    if proof.verdict is Verdict.UNREADABLE:
        return Hold(HoldReason.UNREADABLE, proof.reason, proof.hint, Unreadable)
    if proof.base is None:
        return Hold(HoldReason.UNPROVED, proof.reason, proof.hint, Unproved)
    return None


def _order(installation: Installation, target: str, *, asked: bool) -> Hold | None:
    current, wanted = Version.parse(installation.proof.version), Version.parse(target)
    if current is None or wanted is None or current < wanted:
        return None
    if current == wanted:
        return Hold(HoldReason.UP_TO_DATE, _beside(installation, target))
    return Hold(
        HoldReason.DOWNGRADE if asked else HoldReason.UP_TO_DATE,
        f"the manifest is {current}, newer than {target}",
        "Flux is not downgraded: restore an older manifest from the history, and mind the stored API versions"
        if asked
        else "",
        Downgrade if asked else None,
    )


def _beside(installation: Installation, target: str) -> str:
    """What an up-to-date body has beside it that is not up to date."""
    proof = installation.proof
    told = [
        f"{each.name} runs {each.image.tag or each.image.digest}, {target} ships {each.release_image.tag}"
        for each in proof.controllers
        if each.state in (ImageState.AHEAD, ImageState.BEHIND)
    ]
    if proof.manifest is not None and proof.manifest.header_version not in ("", target):
        told.append(f"the header says {proof.manifest.header_version}")
    return "; ".join(told)


def _ahead(installation: Installation, target: str, regenerator: Regenerator, *, asked: bool) -> Hold | None:
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
    images = gotk.shipped(target, installation, regenerator)
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
