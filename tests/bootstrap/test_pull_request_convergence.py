"""A bootstrap has one pull request: it is opened once, kept current, left alone where people changed it, and closed."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bootstrap.proposed_bootstraps import bootstrap, cluster
from flux_upgrade.bootstrap.apply import Published, run_bootstrap
from flux_upgrade.bootstrap.proposed import Bootstrap, Handover, PlaceKind
from flux_upgrade.model import markers
from flux_upgrade.model.errors import FluxUpgradeError, ForbiddenByForge, ForgeUnavailable, Overtaken
from flux_upgrade.model.forge import (
    ClosePull,
    CommentPull,
    Done,
    Extras,
    OpenPull,
    Question,
    Repository,
    Step,
    UpdatePull,
)
from flux_upgrade.planning.proposal import Action, ProposalContext
from flux_upgrade.policy.feedback import REBASE
from flux_upgrade.policy.hold_reasons import HoldReason
from memory_forge import MemoryForge

AROUND = ProposalContext(())
STAGING = cluster(path="clusters/staging")
NEW = bootstrap(STAGING)
OTHER = bootstrap(cluster({"version": "v2.9.3"}, path="clusters/staging"))
NOTHING = bootstrap(STAGING._replace(files=STAGING.files._replace(changes=())))
BRANCH = "flux-upgrade/clusters.staging/bootstrap"
README = {"README.md": b"Fleet\n"}


def run(forge: MemoryForge, proposal: Bootstrap = NEW, around: ProposalContext = AROUND) -> Published:
    """One run; ``forge.steps`` are its own."""
    forge.steps.clear()
    return run_bootstrap(forge, lambda: proposal, lambda _: around)


def by_itself(proposal: Bootstrap = NEW) -> Bootstrap:
    """A run that nobody asked for, on a push."""
    return proposal._replace(is_asked=False)


@pytest.fixture
def forge() -> MemoryForge:
    """A repository with content, and no Flux."""
    return MemoryForge(README)


@pytest.fixture
def opened(forge: MemoryForge) -> MemoryForge:
    """Its pull request is open."""
    assert run(forge).action is Action.OPENED
    return forge


def number_of(forge: MemoryForge) -> int:
    (pull,) = forge.open_pulls()
    return pull.number


def test_the_first_run_opens_one_pull_request_with_all_files(forge: MemoryForge) -> None:
    done = run(forge)
    assert (done.action, done.number, forge.calls) == (Action.OPENED, 1, 2)
    assert forge.trees[forge.heads[BRANCH]] == {**README, **{each.path: each.after for each in NEW.changes}}
    (pull,) = forge.open_pulls(BRANCH)
    assert pull.title == "Bootstrap Flux v2.9.4 in clusters/staging"
    assert markers.state_of(pull.body) is not None
    assert pull.head is not None
    assert pull.head.statuses == {markers.PROOF: "success"}


def test_the_same_again_writes_nothing(opened: MemoryForge) -> None:
    opened.push_to_base({"README.md": b"Other work\n"})
    done = run(opened)
    assert (done.action, done.number, opened.steps) == (Action.UNCHANGED, 1, [])


def test_another_plan_recreates_the_commit(opened: MemoryForge) -> None:
    before = opened.heads[BRANCH]
    assert run(opened, OTHER).action is Action.UPDATED
    assert opened.heads[BRANCH] != before
    assert opened.open_pulls(BRANCH)[0].title == "Bootstrap Flux v2.9.3 in clusters/staging"
    assert run(opened, OTHER).action is Action.UNCHANGED


def test_what_became_of_the_access_changes_the_text_alone(opened: MemoryForge) -> None:
    before = opened.heads[BRANCH]
    known = Handover(PlaceKind.FILE, public_key="ssh-ed25519 AAAA", is_registered=True)
    handed = bootstrap(STAGING._replace(handover=known))
    assert run(opened, handed).action is Action.UPDATED
    assert opened.heads[BRANCH] == before
    assert "SECRET_FILE" in opened.open_pulls()[0].body


def test_texts_of_people_stay(opened: MemoryForge) -> None:
    number = number_of(opened)
    opened.edit(number, title="Flux at last", body=f"Please wait.\n\n{opened.pulls[number][1].body}")
    assert run(opened, OTHER).action is Action.UPDATED
    pull = opened.pulls[number][1]
    assert pull.title == "Flux at last"
    assert pull.body.startswith("Please wait.\n\n<!-- flux-upgrade")
    assert "Flux v2.9.3" in pull.body


def test_a_branch_that_another_user_pushed_to_is_left_alone(opened: MemoryForge) -> None:
    opened.push(BRANCH, {"extra.yaml": b"mine\n"})
    done = run(opened, OTHER)
    assert (done.action, [type(step) for step in opened.steps]) == (Action.HELD, [CommentPull])
    assert run(opened, OTHER).action is Action.HELD
    assert len(opened.comments) == 1
    assert done.hold is not None
    assert done.hold.reason is HoldReason.BRANCH_EDITED


@pytest.mark.parametrize("way", ["label", "box"])
def test_a_person_asks_for_a_rebase(opened: MemoryForge, way: str) -> None:
    number = number_of(opened)
    opened.push(BRANCH, {"extra.yaml": b"mine\n"})
    if way == "label":
        opened.label(number, REBASE)
    else:
        opened.tick(number, markers.REBASE)
    assert run(opened).action is Action.UPDATED
    assert "extra.yaml" not in opened.trees[opened.heads[BRANCH]]
    pull = opened.pulls[number][1]
    assert REBASE not in pull.labels
    assert not markers.is_ticked(pull.body, markers.REBASE)
    assert run(opened).action is Action.UNCHANGED


def test_a_conflict_recreates_the_commit(opened: MemoryForge) -> None:
    opened.edit(number_of(opened), is_conflicting=True)
    run(opened)
    (step,) = opened.steps
    assert isinstance(step, UpdatePull)
    assert step.commit is not None


def test_what_a_person_closed_is_not_opened_by_itself(opened: MemoryForge) -> None:
    opened.close_pull(1)
    done = run(opened, by_itself())
    assert (done.action, opened.steps) == (Action.HELD, [])
    assert done.hold is not None
    assert done.hold.reason is HoldReason.CLOSED_BY_HUMAN
    assert "pull/1" in done.hold.detail


def test_what_a_person_closed_is_opened_for_whoever_runs_it_by_hand(opened: MemoryForge) -> None:
    opened.close_pull(1)
    done = run(opened)
    assert (done.action, done.number) == (Action.OPENED, 2)
    assert run(opened, by_itself()).action is Action.UNCHANGED


def test_what_a_person_reverted_is_not_proposed_by_itself(opened: MemoryForge) -> None:
    opened.merge(1)
    for each in NEW.changes:
        del opened.files[each.path]
    opened.push_to_base({})
    done = run(opened, by_itself())
    assert done.hold is not None
    assert done.hold.reason is HoldReason.REVERTED
    assert run(opened, by_itself(OTHER)).action is Action.OPENED


def test_what_was_merged_and_reverted_is_committed_again_on_a_manual_run(opened: MemoryForge) -> None:
    opened.merge(1)
    for each in NEW.changes:
        del opened.files[each.path]
    opened.push_to_base({})
    assert run(opened).action is Action.OPENED
    (step,) = opened.steps
    assert isinstance(step, OpenPull)
    assert step.commit is not None


def test_nothing_to_do_closes_what_is_open_and_says_why(opened: MemoryForge) -> None:
    assert run(opened, NOTHING).action is Action.CLOSED
    (step,) = opened.steps
    assert isinstance(step, ClosePull)
    assert "**Closed:** The base branch already has these changes." in step.body
    # We closed it: nobody has refused anything.
    assert run(opened, by_itself()).action is Action.OPENED


def test_nothing_to_do_and_nothing_open_is_nothing(forge: MemoryForge) -> None:
    assert run(forge, NOTHING).action is Action.NONE
    assert forge.steps == []


def test_a_run_that_was_cut_off_is_gone_on_with(opened: MemoryForge) -> None:
    head = opened.heads[BRANCH]
    del opened.pulls[1]
    assert run(opened).action is Action.OPENED
    (step,) = opened.steps
    assert isinstance(step, OpenPull)
    assert (step.commit, step.before) == (None, head)


def test_a_pull_request_into_another_base_is_left_alone(forge: MemoryForge) -> None:
    class Elsewhere(MemoryForge):
        def fetch(self, question: Question) -> Repository:
            seen = super().fetch(question)
            branch = seen.branches[BRANCH]._replace(elsewhere="https://git.example/acme/fleet/pull/9")
            return seen._replace(branches={BRANCH: branch})

    done = run(Elsewhere(README))
    assert done.hold is not None
    assert "pull/9" in done.hold.detail
    assert forge.steps == []


def test_labels_and_reviewers_come_with_a_new_one(forge: MemoryForge) -> None:
    run_bootstrap(forge, lambda: NEW, lambda _: AROUND, extras=Extras(labels=("flux",)))
    assert forge.open_pulls()[0].labels == ("flux",)


@dataclass
class Failing(MemoryForge):
    """``failures``: what the next steps raise; those that were ``applied`` are done all the same."""

    failures: list[FluxUpgradeError] = field(default_factory=list)
    applied: bool = False

    def apply(self, step: Step) -> Done:
        if not self.failures:
            return super().apply(step)
        if self.applied:
            super().apply(step)
        raise self.failures.pop(0)


def test_an_answer_that_is_lost_is_looked_for() -> None:
    forge = Failing(README, failures=[ForgeUnavailable("502")], applied=True)
    assert run(forge).action is Action.OPENED
    assert len(forge.pulls) == 1


def test_a_write_that_failed_is_tried_again() -> None:
    forge = Failing(README, failures=[ForgeUnavailable("502")])
    assert (run(forge).action, len(forge.pulls)) == (Action.OPENED, 1)


@pytest.mark.parametrize(
    ("error", "times", "seen"), [(Overtaken, 9, 3), (ForgeUnavailable, 9, 2), (ForbiddenByForge, 9, 1)]
)
def test_it_gives_up(error: type[FluxUpgradeError], times: int, seen: int) -> None:
    forge = Failing(README, failures=[error("no")] * times)
    done = run(forge)
    assert (done.action, type(done.error), times - len(forge.failures)) == (Action.FAILED, error, seen)


def test_a_base_that_has_moved_is_planned_for_again(forge: MemoryForge) -> None:
    path = NEW.changes[0].path
    forge.push_to_base({path: b"somebody was faster\n"})
    changes = [each._replace(before=b"somebody was faster\n") if each.path == path else each for each in NEW.changes]
    planned = iter([NEW, bootstrap(STAGING._replace(files=STAGING.files._replace(changes=tuple(changes))))])
    done = run_bootstrap(forge, lambda: next(planned), lambda _: AROUND)
    assert (done.action, len(forge.steps)) == (Action.OPENED, 1)


def test_a_base_that_always_moves_writes_nothing(forge: MemoryForge) -> None:
    forge.push_to_base({NEW.changes[0].path: b"somebody is faster\n"})
    done = run(forge)
    assert (type(done.error), forge.steps) == (Overtaken, [])


def test_the_mode_of_a_file_that_is_there_stays() -> None:
    class Executable(MemoryForge):
        def fetch(self, question: Question) -> Repository:
            seen = super().fetch(question)
            files = {path: file._replace(mode="100755") for path, file in seen.files.items()}
            return seen._replace(files=files)

    changing = bootstrap(cluster({"changed": ["gotk-sync.yaml"]}, path="clusters/staging"))
    (change,) = changing.changes
    forge = Executable({change.path: b"before\n"})
    run(forge, changing)
    (step,) = forge.steps
    assert isinstance(step, OpenPull)
    assert step.commit is not None
    assert step.commit.files == {change.path: ("100755", change.after)}
