"""Bring pull requests to what is proposed: fetch, plan, apply the steps; and again, if overtaken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from flux_upgrade.clusters.groups import branch_name, branches_of, is_chosen, is_seen_to
from flux_upgrade.model import markers
from flux_upgrade.model.errors import CheckoutDiffers, FluxUpgradeError, known
from flux_upgrade.model.forge import Question, Repository
from flux_upgrade.model.ports import Forge
from flux_upgrade.model.text import is_utf8
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.planning.planner import Inventory, plan_update_groups, unused_approvals
from flux_upgrade.planning.proposal import Action, DashboardResult, Result, Round, RunDetails
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.pullrequests.limits import Allowance, Room, Subject, openings_last
from flux_upgrade.pullrequests.propose import proposals_of
from flux_upgrade.pullrequests.reconciler import Reconciler
from flux_upgrade.pullrequests.rounds import may_change, rounds, with_lost_answer

_MOST_FORMER = 50  # Branches: what one query takes


class FetchedPlans(NamedTuple):
    """What people answered so far, and the plans under these answers."""

    repository: Repository
    plans: tuple[UpdateGroupPlan, ...]
    inventory: Inventory  # With what the boxes of the dashboard ask for
    ticked: frozenset[str]  # Names of these boxes
    calls: int  # To the Git host, until then


def fetch_plans(inventory: Inventory, forge: Forge, *, takes_boxes: bool = True) -> FetchedPlans:
    """The repository, and what is planned for it. ``takes_boxes``: those of the dashboard count.

    Raises what ``Forge.fetch`` and ``plan_update_groups`` raise.
    """
    asked, repository, ticked = _fetched(inventory, forge, question_of(inventory), takes_boxes=takes_boxes)
    plans = plan_update_groups(asked, repository)
    about = _question_of_former(inventory, repository, plans)
    if about is not None:
        repository = repository._replace(former=tuple(forge.fetch(about).branches.values()))
        plans = plan_update_groups(asked, repository)
    more = {path for planned in plans for path in planned.moved} - repository.files.keys()
    if not more:
        return FetchedPlans(repository, plans, asked, ticked, forge.calls)
    # Which files have to be moved is known once it is known what is proposed: nearly never any.
    former = repository.former
    question = question_of(inventory, sorted(more))
    asked, repository, ticked = _fetched(inventory, forge, question, takes_boxes=takes_boxes)
    repository = repository._replace(former=former)
    return FetchedPlans(repository, plan_update_groups(asked, repository), asked, ticked, forge.calls)


def _fetched(
    inventory: Inventory, forge: Forge, question: Question, *, takes_boxes: bool
) -> tuple[Inventory, Repository, frozenset[str]]:
    repository = forge.fetch(question)
    if not (inventory.config.dashboard and takes_boxes):
        return inventory, repository, frozenset()
    # Late: most repositories have no dashboard.
    from flux_upgrade.pullrequests.dashboard.answers import answered, ticked_of

    ticked = ticked_of(inventory, repository)
    return *answered(inventory, repository, ticked), ticked


def reconcile_pull_requests(
    inventory: Inventory, fetched: FetchedPlans, forge: Forge, run: RunDetails, warn: Callable[[str], None]
) -> Round:
    """Open, update and close pull requests, until all are as they should be, or three times.

    ``fetched``: by ``fetch_plans``. ``warn`` is called, before the first write, with what the forge warns of.
    Raises CheckoutDiffers.
    """
    given, results = inventory, dict[str, Result]()
    branch = inventory.request.branch
    allowance = Allowance(inventory, forge, run)
    errors: list[FluxUpgradeError] = []
    for number, current in rounds(fetched, lambda: fetch_plans(given, forge), errors):
        repository, plans, inventory = current.repository, current.plans, current.inventory
        if number == 1:
            _require_base(inventory, repository)
            void = (each.text for each in inventory.void)
            for warning in (*void, *repository.warnings, *unused_approvals(inventory, plans)):
                warn(warning)
        reconciler = Reconciler(inventory, forge, run, repository, allowance)
        subjects = list(_subjects(inventory, plans))
        # What is decided about one depends on all of them: a file is migrated once, tools follow their clusters.
        seen = [each for each in plans if is_chosen(each.update_group, inventory.config, branch)]
        names = {name for each in seen for name in branches_of(each.update_group, inventory.config)}
        chosen = [each for each in subjects if each.branch in names]
        again = {name: each for name, each in results.items() if may_change(each.error, number - 1)}
        results = {name: each for name, each in results.items() if name not in again}
        others = (each.untouched(repository) for each in subjects if each.branch not in names)
        room = Room(inventory.config.limits, (*results.values(), *others))
        for subject in openings_last([each for each in chosen if each.branch not in results], repository):
            # In no variable of its own: an error knows this frame, and would keep itself and its connection.
            results[subject.branch] = _after_again(again.pop(subject.branch, None), _acted(reconciler, subject, room))
            room.count(results[subject.branch])
        if not any(may_change(result.error, number) for result in results.values()):
            break
    done = [results[each.branch] for each in chosen]
    try:
        seen_at = rounds(current, lambda: fetch_plans(given, forge), errors)
        done.extend(
            _told((number, Reconciler(inventory, forge, run, at.repository, allowance)) for number, at in seen_at)
        )
        done.extend(reconciler.close_stale(warn))
        reconciler.tidy(results.values(), names, warn)
    except Exception as error:  # noqa: BLE001 all else was done, and is reported
        errors.append(known(error))
    dashboard = _dashboard(given, forge, current, results.values(), warn)
    lacks_flux = inventory.lacks_flux
    return Round(repository, tuple(seen), tuple(done), inventory.void, branch, tuple(errors), dashboard, lacks_flux)


def _dashboard(
    inventory: Inventory, forge: Forge, seen: FetchedPlans, results: Iterable[Result], warn: Callable[[str], None]
) -> DashboardResult | None:
    """Keep it current. ``seen``: what was fetched for the last round."""
    is_there = any(markers.DASHBOARD in issue.labels for issue in seen.repository.issues)
    if not (inventory.config.dashboard or is_there) or inventory.all_paths is None or forge.exhausted:
        return None
    # Late: most repositories have no dashboard.
    from flux_upgrade.pullrequests.dashboard.keep import keep_dashboard, obeyed_boxes

    def fetch(number: int) -> FetchedPlans:
        # All is as it was looked at where nothing was called since.
        is_settled = number == 1 and forge.calls == seen.calls and not seen.ticked
        return seen if is_settled else fetch_plans(inventory, forge, takes_boxes=False)

    return keep_dashboard(inventory, forge, fetch, obeyed_boxes(seen.ticked, seen.repository, results), warn)


def _told(reconcilers: Iterable[tuple[int, Reconciler]]) -> Iterable[Result]:
    """What became of failures, in rounds of their own: what was reported is not looked at again."""
    told: dict[str, Result] = {}
    for number, reconciler in reconcilers:
        found = {each.branch: each for each in reconciler.tell_failures()}
        again = {name: each for name, each in told.items() if may_change(each.error, number - 1)}
        for name, before in again.items():
            done = before._replace(action=Action.UNCHANGED, error=None)
            again[name] = with_lost_answer(before, found.get(name, done), Action.UNCHANGED, Action.UPDATED)
        told = {**found, **told, **again}
        if not any(may_change(each.error, number) for each in told.values()):
            break
    return told.values()


def _acted(reconciler: Reconciler, subject: Subject, room: Room) -> Result:
    try:
        return reconciler.act(subject, room)
    except Exception as error:  # noqa: BLE001 the others go on, whatever this one meets
        return subject.idle._replace(action=Action.FAILED, error=known(error), proposal=subject.proposal)


def _after_again(before: Result | None, result: Result) -> Result:
    """``before``: what came of it in the round before, if it was tried."""
    if before is not None and result.is_waiting:
        return before  # There is no time to try it again, and that is no success
    return with_lost_answer(before, result, Action.UNCHANGED, Action.UPDATED)


def _subjects(inventory: Inventory, plans: Iterable[UpdateGroupPlan]) -> Iterator[Subject]:
    for planned in plans:
        proposals = proposals_of(planned, inventory.config, inventory.request.approve)
        for bump_kind in BumpKind:
            name = branch_name(inventory.config.branch_prefix, planned.update_group.slug, bump_kind)
            yield Subject(planned, bump_kind, proposals.get(bump_kind), name)


def _require_base(inventory: Inventory, repository: Repository) -> None:
    """Settings and kustomizations are read from the checkout: it has to be the base, or was a while ago."""
    known, head = repository.ancestry, inventory.head
    if inventory.request.writes and known and head and head not in known:
        raise CheckoutDiffers(
            f"the checkout ({head[:12]}) is not one of the last {len(known)} commits of {repository.base}",
            hint="check out the target branch of pull requests, or set it with --base",
        )


def question_of(inventory: Inventory, more: Iterable[str] = ()) -> Question:
    """What has to be known about the repository. ``more``: paths besides those of the installations."""
    return Question(
        branches=tuple(name for group in inventory.update_groups for name in branches_of(group, inventory.config)),
        paths=tuple(each for each in (*_installed(inventory), *more) if is_utf8(each)),
        base=inventory.request.base,
        prefix=inventory.config.branch_prefix if inventory.all_paths is not None else "",
        watched=_watched(inventory),
    )


def _installed(inventory: Inventory) -> Iterator[str]:
    """Yield the paths of all files of the installations."""
    for group in inventory.update_groups:
        for member in group.members:
            yield from (part.path for part in member.pin.files(member.path))


def _watched(inventory: Inventory) -> tuple[str, ...]:
    if not any(group.group.ring.after for group in inventory.update_groups):
        return ()
    # Late, as in the planner: most repositories have no groups that come after others.
    from flux_upgrade.planning.ring_members import watched

    return watched(inventory.update_groups)


def _question_of_former(
    inventory: Inventory, repository: Repository, plans: Iterable[UpdateGroupPlan]
) -> Question | None:
    """About branches that update groups had before they were renamed or regrouped; None in nearly every run.

    What was answered there still counts, because answers belong to files, and pull requests say which files they are
    about. An open pull request has its branch, a closed one is among those that GitHub lists, and a merged one left
    the group's name in the history of the file. All of that comes with the one query.
    """
    if not any(plan.upgrades for planned in plans for plan in (*planned.plans, *planned.migrations)):
        return None
    own = inventory.pin_context.own
    artifact = own.address.repository if own is not None else ""
    prefix = inventory.config.branch_prefix
    slugs = {group.slug for group in inventory.update_groups}
    found = dict.fromkeys(
        name
        for name in (*repository.others, *repository.closed, *_merged(repository, prefix))
        if _is_former(name, prefix, slugs, artifact)
    )
    names = tuple(found)[:_MOST_FORMER]
    return Question(names, (), repository.base) if names else None


def _merged(repository: Repository, prefix: str) -> Iterator[str]:
    """By the commits that touched the files, whichever way they were merged."""
    for file in repository.files.values():
        for message in file.history:
            trailers = markers.trailers(message)
            slug, kind = trailers.get(markers.GROUP, ""), trailers.get(markers.SUBJECT, "")
            if slug and kind:
                yield branch_name(prefix, slug, kind)


def _is_former(name: str, prefix: str, slugs: Iterable[str], artifact: str) -> bool:
    slug, _, kind = name.removeprefix(prefix).rpartition("/")
    is_ours = name.startswith(prefix) and bool(slug) and kind in set(BumpKind)
    return is_ours and slug not in slugs and is_seen_to(slug, artifact)
