"""What the flux-operator can choose from for a FluxInstance, and what it chooses.

flux-operator internal/controller/fluxinstance_controller.go: it takes the manifests from
``distribution.artifact``, or without one from its own image.
"""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.model.errors import ReleaseNotFound, UnsupportedPin
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.context import OperatorRelease, PinContext
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.objects.flux_distribution import Distribution
from flux_upgrade.pins.objects.operator_releases import (
    DistributionArtifact,
    belongs,
    is_release_of_manifests,
    lowest_with,
    parsed,
    release_of,
    releases_in,
)
from flux_upgrade.pins.objects.operator_table import LOWEST, needed
from flux_upgrade.pins.objects.release_values import Stated
from flux_upgrade.snapshot.yaml_places import is_variable

_CHARTS_OWN = DistributionArtifact("ghcr.io/controlplaneio-fluxcd/flux-operator-manifests", "latest", "")
"""controlplaneio-fluxcd/charts flux-instance, values.yaml."""
_IMAGE = "its own image"  # Of an operator whose version is unknown
_PUBLIC = ("ghcr.io/fluxcd", "docker.io/fluxcd")  # Registries in which Flux itself publishes its images


class ReleaseChoice(NamedTuple):
    releases: tuple[str, ...]
    origin: str  # Where they come from, in words
    is_frozen: bool = False  # Whether later ones come only with another artifact
    is_single: bool = False  # Whether the one release is installed, whatever is asked for
    latest: tuple[str, ...] = ()  # All releases that there are
    doubt: str = ""  # Why that may be wrong, a sentence
    remarks: tuple[str, ...] = ()
    operator: OperatorRelease | None = None  # Whose image has no other releases

    def release(self, text: str) -> str:
        """What a range comes to; empty where it admits none of the releases."""
        return self.releases[0] if self.is_single else ranges.newest(text, self.releases)

    def reason(self, text: str) -> str:
        if self.is_single:
            return f"{self.origin} selects the installed version"
        if not self.is_frozen:
            return f"the flux-operator installs the highest release in the range that {self.origin} includes"
        if not self.is_behind(text):
            later = "a later flux-operator" if self.operator else "another artifact"
            return f"{self.origin} limits the available releases: a later release needs {later}"
        own, newest = self.release(text), ranges.newest(text, self.latest)
        return f"{self.origin} ends at {own}, although {newest} is in the range"

    def is_behind(self, text: str) -> bool:
        """Whether the range admits a later release that there is."""
        return self.is_frozen and self.release(text) != ranges.newest(text, self.latest)

    def taken(self, text: str) -> str:
        """What the operator does by itself with a range, without capital and full stop."""
        release = self.release(text)
        if self.is_single:
            return f"{self.origin} selects the installed version"
        if self.is_frozen:
            what = "flux-operator" if self.operator else "artifact"
            return f"the flux-operator installs {release}, and no later one until the {what} changes"
        later = f"each later one in the range once {self.origin} includes it"
        return f"the flux-operator installs {release}, and {later}"

    def require(self, target: str, place: str) -> None:
        """Raises UnsupportedPin where the release cannot be had."""
        if self.is_frozen and target not in self.releases:
            raise UnsupportedPin(f"{place}: {self.lacking(target)}", hint=self.remedy(target))

    def lacking(self, target: str) -> str:
        return f"{self.origin} does not include {target}; its latest is {ranges.newest('*', self.releases)}"

    def remedy(self, target: str) -> str:
        """What to do for a release that cannot be had. ``target``: a tag."""
        version = needed(target) or f"a version that includes {target}"
        if self.operator is None:
            return f"upgrade the flux-operator artifact to {version} first"
        return f"upgrade the flux-operator to {version} first, or set `flux-operator: change` in the config file"


def choice_of(distribution: Distribution, context: PinContext) -> ReleaseChoice:
    """Asks the registry only about an artifact that stays as it is.

    Raises UnsupportedPin where the artifact is unknown, ReleaseNotFound where there is
    nothing of Flux in it; SourceUnavailable, UntrustedArchive.
    """
    latest = tuple(context.regenerator.stable_tags())
    stated = distribution.artifact
    if stated is None and distribution.unread:
        doubt = f"The available releases may depend on {distribution.unread}."
        return ReleaseChoice(latest, "the artifact", latest=latest, doubt=doubt)
    operator = distribution.operator
    if stated is None or distribution.is_of_image:
        is_charts_own = stated is None and distribution.of_chart
        if is_charts_own or operator is None:
            return ReleaseChoice(latest, str(_CHARTS_OWN) if is_charts_own else _IMAGE, latest=latest)
        return ReleaseChoice(operator.releases, str(operator), is_frozen=True, latest=latest, operator=operator)
    artifact, place = _artifact(stated)
    origin = f"the artifact {artifact} ({place})"
    if artifact.is_of_flux:
        release = release_of(artifact, context.artifacts)
        if not release:
            raise ReleaseNotFound(f"{origin} does not show which release it includes", hint="use a release's tag")
        return ReleaseChoice((release,), origin, is_single=True, latest=latest)
    if not artifact.is_pinned:
        return ReleaseChoice(latest, str(artifact), latest=latest)
    releases = releases_in(artifact, context.artifacts)
    remark = (
        f"The tag {artifact.tag} of the artifact ({place}) now points to another digest: "
        "the flux-operator uses the digest."
    )
    remarks = () if belongs(artifact, context.artifacts) else (remark,)
    return ReleaseChoice(releases, origin, is_frozen=True, latest=latest, remarks=remarks)


def moved_along(choice: ReleaseChoice, distribution: Distribution, target: str, context: PinContext) -> ReleaseChoice:
    """What there is once the pin of the artifact, or of the operator, has moved to a release with ``target``.

    The choice as it is where that pin stays: it holds the target already, is not the operator's
    own, has another's digest, or stands in another file than the version, which may be ignored.

    Raises as ``choice_of``, ReleaseNotFound where there is no such release yet.
    """
    if context.moves_operator and choice.operator:
        return choice_of(distribution._replace(operator=None), context)
    stated, version = distribution.artifact, distribution.version
    if not (context.moves_operator and choice.is_frozen and stated and version):
        return choice
    artifact, place = _artifact(stated)
    if target in choice.releases or stated.file.path != version.file.path:
        return choice
    if not is_release_of_manifests(artifact) or not belongs(artifact, context.artifacts):
        return choice
    new = lowest_with(artifact.repository, artifact.tag, target, context.artifacts)
    moved = DistributionArtifact(artifact.repository, new, "")
    origin = f"the artifact {moved} ({place})"
    return choice._replace(releases=releases_in(moved, context.artifacts), origin=origin, remarks=())


def _artifact(stated: Stated) -> tuple[DistributionArtifact, str]:
    place, text = f"{stated.file.path}:{stated.value.line}", stated.value.text
    reason = stated.value.reason
    artifact = None if reason or is_variable(text) else parsed(text)
    if artifact is None:
        reason = reason or ("a variable sets it" if is_variable(text) else f"{text} is not an oci:// address")
        raise UnsupportedPin(
            f"the artifact ({place}) limits the available releases, and {reason}",
            hint="write the artifact as plain text",
        )
    return artifact, place


def notes(choice: ReleaseChoice, distribution: Distribution, current: str, target: str) -> Iterator[str]:
    """What else has to be there for a release, a sentence each. ``current``, ``target``: tags."""
    old, new = (each.split(".")[:2] for each in (current, target))
    if distribution.operator is None:
        if choice.origin == _IMAGE and target in LOWEST:
            yield f"The flux-operator must be {LOWEST[target]} or later, which includes Flux {target}."
        elif old != new:
            yield f"The flux-operator must run a version that supports Flux {'.'.join(new).removeprefix('v')}."
    registry = distribution.registry.value.text if distribution.registry else ""
    if registry and registry.rstrip("/") not in _PUBLIC:
        yield f"The images come from {registry}, which must have those of {target}."
