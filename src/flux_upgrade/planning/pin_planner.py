"""Plan what becomes of pins: they follow their cluster, or lead it where it has no manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from flux_upgrade.clusters.clusters import COPIES
from flux_upgrade.model.errors import (
    Downgrade,
    FluxUpgradeError,
    ReleaseNotFound,
    ResidueConflict,
    SourceUnavailable,
    Unproved,
    Unreadable,
    UnsupportedPin,
    UnsupportedRelease,
    UntrustedArchive,
)
from flux_upgrade.model.versions import Release, Version, is_tag, minor_of, precedence
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.discover import kind_of
from flux_upgrade.pins.formats.ranges import allows
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role
from flux_upgrade.planning.plan import Plan, PlannedTarget, Upgrade
from flux_upgrade.policy.decision import Bump, BumpKind, Hold, HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy, decide
from flux_upgrade.policy.timeline import size

_REASONS: dict[type[FluxUpgradeError], HoldReason] = {
    UnsupportedPin: HoldReason.UNSUPPORTED_PIN,
    SourceUnavailable: HoldReason.SOURCE_UNAVAILABLE,
    UntrustedArchive: HoldReason.UNTRUSTED_ARTIFACT,
    ReleaseNotFound: HoldReason.UNSUPPORTED_RELEASE,
    # Of the manifest in an artifact that a pin names.
    UnsupportedRelease: HoldReason.UNSUPPORTED_RELEASE,
    ResidueConflict: HoldReason.RESIDUE_CONFLICT,
    Unreadable: HoldReason.UNREADABLE,
    Unproved: HoldReason.UNPROVED,
    Downgrade: HoldReason.CONTROLLER_NEWER,
}
_PASSES = (ReleaseNotFound,)
"""What is published a little later than the release is no failure."""


_VERBS = {Role.OPERATOR: "knows"}


class PinPlanner:
    """``releases``: all that the source lists."""

    def __init__(self, world: PinContext, releases: Sequence[Release], now: datetime) -> None:
        self._world, self._releases, self._now = world, releases, now

    def lead(self, subjected: PlannedTarget, pin: Pin) -> Plan:
        """The plan of a pin that speaks for its cluster: the policy decides about its version."""
        still = _unmovable(pin)
        if still is None and pin.role is Role.OPERATOR:
            still = _unled(pin)
        if still is not None:
            return _plan(subjected, (still,))
        if subjected.terms.to:
            return self._carried_out(subjected, pin, [_asked(pin, subjected.terms.to)])
        terms = subjected.terms
        decided = decide(pin.version, self._releases, terms.policy, terms.feedback, self._now)
        return self._carried_out(subjected, pin, decided)

    def follow(self, subjected: PlannedTarget, pin: Pin, lead: Plan) -> Plan:
        """The plan of a pin whose cluster is spoken for: it goes where ``lead`` goes, never backwards."""
        still = _unmovable(pin)
        if still is None and pin.role is Role.OPERATOR:
            return self._know(subjected, pin, lead)
        if still is not None:
            return _plan(subjected, (still,))
        if _is_apart(pin, lead) and not subjected.terms.to:
            return self._carried_out(subjected, pin, self._by_itself(subjected, pin, lead))
        return self._carried_out(subjected, pin, tuple(_following(pin, lead, subjected)))

    def _by_itself(self, subjected: PlannedTarget, pin: Pin, lead: Plan) -> Sequence[Bump | Hold]:
        """What the policy decides about a pin that runs another minor; not beyond where ``lead`` goes."""
        farthest = max([lead.installation.version, *(each.target for each in lead.upgrades)], key=precedence)
        within = [
            each
            for each in self._releases
            if is_tag(each.tag) and precedence(each.tag) <= precedence(farthest)
        ]
        return decide(pin.version, within, subjected.terms.policy, subjected.terms.feedback, self._now)

    def _know(self, subjected: PlannedTarget, pin: Pin, lead: Plan) -> Plan:
        """The plan of a pin of the flux-operator, which has to know what its cluster goes to.

        Its kind sees what it knows already, which comes to no change.
        """
        made = [self._upgrade(pin, each) for each in self._to_know(subjected, pin, lead)]
        needed = [each for each in made if isinstance(each, Upgrade) or each.reason != HoldReason.UP_TO_DATE]
        if not subjected.terms.to:
            needed = [_held_within(each, lead) for each in needed]
        return _plan(subjected, tuple(needed) or (_knowing(pin, lead),))

    def _to_know(self, subjected: PlannedTarget, pin: Pin, lead: Plan) -> Iterator[Bump | Hold]:
        found, terms = lead.installation, subjected.terms
        order = _compare(pin.version, found.version)
        if terms.to:
            if _compare(found.version, terms.to) <= 0:
                why = f"{terms.to} was asked for"
                yield Bump(size(found.version, terms.to), terms.to, approved=True, why=why)
        elif _range_of(lead) and (order >= 0 or allows(_range_of(lead), pin.version)):
            # Such a range takes by itself what the operator knows: the policy decides about that.
            at = min(pin.version, found.version, key=precedence)
            for each in decide(at, self._releases, terms.policy, terms.feedback, self._now):
                if order < 0 or isinstance(each, Bump):  # else the lead's plan says it
                    yield each
        else:
            moves = [each.candidate for each in lead.upgrades]
            is_patched = any(each.subject is BumpKind.PATCH for each in moves)
            aligned = None if is_patched else _aligned(pin, lead, subjected)
            yield from moves if aligned is None else [aligned, *moves]

    def serve(self, subjected: PlannedTarget, pin: Pin, clusters: Mapping[str, str]) -> Plan:
        """The plan of a CLI pin that serves several clusters. ``clusters``: name → release, at least one."""
        still = _unmovable(pin)
        decisions = (still,) if still is not None else (self._serving(pin, clusters, subjected),)
        return self._carried_out(subjected, pin, decisions)

    def _serving(self, pin: Pin, clusters: Mapping[str, str], subjected: PlannedTarget) -> Bump | Hold:
        if subjected.terms.to:
            return _asked(pin, subjected.terms.to)
        target = _within_reach(pin, sorted(set(clusters.values()), key=precedence))
        if isinstance(target, Hold):
            return target
        # It needs nobody's approval, and stays away where somebody refused it.
        only = (Release(target),)
        (decided,) = decide(
            pin.version, only, Policy(bump=MaxBump.MAJOR), subjected.terms.feedback, self._now
        )
        if isinstance(decided, Hold):
            return decided
        first = next(name for name, version in clusters.items() if version == target)
        why = f"the CLI serves {first} at {target}, and is kept within one minor of its clusters"
        return decided._replace(why=why)

    def carried_out(self, subjected: PlannedTarget, candidate: Bump) -> Upgrade | Hold:
        """One step of the pin of ``subjected``."""
        pin = subjected.installation
        assert isinstance(pin, Pin)  # noqa: S101 the caller has seen to it
        return self._upgrade(pin, candidate)

    def _carried_out(self, subjected: PlannedTarget, pin: Pin, decisions: Sequence[Bump | Hold]) -> Plan:
        return _plan(subjected, tuple(self._upgrade(pin, each) for each in decisions))

    def _upgrade(self, pin: Pin, decision: Bump | Hold) -> Upgrade | Hold:
        if isinstance(decision, Hold):
            return decision
        try:
            change = kind_of(pin).change(pin, decision.target, self._world)
        except tuple(_REASONS) as error:
            reason = next(reason for kind, reason in _REASONS.items() if isinstance(error, kind))
            red = None if isinstance(error, _PASSES) else type(error)
            return Hold(reason, error.message, error.hint, red, decision.subject, decision.target)
        if change.hold is not None:
            return change.hold._replace(subject=decision.subject, target=decision.target)
        if not change.replacements:
            detail = f"{pin.written} {_VERBS.get(pin.role, 'admits')} {decision.target}"
            return Hold(HoldReason.UP_TO_DATE, detail, subject=decision.subject)
        return Upgrade(decision, change)


def _plan(subjected: PlannedTarget, decisions: tuple[Upgrade | Hold, ...]) -> Plan:
    return Plan(subjected.installation, subjected.path, decisions)


def _unmovable(pin: Pin) -> Hold | None:
    if pin.held is not None:
        return pin.held
    if pin.standing is PinState.FLOATING:
        return Hold(HoldReason.FLOATING, pin.reason, pin.hint)
    if not pin.is_movable or Version.parse(pin.version) is None:
        return Hold(
            HoldReason.UNSUPPORTED_PIN, pin.reason or f"{pin.written} is no release of Flux", pin.hint
        )
    return None


def _asked(pin: Pin, to: str) -> Bump | Hold:
    """What ``--to`` says."""
    order = _compare(pin.version, to)
    if order == 0:
        return Hold(HoldReason.UP_TO_DATE, f"it is {to}")
    if order > 0:
        return Hold(
            HoldReason.DOWNGRADE,
            f"it is {pin.version}, newer than {to}",
            "Flux is not downgraded: mind the API versions that the cluster has stored",
            Downgrade,
        )
    return Bump(size(pin.version, to), to, approved=True, why=f"{to} was asked for")


def _is_apart(pin: Pin, lead: Plan) -> bool:
    """Whether it runs Flux itself, at an older minor: catching up is a minor bump like any other."""
    at = lead.installation.version
    runs = pin.role is Role.INSTALLS and pin.kind not in COPIES
    return runs and _compare(pin.version, at) < 0 and size(pin.version, at) is not BumpKind.PATCH


def _following(pin: Pin, lead: Plan, subjected: PlannedTarget) -> Iterator[Bump | Hold]:
    if subjected.terms.to:
        yield _asked(pin, subjected.terms.to)
        return
    moves = [each.candidate for each in lead.upgrades if _compare(pin.version, each.target) < 0]
    aligned = (
        None if any(each.subject is BumpKind.PATCH for each in moves) else _aligned(pin, lead, subjected)
    )
    if aligned is not None:
        yield aligned
    yield from moves
    if moves or aligned is not None:
        return
    current = lead.installation.version
    if _compare(pin.version, current) > 0 and pin.role is Role.INSTALLS and lead.upgrades:
        detail = f"it is {pin.version} already, newer than {current} in {lead.path}"
        yield Hold(HoldReason.DRIFT, detail, f"it waits until {lead.path} is there; nothing is downgraded")
    elif any(hold.reason is not HoldReason.UP_TO_DATE for hold in lead.holds):
        yield Hold(HoldReason.FOLLOWS, f"it is {pin.version}, and moves with {lead.path}")
    else:
        yield Hold(HoldReason.UP_TO_DATE, f"it is {pin.version}, like {lead.path}: {current}")


def _aligned(pin: Pin, lead: Plan, subjected: PlannedTarget) -> Bump | None:
    """To where its cluster is already, should it lag behind."""
    current = lead.installation.version
    if not current or _compare(pin.version, current) >= 0:
        return None
    if pin.role is Role.CLI and _skew(pin.version, current) <= 1:
        return None
    answers = subjected.terms.feedback
    is_refused = any(each.subject is BumpKind.PATCH and each.target == current for each in answers.muted)
    if is_refused and not {current, minor_of(current)} & set(answers.approved):
        return None
    is_operator = pin.role is Role.OPERATOR
    ought = (
        "which the flux-operator has to know" if is_operator else "and the pins of a cluster ought to agree"
    )
    why = f"{lead.path} is at {current} already, {ought}"
    return Bump(BumpKind.PATCH, current, approved=True, why=why, aligns=True)


def _range_of(plan: Plan) -> str:
    """What stands there, where it is a range; else empty."""
    found = plan.installation
    return found.written if isinstance(found, Pin) and found.standing is PinState.RANGE else ""


def _unled(pin: Pin) -> Hold:
    detail = f"it knows Flux up to {pin.version}, and nothing in its cluster says which Flux is wanted"
    return Hold(
        HoldReason.FOLLOWS, detail, "move its file into the folder of its cluster, or raise it by hand"
    )


def _knowing(pin: Pin, lead: Plan) -> Hold:
    """What there is to say of a pin of the flux-operator that knows enough."""
    if any(_compare(hold.target, pin.version) > 0 for hold in lead.holds):
        return Hold(HoldReason.FOLLOWS, f"it knows Flux up to {pin.version}, and moves with {lead.path}")
    return Hold(HoldReason.UP_TO_DATE, f"it knows Flux up to {pin.version}")


def _held_within(made: Upgrade | Hold, lead: Plan) -> Upgrade | Hold:
    """What would bring more than was decided about, where the lead is a range that takes it at once: held."""
    taken = _range_of(lead)
    if isinstance(made, Hold) or not isinstance(made.change, PinChange):
        return made
    beyond = made.change.beyond
    if not (taken and allows(taken, beyond)):
        return made
    detail = f"{made.change.written} knows {beyond}, too, which {taken} in {lead.path} takes at once"
    hint = f"approve {minor_of(beyond)}, or write {made.target} out in {lead.path}"
    return Hold(HoldReason.UNSUPPORTED_PIN, detail, hint, subject=made.subject, target=made.target)


def _within_reach(pin: Pin, versions: Sequence[str]) -> str | Hold:
    """The newest of ``versions``, lowest first, within one minor of each (fluxcd.io/flux/releases)."""
    lowest, highest = versions[0], versions[-1]
    if _compare(pin.version, highest) > 0 and _skew(lowest, pin.version) > 1:
        detail = f"the CLI is {pin.version}, more than one minor ahead of a cluster at {lowest}"
        return Hold(HoldReason.CLI_SKEW, detail, "upgrade that cluster, or give its tools a pin of their own")
    able = [each for each in versions if _skew(lowest, each) <= 1]
    target = able[-1]
    if _compare(pin.version, target) >= 0:
        if _skew(pin.version, highest) > 1:
            detail = f"the clusters are at {lowest} to {highest}: no CLI is within one minor of all of them"
            hint = f"upgrade the cluster at {lowest}, or give its tools a pin of their own"
            return Hold(HoldReason.CLI_SKEW, detail, hint)
        told = " to ".join(dict.fromkeys((lowest, highest)))
        return Hold(HoldReason.UP_TO_DATE, f"it is {pin.version}, within one minor of {told}")
    return target


def _compare(tag: str, other: str) -> int:
    """-1, 0 or 1; 0 also where one is no version."""
    a, b = Version.parse(tag), Version.parse(other)
    return 0 if a is None or b is None else (a > b) - (a < b)


def _skew(lower: str, higher: str) -> int:
    """Minors between two releases; of different majors, more than any."""
    a, b = Version.parse(lower), Version.parse(higher)
    if a is None or b is None:
        return 0
    return b.minor - a.minor if a.major == b.major else (99 if b > a else -99)
