"""What happens to each cluster, and what you do about it in which order: what every first report shows.

``plan`` and ``upgrade`` print it, and the job summary shows the same in Markdown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from flux_upgrade.clusters.clusters import Member
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import first_few
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.report.plans import drift
from flux_upgrade.route.pulls import Pulls
from flux_upgrade.route.rows import Remark, Row, State, is_left, rows_of, with_outcome
from flux_upgrade.route.step import Actor, Stage, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.assessment.assessment import ClusterBase

_FEW = 3
_PLURALS = {State.NEEDS_APPROVAL: "need approval", State.WAITS: "wait"}


class Overview(NamedTuple):
    rows: tuple[Row, ...]
    route: tuple[Step, ...] = ()
    remarks: tuple[Remark, ...] = ()  # What behaves differently, or is to be reviewed; nothing has to be done
    left: tuple[str, ...] = ()  # References that stay as they are, a line for each reason
    drift: tuple[str, ...] = ()
    broken_today: tuple[str, ...] = ()
    noun: str = "cluster"  # What a row is about

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps to show: those that only wait for a date are in the table."""
        return tuple(step for step in self.route if step.by is not Actor.TIME)

    @property
    def counts(self) -> str:
        """``3 clusters: 2 ready, 1 held``; version references of no cluster after it."""
        parts = [
            _counts(self.noun, [each for each in self.rows if not each.is_reference]),
            _counts("other version reference", [each for each in self.rows if each.is_reference]),
        ]
        return ". ".join(filter(None, parts))

    def concerned(self, step: Step) -> tuple[str, ...]:
        """The clusters to show with a step; empty where it is plain which."""
        is_merge = step.stage is Stage.MERGE and sum(each.stage is Stage.MERGE for each in self.steps) == 1
        is_plain = step.stage is Stage.UNBLOCK or is_merge or len({each.name for each in self.rows}) == 1
        return () if is_plain else step.clusters


def _counts(noun: str, rows: Sequence[Row]) -> str:
    states: dict[str, State] = {}
    order = list(State)
    for each in rows:
        states[each.name] = min(states.get(each.name, each.state), each.state, key=order.index)
    found = Counter(states.values())
    shown = [
        f"{found[state]} {state if found[state] == 1 else _PLURALS.get(state, state)}"
        for state in order
        if found[state]
    ]
    return f"{counted(len(states), noun)}: {', '.join(shown)}" if states else ""


def overview(
    plans: Sequence[UpdateGroupPlan],
    reported: Sequence[Member] = (),
    *,
    states: Mapping[tuple[str, int], State] | None = None,
    pulls: Pulls | None = None,
    unmerged: Callable[[Sequence[Row]], Mapping[str, ClusterBase]] = lambda _: {},
) -> Overview:
    """What is shown first.

    ``reported``: what is recognized and never changed. ``states``: what came of plans that were carried
    out, by path and line. ``pulls``: the open pull requests; None: the run is about files. ``unmerged``: finds
    the clusters, of those that are up to date, that run an older release than their file has.
    """
    found = [row for group in plans for row in rows_of(group)]
    if states:
        found = [with_outcome(row, states) for row in found]
    left = [each for each in found if each.is_reference and is_left(each)]
    rows = [each for each in found if not (each.is_reference and is_left(each))]
    steps: tuple[Step, ...] = ()
    remarks: tuple[Remark, ...] = ()
    newest = [row for row in rows if row.state is State.UP_TO_DATE and not row.is_reference]
    ahead = unmerged(newest) if newest else {}
    if ahead or any(each.state is not State.UP_TO_DATE for each in rows):
        from flux_upgrade.report.remarks import remarks_of
        from flux_upgrade.route.route import route_of  # late: nearly every run has none

        written = {path for (path, _), state in (states or {}).items() if state is State.UPGRADED}
        steps, remarks = tuple(route_of(rows, plans, written, pulls, ahead)), tuple(remarks_of(rows))
    clusters = [cluster for group in plans for cluster in group.update_group.clusters]
    disagreeing = [f"{name}: its version references disagree: {'; '.join(places)}" for name, places in drift(clusters)]
    return Overview(
        tuple(rows), steps, remarks, tuple(_left(left, reported)), tuple(disagreeing), tuple(_broken_today(plans))
    )


def _left(rows: Iterable[Row], reported: Sequence[Member]) -> Iterator[str]:
    places: dict[str, list[str]] = {}
    for each in rows:
        places.setdefault(each.why, []).append(each.name)
    for member in reported:
        places.setdefault("only reported", []).append(member.place)
    for reason, found in places.items():
        count = counted(len(found), "version reference")
        yield f"not upgraded, {reason}: {count}: {first_few(list(dict.fromkeys(found)), _FEW)}"


def _broken_today(plans: Iterable[UpdateGroupPlan]) -> Iterator[str]:
    for plan in [plan for group in plans for plan in group.plans if plan.broken_today]:
        places = first_few([f"{each.path}:{each.line}" for each in plan.broken_today], _FEW)
        count = counted(len(plan.broken_today), "resource")
        yield f"{plan.path}: Flux {plan.pin.version} rejects {count} already: {places}"
