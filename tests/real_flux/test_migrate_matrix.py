"""When `flux migrate` has to run: the table in docs/reference/flux-migrate.md, on a real API server."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from flux_upgrade.impact.migrate.schema import dotted, undeclared_default
from real_flux.conftest import Manifest, Start, objects
from real_flux.control_plane import Object
from real_flux.matrix import ORDERS, WRITERS, Cell, Dropped, cells, dropped_between, run
from real_flux.samples import sample

pytestmark = [pytest.mark.cluster, pytest.mark.real_part("shared data")]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "flux-migrate.md"
_TABLE = re.compile(r"(?<=<!-- matrix -->\n).*?(?=<!-- /matrix -->)", re.DOTALL)
MINORS = ("v2.0.1", "v2.1.2", "v2.2.3", "v2.3.0", "v2.4.0", "v2.5.1", "v2.6.4", "v2.7.5", "v2.8.8", "v2.9.4")
CLI = {"v2.6.4": "v2.7.5", "v2.7.5": "v2.7.5", "v2.8.8": "v2.7.5", "v2.9.4": "v2.9.4"}
"""`flux migrate` came with 2.7; of 2.8 no CLI can be built here."""


def test_every_order_of_moving_migrating_and_upgrading(
    start: Start, manifest: Manifest, *, update_golden: bool
) -> None:
    found: list[Cell] = []
    for current, target in pairwise(MINORS):
        before, after = objects(manifest, current), objects(manifest, target)
        dropped = list(dropped_between(before, after))
        if not dropped:
            continue
        plane = start()
        assert not plane.install(before)
        made = cells(dropped)
        assert not run(plane, made, after, (CLI[current], CLI[target]))
        for each in dropped:
            assert _refused_moves(made, each) == bool(_undeclared(before, each)), each
        found += made
    table = "".join(f"{line}\n" for line in _table(found))
    page = PAGE.read_text()
    if update_golden:
        page = _TABLE.sub(lambda _: table, page)
        PAGE.write_text(page)
    match = _TABLE.search(page)
    assert match is not None
    assert match[0] == table


def _refused_moves(made: Iterable[Cell], dropped: Dropped) -> bool:
    """Whether the release that serves both versions refuses to go from one to the other."""
    found = {str(each.outcome) for each in made if each.dropped == dropped and each.order == "VWM|W"}
    assert found in ({"applied"}, {"refused at W of VWM|W: field not declared in schema"}), found
    return found != {"applied"}


def _undeclared(release: Iterable[Object], dropped: Dropped) -> str:
    """What flux-upgrade says of the move."""
    (crd,) = (
        each["spec"]
        for each in release
        if each["kind"] == "CustomResourceDefinition"
        and (each["spec"]["group"], each["spec"]["names"]["kind"]) == (dropped.group, dropped.kind)
    )
    schemas: Mapping[str, Object] = {each["name"]: each["schema"]["openAPIV3Schema"] for each in crd["versions"]}
    resource = sample(dropped.group, dropped.old, dropped.kind, "x")
    found = undeclared_default(resource, schemas[dropped.old], schemas[dropped.new])
    return dotted(found) if found is not None else ""


def _table(found: Sequence[Cell]) -> Iterable[str]:
    yield f"| Order | {' | '.join(each.name for each in WRITERS)} |"
    yield f"|{' --- |' * (len(WRITERS) + 1)}"
    for order, words in ORDERS.items():
        counts = []
        for writer in WRITERS:
            of_both = [each for each in found if each.order == order and each.writer == writer]
            outcomes = Counter(str(each.outcome) for each in of_both)
            counts.append(f"{outcomes['applied']} of {len(of_both)}")
        yield f"| {words[:1].upper()}{words[1:]} | {' | '.join(counts)} |"
