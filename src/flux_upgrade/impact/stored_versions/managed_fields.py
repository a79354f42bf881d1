"""When `flux migrate` has to run because of ``metadata.managedFields``, whatever the cluster has stored.

Each entry names the API version in which its manager last wrote the object. Once the CRD no longer serves
that version, the API server fails every apply of the object: `request to convert CR to an invalid
group/version`. `flux migrate` moves the entries to the stored version, those of all managers.
"""

from __future__ import annotations

from collections.abc import Collection

from flux_upgrade.impact.impact import Evidence, Managed
from flux_upgrade.impact.stored_versions.refused import cli_for
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.files import Mentions
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version


class DroppedVersions(NamedTuple):
    """Versions that a transition drops, and all that is known of them without a look at the history."""

    dropped: frozenset[str]  # versions that the current release serves, and the target does not
    used: frozenset[str]  # those of them that manifests of the repository name
    was_migrated: bool  # whether a merged pull request moved manifests for this transition
    is_with_upgrade: bool  # whether manifests are moved in the upgrade's own commit
    current: Version
    target: Version

    @property
    def needs_history(self) -> bool:
        """Whether nothing else says that objects may have been written in them."""
        return bool(self.dropped) and not self.used and not self.was_migrated


def versions_dropped(
    current: ReleaseApis, target: ReleaseApis, changed: Collection[str] | None
) -> frozenset[str]:
    """``changed``: names of the CRDs that the upgrade changes in the cluster; None: that is not known."""
    return frozenset(
        f"{crd.group}/{version}"
        for name, crd in current.crds.items()
        if name in target.crds and (changed is None or name in changed)
        for version in crd.served - target.crds[name].served
    )


def managed(versions: DroppedVersions, migrated: Collection[str], mentions: Mentions) -> Managed | None:
    """None: the target drops nothing that the repository uses or has used.

    ``migrated``: releases at which `flux migrate` ran. ``mentions``: of the history, where that is needed.
    """
    detail = ""
    if not versions.dropped:
        return None
    if versions.needs_history:
        if not mentions.paths and not mentions.missing:
            return None
        evidence = Evidence.HISTORY if mentions.paths else Evidence.UNKNOWN
        detail = min(mentions.paths, default=mentions.missing)
    else:
        evidence = Evidence.USED if versions.used else Evidence.MIGRATED
    return Managed(
        tuple(sorted(versions.used or versions.dropped)),
        evidence,
        detail,
        cli_for(versions.target if versions.is_with_upgrade else versions.current),
        is_after=versions.is_with_upgrade,
        is_done=not versions.is_with_upgrade and versions.current in migrated,
    )
