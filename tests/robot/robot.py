"""A reader who does what is printed, to the letter and nothing else."""

from __future__ import annotations

import re

from robot.laptop import Laptop
from robot.reading import Instruction, Report, cli_in, report_of

FIRST = "flux-upgrade plan"
_MOST = 40  # Reports on one way
_KNOWN = re.compile(
    r"Review the changed files, commit them, and merge them\b|Commit v\S+, merge it into \S+, and wait until Flux"
    r"|Merge the migration, and wait until Flux|Wait until Flux has reconciled them$|Check that the FluxInstance is ready"
)


def follow(laptop: Laptop) -> None:
    """Begin with ``plan``, and obey ``Next:`` until there is none."""
    report = report_of(laptop.run(FIRST))
    for _ in range(_MOST):
        if not report.next:
            return
        report = _followed(laptop, report)
    raise AssertionError(f"{laptop.cluster.told}\nno end")


def _followed(laptop: Laptop, report: Report) -> Report:
    """Return the next report: that of a command, or a new plan once all steps are taken."""
    for step in report.remaining:
        if step.command:
            said = report_of(laptop.run(step.command, cli_in(step.sentence)))
            if said.text:
                return said
        else:
            _perform(laptop, step)
    return report_of(laptop.run(FIRST))


def _perform(laptop: Laptop, step: Instruction) -> None:
    sentence = step.sentence
    assert _KNOWN.match(sentence), f"{laptop.cluster.told}\nthe reader cannot do this: {sentence}"
    laptop.cluster.log.append(f"> {sentence}")
    if re.search(r"\bcommit\b", sentence, re.IGNORECASE):
        laptop.commit()
    if re.search(r"\bmerge\b", sentence, re.IGNORECASE):
        laptop.push()
    if re.search(r"\bwait until Flux\b", sentence, re.IGNORECASE):
        laptop.cluster.wait()
