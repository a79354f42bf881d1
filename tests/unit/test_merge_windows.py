"""Merge windows: what waits for the schedule, what does not, and which pull requests merge automatically."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

import pulls
from flows import World, fleet, listed
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.model.forge import Extras, PullRequest
from flux_upgrade.model.markers import AUTO_MERGE, AUTO_MERGE_OFF
from flux_upgrade.planning.plan import UpgradeRequest
from flux_upgrade.planning.proposal import Action
from flux_upgrade.policy.decision import Ring
from flux_upgrade.policy.feedback import APPROVED
from flux_upgrade.policy.policy import MaxBump, Policy
from flux_upgrade.pullrequests.auto_merge import Change, change
from flux_upgrade.report.pull_requests import results_lines
from memory import MemoryHistory
from memory_forge import MemoryForge
from rings import NO_RING, RingRepository

INSIDE, OUTSIDE = datetime(2026, 9, 1, 8, tzinfo=UTC), datetime(2026, 9, 1, 14, tzinfo=UTC)
BERLIN = Governance(schedule=("* 9-15 * * 1-4",), timezone="Europe/Berlin")
PATCH, MINOR = "flux-upgrade/a/patch", "flux-upgrade/a/minor"


class Repo:
    """One cluster, and a forge; the config may change between two runs."""

    def __init__(self, version: str, governance: Governance = BERLIN) -> None:
        files = fleet({"a": version})
        self.world = World(files, Config(default=Group(governance=governance)))
        self.forge = MemoryForge(dict(files))

    def govern(self, governance: Governance) -> None:
        self.world.config = Config(default=Group(governance=governance))

    def run(self, now: datetime = OUTSIDE, approve: tuple[str, ...] = ()) -> dict[str, str]:
        """Branch → what was done, or the reason of a hold."""
        self.world.now, self.world.asked = now, UpgradeRequest(approve=approve)
        self.done = self.world.run(self.forge)
        return {
            each.branch: str(each.hold.reason if each.hold else each.action)
            for each in self.done.results
            if each.action is not Action.NONE
        }

    def pull(self, branch: str) -> PullRequest:
        found = self.forge.open_pull(branch)
        assert found is not None
        return found

    def merges_for(self) -> str | None:
        return self.only().merges_for

    def only(self) -> PullRequest:
        (found,) = self.forge.open_pulls()
        return found


# Opening


def test_nothing_is_opened_outside_and_the_report_says_when() -> None:
    repo = Repo("v2.8.7")
    assert repo.run(OUTSIDE) == {PATCH: "outside-schedule", MINOR: "outside-schedule"}
    assert repo.forge.steps == []
    assert results_lines(repo.done, written=True) == [
        "outside-schedule: 2 pull requests wait: `schedule` begins on 2026-09-02 at 09:00 (Europe/Berlin)",
        "  a (patch), a (minor)",
        "  to unblock: wait, approve the version, or change `schedule` in the config file",
    ]
    assert {each.hold.until for each in repo.done.results if each.hold} == {"2026-09-02T07:00:00Z"}
    assert repo.run(INSIDE) == {PATCH: "opened", MINOR: "opened"}
    assert repo.run(OUTSIDE) == {PATCH: "unchanged", MINOR: "unchanged"}


def test_a_schedule_that_never_opens_says_so() -> None:
    repo = Repo("v2.8.7", BERLIN._replace(schedule=("* 2 * 3 0L",)))
    assert repo.run(OUTSIDE) == {PATCH: "outside-schedule", MINOR: "outside-schedule"}
    assert results_lines(repo.done, written=True)[0].endswith(" wait: `schedule` never begins (Europe/Berlin)")
    assert {each.hold.until for each in repo.done.results if each.hold} == {""}


def test_a_group_has_its_own_schedule() -> None:
    world = World(fleet({"a": "v2.8.7", "b": "v2.8.7"}))
    world.releases = listed("v2.8.7", "v2.8.8")
    world.config = Config(
        default=Group(governance=BERLIN), groups=(Group("b", ("b/**",), BERLIN._replace(schedule=("* 16 * * *",))),)
    )
    world.now = OUTSIDE
    done = world.run(MemoryForge(dict(world.files)))
    assert [(each.update_group.name, str(each.action)) for each in done.results if each.action is not Action.NONE] == [
        ("a", "held"),
        ("b", "opened"),
    ]


def test_what_you_approve_is_opened_at_once() -> None:
    repo = Repo("v2.8.8")
    assert repo.run(OUTSIDE, approve=("2.9",)) == {MINOR: "opened"}
    assert not repo.only().is_draft


def test_what_is_open_is_kept_up_to_date_and_closed() -> None:
    repo = Repo("v2.8.8", BERLIN._replace(policy=Policy(MaxBump.MINOR)))
    repo.world.releases = listed("v2.9.3")
    repo.run(INSIDE)
    repo.world.releases = listed("v2.9.3", "v2.9.4")
    assert repo.run(OUTSIDE) == {MINOR: "updated"}
    assert "v2.9.4" in repo.only().title
    repo.world.files |= fleet({"a": "v2.9.4"})
    repo.forge.push_to_base(fleet({"a": "v2.9.4"}))
    assert repo.run(OUTSIDE) == {MINOR: "closed"}


# Ready for review


def waiting() -> Repo:
    """A draft that the policy allows by now."""
    repo = Repo("v2.8.8")
    repo.run(INSIDE)
    assert repo.only().is_draft
    repo.govern(BERLIN._replace(policy=Policy(MaxBump.MINOR)))
    return repo


def test_a_draft_whose_wait_is_over_becomes_ready_inside() -> None:
    repo = waiting()
    assert repo.run(OUTSIDE) == {MINOR: "outside-schedule"}
    assert repo.only().is_draft
    first, *_ = repo.only().body.splitlines()[1:]
    assert "waits for the schedule" in first
    assert "`* 9-15 * * 1-4` (Europe/Berlin). To have it now, click **Ready for review**." in repo.only().body
    written = len(repo.forge.steps)
    assert repo.run(OUTSIDE.replace(day=5)) == {MINOR: "outside-schedule"}
    assert len(repo.forge.steps) == written, "the text is the same until then"
    assert repo.run(INSIDE) == {MINOR: "updated"}
    assert not repo.only().is_draft
    assert "waits for the schedule" not in repo.only().body


@pytest.mark.parametrize("how", ["label", "dispatch", "ready"])
def test_what_you_ask_for_is_done_at_once(how: str) -> None:
    repo = waiting()
    repo.run(OUTSIDE)
    if how == "label":
        repo.forge.label(repo.only().number, APPROVED)
    elif how == "ready":
        repo.forge.edit(repo.only().number, is_draft=False)
    repo.run(OUTSIDE, approve=("2.9",) if how == "dispatch" else ())
    assert not repo.only().is_draft
    assert "waits for the schedule" not in repo.only().body
    assert repo.run(OUTSIDE) == {MINOR: "unchanged"}


def test_a_draft_of_a_user_stays_one() -> None:
    repo = Repo("v2.8.7")
    repo.world.releases = listed("v2.8.8")
    repo.run(INSIDE)
    repo.forge.edit(repo.only().number, is_draft=True)
    assert repo.run(OUTSIDE) == {PATCH: "unchanged"}
    assert repo.run(INSIDE) == {PATCH: "unchanged"}
    assert repo.only().is_draft


# Auto-merge


def merging(most: MaxBump = MaxBump.PATCH) -> Repo:
    repo = Repo("v2.8.7", BERLIN._replace(auto_merge=most))
    repo.world.releases = listed("v2.8.8")
    repo.run(INSIDE)
    return repo


def test_auto_merge_ends_with_the_window_and_begins_with_the_next() -> None:
    repo = merging()
    assert repo.merges_for() == "flux-upgrade[bot]"
    assert repo.run(INSIDE) == {PATCH: "unchanged"}
    assert repo.run(OUTSIDE) == {PATCH: "updated"}
    assert repo.merges_for() is None
    assert repo.run(OUTSIDE) == {PATCH: "unchanged"}
    assert repo.run(INSIDE.replace(day=2)) == {PATCH: "updated"}
    assert repo.merges_for() == "flux-upgrade[bot]"
    assert repo.run(INSIDE.replace(day=2)) == {PATCH: "unchanged"}


def test_what_a_user_turned_off_stays_off() -> None:
    repo = merging()
    repo.forge.edit(repo.only().number, merges_for=None)
    for now in (INSIDE, OUTSIDE, INSIDE.replace(day=2)):
        assert repo.run(now) == {PATCH: "unchanged"}
    assert repo.merges_for() is None


def test_what_a_user_turned_on_stays_on() -> None:
    repo = merging()
    repo.run(OUTSIDE)
    repo.forge.edit(repo.only().number, merges_for="alice")
    for now in (OUTSIDE, INSIDE.replace(day=2), OUTSIDE.replace(day=2)):
        repo.run(now)
        assert repo.merges_for() == "alice"


def test_it_is_turned_off_where_the_config_no_longer_wants_it() -> None:
    repo = merging()
    repo.govern(BERLIN)
    assert repo.run(INSIDE) == {PATCH: "updated"}
    assert repo.merges_for() is None


class Merge(NamedTuple):
    on: str | None  # Login of who turned it on
    record: str
    viewer: str
    wanted: bool
    change: Change
    is_draft: bool = False


BOT, ALICE, BOB = "flux-upgrade[bot]", "alice", "bob"
CASES = {
    "never on": Merge(None, "", BOT, wanted=False, change=Change(())),
    "wanted": Merge(None, "", BOT, wanted=True, change=Change((AUTO_MERGE,), starts=True)),
    "on as it should be": Merge(BOT, AUTO_MERGE, BOT, wanted=True, change=Change((AUTO_MERGE,))),
    "on, and not written down: the run was cut off": Merge(BOT, "", BOT, wanted=True, change=Change((AUTO_MERGE,))),
    "the same, and no longer wanted": Merge(BOT, "", BOT, wanted=False, change=Change((), stops=True)),
    "no longer wanted": Merge(BOT, AUTO_MERGE, BOT, wanted=False, change=Change((AUTO_MERGE_OFF,), stops=True)),
    "written down, and cut off": Merge(
        BOT, AUTO_MERGE_OFF, BOT, wanted=False, change=Change((AUTO_MERGE_OFF,), stops=True)
    ),
    "off": Merge(None, AUTO_MERGE_OFF, BOT, wanted=False, change=Change((AUTO_MERGE_OFF,))),
    "wanted again": Merge(None, AUTO_MERGE_OFF, BOT, wanted=True, change=Change((AUTO_MERGE,), starts=True)),
    "a user turned it off": Merge(None, AUTO_MERGE, BOT, wanted=True, change=Change((AUTO_MERGE,))),
    "a user turned it off, and it is not wanted": Merge(
        None, AUTO_MERGE, BOT, wanted=False, change=Change((AUTO_MERGE,))
    ),
    "a user turned it on": Merge(ALICE, "", BOT, wanted=False, change=Change(())),
    "a user turned it on, and it is wanted": Merge(ALICE, "", BOT, wanted=True, change=Change(())),
    "a user turned it on again": Merge(ALICE, AUTO_MERGE_OFF, BOT, wanted=False, change=Change((AUTO_MERGE_OFF,))),
    "the token's owner turned it on": Merge(BOB, "", BOB, wanted=False, change=Change(())),
    "a token of a user": Merge(BOB, AUTO_MERGE, "Bob", wanted=False, change=Change((AUTO_MERGE_OFF,), stops=True)),
    "nobody knows who": Merge("", AUTO_MERGE, "", wanted=False, change=Change((AUTO_MERGE_OFF,), stops=True)),
    "nobody knows who, nor of us": Merge("", "", "", wanted=False, change=Change(())),
    "a draft has none": Merge(BOT, AUTO_MERGE, BOT, wanted=False, change=Change((AUTO_MERGE_OFF,)), is_draft=True),
}


@pytest.mark.parametrize("name", CASES)
def test_what_becomes_of_auto_merge(name: str) -> None:
    case = CASES[name]
    pull = pulls.pull(is_draft=case.is_draft, merges_for=case.on)
    before = ("label:flux", *filter(None, [case.record]))
    found = change(pull, before, case.viewer, Extras(auto_merge=case.wanted), makes_draft=False)
    assert found == case.change._replace(given=("label:flux", *case.change.given))


def test_what_becomes_a_draft_is_off_without_a_call() -> None:
    pull = pulls.pull(merges_for=BOT)
    assert change(pull, (AUTO_MERGE,), BOT, Extras(), makes_draft=True) == Change((AUTO_MERGE_OFF,))


# Minors

FREE = Governance(policy=Policy(MaxBump.MINOR), auto_merge=MaxBump.MINOR)


@pytest.mark.parametrize(
    ("governance", "version", "approve", "merges"),
    [
        (FREE, "v2.8.8", (), True),
        (FREE, "v2.9.3", (), True),
        (FREE._replace(auto_merge=MaxBump.PATCH), "v2.8.8", (), False),
        (FREE._replace(auto_merge=MaxBump.NONE), "v2.9.3", (), False),
        (FREE._replace(policy=Policy(MaxBump.PATCH)), "v2.8.8", ("2.9",), False),
        (FREE, "v2.8.8", ("2.9",), False),
    ],
    ids=["a minor", "a patch", "patches only", "none", "approved by you", "approved though allowed"],
)
def test_which_pull_requests_merge(
    governance: Governance, version: str, approve: tuple[str, ...], *, merges: bool
) -> None:
    repo = Repo(version, governance)
    repo.world.history = MemoryHistory()
    repo.run(INSIDE, approve)
    assert (repo.merges_for() is not None) is merges


def test_a_minor_that_needs_an_action_does_not_merge() -> None:
    repo = Repo("v2.8.8", FREE)
    repo.run(INSIDE)
    assert "action required" in repo.only().body, "nobody looked at what it means for the repository"
    assert repo.merges_for() is None


def test_a_minor_that_comes_to_need_an_action_no_longer_merges() -> None:
    repo = Repo("v2.8.8", FREE)
    repo.world.history = MemoryHistory()
    repo.run(INSIDE)
    assert repo.merges_for() == "flux-upgrade[bot]"
    repo.world.history = None
    repo.run(INSIDE)
    assert repo.merges_for() is None
    repo.world.history = MemoryHistory()
    repo.run(INSIDE)
    assert repo.merges_for() == "flux-upgrade[bot]"


def ringed() -> RingRepository:
    rings = (("staging", NO_RING), ("production", Ring(("staging",), timedelta(days=3))))
    one = RingRepository(
        tuple(Group(name, (f"clusters/{name}/**",), FREE, ring) for name, ring in rings),
        {"staging": "v2.8.8", "production": "v2.8.8"},
    )
    one.world.history = MemoryHistory()
    one.run()
    return one


def test_a_minor_merges_once_the_group_before_has_passed() -> None:
    one = ringed()
    assert one.pull("staging/minor").merges_for == "flux-upgrade[bot]"
    assert one.pull("production/minor").merges_for is None
    one.merge("staging/minor")
    one.later(days=1)
    assert one.pull("production/minor").merges_for is None
    one.later(days=3)
    assert not one.pull("production/minor").is_draft
    assert one.pull("production/minor").merges_for == "flux-upgrade[bot]"


def test_a_minor_that_does_not_wait_for_the_group_before_does_not_merge() -> None:
    one = ringed()
    pull = one.pull("production/minor")
    one.forge.edit(
        pull.number, body=pull.body.replace("- [ ] <!-- flux-upgrade:accept-", "- [x] <!-- flux-upgrade:accept-")
    )
    one.run()
    assert not one.pull("production/minor").is_draft
    assert one.pull("production/minor").merges_for is None


def test_a_box_acts_outside() -> None:
    one = ringed()
    governance = FREE._replace(schedule=("* 3 * * *",))
    groups = tuple(group._replace(governance=governance) for group in one.groups)
    one.world.config = Config(groups=groups)
    one.run()
    pull = one.pull("production/minor")
    assert one.pull("staging/minor").merges_for is None
    one.forge.edit(
        pull.number, body=pull.body.replace("- [ ] <!-- flux-upgrade:accept-", "- [x] <!-- flux-upgrade:accept-")
    )
    one.run()
    assert not one.pull("production/minor").is_draft


def test_the_wait_for_a_group_ends_inside() -> None:
    one = ringed()
    governance = FREE._replace(schedule=("* 3 * * *",))
    one.world.config = Config(groups=tuple(group._replace(governance=governance) for group in one.groups))
    one.merge("staging/minor")
    one.later(days=4)
    assert one.pull("production/minor").is_draft
    assert "waits for the schedule" in one.pull("production/minor").body
    one.later(hours=3)
    assert not one.pull("production/minor").is_draft
    assert one.pull("production/minor").merges_for == "flux-upgrade[bot]"
