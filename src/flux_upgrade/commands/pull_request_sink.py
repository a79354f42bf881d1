"""An upgrade that is proposed in pull requests: what the Action does, and ``--pull-request`` on a laptop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from flux_upgrade.adapters.recording import RecordingForge
from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.commands.reports import plan_report, round_report
from flux_upgrade.commands.sink import Applied
from flux_upgrade.commands.wiring import build_timing
from flux_upgrade.commands.wiring_repository import RepositorySource, build_forge
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.ports import Forge
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.proposal import RunDetails
from flux_upgrade.pullrequests.apply import FetchedPlans, fetch_plans, reconcile_pull_requests
from flux_upgrade.report.pull_requests import round_errors, round_failures


@dataclass
class PullRequestSink:
    """As ``Sink``; its plans are ``FetchedPlans``."""

    options: UpgradeOptions
    environment: Environment
    warn: Callable[[str], None]
    details: RunDetails | None  # None: of a run on a laptop
    stack: ExitStack
    read: Callable[[], Inventory]
    forge: Forge = field(init=False)

    def decide(self, inventory: Inventory) -> FetchedPlans:
        options, config = self.options, inventory.config
        repository = RepositorySource(options.path, options.repository, config.forge, config.accounts)
        forge = build_forge(self.environment, repository)
        forge = forge if options.request.writes else RecordingForge(forge)
        self.forge = self.stack.enter_context(closing(forge))
        return fetch_plans(inventory, self.forge)

    def show(self, inventory: Inventory, plans: FetchedPlans) -> str:
        for each in inventory.void:
            self.warn(each.text)
        return plan_report(inventory, plans.plans, self.options, self.environment)

    def apply(self, inventory: Inventory, plans: FetchedPlans) -> Applied:
        details = (self.details or RunDetails())._replace(now=build_timing(self.environment).now)
        done = reconcile_pull_requests(inventory, plans, self.forge, details, self.warn)
        calls = self.forge.calls
        text = round_report(inventory, done, calls, self.options, self.environment)
        return Applied(text, tuple(round_failures(done)), tuple(round_errors(done)), done, calls)
