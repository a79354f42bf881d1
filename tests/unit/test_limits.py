"""Limits: how many pull requests are opened, in which order, what waits and when a run ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flows import NOW, World, fleet, manifest, path_in
from flux_upgrade.config.config import Config, Governance, Group, Limits
from flux_upgrade.model.errors import ForbiddenByForge, ForgeUnavailable
from flux_upgrade.model.forge import Done, OpenPull, Step
from flux_upgrade.planning.plan import UpgradeRequest
from flux_upgrade.planning.proposal import Action, Result, Round, RunDetails
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy
from flux_upgrade.pullrequests.apply import fetch_plans, reconcile_pull_requests
from flux_upgrade.report.pull_requests import results_lines, round_errors
from memory_forge import MemoryForge

NAMES = tuple(f"c{number}" for number in range(1, 8))
MINORS = Group(governance=Governance(policy=Policy(MaxBump.MINOR)))


def clusters(version: str = "v2.8.7", names: tuple[str, ...] = NAMES, **limits: int) -> tuple[World, MemoryForge]:
    files = fleet(dict.fromkeys(names, version))
    return World(files, Config(limits=Limits(**limits))), MemoryForge(dict(files))


def opened(done: Round) -> list[str]:
    return shown(done, lambda each: each.action is Action.OPENED)


def waiting(done: Round) -> list[str]:
    return shown(done, lambda each: each.hold is not None and each.hold.reason is HoldReason.LIMITED)


def shown(done: Round, condition: Callable[[Result], bool]) -> list[str]:
    return [f"{each.update_group.name} {each.bump_kind}" for each in done.results if condition(each)]


def order(forge: MemoryForge) -> list[str]:
    return [step.branch.removeprefix("flux-upgrade/") for step in forge.steps if isinstance(step, OpenPull)]


def upgrade(world: World, forge: MemoryForge, name: str, version: str) -> None:
    """A person merges, or upgrades without us."""
    files = {path_in(name): manifest(version)}
    world.files |= files
    forge.push_to_base(files)


@dataclass
class Clock:
    """Each step takes a while."""

    seconds: float = NOW.timestamp()

    def __call__(self) -> float:
        return self.seconds


@dataclass
class SlowForge(MemoryForge):
    """Each step takes ``pause`` seconds, and is refused with ``error``, if there is one."""

    clock: Clock = field(default_factory=Clock)
    pause: float = 60.0
    error: Exception | None = None

    def apply(self, step: Step) -> Done:
        self.clock.seconds += self.pause
        if self.error is not None:
            self.steps.append(step)
            raise self.error
        return super().apply(step)


def slow(**limits: int) -> tuple[World, SlowForge]:
    world = World(fleet(dict.fromkeys(NAMES, "v2.8.7")), Config(limits=Limits(**limits)))
    return world, SlowForge(dict(world.files))


def run(world: World, forge: SlowForge) -> Round:
    inventory = world.gathered()
    details = RunDetails("", now=forge.clock)
    return reconcile_pull_requests(inventory, fetch_plans(inventory, forge), forge, details, world.warned.append)


def test_a_run_opens_a_few_and_the_next_ones_go_on_until_enough_are_open() -> None:
    world, forge = clusters(open=5, new=2, drafts=3, new_drafts=1)
    assert opened(world.run(forge)) == ["c1 patch", "c1 minor", "c2 patch"]
    assert opened(world.run(forge)) == ["c2 minor", "c3 patch", "c4 patch"]
    assert opened(world.run(forge)) == ["c3 minor", "c5 patch"]
    rest = world.run(forge)
    assert opened(rest) == []
    assert waiting(rest) == [*("c4 minor", "c5 minor", "c6 patch", "c6 minor", "c7 patch", "c7 minor")]
    assert not list(round_errors(rest))
    assert results_lines(rest, written=True)[-6:] == [
        "limited: 4 pull requests wait: at most 3 drafts may be open",
        "  c4 (minor), c5 (minor), c6 (minor), c7 (minor)",
        "  to unblock: merge or close one, or raise `drafts` under `limits` in the config file",
        "limited: 2 pull requests wait: at most 5 pull requests may be open",
        "  c6 (patch), c7 (patch)",
        "  to unblock: merge or close one, or raise `open` under `limits` in the config file",
    ]


def test_zero_is_no_limit() -> None:
    world, forge = clusters(open=0, new=0, drafts=0, new_drafts=0, minutes=0)
    assert len(opened(world.run(forge))) == 2 * len(NAMES)


def test_without_a_word_there_are_five_of_each() -> None:
    world, forge = clusters()
    assert len(opened(world.run(forge))) == 10
    assert len(waiting(world.run(forge))) == 0


def test_patches_come_first() -> None:
    world, forge = clusters(names=("a", "b"))
    world.run(forge)
    assert order(forge) == ["a/patch", "b/patch", "a/minor", "b/minor"]


def test_a_draft_never_delays_a_patch() -> None:
    world, forge = clusters(open=1, new=1, drafts=1, new_drafts=1)
    world.releases = world.releases[:1] + world.releases[2:]
    assert opened(world.run(forge)) == ["c1 minor"]
    world.releases = World({}).releases
    assert opened(world.run(forge)) == ["c1 patch"]


def test_who_is_furthest_behind_comes_first() -> None:
    world, forge = clusters("v2.9.3", open=0, new=2)
    upgrade(world, forge, "c4", "v2.8.7")
    assert opened(world.run(forge)) == ["c1 patch", "c4 patch", "c4 minor"]
    # What is merged is not the first to get the next patch: the others come before it.
    upgrade(world, forge, "c1", "v2.9.4")
    assert opened(world.run(forge)) == ["c2 patch", "c3 patch"]


def test_what_is_open_is_updated_and_closed_whatever_the_number() -> None:
    world, forge = clusters(open=0, new=0, drafts=0, new_drafts=0)
    world.releases = world.releases[:2]
    world.run(forge)
    world.config = Config(limits=Limits(1, 1, 1, 1))
    upgrade(world, forge, "c1", "v2.8.8")
    forge.edit(5, title="Mine")
    done = world.run(forge)
    assert shown(done, lambda each: each.action is Action.CLOSED) == ["c1 patch"]
    assert not waiting(done)


def test_a_pull_request_that_is_closed_makes_room() -> None:
    world, forge = clusters(open=2, new=2)
    world.releases = world.releases[:2]
    assert opened(world.run(forge)) == ["c1 patch", "c2 patch"]
    upgrade(world, forge, "c2", "v2.8.8")
    done = world.run(forge)
    assert (opened(done), len(waiting(done))) == (["c3 patch"], 4)


def test_a_draft_that_is_approved_counts_with_the_others() -> None:
    world, forge = clusters("v2.8.8", open=1, drafts=1, new_drafts=2)
    assert opened(world.run(forge)) == ["c1 minor"]
    forge.edit(1, is_draft=False)
    assert opened(world.run(forge)) == ["c2 minor"]
    upgrade(world, forge, "c7", "v2.8.7")
    assert "c7 patch" in waiting(world.run(forge))


def test_an_issue_in_place_of_a_draft_counts_as_one() -> None:
    world, forge = clusters("v2.8.8", drafts=2)
    forge.has_drafts = False
    assert opened(world.run(forge)) == ["c1 minor", "c2 minor"]
    assert opened(world.run(forge)) == []


def test_what_takes_the_place_of_a_patch_is_opened_with_it() -> None:
    world, forge = clusters(open=7, new=7, drafts=1)
    world.run(forge)
    world.config = Config(MINORS, limits=Limits(open=7, new=1))
    done = world.run(forge)
    assert len(shown(done, lambda each: each.action is Action.CLOSED)) == 7
    # One of them is the draft that there was.
    assert len(opened(done)) == 6


def test_what_the_user_asks_for_does_not_wait() -> None:
    world, forge = clusters("v2.8.8", open=1, new=1, drafts=1)
    world.run(forge)
    world.asked = UpgradeRequest(approve=("2.9",))
    assert len(opened(world.run(forge))) == 6


def test_an_attempt_that_fails_counts_so_that_not_all_are_tried() -> None:
    world, forge = slow(new=2, new_drafts=1)
    forge.error = ForbiddenByForge("no", hint="yes")
    done = run(world, forge)
    assert order(forge) == ["c1/patch", "c2/patch", "c1/minor"]
    assert len(waiting(done)) == 11
    assert set(round_errors(done)) == {ForbiddenByForge}


def test_the_time_ends_a_run_between_two_pull_requests() -> None:
    world, forge = slow(open=0, new=0, minutes=3)
    done = run(world, forge)
    assert opened(done) == ["c1 patch", "c2 patch", "c3 patch"]
    assert len(waiting(done)) == 11
    why, names, remedy = results_lines(done, written=True)[-3:]
    assert why == "limited: 11 pull requests wait: the run took 3 minutes"
    assert names.startswith("  c1 (minor), c2 (minor), c3 (minor), c4 (patch), ")
    assert names.endswith(" and 1 more")
    assert remedy == "  to unblock: wait for the next run"
    forge.clock.seconds = NOW.timestamp()
    assert opened(run(world, forge)) == ["c4 patch", "c5 patch", "c6 patch"]


def test_a_run_whose_time_is_up_before_it_writes_does_one_thing() -> None:
    world, forge = slow(minutes=1)
    forge.clock.seconds += 3600
    assert opened(run(world, forge)) == ["c1 patch"]


def test_updates_wait_for_the_next_run_once_the_time_is_up() -> None:
    world, forge = slow(open=0, new=0, drafts=0, new_drafts=0)
    forge.pause = 0
    run(world, forge)
    for number in range(1, 8):
        forge.tick(number, "rebase")
    forge.pause = 240
    done = run(world, forge)
    assert shown(done, lambda each: each.action is Action.UPDATED) == ["c1 patch", "c2 patch"]
    assert waiting(done) == [f"c{number} patch" for number in range(3, 8)]
    assert all(each.url for each in done.results if each.action is Action.HELD)


def test_calls_that_are_nearly_used_up_end_a_run_before_it_begins() -> None:
    world, forge = clusters()
    forge.exhausted = "GitHub's API rate limit is nearly used up until noon"
    done = world.run(forge)
    assert (opened(done), len(waiting(done))) == ([], 14)
    assert not list(round_errors(done))


def test_an_approval_that_cannot_be_acted_on_is_no_success() -> None:
    world, forge = clusters("v2.8.8")
    forge.exhausted = "GitHub's API rate limit is nearly used up until noon"
    world.asked = UpgradeRequest(approve=("2.9",))
    assert set(round_errors(world.run(forge))) == {ForgeUnavailable}


def test_what_failed_is_not_called_waiting_because_there_is_no_time_to_try_again() -> None:
    world, forge = slow(minutes=1)
    forge.error = ForgeUnavailable("no answer")
    done = run(world, forge)
    assert set(round_errors(done)) == {ForgeUnavailable}
    assert "c1 patch" not in waiting(done)
