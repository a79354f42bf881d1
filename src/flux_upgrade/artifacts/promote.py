"""Push what was planned, and move the tag: the step that writes into a registry.

The order makes the tag right after any failure: all that it is to stand for is there before it is
moved, and whatever it stood for has a tag of its own by then.
"""

from __future__ import annotations

from contextlib import suppress

from flux_upgrade.artifact.address import Address
from flux_upgrade.artifact.manifest import StoredManifest, parse
from flux_upgrade.errors import FluxUpgradeError, Overtaken
from flux_upgrade.ports import ArtifactRegistry
from flux_upgrade.promotion.moving import move
from flux_upgrade.promotion.plan import ArtifactPlan
from flux_upgrade.promotion.pulled import Means, Pulled
from flux_upgrade.promotion.pushing import keep, note, put
from flux_upgrade.promotion.successor import Successor, make
from flux_upgrade.values import NamedTuple


class Pushed(NamedTuple):
    """A successor that is in the registry."""

    successor: Successor
    stored: StoredManifest | None
    """None: it was there already, and nobody had to look at it."""
    is_new: bool
    """False: its content had been pushed before."""


class ArtifactOutcome(NamedTuple):
    """A plan, and what came of it."""

    plan: ArtifactPlan
    kept: str = ""
    """The immutable tag that what was pulled was given; empty: it had one, or there was nothing to do."""
    pushed: tuple[Pushed, ...] = ()
    promoted: str = ""
    """The digest that the tag was moved to; empty: it was not."""
    failure: FluxUpgradeError | None = None

    @property
    def errors(self) -> tuple[type[FluxUpgradeError], ...]:
        """What the run ends with."""
        failures = (type(self.failure),) if self.failure is not None else ()
        return failures + tuple(hold.error for hold in self.plan.plan.holds if hold.error is not None)


def carry_out(planned: ArtifactPlan, means: Means) -> ArtifactOutcome:
    """A failure ends it, and is told with what was done before."""
    outcome, pulled = ArtifactOutcome(planned), planned.pulled
    try:
        if planned.promoted is not None or not all(each.is_there for each in planned.successors):
            outcome = outcome._replace(kept=keep(pulled, means.registry))
        for each in planned.successors:
            has_config = any(pushed.is_new for pushed in outcome.pushed)
            pushed = _push(pulled, each, means, has_config=has_config)
            outcome = outcome._replace(pushed=(*outcome.pushed, pushed))
            if each is planned.promoted and pushed.stored is not None:
                _promote(pulled, pushed, pushed.stored, means.registry)
                outcome = outcome._replace(promoted=pushed.stored.digest)
    except FluxUpgradeError as error:
        return outcome._replace(failure=error)
    return outcome


def _push(pulled: Pulled, wanted: Successor, means: Means, *, has_config: bool) -> Pushed:
    """Under its immutable tag, unless its content is there."""
    if wanted.is_there:
        return Pushed(wanted, wanted.stored, is_new=False)
    with make(pulled, wanted, means) as made:
        put(pulled, wanted.tag, made, means.registry, has_config=has_config)
    return Pushed(wanted, made.stored, is_new=True)


def _promote(pulled: Pulled, pushed: Pushed, wanted: StoredManifest, registry: ArtifactRegistry) -> None:
    note(pulled, wanted, registry)
    try:
        move(pulled.address, pulled.stored.digest, wanted, registry)
    except Overtaken:
        if pushed.is_new:
            with suppress(FluxUpgradeError):
                _give_back(pulled.address, pushed.successor.tag, wanted, registry)
        raise


def _give_back(address: Address, tag: str, ours: StoredManifest, registry: ArtifactRegistry) -> None:
    """Another run made the same at the same time, and promoted its own: the immutable tag is of that one."""
    theirs = registry.manifest(address.tag)
    if theirs is not None and theirs.digest != ours.digest and parse(theirs).layers == parse(ours).layers:
        registry.put_manifest(theirs, tag)
