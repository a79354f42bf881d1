"""The releases in an operator artifact are listed, by its address and its files."""

from __future__ import annotations

import pytest

from flux_upgrade.model.errors import ReleaseNotFound
from flux_upgrade.pins.objects.operator_releases import DistributionArtifact, belongs, parsed, release_of, releases_in
from memory import MemoryArtifacts

_DIGEST = f"sha256:{'0a' * 32}"
_OTHER = f"sha256:{'0b' * 32}"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("oci://ghcr.io/a/m", DistributionArtifact("ghcr.io/a/m", "", "")),
        ("oci://ghcr.io/a/m:latest", DistributionArtifact("ghcr.io/a/m", "latest", "")),
        ("oci://localhost:5000/m:v0.38.1", DistributionArtifact("localhost:5000/m", "v0.38.1", "")),
        (f"oci://ghcr.io/a/b/m@{_DIGEST}", DistributionArtifact("ghcr.io/a/b/m", "", _DIGEST)),
        (f"oci://ghcr.io/a/m:v1@{_DIGEST}", DistributionArtifact("ghcr.io/a/m", "v1", _DIGEST)),
        ("ghcr.io/a/m:v1", None),
        ("oci://ghcr.io", None),
        ("oci://ghcr.io/a/m:", None),
        ("oci://ghcr.io/a/m:v1@sha256:0a", None),
        ("oci://ghcr.io/a/m:${TAG}", None),
        ("oci://ghcr.io/a/m:v1 ", None),
        ("", None),
    ],
)
def test_an_address_is_read(url: str, expected: DistributionArtifact | None) -> None:
    assert parsed(url) == expected


@pytest.mark.parametrize(
    ("url", "is_pinned", "reference"),
    [
        ("oci://ghcr.io/a/m", False, "latest"),
        ("oci://ghcr.io/a/m:latest", False, "latest"),
        ("oci://ghcr.io/a/m:v0.38.1", True, "v0.38.1"),
        (f"oci://ghcr.io/a/m:latest@{_DIGEST}", True, _DIGEST),
    ],
)
def test_what_stays_as_it_is_is_pinned(url: str, reference: str, *, is_pinned: bool) -> None:
    artifact = parsed(url)

    assert artifact is not None
    assert (artifact.is_pinned, artifact.reference) == (is_pinned, reference)


def test_only_folders_of_releases_count() -> None:
    files = ["./flux/v2.7.5/a.yaml", "flux/v2.10.0/a.yaml", "flux/v2.9.0", "flux/main/a.yaml", "x/flux/v2.8.0/a"]
    artifacts = MemoryArtifacts({"ghcr.io/a/m:v1": {"digest": _DIGEST, "files": files}})

    assert releases_in(DistributionArtifact("ghcr.io/a/m", "v1", ""), artifacts) == ("v2.7.5", "v2.10.0")


@pytest.mark.parametrize("tag", ["v1", "v2"])
def test_what_is_not_there_has_no_releases(tag: str) -> None:
    artifacts = MemoryArtifacts({"ghcr.io/a/m:v1": {"digest": _DIGEST, "files": ["deploy/app.yaml"]}})

    with pytest.raises(ReleaseNotFound, match=r"artifact ghcr\.io/a/m:v"):
        releases_in(DistributionArtifact("ghcr.io/a/m", tag, ""), artifacts)


@pytest.mark.parametrize(
    ("tag", "revision", "expected"),
    [("v2.9.4", "", "v2.9.4"), ("latest", "v2.9.4@sha1:0123", "v2.9.4"), ("latest", "main@sha1:0123", "")],
)
def test_flux_own_artifact_states_its_release(tag: str, revision: str, expected: str) -> None:
    artifacts = MemoryArtifacts({f"ghcr.io/fluxcd/flux-manifests:{tag}": {"digest": _DIGEST, "revision": revision}})

    assert release_of(DistributionArtifact("ghcr.io/fluxcd/flux-manifests", tag, ""), artifacts) == expected


@pytest.mark.parametrize(
    ("tag", "digest", "expected"),
    [("v1", _DIGEST, True), ("v1", _OTHER, False), ("v2", _DIGEST, False), ("v1", "", True), ("", _OTHER, True)],
)
def test_a_tag_stands_for_its_digest(tag: str, digest: str, *, expected: bool) -> None:
    artifacts = MemoryArtifacts({"ghcr.io/a/m:v1": {"digest": _DIGEST}})

    assert belongs(DistributionArtifact("ghcr.io/a/m", tag, digest), artifacts) is expected
