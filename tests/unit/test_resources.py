"""Each file of ``tests/resources`` has a tree, and each use of Flux's API versions that is found in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import txtar
from flux_upgrade.impact.api_uses.flux_file import FluxFile, UsePlace
from flux_upgrade.impact.api_uses.scan import files, find
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import TextEdit, decoded, edited
from memory import MemoryTree

FOLDER = Path(__file__).resolve().parents[1] / "resources"
GROUPS = (
    *(f"{name}.toolkit.fluxcd.io" for name in ("source", "kustomize", "helm", "notification", "image")),
    "source.extensions.fluxcd.io",
)
CASES = [pytest.param(path, id=path.stem) for path in sorted(FOLDER.glob("*.txtar"))]


@pytest.mark.parametrize("path", CASES)
def test_each_use_is_reported_once(path: Path, *, update_golden: bool) -> None:
    case = txtar.read(path)
    report = "".join(f"{line}\n" for file in _found(case.under("tree")) for line in _report(file))
    found = txtar.Archive(case.comment, {**case.files, "report": report.encode()})
    if update_golden:
        txtar.write(path, found)

    assert report == txtar.read(path).text("report")
    assert path.read_text() == txtar.render(found), "is not laid out as --update-golden does"


@pytest.mark.parametrize("path", CASES)
def test_each_use_can_be_changed_by_itself_unless_it_says_why_not(path: Path) -> None:
    tree = txtar.read(path).under("tree")
    for file in _found(tree):
        for number, use in enumerate(file.uses):
            assert decoded(file.content)[use.start : use.end] == use.version
            if use.why:
                continue
            new = edited(file.content, [TextEdit(use.start, use.end, use.version, "v9alpha8")])
            (again,) = (each for each in _found({**tree, file.path: new}) if each.path == file.path)
            moved = [use._replace(start=0, end=0) for use in again.uses]
            expected = [use._replace(start=0, end=0) for use in file.uses]
            expected[number] = expected[number]._replace(version="v9alpha8")
            assert moved == expected


RESOURCE = b"apiVersion: helm.toolkit.fluxcd.io/v2beta1\nkind: HelmRelease\nmetadata:\n  name: x\n"


def test_which_files_are_looked_at() -> None:
    names = ("a.yaml", "a.yml", "a.json", "Kustomization", "a.md", "a.yaml.tmpl", "a.png", "a", "flux.lock", "b/c.tf")
    tree = MemoryTree(dict.fromkeys(names, RESOURCE))
    looked = [file.path for file in files(tree, GROUPS)]
    assert looked == ["Kustomization", "a.json", "a.md", "a.yaml", "a.yaml.tmpl", "a.yml", "b/c.tf"]
    assert [file.path for file in files(tree, GROUPS, ["b/c.tf"])] == ["b/c.tf"]


def test_a_file_that_cannot_be_read_stops_no_other() -> None:
    assert [file.path for file in files(Locked({"a.yaml": RESOURCE, "b.yaml": RESOURCE}), GROUPS)] == ["b.yaml"]


class Locked(MemoryTree):
    def read(self, path: str) -> bytes:
        if path == "a.yaml":
            raise Unreadable("a.yaml cannot be read")
        return super().read(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"apiVersion: v1\nkind: Secret\n",
        b"# source.toolkit.fluxcd.io\n",
        b"apiGroups: [source.toolkit.fluxcd.io]\nversion: v1\n",
        b"kustomize.toolkit.fluxcd.io/prune: disabled\n",
        b"apiVersion: source.toolkit.fluxcd.io/latest\nkind: GitRepository\n",
        b"apiVersion: source.toolkit.fluxcd.io/v1.2\nkind: GitRepository\n",
        b"apiVersion: x.source.toolkit.fluxcd.io/v1\nkind: GitRepository\n",
        "apiVersion: source.toolkit.fluxcd.io/v1\n".encode("utf-16"),
    ],
)
def test_files_that_name_no_version_of_flux(content: bytes) -> None:
    assert find("a.yaml", content, GROUPS) is None


def test_without_groups_there_is_nothing() -> None:
    assert find("a.yaml", RESOURCE, ()) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("spec: &a {b: *a}\n", "line 5: an alias to itself"),
        ("spec: " + "[" * 5000 + "]" * 5000 + "\n", "line 5: nested too deeply"),
        ("spec: \x00\n", "line 5 is not valid YAML"),
        ("spec: \udcff\n", "line 5 is not valid YAML: bytes that are not UTF-8"),
    ],
)  # fmt: skip
def test_what_yaml_cannot_hold_is_said(text: str, why: str) -> None:
    found = find("a.yaml", RESOURCE + text.encode("utf-8", "surrogateescape"), GROUPS)
    assert found is not None
    (use,) = found.uses
    assert (use.place, use.line, use.kind, use.name) == (UsePlace.TEMPLATE, 1, "HelmRelease", "x")
    assert why in use.why


@pytest.mark.parametrize("path", ["a.yaml", "a.md"])
@pytest.mark.parametrize(
    "text",
    [
        "source.toolkit.fluxcd.io/${" * 40_000,
        "source.toolkit.fluxcd.io/{{" * 40_000,
        "source.toolkit.fluxcd.io/" + "v" * 400_000,
        "{ source.toolkit.fluxcd.io version:" + " " * 400_000,
        "apiVersion: source.toolkit.fluxcd.io/v1\n" + "> - # " * 100_000 + "\n{{ }}",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: " + "${{" * 100_000 + "\n{{ }}",
    ],
)
def test_odd_lines_take_no_time(path: str, text: str) -> None:
    found = find(path, text.encode(), GROUPS)
    assert len(found.uses if found else ()) == text.count("/v1\n")


def test_an_object_tells_its_values_and_whether_they_may_be_replaced() -> None:
    text = f"a: 1\n---\n{RESOURCE.decode()}  labels: &l {{a: b}}\nspec:\n  values: {{list: [1, two], labels: *l}}\n"
    found = find("a.yaml", text.encode(), GROUPS)
    assert found is not None
    (each,) = found.objects
    assert (each.line, each.group, each.version, each.place) == (3, GROUPS[2], "v2beta1", UsePlace.RESOURCE)
    assert each.data()["spec"] == {"values": {"list": [1, "two"], "labels": {"a": "b"}}}
    assert each.keys("spec", "values") == ("list", "labels")
    assert each.count("spec", "values", "list") == 2
    assert each.text_at("spec", "values", "list", 1) == "two"
    assert not each.has("spec", "suspend")
    value, shared = each.at("spec", "values", "list", 1), each.at("spec", "values", "labels", "a")
    assert value is not None
    assert shared is not None
    assert (value.line, value.reason) == (9, "")
    assert "anchor" in shared.reason


def _found(tree: dict[str, bytes]) -> list[FluxFile]:
    return list(files(MemoryTree(tree), GROUPS))


def _report(file: FluxFile) -> Iterator[str]:
    yield file.path
    for use in file.uses:
        name = f"{use.namespace}/{use.name}" if use.namespace else use.name
        at = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in use.at)
        where = [f"at {at.removeprefix('.')}"] if at else []
        found = file.object_of(use)
        if found is not None:
            assert (found.group, found.kind, found.name) == (use.group, use.kind, use.name)
        yield f"  {use.line}: {use.place} {use.group}/{use.version} {use.kind or '-'} {name or '-'}"
        yield from (f"     {line}" for line in [*where, *([use.why] if use.why else [])])
    for each in file.objects:
        yield f"  object in line {each.line}: {each.place} {each.version} {each.kind or '-'} {each.name or '-'}"
