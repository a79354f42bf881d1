"""The Flux CLI as a package of ``devbox.json`` (jetify.com/docs/devbox/configuration)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.pins.cli.cli_versions import base_name, beside, cli_pin, place_of, respelled
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.readings import BY_HAND, Reading, floating, unknown
from flux_upgrade.pins.pin import Pin, PinChange, PinState
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import Object, Step, Value

NAME = "devbox"
FILE, _LOCK, _PACKAGE = "devbox.json", "devbox.lock", "fluxcd"
_SERIES = re.compile(r"\d+(?:\.\d+)?")  # The first numbers of a release: devbox takes the newest that begins with them


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every package ``fluxcd``. JSON is YAML; a file with comments is none that devbox itself writes."""
    for file in files:
        if base_name(file.path) == FILE:
            for found in file.readable:
                for value in places(found, _PACKAGE):
                    yield cli_pin(NAME, file, value, f"package {_PACKAGE}", _reading(file, value, context))


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the release, or as many of its numbers as the series has."""
    if pin.state is not PinState.RANGE:
        return respelled(pin, target, context)
    value, numbers = place_of(pin), target.removeprefix("v").split(".")
    new = ".".join(numbers[: value.text.count(".") + 1])
    return PinChange((value.replaced(new),) if new != value.text else (), new)


def places(found: Object, package: str) -> Iterator[Value]:
    """Where the version of a package is, in each of the three forms of ``packages``."""
    for listed in found.scalars("packages"):
        name, _, version = listed.text.partition("@")
        if name == package:
            yield listed._replace(text=version, start=listed.end - len(version))
    ways: tuple[tuple[Step, ...], ...] = (("packages", package), ("packages", package, "version"))
    yield from (value for way in ways if (value := found.at(*way)) is not None)


def _reading(file: File, value: Value, context: PinContext) -> Reading:
    is_locked = _PACKAGE.encode() in beside(file.path, _LOCK, context)
    if value.reason:
        return unknown(value.reason)
    if value.text in ("", "latest"):
        return floating("devbox installs the newest CLI when it writes devbox.lock")
    if _SERIES.fullmatch(value.text):
        if is_locked:
            return unknown(f"{_LOCK} selects the version", f"run `devbox update {_PACKAGE}`, or {BY_HAND}")
        return Reading(PinState.RANGE, ranges.newest(value.text, context.regenerator.stable_tags()))
    version = ranges.tag_of(value.text)
    if not version:
        return unknown("it is not a Flux release", "write a release, like 2.9.4")
    remarks = (f"run `devbox install` afterwards: it updates {_LOCK}",) if is_locked else ()
    return Reading(PinState.EXACT, version, remarks=remarks)
