"""Plan what becomes of pins: they follow their cluster, or lead it where it has no manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from flux_upgrade.clusters.clusters import COPIES
from flux_upgrade.model.errors import Downgrade, FluxUpgradeError
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import kind_of
from flux_upgrade.pins.formats.ranges import allows
from flux_upgrade.pins.pin import Pin, PinState, Role
from flux_upgrade.planning.eligibility import compare, skew, unled, unmovable, within_reach
from flux_upgrade.planning.plan import Plan, PlannedTarget, Upgrade
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy, decide

_VERBS = {Role.OPERATOR: "knows"}


class PinPlanner:
    """Plans pins. ``releases``: all that the source lists."""

    def __init__(self, context: PinContext, releases: Sequence[Release], now: datetime) -> None:
        self._context, self._releases, self._now = context, releases, now

    def lead(self, target: PlannedTarget, pin: Pin) -> Plan:
        """The plan of a pin that speaks for its cluster: the policy decides about its version."""
        still = unmovable(pin)
        if still is None and pin.role is Role.OPERATOR:
            still = unled(pin)
        if still is not None:
            return _plan(target, (still,))
        if target.terms.to:
            return self._carried_out(target, pin, [_asked(pin, target.terms.to)])
        terms = target.terms
        decided = decide(pin.version, self._releases, terms.governance.policy, terms.feedback, self._now)
        return self._carried_out(target, pin, decided)

    def follow(self, target: PlannedTarget, pin: Pin, lead: Plan) -> Plan:
        """The plan of a pin whose cluster is spoken for: it goes where ``lead`` goes, never backwards."""
        still = unmovable(pin)
        if still is None and pin.role is Role.OPERATOR:
            return self._know(target, pin, lead)
        if still is not None:
            return _plan(target, (still,))
        if _is_apart(pin, lead) and not target.terms.to:
            return self._carried_out(target, pin, self._by_itself(target, pin, lead))
        return self._carried_out(target, pin, tuple(_following(pin, lead, target)))

    def _by_itself(self, target: PlannedTarget, pin: Pin, lead: Plan) -> Sequence[Bump | Hold]:
        """What the policy decides about a pin that runs another minor; not beyond where ``lead`` goes."""
        farthest = max([lead.pin.version, *(each.target for each in lead.upgrades)])
        within = [each for each in self._releases if each.tag <= farthest]
        return decide(pin.version, within, target.terms.governance.policy, target.terms.feedback, self._now)

    def _know(self, target: PlannedTarget, pin: Pin, lead: Plan) -> Plan:
        """The plan of a pin of the flux-operator, which has to know what its cluster goes to.

        Its kind sees what it knows already, which comes to no change.
        """
        made = [self._upgrade(pin, each) for each in self._to_know(target, pin, lead)]
        needed = [each for each in made if isinstance(each, Upgrade) or each.reason != HoldReason.UP_TO_DATE]
        if not target.terms.to:
            needed = [_held_within(each, lead) for each in needed]
        return _plan(target, tuple(needed) or (_knowing(pin, lead),))

    def _to_know(self, target: PlannedTarget, pin: Pin, lead: Plan) -> Iterator[Bump | Hold]:
        found, terms = lead.pin, target.terms
        order = compare(pin.version, found.version)
        if terms.to:
            if compare(found.version, terms.to) <= 0:
                why = f"{terms.to} was asked for"
                yield Bump(BumpKind.between(found.version, terms.to), terms.to, approved=True, why=why)
        elif _range_of(lead) and (order >= 0 or allows(_range_of(lead), pin.version)):
            # Such a range takes by itself what the operator knows: the policy decides about that.
            at = min(pin.version, found.version)
            for each in decide(at, self._releases, terms.governance.policy, terms.feedback, self._now):
                if order < 0 or isinstance(each, Bump):  # else the lead's plan says it
                    yield each
        else:
            moves = [each.bump for each in lead.upgrades]
            is_patched = any(each.bump_kind is BumpKind.PATCH for each in moves)
            aligned = None if is_patched else _aligned(pin, lead, target)
            yield from moves if aligned is None else [aligned, *moves]

    def serve(self, target: PlannedTarget, pin: Pin, clusters: Mapping[str, Version]) -> Plan:
        """The plan of a CLI pin that serves several clusters. ``clusters``: name → release, at least one."""
        still = unmovable(pin)
        decisions = (still,) if still is not None else (self._serving(pin, clusters, target),)
        return self._carried_out(target, pin, decisions)

    def _serving(self, pin: Pin, clusters: Mapping[str, Version], target: PlannedTarget) -> Bump | Hold:
        if target.terms.to:
            return _asked(pin, target.terms.to)
        release = within_reach(pin, sorted(set(clusters.values())))
        if isinstance(release, Hold):
            return release
        # It needs no approval, and is not proposed again where a user refused it.
        only = (Release(release),)
        (decided,) = decide(pin.version, only, Policy(bump=MaxBump.MAJOR), target.terms.feedback, self._now)
        if isinstance(decided, Hold):
            return decided
        first = next(name for name, version in clusters.items() if version == release)
        why = f"the CLI serves {first} at {release}, and is kept within one minor of its clusters"
        return decided._replace(why=why)

    def carried_out(self, target: PlannedTarget, bump: Bump) -> Upgrade | Hold:
        """One step of the pin of ``target``."""
        return self._upgrade(target.pin, bump)

    def _carried_out(self, target: PlannedTarget, pin: Pin, decisions: Sequence[Bump | Hold]) -> Plan:
        return _plan(target, tuple(self._upgrade(pin, each) for each in decisions))

    def _upgrade(self, pin: Pin, decision: Bump | Hold) -> Upgrade | Hold:
        if isinstance(decision, Hold):
            return decision
        try:
            change = kind_of(pin).change(pin, decision.target, self._context)
        except FluxUpgradeError as error:
            reason = HoldReason.of(error)
            if reason is None:
                raise
            red = None if isinstance(error, reason.effect.passing) else type(error)
            return Hold(reason, error.message, error.hint, red, decision.bump_kind, decision.target)
        if change.hold is not None:
            return change.hold._replace(bump_kind=decision.bump_kind, target=decision.target)
        if not change.replacements:
            detail = f"{pin.raw} {_VERBS.get(pin.role, 'admits')} {decision.target}"
            return Hold(HoldReason.UP_TO_DATE, detail, bump_kind=decision.bump_kind)
        return Upgrade(decision, change)


def _plan(target: PlannedTarget, decisions: tuple[Upgrade | Hold, ...]) -> Plan:
    return Plan(target.pin, target.path, decisions)


def _asked(pin: Pin, to: Version) -> Bump | Hold:
    """What ``--to`` says."""
    order = compare(pin.version, to)
    if order == 0:
        return Hold(HoldReason.UP_TO_DATE, f"it is {to}")
    if order > 0:
        return Hold(
            HoldReason.DOWNGRADE,
            f"it is {pin.version}, newer than {to}",
            "Flux is not downgraded: mind the API versions that the cluster has stored",
            Downgrade,
        )
    return Bump(BumpKind.between(pin.version, to), to, approved=True, why=f"{to} was asked for")


def _is_apart(pin: Pin, lead: Plan) -> bool:
    """Whether it runs Flux itself, at an older minor: catching up is a minor bump like any other."""
    at = lead.pin.version
    runs = pin.role is Role.INSTALLS and pin.kind not in COPIES
    return runs and compare(pin.version, at) < 0 and BumpKind.between(pin.version, at) is not BumpKind.PATCH


def _following(pin: Pin, lead: Plan, target: PlannedTarget) -> Iterator[Bump | Hold]:
    if target.terms.to:
        yield _asked(pin, target.terms.to)
        return
    moves = [each.bump for each in lead.upgrades if compare(pin.version, each.target) < 0]
    aligned = None if any(each.bump_kind is BumpKind.PATCH for each in moves) else _aligned(pin, lead, target)
    if aligned is not None:
        yield aligned
    yield from moves
    if moves or aligned is not None:
        return
    current = lead.pin.version
    if compare(pin.version, current) > 0 and pin.role is Role.INSTALLS and lead.upgrades:
        detail = f"it is {pin.version} already, newer than {current} in {lead.path}"
        yield Hold(HoldReason.DRIFT, detail, f"it waits until {lead.path} is there; nothing is downgraded")
    elif any(hold.reason is not HoldReason.UP_TO_DATE for hold in lead.holds):
        yield Hold(HoldReason.FOLLOWS, f"it is {pin.version}, and moves with {lead.path}")
    else:
        yield Hold(HoldReason.UP_TO_DATE, f"it is {pin.version}, like {lead.path}: {current}")


def _aligned(pin: Pin, lead: Plan, target: PlannedTarget) -> Bump | None:
    """To where its cluster is already, should it lag behind."""
    current = lead.pin.version
    if not current or compare(pin.version, current) >= 0:
        return None
    if pin.role is Role.CLI and skew(pin.version, current) <= 1:
        return None
    feedback = target.terms.feedback
    is_refused = any(
        each.bump_kind is BumpKind.PATCH and each.target == current for each in feedback.rejections
    )
    if is_refused and not {current, current.minor} & set(feedback.approved):
        return None
    is_operator = pin.role is Role.OPERATOR
    ought = (
        "which the flux-operator has to know" if is_operator else "and the pins of a cluster ought to agree"
    )
    why = f"{lead.path} is at {current} already, {ought}"
    return Bump(BumpKind.PATCH, current, approved=True, why=why, aligns=True)


def _range_of(plan: Plan) -> str:
    """What stands there, where it is a range; else empty."""
    found = plan.pin
    return found.raw if found.state is PinState.RANGE else ""


def _knowing(pin: Pin, lead: Plan) -> Hold:
    """What there is to say of a pin of the flux-operator that knows enough."""
    if any(compare(hold.target, pin.version) > 0 for hold in lead.holds):
        return Hold(HoldReason.FOLLOWS, f"it knows Flux up to {pin.version}, and moves with {lead.path}")
    return Hold(HoldReason.UP_TO_DATE, f"it knows Flux up to {pin.version}")


def _held_within(made: Upgrade | Hold, lead: Plan) -> Upgrade | Hold:
    """What would bring more than was decided about, where the lead is a range that takes it at once: held."""
    taken = _range_of(lead)
    if isinstance(made, Hold):
        return made
    beyond = made.change.beyond
    if not (taken and allows(taken, beyond)):
        return made
    detail = f"{made.change.raw} knows {beyond}, too, which {taken} in {lead.path} takes at once"
    hint = f"approve {beyond.minor}, or write {made.target} out in {lead.path}"
    return Hold(HoldReason.UNSUPPORTED_PIN, detail, hint, bump_kind=made.bump_kind, target=made.target)
