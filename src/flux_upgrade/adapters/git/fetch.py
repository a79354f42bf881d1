"""What a Git server tells of our branches.

Nothing lists its pull requests:

- A branch of ours that exists stands for an open one;
  its draft state, title and approval are in the commit's own trailer (``pull_requests_by_push``).
- Whether one is merged is read from the base's history. A squash, or a branch that was deleted, is
  unknown: the proposal is made again as long as the base does not have it.
- Closed without deleting the branch looks open: nothing happens to it before the
  proposal changes. Marked ready, labels, conflicts are not seen; ``approve`` is.
- AGit (Gitea, Forgejo) has no branches, and any user can open a pull request with any commit. Ours is the one
  whose number is in a ref below ``refs/flux-upgrade/``: to push that takes write access, and to push to the
  pull request itself takes its user. The server compares nothing: we do, immediately before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from flux_upgrade.adapters.git import pull_requests_by_push, remotes
from flux_upgrade.adapters.git.git_command import rfc3339
from flux_upgrade.adapters.git.git_repository import GitRepository, Refs
from flux_upgrade.adapters.git.pull_requests_by_push import AGIT, OURS
from flux_upgrade.adapters.git.remotes import RemoteAccess
from flux_upgrade.model import markers
from flux_upgrade.model.errors import Overtaken, RepositoryUnfit
from flux_upgrade.model.forge import BaseCommit, Branch, PullState, Question, Repository
from flux_upgrade.model.text import one_line

HEADS = "refs/heads/"
_TRIES = 3


@dataclass(frozen=True)
class ServerRef:
    ref: str  # `refs/heads/…`, `refs/pull/…/head`, or a mark
    oid: str
    number: int = 0
    is_cut_off: bool = False  # a mark alone: that run ended before it knew the pull request's number


class GitFetch:
    """Reads what a server has, and keeps where our branches are."""

    def __init__(self, remote: RemoteAccess, git: GitRepository) -> None:
        self._remote = remote
        self._git = git
        self.refs_of_ours: dict[str, ServerRef] = {}  # branch, or topic → where it is
        self.marks: dict[str, dict[str, str]] = {}  # topic → its marks, and where they are
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
        patterns = [f"{OURS}*", "refs/pull/*/head"] if is_agit else branches
        refs = self._git.refs([*patterns, *([HEADS + question.base] if question.base else [])])
        base = HEADS + (question.base or refs.head)
        if (there := refs.oids.get(base if question.base else "HEAD")) is None:
            raise self._unfit(question.base, refs)
        ours = {ref.removeprefix(HEADS): ServerRef(ref, refs.oids[ref]) for ref in branches if ref in refs.oids}
        if is_agit:
            ours = self._by_mark(refs.oids, question.branches)
        if not self._git.fetch({base: there, **{each.ref: each.oid for each in ours.values()}}):
            return None
        oid = self._git.oid(base)
        self.refs_of_ours = {name: replace(each, oid=self._git.oid(each.ref)) for name, each in ours.items()}
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
            commits=self._commits(oid, question),
            lists_pulls=False,
        )

    def _commits(self, oid: str, question: Question) -> tuple[BaseCommit, ...]:
        """The base's head, and since when it holds what is watched. Git keeps no statuses."""
        if not question.watched:
            return ()
        blobs = {path: file.oid for path, file in self._git.files(oid, question.watched).items() if file.oid}
        since, moment = self._git.last_change(oid, question.watched)
        head = BaseCommit(oid, rfc3339(self._git.made_at(oid)), blobs)
        return (head,) if since == oid else (head, BaseCommit(since, rfc3339(moment), blobs))

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

    def _by_mark(self, oids: Mapping[str, str], topics: Iterable[str]) -> dict[str, ServerRef]:
        """Topic → its pull request; whatever else the server has of pull requests is not even fetched."""
        marked = pull_requests_by_push.marked(oids)
        self.marks = {topic: {ref: oids[ref] for ref in marked.get(topic, {}).values()} for topic in topics}
        found: dict[str, ServerRef] = {}
        for topic, marks in self.marks.items():
            opening = pull_requests_by_push.mark(topic)
            pulls = {f"refs/pull/{number}/head": number for number in sorted(marked.get(topic, {})) if number}
            if opening in marks:
                found[topic] = ServerRef(opening, marks[opening], is_cut_off=True)
            elif there := [ref for ref in pulls if ref in oids]:
                found[topic] = ServerRef(there[-1], oids[there[-1]], pulls[there[-1]])
        return found

    def _branch(self, name: str, base_oid: str) -> Branch:
        if (found := self.refs_of_ours.get(name)) is None:
            return Branch(name, None)
        head = self._git.commit(found.oid)
        memory = pull_requests_by_push.read(head.message)
        if memory is None or not markers.is_ours(head) or found.is_cut_off:
            return Branch(name, head)
        head = head._replace(statuses=memory.statuses)
        pull = pull_requests_by_push.pull_of(head, memory, rfc3339(self._git.made_at(found.oid)))
        if found.number:
            url = f"{remotes.web_url(self._remote.url)}/pulls/{found.number}"
            pull = pull._replace(number=found.number, url=url)
        if self._git.is_ancestor(found.oid, base_oid):
            pull = pull._replace(state=PullState.MERGED)
        return Branch(name, head, (pull,))
