"""Adds what newer flux-operator releases include to the table of this program: `make operator-releases`.

Needs go. Each release is a Go module, whose archive has a directory ``config/data/flux/vX.Y.Z`` for each release of
Flux. With `--check`, nothing is written: each release in the table is downloaded, and the rows that differ are printed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flux_upgrade.model.versions import Version
from flux_upgrade.pins.objects.operator_table import LOWEST, NEWEST, included

ROOT = Path(__file__).resolve().parent.parent
TABLE = "src/flux_upgrade/pins/objects/operator_table.py"
MODULE = "github.com/controlplaneio-fluxcd/flux-operator"
_DIRECTORY = re.compile(rf"{re.escape(MODULE)}@[^/]+/config/data/flux/(v\d+\.\d+\.\d+)/.")
_STABLE = re.compile(r"v\d+\.\d+\.\d+")


def _go(*arguments: str) -> dict[str, Any]:
    # Outside of the repository, so that none of its files configures Go. A release may need a newer Go than this
    # machine's to be built: that is an error, and its archive is there.
    command = ["go", *arguments]
    done = subprocess.run(command, check=False, cwd="/", stdout=subprocess.PIPE)  # noqa: S603 go, and a name of ours
    answer: dict[str, Any] = json.loads(done.stdout or b"{}")
    return answer


def releases() -> list[Version]:
    """The stable releases of the flux-operator, lowest first."""
    found = _go("list", "-m", "-versions", "-json", MODULE).get("Versions", ())
    return sorted(Version(each) for each in found if _STABLE.fullmatch(each))


def flux_in(operator: str) -> set[str]:
    """The releases of Flux in a release of the flux-operator. Raises SystemExit if it cannot be downloaded."""
    found = _go("mod", "download", "-json", f"{MODULE}@{operator}")
    if "Zip" not in found:
        raise SystemExit(f"{operator}: {found.get('Error', 'go has no answer')}")
    with zipfile.ZipFile(found["Zip"]) as archive:
        return {match[1] for match in map(_DIRECTORY.match, archive.namelist()) if match}


def updated(text: str, rows: Mapping[str, str], newest: str) -> str:
    """The module with the table and these rows, Flux → flux-operator, at its end."""
    added = "".join(f'    "{flux}": "{operator}",\n' for flux, operator in rows.items())
    text = re.sub(r'(?m)^NEWEST = "[^"]+"', f'NEWEST = "{newest}"', text, count=1)
    return text.replace("\n}\n", f"\n{added}}}\n", 1)


def differences() -> list[str]:
    """A line for each release in the table whose archive includes other releases of Flux."""
    lines = []
    for operator in sorted({*map(Version, LOWEST.values()), Version(NEWEST)}):
        found, stated = flux_in(operator), set(included(operator))
        if found != stated:
            lines.append(f"{operator}: {', '.join(sorted(found ^ stated))}")
    return lines


def main(root: Path, *, is_check: bool) -> int:
    if is_check:
        lines = differences()
        sys.stdout.writelines(f"{line}\n" for line in lines)
        return 1 if lines else 0
    rows: dict[str, str] = {}
    newer = [each for each in releases() if each > Version(NEWEST)]
    for operator in newer:
        for flux in sorted(map(Version, flux_in(operator) - LOWEST.keys() - rows.keys())):
            rows[flux] = operator
            sys.stdout.write(f"Flux {flux}: flux-operator {operator}\n")
    if newer:
        path = root / TABLE
        path.write_text(updated(path.read_text(encoding="utf-8"), rows, newer[-1]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    arguments = [each for each in sys.argv[1:] if each != "--check"]
    raise SystemExit(main(Path(arguments[0]) if arguments else ROOT, is_check="--check" in sys.argv))
