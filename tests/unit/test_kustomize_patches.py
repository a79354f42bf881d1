"""JSON patches that change a given scalar are found, and places of patches in a Kustomization too."""

from __future__ import annotations

import pytest

from flux_upgrade.pins.formats.kustomize_patches import inline, operations, touches
from flux_upgrade.snapshot.yaml_places import readable

PIN = ("spec", "extensions", None, "flux", "version")


@pytest.mark.parametrize(
    ("operation", "does"),
    [
        ("{op: replace, path: /spec/extensions/0/flux/version, value: v2.8.8}", True),
        ("{op: remove, path: /spec/extensions/0/flux/version}", True),
        ("{op: add, path: /spec/extensions/-, value: {flux: {version: v2.8.8}}}", True),
        ("{op: add, path: /spec/extensions, value: [{flux: {}}, {flux: {version: v2.8.8}}]}", True),
        ("{op: add, path: /spec, value: {extensions: [{flux: {version: v2.8.8}}]}}", True),
        ("{op: test, path: /spec/extensions/0/flux/version, value: v2.8.8}", False),
        ("{op: replace, path: /spec/extensions/0/flux/registry, value: v2.8.8}", False),
        ("{op: replace, path: /spec/extensions/0/flux/version/x, value: v2.8.8}", False),
        ("{op: add, path: /spec/extensions/-, value: {version: v2.8.8}}", False),
        ("{op: add, path: /spec/extensions/-, value: flux}", False),
        ("{op: remove, path: /spec/extensions/0}", False),
        ("{path: /spec/extensions/0/flux/version, value: v2.8.8}", False),
        ("{op: replace, path: [/spec], value: v2.8.8}", False),
    ],
)
def test_an_operation_touches_what_it_writes(operation: str, does: bool) -> None:  # noqa: FBT001 a table's column
    found = list(operations(f"- {operation}\n".encode()))

    assert any(touches(each, PIN) for each in found) is does


def test_what_is_no_json_patch_has_no_operations() -> None:
    texts = (b"", b"op: add\npath: /a\n", b"- a\n- [b]\n", b"- {op: add\n", b"a: 1\n---\n- {op: add, path: /a}\n")

    assert [list(operations(text)) for text in texts] == [[]] * len(texts)


def test_patches_in_a_kustomization_keep_their_lines() -> None:
    content = b"""\
patches:
- path: a.yaml
- patch: |-
    first: 1
- patch: '{"second": 2}'
patchesJson6902:
- target: {kind: Shoot}
  patch: >
    third: 3
spec:
  patches:
  - patch: |
      fourth: 4
"""
    texts = [text for each in readable(content) for text in inline(each, content)]

    lines = {text.content.split(b":")[0].strip(b'{"'): text.before + 1 for text in texts}
    assert lines == {b"first": 4, b"second": 5, b"third": 9, b"fourth": 13}
