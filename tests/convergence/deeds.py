"""What people do while a run is at work, and what must have become of it once the runs have come to rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from github_stand_in.model import Pull

from convergence.fleet import PATH, manifest
from convergence.pictures import Picture, difference
from convergence.runs import Ran
from convergence.scenarios import Staged
from flux_upgrade.model import markers
from flux_upgrade.model.versions import Version

_MINE: dict[str, bytes | None] = {"NOTES.md": b"Mine.\n"}
_MESSAGE = "Add notes\n"


@dataclass(frozen=True)
class Deed:
    """What a person does. ``judged`` says what is wrong once the runs have come to rest."""

    name: str
    do: Callable[[Staged], object]
    judged: Callable[[Staged, Ran], str]
    is_text: bool = False
    """It changes what a PATCH replaces. GitHub cannot compare and swap that: what is done after the call
    that looks once more, and before the PATCH, would be lost."""


def _pushes(stage: Staged) -> None:
    stage.fleet.people.push(stage.scenario.branch, _MINE, _MESSAGE)


def _merges(stage: Staged) -> None:
    if _is_open(stage) and not stage.fleet.repository.pulls[1].is_draft:
        stage.fleet.people.merge(1, "squash")


def _closes(stage: Staged) -> None:
    if _is_open(stage):
        stage.fleet.people.close(1)


def _deletes(stage: Staged) -> None:
    if stage.fleet.repository.head(stage.scenario.branch):
        stage.fleet.people.delete_branch(stage.scenario.branch)


def _readies(stage: Staged) -> None:
    stage.fleet.people.mark_ready(1)


def _writes(stage: Staged) -> None:
    body = stage.fleet.repository.pulls[1].body
    stage.fleet.people.edit(1, title="My words", body=f"Please wait.\n\n{body}")


def _ticks(stage: Staged) -> None:
    stage.fleet.people.tick(1, "skip")


def _upgrades(stage: Staged) -> None:
    files: dict[str, bytes | None] = {PATH: manifest(stage.scenario.target)}
    stage.fleet.people.push("main", files, "Upgrade Flux by hand\n")


def _works(stage: Staged) -> None:
    stage.fleet.people.advance_base(content=b"Something else.\n")


def _reverts(stage: Staged) -> None:
    people, repository, branch = stage.fleet.people, stage.fleet.repository, stage.scenario.branch
    if not repository.head(branch):
        people.revert(repository.pulls[1].merge_commit, branch, start=repository.head())
        people.open_pull(branch, "Back")


def _closes_the_revert(stage: Staged) -> None:
    for pull in _reverting(stage):
        stage.fleet.people.close(pull.number)


def _reverting(stage: Staged) -> list[Pull]:
    return [each for each in stage.fleet.repository.pulls.values() if each.head == stage.scenario.branch]


def _is_open(stage: Staged) -> bool:
    pull = stage.fleet.repository.pulls.get(1)
    return pull is not None and pull.state == "open"


# What must have become of it


def _problems(stage: Staged, rest: Ran) -> Iterator[str]:
    """Whatever was done: one pull request at most, made of one commit that holds what it says."""
    fleet = stage.fleet
    pulls = [pull for pull in fleet.repository.pulls.values() if pull.state == "open"]
    if len(pulls) > 1:
        yield f"{len(pulls)} pull requests are open"
    for pull in pulls:
        head = fleet.repository.store.read(fleet.repository.head(pull.head))
        state = markers.state_of(pull.body)
        if state is None:
            yield "the body has no block"
        elif "Flux-Upgrade" in head.message and (
            fleet.repository.files(pull.head)[_path_of(pull.head)] != manifest(state.target) or len(head.parents) != 1
        ):
            yield "the commit holds something else"
    if rest.code != 0:
        yield f"it ends with {rest.code}: {rest.log}"


def _path_of(branch: str) -> str:
    """The manifest that a pull request of ours is about."""
    cluster = branch.split("/")[1].replace(".", "/")
    return f"{cluster}/flux-system/gotk-components.yaml"


def _sane(stage: Staged, rest: Ran) -> str:
    return "; ".join(_problems(stage, rest))


def _kept(stage: Staged, rest: Ran) -> str:
    """The commit that was pushed is on the branch."""
    store = stage.fleet.repository.store
    head = stage.fleet.repository.head(stage.scenario.branch)
    if not head or not any(store.read(oid).message == _MESSAGE for oid in store.log(head, 10)):
        return "what was pushed is lost"
    return _sane(stage, rest)


def _as_before(stage: Staged, rest: Ran) -> str:
    """As if nothing had been done, but for the base."""
    wanted, found = _above_base(stage.after), _above_base(stage.fleet.picture())
    return _sane(stage, rest) if wanted == found else f"it differs: {difference(wanted, found)}"


def _above_base(whole: Picture) -> Picture:
    return {**whole, "branches": [name for name in whole["branches"] if not name.endswith("/main")]}


def _refused(stage: Staged, rest: Ran) -> str:
    """What was closed stays closed, and the same is not proposed again."""
    fleet = stage.fleet
    pulls = fleet.repository.pulls
    closed = [pull for pull in pulls.values() if pull.state == "closed"]
    if not closed:
        return _sane(stage, rest)
    states = [state for pull in pulls.values() if (state := markers.state_of(pull.body))]
    # Who refuses a minor refuses its later patches, too.
    targets = [(each.group, each.target if each.subject == "patch" else Version(each.target).minor) for each in states]
    if len(targets) != len(set(targets)):
        return f"it was proposed again: {targets}"
    return _sane(stage, rest)


def _merged(stage: Staged, rest: Ran) -> str:
    """A merge is no revert."""
    if "reverted" in rest.log:
        return f"it takes a merge for a revert: {rest.log}"
    return _refused(stage, rest)


def _approved(stage: Staged, rest: Ran) -> str:
    pull = stage.fleet.repository.pulls[1]
    if pull.state == "open" and pull.is_draft:
        return "it is a draft again"
    if "needs approval" in rest.log:
        return "it needs approval"
    return _sane(stage, rest)


def _written(stage: Staged, rest: Ran) -> str:
    """Title and text are still there."""
    for pull in stage.fleet.repository.pulls.values():
        if pull.title != "My words" or not pull.body.startswith("Please wait."):
            return f"the words of a person are gone: {pull.title}"
    return _sane(stage, rest)


def _skipped(stage: Staged, rest: Ran) -> str:
    if stage.fleet.repository.pulls[1].state == "open":
        return "it is still open"
    return _refused(stage, rest)


def _done(stage: Staged, rest: Ran) -> str:
    """Nothing is left to do."""
    if any(pull.state == "open" for pull in stage.fleet.repository.pulls.values()):
        return "a pull request is still open"
    return _sane(stage, rest)


def _told_once(stage: Staged, rest: Ran) -> str:
    """There is one comment, and one pull request that reverts it."""
    comments, pulls = stage.fleet.repository.pulls[1].comments, _reverting(stage)
    if (len(comments), len(pulls)) != (1, 1):
        return f"{len(comments)} comments, {len(pulls)} reverts"
    return "" if rest.code == 0 else f"it ends with {rest.code}: {rest.log}"


def _soaks(stage: Staged, rest: Ran) -> str:
    """Find what is wrong if the second pull request is not the draft that records when the soak began."""
    pull = stage.fleet.repository.pulls[2]
    state = markers.state_of(pull.body)
    if pull.state != "open" or not pull.is_draft or state is None or not state.rings:
        return f"#2 is {pull.state}, and records {state and state.rings}"
    return "" if rest.code == 0 else f"it ends with {rest.code}: {rest.log}"


PUSHES = Deed("pushes to the branch", _pushes, _kept)
MERGES = Deed("merges", _merges, _merged)
CLOSES = Deed("closes it", _closes, _refused)
DELETES = Deed("deletes the branch", _deletes, _refused)
READIES = Deed("marks it ready", _readies, _approved)
WRITES = Deed("edits title and text", _writes, _written, is_text=True)
TICKS = Deed("ticks the box to skip it", _ticks, _skipped, is_text=True)
UPGRADES = Deed("upgrades by hand", _upgrades, _done)
WORKS = Deed("works on something else", _works, _as_before)
REVERTS = Deed("reverts it too", _reverts, _told_once)
CLOSES_THE_REVERT = Deed("closes the revert", _closes_the_revert, _told_once)
WAITS = Deed("works on something else", _works, _soaks)
GOES_ON = Deed("works on something else", _works, _told_once)
DEEDS: dict[str, tuple[Deed, ...]] = {
    "opening": (PUSHES, MERGES, CLOSES, DELETES, UPGRADES, WORKS),
    "updating": (PUSHES, MERGES, CLOSES, DELETES, WRITES, TICKS, UPGRADES, WORKS),
    "updating what was approved": (PUSHES, MERGES, CLOSES, DELETES, WRITES, TICKS, UPGRADES, WORKS),
    "opening what was approved": (PUSHES, MERGES, CLOSES, DELETES, UPGRADES, WORKS),
    "approving by dispatch": (PUSHES, MERGES, READIES, WRITES, UPGRADES, WORKS),
    "approving one version": (PUSHES, MERGES, READIES, WRITES, UPGRADES, WORKS),
    "approving by label": (PUSHES, MERGES, CLOSES, DELETES, READIES, WRITES, TICKS, UPGRADES, WORKS),
    "answering a label": (PUSHES, MERGES, CLOSES, DELETES, READIES, WRITES, TICKS, UPGRADES, WORKS),
    "rebasing": (MERGES, CLOSES, DELETES, READIES, WRITES, TICKS),
    "giving labels and people later": (PUSHES, CLOSES, WRITES, WORKS),
    "turning auto-merge off": (PUSHES, CLOSES, WORKS),
    "turning auto-merge on again": (PUSHES, CLOSES, WORKS),
    "updating what GitHub updated": (PUSHES, CLOSES, DELETES, WORKS),
    "saying that a push stops us": (PUSHES, CLOSES, DELETES, READIES, WRITES, TICKS),
    "reverting what fails": (REVERTS, CLOSES_THE_REVERT, GOES_ON),
    "beginning a soak": (WAITS,),
    "replacing what a stranger opened": (PUSHES, WORKS),
    "undoing what may not be approved": (PUSHES, CLOSES, DELETES, WRITES, WORKS),
    "recording who reopened": (PUSHES, CLOSES, DELETES, WORKS),
    "deleting a merged branch": (WORKS,),
    "closing": (PUSHES, CLOSES, DELETES, WORKS),
    "an issue for a draft": (PUSHES, DELETES, UPGRADES, WORKS),
    "opening in place of the issue": (PUSHES, MERGES, CLOSES, DELETES, UPGRADES, WORKS),
    "opening one of two": (PUSHES, MERGES, WORKS),
    "closing one to open the other": (CLOSES, WORKS),
    "opening a dashboard": (CLOSES, WORKS),
    "updating a dashboard": (PUSHES, CLOSES, WORKS),
    "approving by a box of the dashboard": (PUSHES, WORKS),  # The box proposes again what is closed
    "closing a dashboard": (CLOSES, WORKS),
}
