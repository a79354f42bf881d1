"""The answers of the program about a repository: its decisions, its findings, and what it says that it does not know."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cases_on_disk import run_in
from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.findings.finding import Severity
from flux_upgrade.findings.kinds import FINDING_KINDS
from flux_upgrade.findings.phrases import TEXT
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan
from flux_upgrade.policy.decision import Hold
from healthy.decisions import Decision, decided, planned_in
from knowledge.repositories import NEWEST, Repository

_USES = ("_by_hand", "_moves", "_metrics")
_HARMLESS = ("text", "unread", "unreadable")
"""Reasons with which `check` lists what breaks nothing."""
_UNKNOWNS = ("failures", "unread", "unfollowed", "unknown", "unasked", "unverified")
"""Fields of `check --json`."""


class Pair(NamedTuple):
    """An upgrade of a cluster, or of a version reference that is decided by itself."""

    name: str
    current: str
    target: str

    def __str__(self) -> str:
        return f"{self.name} {self.current or 'unknown'} → {self.target or 'nothing'}"


class Place(NamedTuple):
    """A file, and what is found there."""

    path: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} in {self.path}"


class Judgement(NamedTuple):
    decisions: Mapping[Pair, Decision]
    paths: Mapping[Pair, str]  # The file of the version reference that decides
    findings: Mapping[Place, int]  # How many there are
    unknowns: frozenset[str]  # Texts, each about something that is not known


def judge(repository: Repository) -> dict[str, Judgement]:
    """Return the answers of `plan` and of `check`."""
    return {"plan": planned(repository), "check": checked(repository)}


def planned(repository: Repository) -> Judgement:
    argv = [*repository.argv, f"--release-source={repository.releases}"]
    warnings: list[str] = []
    try:
        inventory, plans = planned_in(repository.root, argv, repository.path, warnings.append)
    except FluxUpgradeError as error:
        failed = Decision("", "", "failed", error.slug)
        return Judgement({Pair("repository", "", ""): failed}, {}, {}, frozenset({f"{error.message} {error.hint}"}))
    decisions: dict[Pair, Decision] = {}
    paths: dict[Pair, str] = {}
    for row, decision in decided(inventory, plans):
        pair = Pair(row.name, decision.current, decision.target)
        decisions[pair], paths[pair] = decision, row.plan.path
    findings: Counter[Place] = Counter()
    unknowns = set(warnings)
    for impact, target in _impacts(plans):
        findings |= Counter(_places(impact, target))
        unknowns |= set(_unknowns_of(impact))
    unknowns |= {text for group in plans for plan in group.plans for text in _unknowns_in(plan)}
    unknowns |= {f"{member.path} {member.pin.reason}" for member in inventory.reported_only}
    return Judgement(decisions, paths, findings, frozenset(unknowns))


def checked(repository: Repository) -> Judgement:
    run = run_in(repository.root, repository.releases, ["check", "--json", f"--to={NEWEST}"], path=repository.path)
    report = json.loads(run.out) if run.out else {}
    findings: Counter[Place] = Counter()
    for use in report.get("uses", ()):
        if use["reason"] not in _HARMLESS:
            findings[Place(use["path"], "checked use")] += 1
    for hit in report.get("breaks", ()):
        findings[Place(hit["path"], f"checked {hit['rule']}")] += 1
    unknowns = {json.dumps(entry, ensure_ascii=False) for field in _UNKNOWNS for entry in report.get(field, ())}
    if report.get("behavior-unknown"):
        unknowns.add(report["behavior-unknown"])
    unknowns |= {json.dumps(use) for use in report.get("uses", ()) if use["reason"] == "unreadable"}
    state = Decision("", NEWEST, "held" if run.exit_code else "up to date", "unreadable" if run.exit_code else "")
    return Judgement({Pair("check", "", NEWEST): state}, {}, findings, frozenset({*unknowns, run.err}))


def _impacts(plans: Sequence[UpdateGroupPlan]) -> Iterator[tuple[Assessment, Version]]:
    for plan in [plan for group in plans for plan in group.plans]:
        for decision in plan.decisions:
            impact = plan.impact_of(decision)
            if impact is not None:
                yield impact, decision.target


def _places(impact: Assessment, target: Version) -> Iterator[Place]:
    for kind in FINDING_KINDS:
        for finding in kind.find(impact, target, TEXT):
            if finding.severity < Severity.NOTE and finding.path:
                yield Place(finding.path, finding.change.rule if finding.change else _kind(kind.find.__name__))


def _kind(name: str) -> str:
    return "use" if name in _USES else name.strip("_")


def _unknowns_of(impact: Assessment) -> Iterator[str]:
    yield from (f"{use.path}:{use.line} {use.why}" for use in impact.broken_files)
    yield from (f"{trouble.place} {trouble.said}" for trouble in impact.unfollowed)
    yield from (f"{left.use.path} {left.detail}" for left in impact.lefts)
    doubts: list[object] = [impact.overlay, impact.stored.unknown, impact.changes]
    if impact.base is not None:
        doubts += [impact.base.pin, impact.base.branch]
    yield from (str(doubt) for doubt in doubts if isinstance(doubt, Unknown))
    if impact.not_applied is not None:
        yield f"not applied: {' '.join((*impact.not_applied.suspended, *impact.not_applied.roots))}"


def _unknowns_in(plan: Plan) -> Iterator[str]:
    for decision in plan.decisions:
        if isinstance(decision, Hold):
            yield f"{plan.path} {decision.reason} {decision.detail} {decision.hint}"
    if plan.pin.reason:
        yield f"{plan.path} {plan.pin.reason}"
