"""A bootstrap from a Git repository: preflight, plan, repository, access, publish, cluster; in this order.

All that can be refused is, before the first write. Each step can be repeated, and looks at what is
there: a run that was broken off is gone on with by running it again.
"""

from __future__ import annotations

from contextlib import ExitStack, closing

from flux_upgrade.bootstrap.access import carry_out, foresee, retire
from flux_upgrade.bootstrap.apply import BootstrapResult, run_bootstrap, write_all
from flux_upgrade.bootstrap.proposed import Bootstrap
from flux_upgrade.bootstrap.pull_request_text import direct_message
from flux_upgrade.commands.bootstrap_cluster import files_of
from flux_upgrade.commands.bootstrap_preflight import BootstrapCaller, Preflight
from flux_upgrade.commands.wiring import build_worktree
from flux_upgrade.commands.wiring_bootstrap import BootstrapInventory, build_pulls, repository_of
from flux_upgrade.model.errors import FluxUpgradeError, known
from flux_upgrade.model.forge import Extras, Repository
from flux_upgrade.model.hosting import Hosting, NewRepository
from flux_upgrade.planning.preflight import JOBS_OWN
from flux_upgrade.planning.proposal import Action, ProposalContext
from flux_upgrade.pullrequests.text.commit import conventional_prefix
from flux_upgrade.snapshot.snapshot import Snapshot


def bootstrap_git(inventory: BootstrapInventory, caller: BootstrapCaller) -> BootstrapResult:
    """Raises FluxUpgradeError for what is refused before the first write; what goes wrong later ends ``ran.error``."""
    with ExitStack() as opened:
        run = _Run(inventory, caller, Preflight(inventory, caller, opened))
        run.write()
        return run.ran


class _Run:
    def __init__(self, inventory: BootstrapInventory, caller: BootstrapCaller, preflight: Preflight) -> None:
        self._inventory, self._caller, self._preflight = inventory, caller, preflight
        self._options, self._asked = inventory.first, inventory.asked
        self.ran = BootstrapResult(
            preflight.check(),
            is_dry=inventory.asked.dry_run,
            repository=repository_of(self._options) or self._options.url if inventory.publishes else "",
            url=preflight.hosted.url if preflight.hosted is not None else "",
            checkout="" if inventory.publishes else inventory.checkout.root,
        )

    def write(self) -> None:
        """Each step in its turn; what was done before one fails is reported."""
        try:
            if self._preflight.hosting is not None and self._inventory.publishes:
                self._create(self._preflight.hosting)
            self._arrange_access()
            if not self._inventory.publishes:
                worktree = build_worktree(self.ran.checkout, writes=not self.ran.is_dry)
                write_all(self.ran.proposal.changes, worktree)
            elif not self._goes_to_branch():
                self._propose()
            elif self.ran.proposal.changes:
                self._push()
            self._into_cluster()
        except Exception as error:  # noqa: BLE001 what was done before is reported, whatever this one is
            self.ran = self.ran._replace(error=known(error))

    def _create(self, hosting: Hosting) -> None:
        options, asked, there = self._options, self._asked, dict[str, str]()
        if self._preflight.hosted is None:
            name = repository_of(options)
            wanted = NewRepository(name, options.personal, options.visibility, asked.description, options.branch)
            self._preflight.hosted = hosting.create(wanted)
            self.ran = self.ran._replace(is_created=True, url=self._preflight.hosted.url)
            if not asked.dry_run:
                self._preflight.fetch()
                # Whoever was faster with the name may have put something into it.
                self.ran = self.ran._replace(proposal=self._preflight.proposal())
        elif options.teams and (asked.create_repository or options.reconcile):
            there = {**hosting.teams()}
        else:
            return
        # As the CLI: a repository without its teams is better than none.
        for team in options.teams:
            try:
                if there.get(team.slug) != team.permission:
                    hosting.grant(team.slug, team.permission)
            except FluxUpgradeError as error:
                self._warn(f"{error.message} ({error.hint})")

    def _arrange_access(self) -> None:
        proposal, preflight = self.ran.proposal, self._preflight
        if self._asked.kubernetes.kubeconfig and not self._goes_to_branch() and proposal.changes:
            return  # the cluster's turn comes after the merge, and so does that of its key
        arrange = foresee if self.ran.is_dry else carry_out
        preflight.accesses = tuple(arrange(plan, means) for plan, means in preflight.access)
        is_file = bool(self._asked.credentials.secret_file)
        files = tuple(each.where for each in preflight.accesses if each.handed_over and is_file)
        proposal = proposal._replace(clusters=preflight.with_handovers(proposal.clusters))
        self.ran = self.ran._replace(proposal=proposal, secret_files=files)

    def _goes_to_branch(self) -> bool:
        """An empty repository has no branch that anything could be merged into."""
        remote = self._preflight.remote
        return remote is None or not remote.head or not self._asked.pull_request

    def _push(self) -> None:
        proposal, remote, head = self.ran.proposal, self._preflight.remote, ""
        if remote is not None:
            files = {each.path: each.after for each in proposal.changes}
            head = remote.push(files, direct_message(proposal))
        self.ran = self.ran._replace(is_pushed=True, commit="" if self.ran.is_dry else head)

    def _propose(self) -> None:
        governance = self._inventory.config.default.governance
        plans = iter([self.ran.proposal])

        def propose() -> Bootstrap:
            """The plan that was made, and from the second time on one for the branch as it is by then."""
            first = next(plans, None)
            if first is not None:
                return first
            self._preflight.fetch()
            return self._preflight.proposal()

        def context(repository: Repository) -> ProposalContext:
            return ProposalContext(
                releases=(),
                conventional=conventional_prefix(repository.recent),
                waits_for_checks=repository.viewer == JOBS_OWN,
                is_enterprise_server=repository.is_enterprise_server,
                run_url=self._caller.run_url,
            )

        with closing(build_pulls(self._inventory)) as forge:
            extras = Extras(governance.labels, governance.assignees, governance.reviewers)
            published = run_bootstrap(forge, propose, context, base=self._options.branch, extras=extras)
            calls = forge.calls
        self.ran = self.ran._replace(proposal=published.proposal, published=published, calls=calls)

    def _into_cluster(self) -> None:
        preflight, published = self._preflight, self.ran.published
        if preflight.cluster is None or preflight.remote is None or self.ran.is_dry:
            return
        if published is not None and published.action not in (Action.NONE, Action.CLOSED):
            self._warn("the cluster is unchanged: run the same command again after merging the pull request")
            return
        (cluster,) = self.ran.proposal.clusters
        revision = f"{self._options.branch}@sha1:{preflight.remote.head}"
        files = files_of(cluster, Snapshot(preflight.remote.files))
        preflight.cluster.bootstrap(cluster, files, {self._options.namespace: revision})
        for plan, means in preflight.access:
            retire(plan, means)
        self.ran = self.ran._replace(ready={cluster.name: revision})

    def _warn(self, text: str) -> None:
        self.ran = self.ran._replace(warnings=(*self.ran.warnings, text))
