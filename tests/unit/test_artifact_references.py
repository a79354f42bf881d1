"""References to an artifact are found with line and place, and one that cannot be followed has a reason."""

from __future__ import annotations

import pytest

from flux_upgrade.clusters.ownership.artifact_references import (
    Promotion,
    is_verified,
    promotion_of,
    references,
    remarks_of,
    takes_what_waits,
)
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.oci.reference import Address, parse_address
from flux_upgrade.pins.own_artifact.artifact_reference import ArtifactReference, names_one
from memory import MemoryTree

URL = "oci://ghcr.io/acme/flux"
PRODUCTION = parse_address(f"{URL}:production")
DIGEST = f"sha256:{'a' * 64}"
PINNED = "tag: v2.8.8-0123456789ab"
MOVING = "tag: production"
SIGNED = "verify: {provider: cosign}"


def repository(ref: str = "", *more: str, url: str = URL, api: str = "v1", name: str = "flux") -> str:
    rest = (f"  ref: {{{ref}}}\n" if ref else "") + "".join(f"  {line}\n" for line in more)
    return (
        f"apiVersion: source.toolkit.fluxcd.io/{api}\nkind: OCIRepository\n"
        f"metadata: {{name: {name}, namespace: flux-system}}\nspec:\n  interval: 10m\n  url: {url}\n{rest}"
    )


def instance(*more: str, ref: str = "production") -> str:
    rest = "".join(f"  {line}\n" for line in more)
    return (
        "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\n"
        "metadata: {name: flux, namespace: flux-system}\nspec:\n  distribution: {version: 2.x}\n"
        f"  sync: {{kind: OCIRepository, url: '{URL}', ref: {ref}, path: .}}\n{rest}"
    )


def patching(target: str, patch: str, *, resource: str = "flux.yaml") -> str:
    return f"resources: [{resource}]\npatches:\n- target: {{{target}}}\n  patch: |\n    {patch}\n"


def references_in(files: dict[str, str], address: Address = PRODUCTION) -> tuple[ArtifactReference, ...]:
    return references(MemoryTree({path: text.encode() for path, text in files.items()}), address)


def only_reference(*documents: str) -> ArtifactReference:
    (only,) = references_in({"clusters/a/flux.yaml": "---\n".join(documents)})
    return only


def verified_paths(files: dict[str, str]) -> list[str]:
    return [each.path for each in references_in(files) if each.is_verified]


# Who refers to it


def test_file_line_and_place_are_reported() -> None:
    only = only_reference("kind: Other\n", repository(f"{PINNED}, digest: '{DIGEST}'"))
    assert (only.path, only.line) == ("clusters/a/flux.yaml", 9)
    assert only.where == "OCIRepository flux-system/flux, spec.ref.digest"
    assert only.stated.tag is not None
    assert only.stated.digest is not None
    assert (only.stated.tag.text, only.stated.digest.text) == ("v2.8.8-0123456789ab", DIGEST)
    assert only.stated.digest.replaced("new").old == DIGEST


@pytest.mark.parametrize("api", ["v1", "v1beta2"])
def test_every_version_of_the_api_counts(api: str) -> None:
    assert only_reference(repository(MOVING, api=api)).follows == "production"


def test_who_names_no_tag_follows_latest() -> None:
    assert only_reference(repository()).follows == "latest"


def test_a_flux_instance_follows_by_its_ref() -> None:
    only = only_reference(instance())
    assert (only.follows, only.where) == ("production", "FluxInstance flux-system/flux, spec.sync.ref")


@pytest.mark.parametrize(
    "url",
    [
        "oci://ghcr.io/acme/flux-apps",
        "oci://ghcr.io/acme/flux/apps",
        "oci://ghcr.io/other/acme/flux",
        "oci://quay.io/acme/flux",
        "oci://${registry}/${name}",
        "oci://${registry}/flux-apps",
    ],
)
def test_another_repository_is_not_reported(url: str) -> None:
    assert references_in({"flux.yaml": repository(PINNED, url=url)}) == ()


@pytest.mark.parametrize(
    "url", [f"{URL}/", "oci://GHCR.io/acme/flux", "oci://${registry}/acme/flux", "oci://ghcr.io/acme/${name}"]
)
def test_other_spellings_and_variables_may_be_the_artifact(url: str) -> None:
    (only,) = references_in({"flux.yaml": repository(PINNED, url=url)})
    assert only.is_known is ("$" not in url)


def test_a_port_is_of_the_host() -> None:
    address = parse_address("oci://127.0.0.1:5000/flux:production")
    assert references_in({"flux.yaml": repository(MOVING, url="oci://127.0.0.1:5000/flux")}, address)
    assert not references_in({"flux.yaml": repository(MOVING, url="oci://127.0.0.1:5001/flux")}, address)


@pytest.mark.parametrize("ref", ["tag: '${tag}'", "digest: sha256:abc", "tag: [a]", "semver: '{{ range }}'"])
def test_an_unknown_reference_has_a_reason_and_a_remedy(ref: str) -> None:
    only = only_reference(repository(ref))
    assert not only.is_known
    assert only.reason
    assert only.hint


def test_comments_and_other_kinds_are_no_references() -> None:
    other = repository(PINNED).replace("OCIRepository", "HelmRepository")
    assert references_in({"flux.yaml": f"# {URL}:production\n{other}"}) == ()


@pytest.mark.parametrize("tag", ["v2.8.8-0123456789ab", "v2.8.8", "2.8.8", "flux-v2.8.8", "3f2a91c", "20261121"])
def test_a_release_a_checksum_and_a_date_name_one_artifact(tag: str) -> None:
    assert names_one(tag)


@pytest.mark.parametrize("tag", ["production", "latest", "v2.8", "v2", "prod-2", "facade", "deadbeef", "", "eu1"])
def test_any_other_tag_may_be_moved(tag: str) -> None:
    assert not names_one(tag)


# Signatures


def test_a_provider_or_the_default_one_verifies() -> None:
    assert only_reference(repository(MOVING, SIGNED)).is_verified
    assert only_reference(repository(MOVING, "verify: {provider: notation}")).is_verified
    assert only_reference(repository(MOVING, "verify: {secretRef: {name: keys}}")).is_verified


@pytest.mark.parametrize("line", ["verify: null", "verify:", "verify: {}", "suspend: true"])
def test_without_it_nothing_is_verified(line: str) -> None:
    assert not only_reference(repository(MOVING, line)).is_verified


@pytest.mark.parametrize(
    ("target", "patch"),
    [
        ("kind: OCIRepository", "[{op: add, path: /spec/verify, value: {provider: cosign}}]"),
        ("kind: OCIRepository, name: flux", "[{op: add, path: /spec/verify/provider, value: cosign}]"),
        ("kind: OCIRepository, name: 'fl.*'", "{spec: {verify: {provider: cosign}}}"),
        ("", "{kind: OCIRepository, metadata: {name: flux}, spec: {verify: {provider: cosign}}}"),
    ],
)
def test_a_patch_may_verify(target: str, patch: str) -> None:
    files = {"a/flux.yaml": repository(MOVING), "a/kustomization.yaml": patching(target, patch)}
    assert verified_paths(files) == ["a/flux.yaml"]


@pytest.mark.parametrize(
    ("target", "patch"),
    [
        ("kind: OCIRepository, name: apps", "[{op: add, path: /spec/verify, value: {provider: cosign}}]"),
        ("kind: HelmRepository", "[{op: add, path: /spec/verify, value: {provider: cosign}}]"),
        ("kind: OCIRepository", "[{op: remove, path: /spec/verify}]"),
        ("kind: OCIRepository", "{spec: {verify: null}}"),
        ("kind: OCIRepository", "[{op: add, path: /spec/suspend, value: true}]"),
    ],
)
def test_a_patch_of_something_else_does_not(target: str, patch: str) -> None:
    files = {"a/flux.yaml": repository(MOVING), "a/kustomization.yaml": patching(target, patch)}
    assert verified_paths(files) == []
    assert promotion_of(references_in(files), PRODUCTION) is Promotion.TAG


def test_a_patch_in_a_file_of_its_own_may_verify() -> None:
    files = {
        "a/flux.yaml": repository(MOVING),
        "a/kustomization.yaml": "resources: [flux.yaml]\npatches:\n- path: patches/verify.yaml\n",
        "a/patches/verify.yaml": "kind: OCIRepository\nmetadata: {name: flux}\nspec: {verify: {provider: cosign}}\n",
    }
    assert verified_paths(files) == ["a/flux.yaml"]


def test_a_patch_is_for_the_object_near_it() -> None:
    patch = patching("kind: OCIRepository", "[{op: add, path: /spec/verify, value: {provider: cosign}}]")
    files = {f"clusters/{name}/flux.yaml": repository(MOVING) for name in "ab"}
    assert verified_paths({**files, "clusters/b/kustomization.yaml": patch}) == ["clusters/b/flux.yaml"]


def test_a_patch_of_what_stands_elsewhere_is_for_all_of_that_name() -> None:
    patch = patching("kind: OCIRepository", "[{op: add, path: /spec/verify, value: {provider: cosign}}]")
    files = {f"clusters/{name}/flux.yaml": repository(MOVING) for name in "ab"}
    assert len(verified_paths({**files, "overlays/kustomization.yaml": patch})) == 2


def test_the_repository_of_a_flux_instance_is_verified_by_its_own_patches() -> None:
    lines = (
        "kustomize:",
        "  patches:",
        "  - target: {kind: OCIRepository}",
        "    patch: |",
        "      [{op: add, path: /spec/verify, value: {provider: cosign}}]",
    )
    assert only_reference(instance(*lines)).is_verified
    assert not only_reference(instance()).is_verified


def test_only_who_follows_the_tag_waits_for_a_signature() -> None:
    staging = repository("tag: staging", SIGNED)
    assert is_verified(references_in({"a.yaml": repository(MOVING, SIGNED)}), PRODUCTION)
    assert not is_verified(references_in({"a.yaml": repository(MOVING), "b.yaml": staging}), PRODUCTION)
    assert is_verified(references_in({"a.yaml": repository("tag: '${tag}'", SIGNED)}), PRODUCTION)
    assert is_verified(references_in({"a.yaml": repository("semver: '>= 2-0'", SIGNED)}), PRODUCTION)


def test_suspended_is_reported() -> None:
    assert only_reference(repository(MOVING, "suspend: true")).is_suspended
    assert not only_reference(repository(MOVING, "suspend: false")).is_suspended


# Promotion


@pytest.mark.parametrize(
    "ref", [PINNED, f"digest: '{DIGEST}'", f"tag: production, digest: '{DIGEST}'", "tag: v2.8.8", "tag: 3f2a91c"]
)
def test_who_pins_it_has_pull_requests(ref: str) -> None:
    assert promotion_of(references_in({"flux.yaml": repository(ref)}), PRODUCTION) is Promotion.PULL_REQUEST


@pytest.mark.parametrize("ref", [MOVING, "semver: '>= 2.8.0-0'", "tag: staging", ""])
def test_who_follows_has_the_tag_moved(ref: str) -> None:
    assert promotion_of(references_in({"flux.yaml": repository(ref)}), PRODUCTION) is Promotion.TAG


def test_where_nothing_refers_to_it_the_tag_is_moved() -> None:
    assert promotion_of((), PRODUCTION) is Promotion.TAG


def test_another_tag_that_moves_says_nothing() -> None:
    files = {"a.yaml": repository(PINNED), "b.yaml": repository("tag: staging")}
    assert promotion_of(references_in(files), PRODUCTION) is Promotion.PULL_REQUEST


@pytest.mark.parametrize(
    ("ref", "address", "reason"),
    [
        (MOVING, PRODUCTION, "b.yaml:7 follows its tag production"),
        ("semver: 2.x", PRODUCTION, "b.yaml:7 follows a range"),
        ("", parse_address(URL), "b.yaml:6 follows its tag latest"),
    ],
)
def test_where_they_disagree_a_person_has_to_say(ref: str, address: Address, reason: str) -> None:
    with pytest.raises(UsageError) as raised:
        promotion_of(references_in({"a.yaml": repository(PINNED), "b.yaml": repository(ref)}), address)
    assert raised.value.message.endswith(f"a.yaml:7 pins the artifact, and {reason}")
    assert "--promote" in raised.value.hint


def test_a_reference_by_a_variable_is_refused() -> None:
    with pytest.raises(UsageError) as raised:
        promotion_of(references_in({"a.yaml": repository("tag: '${tag}'")}), PRODUCTION)
    assert raised.value.message.endswith("a.yaml:7 uses the artifact, and a variable sets it")


def test_a_ref_that_a_patch_sets_is_not_decisive() -> None:
    patch = patching("kind: OCIRepository", "[{op: replace, path: /spec/ref/tag, value: v2.9.4}]")
    with pytest.raises(UsageError) as raised:
        promotion_of(references_in({"a/flux.yaml": repository(MOVING), "a/kustomization.yaml": patch}), PRODUCTION)
    assert "a patch replaces it: a/kustomization.yaml:5" in raised.value.message


def test_what_a_resource_set_makes_tells_how_it_is_promoted() -> None:
    inner = repository(MOVING).replace("\n", "\n    ").rstrip(" ")
    text = f"kind: ResourceSet\nmetadata: {{name: sources}}\nspec:\n  resources:\n  - {inner}"
    (only,) = references_in({"set.yaml": text})
    assert (only.is_made, only.follows) == (True, "production")
    assert promotion_of((only,), PRODUCTION) is Promotion.TAG


# Who takes a range


@pytest.mark.parametrize(
    ("ref", "takes"),
    [
        ("semver: '>=2.8.0-0'", True),
        ("semver: '~2.8-0'", True),
        ("semver: '2.x-0'", True),
        ("semver: 2.x", False),
        ("semver: '2.7 - 2.9'", False),
        ("semver: '>=2.8.0-0', digest: 'sha256:" + "a" * 64 + "'", False),
        (MOVING, False),
        (PINNED, False),
    ],
)
def test_a_range_that_admits_prereleases_takes_what_waits(ref: str, *, takes: bool) -> None:
    assert takes_what_waits([only_reference(repository(ref))]) is takes


def test_a_remark_says_that_moving_the_tag_changes_nothing_for_a_range() -> None:
    only = only_reference(repository("semver: 2.x"))
    (remark,) = remarks_of([only], PRODUCTION)
    assert remark == (
        f"clusters/a/flux.yaml:{only.line} follows the range 2.x, so moving production does not affect it"
    )
    assert remarks_of([only_reference(repository(MOVING)), only_reference(repository(PINNED))], PRODUCTION) == ()
