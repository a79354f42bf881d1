"""Findings: what an upgrade breaks or changes, as one value that text, Markdown and JSON are made from.

Where the reports differ, a finding carries both sides: ``heading`` is the text report's, ``task`` and
``item`` are the pull request's, ``title`` and ``message`` are an annotation's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.findings.json_fields import fields
from flux_upgrade.findings.phrases import Style, in_order, is_broken_already, sentences
from flux_upgrade.impact.api_uses.flux_file import ApiUse
from flux_upgrade.impact.impact import Harm, Hit
from flux_upgrade.impact.migrate.result import Left, Migrated, Move
from flux_upgrade.model.markdown import counted
from flux_upgrade.model.text import first_few
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.policy.hold_reasons import HoldReason

_FEW = 3


class Severity(IntEnum):
    """The most severe first: the order of the tasks in a pull request."""

    BREAKS = 0  # It fails, or something is lost
    RISKS = 1  # It fails if something is so that no file shows
    CHANGES = 2  # It goes on to work, and does something else
    REVIEW = 3  # It works, but lacks something new, or is not tested
    NOTE = 4


class KnownChange(NamedTuple):
    """A change of a release, told once for all places that it concerns."""

    since: str  # The minor: `2.9`
    rule: str
    what: str
    source: str  # Where Flux says so: an address
    hint: str = ""
    harm: Harm = Harm.DIFFERS


class Finding(NamedTuple):
    severity: Severity
    path: str = ""  # Relative to the repository's root; empty: it concerns the cluster as a whole
    line: int = 0
    names: tuple[str, ...] = ()  # What is there: a resource, an API version
    what: str = ""
    remedy: str = ""  # What to do about it; of a known change the line that keeps the old behaviour
    heading: str | None = None  # What it stands below in text; empty: nothing, None: text leaves it out
    task: str = ""  # What to do about it and its like, in Markdown; `{target}` is the release. Empty: nothing.
    holds: tuple[HoldReason, ...] = ()
    title: str = ""  # Of an annotation on its line; empty: it gets none
    message: str = ""  # Of the annotation, where it is not `what` and `remedy`
    wording: str = ""  # Its line in a list, if it is not made from its other fields
    item: str = ""  # Its line below `task`, if that is another one
    order: tuple[Any, ...] = ()  # Its place below `task`; findings of several clusters with the same one are the same
    change: KnownChange | None = None
    after: tuple[str, ...] = ()  # Releases of other clusters, which have to be upgraded first

    def worded(self, style: Style) -> str:
        if self.wording or not self.path:
            return self.wording or sentences(style, self.what, self.remedy)
        where = ", ".join(map(style.code, self.names))
        parts = (style.code(f"{self.path}:{self.line}"), where, sentences(style, self.what, self.remedy))
        return ": ".join(filter(None, parts))


class FindingKind(NamedTuple):
    """How one kind of finding is made: a row of the table."""

    find: Callable[[Assessment, Version, Style], Iterable[Finding]]
    """From what is known of an upgrade to a release; what is worded, in a style."""
    rank: int = 9  # Which annotations come first: GitHub shows a few
    is_for_minors: bool = False
    """Whether a pull request of a patch leaves it out: a patch asks for what the release before it did."""


def by_change(findings: Iterable[Finding]) -> Iterator[tuple[KnownChange, list[Finding]]]:
    """The findings of each known change, oldest change first, each place once."""
    found: dict[tuple[str, str], tuple[KnownChange, dict[tuple[str, int, str], Finding]]] = {}
    for each in findings:
        if each.change is not None:
            _, places = found.setdefault((each.change.since, each.change.rule), (each.change, {}))
            places.setdefault((each.path, each.line, each.remedy), each)
    for _, (change, places) in sorted(found.items(), key=lambda each: each[0]):
        yield change, sorted(places.values(), key=lambda each: (each.path, each.line))


def first_places(findings: Sequence[Finding]) -> str:
    """Return where the first few findings are."""
    return first_few([f"{finding.path}:{finding.line}" for finding in findings], _FEW)


def change_task(change: KnownChange, places: Sequence[Finding]) -> str:
    """What to do about a known change, and how many resources it concerns; without a full stop."""
    count = len({(each.path, each.names) for each in places})
    resources = counted(count, "resource")
    if change.harm is Harm.DIFFERS:
        return f"Review {resources} that {'behaves' if count == 1 else 'behave'} differently in Flux {change.since}"
    return f"{'Fix' if change.harm is Harm.BREAKS else 'Check'} {resources} that Flux {change.since} {change.harm}"


def uses_value(files: Iterable[Migrated]) -> list[dict[str, Any]]:
    """Each use of a version that is no longer served, and what becomes of it."""
    return [use_value(each) for file in files for each in in_order(file)]


def use_value(each: Move | Left) -> dict[str, Any]:
    left = each if isinstance(each, Left) else None
    return place_value(each.use) | {
        "action": "move" if left is None else "leave",
        "to": each.to if isinstance(each, Move) else None,
        "fields": list(each.fields) if isinstance(each, Move) else [],
        "reason": str(left.reason) if left is not None else None,
        "detail": left.detail or None if left is not None else None,
        "remedy": left.hint or None if left is not None else None,
        "breaks": left is not None and left.blocks,
        "broken-already": is_broken_already(each),
    }


def place_value(use: ApiUse) -> dict[str, Any]:
    return fields(use, "path", "line", "group", "version", "kind", "name", "namespace", "place")


def hit_value(hit: Hit) -> dict[str, Any]:
    place = ("path", "line", "kind", "name", "namespace")
    return fields(hit, "rule", "since", "change", "source", *place, "what", "keep", "hint")
