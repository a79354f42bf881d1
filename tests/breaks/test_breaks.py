"""Every break rule finds the resources that it concerns, names the line that keeps them, and finds no others.

A case is a ``NAME.txtar``: the two releases in ``settings.toml``, a repository in ``tree/``, the ``report``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

import txtar
from flux_upgrade.impact.api_uses import scan
from flux_upgrade.impact.api_uses.flux_file import FluxFile
from flux_upgrade.impact.behaviour.find import find_breaks
from flux_upgrade.impact.behaviour.table import BREAK_RULES
from flux_upgrade.impact.impact import Hit
from flux_upgrade.model.versions import is_tag

CASES = sorted(Path(__file__).resolve().parent.glob("*.txtar"))
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
    """A repository before an upgrade."""

    archive: txtar.Archive
    files: Sequence[FluxFile]
    """Those of the repository that mention Flux's API groups."""
    current: str
    target: str
    settled: tuple[str, ...] = ()

    @property
    def hits(self) -> tuple[Hit, ...]:
        return find_breaks(self.files, self.current, self.target, self.settled)


@cache
def case_of(path: Path) -> Case:
    archive = txtar.read(path)
    found = (scan.find(name, content, GROUPS) for name, content in archive.under("tree").items())
    files = [each for each in found if each is not None]
    return Case(archive, files, **tomllib.loads(archive.text("settings.toml")))


def shown(hit: Hit) -> str:
    name = "/".join(filter(None, (hit.namespace, hit.name)))
    keep = f": {hit.keep}" if hit.keep else ""
    return f"{hit.rule} ({hit.since}) {hit.path}:{hit.line} {hit.kind} {name}{keep}\n"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_gives_its_report(path: Path, *, update_golden: bool) -> None:
    case = case_of(path)
    report = "".join(map(shown, case.hits))
    found = replace(case.archive, files={**case.archive.files, "report": report.encode()})
    if update_golden:
        txtar.write(path, found)
    assert txtar.render(found) == path.read_text()

    backwards = replace(case, files=case.files[::-1])
    assert sorted(backwards.hits) == sorted(case.hits), "in another order of the files"
    each_rule_applies_from_its_release_on(case)
    for hit in case.hits:
        the_line_to_keep_keeps(hit, case)


def each_rule_applies_from_its_release_on(case: Case) -> None:
    for row in BREAK_RULES:
        span = row.entered(case.current, case.target) if is_tag(case.current) else None
        if span is None:
            continue
        assert row.slug not in rules(replace(case, target=_before(span.first)).hits), "before that release"
        assert row.slug not in rules(replace(case, current=span.first).hits), "with that release installed"
        latest = replace(case, current=_before(span.first))
        assert {each for each in latest.hits if each.rule == row.slug} == {
            each for each in case.hits if each.rule == row.slug
        }, f"{row.slug} from the release before"


def _before(tag: str) -> str:
    """A release right before another one."""
    major, minor, patch = map(int, tag[1:].split("."))
    return f"v{major}.{minor}.{patch - 1}" if patch else f"v{major}.{minor - 1}.99"


def rules(hits: Iterable[Hit]) -> set[str]:
    return {each.rule for each in hits}


def the_line_to_keep_keeps(hit: Hit, case: Case) -> None:
    """Where it can be put in by lines: block style, and a field that is there or is new."""
    content = case.archive.text(f"tree/{hit.path}")
    lines = content.split("\n")
    line = lines[hit.line - 1]
    key = hit.keep.partition(":")[0]
    is_new = key not in content
    if not hit.keep or line.lstrip().startswith(("{", '"')) or not (is_new or key in line):
        return
    at = hit.line - 1
    # A field gives way to its successor; what is merged in somewhere else has no line here.
    replaced = line.partition(":")[0].strip() in (key, "valuesFile")
    lines[at : at + replaced] = [line[: len(line) - len(line.lstrip())] + hit.keep]
    kept = scan.find(hit.path, "\n".join(lines).encode(), GROUPS)
    before = scan.find(hit.path, content.encode(), GROUPS)
    assert kept is not None
    assert before is not None
    assert len(kept.objects) == len(before.objects)
    left = [(each.rule, each.name) for each in find_breaks([kept], case.current, case.target)]
    assert (hit.rule, hit.name) not in left, hit


def test_every_rule_has_a_case_that_it_matches() -> None:
    assert {rule for path in CASES for rule in rules(case_of(path).hits)} == {row.slug for row in BREAK_RULES}


def test_every_rule_has_a_case_with_a_resource_of_its_kinds_that_it_does_not_match() -> None:
    for row in BREAK_RULES:
        alike, matched = set[tuple[str, str, int]](), set[tuple[str, str, str]]()
        for path in CASES:
            case = case_of(path)
            matched |= {(path.stem, hit.path, hit.name) for hit in case.hits if hit.rule == row.slug}
            if is_tag(case.current) and row.entered(case.current, case.target):
                alike |= {
                    (path.stem, file.path, resource.line)
                    for file in case.files
                    for resource in file.objects
                    if resource.kind in row.kinds
                }
        assert len(alike) > len(matched), row.slug
