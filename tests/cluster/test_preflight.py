"""A cluster that cannot take Flux is refused before anything is written."""

from __future__ import annotations

import pytest

from cluster.driving import desired
from cluster.memory_cluster import MemoryCluster
from cluster.small_flux import crd, git_sync
from flux_upgrade.bootstrap.cluster.preflight import check_cluster
from flux_upgrade.impact.kubernetes_versions import SUPPORT, support
from flux_upgrade.model.errors import AlreadyBootstrapped, ClusterUnfit, Downgrade
from flux_upgrade.model.kubernetes_objects import Object

WANTED = desired()


def flux(version: str = "v2.9.4", **labels: str) -> Object:
    """The CRD that says which Flux there is."""
    made = crd("source.toolkit.fluxcd.io", "gitrepositories", "GitRepository", version)
    metadata = made["metadata"]
    assert isinstance(metadata, dict)
    metadata["labels"] |= {name.replace("__", "/").replace("_", "."): value for name, value in labels.items()}
    return made


def synced(path: str, applied: str = "main@sha1:0") -> Object:
    return {**git_sync(path)[1], "status": {"lastAppliedRevision": applied}}


def test_an_empty_cluster_is_fit() -> None:
    found = check_cluster(MemoryCluster(), WANTED)
    assert (found.reconciles_itself, found.has_secret, found.warnings) == (False, False, ())


@pytest.mark.parametrize(
    ("flux_version", "kubernetes"),
    [
        ("v2.9.4", "v1.32.9"),
        ("v2.9.4", "v1.32.9-eks-1234"),
        ("v2.6.0", "v1.30.0"),
        ("v2.0.1", "1.23.17"),
        ("v2.12.0", "v1.32.0"),
    ],
)
def test_a_kubernetes_that_is_too_old(flux_version: str, kubernetes: str) -> None:
    with pytest.raises(ClusterUnfit, match="requires Kubernetes"):
        check_cluster(MemoryCluster(version=kubernetes), WANTED._replace(version=flux_version))


@pytest.mark.parametrize(
    ("flux_version", "kubernetes", "warns"),
    [
        ("v2.9.4", "v1.33.0", True),  # the code takes it, and nobody tested it
        ("v2.9.4", "v1.34.0-gke.100", False),
        ("v2.9.4", "v1.37.0", True),
        ("v2.2.0", "v1.40.0", False),  # what it was tested with is not known
        ("v2.12.0", "v1.40.0", False),
        ("v2.9.4", "unknown", True),
    ],
)
def test_a_kubernetes_that_was_not_tested_is_a_warning(flux_version: str, kubernetes: str, *, warns: bool) -> None:
    found = check_cluster(MemoryCluster(version=kubernetes), WANTED._replace(version=flux_version))
    assert bool(found.warnings) == warns


def test_minimums_never_fall() -> None:
    """What a release newer than the table is taken to need rests on it."""
    least = [SUPPORT[minor].least for minor in sorted(SUPPORT)]
    assert least == sorted(least)
    assert support("v2.99.0").least == least[-1]


@pytest.mark.parametrize(
    ("there", "by"),
    [
        (flux(**{"app_kubernetes_io__managed-by": "Helm"}), "'Helm'"),
        (flux(fluxcd_controlplane_io__name="flux"), "flux-operator"),
        (
            {
                "apiVersion": "fluxcd.controlplane.io/v1",
                "kind": "FluxInstance",
                "metadata": {"name": "flux", "namespace": "flux-system"},
            },
            "flux-operator (flux)",
        ),
        (
            flux(kustomize_toolkit_fluxcd_io__name="flux", kustomize_toolkit_fluxcd_io__namespace="other"),
            "Kustomization other/flux",
        ),
    ],
)
def test_a_flux_of_another_tool_is_refused_unless_forced(there: Object, by: str) -> None:
    with pytest.raises(AlreadyBootstrapped) as caught:
        check_cluster(MemoryCluster(there), WANTED)
    assert by in caught.value.message
    assert "--force" in caught.value.hint
    check_cluster(MemoryCluster(there), WANTED._replace(force=True))


def test_a_flux_of_our_own_is_found() -> None:
    ours = flux(kustomize_toolkit_fluxcd_io__name="flux-system", kustomize_toolkit_fluxcd_io__namespace="flux-system")
    assert check_cluster(MemoryCluster(ours, synced("./clusters/staging")), WANTED).reconciles_itself


@pytest.mark.parametrize("path", ["./clusters/staging/", "clusters/staging"])
def test_the_same_path_in_other_words(path: str) -> None:
    assert check_cluster(MemoryCluster(synced(path)), WANTED).reconciles_itself


def test_flux_that_has_applied_nothing_yet_does_not_reconcile_itself() -> None:
    assert not check_cluster(MemoryCluster(synced("./clusters/staging", "")), WANTED).reconciles_itself


@pytest.mark.parametrize("force", [False, True])
def test_another_path_is_refused_whatever_was_asked(*, force: bool) -> None:
    with pytest.raises(AlreadyBootstrapped) as caught:
        check_cluster(MemoryCluster(synced("./clusters/production")), WANTED._replace(force=force))
    assert (
        'sync path configuration ("./clusters/staging") would overwrite path ("./clusters/production")'
        in caught.value.message
    )


def test_a_newer_flux_is_not_replaced() -> None:
    with pytest.raises(Downgrade, match=r"runs Flux v2\.10\.0"):
        check_cluster(MemoryCluster(flux("v2.10.0")), WANTED._replace(force=True))
    check_cluster(MemoryCluster(flux("latest")), WANTED)


def test_the_secret_that_is_there() -> None:
    metadata = {"name": "flux-system", "namespace": "flux-system"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    assert check_cluster(MemoryCluster(secret), WANTED).has_secret


def test_no_secret_is_asked_for_where_none_is_needed() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "", "namespace": "flux-system"}}
    assert not check_cluster(MemoryCluster(secret), WANTED._replace(secret_name="")).has_secret
