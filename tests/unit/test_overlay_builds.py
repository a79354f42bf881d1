"""A kustomization is built before and after the upgrade, from the files that it names, and its result is compared."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

import pytest

from flux_upgrade.adapters.local import kustomize
from flux_upgrade.impact.overlay.check import check_overlay
from flux_upgrade.impact.overlay.result import Overlay, OverlayVerdict
from flux_upgrade.model.errors import ClusterUnfit
from flux_upgrade.model.unknown import known_or
from memory import MemoryTree
from overlay_cases import manifest
from real_parts import require_program

PATH = "clusters/a/flux-system/gotk-components.yaml"
HEAD = b"resources: [gotk-components.yaml, gotk-sync.yaml]\n"
SYNC = b"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: other, namespace: flux-system}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: staging, namespace: flux-system}
"""
APPENDS = b"""\
patches:
- target: {kind: Deployment, name: helm-controller}
  patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --concurrent=2
"""
GONE = b"""\
patches:
- target: {kind: CustomResourceDefinition, name: alerts.notification.toolkit.fluxcd.io}
  patch: '[{"op": "remove", "path": "/spec/versions/1"}]'
"""
FREEZES = b"""\
patches:
- target: {kind: Deployment, name: kustomize-controller}
  patch: |
    - op: replace
      path: /spec/template/spec/containers/0/args
      value: [--log-level=debug]
"""
OLD, NEW = manifest("v2.8.8"), manifest("v2.9.4")


class Program:
    """The port Builder: it gives the manifest back, or fails with it."""

    name = "kustomize"

    def __init__(self, *refused: bytes, result: bytes | None = None) -> None:
        self._refused, self._result = refused, result
        self.asked: list[tuple[tuple[str, ...], str, str]] = []

    def build(self, files: Mapping[str, bytes], folder: str, name: str) -> bytes:
        self.asked.append((tuple(sorted(files)), folder, name))
        if files[PATH] in self._refused:
            raise ClusterUnfit("kustomize cannot build the kustomization: no matches for Id x")
        return files[PATH] if self._result is None else self._result


def overlay(program: kustomize.Kustomize | Program, content: bytes, **others: bytes) -> Overlay:
    files = {PATH: OLD, "clusters/a/flux-system/gotk-sync.yaml": SYNC}
    files |= {name.replace("__", "/").replace("_yaml", ".yaml"): text for name, text in others.items()}
    tree = MemoryTree({**files, "clusters/a/flux-system/kustomization.yaml": content})
    found = known_or(check_overlay(tree, PATH, OLD, NEW, program), None)
    assert found is not None
    return found


def test_what_changes_in_the_result_is_reported() -> None:
    found = overlay(program := Program(), HEAD + APPENDS)

    assert (found.builder, found.failed, found.unbuilt) == ("kustomize", "", "")
    assert found.built is not None
    assert len(found.built.controllers) == 4
    assert [asked[1:] for asked in program.asked] == [("clusters/a/flux-system", "staging")] * 2


def test_it_gets_all_files_that_it_may_refer_to_and_no_others() -> None:
    content = b"""\
resources: [gotk-components.yaml, gotk-sync.yaml, ../../base]
patches: [{path: a.yaml}, {patch: "{kind: Secret, metadata: {name: a}}"}]
patchesStrategicMerge: [b.yaml, "kind: Secret\\nmetadata: {name: a}\\n"]
replacements: [{path: c.yaml}]
configurations: [d.yaml]
openapi: {path: e.yaml}
configMapGenerator: [{name: f, files: [g=h.yaml, i.yaml], envs: [j.yaml], env: k.yaml}]
secretGenerator: text
"""
    names = "abcdehijk"
    others = {f"clusters__a__flux-system__{each}_yaml": b"---\n" for each in names}
    below = {"clusters__base__kustomization_yaml": b"resources: [l.yaml, ../base]\n", "clusters__base__l_yaml": b""}
    overlay(program := Program(OLD), content, **others, **below, **{"clusters__a__flux-system__m_yaml": b""})

    wanted = [f"clusters/a/flux-system/{each}.yaml" for each in (*names, "gotk-components", "gotk-sync")]
    wanted += ["clusters/a/flux-system/kustomization.yaml"]
    wanted += ["clusters/base/kustomization.yaml", "clusters/base/l.yaml"]
    assert program.asked[0][0] == tuple(sorted(wanted))


def test_only_the_new_build_fails() -> None:
    found = overlay(Program(NEW), HEAD + GONE)

    assert found.failed == "kustomize cannot build the kustomization: no matches for Id x"
    assert found.built is None
    assert [(each.verdict, each.fails) for each in found.findings] == [(OverlayVerdict.BREAKS, True)]


def test_nothing_is_compared_where_the_build_fails_today() -> None:
    found = overlay(Program(OLD, NEW), HEAD + APPENDS)

    assert (found.failed, found.builder) == ("", "")
    assert "today" in found.unbuilt


def test_the_program_has_the_last_word() -> None:
    """A finding of ours that its build disproves holds nothing."""
    (finding,) = overlay(Program(), HEAD + GONE).findings

    assert (finding.verdict, finding.fails, finding.holds) == (OverlayVerdict.UNKNOWN, False, False)
    assert "kustomize builds it nevertheless" in finding.detail


def test_a_remote_base_is_not_fetched() -> None:
    program = Program()
    found = overlay(program, HEAD[:-2] + b", 'https://example.com/a.yaml']\n" + APPENDS)

    assert (
        found.unbuilt
        == "https://example.com/a.yaml in clusters/a/flux-system/kustomization.yaml is not in this repository"
    )
    assert not program.asked


PLUGIN = "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, path: %s}"
URL = "http://10.0.0.1/a.yaml"
OUTSIDE = {
    "a patch": f"patches: [{{path: '{URL}'}}]",
    "a patch, in capitals": "Patches: [{Path: 'HTTP://10.0.0.1/a.yaml'}]",
    "a patch of JSON": f"patchesJson6902: [{{target: {{kind: Pod, name: a}}, path: '{URL}'}}]",
    "a patch by a merge key": f"commonAnnotations: &a {{path: '{URL}'}}\npatches: [{{<<: *a}}]",
    "a strategic patch": f"patchesStrategicMerge: ['{URL}']",
    "a replacement": f"replacements: [{{path: '{URL}'}}]",
    "a file of a ConfigMap": f"configMapGenerator: [{{name: a, files: ['k={URL}']}}]",
    "variables of a Secret": f"secretGenerator: [{{name: a, envs: ['{URL}']}}]",
    "a CRD": f"crds: ['{URL}']",
    "a schema": f"openapi: {{path: '{URL}'}}",
    "a component": "components: ['git@10.0.0.1:org/repo']",
    "a component, by another user": "components: ['me@10.0.0.1:org/repo']",
    "a component on GitHub, in capitals": "components: ['GITHUB.COM/org/repo']",
    "a component on GitHub, in both": "components: ['GitHub.com/org/repo']",
    "a component by an abbreviation": "components: ['GH:org/repo']",
    "a component by a prefix": "components: ['Git::10.0.0.1/org/repo']",
    "a component by a user alone": "components: ['GIT@10.0.0.1/org/repo']",
    "a generator": "generators: [plugin.yaml]",
    "a transformer": "transformers: [plugin.yaml]",
    "a validator": "Validators: [plugin.yaml]",
    "a transformer in place": f"transformers:\n- |-\n  {PLUGIN % URL}\n  # more",
    "a transformer in one line": f"transformers: ['{PLUGIN % URL}']",
    "a directory of generators": "generators: [below]",
    "a file, by a letter that Go takes for an s": f"configMapGenerator: [{{name: a, file\u017f: ['k={URL}']}}]",
    "a resource, by a letter that Go takes for an s": f"re\u017fource\u017f: ['{URL}']",
    "a transformer, by a letter that Go takes for an s": "tran\u017fformers: [plugin.yaml]",
    "a file by a merge key that overrides": (
        f"configMapGenerator: [{{name: a, files: [gotk-components.yaml], <<: {{files: ['k={URL}']}}}}]"
    ),
    "a file in a set": f"configMapGenerator: [!!set {{name: a, files: ['k={URL}']}}]",
    "a field whose name is in base64": f"configMapGenerator: [{{name: a, !!binary {b64encode(b'files').decode()}: ['k={URL}']}}]",
    "a patch whose file is in base64": f"patches: [{{path: !!binary {b64encode(URL.encode()).decode()}}}]",
    "a plugin with a merge key that overrides": "generators: [merging.yaml]",
    "two hundred and one patches": "patches: [" + "{patch: '{}'}, " * 201 + "]",
    "a plugin that is no YAML": "generators: [broken.yaml]",
}


@pytest.mark.parametrize("text", OUTSIDE.values(), ids=OUTSIDE)
def test_nothing_is_built_that_would_be_fetched(text: str) -> None:
    program = Program()
    others = {
        "clusters__a__flux-system__plugin_yaml": (PLUGIN % URL).encode(),
        "clusters__a__flux-system__broken_yaml": b"{",
        "clusters__a__flux-system__merging_yaml": (PLUGIN % f"a, <<: {{path: '{URL}'}}").encode(),
        "clusters__a__flux-system__below__kustomization_yaml": b"resources: [a.yaml]\n",
        "clusters__a__flux-system__below__a_yaml": (PLUGIN % URL).encode(),
    }
    found = overlay(program, b"resources: [gotk-components.yaml]\n" + text.encode() + b"\n", **others)
    assert program.asked == []
    assert found.unbuilt


def test_addresses_that_nothing_loads_are_no_obstacle() -> None:
    content = b"""\
resources: [gotk-components.yaml]
commonAnnotations: {docs: "https://example.com/docs", mail: "me@example.com: a"}
configMapGenerator: [{name: a, literals: ["url=https://example.com"]}]
patches: [{target: {kind: Pod}, patch: '[{"op": "add", "path": "/a", "value": "https://example.com"}]'}]
transformers:
- |-
  apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: a}
  prefix: a-
"""
    overlay(program := Program(OLD), content)
    assert program.asked


@pytest.mark.parametrize("path", ["../../../../a.yaml", "/etc/hostname"])
def test_nothing_from_outside_is_asked_for(path: str) -> None:
    program = Program()
    found = overlay(program, HEAD[:-2] + f", {path}]\n".encode() + APPENDS)

    assert found.unbuilt == f"{path} is outside of this repository"
    assert not program.asked


def test_a_kustomization_that_only_lists_is_not_built() -> None:
    """Its result is the manifest, which is compared anyway."""
    program = Program()
    found = overlay(program, HEAD)

    assert found == Overlay("clusters/a/flux-system/kustomization.yaml", ())
    assert not program.asked


def test_what_is_built_may_be_no_yaml() -> None:
    assert "cannot be read" in overlay(Program(result=b"a: [\n<<<<<<< x\n"), HEAD + APPENDS).unbuilt


def test_too_many_files_are_not_built() -> None:
    names = ", ".join(f"{index}.yaml" for index in range(2100))
    others = {f"clusters__a__flux-system__{index}_yaml": b"" for index in range(2100)}
    found = overlay(Program(), HEAD[:-2] + f", {names}]\n".encode() + APPENDS, **others)

    assert "more than" in found.unbuilt


@pytest.mark.real_part("kustomize")
def test_the_real_kustomize(tmp_path: Path) -> None:
    """With the build in hand, what a patch does to the result shows."""
    (tmp_path / "kustomize").symlink_to(require_program("kustomize"))
    program = kustomize.find(str(tmp_path), {"HOME": "/nonexistent"}, 60.0)
    assert program is not None
    found = overlay(program, HEAD + FREEZES)

    assert (found.builder, found.failed, found.unbuilt) == ("kustomize", "", "")
    assert found.findings[0].drops == ("--requeue-dependency=5s",)
    assert found.built is not None
    gained = {each.object for each in found.built.others if "--requeue-dependency=5s" in each.phrase}
    assert "Deployment/source-controller" in gained
    assert "Deployment/kustomize-controller" not in gained
    assert overlay(program, HEAD + GONE).failed.count("/spec/versions/1") == 1
