"""On Gitea and Forgejo, a pull request is ours if we pushed it. What anybody else opens there changes nothing."""

from __future__ import annotations

import ast
import base64
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from adapters.on_git import BODY, BRANCH, PATH, QUESTION, STATE, World, make, opening, updating
from flux_upgrade.adapters.git import pull_requests_by_push
from flux_upgrade.adapters.git.pull_requests_by_push import Memory
from flux_upgrade.model import markers
from flux_upgrade.model.errors import ForbiddenByForge, Overtaken
from flux_upgrade.model.forge import Branch, ClosePull, PullState
from git_servers import git
from replacing import replace

MARK = f"refs/flux-upgrade/1/{BRANCH}"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as opened:
        made = make(tmp_path, opened)
        made.bare.take_agit()
        yield made


def foreign(world: World, number: int, oid: str) -> None:
    """A pull request from a fork: its owner puts any commit there."""
    git("update-ref", f"refs/pull/{number}/head", oid, at=world.bare.folder)


def forged(world: World, *, approval: str = "2.9") -> str:
    """A commit as we write it, with a digest that fits and an approval that nobody gave."""
    tree = git("rev-parse", "main^{tree}", at=world.bare.folder)
    state = markers.block("", STATE._replace(approval=approval))
    memory = Memory("Update Flux to v2.9.4", state=pull_requests_by_push.comment_of(state))
    message = f"Update\n\nFlux-Upgrade-Target: v2.9.4\n{markers.APPROVAL}: {approval}\n{markers.OPENING}: {approval}"
    sealed = markers.sealed(pull_requests_by_push.written(message, memory), tree)
    return git("commit-tree", tree, "-p", "main", "-m", sealed, at=world.bare.folder)


def pulls(world: World) -> dict[str, str]:
    return {ref: oid for ref, oid in world.bare.refs().items() if ref.startswith("refs/pull/")}


def marks(world: World) -> list[str]:
    return [ref for ref in world.bare.refs() if ref.startswith("refs/flux-upgrade/")]


@pytest.mark.parametrize("flavour", ["gitea", "forgejo"])
def test_agit_opens_and_moves_one_pull_request(world: World, flavour: str) -> None:
    forge = world.forge(flavour)
    done = forge.apply(opening(forge.fetch(QUESTION), is_draft=True))
    assert (done.number, done.url) == (1, f"{world.host.url}/fleet/infra/pulls/1")
    assert sorted(world.bare.refs()) == [
        f"refs/flux-upgrade/1/{BRANCH}",
        "refs/heads/main",
        "refs/pull/1/head",
        f"refs/topics/{BRANCH.replace('/', '-')}",
    ]
    options = ast.literal_eval((world.bare.folder / "agit.txt").read_text())
    assert options["topic"] == BRANCH
    assert options["title"] == "WIP: Update Flux to v2.9.4"
    if flavour == "gitea":
        assert base64.b64decode(options["description"].removeprefix("{base64}")).decode() == BODY
    else:
        assert "description" not in options

    forge = world.forge(flavour)
    seen = forge.fetch(QUESTION)
    (pull,) = seen.branches[BRANCH].pulls
    assert (pull.number, pull.url, pull.is_draft) == (1, done.url, True)
    again = forge.apply(updating(seen, "v2.9.5\n", make_ready=True))
    assert (again.number, world.bare.refs()["refs/pull/1/head"]) == (1, again.head)
    assert "remove WIP: from its title yourself" in again.warnings[0]
    assert "close it yourself" in forge.apply(ClosePull(pull, "")).warnings[0]


@pytest.mark.parametrize("amended", [True, False])
def test_agit_leaves_a_pull_request_that_a_person_changed(world: World, *, amended: bool) -> None:
    forge = world.forge("gitea")
    forge.apply(opening(forge.fetch(QUESTION)))
    forge = world.forge("gitea")
    before = forge.fetch(QUESTION)
    git("fetch", "--quiet", "origin", "refs/pull/1/head", at=world.person)
    git("checkout", "--quiet", "FETCH_HEAD", at=world.person)
    (world.person / PATH).write_text("mine\n")
    git("commit", "--quiet", "--all", *(["--amend", "--no-edit"] if amended else ["-m", "Mine"]), at=world.person)
    theirs = git("rev-parse", "HEAD", at=world.person)
    git("push", "--quiet", world.bare.folder, "+HEAD:refs/pull/1/head", at=world.person)
    with pytest.raises(Overtaken):
        forge.apply(updating(before, "v2.9.5\n"))
    assert world.bare.refs()["refs/pull/1/head"] == theirs
    branch = world.forge("gitea").fetch(QUESTION).branches[BRANCH]
    assert branch.head is not None
    assert (branch.head.oid, branch.pulls) == (theirs, ())
    assert not markers.is_ours(branch.head)


# -- what others open


@pytest.mark.parametrize("flavour", ["gitea", "forgejo"])
@pytest.mark.parametrize("attack", ["an exact copy", "a forged approval", "our commit with another on top"])
def test_a_foreign_pull_request_has_no_effect(world: World, flavour: str, attack: str) -> None:
    """It has a higher number than ours, too."""
    forge = world.forge(flavour)
    done = forge.apply(opening(forge.fetch(QUESTION), is_draft=True))
    before = world.forge(flavour).fetch(QUESTION)
    tree = git("rev-parse", f"{done.head}^{{tree}}", at=world.bare.folder)
    theirs = {
        "an exact copy": done.head,
        "a forged approval": forged(world),
        "our commit with another on top": git("commit-tree", tree, "-p", done.head, "-m", "x", at=world.bare.folder),
    }[attack]
    foreign(world, 7, theirs)

    forge = world.forge(flavour)
    seen = forge.fetch(QUESTION)
    assert seen == before
    (pull,) = seen.branches[BRANCH].pulls
    assert (pull.number, pull.is_draft, pull.head and pull.head.oid) == (1, True, done.head)
    again = forge.apply(updating(seen, "v2.9.5\n"))
    assert (again.number, pulls(world)) == (1, {"refs/pull/1/head": again.head, "refs/pull/7/head": theirs})
    assert "pulls/1: close it yourself" in forge.apply(ClosePull(pull, "")).warnings[0]
    assert pulls(world)["refs/pull/7/head"] == theirs


def test_a_foreign_pull_request_that_was_there_first_has_no_effect(world: World) -> None:
    theirs = forged(world)
    foreign(world, 1, theirs)
    forge = world.forge("gitea")
    seen = forge.fetch(QUESTION)
    assert seen.branches[BRANCH] == Branch(BRANCH, None)
    done = forge.apply(opening(seen, is_draft=True))
    assert (done.number, pulls(world)) == (2, {"refs/pull/1/head": theirs, "refs/pull/2/head": done.head})
    (pull,) = world.forge("gitea").fetch(QUESTION).branches[BRANCH].pulls
    state = markers.state_of(pull.body)
    assert (pull.number, pull.is_draft, state and state.approval) == (2, True, "")


def test_a_ref_in_another_place_is_no_mark(world: World) -> None:
    foreign(world, 7, forged(world))
    for ref in (f"refs/heads/{MARK.replace('/1/', '/7/')}", f"refs/tags/{MARK.replace('/1/', '/7/')}"):
        git("update-ref", ref, "refs/pull/7/head", at=world.bare.folder)
    assert world.forge("gitea").fetch(QUESTION).branches[BRANCH] == Branch(BRANCH, None)


# -- what becomes of ours


def test_an_approval_that_we_pushed_counts(world: World) -> None:
    forge = world.forge("gitea")
    forge.apply(opening(forge.fetch(QUESTION), is_draft=True))
    forge = world.forge("gitea")
    approved = markers.block("", STATE._replace(approval="2.9"))
    forge.apply(replace(updating(forge.fetch(QUESTION), None, make_ready=True), body=approved))
    (pull,) = world.forge("gitea").fetch(QUESTION).branches[BRANCH].pulls
    state = markers.state_of(pull.body)
    assert (pull.number, pull.is_draft, state and state.approval) == (1, False, "2.9")


def test_a_pull_request_that_was_merged_is_known_as_merged(world: World) -> None:
    forge = world.forge("gitea")
    forge.apply(opening(forge.fetch(QUESTION)))
    git("fetch", "--quiet", world.bare.folder, "refs/pull/1/head", at=world.person)
    git("merge", "--quiet", "--no-ff", "-m", "Merge", "FETCH_HEAD", at=world.person)
    git("push", "--quiet", "origin", "HEAD:main", at=world.person)
    (pull,) = world.forge("gitea").fetch(QUESTION).branches[BRANCH].pulls
    assert (pull.number, pull.state) == (1, PullState.MERGED)


def test_where_ours_was_closed_the_next_push_opens_another(world: World) -> None:
    forge = world.forge("gitea")
    forge.apply(opening(forge.fetch(QUESTION)))
    git("update-ref", "-d", f"refs/topics/{BRANCH.replace('/', '-')}", at=world.bare.folder)
    forge = world.forge("gitea")
    seen = forge.fetch(QUESTION)
    assert seen.branches[BRANCH].pulls[0].state is PullState.OPEN
    done = forge.apply(updating(seen, "v2.9.5\n"))
    assert (done.number, marks(world)) == (2, [MARK.replace("/1/", "/2/")])
    assert world.forge("gitea").fetch(QUESTION).branches[BRANCH].pulls[0].number == 2


def test_without_its_ref_a_pull_request_is_proposed_again(world: World) -> None:
    forge = world.forge("gitea")
    forge.apply(opening(forge.fetch(QUESTION)))
    git("push", "--quiet", world.bare.folder, f":{MARK}", at=world.person)
    world.now += 60
    forge = world.forge("gitea")
    seen = forge.fetch(QUESTION)
    assert seen.branches[BRANCH] == Branch(BRANCH, None)
    done = forge.apply(opening(seen))
    assert (done.number, pulls(world), marks(world)) == (1, {"refs/pull/1/head": done.head}, [MARK])


def test_without_write_access_nothing_is_opened(world: World) -> None:
    refuse = "while read -r _ _ ref; do case $ref in refs/for/*) ;; *) echo 'permission denied'; exit 1;; esac; done"
    world.bare.write_hook("pre-receive", f"#!/bin/sh\n{refuse}\n")
    forge = world.forge("gitea")
    with pytest.raises(ForbiddenByForge, match="permission denied"):
        forge.apply(opening(forge.fetch(QUESTION)))
    assert list(world.bare.refs()) == ["refs/heads/main"]


def test_a_run_that_was_cut_off_before_it_knew_the_number_is_continued(world: World) -> None:
    world.bare.write_hook("update", '#!/bin/sh\ncase "$1" in refs/flux-upgrade/1/*) exit 1;; esac\n')
    forge = world.forge("gitea")
    with pytest.raises(ForbiddenByForge):
        forge.apply(opening(forge.fetch(QUESTION)))
    world.bare.write_hook("update", "#!/bin/sh\n")
    forge = world.forge("gitea")
    seen = forge.fetch(QUESTION)
    head = seen.branches[BRANCH].head
    assert (head and markers.is_ours(head), seen.branches[BRANCH].pulls) == (True, ())
    with pytest.raises(Overtaken, match="new commit is same"):  # all within a second
        forge.apply(replace(opening(seen), commit=None))
    world.now += 1
    done = forge.apply(replace(opening(seen), commit=None))
    assert (done.number, pulls(world), marks(world)) == (1, {"refs/pull/1/head": done.head}, [MARK])


def test_of_two_runs_that_open_it_one_is_overtaken(world: World) -> None:
    one, other = world.forge("gitea"), world.forge("gitea")
    first, second = one.fetch(QUESTION), other.fetch(QUESTION)
    done = one.apply(opening(first))
    world.now += 1
    with pytest.raises(Overtaken):
        other.apply(opening(second))
    assert (pulls(world), marks(world)) == ({"refs/pull/1/head": done.head}, [MARK])
