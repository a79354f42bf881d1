"""What an upgrade means, as JSON: see docs/reference/plan.schema.json."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flux_upgrade.impact.api_uses.flux_file import ApiUse
from flux_upgrade.impact.diff.changes import Changes, CrdChange, ObjectChange
from flux_upgrade.impact.impact import Hit, Impact, Managed, Refused, Stored
from flux_upgrade.impact.kubernetes_versions import Fit
from flux_upgrade.impact.migrate.result import Left, Migrated, Move
from flux_upgrade.impact.overlay.result import Finding, Overlay
from flux_upgrade.report.impact_phrases import in_order, is_broken_already


def impact_value(impact: Impact) -> dict[str, Any]:
    """All of it."""
    return {
        "uses": uses_value(impact.files),
        "stored": _stored(impact.stored),
        "managed-fields": _managed(impact.managed) if impact.managed is not None else None,
        "breaks": [_hit(each) for each in impact.breaks],
        "overlay": _overlay(impact.overlay) if impact.overlay is not None else None,
        "kubernetes": _fit(impact.kubernetes) if impact.kubernetes is not None else None,
        "orphaned": [_use(each) for each in impact.orphaned],
        "hops": list(impact.upgrade_path),
        "changes": _changes(impact.changes) if impact.changes is not None else None,
    }


def uses_value(files: Iterable[Migrated]) -> list[dict[str, Any]]:
    """Each use of a version that is no longer served, and what becomes of it."""
    return [use_value(each) for file in files for each in in_order(file)]


def use_value(each: Move | Left) -> dict[str, Any]:
    """One of them."""
    left = each if isinstance(each, Left) else None
    return _use(each.use) | {
        "action": "move" if left is None else "leave",
        "to": each.to if isinstance(each, Move) else None,
        "fields": list(each.fields) if isinstance(each, Move) else [],
        "reason": str(left.reason) if left is not None else None,
        "detail": left.detail or None if left is not None else None,
        "remedy": left.hint or None if left is not None else None,
        "breaks": left is not None and left.blocks,
        "broken-already": is_broken_already(each),
    }


def _use(use: ApiUse) -> dict[str, Any]:
    return {
        "path": use.path,
        "line": use.line,
        "group": use.group,
        "version": use.version,
        "kind": use.kind or None,
        "name": use.name or None,
        "namespace": use.namespace or None,
        "place": str(use.place),
    }


def _stored(stored: Stored) -> dict[str, Any]:
    return {
        "cli": stored.cli or None,
        "refused": [_refused(each) for each in stored.refused],
        "refused-after-migrate": [_refused(each) for each in stored.after_migrate],
        "migrated": [_refused(each) for each in stored.resolved],
        "unknown": stored.unknown or None,
    }


def _managed(managed: Managed) -> dict[str, Any]:
    return {
        "when": "after-merging" if managed.is_after else "before-merging",
        "cli": managed.cli,
        "versions": list(managed.versions),
        "evidence": str(managed.evidence),
        "detail": managed.detail or None,
        "migrated": managed.is_done,
    }


def _refused(refused: Refused) -> dict[str, Any]:
    return {
        "crd": refused.crd,
        "kind": refused.kind,
        "version": refused.version,
        "release": refused.release.tag or None,
        "since": refused.release.since or None,
    }


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "rule": hit.rule,
        "since": hit.since,
        "detail": hit.change,
        "source": hit.source,
        "path": hit.path,
        "line": hit.line,
        "kind": hit.kind or None,
        "name": hit.name or None,
        "namespace": hit.namespace or None,
        "keep": hit.keep or None,
        "remedy": hit.hint or None,
    }


def _overlay(overlay: Overlay) -> dict[str, Any]:
    return {
        "path": overlay.path,
        "findings": [_finding(each) for each in overlay.findings],
        "builder": overlay.builder or None,
        "failed": overlay.failed or None,
        "unbuilt": overlay.unbuilt or None,
        "changes": _changes(overlay.built) if overlay.built is not None else None,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "path": finding.path,
        "line": finding.line,
        "what": finding.what,
        "verdict": str(finding.verdict),
        "already": finding.already,
        "detail": finding.detail or None,
        "remedy": finding.hint or None,
        "kept-out": list(finding.drops),
    }


def _fit(fit: Fit) -> dict[str, Any]:
    tested = fit.support.tested
    return {
        "declared": fit.version,
        "least": _minor(fit.support.least),
        "tested": [_minor(each) for each in tested] if tested is not None else None,
        "verdict": "too-old" if fit.is_too_old else "untested" if fit.is_untested else "fits",
    }


def _minor(minor: tuple[int, int]) -> str:
    return ".".join(map(str, minor))


def _changes(changes: Changes) -> dict[str, Any]:
    return {
        "kinds": sorted(changes.contents),
        "controllers": [
            {"name": name, "from": old or None, "to": new or None} for name, old, new in changes.controllers
        ],
        "crds-added": list(changes.crds_added),
        "crds-removed": list(changes.crds_removed),
        "crds": [_crd(each) for each in changes.crds],
        "rules": [
            {
                "object": each.object,
                "state": each.state or None,
                "widened": list(each.widened),
                "narrowed": list(each.narrowed),
            }
            for each in changes.rules
        ],
        "others": [_other(each) for each in changes.others],
        "not-listed": dict(changes.noise),
    }


def _crd(crd: CrdChange) -> dict[str, Any]:
    return {
        "name": crd.name,
        "kind": crd.kind,
        "group": crd.group,
        "added": list(crd.added),
        "deprecated": list(crd.deprecated),
        "unserved": list(crd.unserved),
        "removed": list(crd.removed),
        "storage": {"from": crd.storage[0], "to": crd.storage[1]} if crd.storage is not None else None,
        "fields": [
            {"version": version, "path": field.path, "what": field.what} for version, field in crd.fields
        ],
        "other": list(crd.other),
    }


def _other(change: ObjectChange) -> dict[str, Any]:
    return {
        "kind": str(change.content) if change.content is not None else None,
        "object": change.object,
        "path": change.path or None,
        "told": change.phrase,
    }
