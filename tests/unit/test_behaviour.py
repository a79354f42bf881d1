"""Each row of the table of behavior changes is well formed, and applies to the jumps that it names and no others."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from flux_upgrade.impact.api_uses import scan
from flux_upgrade.impact.behaviour.find import find_breaks, gates_in
from flux_upgrade.impact.behaviour.rules import AffectedLine, BreakRule, Span, has_reached
from flux_upgrade.impact.behaviour.table import BREAK_RULES
from flux_upgrade.model.versions import is_tag

PARAMETERS = [pytest.param(row, id=row.slug) for row in BREAK_RULES]
GROUPS = ("helm.toolkit.fluxcd.io",)
RELEASE = b"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: podinfo
spec:
  postRenderers:
    - kustomize: {}
"""


def test_slugs_are_distinct_and_in_order() -> None:
    assert len({row.slug for row in BREAK_RULES}) == len(BREAK_RULES)
    first = [row.spans[-1].first for row in BREAK_RULES]
    assert all(has_reached(later, earlier) for earlier, later in pairwise(first))


@pytest.mark.parametrize("row", PARAMETERS)
def test_a_row_is_as_its_readers_take_it(row: BreakRule) -> None:
    assert re.fullmatch(r"[a-z0-9-]+", row.slug)
    assert row.kinds
    assert row.source.startswith(("https://fluxcd.io/", "https://github.com/fluxcd/"))
    for sentence in filter(None, (row.change, row.hint)):
        assert sentence.endswith(".")
        assert not set("`*[]|\n") & set(sentence), "markup"
    assert "\n" not in row.keep
    for span in row.spans:
        assert is_tag(span.first)
        assert not span.end or has_reached(span.end, span.first)
    assert all(map(is_tag, row.until.values()))
    assert not row.keep_since or is_tag(row.keep_since)


@pytest.mark.parametrize(
    ("tag", "is_in"),
    [
        ("v2.7.5", False),
        ("v2.8.0-rc.1", True),
        ("v2.8.0", True),
        ("v2.8.5", True),
        ("v2.8.6-rc.1", False),
        ("v2.8.6", False),
        ("v2.10.0", False),
        ("v3.0.0", False),
    ],
)
def test_a_span_ends_before_its_end(tag: str, *, is_in: bool) -> None:
    assert Span("v2.8.0", "v2.8.6").has(tag) is is_in
    assert Span("v2.8.0").has(tag) is (tag != "v2.7.5")


@pytest.mark.parametrize(
    ("current", "target", "expected"),
    [
        ("v2.7.5", "v2.8.5", "v2.8.0"),
        ("v2.7.5", "v2.8.8", None),
        ("v2.7.5", "v2.9.4", "v2.9.0"),
        ("v2.8.5", "v2.8.8", None),
        ("v2.8.5", "v2.9.4", None),
        ("v2.8.8", "v2.9.4", "v2.9.0"),
        ("v2.8.8", "v2.8.5", "v2.8.0"),
        ("v2.9.4", "v2.7.5", None),
    ],
)
def test_a_jump_is_concerned_where_it_enters_a_span(current: str, target: str, expected: str | None) -> None:
    (row,) = (row for row in BREAK_RULES if row.slug == "helm-post-render")
    span = row.entered(current, target)
    assert (span and span.first) == expected


def test_a_line_is_given_to_releases_that_know_its_field() -> None:
    (row,) = (row for row in BREAK_RULES if row.slug == "helm-post-render")
    assert row.line_to_keep(AffectedLine(1), "v2.8.5") == ""
    assert "requires Flux" not in row.hint_for("v2.8.5")
    assert row.line_to_keep(AffectedLine(1), "v2.9.0") == "postRenderStrategy: nohooks"
    assert row.hint_for("v2.9.0").startswith(
        "The field that keeps the old behavior requires Flux 2.9: add it after the upgrade."
    )
    assert row.line_to_keep(AffectedLine(1, "its own"), "v2.9.0") == "its own"


def test_a_hit_says_all_that_is_to_be_said() -> None:
    file = scan.find("apps/podinfo.yaml", RELEASE, GROUPS)
    assert file is not None
    hits = {hit.rule: hit for hit in find_breaks([file], "v2.8.8", "v2.9.4")}
    hit = hits["helm-post-render"]
    assert (hit.path, hit.line, hit.kind, hit.name) == ("apps/podinfo.yaml", 6, "HelmRelease", "podinfo")
    assert hit.since == "2.9"
    assert "hooks" in hit.change
    assert hit.source.startswith("https://")


@pytest.mark.parametrize("current", ["", "main", "2.8.8", "v2.8"])
def test_nothing_is_said_to_who_runs_nobody_knows_what(current: str) -> None:
    file = scan.find("a.yaml", RELEASE, GROUPS)
    assert file is not None
    assert find_breaks([file], current, "v2.9.4") == ()
    assert find_breaks([file], "v2.8.8", current) == ()


def test_no_file_is_looked_at_where_no_rule_can_apply() -> None:
    file = scan.find("a.yaml", RELEASE, GROUPS)
    assert file is not None
    files = iter([file])
    assert find_breaks(files, "v2.9.4", "v2.9.4") == ()
    assert next(files) is file


def test_gates_are_found_wherever_arguments_stand() -> None:
    named = b"args: [--feature-gates=UseHelm3Defaults=true,Other=false]"
    assert gates_in([b"nothing", named]) == {"UseHelm3Defaults"}
    assert gates_in([]) == frozenset()
    gates = {row.gate for row in BREAK_RULES if row.gate}
    assert gates_in([",".join(f"{gate}=false" for gate in gates).encode()]) == gates


def test_no_gate_is_set_where_one_is_spoken_of() -> None:
    """As the CRDs of helm-controller do, which stand in every installation's own manifest."""
    description = b"description: Defaults to true (or false when UseHelm3Defaults feature gate is enabled)."
    assert gates_in([description]) == frozenset()
