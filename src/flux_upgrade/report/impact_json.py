"""What an upgrade means, for machines: as JSON, and as annotations on the lines that it concerns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flux_upgrade.assessment.assessment import Assessment, ClusterBase
from flux_upgrade.clusters.graph.builds import Trouble
from flux_upgrade.findings.finding import hit_value, place_value, uses_value
from flux_upgrade.findings.json_fields import fields
from flux_upgrade.findings.kinds import FINDING_KINDS
from flux_upgrade.findings.known_facts import known_values
from flux_upgrade.findings.phrases import TEXT, minor_text, sentences
from flux_upgrade.impact.diff.changes import Changes, CrdChange
from flux_upgrade.impact.impact import EarlierTries, Managed, Refused, Stored
from flux_upgrade.impact.kubernetes_versions import Fit
from flux_upgrade.impact.overlay.result import Overlay
from flux_upgrade.model.text import printable
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.report.wording import Annotation, Level

_MOST = 25  # Annotations of one run: GitHub shows ten of a level, and what is over stands above the summary


def impact_value(impact: Assessment) -> dict[str, Any]:
    return {
        "uses": uses_value(impact.files),
        "stored": _stored(impact.stored),
        "managed-fields": _managed(impact.managed) if impact.managed is not None else None,
        "breaks": list(map(hit_value, impact.breaks)),
        "overlay": _overlay(overlay) if (overlay := known_or(impact.overlay, None)) is not None else None,
        "kubernetes": None if isinstance(impact.kubernetes, Unknown) else _fit(impact.kubernetes),
        "orphaned": list(map(place_value, impact.orphaned)),
        "turned-off": [
            {"use": place_value(use), "patch": fields(patch, "path", "line")} for use, patch in impact.turned_off
        ],
        **({"crds-to-bring": _crds_to_bring(impact)} if impact.crds_to_bring else {}),
        **({"broken-files": _broken_files(impact)} if impact.broken_files else {}),
        **({"not-applied": impact.not_applied._asdict()} if impact.not_applied is not None else {}),
        "unread": list(impact.unread),
        **({"unfollowed": unfollowed_value(impact.unfollowed)} if impact.unfollowed else {}),
        **({"known": known_values(impact.known)} if impact.known else {}),
        "earlier": None if isinstance(impact.earlier, Unknown) else _earlier(impact.earlier),
        "steps": list(impact.upgrade_path),
        "changes": None if isinstance(impact.changes, Unknown) else _changes(impact.changes),
        **({"base": _base(impact.base)} if impact.base is not None and impact.base.is_notable else {}),
        **({"identical-to": impact.identical_to} if impact.identical_to else {}),
    }


def _broken_files(impact: Assessment) -> list[dict[str, Any]]:
    return [fields(use, "path", "line", "why") for use in impact.broken_files]


def _crds_to_bring(impact: Assessment) -> list[dict[str, Any]]:
    return [
        {"crd": crd.name, "version": crd.stored, "patch": fields(crd, "path", "line")} for crd in impact.crds_to_bring
    ]


def unfollowed_value(troubles: Sequence[Trouble]) -> list[dict[str, Any]]:
    """Return steps that could not be followed, as each report has them."""
    return [{"path": each.path, "line": each.line or None, "message": each.message} for each in troubles]


def _base(base: ClusterBase) -> dict[str, Any]:
    is_known, is_followed = not isinstance(base.pin, Unknown), not isinstance(base.branch, Unknown)
    return {
        "release": base.pin.version if not isinstance(base.pin, Unknown) else None,
        "branch": base.branch if is_followed else None,
        "unknown": str(base.pin) if not is_known else None if is_followed else str(base.branch),
    }


def _earlier(earlier: EarlierTries) -> dict[str, Any]:
    back, returns = earlier.taken_back, earlier.returns
    return {
        "taken-back": fields(back, "release", "since", "until", "back_to", "commit") if back is not None else None,
        "returns": fields(returns, "times", "since", "commit") if returns is not None else None,
    }


def _stored(stored: Stored) -> dict[str, Any]:
    return {
        "cli": stored.cli or None,
        "refused": [_refused(each) for each in stored.refused],
        "refused-after-migrate": [_refused(each) for each in stored.after_migrate],
        "migrated": [_refused(each) for each in stored.resolved],
        "unknown": str(stored.unknown) if stored.unknown is not None else None,
    }


def _managed(managed: Managed) -> dict[str, Any]:
    return {
        "when": "after-merging" if managed.is_after else "before-merging",
        **fields(managed, "cli", "versions", "evidence", "detail"),
        "migrated": managed.is_done,
    }


def _refused(refused: Refused) -> dict[str, Any]:
    release = {"release": refused.release.tag or None, "since": refused.release.since or None}
    return fields(refused, "crd", "kind", "version") | release


def _overlay(overlay: Overlay) -> dict[str, Any]:
    finding = ("path", "line", "what", "verdict", "already", "detail", "hint", "drops")
    return {
        "path": overlay.path,
        "findings": [fields(each, *finding) for each in overlay.findings],
        **fields(overlay, "builder", "failed", "unbuilt"),
        "changes": _changes(overlay.built) if overlay.built is not None else None,
    }


def _fit(fit: Fit) -> dict[str, Any]:
    tested = fit.support.tested
    return {
        "declared": fit.version,
        "least": minor_text(fit.support.least),
        "tested": [minor_text(each) for each in tested] if tested is not None else None,
        "verdict": "too-old" if fit.is_too_old else "untested" if fit.is_untested else "fits",
    }


def _changes(changes: Changes) -> dict[str, Any]:
    return {
        "kinds": sorted(changes.contents),
        "controllers": [
            {"name": name, "from": old or None, "to": new or None} for name, old, new in changes.controllers
        ],
        "crds-added": list(changes.crds_added),
        "crds-removed": list(changes.crds_removed),
        "crds": [_crd(each) for each in changes.crds],
        "rules": [fields(each, "object", "state", "widened", "narrowed") for each in changes.rules],
        "others": [fields(each, "content", "object", "path", "phrase") for each in changes.others],
        "not-listed": dict(changes.noise),
    }


def _crd(crd: CrdChange) -> dict[str, Any]:
    return {
        **fields(crd, "name", "kind", "group", "added", "deprecated", "unserved", "removed"),
        "storage": {"from": crd.storage[0], "to": crd.storage[1]} if crd.storage is not None else None,
        "fields": [{"version": version, "path": field.path, "what": field.what} for version, field in crd.fields],
        "other": list(crd.other),
    }


def on_lines(plans: Iterable[UpdateGroupPlan]) -> list[Annotation]:
    """One for each line, whatever breaks first; at most ``_MOST``, the last of which says how many more."""
    found: dict[tuple[str, int, str], Annotation] = {}
    decisions = [(plan, each) for group in plans for plan in group.plans for each in plan.decisions]
    title = "Flux refuses this today"
    for broken in (broken for plan, _ in decisions for broken in plan.broken_today):
        annotation = Annotation(Level.WARNING, printable(broken.sentence), title, broken.path, broken.line)
        found[broken.path, broken.line, title] = annotation
    ranked = [
        (kind.rank, finding)
        for plan, each in decisions
        if (impact := plan.impact_of(each)) is not None
        for kind in FINDING_KINDS
        for finding in kind.find(impact, each.target, TEXT)
        if finding.title
    ]
    for _, finding in sorted(ranked, key=lambda each: each[0]):
        message = printable(finding.message or sentences(TEXT, finding.what, finding.remedy))
        title = printable(finding.title)
        annotation = Annotation(Level.WARNING, message, title, finding.path, finding.line)
        found.setdefault((finding.path, finding.line, title), annotation)
    annotations = list(found.values())
    if len(annotations) <= _MOST:
        return annotations
    more = f"{len(annotations) - _MOST + 1} more lines are concerned: see the report"
    return [*annotations[: _MOST - 1], Annotation(Level.WARNING, more)]
