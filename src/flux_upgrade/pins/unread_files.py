"""YAML files that may have a version reference and cannot be read, or are too large to be searched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flux_upgrade.model.errors import Unread, Unreadable
from flux_upgrade.model.files import YAML
from flux_upgrade.pins.pin import Pin, reported_pin
from flux_upgrade.pins.registry import PIN_KINDS
from flux_upgrade.snapshot.file import File, problem_of
from flux_upgrade.snapshot.yaml_places import BrokenDocument

LARGEST = 4 * 1024 * 1024
"""Bytes of a file that is searched for version references: hand-written files are smaller."""
_SPLIT = "split the file, or add it to `ignore` in the config file"
_HINTS = {
    Unread.TOO_LARGE: _SPLIT,
    Unread.TOO_MANY_DOCUMENTS: _SPLIT,
    Unread.BROKEN: "fix the syntax of the file",
    Unread.TEMPLATE: "upgrade it manually, or add it to `ignore` in the config file",
}
_INSTANCE, _CHART = "flux-instance", "helm-chart"  # Names of kinds
_RELEASE = re.compile(r"^(?:- |  )?kind: *[\"']?HelmRelease\b", re.MULTILINE)
_MARKS = (
    (re.compile(r"^(?:- |  )?kind: *[\"']?FluxInstance\b", re.MULTILINE), re.compile("FluxInstance"), _INSTANCE),
    (_RELEASE, re.compile(r"^[^#\n:]*+:[^#\n]*\bflux-instance\b", re.MULTILINE), _INSTANCE),
    (_RELEASE, re.compile(r"^[^#\n:]*+:[^#\n]*\bflux2\b", re.MULTILINE), _CHART),
)
"""Patterns that the text of a document has that installs Flux, and the kind of its version reference."""
_WORDS = (b"FluxInstance", b"HelmRelease")


def suspected_kind(path: str, chunks: Iterable[bytes]) -> str:
    """Return the kind of version reference that the text of a large YAML file may have; empty if there is none.

    A text that cannot be read to its end may have one.
    """
    if not path.endswith(YAML):
        return ""
    kinds = [kind for kind in PIN_KINDS if kind.takes(path)]
    marks = {mark: kind.name for kind in kinds for mark in kind.marks if b"flux" in mark.lower()}
    longest, end = max(map(len, marks)), b""
    try:
        for chunk in chunks:
            text = end + chunk
            end = text[-longest:]
            is_about_flux = b"flux" in text.lower()  # Most files fail this test, which is cheap
            name = next((name for mark, name in marks.items() if mark in text), "") if is_about_flux else ""
            if name:
                return name
    except Unreadable:
        return _INSTANCE
    return ""


def large_pin(path: str, chunks: Iterable[bytes]) -> Pin | None:
    """Return the place of a version reference that the text of a large file may have; None if there is none."""
    kind = suspected_kind(path, chunks)
    return _pin(File(path, b""), kind, 1, Unread.TOO_LARGE) if kind else None


def unread_pins(files: Iterable[File]) -> Iterator[Pin]:
    """Yield a place for each file with a document that installs Flux and cannot be read."""
    for file in files:
        if file.path.endswith(YAML) and any(word in file.content for word in _WORDS):
            broken = [parsed for parsed in file.objects if isinstance(parsed, BrokenDocument) and _kind(parsed)]
            yield from (_pin(file, _kind(each), each.line, problem_of(each)) for each in broken[:1])


def _kind(broken: BrokenDocument) -> str:
    return next((kind for mark, word, kind in _MARKS if mark.search(broken.text) and word.search(broken.text)), "")


def _pin(file: File, kind: str, line: int, why: Unread) -> Pin:
    return reported_pin(file, kind, (line, "", ""), f"the file may set a Flux version, but {why}", _HINTS[why])
