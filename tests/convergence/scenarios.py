"""What a run may have to do: each scenario is a state of the repository, and the run that acts on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from github_stand_in.people import People

from convergence.dashboards import tick
from convergence.events import payload_of
from convergence.fleet import CONFIG, MINOR, PATCH, PATH, Event, Fleet, fleet_at, installation, manifest
from convergence.pictures import Picture, Snapshot
from convergence.runs import Ran

_SUMMARY = "pending: summary\n"
_EXTRAS = """pending: summary
labels: [flux]
assignees: [alice]
reviewers: [bob, acme/platform]
auto-merge: patch
"""
_CLOSED = "schedule: '* * 29 2 *'\n"
"""No run is made on that day."""
_ONE_AT_A_TIME = "pending: summary\nlimits: {open: 1}\n"
_MERGING = "pending: summary\nauto-merge: patch\n"
_AUTO_MERGE = {"auto_merge": True, "required_contexts": ("ci",)}
_TWO = ("production", "staging")
_CANARY = "flux-upgrade/canary/minor"
_NO_DRAFTS = {"drafts": False}
_LOOK = "GRAPHQL query"
_HISTORY = (_LOOK, "GET /git/blobs/{sha}")
"""Asked for where a minor is new to the run."""
_COMMIT = ("POST /git/trees", "POST /git/commits")
_OPEN = ("POST /git/refs", "POST /pulls")
_UPDATE = (*_COMMIT, "GRAPHQL updateRefs", "POST /statuses/{sha}")
_ASK = "GET /collaborators/alice/permission"
_READY = "GRAPHQL markPullRequestReadyForReview"
_COMMENTS = "GET /issues/1/comments"
_EDIT = ("GET /pulls/1", "PATCH /pulls/1")
_DASHBOARD = "pending: summary\ndashboard: true\n"
_DASHBOARD_AND_DRAFTS = "dashboard: true\n"


def _edit_issue(number: int) -> tuple[str, str]:
    return f"GET /issues/{number}", f"PATCH /issues/{number}"


@dataclass(frozen=True, eq=False)
class Scenario:
    """``prepare`` leads to the state; ``inputs`` are those of the run that is disturbed."""

    name: str
    tag: str
    prepare: Callable[[Fleet], object]
    calls: tuple[str, ...]
    """That the run makes, undisturbed: see ``name_of``."""
    branch: str = MINOR
    target: str = "v2.9.4"
    inputs: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    """What a user did to the first pull request, if that starts the run and not the schedule."""
    config: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    clusters: tuple[str, ...] = ("production",)

    @property
    def files(self) -> dict[str, bytes]:
        """Its installations, all of them at ``tag``."""
        folders = (f"clusters/{name}" for name in self.clusters)
        return {path: content for each in folders for path, content in installation(self.tag, each).items()}

    def event(self, fleet: Fleet) -> Event:
        """What starts the run."""
        return payload_of(fleet, fleet.repository.pulls[1], self.answer) if self.answer else "schedule"


@dataclass(frozen=True)
class Staged:
    """A scenario on its stand-in, and what comes of it undisturbed."""

    scenario: Scenario
    fleet: Fleet
    start: Snapshot
    unasked: Picture
    """What a run of the schedule makes of it, without the inputs."""
    after: Picture
    acting: Ran
    idle: Ran
    """The run after it."""


def _nothing(_: Fleet) -> None:
    """The first run ever."""


def _proposed(fleet: Fleet) -> None:
    """Something is open: a pull request, a draft, an issue."""
    assert fleet.run().outcome == "opened"


def _newer_patch(fleet: Fleet) -> None:
    """There is a release that is newer than what is proposed."""
    fleet.release("v2.8.6", "v2.8.7", "v2.9.4")
    _proposed(fleet)
    fleet.release("v2.8.6", "v2.8.7", "v2.8.8", "v2.9.4")


def _approved_and_newer_patch(fleet: Fleet) -> None:
    """The same, once a person has marked it ready."""
    fleet.release("v2.8.8", "v2.9.3")
    _proposed(fleet)
    fleet.people.mark_ready(1)
    fleet.run()
    fleet.release("v2.8.8", "v2.9.3", "v2.9.4")


def _labelled(fleet: Fleet) -> None:
    _proposed(fleet)
    fleet.people.label(1, "flux-upgrade/approved")


def _configured(fleet: Fleet) -> None:
    """The config file names people and labels by now."""
    _proposed(fleet)
    fleet.people.push("main", {CONFIG: _EXTRAS.encode()}, "Ask people\n")


def _merging(fleet: Fleet) -> None:
    """It merges automatically, and the schedule of the config file is closed by now."""
    _proposed(fleet)
    fleet.people.push("main", {CONFIG: (_MERGING + _CLOSED).encode()}, "Set a schedule\n")


def _merging_again(fleet: Fleet) -> None:
    """The schedule was closed, and is open again."""
    _merging(fleet)
    fleet.run()
    fleet.people.push("main", {CONFIG: _MERGING.encode()}, "Remove the schedule\n")


def _updated_and_released(fleet: Fleet) -> None:
    """GitHub merged the base into the branch, and then there is a newer release."""
    _newer_patch(fleet)
    fleet.people.advance_base()
    fleet.people.update_branch(1)


def _rebase_asked(fleet: Fleet) -> None:
    """Somebody pushed, and then asked for the commit to be made anew."""
    _proposed(fleet)
    fleet.people.push(MINOR, {"NOTES.md": b"mine\n"})
    fleet.people.tick(1, "rebase")


def _pushed(fleet: Fleet) -> None:
    """Somebody pushed."""
    _proposed(fleet)
    fleet.people.push(MINOR, {"NOTES.md": b"mine\n"})


def _box_ticked(fleet: Fleet) -> None:
    """Somebody ticked a box of the dashboard, which is the second issue or pull request."""
    _proposed(fleet)
    tick(fleet, "approve-", "2.9")


def _dashboard_wanted(fleet: Fleet) -> None:
    _proposed(fleet)
    fleet.people.push("main", {CONFIG: _DASHBOARD.encode()}, "Switch on\n")


def _no_dashboard(fleet: Fleet) -> None:
    """Nobody wants the dashboard any more."""
    _proposed(fleet)
    fleet.people.push("main", {CONFIG: _SUMMARY.encode()}, "Switch off\n")


def _opened_by_a_stranger(fleet: Fleet) -> None:
    """A program closed ours, and a user without write access opened one from its branch, with its text."""
    _proposed(fleet)
    People(fleet.repository, "stale[bot]").close(1)
    People(fleet.repository, "mallory").open_pull(PATCH, "Upgrade Flux", fleet.repository.pulls[1].body)


def _marked_ready_by_a_stranger(fleet: Fleet) -> None:
    _proposed(fleet)
    fleet.repository.settings.roles["carol"] = "triage"
    People(fleet.repository, "carol").mark_ready(1)


def _merged(fleet: Fleet) -> None:
    _proposed(fleet)
    fleet.people.merge(1, "squash")


def _reopened(fleet: Fleet) -> None:
    _proposed(fleet)
    fleet.people.close(1)
    fleet.people.reopen(1)


def _done_by_hand(fleet: Fleet) -> None:
    _proposed(fleet)
    fleet.people.push("main", {PATH: manifest("v2.8.8")}, "Upgrade Flux by hand\n")


RINGS = """groups:
  canary:
    paths: [clusters/production/**]
    policy: minor
    healthy: {context: kustomization/flux-system/canary, creator: alice}
    on-failure: revert
  staging:
    paths: [clusters/staging/**]
    after: canary
"""


_SOAKS = """groups:
  canary: {paths: [clusters/production/**], policy: none}
  staging: {paths: [clusters/staging/**], policy: minor, after: canary, soak: 3d}
"""


def _upgraded_with_an_old_commit(fleet: Fleet) -> None:
    """Give the first of two groups the release by a commit that was made long ago."""
    _proposed(fleet)
    fleet.people.push("main", {PATH: manifest("v2.9.4")}, "Upgrade Flux by hand\n", age=40 * 24 * 3600)


def _failed(fleet: Fleet) -> None:
    """The first of two groups has merged an upgrade, after which Flux reports a failure."""
    _proposed(fleet)
    (number,) = [each.number for each in fleet.repository.pulls.values() if each.head == _CANARY]
    fleet.people.merge(number, "squash")
    fleet.run()
    fleet.people.post_status("kustomization/flux-system/canary", "failure")


SCENARIOS = (
    Scenario(
        "opening",
        "v2.8.7",
        _nothing,
        (
            *(_LOOK, *_COMMIT, *_OPEN, "PATCH /issues/1", "POST /pulls/1/requested_reviewers"),
            *("GRAPHQL enablePullRequestAutoMerge", "POST /statuses/{sha}"),
        ),
        PATCH,
        "v2.8.8",
        config=_EXTRAS,
        settings=_AUTO_MERGE,
    ),
    Scenario("updating", "v2.8.6", _newer_patch, (_LOOK, *_UPDATE, *_EDIT), PATCH, "v2.8.8", config=_SUMMARY),
    Scenario("updating what was approved", "v2.8.8", _approved_and_newer_patch, (_LOOK, *_HISTORY, *_UPDATE, *_EDIT)),
    Scenario(
        "opening what was approved",
        "v2.8.8",
        _nothing,
        (_LOOK, *_HISTORY, *_COMMIT, *_OPEN, "POST /statuses/{sha}"),
        inputs={"approve": "2.9"},
    ),
    Scenario("approving by dispatch", "v2.8.8", _proposed, (_LOOK, _READY, *_EDIT), inputs={"approve": "2.9"}),
    Scenario(
        "approving one version", "v2.8.8", _proposed, (_LOOK, *_EDIT, _READY, *_EDIT), inputs={"approve": "v2.9.4"}
    ),
    Scenario(
        "approving by label",
        "v2.8.8",
        _labelled,
        (_LOOK, _ASK, _READY, *_EDIT, "DELETE /issues/1/labels/flux-upgrade%2Fapproved"),
    ),
    Scenario(
        "answering a label",
        "v2.8.8",
        _labelled,
        (_LOOK, _ASK, _READY, *_EDIT, "DELETE /issues/1/labels/flux-upgrade%2Fapproved"),
        answer="labeled",
    ),
    Scenario("rebasing", "v2.8.8", _rebase_asked, (_LOOK, _ASK, *_UPDATE, *_EDIT)),
    Scenario(
        "giving labels and people later",
        "v2.8.7",
        _configured,
        (
            *(_LOOK, "POST /issues/1/labels", "POST /issues/1/assignees", "POST /pulls/1/requested_reviewers"),
            *("GRAPHQL enablePullRequestAutoMerge", *_EDIT),
        ),
        PATCH,
        "v2.8.8",
        config=_SUMMARY,
    ),
    Scenario(
        "turning auto-merge off",
        "v2.8.7",
        _merging,
        (_LOOK, *_EDIT, "GRAPHQL disablePullRequestAutoMerge"),
        PATCH,
        "v2.8.8",
        config=_MERGING,
        settings=_AUTO_MERGE,
    ),
    Scenario(
        "turning auto-merge on again",
        "v2.8.7",
        _merging_again,
        (_LOOK, "GRAPHQL enablePullRequestAutoMerge", *_EDIT),
        PATCH,
        "v2.8.8",
        config=_MERGING,
        settings=_AUTO_MERGE,
    ),
    Scenario(
        "updating what GitHub updated",
        "v2.8.6",
        _updated_and_released,
        (_LOOK, *["GET /compare/{sha}...{sha}"] * 2, *_UPDATE, *_EDIT),
        PATCH,
        "v2.8.8",
        config=_SUMMARY,
    ),
    Scenario(
        "saying that a push stops us",
        "v2.8.8",
        _pushed,
        (_LOOK, _COMMENTS, "POST /issues/1/comments", _COMMENTS, *_EDIT),
    ),
    Scenario(
        "reverting what fails",
        "v2.8.8",
        _failed,
        (
            *(_LOOK, "GET /pulls/2", "PATCH /pulls/2", _COMMENTS, "POST /issues/1/comments", _COMMENTS, *_EDIT),
            *(_LOOK, "GRAPHQL revertPullRequest"),
        ),
        f"revert-1-{_CANARY}",
        config=RINGS,
        clusters=_TWO,
    ),
    Scenario(
        "beginning a soak",
        "v2.8.8",
        _upgraded_with_an_old_commit,
        (_LOOK, *_EDIT, "GET /pulls/2", "PATCH /pulls/2"),
        "flux-upgrade/staging/minor",
        config=_SOAKS,
        clusters=_TWO,
    ),
    Scenario(
        "replacing what a stranger opened",
        "v2.8.7",
        _opened_by_a_stranger,
        (
            *(_LOOK, "GET /issues/2/comments", "POST /issues/2/comments", "GET /issues/2/comments"),
            *("GET /pulls/2", "PATCH /pulls/2", "POST /pulls", "POST /statuses/{sha}"),
        ),
        PATCH,
        "v2.8.8",
        config=_SUMMARY,
    ),
    Scenario(
        "undoing what may not be approved",
        "v2.8.8",
        _marked_ready_by_a_stranger,
        (_LOOK, "GET /collaborators/carol/permission", "GRAPHQL convertPullRequestToDraft"),
    ),
    Scenario("recording who reopened", "v2.8.7", _reopened, (_LOOK, _ASK, *_EDIT), PATCH, "v2.8.8", config=_SUMMARY),
    Scenario(
        "deleting a merged branch", "v2.8.7", _merged, (_LOOK, "GRAPHQL updateRefs"), PATCH, "v2.8.8", config=_SUMMARY
    ),
    Scenario("closing", "v2.8.7", _done_by_hand, (_LOOK, *_EDIT), PATCH, "v2.8.8", config=_SUMMARY),
    Scenario(
        "an issue for a draft",
        "v2.8.8",
        _nothing,
        (_LOOK, *_HISTORY, *_COMMIT, *_OPEN, "POST /issues"),
        settings=_NO_DRAFTS,
    ),
    Scenario(
        "opening in place of the issue",
        "v2.8.8",
        _labelled,
        (_LOOK, _ASK, "POST /pulls", "POST /statuses/{sha}", *_edit_issue(1)),
        settings=_NO_DRAFTS,
    ),
    Scenario(
        "opening one of two",
        "v2.8.7",
        _nothing,
        (_LOOK, *_COMMIT, *_OPEN, "POST /statuses/{sha}"),
        PATCH,
        "v2.8.8",
        config=_ONE_AT_A_TIME,
        clusters=_TWO,
    ),
    Scenario(
        "closing one to open the other",
        "v2.8.7",
        _done_by_hand,
        (_LOOK, *_EDIT, *_COMMIT, *_OPEN, "POST /statuses/{sha}"),
        PATCH,
        "v2.8.8",
        config=_ONE_AT_A_TIME,
        clusters=_TWO,
    ),
    Scenario(
        "opening a dashboard", "v2.8.7", _dashboard_wanted, (_LOOK, "POST /issues"), PATCH, "v2.8.8", config=_SUMMARY
    ),
    Scenario(
        "updating a dashboard",
        "v2.8.6",
        _newer_patch,
        (_LOOK, *_UPDATE, *_EDIT, _LOOK, *_edit_issue(2)),
        PATCH,
        "v2.8.8",
        config=_DASHBOARD,
    ),
    Scenario(
        "approving by a box of the dashboard",
        "v2.8.8",
        _box_ticked,
        (_LOOK, _ASK, _READY, *_EDIT, _LOOK, *_edit_issue(2)),
        config=_DASHBOARD_AND_DRAFTS,
    ),
    Scenario(
        "closing a dashboard", "v2.8.7", _no_dashboard, (_LOOK, *_edit_issue(2)), PATCH, "v2.8.8", config=_DASHBOARD
    ),
)


@contextmanager
def staged(scenario: Scenario, folder: Path) -> Iterator[Staged]:
    """The scenario, played once without a fault."""
    with fleet_at(folder, scenario.files, scenario.config, **scenario.settings) as fleet:
        fleet.hub.drop_seconds = 0.0
        scenario.prepare(fleet)
        start = fleet.snapshot()
        fleet.run()
        unasked = fleet.picture()
        fleet.restore(start)
        acting = fleet.run(scenario.inputs, event=scenario.event(fleet))
        after = fleet.picture()
        idle = fleet.run()
        assert fleet.picture() == after
        assert acting.calls == scenario.calls
        assert not idle.writes, idle.writes
        yield Staged(scenario, fleet, start, unasked, after, acting, idle)
