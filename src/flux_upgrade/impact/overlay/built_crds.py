"""CRDs that are built without the version that the controllers of the release read.

A controller reads the version that its release stores: the API packages of Flux have ``+kubebuilder:storageversion``
on the version that the controllers import (github.com/fluxcd/helm-controller api/v2/helmrelease_types.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flux_upgrade.impact.overlay.judging import at
from flux_upgrade.impact.overlay.result import LeftOut, OverlayFinding, OverlayVerdict
from flux_upgrade.kustomize.items import Item, Items, Step
from flux_upgrade.model.values import NamedTuple

Served = tuple[str, str, str]
"""API group, kind and version."""


class CrdSide(NamedTuple):
    """One manifest, and what a kustomization makes of it."""

    manifest: Items
    built: Items


class _Crd(NamedTuple):
    group: str
    kind: str
    stored: str  # Empty if the CRD stores no version
    served: frozenset[str]


def lacking(
    old: CrdSide, new: CrdSide, taken_away: Mapping[Served, Step]
) -> tuple[list[OverlayFinding], tuple[LeftOut, ...]]:
    """Return the steps that take away what a controller reads, and the CRDs that are not built.

    ``taken_away``: a version that the new manifest serves → the step that ends that.
    """
    if not any(item.is_release for item in new.built):
        return [], ()
    lost: list[OverlayFinding] = []
    left_out: list[LeftOut] = []
    before = dict(_unserved(old))
    for name, (crd, is_built) in _unserved(new):
        step = taken_away.get((crd.group, crd.kind, crd.stored))
        if step is None:
            continue
        if not is_built:
            left_out.append(LeftOut(name, crd.stored, step.location.path, step.location.line))
        elif name not in before or before[name][1] != is_built:
            lost.append(_finding(step, crd))
    return lost, tuple(left_out)


def served_by(items: Iterable[Item]) -> set[Served]:
    """Return what the CRDs among some objects serve."""
    crds = (_crd(item) for item in items if _is_crd(item))
    return {(crd.group, crd.kind, name) for crd in crds if crd is not None for name in crd.served}


def _finding(step: Step, crd: _Crd) -> OverlayFinding:
    return at(step.location, step.what)._replace(
        verdict=OverlayVerdict.BREAKS,
        detail=f"{crd.kind} is left without {crd.stored}, which the controllers of the release use",
        hint=f"add {crd.stored} to the patch, or remove it",
    )


def _unserved(side: CrdSide) -> Iterator[tuple[str, tuple[_Crd, bool]]]:
    """Yield the CRDs of a manifest whose stored version is not served once built, and whether the CRD is built."""
    untouched = set(map(id, side.built))
    built: dict[str, _Crd | None] | None = None
    for item in side.manifest:
        if id(item) in untouched or not _is_crd(item):
            continue
        if built is None:
            built = {other.current.name: _crd(other) for other in side.built if _is_crd(other)}
        crd, after = _crd(item), built.get(item.current.name)
        if crd is not None and crd.stored and (after is None or crd.stored not in after.served):
            yield item.current.name, (crd, item.current.name in built)


def _is_crd(item: Item) -> bool:
    return (item.current.group, item.current.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")


def _crd(item: Item) -> _Crd | None:
    match item.data:
        case {"spec": {"group": str(group), "names": {"kind": str(kind)}, "versions": [*entries]}}:
            # https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning
            versions: list[dict[str, Any]] = [each for each in entries if isinstance(each, dict)]
            stored = next((str(each.get("name")) for each in versions if each.get("storage") is True), "")
            served = frozenset(str(each.get("name")) for each in versions if each.get("served") is True)
            return _Crd(group, kind, stored, served)
    return None
