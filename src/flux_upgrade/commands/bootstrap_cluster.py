"""The cluster's part of a bootstrap: checked before anything is written, and brought to its files last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing

from flux_upgrade.bootstrap.cluster.install import Desired, bootstrap_cluster
from flux_upgrade.bootstrap.cluster.objects import ClusterSecretPlace, manifests_of
from flux_upgrade.bootstrap.cluster.preflight import check_cluster
from flux_upgrade.bootstrap.cluster.wait import Run
from flux_upgrade.bootstrap.proposed import ProposedCluster
from flux_upgrade.commands.read_bootstrap import BootstrapInventory
from flux_upgrade.commands.wiring import build_kustomize, build_timing
from flux_upgrade.commands.wiring_bootstrap import build_cluster
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.files import Tree
from flux_upgrade.model.kubernetes_objects import KubernetesApi, part
from flux_upgrade.model.ports import Timing

_OUTSIDE = b".."


class ClusterStep:
    """One cluster, connected."""

    def __init__(
        self,
        cluster: KubernetesApi,
        inventory: BootstrapInventory,
        timing: Timing,
        progress: Callable[[str], None],
    ) -> None:
        self._cluster, self._inventory, self._timing, self._progress = cluster, inventory, timing, progress
        self.place = ClusterSecretPlace(cluster)

    def check(self, cluster: ProposedCluster, files: Mapping[str, bytes]) -> None:
        """Refuse what cannot go well, as ``check_cluster`` does. ``files``: as for ``bootstrap``.

        Raises UsageError where Flux would wait for a Secret that nobody makes.
        """
        desired = self._desired(cluster, files, {})
        found = check_cluster(self._cluster, desired.wanted)
        # Of a Git repository there is always one to be made, or it is refused.
        if cluster.options.oci is not None and not found.has_secret and self._waits_for_secret(desired):
            raise UsageError(
                f"the cluster '{found.cluster}' has no Secret {desired.namespace}/{desired.secret_name} to "
                "pull the artifact with, and there are no credentials to make it of",
                hint="set FLUX_UPGRADE_CLUSTER_USERNAME and FLUX_UPGRADE_CLUSTER_PASSWORD to some that may "
                "only read, or make it first: `kubectl create secret docker-registry`",
            )

    def _waits_for_secret(self, desired: Desired) -> bool:
        secrets = self._inventory.asked.secrets
        if secrets.cluster_username or secrets.cluster_password:
            return False
        return any(
            part(each, "spec", "secretRef").get("name") == desired.secret_name for each in desired.sync
        )

    def bootstrap(
        self, cluster: ProposedCluster, files: Mapping[str, bytes], revisions: Mapping[str, str]
    ) -> None:
        """Apply, and wait. Raises what ``bootstrap_cluster`` raises.

        ``files``: as ``manifests_of`` takes them; ``revisions``: name of a source → what it has to come to.
        """
        desired = self._desired(cluster, files, revisions)
        deadline = self._timing.now() + self._inventory.asked.timeout
        done = bootstrap_cluster(self._cluster, desired, Run(self._timing, self._progress, deadline))
        if not done.was_applied:
            self._progress("Flux reconciles its components itself, and was left to do so")

    def _desired(
        self, cluster: ProposedCluster, files: Mapping[str, bytes], revisions: Mapping[str, str]
    ) -> Desired:
        options = cluster.options
        kustomize = build_kustomize(self._inventory.environment)
        build = None if kustomize is None else kustomize.build
        folder = options.folder if options.oci is None else options.namespace
        manifests = manifests_of(files, folder, options.namespace, build)
        return Desired(
            options.install.version,
            options.namespace,
            manifests.components,
            manifests.sync,
            revisions,
            self.place.handed_over,
            options.secret_name,
            options.force,
        )


def open_cluster(
    inventory: BootstrapInventory, opened: ExitStack, progress: Callable[[str], None]
) -> ClusterStep:
    """Connect to what ``--kubeconfig`` and ``--context`` name. Raises UsageError, ClusterUnavailable."""
    asked, environment = inventory.asked, inventory.environment
    cluster = build_cluster(environment, asked.kubeconfig, asked.context)
    opened.enter_context(closing(cluster))
    return ClusterStep(cluster, inventory, build_timing(environment), progress)


def files_of(cluster: ProposedCluster, tree: Tree) -> Mapping[str, bytes]:
    """The cluster's folder as it will be; all of the repository where a kustomization leaves it."""
    folder = f"{cluster.options.folder}/"
    own = {path: tree.read(path) for path in tree.named(("",)) if path.startswith(folder)}
    own |= {each.path: each.after for each in cluster.changes}
    if not any(_OUTSIDE in content for path, content in own.items() if "kustomization" in path.lower()):
        return own
    return {path: tree.read(path) for path in tree.named(("",))} | own
