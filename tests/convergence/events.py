"""What GitHub tells a workflow about a pull request: the payload of ``pull_request_target``.

https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request
"""

from __future__ import annotations

from typing import Any

from github_stand_in.model import Pull
from github_stand_in.shapes_pulls import PullShapes

from convergence.fleet import Fleet
from convergence.runs import Ran


def payload_of(fleet: Fleet, pull: Pull, action: str, sender: str = "alice") -> dict[str, Any]:
    """``sender``: who did it; ``…[bot]`` is a bot."""
    repository = fleet.repository
    shapes = PullShapes(repository, fleet.hub.api_url, fleet.hub.url)
    shown = shapes.pull(pull)
    name = repository.full_name.partition("/")[2]
    shown["head"]["repo"] = {**shown["head"]["repo"], "full_name": f"{pull.head_owner}/{name}"}
    return {
        "action": action,
        "number": pull.number,
        "pull_request": shown,
        "repository": shapes.full(),
        "sender": shapes.user(sender),
    }


def answered(fleet: Fleet, number: int, action: str, sender: str = "alice") -> Ran:
    """The run that an event of a pull request starts."""
    return fleet.run(event=payload_of(fleet, fleet.repository.pulls[number], action, sender))
