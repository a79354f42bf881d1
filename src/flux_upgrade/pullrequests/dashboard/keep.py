"""What the dashboard should be, and what there is → the steps between; and taking them, after all else is done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Protocol

from flux_upgrade.model import markers
from flux_upgrade.model.errors import Overtaken, known
from flux_upgrade.model.forge import Issue, OpenIssue, Repository, UpdateIssue
from flux_upgrade.model.ports import Forge
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.planning.proposal import Action, DashboardResult, Result
from flux_upgrade.pullrequests.dashboard.answers import dashboards_of, rebase_box, scope_of, ticked_of
from flux_upgrade.pullrequests.dashboard.entries import shown_of
from flux_upgrade.pullrequests.dashboard.text import TITLE, dashboard_text

LIMIT = 65_536
"""Characters that GitHub takes in a body: https://github.com/orgs/community/discussions/27190."""
_TRIES = 2
_SPARE = 32  # One part in so many of the limit is left to users
_OFF = (
    "The dashboard is switched off: `dashboard` is not `true` in the config file. Set it, and this issue is reopened."
)
_TWICE = "Another issue is the dashboard."
_ELSEWHERE = "dashboard: it needs GitHub, because this Git server has no issues that flux-upgrade can write"
_UNSEEN = "dashboard: the token cannot read issues (add `issues: write` to the `permissions` of the workflow's job)"


class Seen(Protocol):
    """What was fetched, and the plans under the answers in it, without those of the dashboard."""

    @property
    def repository(self) -> Repository: ...
    @property
    def plans(self) -> tuple[UpdateGroupPlan, ...]: ...


def obeyed_boxes(ticked: Collection[str], repository: Repository, results: Iterable[Result]) -> frozenset[str]:
    """The boxes to rebase that a run has done. One to approve goes away by itself, once nothing needs it."""
    done = {each.branch for each in results if each.action is not Action.FAILED and not each.is_waiting}
    pulls = (repository.branches[name].open_pull for name in done if name in repository.branches)
    return frozenset(box for pull in pulls if pull is not None and (box := rebase_box(pull)) in ticked)


def keep_dashboard(
    inventory: Inventory,
    forge: Forge,
    fetch: Callable[[int], Seen],
    obeyed: Collection[str],
    warn: Callable[[str], None],
) -> DashboardResult | None:
    """Open, update or close it. ``fetch``: for each try, from 1. ``obeyed``: boxes to clear.

    None if it is switched off. An error is only a warning: everything else is done, and the next run tries again.
    """
    try:
        for number in range(1, _TRIES + 1):
            found = fetch(number)
            repository = found.repository
            if not inventory.config.dashboard and not any(
                each.is_open for each in dashboards_of(inventory, repository)
            ):
                return None
            if not repository.lists_pulls or not repository.sees_issues:
                warn(_UNSEEN if repository.lists_pulls else _ELSEWHERE)
                return None
            try:
                return _kept(inventory, found, forge, obeyed)
            except Overtaken:
                if number == _TRIES:
                    raise
    except Exception as error:  # noqa: BLE001 whatever it is, all else was done
        what = known(error)
        warn(f"dashboard: {what.message} ({what.hint})")
    return None


def _kept(inventory: Inventory, seen: Seen, forge: Forge, obeyed: Collection[str]) -> DashboardResult:
    found = dashboards_of(inventory, seen.repository)
    result = DashboardResult(Action.UNCHANGED, found[0].url if found else "")
    for step in dashboard_steps(inventory, seen.repository, seen.plans, obeyed):
        done = forge.apply(step)
        if result.action is Action.UNCHANGED:
            is_closed = isinstance(step, UpdateIssue) and step.close
            action = Action.CLOSED if is_closed else Action.OPENED if isinstance(step, OpenIssue) else Action.UPDATED
            result = DashboardResult(action, done.url or result.url)
    return result


def dashboard_steps(
    inventory: Inventory, repository: Repository, plans: tuple[UpdateGroupPlan, ...], obeyed: Collection[str] = ()
) -> Iterator[OpenIssue | UpdateIssue]:
    """None where the issue is as it should be."""
    scope, found = scope_of(inventory), dashboards_of(inventory, repository)
    if not inventory.config.dashboard:
        yield from (_closed(each, scope, _OFF) for each in found if each.is_open)
        return
    main = found[0] if found else None
    if main is not None and main.answers.is_unknown:
        return
    around = len(main.body) - len(markers.text_of(main.body) or "") if main is not None else 0
    room = LIMIT - LIMIT // _SPARE - max(around, len(markers.dashboard_block("", scope)))
    ticked = ticked_of(inventory, repository) - frozenset(obeyed)
    text = dashboard_text(shown_of(plans, inventory.config, repository), repository, ticked, room)
    ours = markers.dashboard_block(text, scope, main.answers.record if main is not None else ())
    if main is None:
        yield OpenIssue(TITLE, ours, (markers.DASHBOARD,))
        return
    body = markers.replaced(main.body, ours) or ours
    if not main.is_open or not markers.is_same(body, main.body):
        yield UpdateIssue(main, body, reopen=not main.is_open)
    # Two runs at once may have opened one each.
    yield from (_closed(each, scope, _TWICE) for each in found[1:] if each.is_open)


def _closed(issue: Issue, scope: str, why: str) -> UpdateIssue:
    ours = markers.dashboard_block(f"**Closed:** {why}", scope)
    return UpdateIssue(issue, markers.replaced(issue.body, ours) or ours, close=True)
