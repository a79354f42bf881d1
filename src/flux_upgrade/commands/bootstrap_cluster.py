"""The cluster's part of a bootstrap: checked before anything is written, and brought to its files last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing

from flux_upgrade.bootstrap.cluster.install import bootstrap_cluster
from flux_upgrade.bootstrap.cluster.objects import manifests_of
from flux_upgrade.bootstrap.cluster.preflight import Desired, check_cluster
from flux_upgrade.bootstrap.cluster.wait import Run
from flux_upgrade.bootstrap.proposed import ProposedCluster
from flux_upgrade.bootstrap.secrets import ClusterSecretPlace
from flux_upgrade.commands.wiring import build_kustomize, build_timing
from flux_upgrade.commands.wiring_bootstrap import BootstrapInventory
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.kubernetes_objects import part
from flux_upgrade.snapshot.snapshot import Snapshot

_OUTSIDE = b".."


class ClusterStep:
    def __init__(self, inventory: BootstrapInventory, opened: ExitStack, progress: Callable[[str], None]) -> None:
        """Connect to what ``--kubeconfig`` and ``--context`` name. Raises UsageError, ClusterUnavailable."""
        from flux_upgrade.adapters.kubernetes.connect import connect

        wanted, timing = inventory.asked.kubernetes, build_timing(inventory.environment)
        self._cluster = opened.enter_context(closing(connect(wanted.kubeconfig, wanted.context, timing)))
        self._inventory, self._progress = inventory, progress
        self.place = ClusterSecretPlace(self._cluster)

    def check(self, cluster: ProposedCluster, files: Mapping[str, bytes]) -> None:
        """Refuse what cannot go well, as ``check_cluster`` does. ``files``: as for ``bootstrap``.

        Raises UsageError where Flux would wait for a Secret that nobody makes.
        """
        desired, secrets = self._desired(cluster, files, {}), self._inventory.asked.credentials.secrets
        found = check_cluster(self._cluster, desired)
        # Of a Git repository there is always one to be made, or it is refused.
        if cluster.options.oci is None or found.has_secret:
            return
        if secrets.cluster_username or secrets.cluster_password:
            return
        wanted = [part(each, "spec", "secretRef").get("name") for each in desired.sync]
        if desired.secret_name in wanted:
            raise UsageError(
                f"the cluster '{self._cluster.name}' has no Secret {desired.namespace}/{desired.secret_name} to pull "
                "the artifact with, and no credentials are set to create it",
                hint="set FLUX_UPGRADE_CLUSTER_USERNAME and FLUX_UPGRADE_CLUSTER_PASSWORD to read-only credentials, or "
                "create it with `kubectl create secret docker-registry`",
            )

    def bootstrap(self, cluster: ProposedCluster, files: Mapping[str, bytes], revisions: Mapping[str, str]) -> None:
        """Apply, and wait. Raises what ``bootstrap_cluster`` raises.

        ``files``: as ``manifests_of`` takes them; ``revisions``: name of a source → what it has to come to.
        """
        timing = build_timing(self._inventory.environment)
        run = Run(timing, self._progress, timing.now() + self._inventory.asked.kubernetes.timeout)
        bootstrap_cluster(self._cluster, self._desired(cluster, files, revisions), run)

    def _desired(self, cluster: ProposedCluster, files: Mapping[str, bytes], revisions: Mapping[str, str]) -> Desired:
        options = cluster.options
        kustomize = build_kustomize(self._inventory.environment)
        build = None if kustomize is None else kustomize.build
        folder = options.folder if options.oci is None else options.namespace
        return Desired(
            options.install.version,
            options.namespace,
            *manifests_of(files, folder, options.namespace, build),
            revisions,
            self.place.handed_over,
            options.secret_name,
            options.force,
        )


def files_of(cluster: ProposedCluster, tree: Snapshot) -> Mapping[str, bytes]:
    """The cluster's folder as it will be; all of the repository where a kustomization leaves it."""
    folder = f"{cluster.options.folder}/"
    own = {path: tree.read(path) for path in tree.named(("",)) if path.startswith(folder)}
    own |= {each.path: each.after for each in cluster.changes}
    if not any(_OUTSIDE in content for path, content in own.items() if "kustomization" in path.lower()):
        return own
    return {path: tree.read(path) for path in tree.named(("",))} | own
