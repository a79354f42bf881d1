"""After a bootstrap was killed at any write, the next run makes the same cluster, and nothing twice."""

from __future__ import annotations

import threading

import pytest

from cluster.driving import Driven, desired
from cluster.memory_cluster import Dying, Killed
from flux_upgrade.bootstrap.cluster.install import bootstrap_cluster

WRITES = 10
"""Namespace, three CRDs, an account, two Deployments; the Secret; source and Kustomization."""


@pytest.mark.parametrize("is_sent", [False, True], ids=["not-sent", "sent"])
def test_killed_at_each_write_and_run_again(stand_in: Driven, *, is_sent: bool) -> None:
    """One cluster, killed at its first write, then again at its second, and so on."""
    cluster = stand_in.connect()
    for at in range(1, WRITES + 1):
        with pytest.raises(Killed):
            bootstrap_cluster(Dying(cluster, at, is_sent=is_sent), desired(), stand_in.run())
    bootstrap_cluster(cluster, desired(), stand_in.run())
    assert {generation for generation, _, _ in stand_in.everything().values()} == {1}
    assert len(stand_in.everything()) == WRITES
    cluster.close()


@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_killed_once_and_run_again(stand_in: Driven, at: int) -> None:
    """As a cluster that was never disturbed."""
    cluster = stand_in.connect()
    with pytest.raises(Killed):
        bootstrap_cluster(Dying(cluster, at, is_sent=True), desired(), stand_in.run())
    bootstrap_cluster(cluster, desired(), stand_in.run())
    cluster.close()
    assert len(stand_in.everything()) == WRITES
    assert {generation for generation, _, _ in stand_in.everything().values()} == {1}


def test_two_at_the_same_time(driven: Driven) -> None:
    """Two runs of one workflow: both end well, and each object is there once."""
    failed: list[BaseException] = []

    def bootstrap() -> None:
        cluster = driven.connect()
        try:
            bootstrap_cluster(cluster, desired(), driven.run())
        except BaseException as error:  # noqa: BLE001  (the thread of the test reports it)
            failed.append(error)
        cluster.close()

    threads = [threading.Thread(target=bootstrap) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert {generation for generation, _, _ in driven.everything().values()} <= {1, None}
