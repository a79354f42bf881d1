"""Three groups that are upgraded one after the other, and when the one before has passed a release.

Read from the repository alone, by the words of docs/how-to/rings.md: none of the code that decides is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from github_stand_in import Repository
from github_stand_in.model import Status

from convergence.fleet import Fleet, manifest
from convergence.year_memory import path_of

CONFIG = """dashboard: true
groups:
  staging:
    paths: [clusters/staging/**, clusters/staging-2/**]
    policy: minor
    healthy: {context: kustomization/flux-system/staging, creator: "flux-staging[bot]"}
    on-failure: revert
  canary:
    paths: [clusters/canary/**]
    policy: minor
    after: staging
    soak: 2d
    healthy:
      context: [kustomization/flux-system/canary, "*/canary-apps"]
      creator: "flux-canary[bot]"
  production:
    paths: [clusters/production/**]
    after: canary
    soak: 3d
"""


@dataclass(frozen=True)
class Before:
    """A group that another one waits for."""

    name: str
    clusters: tuple[str, ...]
    soak: timedelta
    contexts: tuple[str, ...]
    """Regular expressions."""

    @property
    def flux(self) -> str:
        """Who reports its health."""
        return f"flux-{self.name}[bot]"


STAGING = Before("staging", ("staging", "staging-2"), timedelta(days=2), ("kustomization/flux-system/staging",))
CANARY = Before("canary", ("canary",), timedelta(days=3), ("kustomization/flux-system/canary", ".*/canary-apps"))
BEFORE = {"canary": STAGING, "production": CANARY}
"""What a group comes after."""
POSTED = {
    "staging": ("kustomization/flux-system/staging",),
    "canary": ("kustomization/flux-system/canary", "kustomization/apps/canary-apps", "kustomization/edge/canary-apps"),
}
WITHOUT_STATUSES = "v2.8.0"
_INTERVAL, _DAY = timedelta(hours=1), timedelta(days=1)
_READ = 100  # Commits that a run reads
GROUPS = ("staging", "canary", "production")
CLUSTERS = ("staging", "staging-2", "canary", "production")


@dataclass(frozen=True)
class Passing:
    """Whether a group has passed a release. ``why``: what is missing; empty: nothing."""

    why: str = ""
    is_failing: bool = False
    may_wait: bool = False
    """Whether the documentation lets a run wait, though nothing is missing."""
    needs_user: bool = False
    """Whether only a user can end the wait, for longer than a day."""


class Ledger:
    """What a repository says of its groups."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._held: dict[str, dict[str, str]] = {}
        self._statuses: dict[str, dict[str, Status]] = {}
        self._indexed = 0
        """How many of the statuses of the repository are in ``_statuses``."""
        self._pushed: dict[str, datetime] = {}
        """Commit of the base → when it was pushed, whatever its date."""
        self._seen: dict[str, datetime] = {}
        """Commit of the base → the first run that saw it."""
        self._managed: dict[int, datetime] = {}
        """Open pull request → the first of the runs that kept it current since."""
        self._contexts: dict[int, set[str]] = {}
        """Open pull request → contexts that a run saw while it was open."""

    def notice(self) -> None:
        """Record when commits were pushed."""
        self._note(self._pushed)

    def run(self, managed: Mapping[int, str]) -> None:
        """Record what a run sees. ``managed``: group of each open pull request that the run keeps current."""
        self._note(self._seen)
        now = self._now
        self._managed = {number: self._managed.get(number, now) for number in managed}
        self._contexts = {number: self._contexts.get(number, set()) for number in managed}
        for number, group in managed.items():
            if group in BEFORE:
                before = BEFORE[group]
                posted = [status for oid in islice(self.line(), _READ) for status in self._on(oid).values()]
                self._contexts[number] |= {each.context for each in posted if each.creator == before.flux}

    def _note(self, times: dict[str, datetime]) -> None:
        for oid in self.line():
            if oid in times:
                return
            times[oid] = self._now

    @property
    def _now(self) -> datetime:
        return datetime.fromisoformat(self._fleet.hub.clock.text)

    @property
    def _repository(self) -> Repository:
        return self._fleet.repository

    def passing(self, before: Before, release: str, number: int = 0) -> Passing:
        """Find what a release waits for. ``number``: the pull request that waits; 0: none in particular."""
        now, files = self._now, self._repository.files()
        if any(files[path_of(each)] != manifest(release) for each in before.clusters):
            return Passing(f"not all of {before.name} is at {release}")
        kept = list(self._kept(before))
        recorded = self._contexts.get(number, set())
        states = dict(self._reported(before, kept[:_READ], recorded))
        since, seen = self.changed_at(before), self._seen.get(kept[-1], now)
        known = max(seen, self._managed.get(number, now)) if number else now
        if "failure" in states.values():
            return Passing(f"{before.name} fails: {states}", is_failing=True)
        if now < since + before.soak:
            return Passing(f"{before.name} has it since {since}")
        is_over = now >= known + before.soak
        if release == WITHOUT_STATUSES:
            return Passing(f"{release} posts no commit statuses", needs_user=is_over)
        missing = {context: state for context, state in states.items() if state != "success"}
        others = {context for each, contexts in self._contexts.items() if each != number for context in contexts}
        may_wait = not is_over or "lost" in dict(self._reported(before, kept[:_READ], others)).values()
        if not missing:
            return Passing(may_wait=may_wait)
        is_late = now > known + _INTERVAL + _DAY and self._is_silent_for_a_day(missing, kept)
        return Passing(f"{before.name}: {missing}", needs_user=is_over and is_late)

    def _is_silent_for_a_day(self, missing: Mapping[str, str], kept: list[str]) -> bool:
        """Whether Flux should have reported on one of the contexts a day ago."""
        for context, state in missing.items():
            place = next((number for number, oid in enumerate(kept) if context in self._on(oid)), len(kept))
            due = [self._pushed[oid] for oid in kept[:place] if oid in self._pushed]
            if state in ("silent", "lost") and due and self._now > min(due) + _INTERVAL + _DAY:
                return True
        return False

    def changed_at(self, before: Before) -> datetime:
        """Return when the files of a group changed last."""
        (*_, oldest) = self._kept(before)
        return self._pushed[oldest]

    def has_release(self, before: Before, commit: str, release: str) -> bool:
        """Whether a commit holds it."""
        store = self._repository.store
        wanted = manifest(release)
        return all(store.content(oid) == wanted for oid in self._blobs(commit, before).values())

    def line(self) -> Iterator[str]:
        """The commits of the base, newest first: of a merge, the base's own parent."""
        oid = self._repository.head()
        while oid:
            yield oid
            oid = next(iter(self._repository.store.read(oid).parents), "")

    def _kept(self, before: Before) -> Iterator[str]:
        """The commits since the last change of its files."""
        now = self._blobs(self._repository.head(), before)
        for oid in self.line():
            if self._blobs(oid, before) != now:
                return
            yield oid

    def _blobs(self, commit: str, before: Before) -> dict[str, str]:
        if commit not in self._held:
            store = self._repository.store
            wanted = {path_of(each): each for each in CLUSTERS}
            entries = store.entries(commit, recursive=True)
            self._held[commit] = {wanted[each.path]: each.oid for each in entries if each.path in wanted}
        return {each: self._held[commit][each] for each in before.clusters}

    def _reported(self, before: Before, kept: list[str], recorded: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield each context with the newest status since the release: ``unknown`` if by others, ``silent`` if too old.

        ``lost``: Flux reported it before. ``recorded``: contexts that were seen earlier.
        """
        last: dict[str, str] = {}
        for number, oid in enumerate(kept):
            for context, status in self._on(oid).items():
                is_flux = status.creator == before.flux
                state = "failure" if status.state == "error" else status.state
                is_silent = state == "success" and any(map(self._is_due, kept[:number]))
                last.setdefault(context, ("silent" if is_silent else state) if is_flux else "unknown")
        for oid in islice(self.line(), len(kept), _READ):
            for context, status in self._on(oid).items():
                if status.creator == before.flux:
                    last.setdefault(context, "lost")
        for context in recorded:
            last.setdefault(context, "lost")
        for pattern in before.contexts:
            matching = {context: state for context, state in last.items() if re.fullmatch(pattern, context)}
            yield from matching.items() if matching else [(pattern, "unknown")]

    def has_succeeded(self, before: Before) -> bool:
        """Whether Flux reported success in a group since the last change of its files."""
        statuses = [status for oid in islice(self._kept(before), _READ) for status in self._on(oid).values()]
        return any(status.creator == before.flux and status.state == "success" for status in statuses)

    def _on(self, oid: str) -> dict[str, Status]:
        """Return the last status of each context on a commit."""
        statuses = self._repository.statuses
        for status in statuses[self._indexed :]:
            self._statuses.setdefault(status.sha, {})[status.context] = status
        self._indexed = len(statuses)
        return self._statuses.get(oid, {})

    def _is_due(self, oid: str) -> bool:
        """Whether Flux should have reported on a commit by now: its interval is unknown."""
        return self._pushed[oid] + _INTERVAL < self._now
