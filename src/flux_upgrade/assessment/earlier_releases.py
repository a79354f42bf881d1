"""The releases that a version reference named in earlier commits, read from the line that it is in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import Pin

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PLACE = "\ue000"  # In place of a digest while a pattern is made
_COMMENT = re.compile(r"\s+(?:#|//).*")
_RELEASE = r"\d+\.\d+\.\d+[0-9A-Za-z.+-]*"
_VALUE = r"""[^\s"'#,]+"""
_NO_LINE = Unknown("the line with the version is not known")


class EarlierRelease(NamedTuple):
    version: Version
    revision: FileRevision


class EarlierReleases(NamedTuple):
    releases: tuple[EarlierRelease, ...] = ()  # Oldest first; a release that came back is there again
    missing: Unknown | None = None  # The reason that others may lack; None: these are all


class _Line(NamedTuple):
    pattern: re.Pattern[str]
    is_release: bool  # The value is a release of Flux, without the `v`
    place: int  # Among the lines of the file that look alike
    alike: int  # The number of these lines


def earlier_releases(
    pin: Pin, revisions: FileRevisions, release_of: Callable[[str], Version | Unknown]
) -> EarlierReleases:
    """Return the releases that ``pin`` named.

    ``release_of``: the release for a value that is none itself: the version of a chart, a digest, a range.
    """
    line = _line_of(pin)
    if line is None:
        return EarlierReleases(missing=_NO_LINE)
    releases, missing = list[EarlierRelease](), revisions.missing
    resolved = cache(lambda value: Version(f"v{value}") if line.is_release else release_of(value))
    for revision in revisions.versions:
        values = _values(line, revision.content)
        if not values:
            missing = missing or Unknown(f"{pin.path} has another form in commit {revision.commit[:8]}")
        for version in map(resolved, values):
            if isinstance(version, Unknown):
                missing = missing or version
            elif not releases or releases[-1].version != version:
                releases.append(EarlierRelease(version, revision))
    return EarlierReleases(tuple(releases), missing)


def _line_of(pin: Pin) -> _Line | None:
    """Return the form of the line with the version; None if the line does not have it."""
    lines = pin.content.decode(errors="replace").splitlines()
    text = _COMMENT.sub("", lines[pin.line - 1]).strip() if 0 < pin.line <= len(lines) else ""
    number = re.escape(pin.version.removeprefix("v"))
    is_release = bool(number) and re.search(rf"(?<![\d.]){number}(?![\d.])", pin.raw) is not None
    value, shape = (number, _RELEASE) if is_release else (re.escape(pin.raw), _VALUE)
    form = re.escape(_DIGEST.sub(_PLACE, text)) if is_release else re.escape(text)
    if not pin.raw or value not in form:
        return None
    form = form.replace(value, f"(?P<value>{shape})", 1).replace(value, shape).replace(_PLACE, _DIGEST.pattern)
    pattern = re.compile(rf"\s*{form}(?:{_COMMENT.pattern})?\s*")
    alike = [place for place, each in enumerate(lines, 1) if pattern.fullmatch(each)]
    return _Line(pattern, is_release, alike.index(pin.line), len(alike)) if pin.line in alike else None


def _values(line: _Line, content: bytes) -> Sequence[str]:
    """Return the values that the line may have had: one, if as many lines look alike as before."""
    matches = filter(None, map(line.pattern.fullmatch, content.decode(errors="replace").splitlines()))
    values = [match["value"] for match in matches]
    return values[line.place : line.place + 1] if len(values) == line.alike else values
