"""Plan an upgrade: installations → decisions → changes. Reads, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from flux_upgrade.config.install_flags import applied
from flux_upgrade.manifests.merge import Conflict
from flux_upgrade.manifests.options import InstallOptions, spell, validate_components
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.model.errors import (
    ReleaseNotFound,
    ResidueConflict,
    Unreadable,
    UnsupportedRelease,
    UsageError,
)
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.ports import Artifacts
from flux_upgrade.model.text import first_few
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.pins.gotk_components import pin
from flux_upgrade.pins.pin import ManifestChange, PinChange
from flux_upgrade.planning import eligibility
from flux_upgrade.planning.plan import Plan, PlannedTarget, Upgrade
from flux_upgrade.planning.target_images import settled
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import decide

_NAMED = 3
"""Conflicts that a hold names; the report has all of them."""


def newest_stable(regenerator: Regenerator) -> Version:
    """The highest stable release of Flux 2 in the source. Raises ReleaseNotFound."""
    tags = regenerator.stable_tags()
    if not tags:
        raise ReleaseNotFound(
            "the release source lists no stable release of Flux 2", hint="look at --release-source"
        )
    return tags[0]


class _Sources(NamedTuple):
    """What all plans are made from."""

    regenerator: Regenerator
    artifacts: Artifacts
    releases: Sequence[Release]
    now: datetime


class ManifestPlanner:
    """Plans vendored manifests. Identical files under the same terms have one decision, made once."""

    def __init__(
        self, regenerator: Regenerator, artifacts: Artifacts, releases: Sequence[Release], now: datetime
    ) -> None:
        self._sources = _Sources(regenerator, artifacts, releases, now)
        # The plan holds the proof, and the caller the terms, so that the ids are nobody else's.
        self._decided: dict[tuple[bytes, tuple[object, ...]], Plan] = {}

    def plan(self, target: PlannedTarget) -> Plan:
        """Raises ReleaseNotFound for a release that was asked for, SourceUnavailable and UntrustedArchive.

        They concern all installations.
        """
        if target.blocked is not None:
            return Plan(target.pin, target.path, (target.blocked,))
        key = (target.pin.content, target.terms.value)
        if key not in self._decided:
            self._decided[key] = _Planner(target, self._sources).plan()
        return self._decided[key]._replace(pin=target.pin, path=target.path)

    def carried_out(self, target: PlannedTarget, bump: Bump) -> Upgrade | Hold:
        """One step of the installation of ``target``, a manifest. Raises as ``plan``."""
        return _Planner(target, self._sources).carried_out(bump)


class _Planner:
    """Plans one installation."""

    def __init__(self, target: PlannedTarget, sources: _Sources) -> None:
        self._pin, self._path = target.pin, target.path
        self._proof = self._pin.proof
        self._terms, self._governance = target.terms, target.terms.governance
        self._regenerator, self._artifacts = sources.regenerator, sources.artifacts
        self._releases, self._now = sources.releases, sources.now
        self._tried: dict[BumpKind, ManifestChange] = {}

    def plan(self) -> Plan:
        held = self._pin.held
        decisions = (held,) if held is not None else tuple(map(self.carried_out, self._decisions()))
        return Plan(self._pin, self._path, decisions, self._tried)

    def _decisions(self) -> Iterator[Bump | Hold]:
        version = self._proof.version
        if self._terms.to:
            yield self._asked(version)
            return
        decided = decide(version, self._releases, self._governance.policy, self._terms.feedback, self._now)
        # One file, one change: a patch that waits brings all of that along.
        moves = any(
            isinstance(each, Bump) and (each.approved or each.bump_kind is BumpKind.PATCH) for each in decided
        )
        whole = None if moves else self._completed(version)
        if whole is not None:
            yield whole
        for each in decided:
            if isinstance(each, Hold) and each.reason is HoldReason.UP_TO_DATE:
                if whole is None:
                    detail = "; ".join([each.detail, *eligibility.ahead_controllers(self._proof)])
                    yield each._replace(detail=detail)
            else:
                yield each

    def _asked(self, version: Version) -> Bump | Hold:
        """What ``--to`` says."""
        to = self._terms.to
        current = Version.parse(version)
        self._regenerator.manifests(to)  # that it is not there concerns all of them
        if current is not None and current > to:
            return eligibility.downgrade(version, to)
        if version == to and self._completed(version) is None:
            return Hold(
                HoldReason.UP_TO_DATE,
                "; ".join([f"it is {to}", *eligibility.ahead_controllers(self._proof)]),
            )
        return Bump(BumpKind.between(version, to), to, approved=True, why=f"{to} was asked for")

    def _completed(self, version: Version) -> Bump | Hold | None:
        """The release in use once more: for flags that are to change, or for what was left behind."""
        why = self._incomplete(version)
        if not why:
            return None
        for rejection in self._terms.feedback.rejections:
            if (
                rejection.bump_kind is BumpKind.PATCH
                and rejection.target == version
                and not self._is_approved(version)
            ):
                if rejection.reason is not HoldReason.ROLLED_BACK:
                    return None
                detail = f"{why}, and {version} was rolled back by a person: {rejection.where}"
                return Hold(rejection.reason, detail, f"approve {version} to have it", target=version)
        return Bump(BumpKind.PATCH, version, approved=True, why=why)

    def _incomplete(self, version: Version) -> str:
        """Why the installation is not what its release and its settings make; empty where it is."""
        options = self._proof.options
        if options is not None and self._wanted(options) != options:
            return "install flags are to change"
        if eligibility.is_behind(self._proof, version):
            return f"the objects are those of {version}, the header, labels or images are not"
        return ""

    def _is_approved(self, version: Version) -> bool:
        return self._terms.to == version or version in self._terms.feedback.approved

    def _wanted(self, options: InstallOptions) -> InstallOptions:
        return applied(self._governance.flags, options) if self._governance.flags else options

    def carried_out(self, decision: Bump | Hold) -> Upgrade | Hold:
        """What comes of a decision."""
        if isinstance(decision, Hold):
            return decision
        try:
            made = self._change(decision)
        except Unreadable as error:
            made = Hold(HoldReason.UNREADABLE, error.message, error.hint, Unreadable)
        except ReleaseNotFound as error:
            # Listed, but its assets are still being uploaded.
            made = Hold(
                HoldReason.UNSUPPORTED_RELEASE, error.message, "it is listed already: run again later"
            )
        except UnsupportedRelease as error:
            kind = None if error.pending and not self._terms.to else UnsupportedRelease
            made = Hold(HoldReason.UNSUPPORTED_RELEASE, error.message, error.hint, kind)
        except UsageError as error:
            # A component that is asked for and that this release does not ship.
            made = Hold(HoldReason.UNSUPPORTED_RELEASE, error.message, error.hint, UsageError)
        if isinstance(made, Upgrade) and made.change.manifest is not None:
            # Not above: what the registry's credentials are not good for concerns all installations.
            made = self._settled(made, made.change.manifest)
        if isinstance(made, Upgrade):
            return made
        return made._replace(bump_kind=decision.bump_kind, target=decision.target)

    def _change(self, bump: Bump) -> Upgrade | Hold:
        target, options = bump.target, self._proof.options
        ahead = eligibility.ahead(self._proof, target, self._regenerator, asked=bool(self._terms.to))
        if ahead is not None:
            return ahead
        assert options is not None  # noqa: S101 others are held
        wanted = self._wanted(options)._replace(version=target)
        if self._governance.flags:
            validate_components(wanted.components, self._regenerator.manifests(target).components)
        change = pin.change(
            self._proof, wanted, self._regenerator, take_release=self._governance.take_release
        )
        if change.carried.conflicts:
            self._tried[bump.bump_kind] = change
            return _conflict(target, change.carried.conflicts)
        return Upgrade(bump, PinChange(manifest=change), _altered(options, wanted))

    def _settled(self, upgrade: Upgrade, change: ManifestChange) -> Upgrade | Hold:
        """With the images of the target, as their registries have them."""
        target, checks = upgrade.target, self._governance.check_images
        found = settled(change, self._proof, target, self._artifacts, checks=checks)
        if isinstance(found, Hold):
            return found
        if found.new == self._pin.content:
            return Hold(HoldReason.UP_TO_DATE, f"it is {target}")
        return upgrade._replace(change=PinChange(manifest=found))


def _altered(before: InstallOptions, after: InstallOptions) -> tuple[tuple[str, str, str], ...]:
    old, new = before.flags(), after.flags()
    return tuple((name, spell(old[name]), spell(new[name])) for name in new if old[name] != new[name])


def _conflict(target: Version, conflicts: Sequence[Conflict]) -> Hold:
    places = first_few([f"{each.object} {each.where}".strip() for each in conflicts], _NAMED)
    return Hold(
        HoldReason.RESIDUE_CONFLICT,
        f"{target} changed or removed {counted(len(conflicts), 'path')} that you edited: {places}",
        "take these edits out of the file, or give them up for the release's own values: "
        "`upgrade --on-conflict take-release` in a checkout, `on-conflict: take-release` in the config file",
        ResidueConflict,
    )
