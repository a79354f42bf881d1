"""What going from one release of Flux to another means for a cluster, however its version is written."""

from __future__ import annotations

from flux_upgrade.assessment.applied import not_applied
from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.assessment.evidence import Evidence, Transition, lacking_kinds
from flux_upgrade.assessment.force import forced
from flux_upgrade.assessment.left_out_crds import to_bring
from flux_upgrade.assessment.overlays import built_objects
from flux_upgrade.assessment.storage import crd_changes, installed_ends, released, stored_before, stored_today
from flux_upgrade.assessment.uses import files_of, in_files, known_facts, orphaned, turned_off_uses, unfollowed, unread
from flux_upgrade.config.config import Migrate
from flux_upgrade.impact.api_uses.flux_file import UsePlace
from flux_upgrade.impact.diff.changes import NO_CHANGES, Changes
from flux_upgrade.impact.diff.compare import manifest_changes
from flux_upgrade.impact.impact import Detour, Indication, Managed
from flux_upgrade.impact.kubernetes_versions import fit
from flux_upgrade.impact.migrate.result import Left, Reason
from flux_upgrade.impact.overlay.check import check_overlay
from flux_upgrade.impact.overlay.pinned import Pinned, check_pinned, pinned
from flux_upgrade.impact.overlay.result import Overlay
from flux_upgrade.impact.served_apis import upgrade_path
from flux_upgrade.impact.stored_versions import history
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.file_history import Mentions
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.model.versions import NO_VERSION, Version, is_tag
from flux_upgrade.pins.own_artifact import pin as own_artifact
from flux_upgrade.policy.decision import ChangeKind


def assess(transition: Transition, evidence: Evidence, *, in_steps: bool = False) -> Assessment:
    """Assess a transition, without the releases that ran before: ``look_back`` adds those.

    ``in_steps``: if one step is not enough, only the path counts, and nothing is compared.
    Raises ReleaseNotFound, SourceUnavailable, UntrustedArchive, Unreadable.
    """
    transition = _with_settings(transition, evidence)
    result = Assessment(
        by_operator=transition.by_operator,
        migrated=transition.feedback.migrated,
        kubernetes=fit(transition.governance.kubernetes_version, transition.target),
    )
    manifests = manifests_of(transition, evidence)
    if transition.crosses_minor:
        result = result._replace(absent_crds=tuple(sorted(key.name for key in transition.pin.proof.absent_crds)))
        result = _in_repository(transition, result, manifests, evidence)
        if result.upgrade_path and in_steps:
            return result
    result = _compared(transition, result, manifests, evidence)
    if not transition.crosses_minor and _may_break(transition, result.changes):
        result = _in_repository(transition, result, manifests, evidence)
    result = result._replace(crds_to_bring=to_bring(transition, result, evidence))
    if _is_vendored(transition):
        result = result._replace(not_applied=not_applied(transition, evidence))
    patched, removed = known_or(result.overlay, None), known_or(result.changes, NO_CHANGES).crds_removed
    turned_off = patched.turned_off if patched is not None else ()
    if not (turned_off or removed):
        return result
    files = files_of(_with_lacking(transition, manifests, evidence), evidence)
    gone = orphaned(transition, removed, files, evidence)
    return result._replace(orphaned=tuple(gone), turned_off=tuple(turned_off_uses(turned_off, files, result.moves)))


def _in_repository(
    transition: Transition, result: Assessment, manifests: tuple[bytes, bytes] | Unknown, evidence: Evidence
) -> Assessment:
    """Return an assessment with files to migrate, stored objects, and the path to the target."""
    transition = _with_lacking(transition, manifests, evidence)
    files = files_of(transition, evidence)
    if files:
        result = in_files(transition, result, files, evidence)
    ends = installed_ends(transition, manifests, evidence)
    not_read, not_followed = unread(transition, evidence), unfollowed(transition, evidence)
    result = result._replace(unread=not_read, unfollowed=not_followed, stored=stored_today(transition, ends))
    result = result._replace(known=known_facts(transition, evidence))
    if isinstance(manifests, Unknown):
        result = result._replace(released_crds=crd_changes(ends, transition, evidence))
    if isinstance(ends, Unknown) or ends.drops_versions:
        reference = None if _is_vendored(transition) else _pinned(transition, evidence)
        result = result._replace(forced=forced(transition, reference, evidence))
    installed = frozenset(() if isinstance(ends, Unknown) else ends.now.crds)
    path = _upgrade_path(transition, result, installed, evidence)
    if not path:
        return result
    stored_in = sorted({(each.kind, each.version) for each in result.stored.after_migrate})
    detour = Detour(transition.target, tuple(stored_in), sum(map(_is_unbridged, result.lefts)))
    return result._replace(upgrade_path=path, detour=detour)


def _with_lacking(transition: Transition, manifests: tuple[bytes, bytes] | Unknown, evidence: Evidence) -> Transition:
    if isinstance(manifests, Unknown):
        return transition
    served = evidence.apis.at(transition.target)
    lacking = lacking_kinds(transition.path, transition.cluster, manifests, served)
    return transition._replace(lacking=known_or(lacking, transition.lacking))


def _compared(
    transition: Transition, result: Assessment, manifests: tuple[bytes, bytes] | Unknown, evidence: Evidence
) -> Assessment:
    """Return an assessment with the changes in the cluster, and the patches that break."""
    if isinstance(manifests, Unknown):
        return result._replace(changes=manifests, overlay=manifests)
    old, new = manifests
    question = "changes", old, new
    return result._replace(
        changes=evidence.once(question, lambda: manifest_changes(parse(old).documents, parse(new).documents)),
        overlay=_overlay_of(transition, manifests, evidence),
        identical_to=_identical(transition, evidence),
    )


def look_back(transition: Transition, result: Assessment, evidence: Evidence) -> Assessment:
    """Return an assessment with what the histories of the installation and of API uses show.

    The first is not read if an earlier run has written it down.
    """
    if not _may_break(transition, result.changes):
        return result
    transition = _with_settings(transition, evidence)
    if result.may_lose_versions:
        ends = installed_ends(transition, manifests_of(transition, evidence), evidence)
        result = result._replace(stored=stored_before(transition, ends, evidence))
    # The flux-operator rewrites managed fields after each minor, from 0.31.0 on.
    return result if result.by_operator else result._replace(managed=_managed(transition, result, evidence))


def with_earlier_tries(transition: Transition, result: Assessment, evidence: Evidence) -> Assessment:
    """Return an assessment with what a manifest's history says of earlier upgrades, if that costs no requests."""
    past = evidence.history
    if not transition.pin.is_manifest or isinstance(past, Unknown) or not past.is_local:
        return result
    return result._replace(earlier=history.earlier_tries(evidence.past(transition.path), transition.target))


def manifests_of(transition: Transition, evidence: Evidence) -> tuple[bytes, bytes] | Unknown:
    """Return the manifests before and after the transition, before any patch. Raises as ``assess``."""
    pin, context = transition.pin, evidence.pin_context
    if transition.new is not None:
        return _with_released_crds(transition, transition.new, evidence)
    if pin.kind == own_artifact.NAME:
        manifests = own_artifact.manifests(pin, transition.target, context)
        return manifests if manifests is not None else Unknown("the artifact cannot be taken to the release")
    reference = _pinned(transition, evidence)
    if isinstance(reference, Unknown):
        return reference
    return reference.doubt or released(reference, transition, evidence)


def _with_released_crds(transition: Transition, new: bytes, evidence: Evidence) -> tuple[bytes, bytes]:
    """Return the manifests, with the CRDs of the releases in place of those that are applied from elsewhere."""
    pin = transition.pin
    absent, options = pin.proof.absent_crds, pin.proof.options
    if not absent or options is None:
        return pin.content, new
    sides = []
    for manifest, version in ((pin.content, pin.version), (new, transition.target)):
        released = evidence.pin_context.regenerator.regenerate(options._replace(version=version)).manifest.objects
        texts = [released[key].text for key in sorted(absent) if key in released]
        sides.append(b"---\n".join([manifest.rstrip(b"\n") + b"\n", *(text.encode() for text in texts)]))
    return sides[0], sides[1]


def _overlay_of(transition: Transition, manifests: tuple[bytes, bytes], evidence: Evidence) -> Overlay | Unknown | None:
    """Judge the patches over an installation; None: nothing is patched. Raises as ``assess``."""
    tree = evidence.tree
    if _is_vendored(transition):
        if transition.new is not None:  # Without the CRDs that something else applies
            manifests = transition.pin.content, transition.new
        parts = transition.pin.files(transition.path) if transition.pin.parts else ()
        return check_overlay(tree, transition.path, *manifests, evidence.builder, parts=parts)
    reference = _pinned(transition, evidence)
    return reference if isinstance(reference, Unknown) else check_pinned(reference, tree, *manifests)


def _is_vendored(transition: Transition) -> bool:
    return transition.new is not None and transition.cluster.members[0].pin.is_manifest


def _pinned(transition: Transition, evidence: Evidence) -> Pinned | Unknown:
    """Return what a reference installs; of an artifact's manifest, what the reference to the artifact does."""
    pin = transition.pin if transition.new is None else transition.cluster.members[0].pin
    path, others = transition.path, evidence.others(transition.cluster)
    question = "pinned", path, pin.line, transition.cluster.name
    return evidence.once(
        question,
        lambda: pinned(
            pin,
            path,
            evidence.tree,
            lambda file: not others.is_theirs(file),
            lambda written: built_objects(path, written, evidence),
        ),
    )


def _with_settings(transition: Transition, evidence: Evidence) -> Transition:
    """Return a transition with the settings of the object that installs Flux, if a reference to a release does."""
    is_own = transition.new is not None or transition.pin.kind == own_artifact.NAME
    reference = None if is_own else _pinned(transition, evidence)
    if not isinstance(reference, Pinned):
        return transition._replace(by_operator=False)
    return transition._replace(by_operator=reference.is_migrated, doubt=reference.doubt)


def _may_break(transition: Transition, changes: Changes | Unknown) -> bool:
    """Whether anything of the tree can be affected: nothing is by a patch that takes nothing away."""
    return transition.crosses_minor or ChangeKind.API_REMOVED in known_or(changes, NO_CHANGES).contents


def _identical(transition: Transition, evidence: Evidence) -> Version:
    """Return the release in use, if the target has the same files; empty if it has others.

    Of a release in use that was withdrawn, the release that proved the manifest is compared.
    """
    target, base = transition.target, transition.pin.proof.base
    in_use = [transition.pin.version, *([Version(base.options.version)] if base is not None else [])]
    regenerator = evidence.pin_context.regenerator
    same = (tag for tag in in_use if tag != target and regenerator.are_identical(tag, target))
    return next(same, NO_VERSION)


def _managed(transition: Transition, result: Assessment, evidence: Evidence) -> Managed | None:
    """Return why `flux migrate` has to run because of managed fields, as far as nothing else says so."""
    current, target, feedback = transition.pin.version, transition.target, transition.feedback
    changed = None if isinstance(result.crds, Unknown) else {each.name for each in result.crds}
    served, now = evidence.apis.at(target), known_or(evidence.served(current), None)
    dropped = history.versions_dropped(now, served, changed) if now is not None else frozenset()
    asked = history.DroppedVersions(
        dropped,
        dropped & {f"{use.group}/{use.version}" for use in result.in_use},
        any(tag > current for tag in feedback.moved_for if is_tag(tag)),
        transition.governance.migrate is Migrate.WITH_UPGRADE,
        current,
        target,
    )
    mentions = Mentions()
    if asked.needs_history:
        mentions = evidence.mentions(tuple(sorted(dropped)))
        # Of files that are searched today and not another cluster's.
        scan = transition.governance.include
        searched = [path for path in mentions.paths if evidence.is_searched(path, scan)]
        mine = [path for path in searched if not evidence.others(transition.cluster).is_theirs(path)]
        mentions = mentions._replace(paths=tuple(mine))
    why = history.managed(asked, feedback.migrated_since, mentions)
    if why is None or why.is_after or why.evidence is not Indication.UNKNOWN:
        return why
    return None if result.stored.unknown else why


def _upgrade_path(
    transition: Transition, result: Assessment, installed: frozenset[str], evidence: Evidence
) -> tuple[Version, ...]:
    """Return the steps to take where one is not enough; none if one is enough, or if there is no such path.

    ``installed``: names of the CRDs that the cluster has.
    """
    if not result.stored.after_migrate and not any(map(_is_unbridged, result.lefts)):
        return ()
    if isinstance(evidence.served(transition.pin.version), Unknown):
        return ()  # a mirror need not have what runs
    every = [*(left.use for left in result.lefts), *(move.use for move in result.moves)]
    uses = [use for use in every if use.place is not UsePlace.METRIC]
    tags, at = evidence.pin_context.regenerator.stable_tags(), evidence.apis.at
    return upgrade_path(transition.pin.version, transition.target, tags, at, installed, uses) or ()


def _is_unbridged(left: Left) -> bool:
    return left.reason is Reason.NO_BRIDGE and left.blocks
