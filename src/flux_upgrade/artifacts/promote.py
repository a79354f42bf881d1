"""Push what was planned, and move the tag: the step that writes into a registry; and the way back.

The order makes the tag right after any failure: all that it is to stand for is there before it is
moved, and whatever it stood for has a tag of its own by then.
"""

from __future__ import annotations

from contextlib import suppress

from flux_upgrade.artifacts.promotion_plan import ArtifactPlan, MadeArtifact, Successor, make
from flux_upgrade.artifacts.pull import ArtifactPorts, Pulled
from flux_upgrade.model.errors import FluxUpgradeError, NothingFound, NoWayBack, Overtaken, UsageError, known
from flux_upgrade.model.oci import reference as names
from flux_upgrade.model.oci.manifest import PREVIOUS, REVISION, VERSION, StoredManifest, parse
from flux_upgrade.model.oci.reference import Address
from flux_upgrade.model.ports import ArtifactRegistry
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag

_MOST_NAMED = 5


def put(pulled: Pulled, tag: str, made: MadeArtifact, registry: ArtifactRegistry, *, has_config: bool = False) -> None:
    """Blobs first. ``has_config``: another one was put before, and the config is the same for all.

    Raises what ``ArtifactRegistry`` raises; then the tag stands for nothing, or for the whole artifact.
    """
    # Flux has written the same one since v2.9.
    if not has_config and made.config_descriptor != pulled.manifest.config:
        registry.put_blob(made.config, made.config_descriptor)
    if made.layer is not None:
        registry.put_blob(made.layer, made.layer_descriptor)
    registry.put_manifest(made.stored, tag)


def keep(pulled: Pulled, registry: ArtifactRegistry) -> str:
    """A way back to what was pulled: a tag that is not moved. Empty where it has one, or needs none."""
    if not pulled.pin.version:
        return ""
    tag = names.immutable(pulled.pin.version, pulled.layer.diff_id)
    if tag in pulled.tags:
        # It may be of another manifest with the same content.
        if registry.digest(tag) == pulled.stored.digest:
            return ""
        tag = names.another(tag, pulled.stored.digest)
        if tag in pulled.tags:
            return ""
    registry.put_manifest(pulled.stored, tag)
    return tag


def note(pulled: Pulled, wanted: StoredManifest, registry: ArtifactRegistry) -> None:
    """Have a rollback find what was pulled, where ``wanted``, which is to take its place, does not tell."""
    before = names.before(pulled.address.tag, wanted.digest)
    # One that waited for its approval was made from what was promoted then. A note that there is may be
    # about an earlier promotion.
    if parse(wanted).annotations.get(PREVIOUS) != pulled.stored.digest or before in pulled.tags:
        registry.put_manifest(pulled.stored, before)


def move(address: Address, expected: str | None, wanted: StoredManifest, registry: ArtifactRegistry) -> None:
    """``expected``: the digest that the tag of ``address`` stands for so far; None: it is not there.

    Raises Overtaken where somebody else moved it, and what ``ArtifactRegistry`` raises; then nobody knows
    whether it was moved.
    """
    found = registry.digest(address.tag)
    if found != expected:
        raise Overtaken(
            f"another user or run moved {address} in the meantime; it is unchanged: " + _current_state(found),
            hint="run flux-upgrade again",
        )
    try:
        registry.put_manifest(wanted, address.tag)
        found = registry.digest(address.tag)
    except FluxUpgradeError:
        # The answer may have been lost on its way back.
        found = registry.digest(address.tag)
        if found == expected:
            raise
    if found != wanted.digest:
        raise Overtaken(
            f"{address} was moved to {wanted.digest}, and then moved by another user or run: {_current_state(found)}",
            hint="check which digest is right, and set it with `flux-upgrade rollback --to`",
        )


def _current_state(digest: str | None) -> str:
    return f"it points to {digest}" if digest else "it was deleted"


class Pushed(NamedTuple):
    successor: Successor
    stored: StoredManifest | None  # None: it was there already, and nobody had to look at it
    is_new: bool  # False: its content had been pushed before


class ArtifactOutcome(NamedTuple):
    """A plan, and what came of it."""

    plan: ArtifactPlan
    kept: str = ""  # The immutable tag that what was pulled was given; empty: it had one, or there was nothing to do
    pushed: tuple[Pushed, ...] = ()
    promoted: str = ""
    failure: FluxUpgradeError | None = None

    @property
    def errors(self) -> tuple[type[FluxUpgradeError], ...]:
        failures = (type(self.failure),) if self.failure is not None else ()
        return failures + tuple(hold.error for hold in self.plan.plan.holds if hold.error is not None)


def carry_out(planned: ArtifactPlan, ports: ArtifactPorts) -> ArtifactOutcome:
    """Push, and promote. A failure ends it: the outcome has it, and what was done before."""
    outcome, pulled = ArtifactOutcome(planned), planned.pulled
    try:
        if planned.promoted is not None or not all(each.is_there for each in planned.successors):
            outcome = outcome._replace(kept=keep(pulled, ports.registry))
        for each in planned.successors:
            pushed = Pushed(each, each.stored, is_new=not each.is_there)
            if not each.is_there:
                has_config = any(other.is_new for other in outcome.pushed)
                with make(pulled, each, ports) as made:
                    put(pulled, each.tag, made, ports.registry, has_config=has_config)
                pushed = pushed._replace(stored=made.stored)
            outcome = outcome._replace(pushed=(*outcome.pushed, pushed))
            if each is planned.promoted and pushed.stored is not None:
                _promote(pulled, pushed, pushed.stored, ports.registry)
                outcome = outcome._replace(promoted=pushed.stored.digest)
    except Exception as error:  # noqa: BLE001 what was done before is reported, whatever this one is
        return outcome._replace(failure=known(error))
    return outcome


def _promote(pulled: Pulled, pushed: Pushed, wanted: StoredManifest, registry: ArtifactRegistry) -> None:
    note(pulled, wanted, registry)
    migrated = names.migrated(pulled.address.tag, pulled.stored.digest)
    if pushed.successor.upgrade.approve_with and migrated not in pulled.tags:
        registry.put_manifest(pulled.stored, migrated)
    try:
        move(pulled.address, pulled.stored.digest, wanted, registry)
    except Overtaken:
        if pushed.is_new:
            with suppress(FluxUpgradeError):
                # Another run made the same at the same time, and promoted its own: the tag is of that one.
                theirs = registry.manifest(pulled.address.tag)
                is_other = theirs is not None and theirs.digest != wanted.digest
                if theirs is not None and is_other and parse(theirs).layers == parse(wanted).layers:
                    registry.put_manifest(theirs, pushed.successor.tag)
        raise


class Rollback(NamedTuple):
    address: Address
    current: StoredManifest
    wanted: StoredManifest
    rejected: str  # The release of Flux that is not to be proposed again, a tag; empty where it is not known
    noted: str  # The tag that `current` gets, so that the next run knows; empty where there is one already
    tags: tuple[str, ...]  # All tags of the repository


def plan_rollback(address: Address, back_to: str, registry: ArtifactRegistry) -> Rollback:
    """``back_to``: a tag or a digest; empty: what the last promotion began from.

    Raises NothingFound, NoWayBack, and what ``ArtifactRegistry`` raises; UsageError for a way that is
    newer, and for a tag that never moves.
    """
    if names.is_ours(address.tag):
        raise UsageError(f"{address} never moves", hint="use the tag that the clusters follow")
    current = registry.manifest(address.tag)
    if current is None:
        raise NothingFound(f"the artifact {address} does not exist", hint="check the name and the tag")
    tags = registry.tags()
    reference = back_to or names.before(address.tag, current.digest)
    if not back_to and reference not in tags:
        reference = parse(current).annotations.get(PREVIOUS, "")
    if not reference:
        raise NoWayBack(
            f"{address} was not promoted by flux-upgrade, so its previous digest is not known", hint=_elsewhere(tags)
        )
    wanted = registry.manifest(reference)
    if wanted is None:
        raise NoWayBack(f"{address.repository} no longer has {reference}", hint=_elsewhere(tags))
    if wanted.digest == current.digest:
        raise NoWayBack(f"{address} already points to {wanted.digest}", hint=_elsewhere(tags))
    version, older = _version(current), names.version_of(reference) or _version(wanted)
    if version and older and Version(older) > Version(version):
        raise UsageError(
            f"{older} is newer than {version}, the current version of {address}",
            hint=f"run `flux-upgrade upgrade {address} --approve {older}`",
        )
    noted = names.rejected(address.tag, version, current.digest)
    return Rollback(address, current, wanted, version, "" if noted in tags else noted, tags)


def roll_back(planned: Rollback, registry: ArtifactRegistry) -> None:
    """Remember what is rejected, then move the tag. Raises as ``move``."""
    if planned.noted:
        registry.put_manifest(planned.current, planned.noted)
    move(planned.address, planned.current.digest, planned.wanted, registry)


def _version(stored: StoredManifest) -> str:
    """The release of Flux in an artifact of ours; empty for any other."""
    annotations = parse(stored).annotations
    version = annotations.get(VERSION, annotations.get(REVISION, "")).partition("@")[0]
    return version if PREVIOUS in annotations and is_tag(version) else ""


def _elsewhere(tags: tuple[str, ...]) -> str:
    ours = [tag for tag in tags if names.is_immutable(tag)]
    there = f"; there are {', '.join(ours[-_MOST_NAMED:])}" if ours else ""
    return f"set a tag or digest with --to{there}"
