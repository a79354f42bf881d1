"""HelmReleases of Flux's chart that uninstall it after a failed upgrade, with its CRDs and all their objects.

The CRDs are in the chart's templates, so `spec.upgrade.crds` does not concern them, and an uninstall deletes them
(fluxcd-community/helm-charts, charts/flux2). `spec.upgrade.force` replaces an object in place and deletes nothing
(helm/helm pkg/kube, `replaceResource`). Remediation: helm-controller docs/spec/v2/helmreleases.md, "Upgrade
remediation".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from flux_upgrade.assessment.evidence import Evidence, Transition
from flux_upgrade.assessment.overlays import built_objects
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.kubernetes_objects import part
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.pins.objects.chart_place import ChartVersionPlace, identity
from flux_upgrade.snapshot.yaml_places import Object, is_variable

KIND = "helm-chart"  # Kind of version reference
SETTING = "remediation.strategy: uninstall"
_RELEASE = "HelmRelease"
_PLACE = ("spec", "upgrade", "remediation", "strategy")


def uninstalling(transition: Transition, evidence: Evidence) -> Iterator[str]:
    """Yield the places of the setting, `path:line`."""
    others = evidence.others(transition.cluster)
    for file in filter(None, map(evidence.tree.at, evidence.tree.candidates())):
        if _RELEASE.encode() not in file.content or others.is_theirs(file.path):
            continue
        for release in file.readable_where(lambda text: _RELEASE in text):
            if _is_of(release, file.path, transition) and any(map(_uninstalls, _specs(file.path, release, evidence))):
                yield f"{file.path}:{release.line_at(*_PLACE)}"


def _is_of(release: Object, path: str, transition: Transition) -> bool:
    """Return whether a HelmRelease installs the chart that a version reference is about."""
    place = transition.pin.details
    _, kind, _, name = identity(release)
    if kind != _RELEASE or not isinstance(place, ChartVersionPlace) or place.target is None:
        return False
    if place.target[0] == _RELEASE:
        return (path, name) == (transition.path, place.target[1])
    return place.target == (release.text_at("spec", "chartRef", "kind"), release.text_at("spec", "chartRef", "name"))


def _specs(path: str, release: Object, evidence: Evidence) -> Iterator[Mapping[str, Any]]:
    with suppress(Unreadable):  # A template
        yield part(release.data(), "spec")
    for built in built_objects(path, release, evidence):
        if not isinstance(built, Unknown):
            yield part(built, "spec")


def _uninstalls(spec: Mapping[str, Any]) -> bool:
    upgrade = part(spec, "upgrade")
    remediation = part(upgrade, "remediation")
    strategy, retries = str(remediation.get("strategy") or ""), str(remediation.get("retries") or 0)
    if part(upgrade, "strategy").get("name") == "RetryOnFailure" or not (
        strategy == "uninstall" or is_variable(strategy)
    ):
        return False
    is_kept = part(spec, "values", "crds", "annotations").get("helm.sh/resource-policy") == "keep"
    return not is_kept and (retries != "0" or remediation.get("remediateLastFailure") not in (None, False))
