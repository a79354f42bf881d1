"""A bootstrap from a Git repository: look, plan, repository, access, publish, cluster; in this order.

All that can be refused is, before the first write. Each step can be repeated, and looks at what is
there: a run that was broken off is gone on with by running it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

from flux_upgrade import pull_request
from flux_upgrade.bootstrap.changes import FileChange
from flux_upgrade.bootstrap.files import plan_files, root_syncs
from flux_upgrade.bootstrap.options import BootstrapOptions, Provider
from flux_upgrade.bootstrapping import workflow_file
from flux_upgrade.bootstrapping.access import Access, AccessPlan, Means, carry_out
from flux_upgrade.bootstrapping.access_plan import plan_access
from flux_upgrade.bootstrapping.headline import direct_message
from flux_upgrade.bootstrapping.local import write_all
from flux_upgrade.bootstrapping.outcome import Ran
from flux_upgrade.bootstrapping.proposed import Bootstrap, Cluster, bootstrap_of, cluster_of, handover_of
from flux_upgrade.bootstrapping.publishing import Published, run_bootstrap
from flux_upgrade.build import build_tree, build_worktree
from flux_upgrade.build_bootstrap import build_hosting, build_pulls, build_remote, repository_of
from flux_upgrade.commands.bootstrap_cluster import ClusterStep, files_of, open_cluster
from flux_upgrade.commands.gathering_bootstrap import Gathered, given_of, place_of
from flux_upgrade.errors import FluxUpgradeError, ForbiddenByForge, RepositoryUnfit, Unreadable
from flux_upgrade.forge import Extras, Repository
from flux_upgrade.guards import JOBS_OWN
from flux_upgrade.hosting import Hosted, NewRepository
from flux_upgrade.ports import Hosting, Remote, Tree
from flux_upgrade.proposal import Surroundings
from flux_upgrade.results import Action
from flux_upgrade.values import NamedTuple


class Telling(NamedTuple):
    """Who runs it, and what texts say of that."""

    tell: Callable[[str], None]
    """Given each line of progress."""
    run_url: str = ""
    action: str = workflow_file.ACTION
    """What a workflow that is added uses."""
    is_asked: bool = True
    """A person started it."""


def bootstrap_git(gathered: Gathered, telling: Telling) -> Ran:
    """One whole run.

    Raises FluxUpgradeError for what is refused before the first write; what goes wrong later ends
    ``Ran.error``.
    """
    with ExitStack() as opened:
        run = _Run(gathered, telling, opened)
        run.look()
        run.write()
        return run.ran


class _Run:
    """What is known so far, and what was done."""

    def __init__(self, gathered: Gathered, telling: Telling, opened: ExitStack) -> None:
        self._gathered, self._telling, self._opened = gathered, telling, opened
        self._settings, self._options = gathered.settings, gathered.first
        self._hosting: Hosting | None = None
        self._hosted: Hosted | None = None
        self._remote: Remote | None = None
        self._cluster: ClusterStep | None = None
        self._access: tuple[tuple[AccessPlan, Means], ...] = ()
        self._accesses: tuple[Access, ...] = ()
        self.ran: Ran

    # Looking

    def look(self) -> None:
        """All that is read, and all that is refused."""
        gathered, asked = self._gathered, self._gathered.asked
        self._hosting = build_hosting(self._settings, self._options)
        if gathered.publishes:
            self._look_at_repository()
        self.ran = Ran(
            self._proposal(),
            is_dry=asked.dry_run,
            repository=repository_of(self._options) or self._options.url if gathered.publishes else "",
            url=self._hosted.url if self._hosted is not None else "",
            checkout="" if gathered.publishes else gathered.checkout.root,
        )
        workflow = self.ran.proposal.workflow
        if workflow is not None and gathered.publishes and self._hosting is not None:
            workflow_file.require_permission(self._hosting.may_write_workflows(), workflow)
        self._look_at_cluster()
        self._access = tuple(self._planned_access())

    def _look_at_repository(self) -> None:
        if self._hosting is not None:
            self._hosted = self._hosting.repository()
            self._require_repository()
        elif self._options.provider is Provider.GITHUB:
            raise ForbiddenByForge(
                "there is no token for the repository",
                hint="set GITHUB_TOKEN; without --pull-request and --push the local checkout is written",
            )
        if self._hosting is None or self._hosted is not None:
            self._fetch()

    def _require_repository(self) -> None:
        name = repository_of(self._options)
        if self._hosted is None and not self._gathered.creates:
            raise RepositoryUnfit(
                f"there is no repository {name}, or the token does not see it",
                hint="create it with --create-repository, or let the token have access to it",
            )
        if self._hosted is not None and self._hosted.is_archived:
            raise RepositoryUnfit(f"{name} is archived", hint="unarchive it first, or name another")

    def _fetch(self) -> None:
        remote = build_remote(self._settings, self._options, self._gathered.checkout)
        self._remote = self._opened.enter_context(closing(remote))

    def _tree(self) -> Tree:
        if not self._gathered.publishes:
            return build_tree(self._gathered.checkout.root)
        return self._remote.tree if self._remote is not None else _NoFiles()

    def _proposal(self) -> Bootstrap:
        """What is to be, on what is there now."""
        gathered, tree = self._gathered, self._tree()
        roots = root_syncs(tree)
        clusters = tuple(
            self._with_handover(
                index,
                cluster_of(
                    _name(each.name, each.options),
                    each.options,
                    plan_files(each.options, tree, gathered.components, roots),
                ),
            )
            for index, each in enumerate(gathered.clusters)
        )
        return bootstrap_of(
            clusters,
            gathered.config.branch_prefix,
            workflow=self._workflow(tree),
            repository=repository_of(self._options),
            is_asked=self._telling.is_asked,
        )

    def _with_handover(self, index: int, cluster: Cluster) -> Cluster:
        if not self._accesses:
            return cluster
        asked = self._gathered.asked
        told = handover_of(
            self._accesses[index],
            in_cluster=bool(asked.kubeconfig) and not asked.actions_secret and not asked.secret_file,
            secret=asked.actions_secret,
            environment=asked.actions_environment,
        )
        return cluster._replace(handover=told)

    def _workflow(self, tree: Tree) -> FileChange | None:
        if not self._gathered.asked.add_workflow:
            return None
        paths = (path for path in tree.candidates() if path.startswith(workflow_file.FOLDER))
        return workflow_file.to_be_added(((path, tree.read(path)) for path in paths), self._telling.action)

    def _look_at_cluster(self) -> None:
        if not self._gathered.asked.kubeconfig:
            return
        self._cluster = open_cluster(self._gathered, self._opened, self._telling.tell)
        (cluster,) = self.ran.proposal.clusters
        self._cluster.check(cluster, files_of(cluster, self._tree()))

    def _planned_access(self) -> list[tuple[AccessPlan, Means]]:
        from flux_upgrade.edges.ssh_keys import generate

        planned = []
        for each in self._gathered.clusters:
            place = place_of(self._gathered, each, self._hosting)
            if place is None and self._cluster is not None:
                place = self._cluster.place
            means = Means(self._hosting, place, generate)
            is_new = self._gathered.publishes and self._hosting is not None and self._hosted is None
            given = given_of(self._gathered, each.options)
            planned.append((plan_access(each.options, given, means, is_new_repository=is_new), means))
        return planned

    # Writing

    def write(self) -> None:
        """Each step in its turn; what was done before one fails is told."""
        try:
            self._create()
            self._arrange_access()
            if not self._gathered.publishes:
                write_all(
                    self.ran.proposal.changes, build_worktree(self._settings._replace(path=self.ran.checkout))
                )
            elif self._goes_to_branch():
                self._push()
            else:
                self._propose()
            self._into_cluster()
        except FluxUpgradeError as error:
            self.ran = self.ran._replace(error=error)

    def _create(self) -> None:
        options, hosting = self._options, self._hosting
        if hosting is None or not self._gathered.publishes:
            return
        if self._hosted is None:
            wanted = NewRepository(
                repository_of(options),
                options.personal,
                options.visibility,
                self._gathered.asked.description,
                options.branch,
            )
            self._hosted = hosting.create(wanted)
            self.ran = self.ran._replace(is_created=True, url=self._hosted.url)
            if not self._gathered.asked.dry_run:
                self._fetch()
        if self._gathered.creates:
            # As the CLI: a repository without its teams is better than none.
            for team in options.teams:
                try:
                    hosting.grant(team.slug, team.permission)
                except FluxUpgradeError as error:
                    self._warn(f"{error.message} ({error.hint})")

    def _arrange_access(self) -> None:
        self._accesses = tuple(carry_out(plan, means) for plan, means in self._access)
        files = tuple(
            access.where
            for access in self._accesses
            if access.handed_over and self._gathered.asked.secret_file
        )
        proposal = self.ran.proposal
        clusters = tuple(self._with_handover(index, each) for index, each in enumerate(proposal.clusters))
        self.ran = self.ran._replace(proposal=proposal._replace(clusters=clusters), secret_files=files)

    def _goes_to_branch(self) -> bool:
        """An empty repository has no branch that anything could be merged into."""
        asked = self._gathered.asked
        return self._remote is None or not self._remote.head or not asked.pull_request

    def _push(self) -> None:
        proposal = self.ran.proposal
        if not proposal.changes:
            return
        head = ""
        if self._remote is not None:
            head = self._remote.push(
                {each.path: each.after for each in proposal.changes}, direct_message(proposal)
            )
        self.ran = self.ran._replace(is_pushed=True, commit="" if self.ran.is_dry else head)

    def _propose(self) -> None:
        forge = build_pulls(self._settings, self._options, self._gathered.config, self._gathered.checkout)
        group = self._gathered.config.default
        with closing(forge):
            published = run_bootstrap(
                forge,
                self._planned_anew(),
                self._around,
                base=self._options.branch,
                extras=Extras(group.labels, group.assignees, group.reviewers),
            )
        self.ran = self.ran._replace(proposal=published.proposal, published=published, calls=forge.calls)

    def _planned_anew(self) -> Callable[[], Bootstrap]:
        """The plan that was made, and from the second time on one for the branch as it is by then."""
        plans = iter([self.ran.proposal])

        def plan() -> Bootstrap:
            first = next(plans, None)
            if first is not None:
                return first
            self._fetch()
            return self._proposal()

        return plan

    def _around(self, repository: Repository) -> Surroundings:
        return Surroundings(
            releases=(),
            conventional=pull_request.conventional_prefix(repository.recent),
            waits_for_checks=repository.viewer == JOBS_OWN,
            run_url=self._telling.run_url,
        )

    def _into_cluster(self) -> None:
        if self._cluster is None or self._remote is None or self.ran.is_dry:
            return
        if _waits(self.ran.published):
            self._warn("the cluster's turn comes once the pull request is merged: run the same command again")
            return
        (cluster,) = self.ran.proposal.clusters
        revision = f"{self._options.branch}@sha1:{self._remote.head}"
        files = files_of(cluster, self._remote.tree)
        self._cluster.bootstrap(cluster, files, {self._options.namespace: revision})
        self.ran = self.ran._replace(ready={cluster.name: revision})

    def _warn(self, text: str) -> None:
        self.ran = self.ran._replace(warnings=(*self.ran.warnings, text))


def _waits(published: Published | None) -> bool:
    """Whether the files are not on the branch yet."""
    return published is not None and published.action not in (Action.NONE, Action.CLOSED)


def _name(name: str, options: BootstrapOptions) -> str:
    return name or options.sync_path.removeprefix("./")


class _NoFiles:
    """The tree of a repository that is not there yet."""

    def candidates(self) -> Iterator[str]:
        """See the port."""
        yield from ()

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        """See the port."""
        del suffixes
        yield from ()

    def read(self, path: str) -> bytes:
        """See the port: there is nothing to read."""
        raise Unreadable(f"there is no {path}", hint="the repository is still to be created")
