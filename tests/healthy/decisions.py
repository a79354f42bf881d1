"""The decisions of `plan` about a repository: for each cluster and size of upgrade, its state and what users have to do.

`plan --json` has neither the steps nor whether a pull request would merge by itself, so the plans of the same run are
read. Everything here also runs with the program of an earlier commit: see `record.py`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.cli.parse import parse_command
from flux_upgrade.commands.sinks import sink_of
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.timing import Timing
from flux_upgrade.planning.plan import UpdateGroupPlan, Upgrade
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.proposal import Proposal, ProposalContext
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.pullrequests.propose import proposals_of
from flux_upgrade.pullrequests.text import checklist
from flux_upgrade.pullrequests.text.view import View
from flux_upgrade.report.overview import overview
from flux_upgrade.route.route import route_of
from flux_upgrade.route.rows import Row
from flux_upgrade.route.step import Stage, Step
from healthy.repositories import Staged, staged_all
from real_parts import require_program

NOW = 1_788_220_800.0  # 2026-09-01, a few weeks after the newest release
APPROVALS: Mapping[str, Sequence[str]] = {"by policy": (), "approved": ("--approve=v2.9.4",)}
NO_ACTION = (Stage.READY, Stage.APPROVE, Stage.UNBLOCK, Stage.WAIT)
_ACTIONS = {
    "check the release of the cluster": r"flux version|which release the cluster runs",
    "flux migrate, if it never ran": r"if it never ran|Make sure that `flux migrate` has run",
    "flux migrate, before": r"`flux migrate` .*before (the upgrade is merged|merging)",
    "flux migrate, after": r"`flux migrate` .*(after the upgrade is merged|as soon as)|After merging.*`flux migrate`",
    "wait for the FluxInstance": r"FluxInstance.* is ready",
}
"""The name of an action → a pattern of its sentences in plans and in pull requests."""


class Place(NamedTuple):
    """The repository, its mode and the upgrade that a decision is about."""

    repository: str
    mode: str
    approval: str
    upgrade: str  # The cluster, and the size of the upgrade

    def __str__(self) -> str:
        return " | ".join(self)

    @property
    def is_patch(self) -> bool:
        return self.upgrade.endswith(" patch")


class Decision(NamedTuple):
    current: str
    target: str
    state: str
    reason: str = ""  # The reason of a hold
    merges: bool = False  # Auto-merge would merge it, if the policy allowed that
    actions: tuple[str, ...] = ()  # Names, sorted

    def __str__(self) -> str:
        way = f"{self.current or 'unknown'} → {self.target}" if self.target else self.current or "unknown"
        parts = [f"{way}: {self.state}", self.reason, "auto-merge" if self.merges else "", *self.actions]
        return ", ".join(filter(None, parts))


def all_decisions(folder: Path, releases: Path) -> dict[Place, Decision]:
    """Return the decisions about all repositories, which are written below ``folder``."""
    programs = folder / "bin"  # Without kubectl and kustomize, which not every machine has
    programs.mkdir()
    for name in ("git", "env"):
        (programs / name).symlink_to(require_program(name))
    return {
        Place(staged.name, staged.mode, approval, upgrade): decision
        for staged in staged_all(folder, releases)
        for approval in APPROVALS
        for upgrade, decision in decisions_in(staged, releases, approval, str(programs)).items()
    }


def decisions_in(staged: Staged, releases: Path, approval: str, path: str) -> dict[str, Decision]:
    """Return the decisions about a repository, by cluster and size of the upgrade. ``path``: PATH of the run."""
    argv = ["plan", "--json", *APPROVALS[approval], *staged.args, f"--release-source={releases}"]
    try:
        inventory, plans = planned_in(staged.root, argv, path)
    except FluxUpgradeError as error:
        return {"repository": Decision("", "", "failed", error.slug)}
    decisions = [(f"{row.name} {row.decision.bump_kind}", decision) for row, decision in decided(inventory, plans)]
    assert len(dict(decisions)) == len(decisions), "two decisions have one name"
    return dict(decisions)


def planned_in(
    root: Path, argv: Sequence[str], path: str, warn: Callable[[str], None] = lambda _: None
) -> tuple[Inventory, Sequence[UpdateGroupPlan]]:
    """Plan in a directory. Raises FluxUpgradeError."""
    timing = Timing(now=lambda: NOW, sleep=lambda _: None, jitter=lambda: 0.0)
    invocation = parse_command(argv, {"PATH": path}, timing)
    options = invocation.options
    assert isinstance(options, UpgradeOptions)
    with contextlib.chdir(root), sink_of(options, invocation.environment, warn, previews=True) as sink:
        inventory = sink.read()
        return inventory, sink.decide(inventory)


def decided(inventory: Inventory, plans: Sequence[UpdateGroupPlan]) -> Iterator[tuple[Row, Decision]]:
    """Yield the rows of the overview, each with its decision."""
    proposed = {
        (plan.update_group.slug, str(kind)): _without_base(proposal)
        for plan in plans
        for kind, proposal in proposals_of(plan, inventory.config, inventory.request.approve).items()
    }
    context = ProposalContext(inventory.releases)
    for row in overview(plans).rows:
        hold = None if isinstance(row.decision, Upgrade) else row.decision
        proposal = proposed.get((row.group, row.bump_kind)) if hold is None else None
        tasks = checklist.tasks(View(proposal, context)) if proposal is not None else []
        actions = {*map(_action, tasks), *(_action(step.sentence) for step in _steps(row, plans))}
        merges = proposal is not None and _merges(proposal, context)
        reason = str(hold.reason) if hold is not None else ""
        yield row, Decision(row.current, row.target, str(row.state), reason, merges, tuple(sorted(actions)))


def _merges(proposal: Proposal, context: ProposalContext) -> bool:
    """Return whether `auto-merge` may merge a proposal, if the settings allow it."""
    if not all(upgrade.is_accepted and not upgrade.waits for _, upgrade in proposal.upgrades):
        return False
    if proposal.bump_kind is BumpKind.PATCH:
        return not checklist.has_to_do(proposal)
    return checklist.needs_nobody(proposal, context)


def _without_base(proposal: Proposal) -> Proposal:
    """Return a proposal as a pull request has it: from the branch itself, and not from a checkout."""
    return proposal._replace(upgrades=tuple((plan, _from_branch(upgrade)) for plan, upgrade in proposal.upgrades))


def _from_branch(upgrade: Upgrade) -> Upgrade:
    impact = upgrade.impact
    if impact is None or "base" not in impact._fields:
        return upgrade
    return upgrade._replace(impact=impact._replace(base=None))


def _steps(row: Row, plans: Sequence[UpdateGroupPlan]) -> Iterator[Step]:
    return (step for step in route_of([row], plans) if row.name in step.clusters and step.stage not in NO_ACTION)


def _action(sentence: str) -> str:
    names = (name for name, pattern in _ACTIONS.items() if re.search(pattern, sentence, re.DOTALL))
    return next(names, " ".join(re.findall(r"[^\W\d]+", sentence)[:6]))
