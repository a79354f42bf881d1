"""What the user of a simulated year remembers, and expects to find again."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from github_stand_in.model import Pull

from convergence.dashboards import ticked
from convergence.fleet import Fleet, manifest
from flux_upgrade.model import markers
from flux_upgrade.model.versions import Version

CLUSTERS = ("production", "staging")
GROUP = "prod"  # As the user sometimes calls production
_APPROVAL = re.compile(r"approve-([0-9a-f]{16})-(.+)")
Subject = tuple[str, str, str]
"""What an answer is about: a cluster, the size, and a minor with all its patches or one patch."""


def path_of(cluster: str) -> str:
    return f"clusters/{cluster}/flux-system/gotk-components.yaml"


def cluster_of(branch: str) -> str:
    slug = branch.split("/")[1].removeprefix("clusters.")
    return "production" if slug == GROUP else slug


def size_of(branch: str) -> str:
    return branch.rpartition("/")[2]


def subject_of(pull: Pull) -> Subject:
    state = markers.state_of(pull.body)
    assert state is not None, f"#{pull.number} has no block"
    size = size_of(pull.head)
    return cluster_of(pull.head), size, state.target.minor if size == "minor" else state.target


class Memory:
    """``released``: the releases so far."""

    clusters: tuple[str, ...] = CLUSTERS

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
        self.approved: set[int] = set()
        """The pull requests that were approved when they were closed."""
        self.merged: list[str] = []
        self.is_ignored = False
        """Whether the config file ignores staging."""
        self.is_grouped = False
        """Whether the config file has a group for production."""
        self.note = ""
        """What the user wrote above the dashboard."""

    @property
    def pulls(self) -> list[Pull]:
        return [each for _, each in sorted(self.fleet.repository.pulls.items())]

    def current(self, cluster: str) -> Version:
        """The release on the base branch."""
        content = self.fleet.repository.files()[path_of(cluster)]
        return next(Version(tag) for tag in self.released if manifest(tag) == content)

    def refuse(self, pull: Pull) -> None:
        if not self._is_replaced(pull):
            self.refused.add(subject_of(pull))
            self.end_approval(pull)

    def end_approval(self, pull: Pull) -> None:
        """Until it is opened again."""
        subject = subject_of(pull)
        self.approved = self.approved - {pull.number} | ({pull.number} if subject in self.ready else set())
        self.ready.discard(subject)

    def put_back(self, pull: Pull) -> None:
        if not self._is_replaced(pull):
            self.ready.discard(subject_of(pull))

    def _is_replaced(self, pull: Pull) -> bool:
        """Whether a newer one about the same is open, on the branch of another group."""
        newer = (each for each in self.pulls if each.state == "open" and each.number > pull.number)
        return any(subject_of(each) == subject_of(pull) for each in newer)

    def approve(self, minor: str, *clusters: str) -> None:
        """A minor includes its patches, refused ones as well."""
        self.refused = {
            each
            for each in self.refused
            if each[0] not in clusters or (each[2] if each[1] == "minor" else Version(each[2]).minor) != minor
        }
        self.ready |= {(cluster, "minor", minor) for cluster in clusters}
        proposed = [
            subject_of(pull) for pull in self.pulls if pull.state == "open" and cluster_of(pull.head) in clusters
        ]
        self.ready |= {each for each in proposed if each[1] == "patch" and Version(each[2]).minor == minor}

    def approve_opened(self, newest: int) -> None:
        """Patches after number ``newest``, which the run that approves their minor has opened: it approves them, too."""
        opened = [pull for pull in self.pulls if pull.number > newest and size_of(pull.head) == "patch"]
        subjects = [subject_of(pull) for pull in opened]
        self.ready |= {each for each in subjects if (each[0], "minor", Version(each[2]).minor) in self.ready}

    def boxes_approve(self) -> bool:
        """The boxes of the dashboard that are ticked, and approve something: so they do in the next run."""
        found = [each for each in map(_APPROVAL.fullmatch, ticked(self.fleet)) if each]
        for each in found:
            cluster, version = self._clusters.get(each[1], ""), each[2]
            if not cluster or (cluster == "staging" and self.is_ignored):
                continue
            if version.startswith("v"):
                self.refused.discard((cluster, "patch", version))
            elif self.current(cluster).minor < version:
                self.approve(version, cluster)
        return bool(found)

    @property
    def _clusters(self) -> dict[str, str]:
        """As the boxes name them: the group of production takes the place of its own."""
        slugs = {"production": GROUP if self.is_grouped else "clusters.production", "staging": "clusters.staging"}
        return {markers.digest_of(slug): cluster for cluster, slug in slugs.items()}

    def forget(self, branch: str) -> None:
        """What was pushed there is merged, or not wanted any more."""
        self.commits.pop(branch, None)
