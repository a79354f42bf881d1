"""A bootstrap from a Git repository: preflight, plan, repository, access, publish, cluster; in this order.

All that can be refused is, before the first write. Each step can be repeated, and looks at what is
there: a run that was broken off is gone on with by running it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing

from flux_upgrade.bootstrap.access import carry_out, foresee, retire
from flux_upgrade.bootstrap.apply import BootstrapResult, Published, run_bootstrap, write_all
from flux_upgrade.bootstrap.proposed import Bootstrap
from flux_upgrade.bootstrap.pull_request_text import direct_message
from flux_upgrade.commands.bootstrap_cluster import files_of
from flux_upgrade.commands.bootstrap_preflight import BootstrapCaller, Preflight
from flux_upgrade.commands.read_bootstrap import BootstrapInventory
from flux_upgrade.commands.wiring import build_worktree
from flux_upgrade.commands.wiring_bootstrap import build_pulls, repository_of
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.forge import Extras, Repository
from flux_upgrade.model.hosting import Hosting, NewRepository
from flux_upgrade.planning.preflight import JOBS_OWN
from flux_upgrade.planning.proposal import Action, ProposalContext
from flux_upgrade.pullrequests import text as pull_request


def bootstrap_git(inventory: BootstrapInventory, caller: BootstrapCaller) -> BootstrapResult:
    """One whole run.

    Raises FluxUpgradeError for what is refused before the first write; what goes wrong later ends
    ``Ran.error``.
    """
    with ExitStack() as opened:
        preflight = Preflight(inventory, caller, opened)
        run = _Run(inventory, caller, preflight, preflight.check())
        run.write()
        return run.ran


class _Run:
    """What was done so far."""

    def __init__(
        self,
        inventory: BootstrapInventory,
        caller: BootstrapCaller,
        preflight: Preflight,
        proposal: Bootstrap,
    ) -> None:
        self._inventory, self._caller, self._preflight = inventory, caller, preflight
        self._options = inventory.first
        self.ran = BootstrapResult(
            proposal,
            is_dry=inventory.asked.dry_run,
            repository=repository_of(self._options) or self._options.url if inventory.publishes else "",
            url=preflight.hosted.url if preflight.hosted is not None else "",
            checkout="" if inventory.publishes else inventory.checkout.root,
        )

    def write(self) -> None:
        """Each step in its turn; what was done before one fails is reported."""
        try:
            self._create()
            self._arrange_access()
            if not self._inventory.publishes:
                write_all(
                    self.ran.proposal.changes,
                    build_worktree(self.ran.checkout, writes=not self.ran.is_dry),
                )
            elif self._goes_to_branch():
                self._push()
            else:
                self._propose()
            self._into_cluster()
        except FluxUpgradeError as error:
            self.ran = self.ran._replace(error=error)

    def _create(self) -> None:
        options, hosting = self._options, self._preflight.hosting
        if hosting is None or not self._inventory.publishes:
            return
        if self._preflight.hosted is None:
            wanted = NewRepository(
                repository_of(options),
                options.personal,
                options.visibility,
                self._inventory.asked.description,
                options.branch,
            )
            self._preflight.hosted = hosting.create(wanted)
            self.ran = self.ran._replace(is_created=True, url=self._preflight.hosted.url)
            if not self._inventory.asked.dry_run:
                self._preflight.fetch()
                # Whoever was faster with the name may have put something into it.
                self.ran = self.ran._replace(proposal=self._preflight.proposal())
            self._grant(hosting, {})
        elif options.teams and (self._inventory.creates or options.reconcile):
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
        if self._inventory.asked.kubeconfig and not self._goes_to_branch() and self.ran.proposal.changes:
            return  # the cluster's turn comes after the merge, and so does that of its key
        arrange = foresee if self.ran.is_dry else carry_out
        self._preflight.accesses = tuple(arrange(plan, means) for plan, means in self._preflight.access)
        files = tuple(
            access.where
            for access in self._preflight.accesses
            if access.handed_over and self._inventory.asked.secret_file
        )
        proposal = self.ran.proposal
        clusters = self._preflight.with_handovers(proposal.clusters)
        self.ran = self.ran._replace(proposal=proposal._replace(clusters=clusters), secret_files=files)

    def _goes_to_branch(self) -> bool:
        """An empty repository has no branch that anything could be merged into."""
        asked = self._inventory.asked
        return self._preflight.remote is None or not self._preflight.remote.head or not asked.pull_request

    def _push(self) -> None:
        proposal = self.ran.proposal
        if not proposal.changes:
            return
        head = ""
        if self._preflight.remote is not None:
            head = self._preflight.remote.push(
                {each.path: each.after for each in proposal.changes}, direct_message(proposal)
            )
        self.ran = self.ran._replace(is_pushed=True, commit="" if self.ran.is_dry else head)

    def _propose(self) -> None:
        forge = build_pulls(self._inventory.target, self._inventory.config.forge)
        governance = self._inventory.config.default.governance
        with closing(forge):
            published = run_bootstrap(
                forge,
                self._planned_anew(),
                self._proposal_context,
                base=self._options.branch,
                extras=Extras(governance.labels, governance.assignees, governance.reviewers),
            )
        self.ran = self.ran._replace(proposal=published.proposal, published=published, calls=forge.calls)

    def _planned_anew(self) -> Callable[[], Bootstrap]:
        """The plan that was made, and from the second time on one for the branch as it is by then."""
        plans = iter([self.ran.proposal])

        def plan() -> Bootstrap:
            first = next(plans, None)
            if first is not None:
                return first
            self._preflight.fetch()
            return self._preflight.proposal()

        return plan

    def _proposal_context(self, repository: Repository) -> ProposalContext:
        return ProposalContext(
            releases=(),
            conventional=pull_request.conventional_prefix(repository.recent),
            waits_for_checks=repository.viewer == JOBS_OWN,
            run_url=self._caller.run_url,
        )

    def _into_cluster(self) -> None:
        if self._preflight.cluster is None or self._preflight.remote is None or self.ran.is_dry:
            return
        if _waits(self.ran.published):
            self._warn("the cluster's turn comes once the pull request is merged: run the same command again")
            return
        (cluster,) = self.ran.proposal.clusters
        revision = f"{self._options.branch}@sha1:{self._preflight.remote.head}"
        files = files_of(cluster, self._preflight.remote.tree)
        self._preflight.cluster.bootstrap(cluster, files, {self._options.namespace: revision})
        for plan, means in self._preflight.access:
            retire(plan, means)
        self.ran = self.ran._replace(ready={cluster.name: revision})

    def _warn(self, text: str) -> None:
        self.ran = self.ran._replace(warnings=(*self.ran.warnings, text))


def _waits(published: Published | None) -> bool:
    """Whether the files are not on the branch yet."""
    return published is not None and published.action not in (Action.NONE, Action.CLOSED)
