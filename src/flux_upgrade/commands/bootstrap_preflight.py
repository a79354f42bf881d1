"""What a bootstrap from a Git repository looks at before it writes anything, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing

from flux_upgrade.adapters.local.ssh_keys import generate
from flux_upgrade.bootstrap import workflow_file
from flux_upgrade.bootstrap.access import Access, AccessPlan, AccessPorts
from flux_upgrade.bootstrap.access_plan import plan_access
from flux_upgrade.bootstrap.files import FileChange, RootSync, plan_files, root_syncs
from flux_upgrade.bootstrap.options import BootstrapOptions, Provider
from flux_upgrade.bootstrap.proposed import Bootstrap, ProposedCluster, bootstrap_of, cluster_of, handover_of
from flux_upgrade.bootstrap.request import BootstrapCluster
from flux_upgrade.bootstrap.validation import check_version
from flux_upgrade.commands.bootstrap_cluster import ClusterStep, files_of, open_cluster
from flux_upgrade.commands.read_bootstrap import BootstrapInventory, given_of, place_of, require_secret
from flux_upgrade.commands.wiring import build_tree, build_worktree
from flux_upgrade.commands.wiring_bootstrap import build_hosting, build_remote, repository_of
from flux_upgrade.model.errors import ForbiddenByForge, RepositoryUnfit, Unreadable
from flux_upgrade.model.files import Remote, Tree
from flux_upgrade.model.hosting import HostedRepository, Hosting
from flux_upgrade.model.values import NamedTuple


class BootstrapCaller(NamedTuple):
    """Who runs it, and what texts say of that."""

    progress: Callable[[str], None]
    """Given each line of progress."""
    run_url: str = ""
    action: str = workflow_file.ACTION
    """What a workflow that is added uses."""
    is_asked: bool = True
    """A person started it."""


class Preflight:
    """What is there: repository, cluster, access. ``check`` refuses whatever is predictably in the way."""

    def __init__(self, inventory: BootstrapInventory, caller: BootstrapCaller, opened: ExitStack) -> None:
        self._inventory, self._caller, self._opened = inventory, caller, opened
        self._options = inventory.first
        self.hosting: Hosting | None = build_hosting(
            inventory.environment, self._options, writes=not inventory.asked.dry_run
        )
        self.hosted: HostedRepository | None = None
        self.remote: Remote | None = None
        self.cluster: ClusterStep | None = None
        self.access: tuple[tuple[AccessPlan, AccessPorts], ...] = ()
        self.accesses: tuple[Access, ...] = ()
        """What came of ``access``."""

    @property
    def is_new(self) -> bool:
        """Whether the repository is still to be created."""
        return self._inventory.publishes and self.hosting is not None and self.hosted is None

    def check(self) -> Bootstrap:
        """All that is read, and all that is refused. What is to be."""
        if self._inventory.publishes:
            self._check_repository()
        proposal = self.proposal()
        self._require_room(proposal)
        workflow = proposal.workflow
        if workflow is not None and self._inventory.publishes and self.hosting is not None:
            workflow_file.require_permission(self.hosting.may_write_workflows(), workflow)
        if self._inventory.asked.kubeconfig:
            self.cluster = open_cluster(self._inventory, self._opened, self._caller.progress)
            (cluster,) = proposal.clusters
            self.cluster.check(cluster, files_of(cluster, self._tree()))
        if self.hosting is not None:
            require_secret(self._inventory, self.hosting, is_new_repository=self.is_new)
        self.access = tuple(self._planned_access())
        return proposal

    def fetch(self) -> None:
        """The branch as it is now."""
        remote = build_remote(self._inventory.target)
        self.remote = self._opened.enter_context(closing(remote))

    def proposal(self) -> Bootstrap:
        """What is to be, on what was fetched."""
        tree = self._tree()
        roots = root_syncs(tree)
        clusters = [self._planned(each, tree, roots) for each in self._inventory.clusters]
        return bootstrap_of(
            self.with_handovers(clusters),
            self._inventory.config.branch_prefix,
            workflow=self._workflow(tree),
            repository=repository_of(self._options),
            is_asked=self._caller.is_asked,
        )

    def with_handovers(self, clusters: Sequence[ProposedCluster]) -> tuple[ProposedCluster, ...]:
        """With what became of the access of each, once something did."""
        if not self.accesses:
            return tuple(clusters)
        asked = self._inventory.asked
        handovers = (
            handover_of(
                each,
                in_cluster=bool(asked.kubeconfig),
                secret=asked.actions_secret,
                environment=asked.actions_environment,
            )
            for each in self.accesses
        )
        return tuple(
            cluster._replace(handover=each) for cluster, each in zip(clusters, handovers, strict=True)
        )

    def _check_repository(self) -> None:
        if self.hosting is not None:
            self.hosted = self.hosting.repository()
            self._require_repository()
        elif self._options.provider is Provider.GITHUB:
            raise ForbiddenByForge(
                "there is no token for the repository",
                hint=f"set GITHUB_TOKEN; without {self._ways()} the local checkout alone is written",
            )
        if not self.is_new:
            self.fetch()

    def _ways(self) -> str:
        """Why it is the repository that is worked on."""
        asked = self._inventory.asked
        given = (
            ("--pull-request", asked.pull_request),
            ("--push", asked.push),
            ("--create-repository", asked.create_repository),
            ("--kubeconfig", asked.kubeconfig),
        )
        return " and ".join(flag for flag, is_on in given if is_on)

    def _require_repository(self) -> None:
        name = repository_of(self._options)
        if self.hosted is None and not self._inventory.creates:
            raise RepositoryUnfit(
                f"there is no repository {name}, or the token does not see it",
                hint="create it with --create-repository, or let the token have access to it",
            )
        if self.hosted is not None and self.hosted.is_archived:
            raise RepositoryUnfit(f"{name} is archived", hint="unarchive it first, or name another")

    def _require_room(self, proposal: Bootstrap) -> None:
        """Links, folders and files in the way are found before anything is written anywhere."""
        paths = [each.path for each in proposal.changes]
        if not self._inventory.publishes:
            worktree = build_worktree(self._inventory.checkout.root, writes=not self._inventory.asked.dry_run)
            worktree.require_room(paths)
        elif self.remote is not None:
            self.remote.require_room(paths)

    def _tree(self) -> Tree:
        if not self._inventory.publishes:
            return build_tree(self._inventory.checkout.root)
        return self.remote.tree if self.remote is not None else _NoFiles()

    def _planned(self, each: BootstrapCluster, tree: Tree, roots: tuple[RootSync, ...]) -> ProposedCluster:
        files = plan_files(each.options, tree, self._inventory.components, roots)
        check_version(each.options, files.version)
        planned = cluster_of(_name(each.name, each.options), each.options, files)
        return planned._replace(configured=each.configured)

    def _workflow(self, tree: Tree) -> FileChange | None:
        if not self._inventory.asked.add_workflow:
            return None
        paths = (path for path in tree.candidates() if path.startswith(workflow_file.FOLDER))
        return workflow_file.to_be_added(((path, tree.read(path)) for path in paths), self._caller.action)

    def _planned_access(self) -> Iterator[tuple[AccessPlan, AccessPorts]]:
        for each in self._inventory.clusters:
            place = place_of(self._inventory, each, self.hosting)
            if place is None and self.cluster is not None:
                place = self.cluster.place
            means = AccessPorts(self.hosting, place, generate)
            given = given_of(self._inventory, each.options)
            yield plan_access(each.options, given, means, is_new_repository=self.is_new), means


def _name(name: str, options: BootstrapOptions) -> str:
    return name or options.sync_path.removeprefix("./")


class _NoFiles:
    """The tree of a repository that is not there yet."""

    def candidates(self) -> Iterator[str]:
        yield from ()

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        del suffixes
        yield from ()

    def read(self, path: str) -> bytes:
        raise Unreadable(f"there is no {path}", hint="the repository is still to be created")
