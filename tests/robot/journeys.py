"""The ways that the robot goes: from the first and the last release of each minor, however Flux is installed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from robot.cluster import FollowingCluster
from robot.installations import INSTALLATIONS, Installation
from robot.shortest import fewest

_SEED = 22
_MINORS = 10  # 2.0 to 2.9


class Journey(NamedTuple):
    release: str
    installation: Installation
    has_images: bool

    def __str__(self) -> str:
        return f"{self.release}, {self.installation.name}{', images' if self.has_images else ''}"

    def check(self, cluster: FollowingCluster) -> None:
        """Require that a cluster runs the newest release, and got there by the shortest way."""
        last = newest_of_minors(cluster.source)
        assert cluster.releases[-1] == last[-1], cluster.told
        # The newest patch of a minor needs no approval, and comes first.
        start = next(each for each in last if each.rpartition(".")[0] == self.release.rpartition(".")[0])
        most = int(start != self.release) + fewest(cluster.flux(start), last)
        assert len(cluster.releases) - 1 <= most, cluster.told


def journeys(releases: Path, most: int | None, installations: Sequence[Installation] = INSTALLATIONS) -> list[Journey]:
    """Return a sample of at most so many; None: all."""
    every = [
        Journey(release, installation, has_images)
        for release, installation, has_images in product(_ends(releases), installations, (False, True))
        if not (has_images and installation.has_all)
    ]
    return random.Random(_SEED).sample(every, most) if most is not None else every  # noqa: S311 (a sample)


@cache
def newest_of_minors(releases: Path) -> Sequence[str]:
    return [each[-1] for each in _minors(releases)]


def _ends(releases: Path) -> list[str]:
    """Return the first and the last release of each minor but the newest."""
    return [tag for minor in _minors(releases)[:-1] for tag in dict.fromkeys((minor[0], minor[-1]))]


@cache
def _minors(releases: Path) -> list[list[str]]:
    patches: dict[int, list[tuple[int, str]]] = {}
    for folder in releases.iterdir():
        numbers = folder.name.removeprefix("v").split(".")
        if len(numbers) == 3 and all(map(str.isdigit, numbers)) and numbers[0] == "2":
            patches.setdefault(int(numbers[1]), []).append((int(numbers[2]), folder.name))
    return [[tag for _, tag in sorted(patches[minor])] for minor in sorted(patches)]
