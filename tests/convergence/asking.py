"""What tests ask of a fleet, in few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from convergence.fleet import PATH, Fleet, installation
from flux_upgrade.model import markers
from flux_upgrade.model.markers import MarkerState

OLD = ("v2.8.6", "v2.8.7", "v2.9.3")
NEW = ("v2.8.6", "v2.8.7", "v2.8.8", "v2.9.3", "v2.9.4")
SUMMARY = "pending: summary\n"
Opens = Callable[..., Fleet]
"""See the fixture ``opens``."""


def installations(**tags: str) -> dict[str, bytes]:
    """Several installations: the name of the cluster → its release."""
    return {k: v for name, tag in tags.items() for k, v in installation(tag, f"clusters/{name}").items()}


def newer(fleet: Fleet) -> None:
    """New patches of both minors are released."""
    fleet.release(*NEW)


def state_of(fleet: Fleet, number: int = 1) -> MarkerState:
    """What we wrote into a pull request."""
    state = markers.state_of(fleet.repository.pulls[number].body)
    assert state is not None
    return state


def held_by(fleet: Fleet, branch: str) -> bytes:
    """The manifest on a branch."""
    return fleet.repository.files(branch)[PATH]


def open_in(fleet: Fleet) -> list[int]:
    """The open pull requests."""
    return [number for number, pull in fleet.repository.pulls.items() if pull.state == "open"]


def reasons(fleet: Fleet, inputs: Mapping[str, str] | None = None) -> dict[str, str]:
    """Target (or branch) → reason, of what a run holds. It must be green, and write nothing but what it tidies."""
    before = open_in(fleet)
    ran = fleet.run(inputs)
    if ran.writes:
        assert (ran.code, open_in(fleet)) == (0, before), ran.log
        ran = fleet.run(inputs)
    assert (ran.code, ran.writes) == (0, ()), ran.log
    decisions = [each for found in ran.report["installations"] for each in found["decisions"]]
    held = {each["target"]: each["reason"] for each in decisions if each["action"] == "hold"}
    return held | {each["branch"]: each["reason"] for each in ran.report["pull-requests"] if each["reason"]}


def edited(fleet: Fleet, branch: str) -> bool:
    """Whether a run leaves an edited branch alone. It says so in a comment, once, and writes nothing else."""
    ran = fleet.run()
    assert (ran.code, ran.writes) == (0, ("POST /issues/1/comments", "PATCH /pulls/1")), ran.log
    return reasons(fleet)[branch] == "branch-edited"


def require_rest(fleet: Fleet) -> None:
    """A further run does nothing."""
    before = fleet.picture()
    ran = fleet.run()
    assert (ran.code, ran.writes) == (0, ())
    assert fleet.picture() == before
