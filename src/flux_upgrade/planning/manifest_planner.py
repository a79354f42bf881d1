"""Plan an upgrade: installations → decisions → changes. Reads, and writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from flux_upgrade.config.install_flags import applied
from flux_upgrade.manifests.images import ImageState, other_distribution, tag_order
from flux_upgrade.manifests.options import spell, validate_components
from flux_upgrade.manifests.parts import split
from flux_upgrade.manifests.proof import Proof
from flux_upgrade.model.errors import (
    Downgrade,
    EditConflict,
    ImplausibleRelease,
    ReleaseNotFound,
    Unreadable,
    UnsupportedRelease,
    UsageError,
)
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import first_few
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.pins.gotk_components import pin
from flux_upgrade.pins.pin import ManifestChange, PinChange
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.plan import Plan, PlannedTarget, Upgrade
from flux_upgrade.planning.target_images import settled
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import decide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.ports import Artifacts

_NAMED = 3  # Conflicts that a hold names; the report has all of them


def newest_stable(regenerator: Regenerator) -> Version:
    """The highest stable release of Flux 2 in the source. Raises ReleaseNotFound."""
    tags = regenerator.stable_tags()
    if not tags:
        raise ReleaseNotFound("the release source lists no stable release of Flux 2", hint="check --release-source")
    return tags[0]


class ManifestPlanner:
    """Plans vendored manifests. Identical files under the same terms have one decision, made once."""

    def __init__(
        self, regenerator: Regenerator, artifacts: Artifacts, releases: Sequence[Release], now: datetime
    ) -> None:
        self._regenerator, self._artifacts = regenerator, artifacts
        self.releases, self._now = releases, now
        self._decided: dict[tuple[bytes, tuple[object, ...]], Plan] = {}

    def plan(self, target: PlannedTarget) -> Plan:
        """Raises ReleaseNotFound for a release that was asked for, SourceUnavailable and UntrustedArchive.

        They concern all installations.
        """
        held = target.blocked or target.pin.held
        if held is not None:
            return Plan(target.pin, target.path, (held,))
        key = (target.pin.content, target.terms.value)
        if key not in self._decided:
            tried: dict[BumpKind, ManifestChange] = {}
            decisions = [self.carried_out(target, each, tried) for each in self._decisions(target)]
            # A source that has another release under one name is not asked for the next one.
            reason = HoldReason.IMPLAUSIBLE_RELEASE
            implausible = [each for each in decisions if isinstance(each, Hold) and each.reason is reason]
            self._decided[key] = Plan(target.pin, target.path, tuple(implausible or decisions), tried)
        return self._decided[key]._replace(pin=target.pin, path=target.path)

    def _decisions(self, target: PlannedTarget) -> Sequence[Bump | Hold]:
        version, terms, proof = target.pin.version, target.terms, target.pin.proof
        if terms.to:
            self._regenerator.manifests(terms.to)  # that it is not there concerns all of them
            if (current := Version.parse(version)) is not None and current > terms.to:
                return [downgrade(version, terms.to)]
            if version == terms.to and _completed(target) is None:
                detail = "; ".join([f"it is already at {terms.to}", *ahead_controllers(proof)])
                return [Hold(HoldReason.UP_TO_DATE, detail)]
            kind = BumpKind.between(version, terms.to)
            return [Bump(kind, terms.to, approved=True, why=f"you requested {terms.to}")]
        decided = decide(version, self.releases, terms.governance.policy, terms.feedback, self._now)
        # One file, one change: a patch that waits brings all of that along.
        moves = any(isinstance(each, Bump) and (each.approved or each.bump_kind is BumpKind.PATCH) for each in decided)
        whole = None if moves else _completed(target)
        found = [] if whole is None else [whole]
        for each in decided:
            if isinstance(each, Bump) or each.reason is not HoldReason.UP_TO_DATE:
                found.append(each)
            elif whole is None:
                found.append(each._replace(detail="; ".join([each.detail, *ahead_controllers(proof)])))
        return found

    def carried_out(
        self, target: PlannedTarget, decision: Bump | Hold, tried: dict[BumpKind, ManifestChange] | None = None
    ) -> Upgrade | Hold:
        """What comes of a decision about ``target``, a manifest. Raises as ``plan``.

        ``tried``: gets the changes that are held for their conflicts.
        """
        if isinstance(decision, Hold):
            return decision
        try:
            made = self._change(target, decision, {} if tried is None else tried)
        except (Unreadable, ImplausibleRelease) as error:
            made = Hold(HoldReason.of(error) or HoldReason.UNREADABLE, error.message, error.hint, type(error))
        except ReleaseNotFound as error:
            # Listed, but its assets are still being uploaded.
            made = Hold(
                HoldReason.UNSUPPORTED_RELEASE, error.message, "run again later: Flux is still publishing this release"
            )
        except (UnsupportedRelease, UsageError) as error:
            # The latter: a component that is asked for and that this release does not ship.
            passes = isinstance(error, UnsupportedRelease) and error.pending and not target.terms.to
            made = Hold(HoldReason.UNSUPPORTED_RELEASE, error.message, error.hint, None if passes else type(error))
        if isinstance(made, Upgrade) and made.change.manifest is not None:
            # Not above: what the registry's credentials are not good for concerns all installations.
            made = self._settled(target, made, made.change.manifest)
        return made if isinstance(made, Upgrade) else made.of(decision)

    def _change(self, target: PlannedTarget, bump: Bump, tried: dict[BumpKind, ManifestChange]) -> Upgrade | Hold:
        proof, options, governance = target.pin.proof, target.pin.proof.options, target.terms.governance
        newer = ahead_of(proof, bump.target, self._regenerator, asked=bool(target.terms.to))
        if newer is not None:
            return newer
        assert options is not None  # noqa: S101 others are held
        wanted = options._replace(version=bump.target)
        if governance.flags:
            wanted = applied(governance.flags, wanted)
        switch = other_distribution(options.registry, wanted.registry)
        if switch:
            hint = "remove `registry` from `flags`, or first change the registry of the images in the file yourself"
            return Hold(HoldReason.OTHER_DISTRIBUTION, f"`flags` sets another registry: {switch}", hint)
        altered: tuple[tuple[str, str, str], ...] = ()
        if governance.flags:
            validate_components(wanted.components, self._regenerator.manifests(bump.target).components)
            old, new = options.flags(), wanted.flags()
            altered = tuple((name, spell(old[name]), spell(new[name])) for name in new if old[name] != new[name])
        change = pin.change(proof, wanted, self._regenerator, take_release=governance.take_release)
        conflicts = change.carried.conflicts
        if conflicts:
            tried[bump.bump_kind] = change
            places = first_few([f"{each.object} {each.where}".strip() for each in conflicts], _NAMED)
            return Hold(
                HoldReason.EDIT_CONFLICT,
                f"{bump.target} changes or removes {counted(len(conflicts), 'field')} that you edited: {places}",
                "remove these edits from the file, or accept the release's values: run `flux-upgrade upgrade "
                "--on-conflict take-release`, or set `on-conflict: take-release` in the config file",
                EditConflict,
            )
        return Upgrade(bump, PinChange(manifest=change), altered)

    def _settled(self, target: PlannedTarget, upgrade: Upgrade, change: ManifestChange) -> Upgrade | Hold:
        """With the images of the target, as their registries have them."""
        checks = target.terms.governance.check_images
        found = settled(change, target.pin.proof, upgrade.target, self._artifacts, checks=checks)
        if isinstance(found, Hold):
            return found
        if target.pin.parts:
            try:
                split(target.pin.parts, found.new)
            except Unreadable as error:
                return Hold(HoldReason.UNREADABLE, error.message, error.hint, Unreadable)
        if found.new == target.pin.content:
            return Hold(HoldReason.UP_TO_DATE, f"it is already at {upgrade.target}")
        return upgrade._replace(change=PinChange(manifest=found))


def _completed(target: PlannedTarget) -> Bump | Hold | None:
    """The release in use once more: for flags that are to change, or for what was left behind."""
    version, terms, proof = target.pin.version, target.terms, target.pin.proof
    flags, options = terms.governance.flags, proof.options
    if flags and options is not None and applied(flags, options) != options:
        why = "your install flags change"
    elif proof.is_withdrawn:
        return None
    elif is_behind(proof, version):
        why = f"the objects are those of {version}, but its header, labels or images differ"
    else:
        return None
    is_approved = terms.to == version or version in terms.feedback.approved
    for rejection in terms.feedback.rejections:
        if rejection.bump_kind is BumpKind.PATCH and rejection.target == version and not is_approved:
            if rejection.reason is not HoldReason.ROLLED_BACK:
                return None
            detail = f"{why}, and {version} was rolled back: {rejection.where}"
            return Hold(rejection.reason, detail, f"approve {version} to upgrade now", target=version)
    return Bump(BumpKind.PATCH, version, approved=True, why=why)


def downgrade(current: Version, target: Version) -> Hold:
    return Hold(
        HoldReason.DOWNGRADE,
        f"the manifest is {current}, newer than {target}",
        "request a newer version, or restore an older manifest from Git after you check `status.storedVersions` "
        "of the CRDs",
        Downgrade,
    )


def is_behind(proof: Proof, target: Version) -> bool:
    """Whether the objects are of that release, but header, labels or images are of another one."""
    versions = {proof.manifest.header_version} if proof.manifest is not None else set()
    versions |= set(proof.inferred.versions) if proof.inferred is not None else set()
    return bool(versions - {"", target}) or ImageState.BEHIND in [each.state for each in proof.controllers]


def ahead_controllers(proof: Proof) -> list[str]:
    """A line for each controller that is newer than the release of the body."""
    return [
        f"{each.name} runs {each.image.tag}, newer than the release's {each.release_image.tag}"
        for each in proof.controllers
        if each.state is ImageState.AHEAD
    ]


def ahead_of(proof: Proof, target: Version, regenerator: Regenerator, *, asked: bool) -> Hold | None:
    """A controller never goes backwards, whatever bumped it."""
    newer = _newer_than(proof, target, regenerator)
    if not newer:
        return None
    align = _align(proof, target, regenerator)
    return Hold(
        HoldReason.CONTROLLER_NEWER,
        "; ".join(newer),
        f"upgrade with --to {align}, the first release that ships controllers this new"
        if align
        else "wait for the next release: none ships controllers this new yet",
        Downgrade if asked else None,
    )


def _newer_than(proof: Proof, target: Version, regenerator: Regenerator) -> list[str]:
    images = pin.shipped(target, proof, regenerator)
    newer = []
    for each in proof.controllers:
        if each.state is ImageState.CUSTOM or each.name not in images:
            continue
        own, shipped = tag_order(each.image.tag), tag_order(images[each.name].tag)
        if own is not None and shipped is not None and own > shipped:
            newer.append(f"{each.name} runs {each.image.tag}, but {target} ships {images[each.name].tag}")
    return newer


def _align(proof: Proof, target: Version, regenerator: Regenerator) -> str:
    """The smallest release above ``target`` with no older controller; empty where there is none."""
    for tag in reversed(regenerator.stable_tags()):
        try:
            if tag > target and not _newer_than(proof, tag, regenerator):
                return tag
        except UnsupportedRelease:
            continue
    return ""
