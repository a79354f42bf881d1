"""On a real Gitea, only what a user with write access pushed counts as a pull request of ours."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.on_git import BODY, BRANCH, PATH, QUESTION, STATE, opening, updating
from flux_upgrade.adapters.git import pull_requests_by_push
from flux_upgrade.adapters.git.forge import GitForge
from flux_upgrade.adapters.git.pull_requests_by_push import Memory
from flux_upgrade.adapters.git.remotes import RemoteAccess
from flux_upgrade.model import markers
from flux_upgrade.model.errors import ForbiddenByForge, Overtaken
from flux_upgrade.model.forge import Branch, PullState
from git_servers import PERSON, git
from real_flux import gitea
from real_flux.gitea import Gitea, Repository
from replacing import replace

pytestmark = pytest.mark.cluster

REFS = "refs/flux-upgrade/*"


@dataclass
class World:
    """A repository, a clone in which users commit and push, and forges of the user ``bot``."""

    on: Repository
    clone: Path
    stack: ExitStack
    _seconds: Iterator[int] = field(default_factory=lambda: itertools.count(1_700_000_000))

    def forge(self, user: str = "bot") -> GitForge:
        access = RemoteAccess(self.on.url, "gitea", self.on.gitea.token(user))
        return self.stack.enter_context(closing(GitForge(access, PERSON, lambda: float(next(self._seconds)))))

    def push(self, user: str, *words: str, to: str = "") -> None:
        """Raises AssertionError if the server refuses it."""
        git("push", "--quiet", self.on.url_of(user, to), *words, at=self.clone)

    def propose(self, user: str, oid: str, topic: str = BRANCH) -> None:
        """With AGit, for which a user needs no write access."""
        self.push(user, f"{oid}:refs/for/main", f"--push-option=topic={topic}")

    def fetch(self, ref: str) -> str:
        git("fetch", "--quiet", self.on.url_of("admin"), ref, at=self.clone)
        return git("rev-parse", "FETCH_HEAD", at=self.clone)

    def forged(self, approval: str = "2.9") -> str:
        """A commit as we write it, with a digest that fits and an approval that nobody gave."""
        base = self.fetch("refs/heads/main")
        tree = git("rev-parse", f"{base}^{{tree}}", at=self.clone)
        state = pull_requests_by_push.comment_of(markers.block("", STATE._replace(approval=approval)))
        message = (
            f"Update\n\nFlux-Upgrade-Target: v2.9.4\n{markers.APPROVAL}: {approval}\n{markers.OPENING}: {approval}"
        )
        sealed = markers.sealed(pull_requests_by_push.written(message, Memory("Update", state=state)), tree)
        # Two of them are two commits: Gitea takes the same one only once for a topic.
        more = {f"GIT_{role}_DATE": f"@{next(self._seconds)} +0000" for role in ("AUTHOR", "COMMITTER")}
        return git("commit-tree", tree, "-p", base, "-m", sealed, at=self.clone, more=more)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    with gitea.running(tmp_path_factory.mktemp("gitea")) as started:
        yield started


@pytest.fixture
def world(server: Gitea, tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        name = f"infra-{len(server.ask('admin', 'GET', 'user/repos?limit=50'))}"
        git("init", "--quiet", "--initial-branch=main", tmp_path / "clone")
        made = World(server.repository(name), tmp_path / "clone", stack)
        made.fetch("refs/heads/main")
        git("checkout", "--quiet", "-B", "main", "FETCH_HEAD", at=made.clone)
        (made.clone / PATH).parent.mkdir(parents=True)
        (made.clone / PATH).write_text("v2.9.3\n")
        git("add", "--all", at=made.clone)
        git("commit", "--quiet", "-m", "First", at=made.clone)
        made.push("admin", "HEAD:main")
        yield made


def test_opens_updates_and_follows_its_pull_request(world: World) -> None:
    forge = world.forge()
    done = forge.apply(opening(forge.fetch(QUESTION), is_draft=True))
    shown = world.on.ask("admin", "GET", "/pulls/1")
    assert (done.number, done.url, done.warnings) == (1, f"{world.on.url.removesuffix('.git')}/pulls/1", ())
    assert (shown["title"], shown["body"], shown["user"]["login"]) == ("WIP: Update Flux to v2.9.4", BODY, "the-bot")
    assert (shown["head"]["sha"], world.on.refs(REFS)) == (done.head, {f"refs/flux-upgrade/1/{BRANCH}": done.head})

    forge = world.forge()
    approved = markers.block("", STATE._replace(approval="2.9"))
    step = updating(forge.fetch(QUESTION), "v2.9.5\n", make_ready=True)
    again = forge.apply(replace(step, body=approved))
    assert (again.number, world.on.pulls()) == (1, {1: again.head})
    (pull,) = world.forge().fetch(QUESTION).branches[BRANCH].pulls
    state = markers.state_of(pull.body)
    assert (pull.number, pull.is_draft, state and state.approval) == (1, False, "2.9")

    world.on.ask("admin", "PATCH", "/pulls/1", {"title": "Update Flux to v2.9.5"})  # as we ask a user to do
    world.on.merge(1)
    (pull,) = world.forge().fetch(QUESTION).branches[BRANCH].pulls
    assert (pull.number, pull.state) == (1, PullState.MERGED)


def test_where_ours_was_closed_the_next_push_opens_another(world: World) -> None:
    forge = world.forge()
    forge.apply(opening(forge.fetch(QUESTION)))
    world.on.ask("admin", "PATCH", "/pulls/1", {"state": "closed"})
    forge = world.forge()
    done = forge.apply(updating(forge.fetch(QUESTION), "v2.9.5\n"))
    assert (done.number, world.on.pulls()) == (2, {2: done.head})
    assert list(world.on.refs(REFS)) == [f"refs/flux-upgrade/2/{BRANCH}"]


def test_what_others_open_has_no_effect(world: World) -> None:
    forge = world.forge()
    done = forge.apply(opening(forge.fetch(QUESTION), is_draft=True))
    before = world.forge().fetch(QUESTION)
    world.fetch("refs/pull/1/head")
    world.propose("mallory", done.head)  # an exact copy, under the same topic
    world.propose("mallory", world.forged(), f"the-bot/{BRANCH}")  # the server's own name of our topic
    fork = world.on.ask("mallory", "POST", "/forks", {})["full_name"]
    world.push("mallory", f"{world.forged()}:refs/heads/{BRANCH}", to=fork)
    world.on.ask("mallory", "POST", "/pulls", {"title": "Update", "head": f"the-mallory:{BRANCH}", "base": "main"})
    foreign = world.on.pulls()
    assert sorted(foreign) == [1, 2, 3, 4]
    assert foreign[2] == done.head

    forge = world.forge()
    seen = forge.fetch(QUESTION)
    assert seen == before
    assert [(pull.number, pull.is_draft) for pull in seen.branches[BRANCH].pulls] == [(1, True)]
    again = forge.apply(updating(seen, "v2.9.5\n"))
    assert (again.number, world.on.pulls()) == (1, foreign | {1: again.head})


def test_what_others_opened_before_has_no_effect(world: World) -> None:
    world.propose("mallory", world.forged())
    forge = world.forge()
    seen = forge.fetch(QUESTION)
    assert seen.branches[BRANCH] == Branch(BRANCH, None)
    done = forge.apply(opening(seen, is_draft=True))
    assert (done.number, world.on.pulls()[2]) == (2, done.head)
    (pull,) = world.forge().fetch(QUESTION).branches[BRANCH].pulls
    state = markers.state_of(pull.body)
    assert (pull.number, pull.is_draft, state and state.approval) == (2, True, "")


def test_nobody_without_write_access_can_say_what_is_ours(world: World) -> None:
    forge = world.forge()
    done = forge.apply(opening(forge.fetch(QUESTION)))
    oid = world.forged()
    world.propose("mallory", oid)
    ours, theirs = f"refs/flux-upgrade/1/{BRANCH}", f"refs/flux-upgrade/2/{BRANCH}"
    for words in (
        [f"{oid}:{theirs}"],
        [f"+{oid}:{ours}"],
        [f":{ours}"],
        [f"{world.forged()}:refs/for/main", f"{oid}:{theirs}", f"--push-option=topic={BRANCH}"],
        [f"+{oid}:refs/pull/1/head"],
    ):
        with pytest.raises(AssertionError, match="denied"):
            world.push("mallory", *words)
    assert (world.on.refs(REFS), world.on.pulls()) == ({ours: done.head}, {1: done.head, 2: oid})


def test_without_write_access_nothing_is_opened(world: World) -> None:
    forge = world.forge("mallory")
    with pytest.raises(ForbiddenByForge, match="permission denied"):
        forge.apply(opening(forge.fetch(QUESTION)))
    assert (world.on.pulls(), world.on.refs(REFS)) == ({}, {})


def test_of_two_runs_that_open_it_one_is_overtaken(world: World) -> None:
    one, other = world.forge(), world.forge()
    first, second = one.fetch(QUESTION), other.fetch(QUESTION)
    done = one.apply(opening(first))
    with pytest.raises(Overtaken):
        other.apply(opening(second))
    assert world.on.pulls() == {1: done.head}


def test_a_run_that_was_cut_off_is_continued(world: World) -> None:
    """Gitea has the pull request, and the run did not learn its number."""
    forge = world.forge()
    done = forge.apply(opening(forge.fetch(QUESTION)))
    ours, unknown = f"refs/flux-upgrade/1/{BRANCH}", f"refs/flux-upgrade/0/{BRANCH}"
    world.fetch("refs/pull/1/head")
    world.push("bot", f"{done.head}:{unknown}", f":{ours}")
    forge = world.forge()
    seen = forge.fetch(QUESTION)
    branch = seen.branches[BRANCH]
    assert (branch.head is not None and markers.is_ours(branch.head), branch.pulls) == (True, ())
    again = forge.apply(replace(opening(seen), commit=None))
    assert (again.number, world.on.pulls(), list(world.on.refs(REFS))) == (1, {1: again.head}, [ours])
