"""Clusters that share an artifact for their own manifests: what is there first has a folder for each."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.bootstrap.oci_artifact import overlay_artifact
from flux_upgrade.bootstrapping.oci import OciPlan


def with_shared_overlays(plans: Sequence[OciPlan]) -> tuple[OciPlan, ...]:
    """To be carried out in this order: the first that names an artifact pushes it, for all of them."""
    files: dict[str, set[str]] = {}
    for plan in plans:
        if plan.overlay is not None:
            files.setdefault(str(plan.places.cluster), set()).add(plan.places.overlay_file)
    return tuple(_with_its_own(plan, files) for plan in plans)


def _with_its_own(plan: OciPlan, files: dict[str, set[str]]) -> OciPlan:
    """``files``: those of the artifacts that no plan before this one pushes; its own are taken out."""
    address = plan.places.cluster
    own = files.pop(str(address), set[str]())
    overlay = overlay_artifact(address, *sorted(own)) if own and address is not None else None
    return plan._replace(overlay=overlay)
