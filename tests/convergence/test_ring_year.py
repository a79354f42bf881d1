"""After a year of releases, statuses and answers, no group went before the one that it comes after."""

from __future__ import annotations

from pathlib import Path

from convergence.asking import installations
from convergence.fleet import fleet_at
from convergence.ring_rules import CLUSTERS, CONFIG
from convergence.ring_year import RingYear


def test_a_year_keeps_the_order(ring_seed: int, tmp_path: Path) -> None:
    with fleet_at(tmp_path, installations(**dict.fromkeys(CLUSTERS, "v2.6.4")), CONFIG) as fleet:
        RingYear(fleet, ring_seed).live()


def test_an_idle_run_with_three_groups_asks_once(tmp_path: Path) -> None:
    with fleet_at(tmp_path, installations(**dict.fromkeys(CLUSTERS, "v2.8.8")), CONFIG) as fleet:
        fleet.run()
        (number,) = [pull.number for pull in fleet.repository.pulls.values() if "/staging/" in pull.head]
        fleet.people.merge(number, "squash")
        fleet.people.post_status("kustomization/flux-system/staging", "success")
        fleet.run()
        assert fleet.run().calls == ("GRAPHQL query",)
