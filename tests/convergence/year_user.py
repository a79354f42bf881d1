"""What the user of a simulated year does, and what they expect to find afterwards."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from github_stand_in.model import Pull
from github_stand_in.refusals import Refused

from convergence.fleet import Fleet, manifest
from flux_upgrade.model import markers
from flux_upgrade.model.versions import Version

CLUSTERS = ("production", "staging")
Subject = tuple[str, str]
"""What an answer is about: a branch, and a minor with all its patches or one patch."""


def path_of(cluster: str) -> str:
    return f"clusters/{cluster}/flux-system/gotk-components.yaml"


def cluster_of(branch: str) -> str:
    return branch.split("/")[1].removeprefix("clusters.")


def subject_of(pull: Pull) -> Subject:
    target = target_of(pull)
    return pull.head, target.minor if pull.head.endswith("/minor") else target


def target_of(pull: Pull) -> Version:
    state = markers.state_of(pull.body)
    assert state is not None, f"#{pull.number} has no block"
    return state.target


class User:
    """``released``: the releases so far."""

    def __init__(self, fleet: Fleet, seed: int, released: Sequence[str]) -> None:
        self.fleet, self.released = fleet, released
        self.people = fleet.people
        self.chance = random.Random(seed)  # noqa: S311 a walk that can be repeated
        self.day = datetime.fromtimestamp(0, UTC)
        self.log: list[str] = []
        self.seen: Counter[str] = Counter()
        """Name of a deed → how often it was done."""
        self.dispatched: list[str] = []
        """What the next run is started with."""
        self.texts: dict[int, str] = {}
        self.titles: dict[int, str] = {}
        self.commits: dict[str, str] = {}
        """Branch → the last commit that was pushed to it, and may not be lost."""
        self.ready: set[Subject] = set()
        self.refused: set[Subject] = set()
        self._merged: list[str] = []

    @property
    def pulls(self) -> list[Pull]:
        return [each for _, each in sorted(self.fleet.repository.pulls.items())]

    def current(self, cluster: str) -> Version:
        """The release on the base branch."""
        content = self.fleet.repository.files()[path_of(cluster)]
        return next(Version(tag) for tag in self.released if manifest(tag) == content)

    def act(self) -> None:
        deeds: tuple[Callable[[], str], ...] = (
            *(self._merge, self._merge, self._merge, self._mark_ready, self._mark_ready, self._to_draft),
            *(self._label, self._close, self._reopen, self._skip, self._rebase, self._push, self._write, self._rename),
            *(self._delete_branch, self._revert, self._work, self._work, self._upgrade, self._dispatch),
        )
        deed = self.chance.choice(deeds)
        try:
            done = deed()
        except Refused as error:
            done = f"refused: {error}"
        if done:
            name = deed.__name__.removeprefix("_").replace("_", "-")
            self.seen[name] += 1
            self.log.append(f"{self.day.date()} {name} {done}")

    def _any(self, *, is_draft: bool | None = None, state: str = "open") -> Pull | None:
        found = [
            pull
            for pull in self.pulls
            if pull.state == state and not pull.merged_at and (is_draft is None or pull.is_draft is is_draft)
        ]
        return self.chance.choice(found) if found else None

    def _merge(self) -> str:
        pull = self._any(is_draft=False)
        if pull is None:
            return ""
        method = self.chance.choice(("merge", "squash", "rebase"))
        self._merged.append(self.people.merge(pull.number, method))
        self._forget(pull.head)
        return f"#{pull.number} by {method}"

    def _forget(self, branch: str) -> None:
        """What was pushed there is merged, or nobody wants it."""
        self.commits.pop(branch, None)

    def _mark_ready(self) -> str:
        pull = self._any(is_draft=True)
        if pull is None:
            return ""
        self.people.mark_ready(pull.number)
        self.ready.add(subject_of(pull))
        return f"#{pull.number}"

    def _to_draft(self) -> str:
        pull = self._any(is_draft=False)
        if pull is None:
            return ""
        self.people.to_draft(pull.number)
        self.ready.discard(subject_of(pull))
        return f"#{pull.number}"

    def _label(self) -> str:
        pull = self._any(is_draft=True)
        if pull is None or not pull.head.endswith("/minor"):
            return ""
        self.people.label(pull.number, "flux-upgrade/approved")
        self.ready.add(subject_of(pull))
        return f"#{pull.number}"

    def _refuse(self, pull: Pull) -> None:
        self.refused.add(subject_of(pull))
        self.ready.discard(subject_of(pull))

    def _close(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        self.people.close(pull.number)
        self._refuse(pull)
        return f"#{pull.number}"

    def _reopen(self) -> str:
        pull = self._any(state="closed")
        if pull is None:
            return ""
        self.people.reopen(pull.number)
        self.refused.discard(subject_of(pull))
        if not pull.is_draft:
            self.ready.add(subject_of(pull))  # As it was when it was closed
        return f"#{pull.number}"

    def _skip(self) -> str:
        pull = self._any()
        if pull is None or markers.is_ticked(pull.body, markers.SKIP):
            return ""
        self.people.tick(pull.number, "skip")
        self._refuse(pull)
        return f"#{pull.number}"

    def _rebase(self) -> str:
        pull = self._any()
        if pull is None or markers.is_ticked(pull.body, markers.REBASE):
            return ""
        self.people.tick(pull.number, "rebase")
        self._forget(pull.head)
        return f"#{pull.number}"

    def _push(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        self.commits[pull.head] = self.people.push(pull.head, {"NOTES.md": str(self.day).encode()})
        return pull.head

    def _write(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        text = f"{self.texts.get(pull.number, '')}Read on {self.day.date()}.\r\n"
        body = pull.body.removeprefix(self.texts.get(pull.number, ""))
        self.texts[pull.number] = text
        self.people.edit(pull.number, body=text + body)
        return f"#{pull.number}"

    def _rename(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        self.titles[pull.number] = f"Flux, as of {self.day.date()}"
        self.people.edit(pull.number, title=self.titles[pull.number])
        return f"#{pull.number}"

    def _delete_branch(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        self._refuse(pull)
        self._forget(pull.head)
        self.people.delete_branch(pull.head)
        return pull.head

    def _revert(self) -> str:
        if not self._merged:
            return ""
        self.people.revert(self._merged[-1])
        return self._merged.pop()[:7]

    def _work(self) -> str:
        return self.people.advance_base(content=str(self.day).encode())[:7]

    def _upgrade(self) -> str:
        """Another tool, or the user, writes a release to the base."""
        cluster = self.chance.choice(CLUSTERS)
        later = [tag for tag in self.released if Version(tag) > self.current(cluster)]
        if not later:
            return ""
        tag = self.chance.choice(later)
        self.people.push("main", {path_of(cluster): manifest(tag)}, f"Upgrade Flux to {tag}\n")
        return f"{cluster} to {tag}"

    def _dispatch(self) -> str:
        minor = Version(self.chance.choice(self.released)).minor
        if all(self.current(cluster).minor >= minor for cluster in CLUSTERS):
            return ""
        self.dispatched.append(minor)
        for cluster in CLUSTERS:
            slug = f"flux-upgrade/clusters.{cluster}/"
            self.refused = {each for each in self.refused if not self._is_approved(each, slug, minor)}
            self.ready.add((f"{slug}minor", minor))
        return minor

    def _is_approved(self, refused: tuple[str, str], slug: str, minor: str) -> bool:
        """An approval of a minor includes its patches, refused ones as well."""
        return refused[0].startswith(slug) and (refused[1] == minor or Version(refused[1]).minor == minor)
