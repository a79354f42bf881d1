"""Plan an upgrade: installations → decisions → changes. Reads, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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
    change: Change | None
    """Of an Upgrade, and of a Hold for a conflict: the one that was tried, to show its conflicts."""


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
    try:
        regenerator.manifests(target)
    except ReleaseNotFound as error:
        if to:
            raise
        # Listed, but its assets are still being uploaded.
        hold = Hold(
            HoldReason.UNSUPPORTED_RELEASE, error.message, "it is the newest release: run again later"
        )
        yield from (Plan(installation, hold, None) for installation in installations)
        return
    # Identical files have one proof, and so one decision: it is made once.
    decided: dict[int, Plan] = {}
    for installation in installations:
        first = decided.get(id(installation.proof))
        if first is None:
            decision, change = _decide(
                installation, target, regenerator, asked=bool(to), take_release=take_release
            )
            # The plan holds the proof, so that its id is nobody else's.
            first = decided[id(installation.proof)] = Plan(installation, decision, change)
        yield replace(first, installation=installation)


def _decide(
    installation: Installation, target: str, regenerator: Regenerator, *, asked: bool, take_release: bool
) -> tuple[Upgrade | Hold, Change | None]:
    try:
        hold = (
            _unfit(installation)
            or _order(installation, target, asked=asked)
            or _ahead(installation, target, regenerator, asked=asked)
        )
        if hold is not None:
            return hold, None
        change = gotk.change(installation, target, regenerator, take_release=take_release)
    except Unreadable as error:
        return Hold(HoldReason.UNREADABLE, error.message, error.hint, Unreadable), None
    except UnsupportedRelease as error:
        kind = None if error.pending and not asked else UnsupportedRelease
        return Hold(HoldReason.UNSUPPORTED_RELEASE, error.message, error.hint, kind), None
    if change.carried.conflicts:
        return _conflict(target, change), change
    if change.new == installation.content:
        return _up_to_date(installation, target, asked=asked), None
    return Upgrade(target, change), change


def _conflict(target: str, change: Change) -> Hold:
    count = len(change.carried.conflicts)
    return Hold(
        HoldReason.RESIDUE_CONFLICT,
        f"{target} changed or removed {'a path' if count == 1 else f'{count} paths'} that you edited",
        "take these edits out of the file, or give them up for the release's own values with "
        "--on-conflict take-release",
        ResidueConflict,
    )


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
        return None if _is_behind(installation, target) else _up_to_date(installation, target, asked=asked)
    newer = f"the manifest is {current}, newer than {target}"
    if not asked:
        return Hold(HoldReason.UP_TO_DATE, newer)
    return Hold(
        HoldReason.DOWNGRADE,
        newer,
        "Flux is not downgraded: restore an older manifest from the history, and mind the API versions "
        "that the cluster has stored",
        Downgrade,
    )


def _is_behind(installation: Installation, target: str) -> bool:
    """Whether the body is of that release, but what stands around it is of an older or another one."""
    proof = installation.proof
    told = {proof.manifest.header_version} if proof.manifest is not None else set()
    told |= set(proof.inferred.versions) if proof.inferred is not None else set()
    return bool(told - {"", target}) or any(each.state is ImageState.BEHIND for each in proof.controllers)


def _up_to_date(installation: Installation, target: str, *, asked: bool) -> Hold:
    ahead = [
        f"{each.name} runs {each.image.tag}, newer than {each.release_image.tag} of the release"
        for each in installation.proof.controllers
        if each.state is ImageState.AHEAD
    ]
    told = f"it is {target}" if asked else f"{target} is the newest stable release"
    return Hold(HoldReason.UP_TO_DATE, "; ".join([told, *ahead]))


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
