"""What the plan says of real repositories, cluster by cluster, against a table that people looked through."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cases_on_disk import run_in
from conformance.real_files import tell, unpacked

pytestmark = pytest.mark.real_part("shared data")

TABLE = Path(__file__).parent / "judged_reports.txt"
TARGET = "v2.9.4"


def test_each_cluster_is_told_what_the_table_says(tmp_path: Path, releases: Path, *, update_golden: bool) -> None:
    trees = unpacked("trees.tar.xz", tmp_path)
    found = "".join(f"{line}\n" for each in sorted(trees.iterdir()) for line in lines_of(each, releases))
    if update_golden:
        TABLE.write_text(found)
    for line in found.splitlines():
        tell(f"report: {line}")
    assert found == TABLE.read_text()


def lines_of(folder: Path, releases: Path) -> Iterator[str]:
    """A line for each installation and each size of bump that has something to say, and below it what it names."""
    ran = run_in(folder, releases, ["plan", "--json", f"--approve={TARGET}"])
    yield f"{folder.name}" if ran.exit_code == 0 else f"{folder.name}: exit code {ran.exit_code}"
    plan = json.loads(ran.out) if ran.exit_code == 0 else {"installations": [], "migrations": []}
    for each in plan["installations"]:
        for decision in each["decisions"]:
            if decision["impact"] is not None:
                reason = f" ({decision['reason']})" if decision["reason"] else ""
                yield f"  {each['path']} {each['current']} → {decision['target']}: {decision['action']}{reason}"
                yield from (f"    {line}" for line in _of_impact(decision["impact"]))
        for broken in each["broken-today"]:
            yield f"  {each['path']}: broken today: {broken['path']}:{broken['line']}: {broken['what']}"
    if plan["migrations"]:
        yield f"  files to migrate: {len(plan['migrations'])}"


def _of_impact(impact: Any) -> Iterator[str]:
    uses = Counter(use["reason"] or use["action"] for use in impact["uses"])
    yield from (f"{what}: {count}" for what, count in sorted(uses.items()))
    rules = Counter(hit["rule"] for hit in impact["breaks"])
    yield from (f"{rule}: {count}" for rule, count in sorted(rules.items()))
    yield from sorted(f"{hit['path']}:{hit['line']}: {hit['what']}" for hit in impact["breaks"] if hit["what"])
    findings = impact["overlay"]["findings"] if impact["overlay"] is not None else []
    yield from (
        f"{each['path']}:{each['line']}: {each['verdict']}" for each in findings if each["verdict"] != "applies"
    )
    yield from (f"unread: {path}" for path in impact["unread"])
    yield from (f"turned off: {each['use']['path']}" for each in impact["turned-off"])
