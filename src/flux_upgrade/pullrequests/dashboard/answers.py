"""The boxes of the dashboard: their names, and what a run does about those that are ticked.

A box to approve is what ``--approve NAME=VERSION`` is, a box to rebase what the box of the pull request is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from flux_upgrade.clusters.groups import UpdateGroup
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Branch, Issue, PullRequest, Repository
from flux_upgrade.planning.planner import Inventory

_APPROVE = re.compile(r"approve-([0-9a-f]{16})-(v?[0-9.]+)")


def scope_of(inventory: Inventory) -> str:
    """What a dashboard is about, should several workflows keep one each in the same repository; nearly always empty."""
    own = inventory.pin_context.own
    artifact = own.address.repository if own is not None else ""
    return " ".join(filter(None, (inventory.config.name, inventory.request.base, artifact)))


def dashboards_of(inventory: Inventory, repository: Repository) -> tuple[Issue, ...]:
    """The dashboards that our own account has opened, the one that counts first: the oldest that is open."""
    scope = scope_of(inventory)
    ours = (
        each
        for each in repository.issues
        if each.is_own and markers.DASHBOARD in each.labels and markers.dashboard_scope(each.body) == scope
    )
    return tuple(sorted(ours, key=lambda each: (not each.is_open, each.number)))


def approve_box(slug: str, approval: str) -> str:
    """``approval``: as ``BumpKind.approval`` gives it."""
    return f"approve-{markers.digest_of(slug)}-{approval}"


def rebase_box(pull: PullRequest) -> str:
    return f"{markers.REBASE}-{pull.number}"


def ticked_of(inventory: Inventory, repository: Repository) -> frozenset[str]:
    """The names of the boxes that are ticked; none where there is no dashboard, or it is switched off."""
    if not inventory.config.dashboard or inventory.all_paths is None:
        return frozenset()
    found = dashboards_of(inventory, repository)
    main = found[0] if found else None
    # A box that a user without write access may have ticked asks for nothing.
    return markers.ticked(main.body) if main is not None and main.is_open and main.answers.body else frozenset()


def answered(inventory: Inventory, repository: Repository, ticked: Collection[str]) -> tuple[Inventory, Repository]:
    request = inventory.request
    asked = dict.fromkeys((*request.approve, *_approvals(ticked, inventory.update_groups)))
    branches = {name: _asked(branch, ticked) for name, branch in repository.branches.items()}
    return inventory._replace(request=request._replace(approve=tuple(asked))), repository._replace(branches=branches)


def _approvals(ticked: Collection[str], update_groups: Collection[UpdateGroup]) -> Iterator[str]:
    names = {markers.digest_of(each.slug): each.name for each in update_groups}
    for found in filter(None, map(_APPROVE.fullmatch, sorted(ticked))):
        if found[1] in names:
            yield f"{names[found[1]]}={found[2]}"


def _asked(branch: Branch, ticked: Collection[str]) -> Branch:
    pull = branch.open_pull
    if pull is None or rebase_box(pull) not in ticked:
        return branch
    pulls = (each._replace(is_rebase_asked=True) if each is pull else each for each in branch.pulls)
    return branch._replace(pulls=tuple(pulls))
