"""Plan what becomes of pins: they follow their cluster, or lead it where it has no manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from flux_upgrade.clusters.clusters import ANYWHERE
from flux_upgrade.model.errors import Downgrade, FluxUpgradeError, Unverified
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.pins import before_flux_2
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import kind_of
from flux_upgrade.pins.formats.ranges import allows
from flux_upgrade.pins.pin import Pin, PinState, Role
from flux_upgrade.planning.plan import Plan, PlannedTarget, Upgrade
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy, decide

_OLDEST_MAJOR = 2  # Upgrades begin with it


class PinPlanner:
    """Plans pins. ``releases``: all that the source lists."""

    def __init__(self, context: PinContext, releases: Sequence[Release], now: datetime) -> None:
        self._context, self._releases, self._now = context, releases, now

    def plan(self, target: PlannedTarget, lead: Plan | None = None, served: Mapping[str, Version] = {}) -> Plan:
        """What becomes of a pin, which goes where ``lead`` goes, never backwards.

        Without ``lead`` it speaks for its cluster, and the policy decides about its version. ``served``: of
        a pin of the CLI that serves several clusters, name → release.
        """
        decisions = self._decisions(target, lead, served)
        return Plan(target.pin, target.path, tuple(self.carried_out(target, each) for each in decisions))

    def _decisions(
        self, target: PlannedTarget, lead: Plan | None, served: Mapping[str, Version]
    ) -> Iterable[Bump | Upgrade | Hold]:
        pin, to = target.pin, target.terms.to
        still = _unmovable(pin, lead)
        if still is None and pin.role is Role.OPERATOR and lead is not None:
            return self._knowing(target, lead)
        if still is not None or to:
            return [still or _asked(pin, to)]
        if served:
            return [self._serving(target, served)]
        if lead is None:
            return self._decide(target, pin.version)
        if _is_apart(pin, lead):
            # The policy decides about a pin that runs another minor; not beyond where `lead` goes.
            farthest = max([lead.pin.version, *(each.target for each in lead.upgrades)])
            return self._decide(target, pin.version, [each for each in self._releases if each.tag <= farthest])
        return _following(target, lead)

    def _decide(
        self, target: PlannedTarget, current: Version, releases: Sequence[Release] | None = None
    ) -> tuple[Bump | Hold, ...]:
        listed, terms = self._releases if releases is None else releases, target.terms
        return decide(current, listed, terms.governance.policy, terms.feedback, self._now)

    def _knowing(self, target: PlannedTarget, lead: Plan) -> Sequence[Upgrade | Hold]:
        """What becomes of a pin of the flux-operator, which has to know what its cluster goes to.

        Its kind sees what it knows already, which comes to no change.
        """
        pin = target.pin
        made = [self.carried_out(target, each) for each in self._to_know(target, lead)]
        needed = [each for each in made if isinstance(each, Upgrade) or each.reason != HoldReason.UP_TO_DATE]
        if not target.terms.to:
            needed = [_held_within(each, lead) for each in needed]
        if needed:
            return needed
        knows = f"it supports Flux up to {pin.version}"
        if any(compare(hold.target, pin.version) > 0 for hold in lead.holds):
            return [Hold(HoldReason.FOLLOWS, f"{knows}, and is updated together with {lead.path}")]
        return [Hold(HoldReason.UP_TO_DATE, knows)]

    def _to_know(self, target: PlannedTarget, lead: Plan) -> Iterator[Bump | Hold]:
        pin, found, to = target.pin, lead.pin, target.terms.to
        order = compare(pin.version, found.version)
        if to:
            if compare(found.version, to) <= 0:
                kind = BumpKind.between(found.version, to)
                yield Bump(kind, to, approved=True, why=f"you requested {to}")
        elif _range_of(lead) and (order >= 0 or allows(_range_of(lead), pin.version)):
            # Such a range takes by itself what the operator knows: the policy decides about that.
            for each in self._decide(target, min(pin.version, found.version)):
                if order < 0 or isinstance(each, Bump):  # else the lead's plan says it
                    yield each
        else:
            moves = [each.bump for each in lead.upgrades]
            yield from (*_aligned(target, lead, moves), *moves)

    def _serving(self, target: PlannedTarget, clusters: Mapping[str, Version]) -> Bump | Hold:
        release = _within_reach(target.pin, sorted(set(clusters.values())))
        if isinstance(release, Hold):
            return release
        # It needs no approval, and is not proposed again where a user refused it.
        only, policy = (Release(release),), Policy(bump=MaxBump.MAJOR)
        (decided,) = decide(target.pin.version, only, policy, target.terms.feedback, self._now)
        if isinstance(decided, Hold):
            return decided
        first = next(name for name, version in clusters.items() if version == release)
        why = f"{first} is at {release}, and the CLI stays within one minor version of its clusters"
        return decided._replace(why=why)

    def carried_out(self, target: PlannedTarget, decision: Bump | Upgrade | Hold) -> Upgrade | Hold:
        """What comes of a decision about the pin of ``target``."""
        if not isinstance(decision, Bump):
            return decision
        try:
            change = kind_of(target.pin).change(target.pin, decision.target, self._context)
        except FluxUpgradeError as error:
            reason = HoldReason.of(error)
            if reason is None:
                raise
            red = None if isinstance(error, reason.effect.passing) else type(error)
            return Hold(reason, error.message, error.hint, red, decision.bump_kind, decision.target)
        if change.hold is not None:
            return change.hold.of(decision)
        if not change.replacements:
            verb = "supports" if target.pin.role is Role.OPERATOR else "admits"
            detail = f"{target.pin.raw} {verb} {decision.target}"
            return Hold(HoldReason.UP_TO_DATE, detail, bump_kind=decision.bump_kind)
        return Upgrade(decision, change)


def _unmovable(pin: Pin, lead: Plan | None) -> Hold | None:
    """Why a pin stays as it is, whatever there is to upgrade to."""
    if pin.held is not None:
        return pin.held
    if pin.state is PinState.FLOATING:
        return Hold(HoldReason.FLOATING, pin.reason, pin.hint)
    if not pin.is_movable or Version.parse(pin.version) is None:
        return Hold(HoldReason.UNSUPPORTED_PIN, pin.reason or f"{pin.raw} is not a Flux release", pin.hint)
    if pin.role is Role.INSTALLS and Version(pin.version).numbers[0] < _OLDEST_MAJOR:
        is_copy = lead is not None and pin.kind in ANYWHERE
        hold = Hold(HoldReason.UNVERIFIED, before_flux_2.older(pin.version), before_flux_2.IN_FILE, Unverified)
        return None if is_copy else hold
    if pin.role is Role.OPERATOR and lead is None:
        detail = f"it supports Flux up to {pin.version}, but no file of its cluster selects a Flux version"
        hint = "move the file into its cluster's directory, or update the version yourself"
        return Hold(HoldReason.FOLLOWS, detail, hint)
    return None


def _within_reach(pin: Pin, versions: Sequence[Version]) -> Version | Hold:
    """The newest of ``versions``, lowest first, within one minor of each (fluxcd.io/flux/releases)."""
    lowest, highest = versions[0], versions[-1]
    if compare(pin.version, highest) > 0 and _skew(lowest, pin.version) > 1:
        detail = f"the CLI is at {pin.version}, more than one minor version ahead of a cluster at {lowest}"
        return Hold(HoldReason.CLI_SKEW, detail, "upgrade that cluster, or set a separate CLI version for its tools")
    able = [each for each in versions if _skew(lowest, each) <= 1]
    target = able[-1]
    if compare(pin.version, target) >= 0:
        if _skew(pin.version, highest) > 1:
            detail = f"the clusters are at {lowest} to {highest}: no CLI is within one minor version of all of them"
            hint = f"upgrade the cluster at {lowest}, or set a separate CLI version for its tools"
            return Hold(HoldReason.CLI_SKEW, detail, hint)
        span = " to ".join(dict.fromkeys((lowest, highest)))
        return Hold(HoldReason.UP_TO_DATE, f"it is at {pin.version}, within one minor version of {span}")
    return target


def compare(tag: str, other: str) -> int:
    """-1, 0 or 1; 0 also where one is no version."""
    a, b = Version.parse(tag), Version.parse(other)
    return 0 if a is None or b is None else (a > b) - (a < b)


def _skew(lower: str, higher: str) -> int:
    """Minors between two releases; of different majors, more than any."""
    a, b = Version.parse(lower), Version.parse(higher)
    if a is None or b is None:
        return 0
    return b.numbers[1] - a.numbers[1] if a.numbers[0] == b.numbers[0] else (99 if b > a else -99)


def _asked(pin: Pin, to: Version) -> Bump | Hold:
    order = compare(pin.version, to)
    if order == 0:
        return Hold(HoldReason.UP_TO_DATE, f"it is already at {to}")
    if order > 0:
        return Hold(
            HoldReason.DOWNGRADE,
            f"it is at {pin.version}, newer than {to}",
            "request a newer version: flux-upgrade never downgrades Flux",
            Downgrade,
        )
    return Bump(BumpKind.between(pin.version, to), to, approved=True, why=f"you requested {to}")


def _is_apart(pin: Pin, lead: Plan) -> bool:
    """Whether it runs Flux itself, at an older minor: catching up is a minor bump like any other."""
    at = lead.pin.version
    runs = pin.role is Role.INSTALLS and pin.kind not in ANYWHERE
    return runs and compare(pin.version, at) < 0 and BumpKind.between(pin.version, at) is not BumpKind.PATCH


def _following(target: PlannedTarget, lead: Plan) -> Iterator[Bump | Hold]:
    pin, current = target.pin, lead.pin.version
    moves = [each.bump for each in lead.upgrades if compare(pin.version, each.target) < 0]
    decided = [*_aligned(target, lead, moves), *moves]
    if decided:
        yield from decided
    elif compare(pin.version, current) > 0 and pin.role is Role.INSTALLS and lead.upgrades:
        detail = f"it is already at {pin.version}, newer than {current} in {lead.path}"
        yield Hold(HoldReason.DRIFT, detail, f"wait until {lead.path} is at {pin.version}, or restore {current}")
    elif any(hold.reason is not HoldReason.UP_TO_DATE for hold in lead.holds):
        yield Hold(HoldReason.FOLLOWS, f"it is at {pin.version}, and is updated together with {lead.path}")
    else:
        yield Hold(HoldReason.UP_TO_DATE, f"it is at {pin.version}, and {lead.path} at {current}")


def _aligned(target: PlannedTarget, lead: Plan, moves: Sequence[Bump]) -> Iterator[Bump]:
    """To where its cluster is already, should it lag behind and none of ``moves`` be a patch."""
    pin, current = target.pin, lead.pin.version
    if any(each.bump_kind is BumpKind.PATCH for each in moves):
        return
    if not current or compare(pin.version, current) >= 0:
        return
    if pin.role is Role.CLI and _skew(pin.version, current) <= 1:
        return
    feedback = target.terms.feedback
    is_refused = any(each.bump_kind is BumpKind.PATCH and each.target == current for each in feedback.rejections)
    if is_refused and not {current, current.minor} & set(feedback.approved):
        return
    is_operator = pin.role is Role.OPERATOR
    ought = "which the flux-operator must support" if is_operator else "and this reference is older"
    why = f"{lead.path} is already at {current}, {ought}"
    yield Bump(BumpKind.PATCH, current, approved=True, why=why, aligns=True)


def _range_of(plan: Plan) -> str:
    """What stands there, where it is a range; else empty."""
    found = plan.pin
    return found.raw if found.state is PinState.RANGE else ""


def _held_within(made: Upgrade | Hold, lead: Plan) -> Upgrade | Hold:
    """What would bring more than was decided about, where the lead is a range that takes it at once: held."""
    taken = _range_of(lead)
    if isinstance(made, Hold):
        return made
    beyond = made.change.beyond
    if not (taken and allows(taken, beyond)):
        return made
    detail = f"{made.change.raw} also supports {beyond}, and {taken} in {lead.path} would install it immediately"
    hint = f"approve {beyond.minor}, or set {made.target} in {lead.path}"
    return Hold(HoldReason.UNSUPPORTED_PIN, detail, hint, bump_kind=made.bump_kind, target=made.target)
