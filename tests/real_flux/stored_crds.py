"""Ask a real API server which CRDs it refuses after a sequence of releases and migrations, once for each question."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cluster.test_stored_versions import CRDS, RULE
from conformance.real_releases import ALL, Pair, Real
from flux_upgrade.manifests.crds import Crd
from real_flux.control_plane import ControlPlane

MIGRATE, FORGET = "flux migrate", "forget and apply "
BEFORE_2 = ((0, 28), (0, 41))
_STORED = re.compile(r"status\.storedVersions\[\d+\]: Invalid value: \"(\w+)\"")

Events = tuple[str, ...]
"""Tags of releases that Flux applied, and MIGRATE. Before a tag with FORGET, the versions that its CRDs do not have were
removed from the status of the present ones, and no others."""


class _Stored(NamedTuple):
    """A CRD on the server."""

    crd: Crd
    versions: tuple[str, ...]  # `status.storedVersions`


_State = Mapping[str, _Stored]


@dataclass
class StoredCrds:
    """The CRDs of a server. The server judges each by itself, so one answer counts for all releases with the same CRD."""

    plane: ControlPlane
    real: Real
    tags: Sequence[str]  # All releases to ask about, oldest first
    _now: dict[str, _Stored] = field(default_factory=dict)
    _states: dict[Events, _State] = field(default_factory=dict)
    _answers: dict[tuple[_Stored, Crd], Collection[str]] = field(default_factory=dict)

    def refused(self, events: Events, tag: str, components: tuple[str, ...] = ALL) -> set[Pair]:
        """Return kinds and stored versions for which the server refuses the CRDs of a release after ``events``."""
        state = self._state(events)
        questions = self._questions(state, tag, components)
        if not questions <= self._answers.keys():
            self._restore(state)
            # To get there takes longer than to ask about all later releases.
            applied = next(each for each in reversed(events) if each != MIGRATE).removeprefix(FORGET)
            for later in self.tags[self.tags.index(applied) + 1 :]:
                for _, crd in self._questions(state, later):
                    self._rehearse(crd)
        return {(crd.kind, version) for stored, crd in questions for version in self._answers[stored, crd]}

    def _questions(self, state: _State, tag: str, components: tuple[str, ...] = ALL) -> set[tuple[_Stored, Crd]]:
        return {(state[crd.name], crd) for crd in self.real.crds(tag, components) if crd.name in state}

    def everything(self, tag: str) -> Events:
        """Return the past with the most stored versions: each minor up to a release, and no migration."""
        tags = [each for minor, each in self.real.last.items() if minor in BEFORE_2 or minor >= (2, 0)]
        return tuple(f"{FORGET}{each}" for each in tags[: tags.index(tag) + 1])

    def _state(self, events: Events) -> _State:
        if events not in self._states:
            crds = self.real.crds(events[-1].removeprefix(FORGET), ALL) if events[-1] != MIGRATE else ()
            if len(events) == 1:
                self._restore({crd.name: _Stored(crd, (crd.storage,)) for crd in crds})
            else:
                self._restore(self._state(events[:-1]))
            if events[-1].startswith(FORGET):
                self._forget(crds)
            if events[-1] == MIGRATE:
                self._migrate()
            else:
                self._apply(crds)
            self._states[events] = dict(self._now)
        return self._states[events]

    def _apply(self, crds: Iterable[Crd]) -> None:
        wanted = {crd.name: crd for crd in crds}
        for name in self._now.keys() - wanted.keys():
            self._delete(name)
        for name, crd in wanted.items():
            if name in self._now and self._rehearse(crd):
                self._delete(name)  # Clusters with this CRD do not take the step
            elif name not in self._now or self._now[name].crd is not crd:
                self._put(crd)

    def _migrate(self) -> None:
        """Leave behind what `flux migrate` does."""
        for name, (crd, _) in self._now.items():
            self._store(name, (crd.storage,))

    def _forget(self, crds: Iterable[Crd]) -> None:
        for crd in crds:
            if crd.name in self._now:
                stored = self._now[crd.name].versions
                self._store(crd.name, tuple(each for each in stored if crd.version(each) is not None))

    def _restore(self, state: _State) -> None:
        """Bring the server back to a state: it remembers nothing but the CRDs and their stored versions."""
        for name in self._now.keys() - state.keys():
            self._delete(name)
        for name, (crd, versions) in state.items():
            now = self._now.get(name)
            if now is not None and now.crd is not crd:
                common = tuple(each for each in versions if now.crd.version(each) is not None)
                if common:
                    self._store(name, common)
                else:
                    self._delete(name)
            if now is None or now.crd is not crd:
                self._put(crd)
            self._store(name, versions)

    def _put(self, crd: Crd) -> None:
        answer = self.plane.apply(crd.document.data)
        assert answer.is_taken, answer
        taken = json.loads(answer.message)
        self._now[crd.name] = _Stored(crd, tuple(taken["status"]["storedVersions"]))

    def _store(self, name: str, versions: tuple[str, ...]) -> None:
        crd, before = self._now[name]
        if versions != before:
            changed = self.plane.store_in(f"{CRDS}/{name}", versions)
            assert tuple(changed["status"]["storedVersions"]) == versions
            self._now[name] = _Stored(crd, versions)

    def _delete(self, name: str) -> None:
        self.plane.remove(f"{CRDS}/{name}")
        del self._now[name]

    def _rehearse(self, crd: Crd) -> Collection[str]:
        """Return the stored versions that the server misses in a CRD."""
        question = self._now[crd.name], crd
        if question not in self._answers:
            answer = self.plane.rehearse(crd.document.data)
            assert answer.is_taken or RULE.search(f": {answer.status} {answer.message}"), answer
            self._answers[question] = () if answer.is_taken else frozenset(_STORED.findall(answer.message))
        return self._answers[question]
