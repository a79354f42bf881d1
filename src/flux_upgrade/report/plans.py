"""What ``plan`` shows: installation by installation what would happen, and why; text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.clusters.groups import UpdateGroup, drift_of
from flux_upgrade.findings.json_fields import fields
from flux_upgrade.model.text import capped, first_few, printable_lines
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import Role
from flux_upgrade.planning.plan import Plan, UpdateGroupPlan, Upgrade
from flux_upgrade.policy.decision import Hold

NO_FLUX = "no Flux found in this repository, so there is nothing to upgrade"
NOTHING_TO_UPGRADE = "nothing to upgrade: each installation is ignored by the config file, or only reported"
_FEW = 3
_MOST_BROKEN = 12
_REASONS = ("reason", "detail", "remedy", "since", "until")


def plans_text(plans: Sequence[UpdateGroupPlan], reported: Sequence[Member] = ()) -> str:
    """What disagrees; a block for each installation: what runs, then each decision, its reason and remedy.

    ``reported``: what is recognised and never changed, said last.
    """
    blocks = [
        *(plan_lines(plan, each[:at]) for group in plans for each in group.sets for at, plan in enumerate(each)),
        *(_reported(member) for member in reported),
    ]
    text = "\n".join(printable_lines([*block]) for block in blocks)
    return drift_text(group.update_group for group in plans) + (text or f"{NOTHING_TO_UPGRADE}\n")


def _reported(member: Member) -> Iterator[str]:
    pin = member.pin
    yield f"{member.place}  {pin.raw or pin.where}"
    yield f"  not changed · {pin.kind}"
    yield from (f"    {line}" for line in (pin.reason, pin.hint) if line)


def plan_lines(plan: Plan, above: Sequence[Plan]) -> Iterator[str]:
    """What would become of one. ``above``: the plans of the same cluster that were shown before."""
    pin = plan.pin
    is_pin = pin.role is not Role.RESOURCES
    yield f"{pin.place(plan.path)}  {pin.stated_version or 'unknown version'}" if is_pin else plan.path
    yield from (f"  note: {remark}" for remark in pin.remarks)
    for decision in plan.decisions:
        if isinstance(decision, Upgrade):
            waits = "" if decision.approved else " · needs approval"
            waits += f" · waits: {'; '.join(decision.waits_for)}" if decision.waits else ""
            what = "" if decision.waiting else "upgrade "
            yield f"  {decision.bump.size}: {what}{step(plan, decision)}{waits}"
            yield from (f"    {line}" for line in _upgrade(decision, above))
        else:
            target = f" {decision.target}" if decision.target else ""
            yield f"  {decision.bump_kind}: hold{target} · {decision.reason}{decision.dates}"
            yield from (f"    {line}" for line in (decision.detail, decision.hint) if line)
            if decision.bump_kind in plan.impacts:
                from flux_upgrade.report.impact_text import hold_lines  # late: nearly every run has none

                yield from (f"    {line}" for line in hold_lines(plan, decision))
    yield from (f"  {line}" for line in broken_lines(plan))


def broken_lines(plan: Plan) -> Iterator[str]:
    """What Flux refuses today, whatever an upgrade would do."""
    if plan.broken_today:
        yield f"broken today, with {plan.pin.version}:"
        lines = [f"{each.path}:{each.line}: {each.sentence}" for each in plan.broken_today]
        yield from (f"  {line}" for line in capped(lines, _MOST_BROKEN))


def _upgrade(decision: Upgrade, above: Sequence[Plan]) -> Iterator[str]:
    # It was decided for another pin of its cluster, and goes where that one goes.
    leads = (other for other in above if other.pin.role is Role.INSTALLS)
    lead = next((each for each in leads if any(decision.bump == own.bump for own in each.upgrades)), None)
    why = decision.bump.why if lead is None else f"with {lead.path}"
    if why:
        yield why
    if decision.change.artifact:
        yield f"in {decision.change.artifact}"
    if decision.impact is not None or decision.moved:
        from flux_upgrade.report.impact_text import upgrade_lines  # late: as above

        yield from upgrade_lines(decision)


def step(plan: Plan, upgrade: Upgrade) -> str:
    if upgrade.waiting:
        from flux_upgrade.findings.phrases import uses_of  # late: nearly every run has none

        moves = [move for file in upgrade.moved for move in file.moves]
        return f"{uses_of(moves)} → API versions that {upgrade.target} serves"
    old, new = plan.pin.version, upgrade.target
    if old != new:
        return f"{old} → {new}"
    return f"{new}, other flags" if upgrade.flags else f"{new}, completed"


def drift_text(update_groups: Iterable[UpdateGroup]) -> str:
    """A few lines for each cluster whose pins disagree, and a blank one below; empty where all agree."""
    lines = [line for group in update_groups for line in drift_lines(group.clusters)]
    return printable_lines([*lines, ""]) if lines else ""


def drift_lines(clusters: Iterable[Cluster]) -> Iterator[str]:
    """Which cluster, and below it a line for each release: ``  v2.4.0 in a.yaml, b.yaml:6``."""
    for name, releases in drift(clusters):
        yield f"drift: {name}: its version references disagree"
        yield from (f"  {release}" for release in releases)


def drift(clusters: Iterable[Cluster]) -> Iterator[tuple[str, list[str]]]:
    """The name of a cluster whose pins disagree, and where each release is."""
    for cluster in clusters:
        releases = drift_of(cluster).items()
        if releases:
            places = [f"{release} in {first_few([each.place for each in pins], _FEW)}" for release, pins in releases]
            yield cluster.name, places


def drift_value(clusters: Iterable[Cluster]) -> list[dict[str, Any]]:
    return [
        {
            "cluster": cluster.name,
            "versions": {release: [each.place for each in pins] for release, pins in found.items()},
        }
        for cluster in clusters
        if (found := drift_of(cluster))
    ]


class Warned(Protocol):
    """A problem that does not fail the run: a group that matches nothing, or a Git host that was not read."""

    @property
    def message(self) -> str: ...
    @property
    def remedy(self) -> str: ...


def plans_json(
    plans: Sequence[UpdateGroupPlan],
    reported: Sequence[Member] = (),
    void: Sequence[Warned] = (),
    steps: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the output of ``plan --json``: see docs/reference/plan.schema.json. ``steps``: of ``route_value``."""
    report = {
        "drift": drift_value(cluster for group in plans for cluster in group.update_group.clusters),
        "installations": [each for group in plans for each in plan_values(group)],
        "migrations": [each for group in plans for each in migration_values(group)],
        "reported": [
            {
                "path": member.path,
                **fields(member.pin, "line", "kind"),
                "written": member.pin.raw,
                **fields(member.pin, "reason", "hint"),
            }
            for member in reported
        ],
        "steps": list(steps),
        **void_values(void),
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def void_values(void: Sequence[Warned]) -> dict[str, Any]:
    """The field ``warnings``, where there are any."""
    warnings = [{"message": each.message, "remedy": each.remedy} for each in void]
    return {"warnings": warnings} if warnings else {}


def plan_values(group: UpdateGroupPlan) -> Iterator[dict[str, Any]]:
    """The installations of an update group, as JSON."""
    # What is moved before stands behind the clusters, and is none of them.
    for cluster, plans in zip(group.update_group.clusters, group.sets, strict=False):
        yield from (plan_value(plan, cluster.name) for plan in plans)


def migration_values(group: UpdateGroupPlan) -> Iterator[dict[str, Any]]:
    """The files whose resources are migrated before the clusters of an update group are upgraded, as JSON."""
    for plan in group.migrations:
        from flux_upgrade.findings.finding import uses_value  # late: nearly every run has none

        for each in plan.decisions:
            waiting, moved = (each.waiting, each.moved) if isinstance(each, Upgrade) else ((), ())
            yield {
                "path": plan.path,
                "waiting": list(waiting),
                "uses": uses_value(moved),
                "decision": _decision(plan, each),
            }


def plan_value(plan: Plan, cluster: str) -> dict[str, Any]:
    """One installation, as JSON. ``cluster``: its name."""
    return {
        "path": plan.path,
        "kind": plan.pin.kind,
        "line": plan.line or None,
        "cluster": cluster,
        "current": Version.parse(plan.pin.stated_version),
        "decisions": [_decision(plan, each) for each in plan.decisions],
        "broken-today": [{key: value or None for key, value in each._asdict().items()} for each in plan.broken_today],
    }


def _decision(plan: Plan, decision: Upgrade | Hold) -> dict[str, Any]:
    value: dict[str, Any] = dict.fromkeys(("bump", "action", "target", "approved", *_REASONS, "impact"))
    value["waits-for"] = []
    value |= {"bump": str(decision.bump_kind), "target": decision.target or None}
    if isinstance(decision, Upgrade):
        value |= {"action": "upgrade", "approved": decision.approved, "detail": decision.bump.why or None}
        value["waits-for"] = list(decision.waits_for)
    else:
        value |= {"action": "hold", "reason": str(decision.reason)}
        value |= fields(decision, "detail", "hint", "since", "until")
    impact = plan.impact_of(decision)
    if impact is not None:
        from flux_upgrade.report.impact_json import impact_value  # late: nearly every run has none

        value["impact"] = impact_value(impact)
    return value
