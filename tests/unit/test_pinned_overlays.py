"""What is patched over a pin, wherever that stands, and what the pin installs."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from flux_upgrade.impact.overlay.pinned import Pinned, check_pinned, pinned
from flux_upgrade.impact.overlay.result import OverlayVerdict
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS
from flux_upgrade.model.unknown import Unknown, known_or
from flux_upgrade.pins.pin import Pin
from memory import MemoryTree

SOURCE = """apiVersion: source.toolkit.fluxcd.io/v1
kind: {kind}
metadata:
  name: flux
  namespace: flux-system
spec:
  url: {url}
  ref:
    tag: v2.8.8
"""
KUSTOMIZATION = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux
  namespace: {namespace}
spec:
  sourceRef:
    kind: {kind}
    name: {name}
  patches:
  - target:
      kind: Deployment
    patch: |
      - op: replace
        path: /spec/template/spec/containers/0/args/1
        value: --log-level=debug
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: source-controller
  namespace: flux-system
spec:
  template:
    spec:
      containers:
      - name: manager
        args:
        - --events-addr=x
{more}        - --log-level=info
"""
OLD, NEW = DEPLOYMENT.format(more="").encode(), DEPLOYMENT.format(more="        - --new\n").encode()


def source(kind: str = "OCIRepository", url: str = "oci://ghcr.io/fluxcd/flux-manifests") -> str:
    return SOURCE.format(kind=kind, url=url)


def kustomization(name: str = "flux", kind: str = "OCIRepository", namespace: str = "flux-system") -> str:
    return KUSTOMIZATION.format(name=name, kind=kind, namespace=namespace)


def look(files: Mapping[str, str], path: str, line: int, unread: str = "") -> Pinned | None:
    tree = MemoryTree({name: text.encode() for name, text in files.items()})
    pin = Pin(path, "any", files[path].encode(), line)
    return known_or(pinned(pin, path, tree, lambda each: each != unread), None)


def verdicts(files: Mapping[str, str], path: str, line: int) -> list[tuple[str, int, OverlayVerdict]]:
    found = look(files, path, line)
    assert found is not None
    tree = MemoryTree({name: text.encode() for name, text in files.items()})
    overlay = known_or(check_pinned(found, tree, OLD, NEW), None)
    return [(each.path, each.line, each.verdict) for each in overlay.findings] if overlay is not None else []


def test_patches_of_which_nothing_is_known_are_not_the_same_as_none() -> None:
    conflict = b"<<<<<<< HEAD\n" + OLD
    patched = look({"flux.yaml": source(), "apply.yaml": kustomization()}, "flux.yaml", 9)
    plain = look({"flux.yaml": source()}, "flux.yaml", 9)
    assert patched is not None
    assert plain is not None
    assert isinstance(check_pinned(patched, MemoryTree({}), conflict, NEW), Unknown)
    assert check_pinned(plain, MemoryTree({}), conflict, NEW) is None


@pytest.mark.parametrize("kind", ["OCIRepository", "GitRepository"])
def test_the_kustomization_over_a_source(kind: str) -> None:
    files = {"flux.yaml": f"{source(kind)}---\n{kustomization(kind=kind)}"}
    assert verdicts(files, "flux.yaml", 9) == [("flux.yaml", 25, OverlayVerdict.BREAKS)]


def test_a_kustomization_in_another_file_that_the_cluster_reads() -> None:
    files = {"source.yaml": source(), "apply.yaml": kustomization(), "theirs.yaml": kustomization()}
    found = look(files, "source.yaml", 9, unread="theirs.yaml")
    assert found is not None
    assert [each.path for each in found.overlays] == ["apply.yaml"]


@pytest.mark.parametrize(
    "other",
    [kustomization(name="other"), kustomization(kind="Bucket"), kustomization(namespace="apps"), "kind: flux\n"],
    ids=["another name", "another kind", "another namespace", "something else"],
)
def test_a_kustomization_over_another_source(other: str) -> None:
    assert verdicts({"flux.yaml": source(), "other.yaml": other}, "flux.yaml", 9) == []


def test_the_patches_of_an_instance() -> None:
    patches = (
        KUSTOMIZATION.partition("  patches:\n")[2].replace("\n  ", "\n    ").replace("  - target", "    - target", 1)
    )
    text = (
        "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata:\n  name: flux\n  namespace: flux\nspec:\n"
        f"  distribution:\n    version: 2.8.8\n  kustomize:\n    patches:\n{patches}"
    )
    assert [each[2] for each in verdicts({"flux.yaml": text}, "flux.yaml", 8)] == [OverlayVerdict.BREAKS]
    found = look({"flux.yaml": text}, "flux.yaml", 8)
    assert found is not None
    assert (found.components, found.namespace) == (DEFAULT_COMPONENTS, "flux")


@pytest.mark.parametrize(
    "text",
    [
        (
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: flux\nspec:\n  values:\n"
            "    instance:\n      distribution:\n        version: 2.8.8\n      components: [source-controller]\n"
        ),
        "instance:\n  distribution:\n    version: 2.8.8\n  components: [source-controller]\n",
    ],
    ids=["a release of its chart", "a file of values"],
)
def test_the_values_of_the_chart_of_an_instance(text: str) -> None:
    found = look({"values.yaml": text}, "values.yaml", 3)
    assert found is not None
    assert (found.components, found.namespace) == (("source-controller",), "flux-system")


def test_a_remote_base_and_what_is_patched_above_it() -> None:
    patch = KUSTOMIZATION.partition("  patches:\n")[2]
    above = f"resources:\n- flux-system\npatches:\n{patch}"
    files = {
        "clusters/a/flux-system/kustomization.yaml": "resources:\n- github.com/fluxcd/flux2/manifests/install?ref=v2.8.8\n",
        "clusters/a/kustomization.yaml": above,
    }
    found = verdicts(files, "clusters/a/flux-system/kustomization.yaml", 2)
    assert [(path, verdict) for path, _, verdict in found] == [("clusters/a/kustomization.yaml", OverlayVerdict.BREAKS)]


@pytest.mark.parametrize(
    "text",
    [
        'resource "flux_bootstrap_git" "this" {\n  version = "v2.8.8"\n}\n',
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nspec:\n  resources: []\n",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec:\n  chart: {}\n",
        "{{ not: yaml\n",
    ],
    ids=["Terraform", "a ResourceSet", "another chart", "no YAML"],
)
def test_what_installs_in_a_way_of_its_own(text: str) -> None:
    assert look({"flux.yaml": text}, "flux.yaml", 2) is None


def test_nothing_is_patched() -> None:
    text = source() + "---\n" + kustomization().partition("  patches:\n")[0]
    assert verdicts({"flux.yaml": text}, "flux.yaml", 9) == []
