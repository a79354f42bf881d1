"""The artifacts that pins in Git name, where they are promoted by pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flux_upgrade.artifacts.impact import PromotionImpact
from flux_upgrade.artifacts.promote import keep, put
from flux_upgrade.artifacts.promotion_plan import MadeArtifact, checked, make, successor_of
from flux_upgrade.artifacts.pull import ArtifactPorts, Pulled, pull
from flux_upgrade.model.errors import NothingFound, Overtaken, Unreadable
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.pins.context import ArtifactRelease, RebasedArtifact
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.plan import Plan, PlannedTarget, Terms, Upgrade
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason


class _Rebased(NamedTuple):
    named: RebasedArtifact
    pulled: Pulled
    made: MadeArtifact | None


_Key = tuple[str, str, tuple[object, ...]]
"""Digest of what is rebased, the release that it is taken to, and the value of the terms."""


class PinnedArtifacts:
    """The port OwnArtifacts over a registry, and what pushes what it named."""

    def __init__(
        self,
        address: Address,
        planner: ManifestPlanner,
        terms_of: Callable[[str], Terms],
        ports: ArtifactPorts,
        impact: PromotionImpact | None = None,
    ) -> None:
        """``terms_of``: path of a pin → what governs it; the policy is not asked for."""
        self._impact = impact
        self.address = address
        self._planner, self._ports = planner, ports
        self._terms_of = terms_of
        self._pulled: dict[str, Pulled | ArtifactRelease] = {}
        self._rebased: dict[_Key, _Rebased | Hold] = {}
        self._stale: set[str] = set()
        self._kept: set[str] = set()
        self._has_config = False

    def at(self, reference: str) -> ArtifactRelease:
        found = self._at(reference)
        if isinstance(found, ArtifactRelease):
            return found
        hold = found.pin.held
        reason, hint = (hold.detail, hold.hint) if hold is not None else ("", "")
        return ArtifactRelease(found.pin.version, reason, hint, found.stored.digest)

    def rebased(self, reference: str, target: str, path: str) -> RebasedArtifact | Hold:
        # What was overtaken is looked at anew by the next plan, and not before.
        self._pulled = {
            name: each
            for name, each in self._pulled.items()
            if isinstance(each, ArtifactRelease) or each.stored.digest not in self._stale
        }
        self._rebased = {known: each for known, each in self._rebased.items() if known[0] not in self._stale}
        self._stale.clear()
        pulled, terms = self._movable(reference), self._to(target, path)
        key = pulled.stored.digest, target, terms.value
        if key not in self._rebased:
            self._rebased[key] = self._rebase(pulled, terms)
        found = self._rebased[key]
        return found.named if isinstance(found, _Rebased) else found

    def push(self, reference: str, target: str, path: str) -> None:
        pulled, registry = self._movable(reference), self._ports.registry
        key = pulled.stored.digest, target, self._to(target, path).value
        found = self._rebased[key]
        if isinstance(found, Hold) or found.made is None:
            return
        there = registry.digest(found.named.tag)
        if there not in (None, found.named.digest):
            self._stale.add(pulled.stored.digest)
            raise Overtaken(
                f"{self.address.repository}:{found.named.tag} was pushed by another user or run in the meantime",
                hint="run flux-upgrade again",
            )
        if pulled.stored.digest not in self._kept:
            keep(pulled, registry)
            self._kept.add(pulled.stored.digest)
        if there is None:
            # Another cluster may name the same one: what fails here is tried again there.
            put(pulled, found.named.tag, found.made, registry, has_config=self._has_config)
            self._has_config = True
        found.made.close()
        self._rebased[key] = found._replace(made=None)

    def _to(self, target: str, path: str) -> Terms:
        return self._terms_of(path)._replace(to=Version(target))

    def _movable(self, reference: str) -> Pulled:
        found = self._at(reference)
        assert isinstance(found, Pulled)  # noqa: S101 no other pin can be moved
        return found

    def _at(self, reference: str) -> Pulled | ArtifactRelease:
        if reference not in self._pulled:
            is_digest = reference.startswith("sha256:")
            address = self.address._replace(tag="" if is_digest else reference, digest=reference if is_digest else "")
            try:
                self._pulled[reference] = pull(address, self._ports)
            except (NothingFound, Unreadable) as error:
                self._pulled[reference] = ArtifactRelease(NO_VERSION, error.message, error.hint)
        return self._pulled[reference]

    def _rebase(self, pulled: Pulled, terms: Terms) -> _Rebased | Hold:
        installation = pulled.pin
        target = PlannedTarget(installation, installation.path, terms)
        plan = self._planner.plan(target)
        (planned,) = plan.decisions
        decided = planned
        out_of_reach: Hold | None = None
        if self._impact is not None:
            (decided,) = (gated := self._impact.in_artifact(plan, target, pulled)).decisions
            if isinstance(decided, Hold) and _takes_steps(gated, decided):
                # The reference in Git takes them one by one.
                out_of_reach, decided = decided, planned
        if not isinstance(decided, Upgrade):
            return decided
        found = checked(pulled, successor_of(pulled, decided), self._ports)
        remarks = tuple(_remarks(decided))
        if found.stored is not None:
            is_signed = self._ports.registry.is_signed(found.stored.digest, pulled.tags)
            named = RebasedArtifact(found.tag, found.stored.digest, remarks, is_signed, _manifests(pulled, decided))
            return _Rebased(named._replace(out_of_reach=out_of_reach), pulled, None)
        made = make(pulled, found, self._ports)
        named = RebasedArtifact(found.tag, made.stored.digest, remarks, manifests=_manifests(pulled, decided))
        return _Rebased(named._replace(out_of_reach=out_of_reach), pulled, made)


def _takes_steps(plan: Plan, hold: Hold) -> bool:
    """Return whether only the number of steps is in the way of a release."""
    impact = plan.impact_of(hold)
    is_blocked = hold.reason is HoldReason.BLOCKED_BY_API_REMOVAL
    return is_blocked and impact is not None and impact.takes_steps_to(hold.target)


def _manifests(pulled: Pulled, upgrade: Upgrade) -> tuple[bytes, bytes] | None:
    change = upgrade.change.manifest
    return (pulled.pin.content, change.new) if change is not None else None


def _remarks(upgrade: Upgrade) -> Iterator[str]:
    """What the rebase did with what is in the artifact, a sentence each."""
    change = upgrade.change.manifest
    if change is None:
        return
    carried = change.carried
    if carried.kept:
        yield f"{counted(len(carried.kept), 'edit')} of the manifest in the artifact kept."
    if carried.dropped:
        yield f"{counted(len(carried.dropped), 'edit')} replaced by the release's values."
    for name, old, new in upgrade.flags:
        yield f"The install flag {name} goes from {old or 'empty'} to {new or 'empty'}."
    if not change.verified:
        yield f"There is no checksum for the manifests of {upgrade.target}."
