"""A manifest that no kustomization and no Kustomization refers to is an orphan."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flux_upgrade.clusters.ownership.orphans import References
from flux_upgrade.model.errors import Unreadable
from memory import MemoryTree

FILE = "clusters/a/flux-system/gotk-components.yaml"
BESIDE = "clusters/a/flux-system/kustomization.yaml"
LISTS_OTHERS = "resources: [gotk-sync.yaml]\n"
KUSTOMIZE = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"


def flux_kustomization(path: str, *, indent: str = "") -> str:
    lines = (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1",
        "kind: Kustomization",
        "metadata: {name: flux-system, namespace: flux-system}",
        f"spec: {{path: {path}, sourceRef: {{kind: GitRepository, name: flux-system}}}}",
    )
    return "".join(f"{indent}{line}\n" for line in lines)


PATCH = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: not-used}\nspec: {prune: false}\n"

REFERRED = {
    "listed beside it": {BESIDE: f"{KUSTOMIZE}resources:\n- gotk-components.yaml\n- gotk-sync.yaml\n"},
    "with a dot": {BESIDE: "resources: [./gotk-components.yaml]\n"},
    "by the second name": {"clusters/a/flux-system/kustomization.yml": "resources: [gotk-components.yaml]\n"},
    "by the third name": {"clusters/a/flux-system/Kustomization": "resources: [gotk-components.yaml]\n"},
    "as a base": {BESIDE: "bases: [gotk-components.yaml]\n"},
    "from above": {"clusters/a/kustomization.yaml": "resources: [flux-system/gotk-components.yaml]\n"},
    "from another folder": {"apps/kustomization.yaml": "resources: [../clusters/a/flux-system/gotk-components.yaml]\n"},
    "a folder without a kustomization": {"apps/kustomization.yaml": "resources: [../clusters/a]\n"},
    "a link that leads nowhere here": {"clusters/b/kustomization.yaml": "resources: [flux-system]\n"},
    "no kustomization of either kind": {"README.yaml": "a: 1\n"},
    "none but a chart": {"charts/x/Chart.yaml": "name: x\n"},
    "Flux generates it": {"sync.yaml": flux_kustomization("./clusters/a")},
    "Flux generates it, no dot": {"sync.yaml": flux_kustomization("clusters/a/")},
    "Flux generates it, absolute": {"sync.yaml": flux_kustomization("/clusters/a")},
    "Flux generates it from the root": {"sync.yaml": flux_kustomization("./")},
    "Flux generates it, no path": {"sync.yaml": flux_kustomization("null")},
    "Flux generates it from its own folder": {"sync.yaml": flux_kustomization("./clusters/a/flux-system")},
    "in a List": {"sync.yaml": f"apiVersion: v1\nkind: List\nitems:\n-\n{flux_kustomization('./clusters/a', indent='  ')}"},
    "in a second document": {"sync.yaml": f"a: 1\n---\n{flux_kustomization('./clusters/a')}"},
    "as JSON in YAML": {"sync.yaml": '{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "spec": {"path": "clusters/a"}}'},
    "a FluxInstance": {"sync.yaml": "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nspec: {sync: {path: clusters/a}}\n"},
    "a variable in the path": {"sync.yaml": flux_kustomization("./clusters/${name}")},
    "a template in the path": {"sync.yaml": flux_kustomization("'./<< inputs.name >>'")},
    "a path outside": {"sync.yaml": flux_kustomization("../other")},
    "a template as text": {"sync.yaml": f"apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nspec:\n  resourcesTemplate: |\n{flux_kustomization('x', indent='    ')}    path: x\n"},
    "a sync that cannot be parsed": {"sync.yaml": flux_kustomization("./elsewhere") + "{{ end }}\n"},
    "a patch of paths": {"k/kustomization.yaml": "resources: []\npatches:\n- patch: '[{op: replace, path: /spec/path, value: clusters/a}]'\n"},
    "a kustomization beside it that cannot be parsed": {BESIDE: "resources: [{{ x }}]\n"},
    "one above it that cannot be parsed": {"clusters/kustomization.yaml": "<<<<<<< HEAD\nresources: []\n"},
    "an empty one": {BESIDE: ""},
    "one that is a list": {BESIDE: "- a\n"},
    "one whose resources are none": {BESIDE: "resources: x\n"},
    "one of Flux's under that name": {BESIDE: flux_kustomization("./elsewhere")},
    "one of two documents": {BESIDE: "resources: []\n---\nresources: [gotk-components.yaml]\n"},
    "a template of a kustomization": {"clusters/a/kustomization.yaml.j2": "x", "k/kustomization.yaml": "resources: []\n"},
    "a chart": {"clusters/a/Chart.yaml": "name: x\n", "k/kustomization.yaml": "resources: []\n"},
    "a ConfigMap is generated from it": {BESIDE: "resources: [gotk-sync.yaml]\nconfigMapGenerator:\n- name: flux\n  files: [gotk-components.yaml]\n"},
    "a Secret is generated from it": {BESIDE: "resources: []\nsecretGenerator:\n- name: flux\n  files: [install=gotk-components.yaml]\n"},
    "a Makefile": {BESIDE: LISTS_OTHERS, "Makefile": f"bootstrap:\n\tkubectl apply --server-side -f {FILE}\n"},
    "a Makefile of its directory": {BESIDE: LISTS_OTHERS, "clusters/a/flux-system/Makefile": "all:\n\tkubectl apply -f gotk-components.yaml\n"},
    "a script for any cluster": {BESIDE: LISTS_OTHERS, "up.sh": 'kubectl apply -f "clusters/${CLUSTER}/flux-system/gotk-components.yaml"\n'},
    "a workflow": {BESIDE: LISTS_OTHERS, ".github/workflows/up.yaml": f"jobs:\n  up:\n    steps:\n    - run: kubectl apply -f $GITHUB_WORKSPACE/{FILE}\n"},
    "a workflow applies its directory": {BESIDE: LISTS_OTHERS, ".github/workflows/up.yaml": "jobs:\n  up:\n    steps:\n    - run: kubectl apply -f clusters/a/flux-system\n"},
    "Terraform": {BESIDE: LISTS_OTHERS, "main.tf": f'locals {{ flux = file("${{path.module}}/{FILE}") }}\n'},
    "Terraform reads its directory": {BESIDE: LISTS_OTHERS, "main.tf": 'locals { flux = fileset(path.module, "clusters/a/flux-system/*.yaml") }\n'},
    "Ansible": {BESIDE: LISTS_OTHERS, "tasks/main.yml": f"- kubernetes.core.k8s: {{src: {FILE}}}\n"},
    "jsonnet": {"main.jsonnet": "importstr 'clusters/a/flux-system/gotk-components.yaml'", "k/kustomization.yaml": "resources: []\n"},
}  # fmt: skip

ORPHANS = {
    "its kustomization lists others": {BESIDE: LISTS_OTHERS},
    "and Flux takes that one": {BESIDE: LISTS_OTHERS, "sync.yaml": flux_kustomization("./clusters/a")},
    "a patch is no reference": {BESIDE: "resources: []\npatches: [{path: gotk-components.yaml}]\n"},
    "lists that are null": {BESIDE: "resources:\nbases:\ncomponents:\n"},
    "a comment is no reference": {BESIDE: "resources:\n# - gotk-components.yaml\n- gotk-sync.yaml\n"},
    "another cluster's": {"clusters/b/flux-system/kustomization.yaml": "resources: [gotk-components.yaml]\n", "clusters/b/flux-system/gotk-components.yaml": "b"},
    "Flux looks elsewhere": {"sync.yaml": flux_kustomization("./clusters/b")},
    "a folder whose name begins alike": {"sync.yaml": flux_kustomization("./clusters/a/flux")},
    "a kustomization between": {"sync.yaml": flux_kustomization("./"), "clusters/kustomization.yaml": "resources: [x.yaml]\n", "clusters/x.yaml": "x"},
    "a kustomization at the path itself": {"sync.yaml": flux_kustomization("./clusters/a"), "clusters/a/kustomization.yaml": "resources: []\n"},
    "a folder with a kustomization of its own": {"clusters/kustomization.yaml": "resources: [a/flux-system]\n", BESIDE: LISTS_OTHERS},
    "a Makefile of another cluster": {BESIDE: LISTS_OTHERS, "Makefile": "all:\n\tkubectl apply -f clusters/b/flux-system/gotk-components.yaml\n"},
    "a comment in a script": {BESIDE: LISTS_OTHERS, "up.sh": f"# kubectl apply -f {FILE}\n"},
    "Renovate": {BESIDE: LISTS_OTHERS, "renovate.json": '{"flux": {"managerFilePatterns": ["gotk-components.yaml"]}}'},
    "a linter": {BESIDE: LISTS_OTHERS, ".yamllint.yaml": f"ignore:\n- {FILE}\n"},
    "documentation": {BESIDE: LISTS_OTHERS, "README.md": f"Run kubectl apply -f {FILE}.\n"},
    "a remote base": {"k/kustomization.yaml": "resources: ['https://example.org/fleet//flux-system?ref=v1']\n"},
    "a patch for Flux's Kustomizations": {"k/kustomization.yaml": f"resources: []\npatches:\n- patch: |\n{''.join(f'    {line}' for line in PATCH.splitlines(keepends=True))}"},
    "a patch in a file": {"k/kustomization.yaml": "resources: []\n", "k/patch.yaml": PATCH},
    "a broken one in another folder": {"other/kustomization.yaml": "{{ x }}\n"},
    "a chart in another folder": {"charts/x/Chart.yaml": "name: x\n", "k/kustomization.yaml": "resources: []\n"},
}  # fmt: skip


def tree(files: dict[str, str]) -> MemoryTree:
    return MemoryTree({FILE: b"x: 1\n"} | {path: text.encode() for path, text in files.items()})


def is_referenced(files: MemoryTree, path: str) -> bool:
    return References(files).refers_to(path)


@pytest.mark.parametrize("name", REFERRED)
def test_is_referred_to(name: str) -> None:
    assert is_referenced(tree(REFERRED[name]), FILE)


@pytest.mark.parametrize("name", ORPHANS)
def test_is_an_orphan(name: str) -> None:
    assert not is_referenced(tree(ORPHANS[name]), FILE)


def test_a_file_at_the_root() -> None:
    files = MemoryTree({"gotk-components.yaml": b"x", "kustomization.yaml": b"resources: [gotk-components.yaml]"})
    assert is_referenced(files, "gotk-components.yaml")
    files.files["kustomization.yaml"] = b"resources: [other.yaml]"
    assert not is_referenced(files, "gotk-components.yaml")
    del files.files["kustomization.yaml"]
    files.files["sync.yaml"] = flux_kustomization("./").encode()
    assert is_referenced(files, "gotk-components.yaml")


class CountingTree(MemoryTree):
    """Counts what is asked of it."""

    walks = 0

    def candidates(self, directory: str = "") -> Iterator[str]:
        self.walks += 1
        return super().candidates(directory)

    def named(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        self.walks += 1
        return super().named(suffixes)


def test_a_usual_installation_needs_no_scan() -> None:
    files = CountingTree({FILE: b"x", BESIDE: b"resources: [gotk-components.yaml]"})
    assert References(files).refers_to(FILE)
    assert files.walks == 0


def test_the_tree_is_scanned_once() -> None:
    files = CountingTree({FILE: b"x", BESIDE: LISTS_OTHERS.encode()})
    references = References(files)
    assert [references.refers_to(FILE) for _ in range(3)] == [False] * 3
    assert files.walks <= 6


def test_what_cannot_be_read_may_refer_to_anything() -> None:
    class Locked(MemoryTree):
        def read(self, path: str) -> bytes:
            if path == "locked.yaml":
                raise Unreadable("locked.yaml cannot be read")
            return super().read(path)

    assert Locked(tree({BESIDE: LISTS_OTHERS}).files | {"locked.yaml": b""}).read(FILE)
    assert not is_referenced(Locked(tree({BESIDE: LISTS_OTHERS}).files), FILE)
    assert is_referenced(Locked(tree({BESIDE: LISTS_OTHERS}).files | {"locked.yaml": b""}), FILE)
