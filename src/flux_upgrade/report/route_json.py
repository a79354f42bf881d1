"""A route as JSON: see ``step`` in docs/reference/plan.schema.json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flux_upgrade.route.step import Step, Task

_IN_THE_CLUSTER = {
    Task.FLUX_MIGRATE: "flux migrate",
    Task.CHECK_FLUX_MIGRATE: "flux migrate",
    Task.CHECK_RELEASE: "flux version",
}


def command_in_the_cluster(step: Step) -> str:
    """Return the command of the Flux CLI that a step is done with; empty if there is none."""
    return _IN_THE_CLUSTER.get(step.task, "")


def route_value(
    route: Sequence[Step], command_of: Callable[[Step], str] = command_in_the_cluster
) -> list[dict[str, Any]]:
    """Return the steps. ``command_of``: the command line of a step; empty if there is none."""
    return [_step(step, command_of(step)) for step in route]


def _step(step: Step, command: str) -> dict[str, Any]:
    return {
        "task": str(step.task),
        "by": str(step.by),
        "needs": list(map(str, step.needs)),
        "what": f"{step.sentence}: {step.way}" if step.way else step.sentence,
        "command": command or None,
        "url": step.link or None,
        "afterwards": step.afterwards or None,
        "clusters": list(step.clusters),
        "places": list(step.places),
    }
