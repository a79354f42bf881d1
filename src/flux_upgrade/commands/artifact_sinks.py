"""An upgrade of an artifact: its tag is moved, or what pins it in the checkout is changed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from flux_upgrade.adapters.local.worktree import Spool
from flux_upgrade.artifacts.promote import carry_out
from flux_upgrade.artifacts.promotion_plan import ArtifactPlan, plan_artifact
from flux_upgrade.artifacts.report_text import artifact_failures
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.clusters.ownership.artifact_references import Promotion, promotion_of
from flux_upgrade.commands.pull_request_sink import PullRequestSink
from flux_upgrade.commands.read_artifact import ArtifactInventory, read_artifact, read_artifact_pins, references_here
from flux_upgrade.commands.reports import artifact_plan_report, artifact_report
from flux_upgrade.commands.sink import Applied, Sink
from flux_upgrade.commands.tree_sink import TreeSink
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import UsageError
from flux_upgrade.planning.proposal import RunDetails


def artifact_sink(  # noqa: PLR0913 those of `sink_of`, and what closes at its end
    options: UpgradeOptions,
    environment: Environment,
    warn: Callable[[str], None],
    details: RunDetails | None,
    stack: ExitStack,
    *,
    previews: bool,
) -> Sink:
    """Of ``sinks.sink_of``. Raises UsageError."""
    found = references_here(options.path, options.address)
    spool = stack.enter_context(Spool())
    if (options.promote or promotion_of(found, options.address)) != Promotion.PULL_REQUEST:
        if options.request.branch:
            raise UsageError(
                "a run for a pull_request_target event moves no tags",
                hint="run it on schedule or workflow_dispatch, or set `promote: pull-request`",
            )
        return TagSink(options, environment, partial(read_artifact, options, environment, found, spool))
    # Pull requests are about what pins the artifact alone, and name what is pushed first.
    read = partial(read_artifact_pins, options, environment, found, spool)
    if previews and not options.pull_request:
        return TreeSink(options, environment, warn, read)  # it asks no forge for people's answers
    # What approves on a laptop: the same command again.
    command = f"flux-upgrade upgrade {options.artifact} --promote=pull-request --approve="
    return PullRequestSink(options, environment, warn, details or RunDetails(command), stack, read)


@dataclass(frozen=True)
class TagSink:
    """As ``Sink``: the artifact is rebased and pushed, and its tag moved."""

    options: UpgradeOptions
    environment: Environment
    read: Callable[[], ArtifactInventory]

    def decide(self, inventory: ArtifactInventory) -> ArtifactPlan:
        return plan_artifact(*inventory)

    def show(self, inventory: ArtifactInventory, plans: ArtifactPlan) -> str:
        del inventory
        return artifact_plan_report(plans, self.options, self.environment)

    def apply(self, inventory: ArtifactInventory, plans: ArtifactPlan) -> Applied:
        outcome = carry_out(plans, inventory.ports)
        text = artifact_report(outcome, self.options, self.environment)
        return Applied(text, tuple(artifact_failures(outcome)), outcome.errors, outcome)
