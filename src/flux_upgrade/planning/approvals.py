"""Read what a run approves: a version in every cluster (``2.9``), or in a group or cluster (``staging=2.9``).

An approval for the tag of an artifact may also say that `flux migrate` ran: ``production=2.9+migrated``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flux_upgrade.clusters.clusters import Cluster
from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.manifests.options import nearest
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.text import enumeration, first_few
from flux_upgrade.policy.decision import Feedback

MIGRATED = "+migrated"
_FEW = 5


def split(approval: str) -> tuple[str, str]:
    """Return name and version; the name is empty where none is given."""
    name, _, version = approval.rpartition("=")
    return name, version.removesuffix(MIGRATED)


def for_tag(approve: Sequence[str], repository: str, tag: str) -> Feedback:
    """Return what a run approves that moves ``tag``. Raises UsageError for the name of another one."""
    full = f"/{repository}:{tag}"
    for name, version in map(split, approve):
        if name not in ("", tag) and not full.endswith(f"/{name.removeprefix(SCHEME)}"):
            raise UsageError(
                f"--approve: this run moves the tag '{tag}', not '{name}'",
                hint=f"write {tag}={version}, or leave the name out",
            )
    migrated = (each for each in approve if each.endswith(MIGRATED))
    return Feedback(
        approved=tuple(version for _, version in map(split, approve)),
        approved_migrated=tuple(version for _, version in map(split, migrated)),
    )


def versions_in(
    approve: Iterable[str], update_group: UpdateGroup, clusters: Sequence[Cluster] | None = None
) -> tuple[str, ...]:
    """The versions that are approved in an update group, or in some of its ``clusters``."""
    names = {"", update_group.name, *(each.name for each in (update_group.clusters if clusters is None else clusters))}
    return tuple(version for name, version in map(split, approve) if name in names)


def resolved(approve: Iterable[str], update_groups: Iterable[UpdateGroup]) -> tuple[str, ...]:
    """The same with whole names: ``staging=2.9`` → ``clusters/staging=2.9``. Raises UsageError for an unknown name."""
    names = {name for group in update_groups for name in (group.name, *(each.name for each in group.clusters))}
    return tuple(f"{_whole(name, names)}={version}" if name else version for name, version in map(split, approve))


def _whole(name: str, names: Iterable[str]) -> str:
    known = sorted(names)
    wanted = name.strip("/")
    found = [each for each in known if each == wanted] or [each for each in known if each.endswith(f"/{wanted}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"--approve: '{name}' is the end of several names: {enumeration(found[:_FEW])}",
            hint=f"write the whole name: {found[0]}=VERSION",
        )
    # The last part of a path is what a typo is compared with, too.
    close = nearest(wanted, known) or nearest(wanted, {each.rpartition("/")[2] for each in known})
    raise UsageError(
        f"--approve: there is no group or cluster '{name}'{close}",
        hint=f"give the name of a group or cluster: {first_few(known, _FEW)}" if known else "leave the name out",
    )
