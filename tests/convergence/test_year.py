"""After a year of releases, and of whatever a user does, everything of theirs is still there."""

from __future__ import annotations

from pathlib import Path

from convergence.asking import installations
from convergence.fleet import fleet_at
from convergence.year import Year
from convergence.year_memory import CLUSTERS
from convergence.year_user import User


def test_a_year_loses_nothing(seed: int, tmp_path: Path) -> None:
    with fleet_at(tmp_path, installations(**dict.fromkeys(CLUSTERS, "v2.6.2")), "dashboard: true\n") as fleet:
        released: list[str] = []
        Year(fleet, User(fleet, seed, released), released).live()
