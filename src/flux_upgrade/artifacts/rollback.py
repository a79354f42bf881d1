"""Take a tag back to what it stood for before its last promotion.

Nothing is asked but the registry: it has to work on a bad day.
"""

from __future__ import annotations

from flux_upgrade.artifacts.promote import move
from flux_upgrade.model.errors import NothingFound, NoWayBack, UsageError
from flux_upgrade.model.oci import reference as names
from flux_upgrade.model.oci.manifest import PREVIOUS, REVISION, StoredManifest, parse
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.ports import ArtifactRegistry
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag

_MOST_NAMED = 5


class Rollback(NamedTuple):
    """What a tag goes back to."""

    address: Address
    current: StoredManifest
    wanted: StoredManifest
    rejected: str
    """The release of Flux that is not to be proposed again, a tag; empty where it is not known."""
    noted: str
    """The tag that ``current`` gets, so that the next run knows; empty where there is one already."""


def plan_rollback(address: Address, back_to: str, registry: ArtifactRegistry) -> Rollback:
    """``back_to``: a tag or a digest; empty: what the last promotion began from.

    Raises NothingFound, NoWayBack, and what ``ArtifactRegistry`` raises; UsageError for a way that is
    newer, and for a tag that never moves.
    """
    if names.is_ours(address.tag):
        raise UsageError(f"{address} never moves", hint="give the tag that the clusters follow")
    current = registry.manifest(address.tag)
    if current is None:
        raise NothingFound(f"there is no artifact {address}", hint="check the name and the tag")
    tags = registry.tags()
    reference = back_to or names.before(address.tag, current.digest)
    if not back_to and reference not in tags:
        reference = parse(current).annotations.get(PREVIOUS, "")
    if not reference:
        raise NoWayBack(
            f"what {address} stands for was not promoted by flux-upgrade: what was before is not known",
            hint=_elsewhere(tags),
        )
    wanted = registry.manifest(reference)
    if wanted is None:
        raise NoWayBack(f"{address.repository} has no {reference} any more", hint=_elsewhere(tags))
    if wanted.digest == current.digest:
        raise NoWayBack(f"{address} stands for {wanted.digest} already", hint=_elsewhere(tags))
    version, older = _version(current), names.version_of(reference) or _version(wanted)
    if version and older and Version(older) > Version(version):
        raise UsageError(
            f"{older} is newer than {version}, which {address} stands for",
            hint=f"take it there with `flux-upgrade upgrade {address} --approve {older}`",
        )
    noted = names.rejected(address.tag, version, current.digest)
    return Rollback(address, current, wanted, version, "" if noted in tags else noted)


def roll_back(planned: Rollback, registry: ArtifactRegistry) -> None:
    """Remember what is rejected, then move the tag. Raises as ``move``."""
    if planned.noted:
        registry.put_manifest(planned.current, planned.noted)
    move(planned.address, planned.current.digest, planned.wanted, registry)


def _version(stored: StoredManifest) -> str:
    """The release of Flux in an artifact of ours; empty for any other."""
    annotations = parse(stored).annotations
    version = annotations.get(REVISION, "").partition("@")[0]
    return version if PREVIOUS in annotations and is_tag(version) else ""


def _elsewhere(tags: tuple[str, ...]) -> str:
    ours = [tag for tag in tags if names.is_immutable(tag)]
    there = f"; there are {', '.join(ours[-_MOST_NAMED:])}" if ours else ""
    return f"name a tag or a digest to go back to with --to{there}"
