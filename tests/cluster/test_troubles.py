"""A cluster that does not become ready is reported with its cause, and without credentials."""

from __future__ import annotations

import time
from base64 import b64encode

import pytest
from cluster_stand_in.api import Object
from cluster_stand_in.controllers import Artifact, Unreachable

from cluster import small_flux
from cluster.driving import PRIVATE, Driven, desired
from cluster.memory_cluster import Polled
from cluster.small_flux import REVISION
from flux_upgrade.bootstrap.cluster.install import apply_all, bootstrap_cluster
from flux_upgrade.model.errors import ClusterUnavailable, NotReady

ENCODED = b64encode(PRIVATE.encode()).decode()


def failure(driven: Driven, *words: str) -> NotReady:
    """Of a bootstrap that gives up once ``words`` are reported."""
    cluster = driven.connect()
    with pytest.raises(NotReady) as caught:
        bootstrap_cluster(Polled(cluster), desired(), driven.run_until(*words))
    cluster.close()
    shown = "\n".join((caught.value.message, caught.value.hint, *driven.progress))
    assert PRIVATE not in shown
    assert ENCODED not in shown
    assert len(caught.value.message) < 5000
    return caught.value


def test_a_deployment_that_does_not_start_is_reported_with_its_pods(driven: Driven) -> None:
    driven.controllers.broken["source-controller"] = "Back-off pulling image"
    lines = failure(driven, "0 of 1 replicas are available").message.splitlines()
    assert lines[1] == "Deployment flux-system/source-controller 0 of 1 replicas are available"
    assert "  pod source-controller-x1, container manager, waits: ImagePullBackOff: Back-off pulling image" in lines
    assert "  event Failed: Back-off pulling image" in lines
    assert not [line for line in lines if "kustomize-controller" in line]
    # As after `flux bootstrap`: a Flux that starts later finds its Secret and its sync.
    namespaced = "namespaces/flux-system"
    assert driven.object(f"api/v1/{namespaced}/secrets/flux-system") is not None
    assert driven.object(f"apis/source.toolkit.fluxcd.io/v1/{namespaced}/gitrepositories/flux-system") is not None
    assert driven.object(f"apis/kustomize.toolkit.fluxcd.io/v1/{namespaced}/kustomizations/flux-system") is not None
    assert "Deployment flux-system/source-controller 0 of 1 replicas are available" in driven.progress


def test_a_source_that_cannot_be_read_is_reported_without_credentials(driven: Driven) -> None:
    def look(_source: Object, _secret: Object | None) -> Artifact:
        raise Unreachable("failed to clone 'https://git:p4ss@git.example.com/fleet':\nauthentication required")

    driven.controllers.look = look
    message = failure(driven, "Source artifact not found", "authentication required").message
    why = "failed to clone 'https://git.example.com/fleet': authentication required"
    assert f"GitRepository flux-system/flux-system is not ready: {why}" in message.splitlines()
    assert f"  event GitOperationFailed: {why}" in message.splitlines()
    assert "Kustomization flux-system/flux-system is not ready: Source artifact not found" in message
    assert "p4ss" not in message
    assert "p4ss" not in "".join(driven.progress)


def test_what_is_fixed_in_between_is_ready_at_the_next_run(driven: Driven) -> None:
    driven.revision = "main@sha1:2222222222222222222222222222222222222222"
    message = failure(driven, f"Kustomization flux-system/flux-system is at {driven.revision}").message
    assert f"is at {driven.revision}, not at {REVISION}" in message
    driven.revision = REVISION
    cluster = driven.connect()
    bootstrap_cluster(cluster, desired(), driven.run())
    cluster.close()
    # Its interval is an hour: it was asked to look again.
    assert driven.controllers.looks == ["flux-system", "flux-system"]


def test_a_suspended_object_is_not_waited_for(driven: Driven) -> None:
    cluster = driven.connect()
    bootstrap_cluster(cluster, desired(), driven.run())
    path = "apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/flux-system"
    driven.api.ask("PATCH", path, {"spec": {"suspend": True}})
    began = time.monotonic()
    with pytest.raises(NotReady, match="GitRepository flux-system/flux-system is suspended") as caught:
        bootstrap_cluster(cluster, desired(), driven.run())
    cluster.close()
    assert time.monotonic() - began < 5
    assert "flux resume" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "log in again"), (403, "cluster-admin"), (422, "run the same command again")]
)
def test_a_cluster_that_refuses(stand_in: Driven, status: int, hint: str) -> None:
    """The Secret, most of all: what the cluster says of it is not repeated."""
    assert stand_in.server.stand_in is not None
    stand_in.server.stand_in.faults.append(
        lambda method, path: status if method == "PATCH" and "/secrets/" in path else None
    )
    cluster = stand_in.connect()
    with pytest.raises(ClusterUnavailable) as caught:
        bootstrap_cluster(cluster, desired(), stand_in.run())
    cluster.close()
    assert caught.value.message == f"the cluster 'stand-in' does not take Secret flux-system/flux-system ({status})"
    assert hint in caught.value.hint


def test_a_cluster_that_refuses_from_the_start_is_written_nothing(stand_in: Driven) -> None:
    assert stand_in.server.stand_in is not None
    stand_in.server.stand_in.faults.append(lambda _, path: 403 if "fluxcd.controlplane" in path else None)
    cluster = stand_in.connect()
    with pytest.raises(ClusterUnavailable, match="as the test wants it"):
        bootstrap_cluster(cluster, desired(), stand_in.run())
    cluster.close()
    assert not [each for each in stand_in.server.stand_in.writes() if each.user_agent != "controllers"]


def test_an_api_server_that_restarts(stand_in: Driven) -> None:
    """Some answers are missing, others are errors that pass."""
    server = stand_in.server.stand_in
    assert server is not None
    calls = 0

    def fault(method: str, path: str) -> int | None:
        nonlocal calls
        del method, path
        if server.log[-1].user_agent.startswith("controllers"):
            return None
        calls += 1
        if calls % 7 == 0:
            raise ConnectionAbortedError
        return 503 if calls % 5 == 0 else None

    server.faults.append(fault)
    cluster = stand_in.connect()
    bootstrap_cluster(cluster, desired(), stand_in.run(60))
    server.faults.clear()
    cluster.close()
    assert {generation for generation, _, _ in stand_in.everything().values()} == {1}


@pytest.mark.parametrize("how", ["gone", "refused", "hangs up"])
def test_without_a_watch_it_is_polled(stand_in: Driven, how: str) -> None:
    server = stand_in.server.stand_in
    assert server is not None

    def fault(_method: str, path: str) -> int | None:
        if "watch=true" not in path:
            return None
        if how == "gone":
            server.store.forget_history()
        if how == "hangs up":
            raise ConnectionAbortedError
        return 403 if how == "refused" else None

    server.faults.append(fault)
    cluster = stand_in.connect()
    bootstrap_cluster(cluster, desired(), stand_in.run())
    cluster.close()
    assert [each for each in server.log if each.query.get("watch")]


def test_a_branch_that_the_kustomization_patches_is_taken_as_it_is(driven: Driven) -> None:
    """What it comes to is not what was pushed: another branch."""
    driven.revision = "production@sha1:3333333333333333333333333333333333333333"
    files = small_flux.files(sync=small_flux.git_sync(branch="production"))
    cluster = driven.connect()
    installed = bootstrap_cluster(cluster, desired(files), driven.run())
    cluster.close()
    assert [each.revision for each in installed] == ["", ""]


def test_from_an_artifact(driven: Driven) -> None:
    driven.revision = "staging@sha256:" + "4" * 64
    files = small_flux.files(sync=small_flux.oci_sync())
    cluster = driven.connect()
    wanted = desired(files, secrets=(), secret_name="", revisions={"flux-system": driven.revision})
    installed = bootstrap_cluster(cluster, wanted, driven.run())
    cluster.close()
    assert [(each.what.kind.name, each.revision) for each in installed] == [
        ("OCIRepository", driven.revision),
        ("Kustomization", driven.revision),
    ]


def test_a_kind_that_is_never_served(stand_in: Driven) -> None:
    more = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "flux-system"}}
    cluster = stand_in.connect()
    with pytest.raises(NotReady, match="does not serve the kind of Widget flux-system/w"):
        apply_all(cluster, [more], stand_in.run(0.3))
    cluster.close()


def test_a_namespace_that_is_missing(driven: Driven) -> None:
    plain = desired()
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x", "namespace": "elsewhere"}}
    cluster = driven.connect()
    with pytest.raises(ClusterUnavailable, match="the namespace 'elsewhere' is not in the cluster"):
        bootstrap_cluster(cluster, plain._replace(components=(*plain.components, account)), driven.run())
    cluster.close()
