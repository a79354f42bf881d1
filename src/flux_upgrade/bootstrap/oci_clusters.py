"""What a cluster is given by hand after a bootstrap from a registry: files, and the commands for them."""

from __future__ import annotations

from flux_upgrade.bootstrap.oci_names import SYNC_FILE
from flux_upgrade.bootstrap.oci_sync import render_oci_sync
from flux_upgrade.bootstrapping.oci import OciPlan


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
