"""Read what earlier runs recorded about the groups before a group, in its pull requests or issues."""

from __future__ import annotations

from flux_upgrade.clusters.groups import UpdateGroup, branches_of
from flux_upgrade.config.config import Config
from flux_upgrade.model.forge import Issue, PullRequest, PullState, Repository
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.feedback import is_believed, state_of
from flux_upgrade.policy.ring_facts import RingMemory, memory_in


class Records(NamedTuple):
    states: tuple[MarkerState, ...] = ()  # All open pull requests, or the newest closed one
    is_open: bool = False
    is_kept: bool = False  # False: the server shows no pull requests, or an earlier version opened one without records

    def memory(self, name: str, files: str = "") -> RingMemory | None:
        """Return the record about a group; None: there is none.

        ``files``: the digest of its files now. A context that is gone is not waited for in the next pull request.
        """
        memory = memory_in((entry for state in self.states for entry in state.rings), name, files)
        return memory if memory is None or self.is_open else memory._replace(contexts=())


def records_of(update_group: UpdateGroup, config: Config, repository: Repository | None) -> Records:
    """Return the records that are in a repository. ``repository``: None if there is only a checkout."""
    if repository is None or not repository.lists_pulls or not update_group.group.ring.after:
        return Records()
    branches = (repository.branches[name] for name in branches_of(update_group, config))
    pulls = sorted((pull for branch in branches for pull in branch.pulls), key=lambda pull: -pull.number)
    issues = [issue for issue in repository.issues if issue.is_open and is_believed(issue)]
    drafts = [issue for issue in issues if (state := state_of(issue)) and state.group == update_group.slug]
    is_open = bool(drafts) or any(pull.state is PullState.OPEN for pull in pulls)
    current = [pull for pull in pulls if not is_open or pull.state is PullState.OPEN]
    answered: list[PullRequest | Issue] = [*current, *drafts]
    states = [*filter(None, map(state_of, answered))]
    is_kept = not is_open or all(state.rings for state in states)
    return Records(tuple(states if is_open else states[:1]), is_open, is_kept)
