"""An API version is found in its place in every spelling, with whether it may be changed there."""

from __future__ import annotations

import pytest

from flux_upgrade.impact.api_uses.flux_file import ApiUse, FluxObject, UsePlace
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.model.text import TextEdit, decoded, edited

GROUPS = ("source.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io")
API = "source.toolkit.fluxcd.io/v1beta2"
REST = "kind: GitRepository\nmetadata:\n  name: x\n"
SPELLED = "it contains a YAML tag, escapes or line breaks"
SHARED = "it uses a YAML anchor or alias"


def _uses(content: bytes, path: str = "a.yaml") -> tuple[ApiUse, ...]:
    found = find(path, content, GROUPS)
    assert found is not None
    for use in found.uses:
        text = decoded(content)
        assert text[: use.start].count("\n") + 1 == use.line
        assert text[use.start : use.end] == use.version or use.why
        if use.place in (UsePlace.RESOURCE, UsePlace.EMBEDDED, UsePlace.PATCH):
            each = found.object_of(use)
            assert each is None or (each.version, each.kind) == (use.version, use.kind)
    return found.uses


MOVABLE = [
    pytest.param(f"apiVersion: {API}\n{REST}", 1, id="plain"),
    pytest.param(f"\ufeffapiVersion: {API}\n{REST}", 1, id="byte-order-mark"),
    pytest.param(f"apiVersion: {API}\n{REST}".replace("\n", "\r\n"), 1, id="crlf"),
    pytest.param(f"a: 1\r\n---\r\napiVersion: {API}\r\nkind: GitRepository\nmetadata: {{name: x}}", 3, id="mixed-line-ends"),
    pytest.param(f"{REST}apiVersion: {API}", 4, id="no-final-newline"),
    pytest.param(f"apiVersion:\t{API}\t# tabs\n{REST}", 1, id="tabs"),
    pytest.param(f"apiVersion  :   {API}   \n{REST}", 1, id="blanks"),
    pytest.param(f"apiVersion:\n  {API}\n{REST}", 2, id="on-the-next-line"),
    pytest.param(f"apiVersion:\n  # why\n\n  {API}\n{REST}", 4, id="comment-before-the-value"),
    pytest.param(f"? apiVersion\n: {API}\n{REST}", 2, id="explicit-key"),
    pytest.param(f'"apiVersion": "{API}" # quoted\n{REST}', 1, id="double-quotes"),
    pytest.param(f"'apiVersion': '{API}'\n{REST}", 1, id="single-quotes"),
    pytest.param(f"apiVersion: !!str {API}\n{REST}", 1, id="tag"),
    pytest.param(f"apiVersion: &api {API}\n{REST}", 1, id="anchor-that-nobody-takes"),
    pytest.param(f"apiVersion: &v1beta2 {API}\n{REST}", 1, id="anchor-with-the-versions-name"),
    pytest.param(f"apiVersion: |-\n  {API}\n{REST}", 2, id="literal"),
    pytest.param(f"apiVersion: >-\n    {API}\n\n# {API}\n{REST}", 2, id="folded"),
    pytest.param(f"{{metadata: {{name: x}}, kind: GitRepository, apiVersion: {API}}}", 1, id="flow"),
    pytest.param(f"{{metadata: {{name: x}}, kind: GitRepository,\n 'apiVersion': '{API}' ,}}", 2, id="flow-in-lines"),
    pytest.param(f'{{"apiVersion":"{API}","kind":"GitRepository","metadata":{{"name":"x"}}}}', 1, id="json"),
    pytest.param(f'{{"apiVersion":"{API}","kind":"GitRepository","metadata":{{"name":"x"}}}}'.replace("/v", "\\/v"), 1, id="json-escaped-slash"),
    pytest.param(f'apiVersion: "{API}"\n{REST}'.replace("/v", "\\u002fv"), 1, id="escaped-slash"),
    pytest.param(f'apiVersion: "{API}"\n{REST}'.replace("/v", "/\\\n  v"), 2, id="escaped-line-break"),
    pytest.param(f"# é😀\né: 1\n---\napiVersion: {API}\nkind: GitRepository\nmetadata:\n  name: x\n  annotations: {{a: é😀}}\n", 4, id="characters-of-many-bytes"),
    pytest.param(f"a: '\u2028'\n---\n# \u2028\napiVersion: {API}\n{REST}", 4, id="line-separator"),
    pytest.param(f"%YAML 1.1\n---\napiVersion: {API}\n{REST}...\n", 3, id="directive"),
    pytest.param(f"--- # first\napiVersion: {API}\n{REST}", 2, id="comment-behind-the-dashes"),
    pytest.param(f"a: b: c\n---\napiVersion: {API}\n{REST}", 3, id="behind-a-broken-document"),
    pytest.param(f"{REST}apiVersion: {API}\nspec:\n  a: &a [1, 2]\n  b: *a\n  c: {{<<: {{d: 1}}}}\n", 4, id="anchors-elsewhere"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line"), MOVABLE)
def test_it_is_found_and_can_be_changed(text: str, line: int) -> None:
    content = text.encode()
    use, *others = _uses(content)
    assert use[:8] == ("a.yaml", line, GROUPS[0], "v1beta2", "GitRepository", "x", "", UsePlace.RESOURCE)
    assert use.why == ""
    assert all(other.place is UsePlace.TEXT for other in others)
    (moved, *_) = _uses(edited(content, [TextEdit(use.start, use.end, "v1beta2", "v1")]))
    assert moved == use._replace(version="v1", end=use.start + 2)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        pytest.param(f'apiVersion: "{API}"\n{REST}'.replace("v1", "v\\x31"), 1, SPELLED, id="escaped-version"),
        pytest.param(f'apiVersion: "{API}"\n{REST}'.replace("v1b", "v1\\\n  b"), 1, SPELLED, id="version-in-two-lines"),
        pytest.param(f"apiVersion: &a {API}\n{REST}spec:\n  a: *a\n", 1, SHARED, id="anchor"),
        pytest.param(f"a: &a\n  apiVersion: {API}\n  kind: GitRepository\n<<: *a\nmetadata: {{name: x}}\n", 2, SHARED, id="merge-key"),
    ],
)  # fmt: skip
def test_it_is_found_and_must_not_be_changed(text: str, line: int, why: str) -> None:
    (use,) = _uses(text.encode())
    assert use[:8] == ("a.yaml", line, GROUPS[0], "v1beta2", "GitRepository", "x", "", UsePlace.RESOURCE)
    assert use.why == why


PATCH = f"apiVersion: {API}\nkind: GitRepository\nmetadata:\n  name: x\nspec:\n  url: ssh://y\n"


def _json(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _indented(text: str, blanks: int) -> str:
    return "".join(f"{' ' * blanks}{line}" for line in text.splitlines(keepends=True))


PATCHES = [
    pytest.param(f"patches:\n- patch: |\n{_indented(PATCH, 4)}", 3, id="literal"),
    pytest.param(f"patches:\n  - patch: |-\n{_indented(PATCH, 6)}\n\n  - path: a.yaml\n", 3, id="stripped"),
    pytest.param(f"patches:\n- target: {{}}\n  patch: |+\n{_indented(PATCH, 6)}\n\n", 4, id="kept"),
    pytest.param(f"patches:\n- patch: |2 # why\n\n{_indented(PATCH, 4)}", 4, id="indentation-indicator"),
    pytest.param(f"patches:\n- patch: |\n{_indented(PATCH, 4)}".replace("\n", "\r\n"), 3, id="crlf"),
    pytest.param(f"\ufeff# é😀\npatches:\n- patch: &p |\n{_indented(PATCH, 4)}", 4, id="anchor-that-nobody-takes"),
    pytest.param("patches:\n- patch: >\n" + _indented(PATCH.replace("\n", "\n\n").replace("  n", "\n  n"), 4), 3, id="folded"),
    pytest.param(f'patches:\n- patch: "{_json(PATCH)}"\n', 2, id="double-quotes"),
    pytest.param(f"patches:\n- patch: 'apiVersion: {API}\n\n    kind: GitRepository\n\n    metadata: {{name: x}}\n\n    spec: {{url: ''''}}'\n", 2, id="single-quotes"),
    pytest.param(f'{{"patches": [{{"patch": "{_json(PATCH)}"}}]}}', 1, id="json"),
    pytest.param(f'{{"patches": [{{"patch": "{_json(PATCH)}"}}]}}'.replace("/v", "\\/v"), 1, id="json-escaped-slash"),
    pytest.param(f"patches:\n- patch: '{{apiVersion: {API}, kind: GitRepository, metadata: {{name: x}}, spec: {{a: ''''}}}}'\n", 2, id="flow-in-quotes"),
    pytest.param(f"patches:\n- patch: {{apiVersion: {API}, kind: GitRepository, metadata: {{name: x}}}}\n", 2, id="no-text-at-all"),
    pytest.param(f"patches:\n- patch: |\n    # first\n    ---\n{_indented(PATCH, 4)}    ---\n    # last\n", 5, id="documents"),
    pytest.param(f"patchesStrategicMerge:\n- |\n{_indented(PATCH, 2)}- a.yaml\n", 3, id="strategic"),
    pytest.param(f"kind: Kustomization\nspec:\n  patches:\n    - patch: |\n{_indented(PATCH, 8)}", 5, id="flux"),
    pytest.param(f"kind: FluxInstance\nspec:\n  kustomize:\n    patches:\n    - patch: |\n{_indented(PATCH, 8)}", 6, id="flux-operator"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line"), PATCHES)
def test_a_patch_is_found_and_can_be_changed(text: str, line: int) -> None:
    content = text.encode()
    (use,) = _uses(content)
    assert use[:8] == ("a.yaml", line, GROUPS[0], "v1beta2", "GitRepository", "x", "", UsePlace.PATCH)
    assert use.why == ""
    (moved,) = _uses(edited(content, [TextEdit(use.start, use.end, "v1beta2", "v1")]))
    assert moved == use._replace(version="v1", end=use.start + 2)


@pytest.mark.parametrize(("text", "line"), PATCHES)
def test_values_in_a_patch_have_their_places_in_the_file(text: str, line: int) -> None:
    del line
    each = _object(text)
    assert (each.kind, each.name, each.namespace) == ("GitRepository", "x", "")
    value = each.at("metadata", "name")
    assert value is not None
    assert value.reason == ""
    assert text[value.start : value.end] == "x"
    assert value.line == text[: value.start].count("\n") + 1 == each.line_at("metadata", "name")
    assert _object(decoded(edited(text.encode(), [value.replaced("other")]))).name == "other"


def _object(text: str) -> FluxObject:
    found = find("a.yaml", text.encode(), GROUPS)
    assert found is not None
    (each,) = found.objects
    return each


def test_a_patch_in_a_spelling_that_cannot_be_followed_is_no_text() -> None:
    text = f"patches:\n- patch: |\n    # \u2028    # y\n{_indented(PATCH, 4)}"
    (use,) = _uses(text.encode())
    assert (use.place, use.kind, use.name) == (UsePlace.TEMPLATE, "GitRepository", "x")
    assert "cannot be followed" in use.why


@pytest.mark.parametrize("patch", [f"see {API}", f"|-\n    '{API}'", f"[[{API}]]", f"'\"{API}\"'"])
def test_a_patch_that_is_none_is_a_text(patch: str) -> None:
    (use,) = _uses(f"patches:\n- patch: {patch}\n".encode())
    assert use.place is UsePlace.TEXT
