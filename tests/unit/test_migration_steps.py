"""The steps after a migration, in an order in which Flux can apply it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flux_upgrade.impact.api_uses.flux_file import ApiUse, UsePlace
from flux_upgrade.impact.migrate.result import Left, Move, Reason
from flux_upgrade.route.migration_steps import after_migration

USE = ApiUse("a.yaml", 1, "notification.toolkit.fluxcd.io", "v1beta1", "Receiver", "", "", UsePlace.RESOURCE, 0, 7)
MERGE = "Review the changed files, commit them, and merge them"
WAIT = "Wait until Flux has reconciled them"
PLAN = "Plan the upgrade to v2.7.5"


@pytest.mark.parametrize(
    ("running", "cli"),
    [
        (["v2.5.1"], " with the Flux CLI 2.7"),
        (["v2.5.1", "v2.6.4"], " with the Flux CLI 2.7"),
        (["v2.7.5", "v2.8.8"], ""),
        ([], ""),
    ],
)
def test_flux_migrate_runs_before_the_reader_waits(running: Sequence[str], cli: str) -> None:
    steps = after_migration("v2.7.5", [Move(USE, "v1", (), undeclared="spec.interval")], (), running)
    migrate = f"Run `flux migrate`{cli} in the cluster, right after the merge"
    assert [step.sentence for step in steps] == [MERGE, migrate, WAIT, PLAN]


def test_no_flux_migrate_if_the_server_takes_the_migration() -> None:
    steps = after_migration("v2.7.5", [Move(USE, "v1", ())], (), ["v2.6.4"])
    assert [step.sentence for step in steps] == [f"{MERGE}. {WAIT}", PLAN]


def test_manifests_that_wait_for_another_cluster_are_not_left_to_the_user() -> None:
    left = Left(USE, Reason.NO_BRIDGE, "", after=("v2.0.1",))
    steps = list(after_migration("v2.7.5", [Move(USE, "v1", ())], [left], ["v2.0.1", "v2.6.4"]))
    assert [step.sentence for step in steps] == [
        f"{MERGE}. {WAIT}",
        "Plan the upgrades: the clusters at v2.0.1 come first",
    ]
    left = left._replace(after=())
    steps = list(after_migration("v2.7.5", [Move(USE, "v1", ())], [left], ["v2.6.4"]))
    assert steps[0].sentence == "Migrate 1 other use manually, as shown above"
