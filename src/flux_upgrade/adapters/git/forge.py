"""Any Git server: branches by a push with lease, merge requests by what the server takes along with it.

``fetch`` says what can be known of a server without an API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flux_upgrade.adapters.git import pull_requests_by_push, remotes
from flux_upgrade.adapters.git.checkout import Checkout
from flux_upgrade.adapters.git.fetch import HEADS, GitFetch
from flux_upgrade.adapters.git.git_command import unattended
from flux_upgrade.adapters.git.git_repository import GitRepository, RefUpdate, Signature
from flux_upgrade.adapters.git.pull_requests_by_push import AGIT, OURS, Memory, MergeRequest
from flux_upgrade.adapters.git.push_answer import PushAnswer
from flux_upgrade.adapters.git.remotes import RemoteAccess
from flux_upgrade.model import forge, markers
from flux_upgrade.model.errors import DraftsUnavailable, Overtaken
from flux_upgrade.model.forge import Done

NAME = "flux-upgrade"
EMAIL = "flux-upgrade@users.noreply.invalid"
_NO_ISSUES = "your Git host has no issues here: upgrades that need approval are only in the summary"


class GitForge:
    """The port Forge over the Git protocol.

    ``checkout`` lends its objects and its configuration for connections; ``now``
    gives seconds since the epoch, for the commits. To be closed.
    """

    def __init__(
        self,
        remote: RemoteAccess,
        environment: Mapping[str, str],
        now: Callable[[], float],
        checkout: Checkout | None = None,
    ) -> None:
        url = _with_suffix(remote)
        settings = () if checkout is None else checkout.connection()
        settings += remote.settings(url)
        self._remote = remote
        self._now = now
        self._checkout = checkout
        self._git = GitRepository(
            url, unattended(environment), settings, "" if checkout is None else checkout.objects()
        )
        self._fetch = GitFetch(remote, self._git)

    def close(self) -> None:
        self._git.close()

    @property
    def calls(self) -> int:
        """Calls of ls-remote, fetch and push."""
        return self._git.calls

    @property
    def exhausted(self) -> str:
        return ""

    def fetch(self, question: forge.Question) -> forge.Repository:
        return self._fetch.fetch(question)

    def apply(self, step: forge.Step) -> Done:
        """Nothing is pushed where a draft is wanted and the server has none.

        Closing deletes the branch, whereupon GitLab closes its merge request. Issues,
        commit statuses and reviewers are not to be had by Git.
        """
        match step:
            case forge.OpenPull():
                return self._open(step)
            case forge.UpdatePull():
                return self._update(step)
            case forge.ClosePull():
                return self._close(step)
            case forge.CommentPull() | forge.RevertPull() | forge.RejectPull() | forge.RecordAnswers():
                return Done(step.pull.number, step.pull.url)  # a Git server shows no pull requests: none to ask for
            case forge.OpenIssue() | forge.DeleteBranch():  # nor those that were merged
                return Done(warnings=(_NO_ISSUES,) if isinstance(step, forge.OpenIssue) else ())
            case forge.UpdateIssue():
                return Done(step.issue.number, step.issue.url, warnings=(_NO_ISSUES,))

    def _open(self, step: forge.OpenPull) -> Done:
        self._require_drafts(is_draft=step.is_draft)
        lost = pull_requests_by_push.ignored(self._remote.flavour, step.extras)
        old = self._memory(step.before)
        memory = Memory(
            title=step.title,
            is_draft=step.is_draft,
            state=pull_requests_by_push.comment_of(step.body),
            statuses={step.status.context: step.status.state},
        )
        is_pushed = step.commit is None and old is not None and old.is_draft == step.is_draft
        if is_pushed and self._remote.flavour not in AGIT:
            return Done(head=step.before)
        request = MergeRequest(step.base, step.branch, step.title, step.body, step.is_draft, step.extras)
        oid = self._made(step.commit, step.before, memory)
        return self._pushed(request, oid, step.before, lost, opens=True)

    def _update(self, step: forge.UpdatePull) -> Done:
        """A new title or body alone goes along with the next push: without one, no server reads them."""
        if step.commit is None and not step.make_ready and not step.make_draft:
            return Done(step.pull.number, step.pull.url, step.before)
        old = self._memory(step.before) or Memory(step.pull.title, step.pull.is_draft)
        is_draft = step.make_draft or (old.is_draft and not step.make_ready)
        self._require_drafts(is_draft=is_draft)
        state = pull_requests_by_push.comment_of(step.body) or old.state
        if step.body is None and step.commit is not None:
            state = pull_requests_by_push.updated(state, step.commit)
        memory = Memory(
            title=old.title if step.title is None else step.title,
            is_draft=is_draft,
            state=state,
            statuses=old.statuses if step.status is None else {step.status.context: step.status.state},
        )
        title = memory.title or None
        request = MergeRequest(self._fetch.base, step.branch, title, _description(step), memory.is_draft)
        by_hand = step.make_ready and old.is_draft and self._remote.flavour in AGIT
        warnings = (f"{_named(step)}: remove {pull_requests_by_push.WIP} from its title yourself",) if by_hand else ()
        oid = self._made(step.commit, step.before, memory)
        return self._pushed(request, oid, step.before, warnings)

    def _close(self, step: forge.ClosePull) -> Done:
        if self._remote.flavour in AGIT:
            return Done(step.pull.number, step.pull.url, warnings=(f"{_named(step)}: close it yourself",))
        head = step.pull.head.oid if step.pull.head is not None else ""
        found = next((each for each in self._fetch.refs_of_ours.values() if each.oid == head), None)
        if found is None:
            raise Overtaken("the branch changed in the meantime", hint="run flux-upgrade again")
        self._git.push(RefUpdate("", found.ref, found.oid))
        return Done(step.pull.number, step.pull.url)

    def _require_drafts(self, *, is_draft: bool) -> None:
        if is_draft and self._remote.flavour not in ("gitlab", *AGIT):
            raise DraftsUnavailable(
                f"{remotes.masked(self._remote.url)} is a Git host without drafts",
                hint="if it is GitLab, Gitea or Forgejo, set `forge:` in the config file",
            )

    def _memory(self, oid: str) -> Memory | None:
        return pull_requests_by_push.read(self._git.commit(oid).message) if oid else None

    def _made(self, commit: forge.NewCommit | None, before: str, memory: Memory) -> str:
        """The commit to push; without a new one, that of ``before`` under another memory."""
        if commit is not None:
            tree, parent = self._git.tree(commit.parent_tree, commit.files), commit.parent
            message = pull_requests_by_push.written(commit.message, memory)
        else:
            old = self._git.commit(before)
            tree, parent = old.tree, old.parents[0]
            message = pull_requests_by_push.written(old.message, memory)
        name, email = ("", "") if self._checkout is None else self._checkout.identity()
        by = Signature(self._remote.name or name or NAME, self._remote.email or email or EMAIL, int(self._now()))
        return self._git.write(tree, [parent], markers.sealed(message, tree), by)

    def _pushed(
        self, request: MergeRequest, oid: str, before: str, warnings: tuple[str, ...], *, opens: bool = False
    ) -> Done:
        flavour = self._remote.flavour
        options = pull_requests_by_push.options(flavour, request)
        if flavour in AGIT:
            self._compare(request.topic, before)
            said = self._by_agit(request, oid, options, opens=opens)
        else:
            said = self._git.push(RefUpdate(oid, HEADS + request.topic, before), options=options)
        if flavour in ("gitlab", *AGIT) and not said.number:
            warnings += (f"the server did not confirm the merge request: {said.lines or 'no answer'}",)
        return Done(said.number, said.url, oid, warnings)

    def _by_agit(self, request: MergeRequest, oid: str, options: tuple[str, ...], *, opens: bool) -> PushAnswer:
        """Push to the user's pull request, and mark it with its number, which the server tells only then.

        One that is opened is marked before, in the same push: without write access there is none, and the next run
        goes on from there. The server opens another one if the marked one was closed.
        """
        marks = self._fetch.marks.get(request.topic, {})
        opening = pull_requests_by_push.mark(request.topic)
        first = (RefUpdate(oid, opening, marks.get(opening, "")),) if opens else ()
        said = self._git.push(RefUpdate(oid, f"refs/for/{request.base}", None), *first, options=options)
        if not said.number:
            return said
        mark = pull_requests_by_push.mark(request.topic, said.number)
        left = dict.fromkeys((*marks, *(each.ref for each in first)))
        updates = [RefUpdate("", ref, None) for ref in left if ref != mark]
        if mark not in marks:
            updates.insert(0, RefUpdate(oid, mark, None))
        if updates:
            self._git.push(*updates)
        return said

    def _compare(self, topic: str, before: str) -> None:
        """AGit has no lease: the nearest to one is to look again."""
        found = self._fetch.refs_of_ours.get(topic)
        now = self._git.refs([f"{OURS}*/{topic}", *([found.ref] if found is not None else [])]).oids
        head = now.get(found.ref, "") if found is not None else ""
        marks = {ref: now[ref] for ref in pull_requests_by_push.marked(now).get(topic, {}).values()}
        if head != before or marks != self._fetch.marks.get(topic, {}):
            raise Overtaken(f"the pull request of {topic} changed in the meantime", hint="run flux-upgrade again")


def _named(step: forge.UpdatePull | forge.ClosePull) -> str:
    return step.pull.url or "the pull request"


def _description(step: forge.UpdatePull) -> str | None:
    if step.body is not None or step.commit is None:
        return step.body
    return step.commit.message.partition("\n\n")[2] or None


def _with_suffix(remote: RemoteAccess) -> str:
    """GitLab redirects an address without ``.git``, and with a token no redirect is followed."""
    is_short = remote.flavour == "gitlab" and bool(remote.token) and not remote.url.endswith(".git")
    return f"{remote.url.rstrip('/')}.git" if is_short else remote.url
