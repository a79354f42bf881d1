"""The files of version managers that name the Flux CLI.

``.tool-versions`` of asdf and mise (asdf-vm.com/manage/configuration.html), ``mise.toml``,
``aqua.yaml`` (aquaproj.github.io/docs/reference/config) and ``.flux-version``, which the input
``version-file`` of Flux's own action reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from flux_upgrade.model.errors import Unreadable, UnsupportedPin
from flux_upgrade.model.text import decoded, line_of
from flux_upgrade.pins.cli.cli_versions import NEWEST, base_name, beside, cli_pin, more_files, place_of, respelled
from flux_upgrade.pins.cli.toml_places import is_flux, is_mise_file, locked, may_be_flux, tools
from flux_upgrade.pins.cli.toml_places import place_of as toml_place
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.ranges import tag_of
from flux_upgrade.pins.formats.readings import Reading, floating, unknown
from flux_upgrade.pins.pin import Pin, PinChange, PinState
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import Object, Value, is_variable

NAME = "tool-versions"

_LINE = re.compile(r"^\ufeff?[ \t]*([^\s#]+)([^\n#]*)", re.MULTILINE)
MOST = 5  # Tools of a file whose places are looked for, which takes time: usual files have one
_PREFIX = re.compile(r"((?:prefix:|latest:)?)(v?\d+(?:\.\d+)?)")
"""The newest release that begins so: mise's ``2.9`` and ``prefix:2.9``, asdf's ``latest:2.9``."""
_AQUA = re.compile(r"(?:.*/)?\.?aqua(?:/.+)?\.ya?ml")  # Also what it imports from a folder of its own
_AQUA_NAME = "fluxcd/flux2"
_LOOSE = re.compile(r"^[ \t]*[\"']?(?:flux2|(?:aqua|ubi|github):fluxcd/flux2)[\"']?[ \t]*=", re.MULTILINE)
_NO_RELEASE = "it is not a Flux release"
_NAME_ONE = "write a release, like 2.9.4"


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every version of the Flux CLI in these files, and in what ``aqua.yaml`` imports."""
    for file in chain(files, more_files(files, _AQUA, context)):
        name = base_name(file.path)
        if name == ".tool-versions":
            yield from _of_tool_versions(file, context)
        elif name == ".flux-version":
            yield from _of_flux_version(file)
        elif is_mise_file(file.path):
            yield from _of_mise(file, context)
        elif is_aqua_file(file.path) and _AQUA_NAME.encode() in file.content:
            yield from _of_aqua(file, context)


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the release as the old one was spelled; raise a prefix. Raises UnsupportedPin."""
    if pin.state is PinState.EXACT:
        return respelled(pin, target, context)
    value = place_of(pin)
    match = _PREFIX.fullmatch(value.text)
    raised = match and ranges.raised(match[2], target)
    if match is None or not raised:
        raise UnsupportedPin(f"{value.text} cannot be changed to {target}", hint="edit the version yourself")
    if raised == match[2]:
        return PinChange((), value.text, (f"{value.text} includes {target}, which the next install selects",))
    written = match[1] + raised
    return PinChange((value.replaced(written),), written)


def _of_tool_versions(file: File, context: PinContext) -> Iterator[Pin]:
    for name, value, others in listed(decoded(file.content)):
        if not _is_tool(name, value.text, context):
            continue
        reading = _reading(value, context) if value.text else unknown("the name has no version after it", _NAME_ONE)
        reading = _with_neighbours(file.path, reading, others, context)
        yield cli_pin(NAME, file, value, f"tool {name}", reading)


def listed(text: str) -> Iterator[tuple[str, Value, tuple[str, ...]]]:
    """Each tool of a ``.tool-versions``, its first version, or where that would be, and the versions after it."""
    for match in _LINE.finditer(text):
        name, rest = match.groups()
        first, *others = rest.split() or [""]
        start = match.start(2) + len(rest) - len(rest.lstrip())
        yield name, Value(first, start, start + len(first), line_of(text, match.start(1))), tuple(others)


def _of_flux_version(file: File) -> Iterator[Pin]:
    text = decoded(file.content)
    found = list(re.finditer(r"^\ufeff?[ \t]*([^\s#]+)", text, re.MULTILINE))
    if not found:
        return
    value = Value(found[0][1], *found[0].span(1), line_of(text, found[0].start(1)))
    reading = _exactly(value) if len(found) == 1 else unknown("the file holds more than a version")
    yield cli_pin(NAME, file, value, "the whole file", reading)


def _of_mise(file: File, context: PinContext) -> Iterator[Pin]:
    text = decoded(file.content)
    try:
        found = list(tools(text, may_be_flux))
    except Unreadable:  # A broken file that names the CLI is reported
        reading = unknown("the file is not valid TOML", "fix the file, or edit the version yourself")
        for match in _LOOSE.finditer(text):
            yield cli_pin(NAME, file, Value("", 0, 0, line_of(text, match.end())), "tools", reading)
        return
    for count, (name, tool) in enumerate(found):
        if not _is_tool(name, str(tool.version), context):
            continue
        written = tool.version if isinstance(tool.version, str) else ""
        is_placed = isinstance(tool.version, str) and count < MOST
        value = toml_place(text, tool.path, written) if is_placed else None
        where = ".".join(step for step in tool.path if isinstance(step, str))
        if value is None:
            reading = unknown("its spelling is not supported")
            # The line that has the tool's name first, for want of the version's place.
            value = Value(written, 0, 0, line_of(text, max(text.find(name), 0)))
        else:
            reading = _with_neighbours(file.path, _reading(value, context), tool.others, context)
        yield cli_pin(NAME, file, value, where, reading)


def is_aqua_file(path: str) -> bool:
    return _AQUA.fullmatch(path) is not None


def _of_aqua(file: File, context: PinContext) -> Iterator[Pin]:
    sums = beside(file.path, "aqua-checksums.json", context)
    for each in file.readable:
        for value in packages(each, _AQUA_NAME):
            reading = _exactly(value)
            if _AQUA_NAME.encode() in sums and reading.state is PinState.EXACT:
                remark = "run `aqua update-checksum` afterwards: it updates aqua-checksums.json"
                reading = reading._replace(remarks=(remark,))
            yield cli_pin(NAME, file, value, f"package {_AQUA_NAME}", reading)


def packages(root: Object, wanted: str) -> Iterator[Value]:
    """Where ``aqua.yaml`` has the version of a package; empty text if it has none."""
    for entry in root.entries("packages"):
        value = root.at(*entry, "name")
        name, at, _ = ("", "", "") if value is None else value.text.partition("@")
        if value is None or name != wanted:
            continue
        found = root.at(*entry, "version")
        if at:
            yield value.part(len(name) + len(at), len(value.text))
        else:
            yield value._replace(text="") if found is None else found


def _is_tool(name: str, version: str, context: PinContext) -> bool:
    """Other tools are called ``flux``, too: a release of Flux has to follow."""
    return is_flux(name) or (may_be_flux(name) and tag_of(version) in context.regenerator.stable_tags())


def _reading(value: Value, context: PinContext) -> Reading:
    text = value.text
    prefix = _PREFIX.fullmatch(text)
    if is_variable(text):
        return unknown("a template sets it", "edit the value that the template uses")
    if prefix is not None:
        version = ranges.newest(prefix[2], context.regenerator.stable_tags())
        return Reading(PinState.RANGE, version) if version else unknown(_NO_RELEASE, _NAME_ONE)
    if text == "system" or text.startswith("path:"):
        return floating(f"{text} uses the CLI that is installed on the machine")
    if text.startswith("branch:"):
        return floating(f"it is built from the {text.replace(':', ' ')}")
    if text.startswith(("ref:", "tag:", "rev:", "sub-")):
        return unknown("it is built from a Git reference" if text[:4] != "sub-" else _NO_RELEASE, _NAME_ONE)
    return _exactly(value)


def _exactly(value: Value) -> Reading:
    if value.reason:
        return unknown(value.reason)
    if value.text == "latest":
        return NEWEST
    version = tag_of(value.text)
    return Reading(PinState.EXACT, version) if version else unknown(_NO_RELEASE, _NAME_ONE)


def _with_neighbours(path: str, reading: Reading, others: tuple[str, ...], context: PinContext) -> Reading:
    """What the lock file beside it, and further versions behind it, make of a version."""
    stem = base_name(path).removesuffix(".toml")
    for lock in {"mise.lock": None, f"{stem}.lock": None}:
        version = locked(beside(path, lock, context))
        if version is not None:
            reason = f"{lock} also records the release and its checksums"
            return unknown(reason, "run `mise use`, which updates both files", version)
    if others and reading.state in (PinState.EXACT, PinState.RANGE):
        return reading._replace(remarks=(f"the versions after it stay: {', '.join(others)}",))
    return reading
