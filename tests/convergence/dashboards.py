"""The dashboard of a fleet, as its users see it."""

from __future__ import annotations

import re
from typing import Any

from github_stand_in.model import Issue
from github_stand_in.shapes_pulls import PullShapes

from convergence.fleet import Fleet
from convergence.runs import Ran
from flux_upgrade.model import markers

_BOX = re.compile(r"^- \[( |x)\] <!-- flux-upgrade:([a-z0-9.-]+) --> (.*?)\r?$", re.MULTILINE)


def dashboards(fleet: Fleet) -> list[Issue]:
    """All that are open."""
    issues = fleet.repository.issues.values()
    return [each for each in issues if each.state == "open" and markers.DASHBOARD in each.labels]


def dashboard(fleet: Fleet) -> Issue:
    """The one that is open."""
    (issue,) = dashboards(fleet)
    return issue


def boxes(fleet: Fleet) -> dict[str, str]:
    """Name of a box that is not ticked → its text."""
    return {name: text for mark, name, text in _BOX.findall(dashboard(fleet).body) if mark == " "}


def ticked(fleet: Fleet) -> list[str]:
    """The names of the boxes that are ticked."""
    return [name for mark, name, _ in _BOX.findall(dashboard(fleet).body) if mark == "x"]


def tick(fleet: Fleet, begin: str, *words: str) -> str:
    """Tick the one box whose name begins so, and whose text has all of the words. Returns its name."""
    (name,) = (
        name for name, text in boxes(fleet).items() if name.startswith(begin) and all(word in text for word in words)
    )
    fleet.people.tick(dashboard(fleet).number, f"flux-upgrade:{name} -->")
    return name


def edited(fleet: Fleet, issue: Issue, sender: str = "alice") -> Ran:
    """The run that an edit of an issue starts."""
    shapes = PullShapes(fleet.repository, fleet.hub.api_url, fleet.hub.url)
    payload: dict[str, Any] = {
        "action": "edited",
        "issue": shapes.issue(issue),
        "repository": shapes.full(),
        "sender": shapes.user(sender),
    }
    return fleet.run(event=payload)
