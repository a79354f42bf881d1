"""API versions that a cluster may have stored and that the target's CRDs lack, however its release is written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.assessment.earlier_releases import EarlierRelease, earlier_releases
from flux_upgrade.assessment.evidence import Evidence, Transition, crd_list
from flux_upgrade.impact.diff.changes import CrdChange
from flux_upgrade.impact.diff.crds import version_changes
from flux_upgrade.impact.impact import Stored
from flux_upgrade.impact.overlay.pinned import Pinned, manifest_at
from flux_upgrade.impact.stored_versions import history
from flux_upgrade.impact.stored_versions.refused import (
    Definition,
    InstalledCrds,
    Past,
    PastState,
    Target,
    installed_crds,
    past_of,
    past_of_parts,
    refusals,
    release_of,
    stored_after,
)
from flux_upgrade.model.errors import FluxUpgradeError, ReleaseNotFound
from flux_upgrade.model.file_history import FileRevisions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import NO_VERSION, Version
from flux_upgrade.pins.discover import pin_in
from flux_upgrade.pins.own_artifact import pin as own_artifact
from flux_upgrade.pins.pin import Pin, PinState

_ONE_MINOR = re.compile(r"[~=v]*\d+\.\d+\.(?:\d+|[xX*])")  # A range within one minor


class InstalledEnds(NamedTuple):
    """The CRDs of the installation before and after."""

    now: InstalledCrds
    then: InstalledCrds
    manifest: bytes  # After

    @property
    def target(self) -> Target:
        versions = {name: crd.versions for name, crd in self.then.crds.items()}
        return Target(versions, lambda name: next(crd.kind for crd in crd_list(self.manifest) if crd.name == name))

    @property
    def drops_versions(self) -> bool:
        both = self.now.crds.keys() & self.then.crds.keys()
        return any(self.now.crds[name].versions - self.then.crds[name].versions for name in both)


def released(reference: Pinned, transition: Transition, evidence: Evidence) -> tuple[bytes, bytes] | Unknown:
    """Return what Flux's releases install before and after. Raises SourceUnavailable, UntrustedArchive."""
    ends = []
    for tag in (transition.pin.version, transition.target):
        try:
            manifest = manifest_at(reference, tag, evidence.pin_context)
        except ReleaseNotFound as error:  # a mirror need not have the release in use
            return Unknown(error.message)
        if isinstance(manifest, Unknown):
            return manifest
        ends.append(manifest)
    return ends[0], ends[1]


def installed_ends(
    transition: Transition, manifests: tuple[bytes, bytes] | Unknown, evidence: Evidence
) -> InstalledEnds | Unknown:
    """Return the CRDs of both ends; of all components, if it is unknown which are installed.

    ``manifests``: before and after, if they are known. Without readable CRDs, those of the releases
    count. Raises SourceUnavailable, UntrustedArchive, Unreadable.
    """
    if isinstance(manifests, Unknown) or None in map(installed_crds, manifests):
        manifests = released(Pinned(components=transition.pin.components or ()), transition, evidence)
    if isinstance(manifests, Unknown):
        return manifests
    now, then = (installed_crds(each) or InstalledCrds(NO_VERSION, {}) for each in manifests)
    return InstalledEnds(now, then, manifests[1])


def crd_changes(
    ends: InstalledEnds | Unknown, transition: Transition, evidence: Evidence
) -> tuple[CrdChange, ...] | Unknown:
    """Return what changes in the versions of the installed CRDs, as the two releases have them."""
    before, after = evidence.served(transition.pin.version), evidence.served(transition.target)
    if isinstance(ends, Unknown) or isinstance(before, Unknown) or isinstance(after, Unknown):
        return next(each for each in (ends, before, after) if isinstance(each, Unknown))
    names = [name for name in after.crds if name in before.crds and name in ends.now.crds]
    return tuple(version_changes(before.crds[name], after.crds[name]) for name in names)


def stored_today(transition: Transition, ends: InstalledEnds | Unknown) -> Stored:
    """Return what would be refused of the target, had nothing run but the release in use."""
    if isinstance(ends, Unknown):
        return Stored(unknown=ends)
    if not ends.drops_versions:
        return Stored(unknown=transition.doubt)
    past = Past(missing=transition.doubt)
    return stored_after(past, ends.now, ends.target, transition.migrated, transition.pin.version)


def stored_before(transition: Transition, ends: InstalledEnds | Unknown, evidence: Evidence) -> Stored:
    """Return what would be refused of the target, by all releases that ran.

    An earlier run may have written it down: then no history is read.
    """
    if isinstance(ends, Unknown) or not ends.drops_versions:
        return stored_today(transition, ends)
    pin, migrated = transition.pin, transition.migrated
    asked = history.HistoryQuery(transition.path, pin.content, pin.version, transition.target, migrated)
    written = history.read(transition.feedback.stored, asked) if transition.doubt is None else None
    if written is not None:
        return written
    past = _past(transition, ends.now, evidence)
    if not transition.by_operator:
        return stored_after(past, ends.now, ends.target, migrated, pin.version)
    unaided = stored_after(past, ends.now, ends.target, transition.feedback.migrated, pin.version)
    aided = refusals(unaided.refused, unaided.after_migrate, migrated, pin.version)
    return aided._replace(unknown=unaided.unknown)


def _past(transition: Transition, now: InstalledCrds, evidence: Evidence) -> Past:
    """Return the earlier states of an installation. ``now``: its CRDs today."""
    pin = transition.pin
    if pin.parts:
        return past_of_parts([evidence.past(part.path) for part in pin.files(transition.path)])
    revisions = evidence.past(transition.path)
    if pin.is_manifest and pin.proof.absent_crds:
        return Past(_states_by_name(revisions, now, evidence), revisions.missing)
    if pin.is_manifest:
        return past_of(revisions)
    earlier = earlier_releases(pin, revisions, lambda value: _release_of(value, transition, evidence))
    states = (each if isinstance(each, Unknown) else _state(each, now, evidence) for each in earlier.runs)
    return Past([*states, *filter(None, (transition.doubt,))])


def _states_by_name(revisions: FileRevisions, now: InstalledCrds, evidence: Evidence) -> Iterator[PastState | Unknown]:
    """Yield the states of a manifest without CRDs, by the release that each commit names."""
    for revision in revisions.versions:
        tag = release_of(revision.content)
        named = _state(EarlierRelease(tag, revision), now, evidence) if tag else None
        yield named or Unknown("an earlier commit of the file names no release")
    if revisions.gap is not None:
        yield revisions.gap


def _state(earlier: EarlierRelease, now: InstalledCrds, evidence: Evidence) -> PastState | Unknown:
    """Return the CRDs of an earlier release, of those that are there now."""
    # All patches of a minor have the same versions.
    tags = evidence.pin_context.regenerator.stable_tags()
    served = evidence.served(next((tag for tag in tags if tag.minor == earlier.version.minor), earlier.version))
    if isinstance(served, Unknown):
        return served
    crds = {
        name: Definition(crd.storage, frozenset(each.name for each in crd.versions))
        for name, crd in served.crds.items()
        if name in now.crds
    }
    return PastState(InstalledCrds(earlier.version, crds), earlier.revision.date, earlier.revision.is_aside)


def _release_of(value: str, transition: Transition, evidence: Evidence) -> Version | Unknown:
    """Return the release that another value of the reference comes to, with all else as it is today."""
    pin, context = transition.pin, evidence.pin_context
    unknown = Unknown(f"the Flux release of {value} is unknown")
    try:
        if pin.kind == own_artifact.NAME and context.own is not None:
            return context.own.at(value).version or unknown
        same = pin_in(_with_value(value, pin), pin._replace(path=transition.path), context)
    except FluxUpgradeError as error:
        return Unknown(error.message)
    # A larger range may have installed any of its releases.
    is_exact = same is not None and (same.state is PinState.EXACT or _ONE_MINOR.fullmatch(value) is not None)
    return same.version or unknown if same is not None and is_exact else unknown


def _with_value(value: str, pin: Pin) -> bytes:
    """Return the file of a reference with another value in it."""
    lines = pin.content.decode(errors="surrogateescape").splitlines(keepends=True)
    lines[pin.line - 1] = lines[pin.line - 1].replace(pin.raw, value)
    return "".join(lines).encode(errors="surrogateescape")
