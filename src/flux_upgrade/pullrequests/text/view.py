"""A proposal as the text shows it: in one order, under short names, with equal lines once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from flux_upgrade.assessment.assessment import Assessment
from flux_upgrade.clusters.clusters import TOOLS
from flux_upgrade.clusters.groups import ROOT
from flux_upgrade.impact.impact import Refused
from flux_upgrade.impact.migrate.result import Migrated
from flux_upgrade.manifests.proof import Proof
from flux_upgrade.model.markdown import bullets, code, table
from flux_upgrade.model.text import capped, enumeration, first_few
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pins.pin import ManifestChange, Role
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.proposal import Proposal, ProposalContext
from flux_upgrade.policy.decision import BumpKind
from flux_upgrade.route.impact_steps import before, before_next, right_after
from flux_upgrade.route.step import Stage, Step, Task

_NAMED = 3
_FILE = "gotk-components"
_FOLDER = "flux-system"


class ManifestUpgrade(NamedTuple):
    plan: Plan
    upgrade: Upgrade
    proof: Proof
    change: ManifestChange


class AnalyzedUpgrade(NamedTuple):
    plan: Plan
    upgrade: Upgrade
    impact: Assessment
    steps: tuple[Step, ...]  # In the cluster: before the merge, right after it, and before the next release

    def takes(self, task: Task, stage: Stage) -> bool:
        return any((step.task, step.stage) == (task, stage) for step in self.steps)

    def refused(self, task: Task) -> tuple[Refused, ...]:
        """Return the stored versions that make a step necessary."""
        return tuple(version for step in self.steps if step.task is task for version in step.refused)


@dataclass(frozen=True)
class View:
    proposal: Proposal
    context: ProposalContext
    most: int = 40  # Of the lines of one list; the others are counted
    has_boxes: bool = True  # Whether there is anybody who looks at what is ticked

    @cached_property
    def upgrades(self) -> tuple[tuple[Plan, Upgrade], ...]:
        """In the order of their paths: the text is the same, in whatever order they were found."""
        return tuple(sorted(self.proposal.upgrades, key=lambda each: (each[0].path, each[0].line)))

    @cached_property
    def manifests(self) -> tuple[ManifestUpgrade, ...]:
        return tuple(
            ManifestUpgrade(plan, upgrade, plan.pin.proof, upgrade.change.manifest)
            for plan, upgrade in self.upgrades
            if upgrade.change.manifest is not None
        )

    @cached_property
    def pins(self) -> tuple[tuple[Plan, Upgrade], ...]:
        return tuple(each for each in self.upgrades if each[1].change.replacements)

    @cached_property
    def analyzed(self) -> tuple[AnalyzedUpgrade, ...]:
        """Those that were looked at, whatever they are about."""
        return tuple(
            AnalyzedUpgrade(plan, upgrade, upgrade.impact, tuple(_steps(upgrade, upgrade.impact)))
            for plan, upgrade in self.upgrades
            if upgrade.impact is not None
        )

    @cached_property
    def moved(self) -> tuple[Migrated, ...]:
        """Files with resources that go to other versions of their APIs, in the order of their paths."""
        found = {file.path: file for _, upgrade in self.upgrades for file in upgrade.moved}
        return tuple(found[path] for path in sorted(found))

    @cached_property
    def waiting(self) -> tuple[str, ...]:
        """Installations that wait until manifests have been moved, under short names."""
        paths = {path for _, upgrade in self.upgrades for path in upgrade.waiting}
        return tuple(sorted(labels(paths).values()))

    @cached_property
    def held(self) -> tuple[Plan, ...]:
        """``Proposal.held``, in the order of their paths."""
        return tuple(sorted(self.proposal.held, key=lambda plan: (plan.path, plan.line)))

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        left = (*self.held, *self.proposal.elsewhere)
        return labels([plan.path for plan, _ in self.upgrades] + [plan.path for plan in left])

    @property
    def is_one(self) -> bool:
        """Whether the whole is about one installation, which then need not be named again."""
        return len(self.upgrades) == 1 and not self.held and not self.proposal.elsewhere

    @property
    def share(self) -> str:
        """Of the clusters, how many it upgrades; empty if it leaves none out."""
        count, whole = self.proposal.clusters
        return f"{count} of {whole} clusters" if 0 < count < whole else ""

    @property
    def is_tools(self) -> bool:
        """Whether it is about the Flux CLI, and about no cluster."""
        return not self.manifests and bool(self.pins) and all(plan.pin.role is Role.CLI for plan, _ in self.pins)

    @property
    def name(self) -> str:
        """Of the group, or the folder; empty for the root of the repository."""
        if self.proposal.group.name:
            return self.proposal.name
        if self.is_tools:
            return self.proposal.name.removesuffix(TOOLS).rstrip("/")
        at_root = not folder_of(self.manifests[0].plan.path) if self.manifests else self.proposal.name == ROOT
        return "" if at_root else self.proposal.name

    @property
    def current(self) -> tuple[str, ...]:
        """The releases that are left, oldest first; what the flux-operator knows where it moves alone."""
        found = [plan.pin for plan, _ in self.upgrades]
        run = [each for each in found if each.role is not Role.OPERATOR]
        return in_order(each.version for each in run or found)

    @property
    def targets(self) -> tuple[str, ...]:
        """The releases that are proposed, oldest first."""
        return in_order(upgrade.target for _, upgrade in self.upgrades)

    @property
    def moves(self) -> bool:
        return any(plan.pin.version != upgrade.target for plan, upgrade in self.upgrades)

    @property
    def aligns(self) -> bool:
        """Whether it takes pins to where their cluster is already, and does nothing else."""
        return all(upgrade.bump.aligns for _, upgrade in self.upgrades)

    @property
    def is_migration(self) -> bool:
        """Whether it moves resources, and no Flux."""
        return self.proposal.bump_kind is BumpKind.MIGRATION

    @property
    def crosses_minor(self) -> bool:
        return self.proposal.bump_kind is not BumpKind.PATCH

    @property
    def answer(self) -> str:
        """What an approval or a refusal is about: ``2.9`` for all of that minor, or ``v2.8.8``."""
        target = self.proposal.target
        return target.removeprefix("v").rpartition(".")[0] if self.crosses_minor else target

    def place(self, plan: Plan) -> str:
        """A short name for an installation: its folder; file and line of a pin."""
        return code(f"{self._labels[plan.path]}:{plan.line}" if plan.line else self._labels[plan.path])

    def places(self, plans: Iterable[Plan]) -> str:
        """Which installations; the first few by name."""
        named = [self.place(plan) for plan in plans]
        if len(named) <= _NAMED:
            return enumeration(named)
        return first_few(named, _NAMED - 1)

    def by_installation(self, said: Iterable[tuple[Plan, str]], among: int = 0) -> list[str]:
        """Items: each line once, below the installations that it is true of, unless it is all of them.

        ``among``: how many those are; else all manifests.
        """
        whose: dict[str, dict[str, Plan]] = {}
        for plan, line in said:
            whose.setdefault(line, {})[plan.path] = plan
        lines: dict[tuple[str, ...], list[str]] = {}
        for line, plans in whose.items():
            lines.setdefault(tuple(plans), []).append(line)
        items: list[str] = []
        for paths, own in lines.items():
            if len(paths) == (among or len(self.manifests)):
                items += own
                continue
            places = self.places(whose[own[0]].values())
            items.append(f"{places}: {own[0]}" if len(own) == 1 else f"{places}:\n{bullets(self.limited(own))}")
        return items

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """At most ``most`` rows, and how many more there are; cells are Markdown."""
        rest = len(rows) - self.most
        more = [(f"… and {rest} more", *([""] * (len(head) - 1)))] if rest > 0 else []
        return table(head, [*rows[: self.most], *more])

    def listed(self, heading: str, lines: Sequence[str], for_one: str = "") -> Iterator[str]:
        """A paragraph with a list, where there is anything to list. ``for_one``: the line about a single one."""
        if len(lines) == 1 and for_one:
            yield f"{for_one} {lines[0]}"
        elif lines:
            yield f"{heading}\n{bullets(self.limited(lines))}"

    def limited(self, lines: Sequence[str]) -> list[str]:
        """At most ``most`` of them, and how many more there are."""
        return capped(lines, self.most)


def _steps(upgrade: Upgrade, impact: Assessment) -> Iterator[Step]:
    yield from before(impact, upgrade, is_ready=True)
    yield from right_after(impact, upgrade.target, is_ready=True)
    yield from before_next(impact, upgrade.target)


def labels(paths: Iterable[str]) -> dict[str, str]:
    """Path → what is left of it without the names that Flux gives; the path where that is not unique."""
    short = {path: folder_of(path) for path in paths}
    names = Counter(short.values())
    return {path: name if name and names[name] == 1 else path for path, name in short.items()}


def folder_of(path: str) -> str:
    """``clusters/a`` for ``clusters/a/flux-system/gotk-components.yaml``; empty for the root."""
    folder, _, name = path.rpartition("/")
    if name.rpartition(".")[0] != _FILE:
        return path
    above, _, last = folder.rpartition("/")
    return above if last == _FOLDER else folder


def in_order(versions: Iterable[Version]) -> tuple[Version, ...]:
    """Each once, the oldest first."""
    return tuple(sorted({each for each in versions if is_tag(each)}))
