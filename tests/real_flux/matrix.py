"""When `flux migrate` has to run: every order of moving, migrating and upgrading, on a real API server.

An order is a word over these steps: ``V``, Flux applies the object in the old version; ``W``, in the new one, ``w``
as well, but it may be refused; ``M``, `flux migrate` runs; ``|``, the CRDs of the next release take the place of the
present ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from real_flux.control_plane import Answer, ControlPlane, Object
from real_flux.samples import SPECS, sample

ORDERS = {
    "V|W": "upgrade and migration in one merge",
    "VM|W": "`flux migrate`, Flux suspended, upgrade and migration in one merge",
    "VMV|W": "`flux migrate`, Flux reconciles the old manifests, upgrade and migration in one merge",
    "V|wMW": "upgrade and migration in one merge, `flux migrate`",
    "VW|W": "migration, Flux reconciles it, upgrade",
    "VWM|W": "migration, Flux reconciles it, `flux migrate`, upgrade",
    "VwMW|W": "migration, `flux migrate` even if Flux could not apply the migration, upgrade",
    "VMW|W": "`flux migrate`, Flux suspended, migration, upgrade",
    "VMVW|W": "`flux migrate`, Flux reconciles the old manifests, migration, upgrade",
    "VW|wMW": "migration, Flux reconciles it, upgrade, `flux migrate`",
}
NOTE = "example.com/note"
"""An annotation that Git has at first, and not in the end."""


class Writer(NamedTuple):
    """Who wrote the object besides Flux, in the old version."""

    name: str
    manager: str = ""
    is_first: bool = False  # It made the object; else it wrote it once Flux had


WRITERS = (
    Writer("only Flux"),
    Writer("created by kubectl", "kubectl-create", is_first=True),
    Writer("updated by Helm", "helm"),
)


class Dropped(NamedTuple):
    """A version that the next release does not serve, and the one that manifests are moved to."""

    group: str
    kind: str
    old: str
    new: str


class Outcome(NamedTuple):
    step: str  # Where the server refused: `W`, `|`; empty: nowhere
    why: str = ""
    is_left: bool = False  # Whether what Git no longer has is still there

    def __str__(self) -> str:
        if self.step:
            return f"refused at {self.step}: {self.why}"
        return "applied, and a field that left Git stays" if self.is_left else "applied"


@dataclass
class Cell:
    """One object, from its first version to the end of its order."""

    dropped: Dropped
    order: str
    writer: Writer
    name: str
    outcome: Outcome | None = None
    done: int = 0  # Steps of its order
    _notes: dict[str, str] = field(default_factory=lambda: {NOTE: "kept"})

    def of(self, version: str, annotations: dict[str, str]) -> Object:
        made = sample(self.dropped.group, version, self.dropped.kind, self.name)
        return {**made, "metadata": {**made["metadata"], "annotations": annotations}}

    def go_on(self, plane: ControlPlane, until: str) -> None:
        """Take the steps up to the next one of ``until``, or to the end."""
        while self.outcome is None and self.done < len(self.order) and self.order[self.done] not in until:
            step = self.order[self.done]
            answer = self._apply_old(plane) if step == "V" else plane.apply(self.of(self.dropped.new, {NOTE: "kept"}))
            if not answer.is_taken and step != "w":
                self.outcome = Outcome(f"{step} of {self.order}", reason(answer))
            self.done += 1
        if self.done == len(self.order) and self.outcome is None:
            self.outcome = self._without_note(plane)

    def _apply_old(self, plane: ControlPlane) -> Answer:
        old = self.of(self.dropped.old, {NOTE: "kept"})
        is_new = self.done == 0
        if is_new and self.writer.is_first:
            made = plane.create(sample(self.dropped.group, self.dropped.old, self.dropped.kind, self.name))
            assert made.is_taken, made
        answer = plane.apply(old)
        if is_new and self.writer.manager and not self.writer.is_first:
            written = plane.update(old, self.writer.manager)
            assert written.is_taken, written
        return answer

    def _without_note(self, plane: ControlPlane) -> Outcome:
        bare = self.of(self.dropped.new, {})
        answer = plane.apply(bare)
        if not answer.is_taken:
            return Outcome("W again", reason(answer))
        return Outcome("", is_left=NOTE in str(answer.message))


def reason(answer: Answer) -> str:
    """What the server said, without the names of objects."""
    text = answer.message
    if "request to convert CR to an invalid group/version" in text:
        return "request to convert CR to an invalid group/version"
    if "field not declared in schema" in text:
        return "field not declared in schema"
    return f"{answer.status} {text[:160]}"


def cells(dropped: Sequence[Dropped]) -> list[Cell]:
    combined = product(dropped, ORDERS, WRITERS)
    return [Cell(*each, f"cell-{number}") for number, each in enumerate(combined)]


def dropped_between(current: Sequence[Object], target: Sequence[Object]) -> Iterator[Dropped]:
    """By the CRDs of two manifests."""
    after = {each["metadata"]["name"]: _served(each) for each in target if each["kind"] == "CustomResourceDefinition"}
    for each in current:
        if each["kind"] != "CustomResourceDefinition" or each["metadata"]["name"] not in after:
            continue
        before, later = _served(each), after[each["metadata"]["name"]]
        group, kind = each["spec"]["group"], each["spec"]["names"]["kind"]
        both = [version for version in before if version in later]
        if kind in SPECS and both:
            yield from (Dropped(group, kind, old, max(both, key=_priority)) for old in before if old not in later)


def _served(crd: Object) -> list[str]:
    return [version["name"] for version in crd["spec"]["versions"] if version["served"]]


def _priority(version: str) -> tuple[bool, str]:
    """v1 before v1beta3 before v1beta2, as Kubernetes orders versions; v2 is none beside v1 here."""
    return "beta" not in version and "alpha" not in version, version


def run(
    plane: ControlPlane, found: Sequence[Cell], target: Sequence[Object], clis: tuple[str, str]
) -> dict[str, Answer]:
    """Take all cells to their ends together: `flux migrate` and CRDs are for all objects at once.

    ``clis``: releases of the Flux CLI for `flux migrate` before and after. What was refused of the target's CRDs.
    """
    for each in found:
        if "M" in each.order.partition("|")[0]:
            each.go_on(plane, "M|")
    plane.flux("migrate", version=clis[0])
    for each in found:
        each.done += each.done < len(each.order) and each.order[each.done] == "M"
        each.go_on(plane, "|")
    refused = plane.install(target)
    later = [each for each in found if "M" in each.order.partition("|")[2]]
    for each in found:
        each.done += 1
        each.go_on(plane, "M")
    plane.flux("migrate", version=clis[1])
    for each in later:
        each.done += 1
        each.go_on(plane, "")
    return dict(refused)
