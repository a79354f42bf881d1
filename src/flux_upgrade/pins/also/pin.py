"""Versions of Flux that the key ``also`` of the config file finds: files, and a pattern for each version in them.

The group ``version`` of the pattern captures a release with or without ``v``, perhaps with quotes around it, and
a comment behind it. Only the release changes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from flux_upgrade.model.errors import UnsupportedPin
from flux_upgrade.model.patterns import spans
from flux_upgrade.model.text import decoded, one_line
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import PinContext, UserPattern
from flux_upgrade.pins.formats.ranges import respelled, tag_of
from flux_upgrade.pins.formats.readings import Reading, judged, unknown, unknown_pin
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role, reported_pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.passages import Passage, whole
from flux_upgrade.snapshot.yaml_places import Value

NAME = "also"

_GROUP = "version"
_WRITTEN = re.compile(r"[ \t]*[\"']?(v?\d[\w.+-]*)[\"']?[ \t]*(?:#.*)?")
_RETURN = re.compile("\r\n")
_LONGEST = 200  # Characters that may be captured
_LARGEST = 256 * 1024  # Bytes of a file
_MOST_MATCHES = 20  # In one file
_MOST_FILES = 100  # Of one entry
_BEGINNING = 8000  # Bytes in which Git looks for NUL: with one, a file is binary (git, buffer_is_binary)
_FOREIGN = "change `match`: its group `version` must capture a release, like 2.9.4"
_ADDRESS = re.compile(r"/v?(\d+\.\d+\.\d+)/flux_(\d+\.\d+\.\d+)_")
_BOTH = r"capture both, as in `(?:download/v|flux_)(?<version>\d+\.\d+\.\d+)`"
_TOO_MANY = "make `match` more specific, or narrow `files`"


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every version that a pattern captures in its files; of patterns that capture the same, the first."""
    by_path = {file.path: file for file in files}
    taken: dict[str, list[Value]] = {}
    for pattern in context.also:
        count, role = 0, Role.CLI if pattern.is_cli else Role.INSTALLS
        texts = [by_path[path] for path in pattern.paths[:_MOST_FILES] if path in by_path]
        for pin in (pin for file in texts if b"\0" not in file.content[:_BEGINNING] for pin in _in_file(file, pattern)):
            count += 1
            others, value = taken.setdefault(pin.path, []), pin.details
            if isinstance(value, Value):
                if any(value.start < other.end and other.start < value.end for other in others):
                    continue
                others.append(value)
            yield pin._replace(role=role, folder=pattern.folder)
        yield from _notes(pattern, count, by_path)


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the release with or without ``v``, as it was. Raises UnsupportedPin."""
    del context
    if not isinstance(pin.details, Value):
        raise UnsupportedPin(f"{pin.path}:{pin.line}: {pin.reason}", hint=pin.hint)
    new = respelled(target, pin.raw)
    return PinChange((pin.details.replaced(new),), new)


def _in_file(file: File, pattern: UserPattern) -> Iterator[Pin]:
    where = f"match of {pattern.config}:{pattern.line}"
    if len(file.content) > _LARGEST:
        reason = f"the file is larger than {_LARGEST // 1024} KiB"
        yield unknown_pin(file, NAME, (1, where, ""), reason, "remove the file from `files`")
        return
    text = decoded(file.content)
    found = list(islice(_captured(pattern.match, text), _MOST_MATCHES + 1))
    passage = whole(text)
    if len(found) > _MOST_MATCHES:
        reason = f"`match` captures more than {_MOST_MATCHES} versions in the file"
        yield unknown_pin(file, NAME, (passage.line(found[0][0]), where, ""), reason, _TOO_MANY)
        return
    is_torn = _is_torn(text, found)
    for start, end in found:
        value, reading = _reading(passage, start, end)
        if is_torn and reading.version:
            reading = unknown(
                "an address in the file has the version twice, and `match` captures only one of them", _BOTH
            )
        spot = value.line, where, one_line(value.text).strip()
        yield judged(unknown_pin(file, NAME, spot), reading)._replace(details=value)


def _is_torn(text: str, found: Sequence[tuple[int, int]]) -> bool:
    """Whether one of two versions in the address of an archive would change: no file would have the new address."""
    for address in _ADDRESS.finditer(text):
        spans_of_two = (address.span(1), address.span(2))
        if len({any(start < last and first < end for start, end in found) for first, last in spans_of_two}) > 1:
            return True
    return False


def _captured(match: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the group is. ``$`` is in front of a Windows line end, too, which RE2 does not know."""
    returns = [each.start() - count for count, each in enumerate(_RETURN.finditer(text))]
    for start, end in spans(match, text.replace("\r\n", "\n"), _GROUP):
        yield start + bisect_left(returns, start), end + bisect_left(returns, end)


def _reading(passage: Passage, start: int, end: int) -> tuple[Value, Reading]:
    captured, line = passage.text[start:end], passage.line(start)
    written = _WRITTEN.fullmatch(captured) if len(captured) <= _LONGEST else None
    if written is None:
        value = Value(captured[:_LONGEST], start, end, line)
        return value, unknown("what `match` captures is not a Flux release", _FOREIGN)
    value = Value(written[1], start + written.start(1), start + written.end(1), line)
    tag = tag_of(value.text)
    if not tag:
        return value, unknown(f"{value.text} is not a Flux release", _FOREIGN)
    if not Version(tag).is_flux_2:  # The flux-operator and other programs have such versions
        return value, unknown(f"{value.text} is not a release of Flux 2", _FOREIGN)
    return value, Reading(PinState.EXACT, tag)


def _notes(pattern: UserPattern, count: int, read: Mapping[str, File]) -> Iterator[Pin]:
    """What is wrong with an entry, at its line of the config file. ``count``: versions that it found in ``read``."""
    if not pattern.is_whole:
        return
    file, spot = File(pattern.config, b""), (pattern.line, "also", "")
    if pattern.is_astray and pattern.paths:
        yield reported_pin(file, NAME, spot, f"no file is in {pattern.folder}", "correct `cluster`")
    if not pattern.paths:
        yield reported_pin(file, NAME, spot, "no file matches `files`", "correct `files`, or remove the entry")
    elif len(pattern.paths) > _MOST_FILES:
        reason = f"`files` matches {len(pattern.paths)} files, and only the first {_MOST_FILES} are read"
        yield reported_pin(file, NAME, spot, reason, "narrow `files`")
    elif read.keys().isdisjoint(pattern.paths):
        reason = f"`match` is not used in {pattern.paths[0]}, which is a manifest of Flux or cannot be read"
        yield reported_pin(file, NAME, spot, reason, "remove the entry, or correct `files`")
    elif not count:
        reason = f"`match` captures nothing in {pattern.paths[0]}"
        if len(pattern.paths) > 1:
            reason = f"`match` captures nothing in {len(pattern.paths)} files"
        yield reported_pin(file, NAME, spot, reason, "correct `match`, or remove the entry")
