"""The files of a directory become the objects that Flux would apply from it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import yaml

from cluster import small_flux
from cluster.small_flux import FOLDER, KUSTOMIZATION
from flux_upgrade.bootstrap.cluster.objects import manifests_of
from flux_upgrade.model.errors import ClusterUnfit, FluxUpgradeError, Unreadable
from flux_upgrade.model.kubernetes_objects import reference

PATCHED = KUSTOMIZATION + "patches:\n- path: more.yaml\n"
SYNC = ["GitRepository flux-system/flux-system", "Kustomization flux-system/flux-system"]


def names(files: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
    components, sync = manifests_of(files, FOLDER, "flux-system", None)
    return [str(reference(each)) for each in components], [str(reference(each)) for each in sync]


def without(name: str) -> dict[str, bytes]:
    return {path: content for path, content in small_flux.files().items() if not path.endswith(name)}


def test_plain_resources_need_no_program() -> None:
    components, sync = names(small_flux.files())
    assert components[0] == "Namespace flux-system"
    assert len(components) == len(small_flux.components())
    assert sync == SYNC


def test_without_a_kustomization_the_files_are_taken_as_they_are() -> None:
    assert names(without("kustomization.yaml")) == names(small_flux.files())


def test_the_sync_is_applied_where_the_kustomization_leaves_it_out() -> None:
    files = small_flux.files(kustomization="resources: [gotk-components.yaml]\n")
    assert names(files)[1] == SYNC


def test_further_files_of_the_folder() -> None:
    files = small_flux.files(kustomization=KUSTOMIZATION + "- ./more.yaml\n")
    more = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more", "namespace": "flux-system"}}
    secret = {**more, "kind": "Secret", "sops": {"mac": "x"}}
    files[f"{FOLDER}/more.yaml"] = yaml.safe_dump_all([more, secret]).encode()
    assert names(files)[0][-1] == "ConfigMap flux-system/more", "an encrypted Secret is Flux's to decrypt"


@pytest.mark.parametrize(
    "kustomization",
    [
        PATCHED,
        KUSTOMIZATION + "- ../shared\n",
        KUSTOMIZATION + "- missing.yaml\n",
        KUSTOMIZATION + "namespace: other\n",
        "resources: {}\n",
        "[]\n",
    ],
)
def test_more_than_plain_resources_needs_a_program(kustomization: str) -> None:
    files = small_flux.files(kustomization=kustomization)
    with pytest.raises(ClusterUnfit, match="no program to build it was found") as caught:
        manifests_of(files, FOLDER, "flux-system", None)
    assert "kustomize, kubectl or flux" in caught.value.hint
    built = small_flux.components()[:3]

    def build(given: Mapping[str, bytes], folder: str, name: str) -> bytes:
        assert (given, folder, name) == (files, FOLDER, "flux-system")
        return yaml.safe_dump_all(built).encode()

    components, sync = manifests_of(files, FOLDER, "flux-system", build)
    assert list(components) == built
    assert [str(reference(each)) for each in sync] == SYNC


@pytest.mark.parametrize(
    ("path", "content", "error", "why"),
    [
        ("gotk-sync.yaml", None, Unreadable, "gotk-sync.yaml is missing"),
        ("gotk-components.yaml", b"a: b\n", Unreadable, "gotk-components.yaml: line 1 is not a Kubernetes object"),
        ("kustomization.yaml", b"a: [\n", Unreadable, "kustomization.yaml: line"),
        ("kustomization.yaml", b"resources: [gotk-sync.yaml]\n", ClusterUnfit, "do not include Flux"),
    ],
)
def test_what_cannot_be_applied(path: str, content: bytes | None, error: type[FluxUpgradeError], why: str) -> None:
    files = small_flux.files()
    if content is None:
        del files[f"{FOLDER}/{path}"]
    else:
        files[f"{FOLDER}/{path}"] = content
    with pytest.raises(error) as caught:
        manifests_of(files, FOLDER, "flux-system", None)
    assert why in caught.value.message
    assert caught.value.hint
