"""When `flux migrate` has to run because of ``metadata.managedFields``, whatever the cluster has stored.

Each entry names the API version in which its manager last wrote the object. Once the CRD no longer serves
that version, the API server fails every apply of the object: `request to convert CR to an invalid
group/version`. `flux migrate` moves the entries to the stored version, those of all managers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from flux_upgrade.impact.impact import Evidence, Managed
from flux_upgrade.impact.stored_versions.refused import cli_for
from flux_upgrade.manifests.crds import Served
from flux_upgrade.model.ports import Mentions
from flux_upgrade.model.values import NamedTuple


class Asked(NamedTuple):
    """What is known of a jump without a look at the history."""

    dropped: frozenset[str]
    """Versions that the current release serves, and the target does not."""
    used: frozenset[str]
    """Those of them that manifests of the repository name."""
    was_migrated: bool
    """Whether a merged pull request moved manifests for this jump."""
    is_with_upgrade: bool
    """Whether manifests are moved in the upgrade's own commit."""
    current: str
    target: str


def versions_dropped(current: Served, target: Served, changed: Collection[str] | None) -> frozenset[str]:
    """``changed``: names of the CRDs that the upgrade changes in the cluster; None: that is not known."""
    return frozenset(
        f"{crd.group}/{version}"
        for name, crd in current.crds.items()
        if name in target.crds and (changed is None or name in changed)
        for version in crd.served - target.crds[name].served
    )


def managed(
    asked: Asked, migrated: Collection[str], mentions: Callable[[tuple[str, ...]], Mentions]
) -> Managed | None:
    """None: the target drops nothing that the repository uses or has used.

    ``migrated``: releases at which `flux migrate` ran. ``mentions``: the history, searched only if nothing
    else tells.
    """
    if not asked.dropped:
        return None
    evidence, detail = Evidence.USED, ""
    if not asked.used:
        evidence = Evidence.MIGRATED
        if not asked.was_migrated:
            found = mentions(tuple(sorted(asked.dropped)))
            if not found.paths and not found.missing:
                return None
            evidence = Evidence.HISTORY if found.paths else Evidence.UNKNOWN
            detail = min(found.paths, default=found.missing)
    return Managed(
        tuple(sorted(asked.used or asked.dropped)),
        evidence,
        detail,
        cli_for(asked.target if asked.is_with_upgrade else asked.current),
        is_after=asked.is_with_upgrade,
        is_done=not asked.is_with_upgrade and asked.current in migrated,
    )
