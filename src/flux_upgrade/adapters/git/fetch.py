"""What a Git server tells of our branches.

Nothing lists its pull requests:

- A branch of ours that exists stands for an open one;
  its draft state, title and approval are in the commit's own trailer (``pull_requests_by_push``).
- Whether one is merged is read from the base's history. A squash, or a branch that was deleted, is
  unknown: the proposal is made again as long as the base does not have it.
- Closed without deleting the branch looks open: nothing happens to it before the
  proposal changes. Marked ready, labels, conflicts are not seen; ``approve`` is.
- AGit (Gitea, Forgejo) has no branches: its pull requests are found by the topic in
  their commits. The server compares nothing: we do, immediately before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flux_upgrade.adapters.git import pull_requests_by_push, remotes
from flux_upgrade.adapters.git.git_command import rfc3339
from flux_upgrade.adapters.git.git_repository import GitRepository, Refs
from flux_upgrade.adapters.git.pull_requests_by_push import AGIT
from flux_upgrade.adapters.git.remotes import RemoteAccess
from flux_upgrade.model import markers
from flux_upgrade.model.errors import Overtaken, RepositoryUnfit
from flux_upgrade.model.forge import Branch, PullState, Question, Repository
from flux_upgrade.model.text import one_line

HEADS = "refs/heads/"
_NEWEST_PULLS = 100  # how many of AGit's pull requests are searched for ours
_TRIES = 3


@dataclass(frozen=True)
class ServerRef:
    ref: str  # `refs/heads/…`, or `refs/pull/…/head`
    oid: str
    number: int = 0


class GitFetch:
    """Reads what a server has, and keeps where our branches are."""

    def __init__(self, remote: RemoteAccess, git: GitRepository) -> None:
        self._remote = remote
        self._git = git
        self.refs_of_ours: dict[str, ServerRef] = {}  # branch, or topic → where it is
        self.base = ""

    def fetch(self, question: Question) -> Repository:
        for _ in range(_TRIES):
            if (seen := self._fetch_once(question)) is not None:
                return seen
        raise Overtaken("branches changed while they were fetched", hint="run flux-upgrade again")

    def _fetch_once(self, question: Question) -> Repository | None:
        """One read; None where something went away in the meantime."""
        is_agit = self._remote.flavour in AGIT
        branches = [] if is_agit else [HEADS + name for name in question.branches]
        patterns = ["refs/pull/*/head"] if is_agit else branches
        refs = self._git.refs([*patterns, *([HEADS + question.base] if question.base else [])])
        base = HEADS + (question.base or refs.head)
        if (there := refs.oids.get(base if question.base else "HEAD")) is None:
            raise self._unfit(question.base, refs)
        ours = {name: refs.oids[name] for name in branches if name in refs.oids}
        if is_agit:
            pulls = (pair for pair in refs.oids.items() if _number(pair[0]))
            ours = dict(sorted(pulls, key=lambda pair: _number(pair[0]), reverse=True)[:_NEWEST_PULLS])
        if not self._git.fetch({base: there, **ours}):
            return None
        oid = self._git.oid(base)
        if is_agit:
            self.refs_of_ours = self._by_topic(ours, oid)
        else:
            self.refs_of_ours = {ref.removeprefix(HEADS): ServerRef(ref, self._git.oid(ref)) for ref in ours}
        self.base = base.removeprefix(HEADS)
        return Repository(
            name=remotes.repository_of(self._remote.url) or remotes.masked(self._remote.url),
            url=remotes.web_url(self._remote.url),
            base=self.base,
            base_oid=oid,
            base_tree=self._git.commit(oid).tree,
            files=self._git.files(oid, question.paths),
            branches={name: self._branch(name, oid) for name in question.branches},
            recent=self._git.recent(oid),
            lists_pulls=False,
        )

    def _unfit(self, base: str, refs: Refs) -> RepositoryUnfit:
        where = remotes.masked(self._remote.url)
        if not refs.oids:
            return RepositoryUnfit(
                f"{where} has no such branch, or is empty", hint="push a first commit to the base branch"
            )
        return RepositoryUnfit(
            f"{where} has no branch {one_line(base)}" if base else f"{where} does not report its default branch",
            hint="set the target branch with --base",
        )

    def _by_topic(self, refs: Iterable[str], base: str) -> dict[str, ServerRef]:
        """Topic → its pull request; ``refs`` are the newest first.

        A person's commits on top of ours do not make it another one.
        """
        found: dict[str, ServerRef] = {}
        for ref in refs:
            oid = self._git.oid(ref)
            for message in self._git.messages(oid, base):
                memory = pull_requests_by_push.read(message)
                if memory is not None and memory.topic:
                    found.setdefault(memory.topic, ServerRef(ref, oid, _number(ref)))
        return found

    def _branch(self, name: str, base_oid: str) -> Branch:
        if (found := self.refs_of_ours.get(name)) is None:
            return Branch(name, None)
        head = self._git.commit(found.oid)
        memory = pull_requests_by_push.read(head.message)
        if memory is None or not markers.is_ours(head):
            return Branch(name, head)
        head = head._replace(statuses=memory.statuses)
        pull = pull_requests_by_push.pull_of(head, memory, rfc3339(self._git.made_at(found.oid)))
        if found.number:
            url = f"{remotes.web_url(self._remote.url)}/pulls/{found.number}"
            pull = pull._replace(number=found.number, url=url)
        if self._git.is_ancestor(found.oid, base_oid):
            pull = pull._replace(state=PullState.MERGED)
        return Branch(name, head, (pull,))


def _number(ref: str) -> int:
    number = ref.removeprefix("refs/pull/").removesuffix("/head")
    return int(number) if number.isascii() and number.isdigit() else 0
