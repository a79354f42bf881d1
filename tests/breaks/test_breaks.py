"""Adding a folder here adds a test: ``pytest --update-golden`` writes what it should give.

A folder holds ``case.toml``, ``tree/`` and ``hits.txt``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from flux_upgrade.impact.api_uses import scan
from flux_upgrade.impact.api_uses.flux_file import FluxFile
from flux_upgrade.impact.behaviour.find import find_breaks
from flux_upgrade.impact.behaviour.table import BREAK_RULES
from flux_upgrade.impact.impact import Hit
from flux_upgrade.model.versions import is_tag

FOLDER = Path(__file__).resolve().parent
GROUPS = tuple(
    f"{name}.fluxcd.io"
    for name in (
        "source.toolkit",
        "kustomize.toolkit",
        "helm.toolkit",
        "notification.toolkit",
        "image.toolkit",
        "source.extensions",
    )
)


@dataclass(frozen=True)
class Case:
    folder: Path
    description: str
    current: str
    target: str
    settled: tuple[str, ...] = ()

    def files(self) -> Iterator[FluxFile]:
        tree = self.folder / "tree"
        for path in sorted(each for each in tree.rglob("*") if each.is_file()):
            found = scan.find(path.relative_to(tree).as_posix(), path.read_bytes(), GROUPS)
            if found is not None:
                yield found

    def hits(self, current: str = "", target: str = "") -> tuple[Hit, ...]:
        return find_breaks(self.files(), current or self.current, target or self.target, self.settled)


def _read(folder: Path) -> Case:
    return Case(folder, **tomllib.loads((folder / "case.toml").read_text()))


CASES = [_read(path.parent) for path in sorted(FOLDER.glob("*/case.toml"))]
PARAMETERS = [pytest.param(case, id=case.folder.name) for case in CASES]


def shown(hit: Hit) -> str:
    name = "/".join(filter(None, (hit.namespace, hit.name)))
    keep = f": {hit.keep}" if hit.keep else ""
    return f"{hit.rule} ({hit.since}) {hit.path}:{hit.line} {hit.kind} {name}{keep}\n"


@pytest.mark.parametrize("case", PARAMETERS)
def test_a_case_gives_its_hits(case: Case, request: pytest.FixtureRequest) -> None:
    told = "".join(map(shown, case.hits()))
    golden = case.folder / "hits.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(told)
    assert told == golden.read_text()


def _before(tag: str) -> str:
    """A release right before another one."""
    major, minor, patch = map(int, tag[1:].split("."))
    return f"v{major}.{minor}.{patch - 1}" if patch else f"v{major}.{minor - 1}.99"


@pytest.mark.parametrize("case", PARAMETERS)
def test_a_change_is_told_once_on_the_way_from_release_to_release(case: Case) -> None:
    for row in BREAK_RULES:
        span = row.entered(case.current, case.target) if is_tag(case.current) else None
        if span is None:
            continue
        told = {hit for hit in case.hits() if hit.rule == row.slug}
        rules = {hit.rule for hit in case.hits(target=_before(span.first))}
        assert row.slug not in rules, "an older target"
        rules = {hit.rule for hit in case.hits(current=span.first)}
        assert row.slug not in rules, "who has it already"
        just = {hit for hit in case.hits(current=_before(span.first)) if hit.rule == row.slug}
        assert just == told


@pytest.mark.parametrize("case", PARAMETERS)
def test_the_line_to_keep_keeps_it(case: Case) -> None:
    for hit in case.hits():
        content = (case.folder / "tree" / hit.path).read_text(encoding="utf-8")
        lines = content.split("\n")
        line = lines[hit.line - 1]
        key = hit.keep.partition(":")[0]
        is_new = key not in content
        if not hit.keep or line.lstrip().startswith(("{", '"')) or not (is_new or key in line):
            continue
        at = hit.line - 1
        # A field gives way to its successor; what is merged in somewhere else cannot be told by lines.
        replaced = line.partition(":")[0].strip() in (key, "valuesFile")
        lines[at : at + replaced] = [line[: len(line) - len(line.lstrip())] + hit.keep]
        kept = scan.find(hit.path, "\n".join(lines).encode(), GROUPS)
        before = scan.find(hit.path, content.encode(), GROUPS)
        assert kept is not None
        assert before is not None
        assert len(kept.objects) == len(before.objects)
        left = [(each.rule, each.name) for each in find_breaks([kept], case.current, case.target)]
        assert (hit.rule, hit.name) not in left, hit


def test_every_row_has_a_case_that_it_matches() -> None:
    assert {hit.rule for case in CASES for hit in case.hits()} == {row.slug for row in BREAK_RULES}


def test_every_row_has_a_case_with_a_resource_of_its_kinds_that_it_does_not_match() -> None:
    for row in BREAK_RULES:
        alike = {
            (case.folder.name, file.path, resource.line)
            for case in CASES
            if is_tag(case.current) and row.entered(case.current, case.target)
            for file in case.files()
            for resource in file.objects
            if resource.kind in row.kinds
        }
        matched = {
            (case.folder.name, hit.path, hit.name)
            for case in CASES
            for hit in case.hits()
            if hit.rule == row.slug
        }
        assert len(alike) > len(matched), row.slug


def test_the_order_of_the_files_changes_nothing() -> None:
    for case in CASES:
        backwards = find_breaks(reversed(list(case.files())), case.current, case.target, case.settled)
        assert sorted(backwards) == sorted(case.hits()), case.folder.name
