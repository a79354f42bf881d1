"""Of what changes in a cluster, what reports list."""

from __future__ import annotations

from collections.abc import Collection

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.impact.api_uses.mentions import is_version
from flux_upgrade.impact.diff.changes import Changes, CrdChange
from flux_upgrade.model.unknown import Unknown, known_or

_UNUSED = "changes of API versions that nothing here uses"


def in_cluster(impact: Assessment) -> Changes | Unknown:
    """Of what the kustomization beside the manifest makes of it, where that was built; without what nobody uses."""
    overlay = known_or(impact.overlay, None)
    changes = overlay.built if overlay is not None and overlay.built is not None else impact.changes
    used = impact.used
    return changes if isinstance(changes, Unknown) or isinstance(used, Unknown) else _used(changes, used)


def _used(changes: Changes, used: Collection[tuple[str, str, str]]) -> Changes:
    """Without changes of API versions that the repository does not use, but for what concerns stored objects."""
    crds, left_out = [], 0
    for each in changes.crds:
        # A text may name a version alone, and something else may put the version there.
        versions = {version for group, kind, version in used if group == each.group and kind in (each.kind, "")}
        if not all(map(is_version, versions)):
            crds.append(each)
            continue
        kept = each._replace(
            added=each.added if versions else (),
            deprecated=tuple(version for version in each.deprecated if version in versions),
            fields=tuple((version, field) for version, field in each.fields if version in versions),
            other=each.other if versions else (),
        )
        left_out += kept != each
        if kept != CrdChange(each.name, each.kind, each.group):
            crds.append(kept)
    noise = (*changes.noise, (_UNUSED, left_out)) if left_out else changes.noise
    return changes._replace(crds=tuple(crds), noise=noise)


def said_apart(changes: Changes, manifest: Changes) -> Changes:
    """Without what is said of the manifest in a line or a table of its own: images, versions that go.

    A patch may switch off another version, which nobody would expect: that stays.
    """
    gone = {(each.name, version) for each in manifest.crds for version in (*each.unserved, *each.removed)}
    crds = (
        each._replace(
            unserved=tuple(version for version in each.unserved if (each.name, version) not in gone),
            removed=tuple(version for version in each.removed if (each.name, version) not in gone),
        )
        for each in changes.crds
    )
    images = manifest.controllers
    return changes._replace(
        controllers=tuple(each for each in changes.controllers if each not in images or not all(each)),
        crds=tuple(each for each in crds if each != CrdChange(each.name, each.kind, each.group)),
    )
