"""How a proof and an edit are said: once, for the report in plain text and the pull request in Markdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flux_upgrade.manifests.compare import FILE
from flux_upgrade.manifests.proof import Proof, Verdict
from flux_upgrade.manifests.residue import Edit, Op
from flux_upgrade.markdown import counted


def proof_phrase(proof: Proof) -> str:
    """How the file was proved, without markup."""
    made = f"{proof.version} regenerated = your file"
    if proof.edits:
        return f"{made} but for {counted(len(proof.edits), 'edit')} of yours"
    match proof.verdict:
        case Verdict.EXACT:
            return f"{made}, byte for byte"
        case Verdict.IMAGES:
            return f"{made} but for its image lines"
        case Verdict.FORMATTING if proof.base and proof.manifest and proof.base.text == proof.manifest.text:
            return f"{made} but for its line ends, final newline or byte order mark, which stay"
        case Verdict.FORMATTING:
            return f"{made}, in another form; it is written in Flux's own"
    return f"{made} in all its objects"


def edit_phrase(edit: Edit, place: Callable[[str], str], value: Callable[[Any], str]) -> str:
    """One edit in one line. ``place`` and ``value`` put an object with its path, and a value, into form."""
    where = place_of(edit, place)
    match edit.op:
        case Op.ADD:
            return f"{where}: added" + (f" {value(edit.new)}" if edit.path else "")
        case Op.REMOVE:
            return f"{where}: removed"
        case Op.COMMENT:
            return f"{where}: {value(edit.new)}"
        case _:
            return f"{where}: {value(edit.old)} → {value(edit.new)}"


def place_of(edit: Edit, place: Callable[[str], str]) -> str:
    """Which object, and where in it."""
    return (
        "the file" if edit.object == FILE else place(" ".join(filter(None, (str(edit.object), edit.where))))
    )
