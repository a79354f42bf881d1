"""What the next run has to know of a proposal, as it is written into its pull request."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade import markers, pull_request
from flux_upgrade.markers import State
from flux_upgrade.plan import Migration, Plan, Upgrade
from flux_upgrade.proposal import Proposal, Surroundings
from flux_upgrade.stored.memory import Question, written

_MOST_MOVED = 300
_ROOM = 8_000
"""Characters of a body for what was read in histories."""


def state_for(proposal: Proposal, around: Surroundings) -> State:
    """What is written into a pull request beside its text."""
    return State(
        group=proposal.slug,
        subject=proposal.subject,
        target=proposal.target,
        pending=proposal.is_pending,
        approval=proposal.approval,
        title=markers.digest_of(pull_request.title(proposal, around)),
        paths=tuple(
            sorted(
                {
                    markers.path_entry(path, upgrade.target, proposal.target)
                    for plan, upgrade in proposal.upgrades
                    for path in _about(plan, upgrade)
                }
            )
        ),
        migrate=",".join(proposal.migrates_at),
        stored=tuple(_stored(proposal)),
        moved=tuple(_moved(proposal))[:_MOST_MOVED],
    )


def _moved(proposal: Proposal) -> Iterator[str]:
    for plan, upgrade in proposal.upgrades:
        if isinstance(upgrade.change, Migration):
            yield markers.content_entry(plan.path, plan.installation.content)


def _stored(proposal: Proposal) -> Iterator[str]:
    """What the next run need not look up in the history again, as far as there is room for it."""
    room = _ROOM
    for plan, upgrade in proposal.upgrades:
        impact, found = upgrade.impact, plan.installation
        if impact is None or impact.changes is None or not any(each.removed for each in impact.changes.crds):
            continue
        asked = Question(plan.path, found.content, found.version, upgrade.target, impact.migrated)
        line = written(asked, impact.stored)
        room -= len(line)
        if line and room >= 0:
            yield line


def _about(plan: Plan, upgrade: Upgrade) -> tuple[str, ...]:
    """The installations that a pull request is about, whatever files it changes."""
    return upgrade.change.waiting if isinstance(upgrade.change, Migration) else (plan.path,)
