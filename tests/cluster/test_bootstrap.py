"""A bootstrap of a cluster ends with Flux ready, on the stand-in and on a real API server."""

from __future__ import annotations

from base64 import b64decode

from cluster.driving import PRIVATE, Driven, desired
from cluster.small_flux import REVISION
from flux_upgrade.bootstrap.cluster.install import bootstrap_cluster
from flux_upgrade.bootstrap.cluster.preflight import check_cluster


def test_a_cluster_is_bootstrapped_and_ready(driven: Driven) -> None:
    cluster = driven.connect()
    installed = bootstrap_cluster(cluster, desired(), driven.run())
    cluster.close()

    assert not any("left to do so" in line for line in driven.progress)
    assert [(str(each.what), each.revision) for each in installed] == [
        ("GitRepository flux-system/flux-system", REVISION),
        ("Kustomization flux-system/flux-system", REVISION),
    ]
    source = driven.object("apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/flux-system")
    assert source is not None
    owners = [(each["manager"], each["operation"]) for each in source["metadata"]["managedFields"]]
    assert ("kubectl", "Apply") in owners, "kustomize-controller takes over what this one owns"
    secret = driven.object("api/v1/namespaces/flux-system/secrets/flux-system")
    assert secret is not None
    assert b64decode(secret["data"]["identity"]).decode() == PRIVATE
    progress = "\n".join(driven.progress)
    assert "Deployment flux-system/source-controller is ready" in progress
    assert "Kustomization flux-system/flux-system is ready" in progress
    assert PRIVATE not in progress


def test_a_second_run_changes_nothing(driven: Driven) -> None:
    cluster = driven.connect()
    bootstrap_cluster(cluster, desired(), driven.run())
    before = driven.everything()
    bootstrap_cluster(cluster, desired(), driven.run())
    cluster.close()

    assert driven.progress[-1] == "Flux already reconciles its components, which are unchanged"
    assert driven.everything() == before


def test_the_secret_that_is_there_is_found_and_left_alone(driven: Driven) -> None:
    cluster = driven.connect()
    bootstrap_cluster(cluster, desired(), driven.run())
    found = check_cluster(cluster, desired())
    assert found.has_secret
    before = driven.object("api/v1/namespaces/flux-system/secrets/flux-system")
    bootstrap_cluster(cluster, desired(secrets=()), driven.run())
    cluster.close()
    assert driven.object("api/v1/namespaces/flux-system/secrets/flux-system") == before
