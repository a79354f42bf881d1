"""Writes `decisions.json`: the decisions of the program in a checkout of an earlier commit.

    git worktree add ../earlier b8e2f8ad
    python tests/healthy/record.py --src ../earlier/src

That commit is the last one before what is unknown ceased to count as safe. Record it again if a repository is added or
changed, not if decisions of the program do. It runs in the environment of the tests, with the shared data.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from healthy.decisions import Decision, Place

RECORD = Path(__file__).with_name("decisions.json")
_ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write decisions.json.")
    parser.add_argument("--src", type=Path, required=True, help="the directory `src` of the earlier commit")
    source = parser.parse_args().src.resolve()
    sys.path[0:0] = [str(source), str(_ROOT / "tests"), str(_ROOT / "demo")]

    import flux_upgrade
    from healthy.decisions import all_decisions
    from real_parts import require_shared

    if not Path(flux_upgrade.__file__).is_relative_to(source):
        raise SystemExit(f"there is no flux_upgrade in {source}")
    with tempfile.TemporaryDirectory() as folder:
        write(all_decisions(Path(folder), require_shared("conformance", "releases")))


def write(decisions: Mapping[Place, Decision]) -> None:
    """Write a line for each decision, sorted."""
    entries = (
        f"{json.dumps(str(place))}: {json.dumps(_stated(decision), ensure_ascii=False)}"
        for place, decision in sorted(decisions.items())
    )
    RECORD.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")


def recorded() -> dict[Place, Decision]:
    """Read the file."""
    from healthy.decisions import Decision, Place  # late: `main` sets the path first

    return {
        Place(*place.split(" | ")): Decision(**{**entry, "actions": tuple(entry.get("actions", ()))})
        for place, entry in json.loads(RECORD.read_text(encoding="utf-8")).items()
    }


def _stated(decision: Decision) -> dict[str, object]:
    """Return the fields that have a value."""
    return {name: value for name, value in decision._asdict().items() if value or name in ("current", "target")}


if __name__ == "__main__":
    main()
