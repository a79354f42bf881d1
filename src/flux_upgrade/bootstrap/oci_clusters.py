"""What a cluster is given by hand after a bootstrap from a registry: files, and the commands for them."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.bootstrap.oci_artifact import overlay_artifact
from flux_upgrade.bootstrap.oci_names import SYNC_FILE
from flux_upgrade.bootstrap.oci_plan import OciPlan
from flux_upgrade.bootstrap.oci_sync import render_oci_sync


def handover(plan: OciPlan, *, is_public: bool = False) -> dict[str, bytes]:
    """Path → content: the artifact's own files, which ``kubectl apply -k`` takes, and the sync beside them.

    The kustomization does not name the sync: it is applied once Flux runs. ``is_public``: as
    ``render_oci_sync``. Raises UsageError, UnsupportedRelease.
    """
    sync = render_oci_sync(plan.options, is_public=is_public).encode()
    return {**plan.files, sync_path(plan): sync}


def sync_path(plan: OciPlan) -> str:
    """Of the sync in ``handover``."""
    return f"{plan.options.namespace}/{SYNC_FILE}"


def commands(plan: OciPlan) -> tuple[str, ...]:
    """From the folder that ``handover`` was written to; before the last one, the Secret has to be there."""
    namespace = plan.options.namespace
    return (
        f"kubectl apply --server-side -k ./{namespace}",
        f"kubectl --namespace={namespace} wait deployment --all --for=condition=Available --timeout=5m",
        f"kubectl apply -f ./{sync_path(plan)}",
    )


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
