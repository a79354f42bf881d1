"""Three rings, day by day over Flux's real releases, with failures, reverts, and missing and forged statuses."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from conformance.real_files import tell
from flux_upgrade.adapters.releases.directory import parse_releases
from flux_upgrade.clusters.clusters import Cluster, Member
from flux_upgrade.clusters.groups import UpdateGroup, branches_of
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.model import markers
from flux_upgrade.model.file_history import blob_id
from flux_upgrade.model.forge import BaseCommit, BaseFile, Branch, CommitStatus, PullRequest, PullState, Repository
from flux_upgrade.model.versions import NO_VERSION, Release, Version
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role
from flux_upgrade.planning.plan import Plan, Terms, Upgrade
from flux_upgrade.planning.ring_members import watched
from flux_upgrade.planning.rings import Rings
from flux_upgrade.policy.decision import Bump, BumpKind, Feedback, HealthStatus, Hold, Rejection, Ring
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump, Policy, decide
from real_parts import require_shared

pytestmark = pytest.mark.real_part("shared data")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "ring-walk.md"
HOUR = time(6, tzinfo=UTC)
FIRST, LAST = date(2023, 7, 4), date(2026, 9, 8)
DAY = timedelta(days=1)
NAMES = ("canary", "staging", "production")
SOAK = {"canary": timedelta(0), "staging": timedelta(days=2), "production": timedelta(days=3)}
"""How long the ring before must have had a release."""
FATES = ("healthy",) * 6 + ("slow", "fails", "reverted", "missing", "forged")
"""What becomes of a release in a ring."""
MINOR, PATCH = Policy(bump=MaxBump.MINOR), Policy()
POLICIES = {"canary": MINOR, "staging": MINOR, "production": PATCH}
NEVER = timedelta(days=10_000)
APPROVED_AFTER = (2 * DAY, 9 * DAY, 30 * DAY, NEVER)
"""How long a minor of production waits for an approval."""
HURRIED_AFTER = 3 * DAY
"""How long an upgrade that only a user can make wait no longer is looked at."""


@dataclass
class Life:
    """What happened to a release in a ring."""

    version: str
    merged: date
    fate: str
    is_hurried: bool = False  # A user did not want to wait
    healthy: date | None = None  # The first day on which Flux reported success, after any failure
    ended: date | None = None


@dataclass
class Walk:
    """A repository with a cluster for each ring. A run a day; what is ready is merged after it."""

    listed: tuple[Release, ...]
    seed: int
    at: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NAMES, "v2.0.0"))
    lives: dict[str, list[Life]] = field(default_factory=lambda: {name: [] for name in NAMES})
    pulls: dict[str, list[PullRequest]] = field(default_factory=lambda: {name: [] for name in NAMES})
    commits: list[BaseCommit] = field(default_factory=list)
    reverted: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in NAMES})
    waits: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    names: tuple[str, ...] = NAMES
    soak: dict[str, timedelta] = field(default_factory=lambda: dict(SOAK))
    policies: dict[str, Policy] = field(default_factory=lambda: dict(POLICIES))
    fates: tuple[str, ...] = FATES
    is_one_at_a_time: bool = False
    hurries: bool = True
    """Whether a user ticks the box of a draft that needs one."""
    approvals: dict[str, date] = field(default_factory=dict)
    """Minor → the day on which a user approves it for production."""
    told: dict[tuple[str, str], date] = field(default_factory=dict)
    """Ring and release → since when its draft says that only a user can end the wait."""
    untold: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)  # noqa: S311 (nothing is guarded by it)
        self._commit(FIRST)

    def run(self) -> None:
        today = FIRST
        while today <= LAST:
            self._people(today)
            ready = [(group, bump) for group in self._groups() for bump in self._ready(group, today)]
            for group, bump in ready:
                self._merge(group, bump, today)
            today += DAY

    # What flux-upgrade does

    def _groups(self) -> tuple[UpdateGroup, ...]:
        found = []
        for number, name in enumerate(self.names):
            ring = Ring(self.names[number - 1 : number] if number else (), self.soak[name], _health(name))
            ring = ring._replace(one_release_at_a_time=self.is_one_at_a_time and name != self.names[-1])
            group = Group(name, (f"clusters/{name}/**",), Governance(policy=self.policies[name]), ring)
            version = Version(self.at[name])
            content = self.at[name].encode()
            pin = Pin(_path(name), "written", content, role=Role.INSTALLS, state=PinState.EXACT, version=version)
            cluster = Cluster(f"clusters/{name}", _path(name), (Member(pin, _path(name)),))
            found.append(UpdateGroup(name, name, group, (cluster,)))
        return tuple(found)

    def _ready(self, group: UpdateGroup, today: date) -> Iterator[Bump]:
        """What one run marks ready for a group, by the parts that the planner puts together."""
        groups, now, config = self._groups(), datetime.combine(today, HOUR), Config()
        repository = self._repository(groups, config)
        rings = Rings(groups, config, repository, now)
        ((member,),) = (cluster.members for cluster in group.clusters)
        current = Version(self.at[group.name])
        own = tuple(
            Rejection(BumpKind.between(current, tag), Version(tag), HoldReason.REVERTED, "", "")
            for tag in self.reverted[group.name]
        )
        approved = tuple(
            minor for minor, day in self.approvals.items() if group.name == self.names[-1] and day <= today
        )
        hurried = [(name, tag) for (name, tag), day in self.told.items() if day + HURRIED_AFTER <= today]
        accepted = tuple(
            markers.ring_entry(name, tag, group.group.ring.after) for name, tag in hurried if name == group.name
        )
        terms = rings.terms(Terms(group.group.governance, Feedback(own, approved, accepted=accepted)), group, current)
        known = [each for each in self.listed if datetime.fromisoformat(each.published_at) <= now]
        decisions = decide(current, known, terms.governance.policy, terms.feedback, now)
        upgrades = tuple(each if isinstance(each, Hold) else Upgrade(each, PinChange()) for each in decisions)
        plan = rings.waiting(Plan(member.pin, member.path, upgrades), group, terms)
        plan = rings.keeping(plan, group, [each.tag for each in self.listed])
        self.held.update(str(each.reason) for each in plan.holds if each.reason is HoldReason.GROUP_REVERTED)
        for upgrade in plan.upgrades:
            self.waits.update([group.name] if upgrade.waits else [])
            if not upgrade.approved:
                delay = self.dice.choice(APPROVED_AFTER)
                self.approvals.setdefault(upgrade.target.minor, today + delay if delay < NEVER else date.max)
            self._tell(group, upgrade, today)
            if upgrade.approved and not upgrade.waits:
                yield upgrade.bump

    def _tell(self, group: UpdateGroup, upgrade: Upgrade, today: date) -> None:
        """Note what its draft says, and whether it says nothing of a wait without an end."""
        key = group.name, str(upgrade.target)
        if not upgrade.waits:
            return
        if upgrade.is_stuck and self.hurries:
            self.told.setdefault(key, today)
        (before,) = group.group.ring.after or (None,)
        if before is None:
            return
        life = self.lives[before][-1] if self.lives[before] else None
        is_left = Version(self.at[before]) > upgrade.target
        is_silent = life is not None and life.version == upgrade.target and life.fate in ("missing", "forged")
        since = life.merged + max(self.soak[group.name], 2 * DAY) + DAY if life is not None else today
        if not upgrade.is_stuck and (is_left or (is_silent and today > since)):
            self.untold.append(f"{today}: {group.name} waits for {upgrade.target}, {before} runs {self.at[before]}")

    def _repository(self, groups: tuple[UpdateGroup, ...], config: Config) -> Repository:
        files = {_path(name): BaseFile(blob_id(self.at[name].encode())) for name in self.names}
        branches = {
            name: Branch(name, None, tuple(self.pulls[group.name] if name.endswith("/minor") else ()))
            for group in groups
            for name in branches_of(group, config)
        }
        commits = tuple(self.commits[:100]) if watched(groups) else ()
        head = self.commits[0].oid
        return Repository("acme/fleet", "", "main", head, "", files, branches, commits=commits)

    # What people do

    def _merge(self, group: UpdateGroup, bump: Bump, today: date) -> None:
        name, number = group.name, sum(map(len, self.pulls.values())) + 1
        if self.lives[name]:
            self.lives[name][-1].ended = self.lives[name][-1].ended or today
        state = markers.MarkerState(name, BumpKind.MINOR, bump.target)
        pull = PullRequest(
            number=number,
            id="",
            url=f"https://git.example/acme/fleet/pull/{number}",
            state=PullState.MERGED,
            is_draft=False,
            title="",
            body=markers.block("", state),
            labels=(),
            head=None,
            is_conflicting=False,
            created_at="",
            closed_at=f"{today}T12:00:00Z",
        )
        self.pulls[name].insert(0, pull)
        self.at[name] = str(bump.target)
        is_hurried = (name, self.at[name]) in self.told and self.told[name, self.at[name]] + HURRIED_AFTER <= today
        self.lives[name].append(Life(self.at[name], today, self.dice.choice(self.fates), is_hurried))
        self._commit(today)

    def _people(self, today: date) -> None:
        """What Flux posts, and what people do about it, before the day's run."""
        for name in self.names:
            life = self.lives[name][-1] if self.lives[name] else None
            if life is None or life.ended is not None:
                continue
            age = (today - life.merged).days
            if life.healthy is not None:
                self._post(name, "success")  # Flux reports on each commit
            elif life.fate == "forged":
                self._post(name, "success", "mallory")
            elif life.fate == "reverted" and age == 2:
                life.ended = today
                self.reverted[name].add(life.version)
                before = [each for each in self.lives[name] if each.version not in self.reverted[name]]
                self.at[name] = before[-1].version if before else "v2.0.0"
                self._commit(today)
            elif life.fate in ("fails", "reverted") and age == 1:
                self._post(name, "failure")
            elif (life.fate, age) in (("healthy", 1), ("slow", 6), ("fails", 5)):
                if life.fate == "fails":
                    self._commit(today)
                self._post(name, "success")
                life.healthy = today

    def _commit(self, today: date) -> None:
        blobs = {_path(name): blob_id(self.at[name].encode()) for name in self.names}
        self.commits.insert(0, BaseCommit(f"c{len(self.commits)}", f"{today}T05:00:00Z", blobs))

    def _post(self, name: str, state: str, creator: str = "") -> None:
        statuses = {
            **self.commits[0].statuses,
            f"kustomization/flux-system/{name}": CommitStatus(state, creator or _flux(name)),
        }
        self.commits[0] = self.commits[0]._replace(statuses=statuses)


SOAKS = (1, 3, 7, 14)
RINGS = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "rings.md"


def _cadence(listed: tuple[Release, ...], soak: int, *, is_one_at_a_time: bool) -> str:
    """Return a row of the table: what a second group gets of a first one in which every release is healthy."""
    names = ("staging", "production")
    walk = Walk(
        listed,
        0,
        names=names,
        at=dict.fromkeys(names, "v2.0.0"),
        lives={name: [] for name in names},
        pulls={name: [] for name in names},
        reverted={name: set() for name in names},
        soak={"staging": timedelta(0), "production": timedelta(days=soak)},
        policies=dict.fromkeys(names, MINOR),
        fates=("healthy",),
        is_one_at_a_time=is_one_at_a_time,
    )
    walk.run()
    assert not any(life.is_hurried for life in walk.lives["production"])
    behind, since, days = (
        0,
        None,
        {name: [(life.merged, Version(life.version)) for life in walk.lives[name]] for name in names},
    )
    today = FIRST
    while today <= LAST:
        first, second = (max((tag for day, tag in days[name] if day <= today), default=NO_VERSION) for name in names)
        since = None if first == second else since or today
        behind = max(behind, (today - since).days if since is not None else 0)
        today += DAY
    got = {name: len(walk.lives[name]) for name in names}
    key = "yes" if is_one_at_a_time else "no"
    return f"| {soak} | {key} | {got['staging']} | {got['production']} | {behind} |"


@pytest.mark.parametrize("is_one_at_a_time", [False, True])
@pytest.mark.parametrize("soak", SOAKS)
def test_the_table_of_soaks_is_that_of_the_releases(soak: int, *, is_one_at_a_time: bool) -> None:
    path = require_shared("conformance", "releases", "releases.json")
    row = _cadence(parse_releases(path.read_bytes(), path.name), soak, is_one_at_a_time=is_one_at_a_time)
    assert row in RINGS.read_text(encoding="utf-8").splitlines()


def _path(name: str) -> str:
    return f"clusters/{name}/flux-system/gotk-components.yaml"


def _flux(name: str) -> str:
    return f"flux-{name}[bot]"


def _health(name: str) -> HealthStatus:
    return HealthStatus((f"kustomization/flux-system/{name}",), _flux(name))


@pytest.fixture(scope="module")
def walks() -> list[Walk]:
    path = require_shared("conformance", "releases", "releases.json")
    listed = parse_releases(path.read_bytes(), path.name)
    found = [Walk(listed, seed) for seed in range(3)]
    for each in found:
        each.run()
    return found


@pytest.fixture(scope="module")
def even_walks() -> list[Walk]:
    """Return walks in which no minor waits for an approval, and no user ends a wait."""
    path = require_shared("conformance", "releases", "releases.json")
    listed = parse_releases(path.read_bytes(), path.name)
    found = [Walk(listed, seed, policies=dict.fromkeys(NAMES, MINOR), hurries=False) for seed in range(3)]
    for walk in found:
        walk.run()
    return found


def test_no_ring_gets_what_the_ring_before_has_not_passed(walks: list[Walk]) -> None:
    """Each merge, against what happened in the ring before: computed without the code that decides."""
    merges = 0
    for walk in walks:
        for before, name in pairwise(NAMES):
            for life in walk.lives[name]:
                if life.is_hurried:
                    continue
                merges += 1
                (source,) = [each for each in walk.lives[before] if each.version == life.version]
                assert source.fate in ("healthy", "slow", "fails"), (walk.seed, name, life)
                assert source.healthy is not None
                assert source.healthy <= life.merged, (walk.seed, name, life)
                assert life.merged - source.merged >= SOAK[name], (walk.seed, name, life)
                assert source.ended is None or source.ended >= life.merged, (walk.seed, name, life)
        fates = Counter(life.fate for lives in walk.lives.values() for life in lives)
        counts = ", ".join(f"{name} {len(walk.lives[name])}" for name in NAMES)
        listed = ", ".join(f"{fate} {fates[fate]}" for fate in sorted(fates))
        tell(f"ring walk {walk.seed}: merged {counts}; {listed}; {walk.waits.total()} days of waiting, 0 wrong")
    assert merges > len(walks) * 20


def test_a_wait_without_an_end_is_told(walks: list[Walk]) -> None:
    assert [each for walk in walks for each in walk.untold] == []
    hurried = [life for walk in walks for lives in walk.lives.values() for life in lives if life.is_hurried]
    assert hurried, "the walks have waits that only a user ends"


def test_what_the_ring_before_has_passed_is_merged_on_the_first_day(even_walks: list[Walk]) -> None:
    for walk in even_walks:
        for before, name in pairwise(NAMES):
            merged = {each.version: each.merged for each in walk.lives[name]}
            for source in walk.lives[before]:
                if source.healthy is None:
                    assert source.version not in merged
                    continue
                # A ring that has reverted a minor is offered no other release of it.
                minor = Version(source.version).minor
                if any(Version(each).minor == minor for each in walk.reverted[name]):
                    continue
                due = max(source.healthy, source.merged + SOAK[name] + DAY * (SOAK[name] > timedelta(0)))
                if source.ended is None or source.ended >= due:
                    assert merged.get(source.version, LAST) <= due + DAY or due >= LAST, (walk.seed, name, source)


def test_reverts_of_a_ring_hold_the_next_ones(walks: list[Walk]) -> None:
    for walk in walks:
        for before, name in pairwise(NAMES):
            assert not walk.reverted[before] & {each.version for each in walk.lives[name] if not each.is_hurried}
    assert sum(sum(map(len, walk.reverted.values())) for walk in walks) > len(walks)


def test_the_page_shows_a_walk(walks: list[Walk], request: pytest.FixtureRequest) -> None:
    text = page(walks[1])
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text


INTRO = f"""\
<!-- Written by `make test PYTEST_ARGS=--update-golden`, from Flux's release list: change the code, not this page. -->

# Three rings compared

This page is for you if you plan to upgrade [ring by ring](../how-to/rings.md). The chart shows which release each ring \
would have run, from {FIRST} to {LAST}.

```yaml
# .github/flux-upgrade.yaml
groups:
  canary:
    paths: ["clusters/canary/**"]
    policy: minor
  staging:
    paths: ["clusters/staging/**"]
    policy: minor
    after: canary
    soak: 2d
  production:
    paths: ["clusters/production/**"]
    after: staging
    soak: 3d
```
"""
METHOD = """\
The releases and their dates are those of Flux. What happens in a ring is invented: about every second upgrade is \
healthy on the next day. Of the others, some need six days. Some fail, and are fixed or reverted. For some, the \
commit status is missing, or another user posted it. A ready pull request is merged on the same day. A user approves \
the minor upgrades of production after two to thirty days, or never. If a draft says that it needs you, the user ticks \
**do not wait** three days later.
"""
MEANINGS = {
    "healthy": "Flux reported success on the next day",
    "slow": "Flux reported success after six days",
    "fails": "Flux reported a failure, then success on a later commit",
    "reverted": "Flux reported a failure, and the upgrade was reverted",
    "missing": "Flux reported nothing",
    "forged": "another user posted the commit status",
}


def page(walk: Walk) -> str:
    lines = ["```mermaid", "gantt", "  dateFormat YYYY-MM-DD", "  axisFormat %Y"]
    for name in NAMES:
        lines.append(f"  section {name}")
        starts = [(life.merged, life.version) for life in walk.lives[name]]
        ends = [merged for merged, _ in starts[1:]] + [LAST]
        lines += [f"  {version[1:]} :{merged}, {end}" for (merged, version), end in zip(starts, ends, strict=True)]
    lines += ["```", "", "| In a ring | Upgrades | Of them in the next ring |", "| --- | --- | --- |"]
    for fate, meaning in MEANINGS.items():
        lives = [(name, life) for name in NAMES[:-1] for life in walk.lives[name] if life.fate == fate]
        later = {name: {each.version for each in walk.lives[following]} for name, following in pairwise(NAMES)}
        passed = sum(life.version in later[name] for name, life in lives)
        lines.append(f"| {meaning} | {len(lives)} | {passed} |")
    return "\n".join(
        [
            INTRO,
            *lines,
            "",
            "A release that the next ring did not get was overtaken by a newer one, or did not pass.",
            "",
            "## How it is computed",
            "",
            METHOD,
        ]
    )
