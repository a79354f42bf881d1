"""The kustomization that lists the manifest is evaluated, and whatever is wrong in it gets a verdict."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from flux_upgrade.impact.overlay.check import check_overlay
from flux_upgrade.impact.overlay.evaluation import evaluated
from flux_upgrade.impact.overlay.result import Overlay, OverlayFinding, OverlayVerdict
from flux_upgrade.kustomize.kustomization import read
from flux_upgrade.model.unknown import Unknown, known_or
from memory import MemoryTree
from mutation import mutate
from overlay_cases import CASES, case_of, manifest

OLD, NEW = manifest("v2.8.8"), manifest("v2.9.4")
LISTS = b"resources: [gotk-components.yaml]\n"
APPENDS = """\
- op: add
  path: /spec/template/spec/containers/0/args/-
  value: --concurrent=2
"""
IN_A_LINE = '[{"op": "add", "path": "/spec/paused", "value": true}]'
TARGET = "{kind: Deployment, name: helm-controller}"


def overlay(files: dict[str, bytes], path: str = "gotk-components.yaml") -> Overlay | None:
    return known_or(check_overlay(MemoryTree({**files, path: OLD}), path, OLD, NEW, None), None)


def findings(kustomization: str | bytes, **others: bytes) -> tuple[OverlayFinding, ...]:
    content = kustomization.encode() if isinstance(kustomization, str) else kustomization
    files = {name.replace("_", "."): text for name, text in others.items()}
    found = overlay({"kustomization.yaml": LISTS + content, **files})
    assert found is not None
    return found.findings


def only(kustomization: str | bytes, **others: bytes) -> OverlayFinding:
    (finding,) = findings(kustomization, **others)
    return finding


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_each_name_that_kustomize_knows(name: str) -> None:
    found = overlay({f"a/{name}": LISTS}, "a/gotk-components.yaml")
    assert found == Overlay(f"a/{name}", ())


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"a/kustomization.yaml": b"resources: [other.yaml]\n"},
        {"a/kustomization.yaml": b""},
        {"a/kustomization.yaml": b"resources: [\n"},
        {"a/kustomization.yaml": b"{{ if .Values.flux }}\nresources: [gotk-components.yaml]\n{{ end }}\n"},
        {"a/kustomization.yaml": b"resources: text\n"},
        {"a/kustomization.yaml": b"- resources\n"},
        {"a/kustomization.yaml": b"resources: [gotk-components.yaml]\na: &a [*a]\n"},
        {"a/kustomization.yaml": b"\xff\xfe\x00"},
        {"a/kustomization.yaml": b"apiVersion: kustomize.toolkit.fluxcd.io/v1\n" + LISTS},
        {"kustomization.yaml": b"resources: [b]\n"},
        {"b/kustomization.yaml": b"resources: [../a/gotk-components.yaml]\n"},
    ],
)
def test_none_that_lists_the_manifest(files: dict[str, bytes]) -> None:
    assert overlay(files, "a/gotk-components.yaml") is None


@pytest.mark.parametrize("text", [b"resources: [\n", b"{{ if .Values.flux }}\n", b"\xff\xfe\x00"])
@pytest.mark.parametrize("folder", ["a/", ""])
def test_one_that_cannot_be_read_may_list_the_manifest(folder: str, text: bytes) -> None:
    path = "a/gotk-components.yaml"
    tree = MemoryTree({f"{folder}kustomization.yaml": text, path: OLD})
    assert isinstance(check_overlay(tree, path, OLD, NEW, None), Unknown)
    assert check_overlay(MemoryTree({path: OLD, "b/kustomization.yaml": text}), path, OLD, NEW, None) is None


def test_a_folder_that_is_listed_and_does_not_list_the_manifest() -> None:
    files = {"kustomization.yaml": b"resources: [a]\n", "a/kustomization.yaml": b"resources: [b.yaml]\n"}
    assert overlay(files, "a/gotk-components.yaml") is None


@pytest.mark.parametrize("entry", ["./gotk-components.yaml", "../a/gotk-components.yaml", ".//gotk-components.yaml"])
def test_a_path_may_be_written_differently(entry: str) -> None:
    found = overlay({"a/kustomization.yaml": f"resources: [{entry}]\n".encode()}, "a/gotk-components.yaml")
    assert found is not None


@pytest.mark.parametrize(
    ("listed", "other"),
    [
        ("[gotk-components.yaml]", b""),
        ("[gotk-components.yaml, sync.yaml]", b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"),
        ("[gotk-components.yaml, gotk-components.yaml]", b""),
        ("[gotk-components.yaml, sync.yaml]", b"apiVersion: v1\nkind: Namespace\nmetadata: {name: flux-system}\n"),
        ("[gotk-components.yaml, sync.yaml]", b"kind: List\nmetadata: {name: l}\nitems: []\n"),
        ("[gotk-components.yaml, sync.yaml]", b"a: [\n"),
        ("[gotk-components.yaml, sync.yaml]", b"no: object\n"),
        ("[gotk-components.yaml, missing.yaml]", b""),
        ("[gotk-components.yaml, below]", b""),
        ("[gotk-components.yaml, https://example.com/x.yaml]", b""),
        ("[gotk-components.yaml, 1]", b""),
    ],
)
def test_a_mere_list_of_files_is_judged_as_the_evaluation_judges_it(listed: str, other: bytes) -> None:
    kustomization = f"resources: {listed}\n".encode()
    below = {"below/kustomization.yaml": b"resources: [x.yaml]\n", "below/x.yaml": b"a: b\n"}
    files = {"kustomization.yaml": kustomization, "gotk-components.yaml": OLD, **below}
    tree = MemoryTree(files | ({"sync.yaml": other} if other else {}))
    found = check_overlay(tree, "gotk-components.yaml", OLD, NEW, None)
    own = read(tree, "")
    assert own is not None
    whole = evaluated(tree, "gotk-components.yaml", OLD, NEW, [own])
    assert (found is None) == (whole is None)
    if found is not None and whole is not None:
        assert found == Overlay(whole[0].path, tuple(whole[1].findings))


def test_bases_are_resources() -> None:
    found = overlay({"kustomization.yaml": b"bases: [gotk-components.yaml]\nreplicas: [{name: x, count: 1}]\n"})
    assert found is not None
    assert [each.verdict for each in found.findings] == [OverlayVerdict.BREAKS]


def test_a_manifest_that_cannot_be_read() -> None:
    conflict = b"<<<<<<< ours\na: b\n"
    tree = MemoryTree({"kustomization.yaml": LISTS, "gotk-components.yaml": conflict})
    assert isinstance(check_overlay(tree, "gotk-components.yaml", conflict, NEW, None), Unknown)


def test_kustomizations_that_list_each_other() -> None:
    files = {"kustomization.yaml": LISTS[:-2] + b", b]\n", "b/kustomization.yaml": b"resources: [../b, ../]\n"}
    found = overlay(files)
    assert found is not None
    assert {(each.verdict, each.fails, each.holds) for each in found.findings} == {(OverlayVerdict.BREAKS, True, False)}


class CountingTree(MemoryTree):
    """Counts how often a kustomization is read: once for each entry that names its folder."""

    reads = 0

    def read(self, path: str) -> bytes:
        self.reads += path.endswith("/kustomization.yaml")
        return super().read(path)


def folders(count: int, kustomization: Callable[[int], str]) -> CountingTree:
    """Kustomizations in folders 0 to ``count``, the first of which is listed at the root, after the manifest."""
    files = {f"{place}/kustomization.yaml": kustomization(place).encode() for place in range(count)}
    root = {"kustomization.yaml": LISTS[:-2] + b", '0']\n", "gotk-components.yaml": OLD}
    return CountingTree({**files, **root})


def evaluation_of(tree: CountingTree) -> tuple[OverlayFinding, ...]:
    found = known_or(check_overlay(tree, "gotk-components.yaml", OLD, NEW, None), None)
    assert found is not None
    return found.findings


@pytest.mark.parametrize("field", ["resources", "components"])
@pytest.mark.parametrize("more", ["", "commonAnnotations: {place: 'PLACE'}\n"], ids=["lists", "changes"])
def test_kustomizations_that_all_list_each_other_are_evaluated_once(field: str, more: str) -> None:
    def all_others(place: int) -> str:
        others = "".join(f"- ../{other}\n" for other in range(9) if other != place)
        return f"{field}:\n{others}{more.replace('PLACE', str(place))}"

    tree = folders(9, all_others)
    found = evaluation_of(tree)
    assert tree.reads <= 9 * 9
    assert all(each.fails and not each.holds for each in found)
    places = [(each.path, each.line) for each in found]
    assert len(places) == len(set(places)) == 9 * 8 / 2


@pytest.mark.parametrize("field", ["resources", "components"])
@pytest.mark.parametrize("more", ["", "commonAnnotations: {place: 'PLACE'}\n"], ids=["lists", "changes"])
def test_a_kustomization_that_is_listed_twice_at_each_level_does_not_multiply(field: str, more: str) -> None:
    def twice_the_next(place: int) -> str:
        listed = f"{field}: [../{place + 1}, ../{place + 1}]\n" if place < 17 else "resources: [one.yaml]\n"
        return listed + more.replace("PLACE", str(place))

    tree = folders(18, twice_the_next)
    tree.files["17/one.yaml"] = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
    evaluation_of(tree)
    assert tree.reads <= 2 * 18 + 2_000


def test_what_was_broken_or_idle_before_holds_nothing() -> None:
    broken, idle = findings(
        "patches:\n- patch: '{kind: Secret, apiVersion: v1, metadata: {name: a}}'\n"
        "- target: {kind: Secret}\n  patch: '{kind: Secret, metadata: {name: a}}'\n"
    )
    assert (broken.verdict, broken.already, broken.holds) == (OverlayVerdict.BREAKS, True, False)
    assert (idle.verdict, idle.already, idle.holds) == (OverlayVerdict.IDLE, True, False)


def test_what_breaks_with_the_upgrade_holds() -> None:
    finding = only(
        "patches:\n- target: {kind: CustomResourceDefinition}\n"
        '  patch: \'[{"op": "test", "path": "/spec/versions/1/name", "value": "v1beta2"}]\'\n'
    )
    assert (finding.verdict, finding.fails, finding.already, finding.holds) == (
        OverlayVerdict.BREAKS,
        True,
        False,
        True,
    )


@pytest.mark.parametrize(
    ("text", "patch", "line"),
    [
        ("patches:\n- target: TARGET\n  patch: |\n    # why\nPATCH", APPENDS, 7),
        ("patches:\n- patch: |-\nPATCH  target: TARGET\n", APPENDS, 5),
        ("patches:\n# one\n\n- patch: >-\nPATCH  target: TARGET\n", IN_A_LINE, 6),
        ("patchesJson6902:\n- patch: |+\nPATCH\n  target: TARGET\n", APPENDS, 5),
        ("patchesJson6902:\n- patch:\n    '\nPATCH    '\n  target: TARGET\n", IN_A_LINE, 4),
    ],
)
def test_lines_of_inline_patches_are_those_of_the_file(text: str, patch: str, line: int) -> None:
    indented = "".join(f"    {each}\n" for each in patch.splitlines())
    finding = only(text.replace("PATCH", indented).replace("TARGET", TARGET))
    assert (finding.verdict, finding.line) == (OverlayVerdict.APPLIES, line)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks(ending: str, mark: str) -> None:
    patch = f"{mark}# why\n{APPENDS}- op: remove\n  path: /spec/ünknown\n".replace("\n", ending).encode()
    finding = only(f"patches:\n- path: p.yaml\n  target: {TARGET}\n".replace("\n", ending), p_yaml=patch)
    assert (finding.path, finding.line, finding.fails) == ("p.yaml", 6, True)


def test_lines_of_documents_in_a_file() -> None:
    documents = "".join(
        f"---\n# {name}\napiVersion: apps/v1\nkind: Deployment\n"
        f"metadata: {{name: {name}, namespace: flux-system}}\nspec: {{replicas: 2}}\n"
        for name in ("helm-controller", "kustomize-controller")
    )
    found = findings("patches:\n- path: p.yaml\n", p_yaml=documents.replace("\n", "\r\n").encode())
    assert [(each.what, each.line) for each in found] == [
        ("patch of Deployment/helm-controller", 3),
        ("patch of Deployment/kustomize-controller", 9),
    ]


@pytest.mark.parametrize(
    "patch",
    [b"\xff\xfe", b"a: [\n", b"{{ .Values.patch }}\n", b"a: &a [*a]\n", b"a: \x00\n", b"[" * 400, b"{a: " * 400],
)
def test_a_patch_that_cannot_be_read(patch: bytes) -> None:
    finding = only(f"patches:\n- path: p.yaml\n  target: {TARGET}\n", p_yaml=patch)
    assert finding.verdict in (OverlayVerdict.UNKNOWN, OverlayVerdict.BREAKS)
    assert not finding.holds


def test_a_patch_of_comments_only_does_nothing() -> None:
    assert not findings("patches:\n- path: p.yaml\n", p_yaml=b"# nothing yet\n")


@pytest.mark.parametrize("path", ["https://example.com/p.yaml", "../../p.yaml", "/p.yaml"])
def test_a_patch_from_elsewhere_is_not_known(path: str) -> None:
    finding = only(f"patches:\n- path: {path}\n  target: {TARGET}\n")
    assert finding.verdict is OverlayVerdict.UNKNOWN
    assert path in finding.detail


def test_resources_that_cannot_be_read() -> None:
    """What they hold is not known, so that a patch may be for them."""
    found = overlay(
        {
            "kustomization.yaml": b"resources: [gotk-components.yaml, a.yaml]\n"
            b"patches: [{patch: '{apiVersion: v1, kind: Secret, metadata: {name: a}}'}]\n",
            "a.yaml": b"{{ template }}\n",
        }
    )
    assert found is not None
    assert [each.verdict for each in found.findings] == [OverlayVerdict.UNKNOWN, OverlayVerdict.UNKNOWN]


@pytest.mark.parametrize(
    "entry",
    [
        "replicas: [{name: odd, count: 2}]",
        "commonLabels: {a: b}",
        "commonAnnotations: {a: b}",
        "patches: [{target: {labelSelector: a}, patch: '{kind: Deployment, metadata: {name: a}}'}]",
        'patches: [{target: {kind: Deployment}, patch: \'[{"op": "add", "path": "/a", "value": 1}]\'}]',
        "images: [{name: a, newTag: b}]",
    ],
)
def test_objects_of_another_shape(entry: str) -> None:
    """The API server would refuse them."""
    odd = b"kind: Deployment\napiVersion: apps/v1\nmetadata: {name: odd, labels: text, annotations: []}\nspec: [a]\n"
    files = {"kustomization.yaml": LISTS[:-2] + b", odd.yaml]\n" + entry.encode(), "odd.yaml": odd}
    found = overlay(files)
    assert found is not None
    assert all(not each.holds for each in found.findings)


@pytest.mark.parametrize("content", [b"text\n", b"- a\n", b"kind: Secret\n", b"metadata: {name: a}\n", b"kind: [a]\n"])
def test_resources_that_are_no_objects(content: bytes) -> None:
    found = overlay({"kustomization.yaml": b"resources: [gotk-components.yaml, a.yaml]\n", "a.yaml": content})
    assert found is not None
    assert all(not each.holds for each in found.findings)


@pytest.mark.parametrize(
    "field",
    ["labels", "commonLabels", "commonAnnotations", "configMapGenerator", "images", "vars", "components", "namespace"],
)
@pytest.mark.parametrize("value", ["text", "[1]", "{a: [b]}", "null", "[[]]", "[{}]", "1"])
def test_fields_of_another_shape_end_nothing(field: str, value: str) -> None:
    assert all(not each.holds for each in findings(f"{field}: {value}\n"))


@pytest.mark.parametrize(
    "entry",
    [
        "replicas: [{name: helm-controller, count: many}]",
        "images: [{name: '(', newTag: v1}]",
        "images: [{name: ghcr.io/fluxcd/helm-controller, newTag: 1.0}]",
        "patches: [{target: {name: '[[:alpha:]]'}, patch: '[]'}]",
        'patches: [{target: {name: \'\\pL+\'}, patch: \'[{"op": "remove", "path": "/a"}]\'}]',
        'patches: [{target: {labelSelector: \'a > 1\'}, patch: \'[{"op": "remove", "path": "/a"}]\'}]',
        'patches: [{target: {labelSelector: \'a b\'}, patch: \'[{"op": "remove", "path": "/a"}]\'}]',
        'patches: [{target: {kind: 1}, patch: \'[{"op": "remove", "path": "/a"}]\'}]',
        "replacements: [{source: {kind: Deployment, name: helm-controller, fieldPath: spec.template.x}, targets: []}]",
        "replacements: [{sourceValue: a, targets: [{select: {kind: Deployment}, fieldPaths: ['spec.replicas.x']}]}]",
        "replacements: [{sourceValue: a, targets: [{select: {kind: '('}}]}]",
        "replacements: [{sourceValue: a, targets: [{}]}]",
        "replacements: [{path: gone.yaml}]",
        "replacements: [{sourceValue: a, targets: [{select: {kind: Deployment}, options: text}]}]",
        "replacements: [{sourceValue: a, targets: [{select: {kind: Deployment}, options: {delimiter: a, index: b}}]}]",
        "patches: [{target: {kind: Deployment}, options: text, patch: '{kind: Deployment, metadata: {name: a}}'}]",
        "vars: [{name: A, objref: {kind: Deployment, name: helm-controller}, fieldref: text}]",
    ],
)
def test_odd_entries_get_a_verdict_and_hold_nothing(entry: str) -> None:
    found = findings(f"{entry}\n")
    assert all(not each.holds for each in found)
    assert all(each.detail for each in found if each.verdict is not OverlayVerdict.APPLIES)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_damaged_files_cause_no_traceback(path: Path) -> None:
    """Files as editors, merges and other tools leave them: a verdict, or none."""
    case = case_of(path)
    dice = random.Random(path.stem)  # noqa: S311  (no secret)
    for _ in range(15):
        files = dict(case.files)
        damaged = dice.choice([each for each in sorted(files) if files[each]])
        text = mutate(files[damaged].decode("utf-8", "surrogateescape"), dice)
        files[damaged] = text.encode("utf-8", "surrogatepass")
        tree = MemoryTree({**files, case.path: case.old})
        found = known_or(check_overlay(tree, case.path, case.old, case.new, None), None)
        assert found is None or all(each.line > 0 and each.what for each in found.findings), text
