"""Text of a report → sentences and commands for its reader, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_STEP = re.compile(r"^Step (\d+) +(.*)$")
_PLACE = re.compile(r"^ {10}(\S.*)$")
_COMMAND = re.compile(r"^ +\$ (.*)$")
_NEXT = re.compile(r"^Next: +(.*)$")
_CLI = re.compile(r"\bFlux CLI (2\.\d+)")
_NUMBER = re.compile(r"(?:^| \()step (\d+)\)?$")


class Instruction(NamedTuple):
    sentence: str
    command: str = ""  # To be typed; empty: the sentence is all there is
    places: tuple[str, ...] = ()


class Report(NamedTuple):
    text: str
    steps: tuple[Instruction, ...]
    next: str  # Empty: there is nothing to do

    @property
    def remaining(self) -> Iterator[Instruction]:
        """The steps from the one that ``Next:`` names on."""
        named = _NUMBER.search(self.next)
        is_reached = False
        for number, step in enumerate(self.steps, 1):
            is_reached |= int(named[1]) == number if named is not None else step.command == self.next
            if is_reached:
                yield step
        assert is_reached or not self.next, f"`Next:` names no step:\n{self.text}"


def cli_in(text: str) -> str:
    """Return the minor of the Flux CLI that a text names; empty: none."""
    match = _CLI.search(text)
    return match[1] if match is not None else ""


def report_of(text: str) -> Report:
    steps: list[Instruction] = []
    following = ""
    for line in text.splitlines():
        step, command, after = _STEP.match(line), _COMMAND.match(line), _NEXT.match(line)
        place = _PLACE.match(line)
        if step is not None:
            steps.append(Instruction(step[2]))
        elif command is not None:
            steps[-1] = steps[-1]._replace(command=command[1])
        elif place is not None and steps:
            steps[-1] = steps[-1]._replace(places=(*steps[-1].places, place[1]))
        elif after is not None:
            following = after[1]
    return Report(text, tuple(steps), following)
