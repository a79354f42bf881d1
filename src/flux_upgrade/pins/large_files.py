"""YAML files that are too large to look for version references in, and may have one."""

from __future__ import annotations

from collections.abc import Iterable

from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.files import YAML
from flux_upgrade.pins.pin import Pin, reported_pin
from flux_upgrade.pins.registry import PIN_KINDS
from flux_upgrade.snapshot.file import File

LARGEST = 4 * 1024 * 1024
"""Bytes of a file that is searched for version references: hand-written files are smaller."""
_REASON = "the file is too large to look for a Flux version in it"
_HINT = "split the file, or add it to `ignore` in the config file"


def suspected_kind(path: str, chunks: Iterable[bytes]) -> str:
    """Return the kind of version reference that the text of a large YAML file may have; empty if there is none.

    A text that cannot be read to its end counts by what is read of it.
    """
    if not path.endswith(YAML):
        return ""
    kinds = [kind for kind in PIN_KINDS if kind.takes(path)]
    marks = {mark: kind.name for kind in kinds for mark in kind.marks if b"flux" in mark.lower()}
    longest, end = max(map(len, marks)), b""
    try:
        for chunk in chunks:
            text = end + chunk
            name = next((name for mark, name in marks.items() if mark in text), "")
            if name:
                return name
            end = text[-longest:]
    except Unreadable:
        pass
    return ""


def large_pin(path: str, chunks: Iterable[bytes]) -> Pin | None:
    """Return the place of a version reference that the text of a large file may have; None if there is none."""
    kind = suspected_kind(path, chunks)
    if not kind:
        return None
    return reported_pin(File(path, b""), kind, (1, "a file that is not searched", ""), _REASON, _HINT)
