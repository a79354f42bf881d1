"""What a promotion breaks: in the artifact, and in what the clusters read that follow its tag.

A promotion has no review, and migrates nothing: whatever breaks holds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flux_upgrade.artifacts.pull import ArtifactPorts, Pulled
from flux_upgrade.assessment.evidence import Evidence
from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.config.config import Config, Migrate
from flux_upgrade.model.errors import Unread, Unreadable, UntrustedArchive
from flux_upgrade.model.files import YAML, Listing
from flux_upgrade.model.oci.layer import Layer
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.impact_gate import GateResult, ImpactGate, only_patches, patches_alone
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.pin_planner import PinPlanner
from flux_upgrade.planning.plan import Plan, PlannedTarget, Upgrade
from flux_upgrade.policy.decision import BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.snapshot.snapshot import Snapshot


class LayerFiles:
    """The port FileSource over an artifact's layer."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._entries = {entry.name: entry for entry in layer.files()}

    def listing(self) -> Listing:
        names = sorted(self._entries)
        return Listing([name for name in names if name.endswith(YAML)], names)

    def read(self, path: str) -> bytes:
        if path not in self._entries:
            raise Unreadable(f"there is no {path} in the artifact", why=Unread.ABSENT)
        try:
            return self._layer.read(self._entries[path])
        except UntrustedArchive as error:
            raise Unreadable(error.message, hint=error.hint) from error

    def chunks(self, path: str) -> Iterable[bytes]:
        return (self.read(path),)


class PromotionImpact(NamedTuple):
    manifests: ManifestPlanner
    pins: PinPlanner
    evidence: Evidence
    """Of the checkout, whose clusters are those that follow the tag, led by the pins that do.

    Its registries and releases are those of the artifact's assessment, too.
    """

    def checked(self, plan: Plan, target: PlannedTarget, pulled: Pulled, ports: ArtifactPorts) -> Plan:
        """``plan`` with holds for what would break anywhere. Raises as ``in_artifact``."""
        checked = self._gated(self.in_artifact(plan, target, pulled), target, self.evidence)
        if any(upgrade.bump_kind is not BumpKind.PATCH for upgrade in checked.upgrades):
            from flux_upgrade.artifacts.lost_versions import held_until_migrated  # late, as all of impact/

            checked = held_until_migrated(checked, target, pulled, ports)
        of_patches = patches_alone(checked, target)
        if of_patches is not None:
            patches = only_patches(self.manifests.plan(of_patches))
            patches = self._gated(self.in_artifact(patches, target, pulled), target, self.evidence)
            checked = GateResult(checked).with_patches(GateResult(patches)).plan
        decisions = checked.decisions if target.terms.to else map(_waiting_if_identical, checked.decisions)
        return checked._replace(decisions=tuple(decisions))

    def in_artifact(self, plan: Plan, target: PlannedTarget, pulled: Pulled) -> Plan:
        """``plan`` with holds for what would break in the artifact. Raises what ``ImpactGate.check`` raises."""
        if not plan.upgrades:
            return plan  # nearly every run: the files of the artifact are not listed
        own = Cluster(target.path, target.path, (Member(target.pin, target.path),))
        context = replace(self.evidence.pin_context, tree=Snapshot(LayerFiles(pulled.layer)))
        return self._gated(plan, target, Evidence(context, Config(), (own,)))

    def _gated(self, plan: Plan, target: PlannedTarget, evidence: Evidence) -> Plan:
        governance = target.terms.governance._replace(migrate=Migrate.OFF)
        target = target._replace(terms=target.terms._replace(governance=governance))
        gate = ImpactGate(evidence, self.manifests, self.pins)
        for cluster in evidence.clusters if plan.upgrades else ():
            try:
                found = gate.check(plan, target._replace(path=cluster.members[0].path), "", cluster).plan
            except Unreadable as error:
                return plan._replace(decisions=(Hold(HoldReason.UNREADABLE, error.message, error.hint, Unreadable),))
            plan = found._replace(impacts={**plan.impacts, **found.impacts})
        return plan


def _waiting_if_identical(decision: Upgrade | Hold) -> Upgrade | Hold:
    """Require an approval of a release that has the files of an older one: no review comes before a promotion."""
    older = decision.impact.identical_to if isinstance(decision, Upgrade) and decision.impact is not None else ""
    if not isinstance(decision, Upgrade) or decision.bump.approval or not older:
        return decision
    why = f"{decision.bump.why}; its files are identical to those of {older}, so it needs approval"
    return decision._replace(bump=decision.bump._replace(approved=False, why=why.removeprefix("; ")))
