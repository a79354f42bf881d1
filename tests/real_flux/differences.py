"""Where the Flux CLI and flux-upgrade differ: a table for each command, with how often each difference is found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "flux-cli.md"
_COMPARED = re.compile(r"^\d+")
_ROW = re.compile(r"^\| (?P<case>[^|]+?) \|(?P<words>.*)\| (?P<times>\d+) \|$", re.MULTILINE)


def assert_known(command: str, compared: int, found: Iterable[str], *, update: bool = False) -> None:
    """``found``: the first cell of the row of each difference. A new one fails, and one that is gone.

    ``compared``: how many flag sets, files or artifacts, which the section begins with. ``update``: write all counts.
    """
    counts, page = Counter(found), PAGE.read_text()
    heading = f"## {command}\n\n"
    before, _, rest = page.partition(heading)
    table, mark, after = rest.partition("\n## ")
    if update:
        table = _COMPARED.sub(str(compared), table)
        table = _ROW.sub(lambda row: f"| {row['case']} |{row['words']}| {counts[row['case']]} |", table)
        PAGE.write_text(f"{before}{heading}{table}{mark}{after}")
    said = _COMPARED.match(table)
    assert said is not None and int(said[0]) == compared, (
        f"{PAGE.name} has another number of comparisons than {compared}"
    )
    known = {row["case"]: int(row["times"]) for row in _ROW.finditer(table)}
    new, gone = dict(counts.items() - known.items()), dict(known.items() - counts.items())
    assert dict(counts) == known, f"{PAGE.name} does not say this: {new}, but says: {gone}"
