"""Proposals made from a few lines: real manifests of the written releases, really proved and changed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import written_release

import txtar
import written_impacts
from discovered import manifests_in
from flux_upgrade.config.config import Group
from flux_upgrade.config.install_flags import applied
from flux_upgrade.impact.broken_today import BrokenToday
from flux_upgrade.manifests.generators import GENERATORS
from flux_upgrade.manifests.options import InstallOptions, spell
from flux_upgrade.manifests.render import render
from flux_upgrade.model.markers import MarkerState
from flux_upgrade.model.versions import Release, ReleaseManifests, Version
from flux_upgrade.pins.gotk_components import pin
from flux_upgrade.pins.pin import PinChange
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.proposal import Proposal, ProposalContext
from flux_upgrade.planning.target_images import settled
from flux_upgrade.policy.decision import Bump, BumpKind, Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from memory import EveryImage, MemoryTree, NoFlux, WrittenReleases
from replacing import replace
from written_sets import Repository

CASES = Path(__file__).resolve().parent / "pull_requests"
PATH = "clusters/staging/flux-system/gotk-components.yaml"


class StatedReleases(WrittenReleases):
    """The written releases; some without a checksum, one newer than the rules."""

    def __init__(self, unverified: Sequence[str] = (), published: Sequence[str] = ()) -> None:
        super().__init__()
        self._unverified = unverified
        for tag in published:
            self.files[tag] = written_release.files(tag)
            options = InstallOptions(tag)
            self.published_texts[tag] = render(self.manifests(tag), options, GENERATORS[-1])

    def manifests(self, tag: str) -> ReleaseManifests:
        return super().manifests(tag)._replace(verified=tag not in self._unverified)


@dataclass(frozen=True)
class Stated:
    """One installation, or ``count`` of them with ``{n}`` in their path."""

    path: str = PATH
    version: str = "v2.8.8"
    target: str = "v2.9.4"
    options: Mapping[str, str] = field(default_factory=dict)
    """Install flags that it was made with."""
    edits: Sequence[Sequence[str]] = ()
    """What was replaced by hand, old and new, everywhere in the file, or in a controller's Deployment."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Install flags that are to change."""
    take_release: bool = False
    held: Mapping[str, Any] | None = None
    impact: Mapping[str, Any] | None = None
    """What the upgrade means, as ``written_impacts.impact`` takes it; with ``moved``, all moves go along."""
    broken_today: Sequence[Mapping[str, Any]] = ()
    """What the running release refuses, as ``BrokenToday`` has it."""
    count: int = 1
    why: str = "v2.9.4 is the newest release"


def proposal(
    *stated: Stated,
    subject: BumpKind = BumpKind.MINOR,
    name: str = "clusters/staging",
    approved: bool = True,
    releases: WrittenReleases | None = None,
    files: Mapping[str, str] | None = None,
) -> Proposal:
    """A proposal for these installations; one with default flags where none is given.

    ``files``: with resources of Flux's, by path.
    """
    using = Regenerator(releases or StatedReleases(), NoFlux())
    upgrades, held = [], []
    for each in stated or (Stated(),):
        candidate = Bump(subject, Version(each.target), approved, why=each.why)
        for plan in _plans(each, candidate, using, files or {}):
            (upgrade,) = plan.decisions
            if isinstance(upgrade, Upgrade):
                upgrades.append((plan, upgrade))
            else:
                held.append(plan)
    slug = name.replace("/", "-")
    return Proposal(
        slug=slug,
        name=name,
        group=Group(name) if len(upgrades) + len(held) > 1 else Group(),
        bump_kind=subject,
        branch=f"flux-upgrade/{slug}-{subject}",
        upgrades=tuple(upgrades),
        held=tuple(held),
        clusters=(len(upgrades), len(upgrades) + len(held)),
    )


def migration(
    stated: Mapping[str, Any],
    files: Mapping[str, str],
    *held: Stated,
    name: str = "clusters/staging",
    approved: bool = True,
    count: int = 1,
) -> Proposal:
    """A proposal that moves resources in ``files``, as ``written_impacts.migrations`` takes it, ``count`` times.

    ``held``: the installations that wait.
    """
    if count > 1:
        stated, files = written_impacts.repeated(stated, files, count)
    waiting = proposal(*held, name=name, files=files).held if held else ()
    return Proposal(
        slug=name.replace("/", "-"),
        name=name,
        group=Group(name) if len(held) > 1 else Group(),
        bump_kind=BumpKind.MIGRATION,
        branch=f"flux-upgrade/{name.replace('/', '-')}/migration",
        upgrades=tuple(written_impacts.migrations(stated, files, approved=approved)),
        held=waiting,
    )


def _plans(stated: Stated, candidate: Bump, using: Regenerator, files: Mapping[str, str]) -> Iterator[Plan]:
    text = using.regenerate(applied(stated.options, InstallOptions(stated.version))).text
    for edit in stated.edits:
        text = edited(text, *edit)
    paths = [stated.path.replace("{n}", f"{number:03}") for number in range(1, stated.count + 1)]
    tree = MemoryTree({path: text.encode() for path in paths})
    for installation in manifests_in(tree, using):
        options = installation.proof.options
        assert options is not None
        wanted = applied(stated.flags, options)._replace(version=candidate.target)
        change = pin.change(installation.proof, wanted, using, take_release=stated.take_release)
        known = None
        if stated.impact is not None:
            old = installation.content
            known = written_impacts.impact(
                stated.impact, files, (installation.version, old), (candidate.target, change.new)
            )
        if stated.held is not None:
            hold = Hold(
                HoldReason[stated.held["reason"].upper().replace("-", "_")],
                bump_kind=candidate.bump_kind,
                target=candidate.target,
            )
            hold = replace(hold, **{key: value for key, value in stated.held.items() if key != "reason"})
            tried = {hold.bump_kind: change} if change.carried.conflicts else {}
            impacts = {hold.bump_kind: known} if known is not None else {}
            yield Plan(installation, installation.path, (hold,), tried, impacts)
            continue
        assert not change.carried.conflicts
        settled_change = settled(change, installation.proof, candidate.target, EveryImage(), checks=True)
        assert not isinstance(settled_change, Hold)
        before, after = options.flags(), wanted.flags()
        flags = tuple((name, spell(before[name]), spell(after[name])) for name in after if before[name] != after[name])
        moved = known.files if known is not None and stated.impact and stated.impact.get("moved") else ()
        upgrade = Upgrade(candidate, PinChange(manifest=settled_change), flags, known, moved)
        broken = tuple(BrokenToday(**each) for each in stated.broken_today)
        yield Plan(installation, installation.path, (upgrade,), broken_today=broken)


def edited(text: str, old: str, new: str, controller: str = "") -> str:
    """A manifest with a text replaced by hand: everywhere, or in the Deployment of a controller."""
    documents = text.split("---\n")
    for place, document in enumerate(documents):
        if not controller or ("\nkind: Deployment\n" in document and f"\n  name: {controller}\n" in document):
            documents[place] = document.replace(old, new)
    assert documents != text.split("---\n"), f"there is no {old!r}"
    return "---\n".join(documents)


def state(of: Proposal) -> MarkerState:
    """As the next run wants to read it."""
    return MarkerState(of.slug, of.bump_kind, of.target, pending=of.is_pending)


def proposal_context(notes: Mapping[str, str] | None = None, **facts: Any) -> ProposalContext:
    """The written releases, and those that notes are given for."""
    noted = dict.fromkeys(written_release.TAGS, "") | dict(notes or {})
    releases = tuple(Release(Version(tag), prerelease="-" in tag, notes=text) for tag, text in noted.items())
    return ProposalContext(releases, **facts)


@dataclass(frozen=True)
class Case:
    """A file of ``tests/pull_requests``."""

    archive: txtar.Archive
    proposal: Proposal
    context: ProposalContext


def names() -> list[str]:
    """Every case."""
    return sorted(path.stem for path in CASES.glob("*.txtar"))


def case(name: str) -> Case:
    """One case. Its ``settings.toml``: what ``proposal`` takes, ``[[installation]]`` as ``Stated``,
    ``[around]`` as ``ProposalContext``, ``[notes]`` by release (``repeat-notes`` times), and the releases
    that are ``unverified``, or ``published`` and newer than the rules. ``[files]`` have resources of Flux's.
    With a ``migration``, it is what migrates them, and the installations wait for it. With a ``team``, it
    has what ``written_sets.Repository`` takes instead.
    """
    archive = txtar.read(CASES / f"{name}.txtar")
    assert archive.comment, f"{name} has no description"
    stated = tomllib.loads(archive.text("settings.toml"))
    releases = StatedReleases(stated.pop("unverified", ()), stated.pop("published", ()))
    notes, times = stated.pop("notes", {}), stated.pop("repeat-notes", 1)
    context = proposal_context(
        {tag: text * times for tag, text in notes.items()},
        **{key.replace("-", "_"): _frozen(value) for key, value in stated.pop("around", {}).items()},
    )
    installations = [
        Stated(**{key.replace("-", "_"): value for key, value in each.items()})
        for each in stated.pop("installation", [] if "migration" in stated else [{}])
    ]
    if "migration" in stated:
        of = migration(stated.pop("migration"), stated.pop("files"), *installations, **stated)
        return Case(archive, of, context)
    stated["subject"] = BumpKind(stated.get("subject", "patch"))
    if "team" in stated:
        team, subject = stated.pop("team"), stated.pop("subject")
        return Case(archive, Repository(**stated).proposal(team, subject), context)
    return Case(archive, proposal(*installations, releases=releases, **stated), context)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
