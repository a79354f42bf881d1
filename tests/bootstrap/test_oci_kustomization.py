"""A user's kustomization goes into the artifact to the byte, with every local file that it names."""

from __future__ import annotations

import pytest

from bootstrap.oci_bootstraps import FILE
from flux_upgrade.bootstrap.kustomization import DEFAULT, EMPTY, kustomization_of, local_files
from flux_upgrade.model.errors import Unreadable, UsageError
from memory import MemoryTree

HEAD = "resources:\n- gotk-components.yaml\n"

NAMED = {
    "resources": "- extra.yaml\n- ./more/pvc.yaml\n- https://example.com/crd.yaml\n",
    "patches": "patches:\n- path: patches/limits.yaml\n  target: {kind: Deployment}\n- patch: |\n    - op: add\n",
    "old patches": "patchesStrategicMerge:\n- old.yaml\n- |-\n  kind: Deployment\npatchesJson6902:\n- path: json.yaml\n",
    "components": "components:\n- https://github.com/org/repo//component?ref=v1\n- github.com/org/repo/x\n- git.example.com/org/repo.git//x\n- gitlab.com/org/repo?ref=v1\n",
    "config maps": "configMapGenerator:\n- name: a\n  files: [key=values.yaml, plain.txt]\n  envs: [one.env]\n  env: two.env\n",
    "secrets": "secretGenerator:\n- name: a\n  files:\n  - token.enc.yaml\n",
    "replacements": "replacements:\n- path: replacement.yaml\n- source: {kind: ConfigMap}\n",
    "transformers": "transformers:\n- labels.yaml\n- |-\n  kind: LabelTransformer\nopenapi:\n  path: schema.json\n",
}
FILES = {
    "resources": ("extra.yaml", "more/pvc.yaml"),
    "patches": ("patches/limits.yaml",),
    "old patches": ("json.yaml", "old.yaml"),
    "components": (),
    "config maps": ("one.env", "plain.txt", "two.env", "values.yaml"),
    "secrets": ("token.enc.yaml",),
    "replacements": ("replacement.yaml",),
    "transformers": ("labels.yaml", "schema.json"),
}


@pytest.mark.parametrize("field", NAMED)
def test_files_that_it_names(field: str) -> None:
    assert local_files((HEAD + NAMED[field]).encode()) == FILES[field]


def test_ours_need_nothing() -> None:
    assert local_files(DEFAULT) == ()
    with pytest.raises(UsageError, match="Flux would be missing"):
        local_files(EMPTY)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("resources: []\n", "do not list gotk-components.yaml"),
        (f"{HEAD}- gotk-sync.yaml\n", "gotk-sync.yaml, which is not in an artifact"),
        (f"{HEAD}- ../base\n", "'../base' is not a file in its directory or below"),
        (f"{HEAD}- /etc/passwd\n", "'/etc/passwd'"),
        (f"{HEAD}- a/../../b.yaml\n", "'a/../../b.yaml'"),
        (f"{HEAD}- .\n", "'.'"),
        (f"{HEAD}- kustomization.yaml\n", "'kustomization.yaml'"),
        (f"{HEAD}- ä.yaml\n", "plain characters"),
        ("kind: Component\n", "another kind"),
        ("- a\n", "another kind"),
        ("a: [\n", "not valid YAML"),
        ("", "empty document"),
    ],
)
def test_what_cannot_be_had_in_an_artifact(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        local_files(text.encode())
    assert caught.value.hint


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        local_files(b"\xff\xfe")


def test_all_problems_are_one_error() -> None:
    with pytest.raises(UsageError) as caught:
        local_files(b"resources: [gotk-sync.yaml, ../a, /b]\n")
    assert all(word in caught.value.message for word in ("gotk-components", "gotk-sync", "'../a'", "'/b'"))


def test_it_is_kept_to_the_byte_with_what_it_names() -> None:
    text = f"# mine\n{HEAD}{NAMED['patches']}".encode()
    tree = MemoryTree({"prod.yaml": text, "patches/limits.yaml": b"limits", "other.yaml": b"other"})
    assert kustomization_of(tree, "prod.yaml") == {"kustomization.yaml": text, "patches/limits.yaml": b"limits"}


def test_files_that_are_not_there_are_one_error() -> None:
    tree = MemoryTree({"k.yaml": f"{HEAD}- a.yaml\n- b\n".encode()})
    with pytest.raises(UsageError, match=r"'a.yaml': .*; 'b': "):
        kustomization_of(tree, "k.yaml")


def test_no_kustomization_at_all() -> None:
    with pytest.raises(Unreadable):
        kustomization_of(MemoryTree({}), "k.yaml")


def test_its_own_manifest_of_flux_is_not_taken() -> None:
    tree = MemoryTree({"k.yaml": HEAD.encode(), FILE.rpartition("/")[2]: b"old"})
    assert set(kustomization_of(tree, "k.yaml")) == {"kustomization.yaml"}
