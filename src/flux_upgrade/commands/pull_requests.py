"""``upgrade --pull-request``, and ``plan --pull-request``: what the Action does, on a laptop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager

from flux_upgrade.adapters.recording import RecordingForge
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.clusters.ownership.remarks import remarks
from flux_upgrade.commands.output import Console, show_plans
from flux_upgrade.commands.read import read_inventory
from flux_upgrade.commands.wiring import build_spool
from flux_upgrade.commands.wiring_repository import build_forge, source_of
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.forge import Repository
from flux_upgrade.model.ports import Forge
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.planning.planner import Inventory, plan_update_groups
from flux_upgrade.planning.preflight import JOBS_OWN
from flux_upgrade.planning.proposal import Proposal, ProposalContext, Round
from flux_upgrade.planning.write_tree import exit_code
from flux_upgrade.pullrequests.apply import fetch_plans, nothing, reconcile_pull_requests
from flux_upgrade.report.pull_requests import round_errors, round_failures, round_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.model.oci.reference import Address
    from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference


class RunDetails(NamedTuple):
    """What the texts say of the run."""

    approve_command: str = "flux-upgrade upgrade --pull-request --approve="
    run_url: str = ""
    """Of the workflow's run, for a browser."""


def propose(
    options: UpgradeOptions,
    environment: Environment,
    console: Console,
    references: Sequence[ArtifactReference] = (),
) -> int:
    """Open, update and close pull requests; ``--dry-run`` shows what would be done.

    ``references``: to the artifact, where the run is about one.
    """
    done, calls = perform(options, environment, _details(options.artifact), console.warn, references)
    console.show(round_text(done, calls=calls, written=options.request.writes))
    for slug, message, hint in round_failures(done):
        console.fail(slug, message, hint)
    return exit_code(round_errors(done))


def _details(artifact: Address | None) -> RunDetails:
    """What approves on a laptop: the same command again."""
    if artifact is None:
        return RunDetails()
    return RunDetails(f"flux-upgrade upgrade {artifact} --promote=pull-request --approve=")


def preview(
    options: UpgradeOptions,
    environment: Environment,
    console: Console,
    references: Sequence[ArtifactReference] = (),
) -> int:
    """The plan, under the answers that people gave in pull requests if these are asked for.

    ``references``: as for ``propose``.
    """
    with _inventory(options, environment, references) as (inventory, _):
        if options.pull_request:
            with closing(_forge(options, environment, inventory)) as forge:
                _, plans = fetch_plans(inventory, forge)
        else:
            plans = plan_update_groups(inventory)
        show_plans(options, inventory, plans, console)
    return 0


def perform(
    options: UpgradeOptions,
    environment: Environment,
    details: RunDetails,
    warn: Callable[[str], None],
    references: Sequence[ArtifactReference] = (),
) -> tuple[Round, int]:
    """One whole run. Returns what came of it, and the calls made to the forge.

    ``warn`` is given what a person should know before anything is written. ``references``: as for
    ``propose``.
    """
    with _inventory(options, environment, references) as (inventory, prepare):

        def context_of(repository: Repository, planned: UpdateGroupPlan) -> ProposalContext:
            return _proposal_context(inventory, details, repository, planned)

        with closing(_forge(options, environment, inventory)) as forge:
            return reconcile_pull_requests(inventory, forge, context_of, warn, prepare), forge.calls


@contextmanager
def _inventory(
    options: UpgradeOptions, environment: Environment, references: Sequence[ArtifactReference]
) -> Iterator[tuple[Inventory, Callable[[Proposal], None]]]:
    """What is planned for, and what is done directly before it is proposed."""
    if options.artifact is None:
        yield read_inventory(options, environment), nothing
        return
    from flux_upgrade.commands.read_artifact import read_artifact_pins

    with build_spool() as spool:
        found = read_artifact_pins(options, environment, references, spool)
        yield found.inventory, found.prepare


def _forge(options: UpgradeOptions, environment: Environment, inventory: Inventory) -> Forge:
    forge = build_forge(environment, source_of(options, inventory.config))
    return forge if options.request.writes else RecordingForge(forge)


def _overriding(inventory: Inventory, paths: Iterable[str]) -> tuple[str, ...]:
    """What runs in place of the images of the manifests."""
    if not inventory.reported_only:
        return ()
    return remarks(paths, inventory.reported_only)


def _proposal_context(
    inventory: Inventory, details: RunDetails, repository: Repository, planned: UpdateGroupPlan
) -> ProposalContext:
    # Late, as impact/ is: the text needs it, and nearly every run proposes nothing.
    from flux_upgrade.pullrequests import text as pull_request

    files = {plan.path: plan.pin.content for plan in planned.plans if plan.upgrades and plan.pin.is_manifest}
    history = {path: repository.files[path].history for path in files}
    return ProposalContext(
        releases=inventory.releases,
        remarks=(*inventory.ownership.remarks(files, history), *_overriding(inventory, files)),
        conventional=pull_request.conventional_prefix(repository.recent),
        approve_command=details.approve_command,
        waits_for_checks=repository.viewer == JOBS_OWN,
        run_url=details.run_url,
    )
