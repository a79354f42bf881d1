"""What a tree says of an artifact: who takes it, and so how it is promoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.pins.own_artifact.artifact_reference import LATEST, ArtifactReference
from flux_upgrade.pins.own_artifact.artifact_references import files_of, references_in
from flux_upgrade.snapshot.snapshot import Snapshot

_ADMITS = re.compile(r"[0-9xX*]-[0-9A-Za-z]")
"""A range takes prereleases where one of its versions is one (github.com/Masterminds/semver)."""


class Promotion(StrEnum):
    """How clusters get another release of what an artifact holds."""

    TAG = "tag"  # The tag that they follow is moved
    PULL_REQUEST = "pull-request"  # What pins it in Git is changed


def references(tree: Snapshot, address: Address) -> tuple[ArtifactReference, ...]:
    """Everything that takes the artifact, or any other of its repository, in the order of the files."""
    files = tuple(files_of(tree))
    return references_in(files, address, tree.patch_files)


def promotion_of(found: Sequence[ArtifactReference], address: Address) -> Promotion:
    """How an artifact is promoted where nobody said so.

    Who follows a tag of another name is promoted by runs about that tag. Raises UsageError where the
    references disagree, or if it is unknown what one of them takes.
    """
    pinned = [each for each in found if each.is_pinned and each.is_known]
    followed_by = following(found, address)
    unclear = [each for each in found if not each.is_known]
    if unclear:
        each = unclear[0]
        raise _unsettled(f"{_place(each)} uses the artifact, and {each.reason}")
    if pinned and followed_by:
        one, other = pinned[0], followed_by[0]
        how = f"follows its tag {other.follows}" if other.follows else "follows a range"
        raise _unsettled(f"{_place(one)} pins the artifact, and {_place(other)} {how}")
    return Promotion.PULL_REQUEST if pinned else Promotion.TAG


def following(found: Sequence[ArtifactReference], address: Address) -> tuple[ArtifactReference, ...]:
    return tuple(each for each in found if each.is_known and _follows(each, address))


def is_verified(found: Sequence[ArtifactReference], address: Address) -> bool:
    """Whether a reference that follows the artifact's tag, or may do so, requires a signature."""
    return any(each.is_verified and (_follows(each, address) or not each.is_known) for each in found)


def remarks_of(found: Sequence[ArtifactReference], address: Address) -> tuple[str, ...]:
    """What the move of the tag means to those who take a range, a sentence each."""
    ranges = {_place(each): text for each in found if (text := _range(each))}
    return tuple(
        f"{place} follows the range {text}, so moving {address.tag} does not affect it"
        for place, text in ranges.items()
    )


def takes_what_waits(found: Sequence[ArtifactReference]) -> bool:
    """Whether a reference takes what is only pushed: to semver our immutable tags are prereleases."""
    return any(_ADMITS.search(_range(each)) is not None for each in found)


def _range(each: ArtifactReference) -> str:
    """The semver range that counts; empty: none does."""
    return "" if each.stated.semver is None or each.stated.digest is not None else each.stated.semver.text


def _follows(each: ArtifactReference, address: Address) -> bool:
    return not each.is_pinned and each.follows in ("", address.tag or LATEST)


def _place(each: ArtifactReference) -> str:
    return f"{each.path}:{each.line}"


def _unsettled(why: str) -> UsageError:
    return UsageError(
        f"the artifact's promotion is ambiguous: {why}",
        hint="set --promote pull-request to change its references, or --promote tag to move its tag",
    )
