"""What a bootstrap from a Git repository looks at before it writes anything, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing

from flux_upgrade.adapters.local.ssh_keys import generate
from flux_upgrade.bootstrap import workflow_file
from flux_upgrade.bootstrap.access import Access, AccessPlan, AccessPorts
from flux_upgrade.bootstrap.access_plan import plan_access
from flux_upgrade.bootstrap.files import plan_files, root_syncs
from flux_upgrade.bootstrap.options import Provider
from flux_upgrade.bootstrap.proposed import Bootstrap, ProposedCluster, bootstrap_of, cluster_of, handover_of
from flux_upgrade.bootstrap.validation import check_version
from flux_upgrade.commands.bootstrap_cluster import ClusterStep, files_of
from flux_upgrade.commands.read_bootstrap import given_of, place_of
from flux_upgrade.commands.wiring import build_snapshot, build_worktree
from flux_upgrade.commands.wiring_bootstrap import BootstrapInventory, build_hosting, build_remote, repository_of
from flux_upgrade.model.errors import ForbiddenByForge, RepositoryUnfit, UsageError
from flux_upgrade.model.files import Remote
from flux_upgrade.model.hosting import HostedRepository, Hosting
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.snapshot import Snapshot, in_memory


class BootstrapCaller(NamedTuple):
    progress: Callable[[str], None]
    run_url: str = ""
    action: str = workflow_file.ACTION
    is_asked: bool = True


class Preflight:
    """What is there: repository, cluster, access. ``check`` refuses whatever is predictably in the way."""

    def __init__(self, inventory: BootstrapInventory, caller: BootstrapCaller, opened: ExitStack) -> None:
        self._inventory, self._caller, self._opened = inventory, caller, opened
        self._options, self._asked = inventory.first, inventory.asked
        writes = not inventory.asked.dry_run
        self.hosting: Hosting | None = build_hosting(inventory.environment, self._options, writes=writes)
        self.hosted: HostedRepository | None = None
        self.remote: Remote | None = None
        self.cluster: ClusterStep | None = None
        self.access: tuple[tuple[AccessPlan, AccessPorts], ...] = ()
        self.accesses: tuple[Access, ...] = ()
        """What came of ``access``."""

    def check(self) -> Bootstrap:
        """All that is read, and all that is refused. What is to be."""
        publishes = self._inventory.publishes
        if publishes:
            self._check_repository()
        proposal = self.proposal()
        # Links, folders and files in the way are found before anything is written anywhere.
        paths = [each.path for each in proposal.changes]
        if self.remote is not None:
            self.remote.require_room(paths)
        elif not publishes:
            build_worktree(self._inventory.checkout.root, writes=False).require_room(paths)
        if proposal.workflow is not None and publishes and self.hosting is not None:
            workflow_file.require_permission(self.hosting.may_write_workflows(), proposal.workflow)
        if self._asked.kubernetes.kubeconfig:
            self.cluster = ClusterStep(self._inventory, self._opened, self._caller.progress)
            (cluster,) = proposal.clusters
            self.cluster.check(cluster, files_of(cluster, self._tree()))
        # Whether the repository is still to be created.
        is_new = publishes and self.hosting is not None and self.hosted is None
        self._require_secret(is_new_repository=is_new)
        self.access = tuple(self._planned_access(is_new_repository=is_new))
        return proposal

    def fetch(self) -> None:
        self.remote = self._opened.enter_context(closing(build_remote(self._inventory)))

    def proposal(self) -> Bootstrap:
        tree = self._tree()
        roots, clusters = root_syncs(tree), []
        for each in self._inventory.clusters:
            files = plan_files(each.options, tree, self._inventory.components, roots)
            check_version(each.options, files.version)
            name = each.name or each.options.sync_path.removeprefix("./")
            clusters.append(cluster_of(each, name, files))
        workflow = None
        if self._asked.add_workflow:
            there = ((path, tree.read(path)) for path in tree.candidates(workflow_file.FOLDER.rstrip("/")))
            workflow = workflow_file.to_be_added(there, self._caller.action)
        return bootstrap_of(
            self.with_handovers(clusters),
            self._inventory.config.branch_prefix,
            workflow=workflow,
            repository=repository_of(self._options),
            is_asked=self._caller.is_asked,
        )

    def with_handovers(self, clusters: Sequence[ProposedCluster]) -> tuple[ProposedCluster, ...]:
        """With what became of the access of each, once something did."""
        if not self.accesses:
            return tuple(clusters)
        credentials, in_cluster = self._asked.credentials, bool(self._asked.kubernetes.kubeconfig)
        to = {"secret": credentials.actions_secret, "environment": credentials.actions_environment}
        return tuple(
            cluster._replace(handover=handover_of(each, in_cluster=in_cluster, **to))
            for cluster, each in zip(clusters, self.accesses, strict=True)
        )

    def _check_repository(self) -> None:
        asked, name = self._asked, repository_of(self._options)
        if self.hosting is None:
            if self._options.provider is Provider.GITHUB:
                given = (
                    ("--pull-request", asked.pull_request),
                    ("--push", asked.push),
                    ("--create-repository", asked.create_repository),
                    ("--kubeconfig", asked.kubernetes.kubeconfig),
                )
                ways = " and ".join(flag for flag, is_on in given if is_on)
                raise ForbiddenByForge(
                    "no token for the repository",
                    hint=f"set GITHUB_TOKEN, or omit {ways} to write only to the local checkout",
                )
            self.fetch()
            return
        self.hosted = self.hosting.repository()
        if self.hosted is not None:
            if self.hosted.is_archived:
                raise RepositoryUnfit(f"{name} is archived", hint="unarchive it, or use another repository")
            self.fetch()
        elif not asked.create_repository:
            raise RepositoryUnfit(
                f"{name} does not exist, or the token cannot access it",
                hint="create it with --create-repository, or give the token access to it",
            )

    def _tree(self) -> Snapshot:
        if not self._inventory.publishes:
            return build_snapshot(self._inventory.checkout.root)
        # A repository that is still to be created has no files.
        return Snapshot(self.remote.files) if self.remote is not None else in_memory({})

    def _require_secret(self, *, is_new_repository: bool) -> None:
        """That the secret of GitHub Actions, if one is wanted, has where to go."""
        credentials = self._asked.credentials
        name, environment = credentials.actions_secret, credentials.actions_environment
        if self.hosting is None or not name:
            return
        if not is_new_repository:
            self.hosting.require_secret(name, environment)
        elif environment:
            raise UsageError(
                f"the repository does not exist yet, and has no environment {environment}",
                hint="omit --actions-environment, or create the repository and the environment first",
            )

    def _planned_access(self, *, is_new_repository: bool) -> Iterator[tuple[AccessPlan, AccessPorts]]:
        for each in self._inventory.clusters:
            place = place_of(self._inventory, each, self.hosting)
            if place is None and self.cluster is not None:
                place = self.cluster.place
            means = AccessPorts(self.hosting, place, generate)
            given = given_of(self._inventory, each.options)
            yield plan_access(each.options, given, means, is_new_repository=is_new_repository), means
