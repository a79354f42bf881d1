"""Pull requests of ours about installations that are gone, or that belong to another team by now."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade import markers
from flux_upgrade.answers import state_of
from flux_upgrade.decision import Subject
from flux_upgrade.forge import Branch, Question, Repository
from flux_upgrade.groups import is_seen_to
from flux_upgrade.markers import State
from flux_upgrade.planning import Gathered
from flux_upgrade.ports import Forge


def question_about(repository: Repository, gathered: Gathered) -> Question | None:
    """What is to be asked about branches that no team has; None in nearly every run."""
    # Only the newest commit of the base tells what is gone.
    if gathered.found is None or not repository.others or gathered.head != repository.base_oid:
        return None
    return Question(repository.others, (), repository.base)


def leftovers(forge: Forge, question: Question, gathered: Gathered) -> Iterator[tuple[Branch, State]]:
    """Branches with an open pull request that nobody needs any more.

    One that is about an installation that this run was told to ignore is left alone:
    another workflow, with another config file, may see to it. Runs about an artifact see to their own
    branches, and the ordinary run to all others. Raises what ``Forge.look`` raises.
    """
    own = gathered.world.own
    repository = own.address.repository if own is not None else ""
    found = gathered.found or frozenset()
    members = {member.path for team in gathered.teams for member in team.members}
    others = {markers.digest_of(path) for path in found - members}
    for branch in forge.look(question).branches.values():
        pull = branch.open_pull
        state = state_of(pull) if pull is not None else None
        if state is None or not state.paths or state.subject not in set(Subject):
            continue
        if not is_seen_to(state.group, repository):
            continue
        if others.isdisjoint(entry.partition("@")[0] for entry in state.paths):
            yield branch, state
