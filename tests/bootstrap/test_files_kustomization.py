"""``kustomization.yaml`` is the one that Flux generates from the same folder, and a user's own is kept.

The listings are those that Flux's own ``pkg/manifestgen/kustomization`` writes for the same trees.
"""

from __future__ import annotations

import pytest

from flux_upgrade.bootstrap.kustomization import render_kustomization, unlisted
from flux_upgrade.model.errors import UsageError
from memory import MemoryTree

FOLDER = "clusters/staging/flux-system"
OURS = ("gotk-components.yaml", "gotk-sync.yaml")
OBJECT = "kind: ConfigMap\nmetadata:\n  name: mine\n"
KUSTOMIZATION = "resources: []\n"
HEAD = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"


def listed(files: dict[str, str]) -> list[str]:
    tree = MemoryTree({f"{FOLDER}/{name}": content.encode() for name, content in files.items()})
    text = render_kustomization(tree, FOLDER, OURS).decode()
    assert text.startswith(HEAD)
    return [each.removeprefix("- ") for each in text.removeprefix(HEAD).splitlines()]


@pytest.mark.parametrize(
    ("files", "besides"),
    [
        ({}, []),
        ({"gotk-components.yaml": OBJECT, "gotk-sync.yaml": "a: ["}, []),
        ({"gotk-patches.yaml": OBJECT, "x.json": '{"kind": "A", "metadata": {"name": "b"}}'}, ["gotk-patches.yaml", "x.json"]),
        ({".gitkeep": "", "z": "# nothing\n---\n"}, [".gitkeep", "z"]),
        ({"README.md": "# Flux\n\nRead: this\n", "x.bin": "\0\1", "values.yaml": "a: 1\n"}, []),
        ({"a.yaml": OBJECT + "---\nfoo: bar\n", "b.yaml": "kind: A\n", "c.yaml": "- kind: A\n"}, []),
        ({"a.yaml": "kind: AList\n", "b.yaml": "kind: AList\nitems:\n- kind: A\n", "c.yaml": "kind: AList\nitems: x\n"}, ["a.yaml"]),
        ({"a.yaml": "kind: List\nitems:\n- kind: A\n  metadata: {name: 1}\n-\n"}, ["a.yaml"]),
        ({"a.yaml": "kind: A\nmetadata: {name: ''}\n", "b.yaml": "kind: [A]\nmetadata: {name: b}\n"}, []),
        ({"a.yaml": OBJECT.replace("\n", "\r\n") + "...\r\n", "b.yaml": "--- # two\n" + OBJECT}, ["a.yaml", "b.yaml"]),
    ],
)  # fmt: skip
def test_every_file_that_holds_objects_is_listed(files: dict[str, str], besides: list[str]) -> None:
    assert sorted(listed(files)) == sorted([*OURS, *besides])


def test_a_folder_with_a_kustomization_is_listed_itself() -> None:
    files = {
        "a/kustomization.yml": KUSTOMIZATION,
        "a/x.yaml": OBJECT,
        "b/Kustomization": KUSTOMIZATION,
        "b/c/kustomization.yaml": KUSTOMIZATION,
        "d/e/kustomization.yaml": KUSTOMIZATION,
        "d/x.yaml": OBJECT,
    }
    assert listed(files) == ["a", "b", "d/e", "d/x.yaml", *OURS]


def test_the_order_is_that_of_a_walk() -> None:
    files = dict.fromkeys(["a-b.yaml", "a/x.yaml", "a/b/y.yaml", "z.yaml"], OBJECT)
    assert listed(files) == ["a/b/y.yaml", "a/x.yaml", "a-b.yaml", *OURS, "z.yaml"]


def test_odd_names_have_quotes() -> None:
    files = dict.fromkeys(["null", "1.0", "#x.yaml", "a b.yaml"], OBJECT)
    assert listed(files) == ["'#x.yaml'", '"1.0"', "a b.yaml", *OURS, '"null"']


def test_files_of_other_folders_are_nobodys_business() -> None:
    tree = MemoryTree({f"{FOLDER}-old/x.yaml": OBJECT.encode(), "clusters/staging/y.yaml": OBJECT.encode()})
    assert render_kustomization(tree, FOLDER, OURS).decode() == HEAD + "".join(f"- {name}\n" for name in OURS)


@pytest.mark.parametrize("content", [b"", b"# mine\r\nresources: []\r\n", b"a: [", b"\xff"])
def test_the_users_own_is_kept_to_the_byte(content: bytes) -> None:
    tree = MemoryTree({f"{FOLDER}/kustomization.yaml": content, f"{FOLDER}/x.yaml": OBJECT.encode()})
    assert render_kustomization(tree, FOLDER, OURS) == content


@pytest.mark.parametrize("name", ["kustomization.yml", "Kustomization"])
def test_another_name_of_it_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        listed({name: KUSTOMIZATION})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", OURS),
        (b"# nothing\n", OURS),
        (b"resources:\n", OURS),
        (b"resources:\n- gotk-sync.yaml\n", OURS[:1]),
        (b"resources:\n- ./gotk-sync.yaml\n- ./gotk-components.yaml\n", ()),
    ],
)
def test_what_a_kustomization_leaves_out_is_reported(content: bytes, expected: tuple[str, ...]) -> None:
    assert unlisted(content, OURS) == expected
