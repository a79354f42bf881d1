"""What the kinds for the Flux CLI share: how a pin is made, and what runs of install.sh say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.readings import Reading, floating, judged, unknown, unknown_pin
from flux_upgrade.pins.pin import Pin, PinChange, Role
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import Value

_ASKED = re.compile(r"FLUX_VERSION=[\"']?([^\s\"'|;&]+)")
NEWEST = floating("latest: the newest CLI is installed")


def cli_pin(kind: str, file: File, value: Value, where: str, reading: Reading) -> Pin:
    """The pin at a place, which ``place_of`` gives again."""
    spot = value.line, _one_line(where), _one_line(value.text)
    reading = reading._replace(reason=_one_line(reading.reason), hint=_one_line(reading.hint))
    return judged(unknown_pin(file, kind, spot), reading)._replace(role=Role.CLI, details=value)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def place_of(pin: Pin) -> Value:
    """Where the version stands in the file."""
    if not isinstance(pin.details, Value):
        raise TypeError(f"{pin.path}:{pin.line} belongs to another kind of reference")
    return pin.details


def respelled(pin: Pin, target: str, context: PinContext) -> PinChange:
    """``change`` that writes the release with or without ``v``, as the old one."""
    del context
    value = place_of(pin)
    written = ranges.respelled(target, value.text)
    return PinChange((value.replaced(written),), written)


def of_script(script: str, *, is_set: bool) -> tuple[str, Reading] | None:
    """What ``curl -s https://fluxcd.io/install.sh | FLUX_VERSION=2.7.0 bash`` says (fluxcd.io/flux/cmd).

    ``is_set``: whether FLUX_VERSION is set around the script. None: it runs no install.sh.
    """
    text = "\n".join(row for row in script.split("\n") if not row.lstrip().startswith("#"))
    if "fluxcd.io/install.sh" not in text:
        return None
    asked = _ASKED.search(text)
    if asked is None and not is_set:
        return "", floating("install.sh without FLUX_VERSION installs the newest CLI")
    return asked[1] if asked else "", unknown("a script installs it", "edit FLUX_VERSION")


def base_name(path: str) -> str:
    return path.rpartition("/")[2]


def beside(path: str, name: str, context: PinContext) -> bytes:
    """A file of the same folder; empty where there is none."""
    return context.tree.content(f"{path.removesuffix(base_name(path))}{name}") or b""


def more_files(files: Sequence[File], name: re.Pattern[str], context: PinContext) -> Iterator[File]:
    """More files of the tree: their whole paths fit ``name``, which the kind's row cannot express."""
    known = {file.path for file in files}
    paths = (path for path in context.tree.named(("",)) if path not in known and name.fullmatch(path))
    return filter(None, map(context.tree.at, paths))
