"""Steps of an upgrade that have to wait until the branch that Flux follows has the step before."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.policy.decision import Bump, Hold
from flux_upgrade.policy.hold_reasons import HoldReason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.assessment.assessment import ClusterBase


def step_pending(bump: Bump, path: Sequence[Version], base: ClusterBase, *, is_asked: bool) -> Hold:
    """Return the hold of a step that ``base`` does not lead to: the file is ahead of it, and one step is too few."""
    then = "run flux-upgrade again"
    if not _is_beyond(path, base):
        if is_asked:
            then = f"run `flux-upgrade upgrade --to={bump.target}`"
        elif bump.approval or not bump.approved:
            then = f"run `flux-upgrade upgrade --approve={bump.bump_kind.approval(bump.target)}`"
        then += _where(base)
    release = "" if isinstance(base.pin, Unknown) else base.pin.version
    detail = f"{base.place} has {release}, from which {bump.target} takes several steps: {' → '.join(path)}"
    return Hold(HoldReason.STEP_PENDING, detail, f"{rollout_before(path, base)}; then {then}").of(bump)


def rollout_before(path: Sequence[Version], base: ClusterBase) -> str:
    """Return what to do before the next step: roll out the release that is only in a file, or restore the one before.

    ``path``: the steps from the release that the cluster runs.
    """
    if _is_beyond(path, base) and not isinstance(base.pin, Unknown):
        return f"restore {base.pin.version} in the file first, to take the steps in order"
    return _rolled_out(base.written, base)


def _is_beyond(path: Sequence[Version], base: ClusterBase) -> bool:
    return base.written.numbers[:2] > path[0].numbers[:2]


def with_later_steps_held(plan: Plan) -> Plan:
    """Return the plan, but an approval is not asked for while the step before it is held, or is only in a file."""
    return plan._replace(decisions=tuple(_in_order(decision, plan) for decision in plan.decisions))


def _in_order(decision: Upgrade | Hold, plan: Plan) -> Upgrade | Hold:
    if isinstance(decision, Upgrade) or decision.reason is not HoldReason.NEEDS_APPROVAL:
        return decision
    for first in plan.decisions:
        impact = first.impact if isinstance(first, Upgrade) else plan.impacts.get(first.bump_kind)
        if first.bump_kind is not decision.bump_kind or impact is None or impact.base is None:
            continue
        path, is_held = impact.upgrade_path, isinstance(first, Hold)
        if path and (not is_held or path[0] == first.target):
            return _after(decision, path, impact.base, is_held=is_held)
    return decision


def _after(hold: Hold, path: Sequence[Version], base: ClusterBase, *, is_held: bool) -> Hold:
    """Return the hold of a later step. ``is_held``: whether the first one is."""
    approval = hold.bump_kind.approval(path[-1])
    then = f"approve {approval}"
    if not isinstance(base.pin, Unknown):
        then = f"run `flux-upgrade upgrade --approve={approval}`{_where(base)}"
    detail = f"it is a later step: {' → '.join(path)}"
    hint = f"{_reconciled(path[0], base) if is_held else _rolled_out(path[0], base)}; then {then}"
    return hold._replace(reason=HoldReason.STEP_PENDING, detail=detail, hint=hint, needs_approval=True)


def _reconciled(release: Version, base: ClusterBase) -> str:
    """Return what to do before the next step while no file has ``release`` yet."""
    if isinstance(base.pin, Unknown):
        return _rolled_out(release, base)
    merge = "merge it" if isinstance(base.branch, Unknown) else f"merge it into {base.branch}"
    return f"upgrade to {release}, {merge}, and wait until Flux has reconciled it"


def _rolled_out(release: Version, base: ClusterBase) -> str:
    if isinstance(base.pin, Unknown):
        return f"wait until `flux version` shows that the cluster runs {release}"
    merge = f"commit and merge {release}"
    if not isinstance(base.branch, Unknown):
        merge = f"commit {release}, merge it into {base.branch}"
    if base.is_for_terraform:
        merge += ", apply it with Terraform"
    return f"{merge}, and wait until Flux has reconciled it"


def _where(base: ClusterBase) -> str:
    return "" if isinstance(base.branch, Unknown) else f" on an up-to-date {base.branch}"
