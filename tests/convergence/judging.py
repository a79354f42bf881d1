"""What the runs after a disturbed one make of what it left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from convergence.deeds import Deed
from convergence.fleet import Fleet
from convergence.pictures import difference, without_extras
from convergence.runs import Ran
from convergence.scenarios import Staged
from flux_upgrade.model import markers

_REPORTED = ("outcome", "installations", "pull-requests", "failures")


class Judge:
    """Judges each state that was left once: the runs after it depend on nothing but what they find."""

    def __init__(self, stage: Staged) -> None:
        self.stage = stage
        self._problems: dict[str, str] = {}

    def begin(self) -> Fleet:
        """The fleet as it is before the run that is disturbed."""
        self.stage.fleet.undisturbed()
        self.stage.fleet.restore(self.stage.start)
        return self.stage.fleet

    def require_convergence(self, *, is_green: bool, has_warned: bool = False) -> None:
        """The next runs make of it what an undisturbed one makes, and then rest.

        ``is_green``: how the disturbed run ended. ``has_warned``: it reported that labels,
        reviewers or auto-merge were refused; then they are missing.
        """
        left = repr((self.stage.fleet.picture(), is_green, has_warned))
        case = _Case(self.stage, is_green=is_green, has_warned=has_warned)
        self._require(left, case.problem)

    def require_rest(self, deed: Deed) -> None:
        """The next runs come to rest, and what a person did has become what it should."""
        left = self.stage.fleet.state() + deed.name
        self._require(left, lambda: deed.judged(self.stage, _rest(self.stage.fleet)))

    def _require(self, left: str, problem: Callable[[], str]) -> None:
        if left not in self._problems:
            self._problems[left] = problem()
        assert not self._problems[left], self._problems[left]


def has_warned(ran: Ran) -> bool:
    """Whether a run warned of something that it does not fail for."""
    return any(pull["warnings"] for pull in ran.report.get("pull-requests", ()))


def _rest(fleet: Fleet) -> Ran:
    """The first run that finds nothing to do, which is the third at the latest."""
    for _ in range(3):
        before = fleet.picture()
        ran = fleet.run()
        if not ran.writes and fleet.picture() == before:
            return ran
    raise AssertionError(f"it does not come to rest: {ran.writes}, {difference(before, fleet.picture())}")


def reported(ran: Ran) -> dict[str, Any]:
    """What a report has that does not depend on the moment: a pull request is opened later after a fault."""
    found = {name: ran.report[name] for name in _REPORTED}
    if "pull-requests" in found:
        pulls = found["pull-requests"]
        found["pull-requests"] = [{**each, "created-at": bool(each["created-at"])} for each in pulls]
    return found


class _Case:
    def __init__(self, stage: Staged, *, is_green: bool, has_warned: bool) -> None:
        self._stage, self._fleet = stage, stage.fleet
        self._is_green, self._has_warned = is_green, has_warned

    def problem(self) -> str:
        stage, fleet = self._stage, self._fleet
        is_promised = self._is_promised()
        next_run = fleet.run()
        if self._difference() and stage.scenario.inputs:
            # What the run was asked for never arrived: then it has failed, and is asked for once more.
            if fleet.picture() != stage.unasked:
                return f"neither as asked nor as before: {difference(stage.unasked, fleet.picture())}"
            if self._is_green or is_promised:
                return "the approval is lost"
            next_run = fleet.run(stage.scenario.inputs)
        if next_run.code != stage.idle.code:
            return f"the next run ends with {next_run.code}: {next_run.log}"
        return self._difference() or self._unrest()

    def _difference(self) -> str:
        wanted, found = self._stage.after, self._fleet.picture()
        if self._has_warned:
            wanted, found = without_extras(wanted), without_extras(found)
        return difference(wanted, found) if wanted != found else ""

    def _unrest(self) -> str:
        idle = self._fleet.run()
        if idle.writes or self._difference():
            return f"it does not come to rest: {idle.writes} {self._difference()}"
        wanted, found = reported(self._stage.idle), reported(idle)
        if wanted != found:
            return f"it tells otherwise: {difference(wanted, found)}"
        return ""

    def _is_promised(self) -> bool:
        """Whether the disturbed run came so far that the approval it was given may not be lost."""
        repository, branch = self._fleet.repository, self._stage.scenario.branch
        promised = repository.head(branch) != self._stage.start.refs.get(f"refs/heads/{branch}", "")
        for pull in repository.pulls.values():
            state = markers.state_of(pull.body)
            promised |= not pull.is_draft or (state is not None and bool(state.approval))
        return promised
