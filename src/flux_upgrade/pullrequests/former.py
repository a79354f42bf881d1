"""Branches that update groups had before they were renamed or regrouped: what was answered there still counts.

Answers belong to files. Pull requests say which files they are about, so all that has to be found is the branches.
An open pull request has its branch, a closed one is among those that GitHub lists, and a merged one left the group's
name in the history of the file. All of that comes with the one query. Only a run that proposes something, where
there are such branches, asks once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.clusters.groups import branch_name, is_seen_to
from flux_upgrade.model import markers
from flux_upgrade.model.forge import Question, Repository
from flux_upgrade.planning.plan import UpdateGroupPlan
from flux_upgrade.planning.planner import Inventory
from flux_upgrade.policy.decision import BumpKind

_MOST = 50  # Of the branches: what one query takes


def question_of_former(
    inventory: Inventory, repository: Repository, plans: Iterable[UpdateGroupPlan]
) -> Question | None:
    """What is to be asked about former branches; None in nearly every run."""
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
    names = tuple(found)[:_MOST]
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
