"""``gotk-components.yaml`` of a bootstrap: rendered, or the one that is there with other flags."""

from __future__ import annotations

from functools import cached_property

from flux_upgrade.bootstrap.options import BootstrapOptions
from flux_upgrade.manifests.images import other_distribution
from flux_upgrade.manifests.options import InstallOptions, spell, validate
from flux_upgrade.model.errors import EditConflict, FluxUpgradeError, Unverified, UsageError
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.gotk_components import pin
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.manifest_planner import ahead_of, downgrade, newest_stable
from flux_upgrade.policy.decision import Hold


class FlagChange(NamedTuple):
    """A flag that an existing installation has another value for."""

    flag: str  # Flux's name for it; where no flag stands for it, what it is: `apiVersion of the GitRepository`
    old: str  # As it would be written on the command line; empty where the file has none
    new: str


class ManifestPlan(NamedTuple):
    """What becomes of ``gotk-components.yaml``."""

    content: bytes
    version: str
    shown: tuple[FlagChange, ...] = ()
    edits: tuple[str, ...] = ()  # What was edited by hand and is kept: `Deployment/source-controller spec.replicas`
    not_covered: tuple[str, ...] = ()
    """Flags away from their default that nothing vouches for in a release newer than the rules."""
    verified: bool = True


class RenderedComponents:
    """Makes ``gotk-components.yaml``; equal flags are rendered once, equal files verified once."""

    def __init__(self, regenerator: Regenerator) -> None:
        self._regenerator = regenerator
        self._manifests = pin.InstallationFinder(regenerator)

    @cached_property
    def _newest(self) -> str:
        """The same for all clusters, whatever is released meanwhile."""
        return newest_stable(self._regenerator)

    def settled(self, options: BootstrapOptions) -> BootstrapOptions:
        """With the version that ``--version=latest`` stands for."""
        if not options.is_latest:
            return options
        install = options.install._replace(version=self._newest)
        return options._replace(install=install, is_latest=False)

    def made(self, install: InstallOptions) -> ManifestPlan:
        wanted = install._replace(version=install.version or self._newest)
        release = self._regenerator.manifests(wanted.version)
        validate(wanted, release.components)
        rules = self._regenerator.rules(wanted.version)
        return ManifestPlan(
            self._regenerator.regenerate(wanted).text.encode(),
            wanted.version,
            not_covered=tuple(wanted.changed()) if rules.not_covered else (),
            verified=release.verified,
        )

    def taken(self, path: str, content: bytes, install: InstallOptions) -> ManifestPlan:
        installation = self._manifests.at(path, content)
        assert installation is not None  # noqa: S101 a file of this name is always spoken of
        if installation.held is not None:
            raise _error(installation.held, path)
        proof, recovered = installation.proof, installation.proof.options
        assert recovered is not None  # noqa: S101 a manifest whose flags are unknown is held
        edits = tuple(f"{each.object} {each.where or each.new or each.op}" for each in proof.edits)
        if sorted(install.components) == sorted(recovered.components):
            # Another order of the same components is the same: Terraform sorts them.
            install = install._replace(components=recovered.components)
        wanted = install._replace(version=install.version or proof.version)
        if wanted == recovered:
            return ManifestPlan(content, proof.version, edits=edits)
        switch = other_distribution(recovered.registry, wanted.registry)
        if switch:
            hint = f"use --registry={recovered.registry}, or first change the images in the file yourself"
            raise UsageError(f"{path}: {switch}", hint=hint)
        current, target = Version.parse(installation.version), Version.parse(wanted.version)
        if current is not None and target is not None and target < current:
            raise _error(downgrade(current, target), path)
        ahead = ahead_of(proof, Version(wanted.version), self._regenerator, asked=True)
        if ahead is not None:
            raise _error(ahead, path)
        validate(wanted, self._regenerator.manifests(wanted.version).components)
        change = pin.change(proof, wanted, self._regenerator)
        if change.carried.conflicts:
            named = ", ".join(f"{each.object} {each.where}".strip() for each in change.carried.conflicts)
            raise EditConflict(
                f"{path}: manual edits would be overwritten: {named}",
                hint="set the flag to the value in the file, or remove the edit",
            )
        old = {"version": recovered.version, **recovered.flags()}
        new = {"version": wanted.version, **wanted.flags()}
        shown = (FlagChange(each, spell(old[each]), spell(new[each])) for each in new if old[each] != new[each])
        return ManifestPlan(change.new, wanted.version, tuple(shown), edits, change.not_covered, change.verified)


def _error(hold: Hold, path: str) -> FluxUpgradeError:
    kind = hold.error or Unverified
    # The flag of `upgrade` is not one of a bootstrap.
    return kind(f"{path}: {hold.detail}", hint=hold.hint.replace("--to ", "--version="))
