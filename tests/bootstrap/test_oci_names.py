"""The addresses of a bootstrap from a registry are checked, and all problems are one error."""

from __future__ import annotations

import pytest

from bootstrap.oci_bootstraps import CLUSTER, URL, options
from flux_upgrade.bootstrap.oci_sync import addresses_of
from flux_upgrade.bootstrap.options import OciOptions
from flux_upgrade.model.errors import UsageError


@pytest.mark.parametrize(
    ("path", "sync_path", "overlay"),
    [
        ("clusters/production", "./clusters/production", "clusters/production/kustomization.yaml"),
        ("./clusters/production/", "./clusters/production", "clusters/production/kustomization.yaml"),
        ("/clusters//production", "./clusters/production", "clusters/production/kustomization.yaml"),
        ("", "./", "kustomization.yaml"),
        (".", "./", "kustomization.yaml"),
    ],
)
def test_the_path_of_the_cluster(path: str, sync_path: str, overlay: str) -> None:
    found = addresses_of(options(oci=OciOptions(URL, CLUSTER, path)))
    assert (found.sync_path, found.overlay_file) == (sync_path, overlay)
    assert (str(found.flux), str(found.cluster)) == (URL, CLUSTER)


def test_flux_alone() -> None:
    assert addresses_of(options(oci=OciOptions(URL))).cluster is None


@pytest.mark.parametrize(
    ("oci", "words"),
    [
        (OciOptions(""), "--url"),
        (OciOptions("ghcr.io/org/flux:production"), "--url"),
        (OciOptions("oci://ghcr.io/org/flux"), "--url must have a tag"),
        (OciOptions(f"oci://ghcr.io/org/flux:a@sha256:{'0' * 64}"), "no digest"),
        (OciOptions("oci://ghcr.io/org/flux:v2.9.4-0123456789ab"), "never moves"),
        (OciOptions(f"oci://ghcr.io/org/flux:{'t' * 120}"), "too long"),
        (OciOptions(URL, "oci://ghcr.io/org/fleet"), "--cluster-url must have a tag"),
        (OciOptions(URL, URL), "are the same artifact"),
        (OciOptions(URL, "", "clusters/production"), "needs --cluster-url"),
        (OciOptions(URL, CLUSTER, "../elsewhere"), "not a path inside"),
        (OciOptions(URL, CLUSTER, "ä"), "not a path inside"),
    ],
)
def test_what_cannot_be_used(oci: OciOptions, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?")) as caught:
        addresses_of(options(oci=oci))
    assert caught.value.hint


def test_all_problems_are_one_error() -> None:
    with pytest.raises(UsageError) as caught:
        addresses_of(options(oci=OciOptions("oci://ghcr.io/org/flux", "fleet", "../x")))
    assert all(word in caught.value.message for word in ("--url", "--cluster-url", "--cluster-path"))


def test_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(UsageError) as caught:
        addresses_of(options(oci=OciOptions("oci://ci:hunter2@ghcr.io/org/flux:production")))
    assert "hunter2" not in f"{caught.value.message}{caught.value.hint}"


def test_a_namespace_that_the_components_have() -> None:
    with pytest.raises(UsageError, match="reserved for the objects"):
        addresses_of(options(namespace="flux-components"))


def test_no_artifact_at_all() -> None:
    with pytest.raises(UsageError, match="address of the artifact is missing"):
        addresses_of(options()._replace(oci=None))
