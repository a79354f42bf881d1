"""An upgrade of an artifact: its tag is moved, or what pins it in the checkout is changed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

from flux_upgrade.artifacts.promote import carry_out
from flux_upgrade.artifacts.promotion_plan import ArtifactPlan, plan_artifact
from flux_upgrade.artifacts.report_text import artifact_failures, artifact_plan_json, artifact_plan_text, artifact_text
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.clusters.ownership.artifact_references import Promotion, promotion_of
from flux_upgrade.commands.pull_request_sink import PullRequestSink
from flux_upgrade.commands.read_artifact import ArtifactInventory, read_artifact, read_artifact_pins, references_here
from flux_upgrade.commands.sink import Applied, Sink
from flux_upgrade.commands.tree_sink import TreeSink
from flux_upgrade.commands.wiring import build_spool
from flux_upgrade.config.environment import Environment
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.proposal import RunDetails


class ArtifactRun:
    """What the sinks of an artifact share. Raises as ``references_here``."""

    def __init__(self, options: UpgradeOptions, environment: Environment, stack: ExitStack) -> None:
        self.options, self.environment, self.stack = options, environment, stack
        self.references = references_here(options.path, options.address)
        self.spool = stack.enter_context(build_spool())

    def sink(self, warn: Callable[[str], None], details: RunDetails | None, *, previews: bool) -> Sink:
        """Of ``sinks.sink_of``. Raises UsageError."""
        options = self.options
        if (options.promote or promotion_of(self.references, options.address)) != Promotion.PULL_REQUEST:
            return TagSink(self)
        if previews and not options.pull_request:
            return UnansweredPinSink(options, self.environment, warn, self)
        # What approves on a laptop: the same command again.
        command = f"flux-upgrade upgrade {options.artifact} --promote=pull-request --approve="
        return PinSink(options, self.environment, warn, details or RunDetails(command), self.stack, self)

    def pins(self) -> Inventory:
        return read_artifact_pins(self.options, self.environment, self.references, self.spool)


@dataclass(frozen=True)
class TagSink:
    """As ``Sink``: the artifact is rebased and pushed, and its tag moved."""

    run: ArtifactRun

    def read(self) -> ArtifactInventory:
        run = self.run
        return read_artifact(run.options, run.environment, run.references, run.spool)

    def decide(self, inventory: ArtifactInventory) -> ArtifactPlan:
        return plan_artifact(*inventory)

    def show(self, inventory: ArtifactInventory, plans: ArtifactPlan) -> str:
        del inventory
        return artifact_plan_json(plans) if self.run.options.json else artifact_plan_text(plans)

    def apply(self, inventory: ArtifactInventory, plans: ArtifactPlan) -> Applied:
        outcome = carry_out(plans, inventory.ports)
        text = artifact_text(outcome, written=self.run.options.request.writes)
        return Applied(text, tuple(artifact_failures(outcome)), outcome.errors, outcome)


@dataclass
class PinSink(PullRequestSink):
    """As ``Sink``: pull requests are about what pins the artifact alone, and name what is pushed first."""

    run: ArtifactRun

    @cached_property
    def inventory(self) -> Inventory:
        return self.run.pins()


@dataclass(frozen=True)
class UnansweredPinSink(TreeSink):
    """A preview of ``PinSink`` that asks no forge for people's answers."""

    run: ArtifactRun

    def read(self) -> Inventory:
        return self.run.pins()
