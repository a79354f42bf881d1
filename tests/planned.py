"""Plans for single installations, under a policy that approves minors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from flux_upgrade.config.config import Governance
from flux_upgrade.model.ports import Artifacts, Releases
from flux_upgrade.pins.pin import ManifestChange, Pin
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.manifest_planner import ManifestPlanner
from flux_upgrade.planning.plan import Plan, PlannedTarget, Terms, Upgrade
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.policy import MaxBump, Policy
from memory import MemoryArtifacts

NOW = datetime(2026, 9, 1, tzinfo=UTC)
NEWEST = Governance(policy=Policy(bump=MaxBump.MINOR, minor_cool_down=timedelta(0)))


def plans_of(
    installations: Iterable[Pin],
    using: Regenerator,
    releases: Releases | None = None,
    *,
    artifacts: Artifacts | None = None,
    **asked: Any,
) -> Iterator[Plan]:
    """To the newest stable release, or to ``to``. ``asked``: as ``Governance`` has it."""
    to = asked.pop("to", "")
    terms = Terms(NEWEST._replace(**asked), to=to)
    planner = ManifestPlanner(using, artifacts or MemoryArtifacts(), releases.list() if releases else (), NOW)
    return (planner.plan(PlannedTarget(each, each.path, terms)) for each in installations)


def decision_of(plan: Plan) -> Upgrade | Hold:
    """What matters about a plan under these terms: the upgrade, or the first hold."""
    return plan.approved or plan.holds[0]


def change_of(upgrade: Upgrade) -> ManifestChange:
    """What becomes of a vendored manifest."""
    assert upgrade.change.manifest is not None
    return upgrade.change.manifest


def decisions_of(plan: Plan) -> list[tuple[str, str]]:
    """Each decision: its subject, with a question mark where it waits, or why it is held; and its target."""
    return [
        (f"{each.bump_kind}{'' if each.approved else '?'}", each.target)
        if isinstance(each, Upgrade)
        else (str(each.reason), each.target)
        for each in plan.decisions
    ]
