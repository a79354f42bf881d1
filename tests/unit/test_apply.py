"""Run after run, the pull requests converge, whatever users and failures do between two runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import PATH, World, fleet, listed, manifest, path_in
from flux_upgrade.adapters.recording import RecordingForge
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model import markers
from flux_upgrade.model.errors import (
    CheckoutDiffers,
    FluxUpgradeError,
    ForbiddenByForge,
    ForgeUnavailable,
    Overtaken,
    UsageError,
)
from flux_upgrade.model.forge import Done, OpenPull, PullState, Question, Repository, Step, UpdatePull
from flux_upgrade.model.versions import Release, Version
from flux_upgrade.planning.approvals import resolved
from flux_upgrade.planning.plan import UpgradeRequest
from flux_upgrade.planning.proposal import Action, Round, RunDetails
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.policy.feedback import APPROVED, REBASE, state_of
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from flux_upgrade.pullrequests.apply import fetch_plans, question_of, reconcile_pull_requests
from memory import WrittenReleases, regenerator
from memory_forge import MemoryForge
from replacing import replace

PATCH, MINOR = "flux-upgrade/clusters.staging/patch", "flux-upgrade/clusters.staging/minor"


def actions(done: Round) -> dict[str, str]:
    """Branch → what was done, but for those with nothing to do."""
    return {each.branch: str(each.action) for each in done.results if each.action is not Action.NONE}


def one_cluster(version: str = "v2.8.7") -> tuple[World, MemoryForge]:
    files = fleet({"clusters/staging": version})
    return World(files), MemoryForge(dict(files))


# One run after the other


def test_a_patch_and_a_draft_are_opened_once() -> None:
    world, forge = one_cluster()
    assert actions(world.run(forge)) == {PATCH: "opened", MINOR: "opened"}
    assert actions(world.run(forge)) == {PATCH: "unchanged", MINOR: "unchanged"}
    patch, minor = forge.open_pull(PATCH), forge.open_pull(MINOR)
    assert patch is not None
    assert minor is not None
    assert (patch.is_draft, minor.is_draft) == (False, True)
    assert forge.trees[forge.heads[PATCH]][PATH] == manifest("v2.8.8")
    assert forge.trees[forge.heads[MINOR]][PATH] == manifest("v2.9.4")


def test_what_was_approved_once_stays_approved() -> None:
    world, forge = one_cluster()
    world.run(forge)
    world.asked = UpgradeRequest(approve=("2.9",))
    assert actions(world.run(forge)) == {PATCH: "unchanged", MINOR: "updated"}
    assert [pull.is_draft for pull in forge.open_pulls()] == [False, False]
    # The scheduled run, which approves nothing, leaves it so.
    world.asked = UpgradeRequest()
    assert actions(world.run(forge)) == {PATCH: "unchanged", MINOR: "unchanged"}


def test_a_minor_that_needs_nobody_takes_the_place_of_the_patch() -> None:
    world, forge = one_cluster()
    world.run(forge)
    world.config = Config(Group(governance=Governance(policy=Policy(MaxBump.MINOR))))
    assert actions(world.run(forge)) == {PATCH: "closed", MINOR: "updated"}
    assert [pull.is_draft for pull in forge.open_pulls()] == [False]
    assert actions(world.run(forge)) == {MINOR: "unchanged"}


def test_what_is_merged_elsewhere_is_closed() -> None:
    world, forge = one_cluster()
    world.run(forge)
    for files in (forge, world):
        files.files = {**files.files, PATH: manifest("v2.9.4")}
    forge.push_to_base(forge.files)
    assert actions(world.run(forge)) == {PATCH: "closed", MINOR: "closed"}
    assert actions(world.run(forge)) == {}


def test_a_group_has_one_pull_request() -> None:
    files = fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.8", "other": "v2.9.4"})
    group = Group("prod", ("clusters/",), Governance(labels=("flux",)))
    world, forge = World(files, Config(groups=(group,))), MemoryForge(dict(files))
    assert actions(world.run(forge)) == {"flux-upgrade/prod/patch": "opened", "flux-upgrade/prod/minor": "opened"}
    tree = forge.trees[forge.heads["flux-upgrade/prod/minor"]]
    assert [tree[path_in(f"clusters/{each}")] == manifest("v2.9.4") for each in "ab"] == [True, True]
    assert forge.open_pulls()[0].labels == ("flux",)
    assert actions(world.run(forge)) == {"flux-upgrade/prod/patch": "unchanged", "flux-upgrade/prod/minor": "unchanged"}


def test_a_member_that_is_gone_leaves_the_pull_request_of_its_group() -> None:
    files = fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.7"})
    world = World(files, Config(groups=(Group("prod", ("clusters/",)),)))
    forge = MemoryForge(dict(files))
    world.run(forge)
    changed = {**files, path_in("clusters/b"): manifest("v2.9.4")}
    world.files = changed
    forge.push_to_base(changed)
    assert actions(world.run(forge)) == {"flux-upgrade/prod/patch": "updated", "flux-upgrade/prod/minor": "updated"}
    assert forge.trees[forge.heads["flux-upgrade/prod/patch"]][path_in("clusters/b")] == manifest("v2.9.4")


def test_a_dry_run_touches_nothing() -> None:
    world, forge = one_cluster()
    recording = RecordingForge(forge)
    assert actions(world.run(recording)) == {PATCH: "opened", MINOR: "opened"}
    assert [type(step) for step in recording.steps] == [OpenPull, OpenPull]
    assert forge.steps == []


def test_where_there_are_no_drafts_an_issue_says_what_one_would() -> None:
    world, forge = one_cluster("v2.8.8")
    forge.has_drafts = False
    done = world.run(forge)
    assert actions(done) == {MINOR: "opened"}
    assert [each.is_issue for each in done.results if each.branch == MINOR] == [True]
    steps = len(forge.steps)
    world.run(forge)
    assert len(forge.steps) == steps
    (issue,) = forge.issues.values()
    forge.issues[issue.number] = replace(issue, labels=(*issue.labels, APPROVED))
    assert actions(world.run(forge)) == {MINOR: "opened"}
    assert not any(each.is_open for each in forge.issues.values())
    assert actions(world.run(forge)) == {MINOR: "unchanged"}


def test_a_checkout_that_is_not_the_base_is_held() -> None:
    world, forge = one_cluster()
    forge.push_to_base({PATH: manifest("v2.8.8")})
    done = world.run(forge)
    assert actions(done) == {}
    (hold,) = done.plans[0].plans[0].holds
    assert (hold.reason, hold.hint) == (HoldReason.CHECKOUT_DIFFERS, "git pull")


def test_who_ticks_skip_has_it_closed_and_not_proposed_again() -> None:
    world, forge = one_cluster("v2.8.8")
    world.run(forge)
    forge.tick(1, markers.SKIP)
    # A person's own push is thrown away with it: that is what was asked for.
    forge.push(MINOR, {"a.txt": b"mine\n"})
    assert actions(world.run(forge)) == {MINOR: "closed"}
    assert actions(world.run(forge)) == {}
    world.asked = UpgradeRequest(approve=("2.9",))
    assert actions(world.run(forge)) == {MINOR: "held"}
    forge.delete(MINOR)
    assert actions(world.run(forge)) == {MINOR: "opened"}


# When it goes wrong


@dataclass
class Failing(MemoryForge):
    """Raises, one after the other, instead of taking a step; ``is_applied``: after having taken it."""

    errors: Iterator[FluxUpgradeError | None] = field(default_factory=lambda: iter(()))
    is_applied: bool = False

    def apply(self, step: Step) -> Done:
        error = next(self.errors, None)
        if error is None:
            return super().apply(step)
        if self.is_applied:
            super().apply(step)
        raise error


def failing(*errors: FluxUpgradeError | None, is_applied: bool = False) -> tuple[World, Failing]:
    files = fleet({"clusters/staging": "v2.8.8"})
    return World(files), Failing(dict(files), errors=iter(errors), is_applied=is_applied)


GONE, FASTER = ForgeUnavailable("no answer"), Overtaken("somebody was faster")


@pytest.mark.parametrize(
    ("errors", "action"),
    [
        ([FASTER], Action.OPENED),
        ([FASTER, FASTER], Action.OPENED),
        ([FASTER, FASTER, FASTER], Action.FAILED),
        ([GONE], Action.OPENED),
        ([GONE, GONE], Action.FAILED),
        ([FASTER, GONE], Action.FAILED),
        ([ForbiddenByForge("no")], Action.FAILED),
    ],
    ids=lambda each: "-".join(error.slug for error in each) if isinstance(each, list) else "",
)
def test_what_may_pass_is_tried_again(errors: list[FluxUpgradeError], action: Action) -> None:
    world, forge = failing(*errors)
    done = world.run(forge)
    assert [each.action for each in done.results if each.branch == MINOR] == [action]
    assert actions(world.run(forge)) == {MINOR: "unchanged" if action is Action.OPENED else "opened"}


def test_an_answer_that_was_lost_is_reported_as_what_was_done() -> None:
    world, forge = failing(GONE, is_applied=True)
    assert actions(world.run(forge)) == {MINOR: "opened"}
    assert len(forge.open_pulls()) == 1


def test_a_failure_stops_no_other() -> None:
    files = fleet({"clusters/a": "v2.8.8", "clusters/b": "v2.8.8"})
    world = World(files)
    forge = Failing(dict(files), errors=iter([ForbiddenByForge("no")]))
    assert actions(world.run(forge)) == {
        "flux-upgrade/clusters.a/minor": "failed",
        "flux-upgrade/clusters.b/minor": "opened",
    }


def test_a_question_has_each_branch_and_file_once() -> None:
    files = fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.7"})
    asked = question_of(World(files, asked=UpgradeRequest(base="stable")).gathered())
    assert asked.base == "stable"
    assert asked.paths == (path_in("clusters/a"), path_in("clusters/b"))
    assert asked.branches == tuple(
        f"flux-upgrade/clusters.{each}/{subject}"
        for each in "ab"
        for subject in ("patch", "minor", "major", "migration")
    )


# Whatever users do


@dataclass
class StrictForge(MemoryForge):
    """Refuses, as a defect, what must never be asked of a forge."""

    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    """Branch and line, or patch → what a person has refused."""
    approved: tuple[str, ...] = ()
    asked: set[str] = field(default_factory=set)
    """Branches for whose pull request a rebase was asked when it was looked at."""

    def fetch(self, question: Question) -> Repository:
        found = super().fetch(question)
        self.asked = {
            name
            for name, branch in found.branches.items()
            for pull in branch.pulls
            if pull.state is PullState.OPEN and (REBASE in pull.labels or markers.is_ticked(pull.body, markers.REBASE))
        }
        return found

    def apply(self, step: Step) -> Done:
        if isinstance(step, OpenPull | UpdatePull) and step.commit is not None and step.before:
            assert self._may_overwrite(step), "a head of somebody else's would be overwritten"
        if isinstance(step, OpenPull):
            self._is_not_refused(step)
        done = super().apply(step)
        for branch in self.heads:
            assert len(self.open_pulls(branch)) <= 1
        return done

    def _may_overwrite(self, step: OpenPull | UpdatePull) -> bool:
        head = self.heads.get(step.branch, "")
        if head in self.made or head != step.before:
            return True
        if isinstance(step, UpdatePull):
            return step.branch in self.asked
        merged = [
            each.head for name, each in self.pulls.values() if name == step.branch and each.state is PullState.MERGED
        ]
        return any(each is not None and each.oid == head for each in merged)

    def _is_not_refused(self, step: OpenPull) -> None:
        state = markers.state_of(step.body)
        assert state is not None
        mute = self.refused.get((step.branch, minor_of(state.target)))
        if mute is None or {state.target, minor_of(state.target)} & set(self.approved):
            return
        newer = state.subject == "patch" and int(state.target.split(".")[2]) > int(mute.split(".")[2])
        assert newer, f"{state.target} is proposed again, and {mute} was refused"


def minor_of(tag: str) -> str:
    return ".".join(tag.removeprefix("v").split(".")[:2])


class Users:
    """A repository, its users, and runs between what they do."""

    def __init__(self, policy: MaxBump = MaxBump.PATCH) -> None:
        files = fleet({"clusters/staging": "v2.8.7"})
        self.forge = StrictForge(dict(files))
        config = Config(Group(governance=Governance(policy=Policy(policy))))
        self.world = World(files, config, listed("v2.8.7", "v2.9.3"))

    def run(self, *approve: str) -> None:
        """A run; another one, which has nothing left to do; and the next on schedule, which changes nothing."""
        self.forge.approved = approve
        for key, mute in list(self.forge.refused.items()):
            if {mute, key[1]} & set(approve):
                del self.forge.refused[key]
        done = self._once(*approve)
        before = len(self.forge.steps)
        self._once(*approve)
        assert self.forge.steps[before:] == []
        # An approval of what is held is not written down anywhere.
        if not any(each.hold for each in done.results):
            self._once()
            assert self.forge.steps[before:] == []

    def _once(self, *approve: str) -> Round:
        self.world.files = dict(self.forge.files)
        self.world.asked = UpgradeRequest(approve=approve)
        done = self.world.run(self.forge)
        assert not [each for each in done.results if each.error is not None]
        return done

    def refuse(self, number: int) -> None:
        """Remember what a person has refused, as far as that is still known."""
        branch, pull = self.forge.pulls[number]
        state = state_of(pull)
        if state is not None and not state.closed:
            self.forge.refused[branch, minor_of(state.target)] = state.target

    # Deeds about one open pull request

    def merge(self, number: int) -> None:
        if not self.forge.pulls[number][1].is_draft:
            self.forge.merge(number)

    def close(self, number: int) -> None:
        self.forge.close_pull(number)
        self.refuse(number)

    def delete_branch(self, number: int) -> None:
        self.forge.delete(self.forge.pulls[number][0])
        self.refuse(number)

    def mark_ready(self, number: int) -> None:
        self.forge.edit(number, is_draft=False)

    def to_draft(self, number: int) -> None:
        self.forge.edit(number, is_draft=True)

    def approve_by_label(self, number: int) -> None:
        self.forge.label(number, APPROVED)

    def rebase_by_label(self, number: int) -> None:
        self.forge.label(number, REBASE)

    def rebase_by_box(self, number: int) -> None:
        self.forge.tick(number, markers.REBASE)

    def skip(self, number: int) -> None:
        self.forge.tick(number, markers.SKIP)

    def push(self, number: int) -> None:
        self.forge.push(self.forge.pulls[number][0], {"mine.txt": f"{len(self.forge.commits)}\n".encode()})

    def push_to_the_manifest(self, number: int) -> None:
        self.forge.push(self.forge.pulls[number][0], {PATH: manifest("v2.8.8") + b"# mine\n"})

    def rename(self, number: int) -> None:
        self.forge.edit(number, title=f"{self.forge.pulls[number][1].title}!")

    def write_above(self, number: int) -> None:
        self.forge.edit(number, body=f"Seen.\n\n{self.forge.pulls[number][1].body}")

    def write_within(self, number: int) -> None:
        self.forge.edit(number, body=self.forge.pulls[number][1].body.replace("**Proof", "**Prof"))

    def save_in_the_browser(self, number: int) -> None:
        body = self.forge.pulls[number][1].body
        self.forge.edit(number, body=body.replace("\r\n", "\n").replace("\n", "\r\n"))

    def write_all_anew(self, number: int) -> None:
        self.forge.edit(number, body="LGTM")

    # Others; the number says nothing to them

    def reopen(self, _: int) -> None:
        shut = [each for each in self.forge.pulls.values() if each[1].state is PullState.CLOSED]
        if shut and shut[-1][0] in self.forge.heads and self.forge.open_pull(shut[-1][0]) is None:
            branch, pull = shut[-1]
            self.forge.reopen(pull.number)
            self.forge.refused = {key: mute for key, mute in self.forge.refused.items() if key[0] != branch}

    def revert_all(self, _: int) -> None:
        self.forge.push_to_base({PATH: manifest("v2.8.7")})
        for number in [each.number for _, each in self.forge.pulls.values() if each.state is PullState.MERGED]:
            self.refuse(number)

    def push_to_the_base(self, _: int) -> None:
        self.forge.push_to_base({"README.md": f"{len(self.forge.commits)}\n".encode()})

    def push_to_a_branch(self, _: int) -> None:
        self.forge.push(MINOR, {"mine.txt": f"{len(self.forge.commits)}\n".encode()})

    def release_a_patch(self, _: int) -> None:
        tags = [each.tag for each in self.world.releases]
        self.world.releases = listed(*tags, next((each for each in ("v2.8.8", "v2.9.4") if each not in tags), tags[0]))


ABOUT_ONE = (
    Users.merge, Users.close, Users.delete_branch, Users.mark_ready, Users.to_draft, Users.approve_by_label,
    Users.rebase_by_label, Users.rebase_by_box, Users.skip, Users.push, Users.push_to_the_manifest,
    Users.rename, Users.write_above, Users.write_within, Users.save_in_the_browser, Users.write_all_anew,
)  # fmt: skip
OTHERS = (
    Users.reopen, Users.revert_all, Users.push_to_the_base, Users.push_to_a_branch, Users.release_a_patch,
)  # fmt: skip
APPROVALS = st.sampled_from(["", "", "", "", "2.9", "v2.9.3", "v2.8.8"])


@given(
    st.lists(
        st.tuples(st.sampled_from((*ABOUT_ONE, *OTHERS)), st.integers(0, 1), st.none() | APPROVALS),
        min_size=2,
        max_size=12,
    ),
    st.sampled_from([MaxBump.PATCH, MaxBump.NONE]),
)
def test_whatever_people_do_runs_converge_and_lose_nothing_of_theirs(
    deeds: list[tuple[Callable[[Users, int], None], int, str | None]], policy: MaxBump
) -> None:
    users = Users(policy)
    users.run()
    for deed, at, approve in deeds:
        opened = users.forge.open_pulls()
        if opened or deed in OTHERS:
            deed(users, opened[at % len(opened)].number if opened else 0)
        if approve is not None:
            users.run(*filter(None, [approve]))
    users.run()


def test_a_rebased_pull_request_whose_text_was_replaced_is_written_once() -> None:
    users = Users()
    users.run()
    pull = users.forge.open_pulls()[0]
    users.rebase_by_label(pull.number)
    users.push(pull.number)  # Our commit, which has the title, is no longer the head
    users.write_all_anew(pull.number)
    users.run()


def test_a_patch_stays_approved_where_its_minor_was_named() -> None:
    users = Users()
    users.release_a_patch(0)
    users.run("2.9")
    minor = users.forge.open_pull(MINOR)
    assert minor is not None
    users.merge(minor.number)
    users.release_a_patch(0)
    users.run("2.9")
    pull = users.forge.open_pull(PATCH)
    assert pull is not None
    state = state_of(pull)
    assert state is not None
    assert (state.target, state.approval) == ("v2.9.4", "v2.9.4")


def _awaited_patch() -> tuple[World, MemoryForge]:
    """A repository in which each patch needs approval, and one waits for it."""
    using = regenerator(WrittenReleases(("v2.9.2", "v2.9.3", "v2.9.4")))
    files = fleet({"clusters/staging": "v2.9.3"})
    files[PATH] = using.regenerate(InstallOptions("v2.9.2")).text.encode()
    config = Config(Group(governance=Governance(policy=Policy(MaxBump.NONE))))
    world = World(files, config, listed("v2.9.2", "v2.9.3"), using)
    forge = MemoryForge(dict(files))
    assert actions(world.run(forge)) == {PATCH: "opened"}
    return world, forge


APPROVALS_OF_A_PATCH: dict[str, Callable[[World, MemoryForge], None]] = {
    "marked ready": lambda _, forge: forge.edit(1, is_draft=False),
    "labelled": lambda _, forge: forge.label(1, APPROVED),
    "the version": lambda world, _: setattr(world, "asked", UpgradeRequest(approve=("v2.9.3",))),
    "its minor": lambda world, _: setattr(world, "asked", UpgradeRequest(approve=("2.9",))),
}


@pytest.mark.parametrize("approve", APPROVALS_OF_A_PATCH.values(), ids=APPROVALS_OF_A_PATCH)
def test_a_patch_that_was_approved_stays_ready_and_approves_no_later_one(
    approve: Callable[[World, MemoryForge], None],
) -> None:
    world, forge = _awaited_patch()
    approve(world, forge)
    world.run(forge)
    assert not world.warned
    world.asked = UpgradeRequest()
    for releases in (("v2.9.2", "v2.9.3"), ("v2.9.2", "v2.9.3", "v2.9.4")):
        world.releases = listed(*releases)
        assert actions(world.run(forge)) == {PATCH: "unchanged"}
        assert _drafts(forge) == {PATCH: False}
        assert forge.trees[forge.heads[PATCH]][PATH] == manifest("v2.9.3")
    forge.merge(1)
    world.files = dict(forge.files)
    assert actions(world.run(forge)) == {PATCH: "opened"}
    assert _drafts(forge) == {PATCH: True}


def test_an_approved_patch_does_not_approve_its_minor_once_that_is_reverted() -> None:
    files = fleet({"clusters/staging": "v2.9.3"})
    config = Config(Group(governance=Governance(policy=Policy(MaxBump.NONE))))
    world, forge = World(files, config), MemoryForge(dict(files))
    world.asked = UpgradeRequest(approve=("2.9",))
    assert actions(world.run(forge)) == {PATCH: "opened"}
    world.asked = UpgradeRequest()
    forge.push_to_base({PATH: manifest("v2.8.8")})
    world.files = dict(forge.files)
    world.run(forge)
    assert _drafts(forge) == {MINOR: True}


def test_each_patch_of_a_group_is_approved_as_it_stands_in_the_pull_request() -> None:
    files = fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.9.3"})
    group = Group("all", ("clusters/",), Governance(policy=Policy(MaxBump.NONE)))
    world, forge = World(files, Config(groups=(group,))), MemoryForge(dict(files))
    world.run(forge)
    pull = forge.open_pull("flux-upgrade/all/patch")
    assert pull is not None
    forge.edit(pull.number, is_draft=False)
    for _ in range(2):
        world.run(forge)
        tree = forge.trees[forge.heads["flux-upgrade/all/patch"]]
        assert [tree[path_in(f"clusters/{each}")] for each in "ab"] == [manifest("v2.8.8"), manifest("v2.9.4")]
        assert not _drafts(forge)["flux-upgrade/all/patch"]


def test_subjects_have_branches_of_their_own() -> None:
    world, forge = one_cluster()
    done = world.run(forge)
    assert {each.branch: each.bump_kind for each in done.results} == {
        PATCH: BumpKind.PATCH,
        MINOR: BumpKind.MINOR,
        "flux-upgrade/clusters.staging/major": BumpKind.MAJOR,
        "flux-upgrade/clusters.staging/migration": BumpKind.MIGRATION,
    }


# What a person said lasts, and says no more than was said


def test_what_a_range_makes_wait_is_a_draft_again() -> None:
    world, forge = one_cluster("v2.8.8")
    world.config = Config(Group(governance=Governance(policy=Policy(MaxBump.MINOR))))
    assert actions(world.run(forge)) == {MINOR: "opened"}
    world.config = Config()
    assert actions(world.run(forge)) == {MINOR: "updated"}
    pull = forge.open_pull(MINOR)
    assert pull is not None
    assert pull.is_draft
    assert actions(world.run(forge)) == {MINOR: "unchanged"}


def test_a_cluster_that_joins_a_group_is_not_approved_with_it() -> None:
    files = fleet({"clusters/a": "v2.8.8"})
    group = Config(groups=(Group("all", ("clusters/**",)),))
    world, forge = World(files, group), MemoryForge(dict(files))
    world.asked = UpgradeRequest(approve=("2.9",))
    world.run(forge)
    world.asked = UpgradeRequest()
    joined = fleet({"clusters/b": "v2.8.8"})
    world.files.update(joined)
    forge.push_to_base(joined)
    for _ in range(2):
        world.run(forge)
        pull = forge.open_pull("flux-upgrade/all/minor")
        assert pull is not None
        assert not pull.is_draft
        state = state_of(pull)
        assert state is not None
        assert state.paths == (markers.digest_of(path_in("clusters/a")),)


@pytest.mark.parametrize("is_there", [False, True])
def test_an_approval_of_one_version_outlives_the_text_of_the_body(*, is_there: bool) -> None:
    world, forge = one_cluster("v2.8.8")
    world.releases = listed("v2.8.8", "v2.9.3", *(["v2.9.4"] if is_there else []))
    world.run(forge)
    number = forge.open_pulls()[0].number
    forge.edit(number, body="Mine.")
    world.asked = UpgradeRequest(approve=("v2.9.3",))
    world.run(forge)
    world.asked, world.releases = UpgradeRequest(), listed("v2.8.8", "v2.9.3", "v2.9.4")
    for _ in range(2):
        world.run(forge)
        (pull,) = forge.open_pulls()
        assert (pull.number, pull.is_draft) == (number, False)
        assert pull.body.startswith("Mine.\n\n<!-- flux-upgrade {")
        assert forge.trees[forge.heads[MINOR]][PATH] == manifest("v2.9.3")
    assert actions(world.run(forge)) == {MINOR: "unchanged"}


def _two_clusters(**config: Any) -> tuple[World, MemoryForge]:
    files = fleet({"clusters/production": "v2.8.8", "clusters/staging": "v2.8.8"})
    return World(files, Config(**config)), MemoryForge(dict(files))


def _drafts(forge: MemoryForge) -> dict[str, bool]:
    return {branch: pull.is_draft for branch, pull in forge.pulls.values() if pull.state is PullState.OPEN}


@pytest.mark.parametrize(
    "approve", ["staging=2.9", "clusters/staging=2.9", "clusters/staging=v2.9.4", "staging=2.9+migrated"]
)
def test_an_approval_can_name_a_cluster(approve: str) -> None:
    world, forge = _two_clusters()
    world.run(forge)
    world.asked = UpgradeRequest(approve=resolved((approve,), world.gathered().update_groups))
    world.run(forge)
    staging, production = "flux-upgrade/clusters.staging/minor", "flux-upgrade/clusters.production/minor"
    assert _drafts(forge) == {staging: False, production: True}
    assert not world.warned
    world.asked = UpgradeRequest()
    world.run(forge)
    assert _drafts(forge) == {staging: False, production: True}


def test_an_approval_can_name_a_group_and_one_cluster_of_it() -> None:
    world, forge = _two_clusters(groups=(Group("all", ("clusters/",)),))
    world.run(forge)
    world.asked = UpgradeRequest(approve=("clusters/staging=2.9",))
    world.run(forge)
    pull = forge.open_pull("flux-upgrade/all/minor")
    assert pull is not None
    assert (pull.is_draft, pull.title) == (False, "Upgrade Flux to v2.9.4 in all (1 of 2 clusters)")
    assert "`clusters/production`: v2.9.4 needs approval" in pull.body
    world.asked = UpgradeRequest(approve=("all=2.9",))
    world.run(forge)
    assert forge.open_pulls()[0].title == "Upgrade Flux to v2.9.4 in all"


def test_the_command_in_a_draft_names_its_own_cluster() -> None:
    world, forge = _two_clusters()
    inventory = world.gathered()
    run = RunDetails("gh workflow run flux-upgrade.yaml -f approve=")
    reconcile_pull_requests(inventory, fetch_plans(inventory, forge), forge, run, world.warned.append)
    for _, pull in forge.pulls.values():
        name = pull.title.rpartition(" in ")[2]
        assert f"`gh workflow run flux-upgrade.yaml -f approve={name}=2.9`" in pull.body
        assert f"Without `{name}=`, the command approves 2.9 in every cluster." in pull.body


def test_an_approval_of_a_cluster_that_nothing_waits_for_is_said() -> None:
    world, forge = _two_clusters()
    world.asked = UpgradeRequest(approve=("clusters/staging=2.10",))
    world.run(forge)
    (warning,) = world.warned
    assert "the approval of 2.10 in clusters/staging has no effect" in warning


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stagin", "there is no group or cluster 'stagin', did you mean 'staging'?"),
        ("clusters/stagng", "there is no group or cluster 'clusters/stagng', did you mean 'clusters/staging'?"),
        ("x", "there is no group or cluster 'x'"),
    ],
)
def test_a_wrong_name_is_one_error_with_the_nearest(name: str, message: str) -> None:
    world, _ = _two_clusters()
    with pytest.raises(UsageError) as raised:
        resolved(("2.9", f"{name}=2.9"), world.gathered().update_groups)
    assert raised.value.message == f"--approve: {message}"
    assert "clusters/production, clusters/staging" in raised.value.hint


def test_the_end_of_two_names_is_none_of_them() -> None:
    world = World(fleet({"a/prod": "v2.8.8", "b/prod": "v2.8.8"}))
    with pytest.raises(UsageError, match="'prod' is the end of several names: a/prod and b/prod"):
        resolved(("prod=2.9",), world.gathered().update_groups)


def test_flags_come_along_with_a_patch_that_waits() -> None:
    group = Group(governance=Governance(policy=Policy(MaxBump.NONE), flags={"log-level": "debug"}))
    files = fleet({"clusters/staging": "v2.8.7"})
    world, forge = World(files, Config(group)), MemoryForge(dict(files))
    world.run(forge)
    pull = forge.open_pull(PATCH)
    assert pull is not None
    assert pull.title == "Upgrade Flux to v2.8.8 in clusters/staging"
    assert b"--log-level=debug" in forge.trees[forge.heads[PATCH]][PATH]


def test_a_refused_minor_stays_refused_when_the_next_one_goes_away() -> None:
    world, forge = one_cluster("v2.6.4")
    world.releases = listed("v2.6.4", "v2.7.1")
    world.run(forge)
    refused = forge.open_pull(MINOR)
    assert refused is not None
    forge.close_pull(refused.number)
    world.releases = listed("v2.6.4", "v2.7.1", "v2.8.8")
    assert actions(world.run(forge)) == {MINOR: "opened"}
    world.releases = listed("v2.6.4", "v2.7.1")
    world.run(forge)
    assert forge.open_pull(MINOR) is None


@pytest.mark.parametrize(("approve", "warns"), [("2.9", False), ("v2.9.3", False), ("2.10", True), ("2.8", True)])
def test_an_approval_that_nothing_waits_for_is_said(approve: str, *, warns: bool) -> None:
    world, forge = one_cluster("v2.8.8")
    world.asked = UpgradeRequest(approve=(approve,))
    world.run(forge)
    assert [approve in warning for warning in world.warned] == [True] * warns


def test_a_checkout_of_another_history_writes_nothing() -> None:
    world, forge = one_cluster()
    forge.ancestry = ("a" * 40,)
    world.head = "b" * 40
    with pytest.raises(CheckoutDiffers, match="not one of the last 1 commits"):
        world.run(forge)
    assert forge.open_pulls() == []
    world.asked = UpgradeRequest(writes=False)
    world.run(RecordingForge(forge))
    world.asked, world.head = UpgradeRequest(), "a" * 40
    assert actions(world.run(forge)) == {PATCH: "opened", MINOR: "opened"}


def test_an_approved_minor_is_closed_once_it_runs_though_a_later_one_cools_down() -> None:
    """Nothing is proposed of that size then, and what holds the later minor is not about this one."""
    dates = {"v2.7.1": "2025-11-27", "v2.8.8": "2026-05-20", "v2.9.3": "2026-08-30"}
    releases = tuple(Release(Version(tag), published_at=f"{date}T06:00:00Z") for tag, date in dates.items())
    world = World(fleet({"clusters/staging": "v2.7.1"}), releases=releases, asked=UpgradeRequest(approve=("2.8",)))
    forge = MemoryForge(dict(world.files))
    world.run(forge)
    (pull,) = forge.open_pulls()
    assert "v2.8.8" in pull.title
    forge.push_to_base({PATH: manifest("v2.8.8")})
    world.files, world.asked = dict(forge.files), UpgradeRequest()
    world.run(forge)
    assert forge.open_pulls() == []
