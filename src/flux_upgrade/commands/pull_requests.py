"""``upgrade --pull-request``, and ``plan --pull-request``: what the Action does, on a laptop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager

from flux_upgrade.cli.options import Settings
from flux_upgrade.commands.output import fail, show, warn
from flux_upgrade.commands.read import gather
from flux_upgrade.commands.wiring import build_spool
from flux_upgrade.commands.wiring_repository import build_forge
from flux_upgrade.model.forge import Repository
from flux_upgrade.model.ports import Forge
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.pin import Installation
from flux_upgrade.planning.planner import Inventory, UpdateGroupPlan, plan_teams
from flux_upgrade.planning.preflight import JOBS_OWN
from flux_upgrade.planning.proposal import Proposal, Round, Surroundings
from flux_upgrade.planning.write_tree import exit_code
from flux_upgrade.pullrequests.apply import looked, nothing, run_rounds
from flux_upgrade.report.pull_requests import round_errors, round_failures, round_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from flux_upgrade.pins.own_artifact.artifact_reference import Reference


class Telling(NamedTuple):
    """What the texts say of the run."""

    approve_command: str = "flux-upgrade upgrade --pull-request --approve="
    run_url: str = ""
    """Of the workflow's run, for a browser."""


def propose(settings: Settings, out: IO[bytes], err: IO[str], references: Sequence[Reference] = ()) -> int:
    """Open, update and close pull requests; ``--dry-run`` tells what would be done.

    ``references``: to the artifact, where the run is about one.
    """
    done, calls = perform(settings, _telling(settings), lambda text: warn(err, text), references)
    show(out, round_text(done, calls=calls, written=not settings.dry_run))
    for slug, message, hint in round_failures(done):
        fail(err, slug, message, hint)
    return exit_code(round_errors(done))


def _telling(settings: Settings) -> Telling:
    """What approves on a laptop: the same command again."""
    if settings.artifact is None:
        return Telling()
    return Telling(f"flux-upgrade upgrade {settings.artifact} --promote=pull-request --approve=")


def preview(settings: Settings, out: IO[bytes], err: IO[str], references: Sequence[Reference] = ()) -> int:
    """The plan under the answers that people gave in pull requests. ``references``: as for ``propose``."""
    with _gathered(settings, references) as (gathered, _):
        with closing(_forge(settings, gathered)) as forge:
            _, plans = looked(gathered, forge)
        _show_plans(settings, gathered, plans, out, err)
    return 0


def show_pins(settings: Settings, out: IO[bytes], err: IO[str], references: Sequence[Reference]) -> int:
    """The plan for what pins an artifact, without anybody's answers. ``references``: as for ``propose``."""
    with _gathered(settings, references) as (gathered, _):
        _show_plans(settings, gathered, plan_teams(gathered), out, err)
    return 0


def _show_plans(
    settings: Settings, gathered: Inventory, plans: Sequence[UpdateGroupPlan], out: IO[bytes], err: IO[str]
) -> None:
    from flux_upgrade.report.plans import plans_json, plans_text

    for each in gathered.void:
        warn(err, each.text)
    if settings.json:
        show(out, plans_json(plans, gathered.named, gathered.void))
    else:
        show(out, plans_text(plans, gathered.named))


def perform(
    settings: Settings,
    telling: Telling,
    warn: Callable[[str], None],
    references: Sequence[Reference] = (),
) -> tuple[Round, int]:
    """One whole run. Returns what came of it, and the calls made to the forge.

    ``warn`` is told of what a person should know before anything is written. ``references``: as for
    ``propose``.
    """
    with _gathered(settings, references) as (gathered, prepare):

        def around(repository: Repository, planned: UpdateGroupPlan) -> Surroundings:
            return _surroundings(gathered, telling, repository, planned)

        with closing(_forge(settings, gathered)) as forge:
            return run_rounds(gathered, forge, around, warn, prepare), forge.calls


@contextmanager
def _gathered(
    settings: Settings, references: Sequence[Reference]
) -> Iterator[tuple[Inventory, Callable[[Proposal], None]]]:
    """What is planned for, and what is done directly before it is proposed."""
    if settings.artifact is None:
        yield gather(settings), nothing
        return
    from flux_upgrade.commands.read_artifact import gather_pins

    with build_spool() as spool:
        found = gather_pins(settings, settings.artifact, references, spool)
        yield found.gathered, found.prepare


def _forge(settings: Settings, gathered: Inventory) -> Forge:
    forge = build_forge(settings, gathered.config)
    if not settings.dry_run and settings.command != "plan":
        return forge
    from flux_upgrade.adapters.git.recording import RecordingForge

    return RecordingForge(forge)


def _overriding(gathered: Inventory, paths: Iterable[str]) -> tuple[str, ...]:
    """What runs in place of the images of the manifests."""
    if not gathered.named:
        return ()
    from flux_upgrade.clusters.ownership.remarks import remarks

    return remarks(paths, gathered.named)


def _surroundings(
    gathered: Inventory, telling: Telling, repository: Repository, planned: UpdateGroupPlan
) -> Surroundings:
    from flux_upgrade.pullrequests import text as pull_request

    files = {
        plan.path: plan.installation.content
        for plan in planned.plans
        if plan.upgrades and isinstance(plan.installation, Installation)
    }
    history = {path: repository.files[path].history for path in files}
    return Surroundings(
        releases=gathered.releases,
        remarks=(*gathered.around.remarks(files, history), *_overriding(gathered, files)),
        conventional=pull_request.conventional_prefix(repository.recent),
        approve_command=telling.approve_command,
        waits_for_checks=repository.viewer == JOBS_OWN,
        run_url=telling.run_url,
    )
