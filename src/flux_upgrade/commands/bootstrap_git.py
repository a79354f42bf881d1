"""A bootstrap from a Git repository: look, plan, repository, access, publish, cluster; in this order.

All that can be refused is, before the first write. Each step can be repeated, and looks at what is
there: a run that was broken off is gone on with by running it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing

from flux_upgrade.bootstrap.access import carry_out, foresee, retire
from flux_upgrade.bootstrap.apply import Published, Ran, run_bootstrap, write_all
from flux_upgrade.bootstrap.proposed import Bootstrap
from flux_upgrade.bootstrap.pull_request_title import direct_message
from flux_upgrade.commands.bootstrap_cluster import files_of
from flux_upgrade.commands.bootstrap_look import Looked, Telling
from flux_upgrade.commands.read_bootstrap import BootstrapInventory
from flux_upgrade.commands.wiring import build_worktree
from flux_upgrade.commands.wiring_bootstrap import build_pulls, repository_of
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.forge import Extras, Repository
from flux_upgrade.model.hosting import NewRepository
from flux_upgrade.model.ports import Hosting
from flux_upgrade.planning.preflight import JOBS_OWN
from flux_upgrade.planning.proposal import Action, Surroundings
from flux_upgrade.pullrequests import text as pull_request


def bootstrap_git(gathered: BootstrapInventory, telling: Telling) -> Ran:
    """One whole run.

    Raises FluxUpgradeError for what is refused before the first write; what goes wrong later ends
    ``Ran.error``.
    """
    with ExitStack() as opened:
        looked = Looked(gathered, telling, opened)
        run = _Run(gathered, telling, looked, looked.look())
        run.write()
        return run.ran


class _Run:
    """What was done so far."""

    def __init__(
        self, gathered: BootstrapInventory, telling: Telling, looked: Looked, proposal: Bootstrap
    ) -> None:
        self._gathered, self._telling, self._looked = gathered, telling, looked
        self._options = gathered.first
        self.ran = Ran(
            proposal,
            is_dry=gathered.asked.dry_run,
            repository=repository_of(self._options) or self._options.url if gathered.publishes else "",
            url=looked.hosted.url if looked.hosted is not None else "",
            checkout="" if gathered.publishes else gathered.checkout.root,
        )

    def write(self) -> None:
        """Each step in its turn; what was done before one fails is told."""
        try:
            self._create()
            self._arrange_access()
            if not self._gathered.publishes:
                write_all(
                    self.ran.proposal.changes,
                    build_worktree(self._gathered.settings._replace(path=self.ran.checkout)),
                )
            elif self._goes_to_branch():
                self._push()
            else:
                self._propose()
            self._into_cluster()
        except FluxUpgradeError as error:
            self.ran = self.ran._replace(error=error)

    def _create(self) -> None:
        options, hosting = self._options, self._looked.hosting
        if hosting is None or not self._gathered.publishes:
            return
        if self._looked.hosted is None:
            wanted = NewRepository(
                repository_of(options),
                options.personal,
                options.visibility,
                self._gathered.asked.description,
                options.branch,
            )
            self._looked.hosted = hosting.create(wanted)
            self.ran = self.ran._replace(is_created=True, url=self._looked.hosted.url)
            if not self._gathered.asked.dry_run:
                self._looked.fetch()
                # Whoever was faster with the name may have put something into it.
                self.ran = self.ran._replace(proposal=self._looked.proposal())
            self._grant(hosting, {})
        elif options.teams and (self._gathered.creates or options.reconcile):
            self._grant(hosting, hosting.teams())

    def _grant(self, hosting: Hosting, there: Mapping[str, str]) -> None:
        """As the CLI: a repository without its teams is better than none."""
        for team in self._options.teams:
            try:
                if there.get(team.slug) != team.permission:
                    hosting.grant(team.slug, team.permission)
            except FluxUpgradeError as error:
                self._warn(f"{error.message} ({error.hint})")

    def _arrange_access(self) -> None:
        if self._gathered.asked.kubeconfig and not self._goes_to_branch() and self.ran.proposal.changes:
            return  # the cluster's turn comes after the merge, and so does that of its key
        arrange = foresee if self.ran.is_dry else carry_out
        self._looked.accesses = tuple(arrange(plan, means) for plan, means in self._looked.access)
        files = tuple(
            access.where
            for access in self._looked.accesses
            if access.handed_over and self._gathered.asked.secret_file
        )
        proposal = self.ran.proposal
        clusters = self._looked.with_handovers(proposal.clusters)
        self.ran = self.ran._replace(proposal=proposal._replace(clusters=clusters), secret_files=files)

    def _goes_to_branch(self) -> bool:
        """An empty repository has no branch that anything could be merged into."""
        asked = self._gathered.asked
        return self._looked.remote is None or not self._looked.remote.head or not asked.pull_request

    def _push(self) -> None:
        proposal = self.ran.proposal
        if not proposal.changes:
            return
        head = ""
        if self._looked.remote is not None:
            head = self._looked.remote.push(
                {each.path: each.after for each in proposal.changes}, direct_message(proposal)
            )
        self.ran = self.ran._replace(is_pushed=True, commit="" if self.ran.is_dry else head)

    def _propose(self) -> None:
        forge = build_pulls(
            self._gathered.settings, self._options, self._gathered.config, self._gathered.checkout
        )
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
            self._looked.fetch()
            return self._looked.proposal()

        return plan

    def _around(self, repository: Repository) -> Surroundings:
        return Surroundings(
            releases=(),
            conventional=pull_request.conventional_prefix(repository.recent),
            waits_for_checks=repository.viewer == JOBS_OWN,
            run_url=self._telling.run_url,
        )

    def _into_cluster(self) -> None:
        if self._looked.cluster is None or self._looked.remote is None or self.ran.is_dry:
            return
        if _waits(self.ran.published):
            self._warn("the cluster's turn comes once the pull request is merged: run the same command again")
            return
        (cluster,) = self.ran.proposal.clusters
        revision = f"{self._options.branch}@sha1:{self._looked.remote.head}"
        files = files_of(cluster, self._looked.remote.tree)
        self._looked.cluster.bootstrap(cluster, files, {self._options.namespace: revision})
        for plan, means in self._looked.access:
            retire(plan, means)
        self.ran = self.ran._replace(ready={cluster.name: revision})

    def _warn(self, text: str) -> None:
        self.ran = self.ran._replace(warnings=(*self.ran.warnings, text))


def _waits(published: Published | None) -> bool:
    """Whether the files are not on the branch yet."""
    return published is not None and published.action not in (Action.NONE, Action.CLOSED)
