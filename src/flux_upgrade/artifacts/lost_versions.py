"""Hold a promotion to a release without API versions in which clusters may have stored objects.

The API server refuses the CRDs of such a release until `flux migrate` has run (``impact.stored_versions``). No
review comes before a promotion, so the approval has to say that it ran.
"""

from __future__ import annotations

from flux_upgrade.artifacts.pull import ArtifactPorts, Pulled
from flux_upgrade.artifacts.tag_history import TagState, history_of
from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.assessment.evidence import crd_list
from flux_upgrade.impact.impact import Stored
from flux_upgrade.impact.stored_versions.refused import cli_for, refusals, stored
from flux_upgrade.model.file_history import FileRevisions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.planning.approvals import MIGRATED
from flux_upgrade.planning.plan import Plan, PlannedTarget, Upgrade
from flux_upgrade.policy.decision import BumpKind, Feedback, Hold
from flux_upgrade.policy.hold_reasons import HoldReason

_UNREAD = FileRevisions(missing=Unknown("the history of the tag is read after an approval"))


def held_until_migrated(plan: Plan, target: PlannedTarget, pulled: Pulled, ports: ArtifactPorts) -> Plan:
    """Return ``plan`` with a hold for each approved minor or major that `flux migrate` has to run before.

    The history of the tag is read only for those.
    """
    decisions: list[Upgrade | Hold] = []
    impacts = {**plan.impacts}
    for decision in plan.decisions:
        if not isinstance(decision, Upgrade) or decision.impact is None or decision.bump_kind is BumpKind.PATCH:
            decisions.append(decision)
            continue
        impact = decision.impact._replace(by_tag=True, stored=_stored(decision, pulled, _UNREAD))
        if decision.approved and _may_be_lost(impact.stored):
            state = TagState(pulled.address.tag, pulled.stored, pulled.tags)
            history = history_of(state, ports.registry, ports.spool)
            impact = impact._replace(stored=_stored(decision, pulled, history))
        judged = _judged(decision._replace(impact=impact), impact, target.terms.feedback, pulled)
        decisions.append(judged)
        impacts.pop(judged.bump_kind, None)
        if isinstance(judged, Hold):
            impacts[judged.bump_kind] = impact
    return plan._replace(decisions=tuple(decisions), impacts=impacts)


def _stored(upgrade: Upgrade, pulled: Pulled, pasts: FileRevisions) -> Stored:
    change, pin = upgrade.change.manifest, pulled.pin
    if change is None:
        return Stored()
    lost = stored(pasts, pin.content, crd_list(change.new), (), pin.version)
    return lost._replace(cli=cli_for(pin.version)) if _may_be_lost(lost) else lost


def _may_be_lost(lost: Stored) -> bool:
    return bool(lost.refused) or lost.unknown is not None


def _judged(upgrade: Upgrade, impact: Assessment, feedback: Feedback, pulled: Pulled) -> Upgrade | Hold:
    lost, version, tag = impact.stored, pulled.pin.version, pulled.address.tag
    if not _may_be_lost(lost):
        return upgrade
    approve_with = f"{tag}={upgrade.bump_kind.approval(upgrade.target)}{MIGRATED}"
    upgrade = upgrade._replace(approve_with=approve_with)
    if not upgrade.approved:
        return upgrade
    if {upgrade.target, upgrade.target.minor}.intersection(feedback.approved_migrated):
        managed = impact.managed._replace(is_done=True) if impact.managed is not None else None
        resolved = refusals(lost.refused, lost.after_migrate, (version,), version)
        return upgrade._replace(impact=impact._replace(stored=resolved, managed=managed))
    why = f": {lost.unknown}" if lost.unknown is not None else ""
    hold = Hold(
        HoldReason.MIGRATION_PENDING,
        f"{upgrade.target} no longer has API versions that the clusters of this tag may have stored{why}",
        f"run `flux migrate` with the Flux CLI {lost.cli} in every cluster that follows the tag, then approve "
        f"it with --approve {approve_with}",
        approve_with=approve_with,
    )
    return hold.of(upgrade.bump)
