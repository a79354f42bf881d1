"""A reader who does what is printed, to the letter and nothing else."""

from __future__ import annotations

import re
from typing import Protocol

from robot.cluster import FollowingCluster
from robot.pair import Pair
from robot.reading import Instruction, Report, cli_in, report_of

_MOST = 40  # Reports on one way
_KNOWN = re.compile(
    r"Review the changed files, commit them, and merge them\b|Commit v\S+, merge it into \S+, and wait until Flux"
    r"|Write the manifest of v\S+ with your flags|Fix the patches that break with v\S+|Wait until Flux has reconciled v\S+ in every cluster that follows the tag"
    r"|Merge the migration, and wait until Flux|Wait until Flux has reconciled (?:them|it|the migration|v\S+)$|Check that the FluxInstance is ready"
)
_BRANCH = re.compile(r"^Upgrade to \S+: merge the branch `([^`]+)`$")
_ITEM = re.compile(r"(\S+):(\d+), .*\bRemove it\b")


class Desk(Protocol):
    """The place in which commands are typed."""

    @property
    def cluster(self) -> FollowingCluster | Pair: ...
    @property
    def first(self) -> str: ...  # The command to begin with
    def run(self, command: str, cli: str = "") -> str: ...
    def commit(self) -> None: ...
    def push(self) -> None: ...
    def apply(self) -> None: ...  # Run Terraform
    def merge(self, branch: str) -> None: ...
    def remove_item(self, path: str, line: int) -> None: ...


def follow(desk: Desk) -> None:
    """Begin with ``plan``, and obey ``Next:`` until there is none."""
    report = report_of(desk.run(desk.first))
    for _ in range(_MOST):
        if not report.next:
            return
        report = _followed(desk, report)
    raise AssertionError(f"{desk.cluster.told}\nno end")


def _followed(desk: Desk, report: Report) -> Report:
    """Return the next report: that of a command, or a new plan once all steps are taken."""
    for step in report.remaining:
        if step.command:
            said = report_of(desk.run(step.command, cli_in(step.sentence)))
            if said.text:
                return said
        else:
            _perform(desk, step)
    return report_of(desk.run(desk.first))


def _perform(desk: Desk, step: Instruction) -> None:
    sentence = step.sentence
    branch = _BRANCH.match(sentence)
    if branch is not None:
        desk.cluster.log.append(f"> {sentence}")
        desk.merge(branch[1])
        return
    assert _KNOWN.match(sentence), f"{desk.cluster.told}\nthe reader cannot do this: {sentence}"
    desk.cluster.log.append(f"> {sentence}")
    if sentence.startswith("Fix the patches"):
        items = [match for match in map(_ITEM.match, step.places) if match is not None]
        assert items, f"{desk.cluster.told}\nno place says what to do: {step.places}"
        for item in items:
            desk.remove_item(item[1], int(item[2]))
    if re.search(r"\bcommit\b", sentence, re.IGNORECASE):
        desk.commit()
    if re.search(r"\bmerge\b", sentence, re.IGNORECASE):
        desk.push()
    if re.search(r"\bapply (?:it with Terraform|the changed Terraform files)\b", sentence, re.IGNORECASE):
        desk.apply()
    if re.search(r"\bwait until Flux\b", sentence, re.IGNORECASE):
        desk.cluster.wait()
