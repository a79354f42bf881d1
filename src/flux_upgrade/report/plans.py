"""What ``plan`` shows: installation by installation what would happen, and why; text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from flux_upgrade.decision import Hold
from flux_upgrade.plan import Plan, Upgrade
from flux_upgrade.report.outcomes import step
from flux_upgrade.report.wording import ALL_IGNORED, printable


def plans_text(plans: Iterable[Plan]) -> str:
    """A block for each installation: what runs, then a line for each decision, its reason and its remedy."""
    told = "\n".join("".join(f"{printable(line)}\n" for line in _plan(plan)) for plan in plans)
    return told or f"{ALL_IGNORED}\n"


def _plan(plan: Plan) -> Iterator[str]:
    version = plan.installation.proof.version
    yield f"{plan.path}  {version or 'unknown version'}"
    for decision in plan.decisions:
        if isinstance(decision, Upgrade):
            waits = "" if decision.approved else " · waits for approval"
            yield f"  {decision.subject}: upgrade {step(plan, decision)}{waits}"
            if decision.candidate.why:
                yield f"    {decision.candidate.why}"
        else:
            target = f" {decision.target}" if decision.target else ""
            yield f"  {decision.subject}: hold{target} · {decision.reason}{_when(decision)}"
            yield from (f"    {line}" for line in (decision.detail, decision.hint) if line)


def _when(hold: Hold) -> str:
    since = f" since {hold.since[:10]}" if hold.since else ""
    until = f" until {hold.until[:10]}" if hold.until else ""
    return since + until


def plans_json(plans: Iterable[Plan]) -> str:
    """What ``plan --json`` prints: see docs/reference/plan.schema.json."""
    report = {"installations": [plan_value(plan) for plan in plans]}
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def plan_value(plan: Plan) -> dict[str, Any]:
    """One installation, as JSON."""
    return {
        "path": plan.path,
        "kind": plan.installation.kind,
        "current": plan.installation.proof.version or None,
        "decisions": [_decision(each) for each in plan.decisions],
    }


def _decision(decision: Upgrade | Hold) -> dict[str, Any]:
    if isinstance(decision, Upgrade):
        return {
            "subject": str(decision.subject),
            "action": "upgrade",
            "target": decision.target,
            "approved": decision.approved,
            "reason": None,
            "detail": decision.candidate.why or None,
            "remedy": None,
            "since": None,
            "until": None,
        }
    return {
        "subject": str(decision.subject),
        "action": "hold",
        "target": decision.target or None,
        "approved": None,
        "reason": str(decision.reason),
        "detail": decision.detail or None,
        "remedy": decision.hint or None,
        "since": decision.since or None,
        "until": decision.until or None,
    }
