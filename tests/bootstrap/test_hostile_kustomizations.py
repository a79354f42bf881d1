"""What a kustomization beside Flux refers to is built from the repository alone: no request, no program, no other file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.loopback import Answer, Loopback
from flows import manifest
from flux_upgrade.adapters.local import kustomize
from flux_upgrade.bootstrap.cluster.objects import manifests_of
from flux_upgrade.impact.overlay.check import check_overlay
from flux_upgrade.model.errors import ClusterUnfit
from flux_upgrade.model.unknown import known_or
from memory import MemoryTree
from real_parts import require_program

pytestmark = pytest.mark.real_part("kustomize")

FOLDER = "clusters/a/flux-system"
MANIFEST = f"{FOLDER}/gotk-components.yaml"
HEAD = "resources: [gotk-components.yaml]\n"
PATCH = "patches: [{target: {kind: Deployment}, patch: '[{op: add, path: /metadata/labels/a, value: b}]'}]\n"
OBJECT = "{apiVersion: v1, kind: ConfigMap, metadata: {name: evil}, data: {a: b}}\n"
PLUGIN = "{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: x}, name: x, files: ['URL/g']}\n"
EXEC = """\
apiVersion: v1
kind: Any
metadata:
  name: x
  annotations:
    config.kubernetes.io/function: |
      exec: {path: BIN/git}
"""
REMOTE: dict[str, tuple[str, dict[str, str]]] = {
    "a resource": ("components: []\nbases: [URL/r.yaml]\n", {}),
    "a repository over https": ("bases: ['https://127.0.0.1:1/a/b.git?ref=main']\n", {}),
    "a repository over ssh": ("bases: ['ssh://git@127.0.0.1:1/a/b?ref=main']\n", {}),
    "a repository of an address": ("bases: ['git@127.0.0.1:a/b']\n", {}),
    "a repository of this machine": ("bases: ['file:///tmp/a.git//x']\n", {}),
    "a component": ("components: [URL/c]\n", {}),
    "a patch": ("patches: [{path: URL/p}]\n", {}),
    "a patch of an older kind": ("patchesStrategicMerge: [URL/p]\n", {}),
    "a replacement": ("replacements: [{path: URL/p}]\n", {}),
    "a schema": ("openapi: {path: URL/o}\n", {}),
    "the schema of a CRD": ("crds: [URL/o]\n", {}),
    "a configuration": ("configurations: [URL/o]\n", {}),
    "a file of a ConfigMap": ("configMapGenerator: [{name: x, files: [URL/f]}]\n", {}),
    "a file with a key": ("configMapGenerator: [{name: x, files: ['k=URL/f']}]\n", {}),
    "variables": ("secretGenerator: [{name: x, envs: ['URL/e=f']}]\n", {}),
    "variables of an older kind": ("configMapGenerator: [{name: x, env: URL/e}]\n", {}),
    "a chart": ("helmCharts: [{name: x, repo: URL, valuesFile: URL/v}]\n", {}),
    "a generator": ("generators: [gen.yaml]\n", {"gen.yaml": PLUGIN}),
    "a generator that stands there": (f"generators:\n- |\n  {PLUGIN}", {}),
    "a generator of a folder": (
        "generators: [gen]\n",
        {"gen/kustomization.yaml": "resources: [gen.yaml]\n", "gen/gen.yaml": PLUGIN},
    ),
    "a transformer": (
        "transformers: [t.yaml]\n",
        {"t.yaml": "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: URL/p}\n"},
    ),
    "what a base refers to": ("bases: [../base]\n", {"../base/kustomization.yaml": "resources: [URL/r]\n"}),
}
ELSEWHERE: dict[str, tuple[str, dict[str, str]]] = {
    "a file of this machine": ("configMapGenerator: [{name: x, files: [/etc/passwd]}]\n", {}),
    "a file above the repository": ("configMapGenerator: [{name: x, files: [../../../../../etc/passwd]}]\n", {}),
    "variables of this machine": ("secretGenerator: [{name: x, envs: [/etc/passwd]}]\n", {}),
    "a base above the repository": ("bases: [../../../../base]\n", {}),
    "a program as a generator": ("generators: [gen.yaml]\n", {"gen.yaml": EXEC}),
    "a program as a transformer": ("transformers: [gen.yaml]\n", {"gen.yaml": EXEC}),
    "a chart without an address": ("helmCharts: [{name: x, version: 1.0.0}]\n", {}),
    "a kustomization that cannot be read": ("bases: [../b]\n", {"../b/kustomization.yaml": "resources: [a\n"}),
    "a circle": ("components: [../flux-system]\n", {}),
    "a circle over two": ("bases: [../b]\n", {"../b/kustomization.yaml": "resources: [../flux-system]\n"}),
}
DEPTH = 30


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as found:
        yield found


Programs = tuple[kustomize.Kustomize, Path]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    """The real kustomize, and where a Git on its PATH writes down what it is asked."""
    folder, log = tmp_path / "bin", tmp_path / "asked"
    folder.mkdir()
    (folder / "kustomize").symlink_to(require_program("kustomize"))
    (folder / "git").write_text(f'#!/bin/sh\necho "$@" >> {log}\nexit 1\n')
    (folder / "git").chmod(0o755)
    found = kustomize.find(str(folder), {"HOME": "/nonexistent", "PATH": f"{folder}:{os.defpath}"}, 60.0)
    assert found is not None
    return found, log


def files_of(text: str, more: dict[str, str], old: str = "", new: str = "") -> dict[str, bytes]:
    """Flux, a kustomization with ``text``, and ``more``; of all that, ``old`` gives way to ``new``."""
    texts = {"kustomization.yaml": HEAD + text, **more}
    own = {os.path.normpath(f"{FOLDER}/{name}"): each.replace(old, new).encode() for name, each in texts.items()}
    return {MANIFEST: manifest("v2.9.4"), f"{FOLDER}/gotk-sync.yaml": b"", **own}


@pytest.mark.parametrize("case", REMOTE)
def test_nothing_is_fetched(case: str, server: Loopback, programs: Programs) -> None:
    for path in ("/r.yaml", "/c", "/p", "/o", "/f", "/e", "/e=f", "/g", "/r", "/v"):
        server.route(path, Answer(OBJECT.encode()))
    builder, asked = programs
    text, more = REMOTE[case]
    files = files_of(text, more, "URL", f"http://{server.host}")
    with pytest.raises(ClusterUnfit, match="is not in this repository"):
        manifests_of(files, FOLDER, "flux-system", builder.build)
    if "patches:" not in text:
        files = files_of(text + PATCH, more, "URL", f"http://{server.host}")
        before, after = manifest("v2.9.3"), manifest("v2.9.4")
        overlay = known_or(check_overlay(MemoryTree(files), MANIFEST, before, after, builder), None)
        assert overlay is not None
        assert overlay.unbuilt.endswith("is not in this repository")
    assert server.seen == []
    assert not asked.exists()


@pytest.mark.parametrize("case", ELSEWHERE)
def test_nothing_else_of_this_machine_is_read_or_run(case: str, programs: Programs, tmp_path: Path) -> None:
    builder, asked = programs
    text, more = ELSEWHERE[case]
    files = files_of(text, more, "BIN", str(tmp_path / "bin"))
    with pytest.raises(ClusterUnfit):
        manifests_of(files, FOLDER, "flux-system", builder.build)
    assert not asked.exists()


def test_what_doubles_with_each_folder_is_not_built() -> None:
    """It would be 2^30 objects, out of 60 files of a line."""
    more = {
        f"d/{depth}{side}/kustomization.yaml": f"namePrefix: {side}-\nresources: [../{depth + 1}a, ../{depth + 1}b]\n"
        for depth in range(DEPTH)
        for side in "ab"
    }

    def build(files: object, folder: str, name: str) -> bytes:
        raise AssertionError(files, folder, name)

    with pytest.raises(ClusterUnfit, match="more than 2000 files"):
        manifests_of(files_of("bases: [d/0a, d/0b]\n", more), FOLDER, "flux-system", build)


def test_a_circle_ends_although_it_doubles() -> None:
    more = {"a/kustomization.yaml": "resources: [../b, ../b]\n", "b/kustomization.yaml": "resources: [../a, ../a]\n"}

    def build(files: object, folder: str, name: str) -> bytes:
        del files, folder, name
        raise ClusterUnfit("the program says so", hint="")

    with pytest.raises(ClusterUnfit, match="the program says so"):
        manifests_of(files_of("bases: [a]\n", more), FOLDER, "flux-system", build)


def test_what_is_in_the_repository_is_built(programs: Programs) -> None:
    more = {
        "../base/kustomization.yaml": "resources: [o.yaml]\n",
        "../base/o.yaml": OBJECT,
        "e.txt": "a=https://example.com/?b\n",
        "t.yaml": (
            "{apiVersion: builtin, kind: PrefixTransformer, metadata: {name: x}, prefix: own-,"
            " fieldSpecs: [{path: metadata/name, kind: ConfigMap}]}\n"
        ),
    }
    text = "bases: [../base]\ntransformers: [t.yaml]\nconfigMapGenerator: [{name: x, envs: [e.txt]}]\n"
    components, _ = manifests_of(files_of(text, more), FOLDER, "flux-system", programs[0].build)
    names = [str(each["metadata"]["name"]) for each in components if each["kind"] == "ConfigMap"]
    assert [name.rpartition("-")[0] if name.startswith("own-x") else name for name in sorted(names)] == [
        "own-evil",
        "own-x",
    ]


def test_the_program_itself_clones_nothing(tmp_path: Path) -> None:
    """Should it take for a repository what we do not."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "kustomize").symlink_to(require_program("kustomize"))
    path = f"{folder}:{os.path.dirname(require_program('git'))}:{os.defpath}"
    builder = kustomize.find(path, {"HOME": "/nonexistent", "PATH": path}, 60.0)
    assert builder is not None
    files = {"a/kustomization.yaml": b"resources: ['ssh://git@127.0.0.1:1/a/b?ref=main']\n"}
    with pytest.raises(ClusterUnfit, match="transport 'ssh' not allowed"):
        builder.build(files, "a", "x")
