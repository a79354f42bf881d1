"""Mutations of files as editors, merges and other tools make them, and what must survive them."""

from __future__ import annotations

import random
from contextlib import suppress

from discovered import manifests_in
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.errors import FluxUpgradeError
from flux_upgrade.pins.gotk_components.prove import prove
from flux_upgrade.pins.regenerate import Regenerator
from memory import MemoryTree
from planned import change_of, plans_of

PATH = "gotk-components.yaml"


def mutate(text: str, dice: random.Random) -> str:
    """One thing that an editor, a merge or another tool may do to a file."""
    lines = text.splitlines(keepends=True)
    at = dice.randrange(len(lines))
    match dice.randrange(10):
        case 0:
            del lines[at : at + dice.randrange(1, 40)]
        case 1:
            lines.insert(at, lines[dice.randrange(len(lines))])
        case 2:
            lines[at] = lines[at].replace(":", "", 1)
        case 3:
            lines[at] = " " + lines[at]
        case 4:
            lines[at] = lines[at].rstrip("\n") + dice.choice([" # note\n", ": x\n", " &a\n", " *a\n", " |\n"])
        case 5:
            lines = lines[:at]
        case 6:
            other = dice.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case 7:
            lines[at] = dice.choice(["---\n", "...\n", "<<<<<<< x\n", "\t\n", "- - -\n", "{\n", "? x\n", "%YAML 1.1\n"])
        case 8:
            lines[at] = lines[at].replace("1", dice.choice(["2", "0x1", "1e3", "~", "'1'"]))
        case _:
            place = dice.randrange(len(lines[at]))
            lines[at] = (
                lines[at][:place] + chr(dice.choice([0, 9, 10, 13, 34, 39, 58, 123, 233, 0xFEFF])) + lines[at][place:]
            )
    return "".join(lines)


def survive(text: str, using: Regenerator) -> None:
    """A verdict, and an upgrade that keeps its word: never a traceback, never a silent loss."""
    tree = MemoryTree({PATH: text.encode("utf-8", "surrogatepass")})
    with suppress(FluxUpgradeError):
        found = list(manifests_in(tree, using))
        for plan in plans_of(found, using, to="v2.9.4"):
            if plan.approved is not None:
                change = change_of(plan.approved)
                again = prove(parse(change.new), using)
                assert again.version == "v2.9.4"
                assert sorted(e.identity for e in again.edits) == sorted(e.identity for e in change.carried.kept)
