"""The releases that a version reference named in earlier commits, read from the line that it is in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.pin import Pin

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_COMMENT = re.compile(r"\s+(?:#|//).*")
_RELEASE = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_VALUE = re.compile(r"""[^\s"'#,]+""")
_NO_LINE = Unknown("the line with the version is not known")


class EarlierRelease(NamedTuple):
    version: Version
    revision: FileRevision


class EarlierReleases(NamedTuple):
    runs: tuple[EarlierRelease | Unknown, ...] = ()
    """Oldest first; a release that came back is there again. Unknown: the reason that others may have run then."""

    @property
    def releases(self) -> tuple[EarlierRelease, ...]:
        return tuple(run for run in self.runs if isinstance(run, EarlierRelease))

    @property
    def missing(self) -> Unknown | None:
        """The reason that others may lack; None: these are all."""
        return next((run for run in self.runs if isinstance(run, Unknown)), None)


class _Line(NamedTuple):
    parts: tuple[str, ...]  # The texts before, between and after the places of the value
    is_release: bool  # The value is a release of Flux, without the `v`
    place: int = 0  # Among the lines of the file that look alike
    alike: int = 1  # The number of these lines

    def value_in(self, line: str) -> str:
        """Return the value of a line that looks alike; empty for another line."""
        text, places = _plain(line, is_release=self.is_release), len(self.parts) - 1
        length, rest = divmod(len(text) - sum(map(len, self.parts)), places)
        value = text[len(self.parts[0]) :][: max(length, 0)]
        is_value = (_RELEASE if self.is_release else _VALUE).fullmatch(value) is not None
        return value if is_value and not rest and value.join(self.parts) == text else ""


def earlier_releases(
    pin: Pin, revisions: FileRevisions, release_of: Callable[[str], Version | Unknown]
) -> EarlierReleases:
    """Return the releases that ``pin`` named.

    ``release_of``: the release for a value that is none itself: the version of a chart, a digest, a range.
    """
    line = _line_of(pin)
    if line is None:
        return EarlierReleases((_NO_LINE,))
    runs: list[EarlierRelease | Unknown] = [revisions.missing] if revisions.missing is not None else []
    resolved = cache(lambda value: Version(f"v{value}") if line.is_release else release_of(value))
    for revision in revisions.versions:
        values = _values(line, revision.content)
        if not values:
            runs.append(Unknown(f"{pin.path} has another form in commit {revision.commit[:8]}"))
        # If several lines may be meant, it is not certain that any of them ran.
        ran = revision if len(values) == 1 else revision._replace(is_aside=True)
        for version in map(resolved, values):
            if isinstance(version, Unknown):
                runs.append(version)
            elif not runs or not _is_known(version, ran, runs[-1]):
                runs.append(EarlierRelease(version, ran))
    return EarlierReleases((*runs, *filter(None, (revisions.gap,))))


def _is_known(version: Version, revision: FileRevision, last: EarlierRelease | Unknown) -> bool:
    """Return whether the run before is of the same release, and at least as certain."""
    if isinstance(last, Unknown) or last.version != version:
        return False
    return revision.is_aside or not last.revision.is_aside


def _line_of(pin: Pin) -> _Line | None:
    """Return the form of the line with the version; None if the line does not have it."""
    lines = pin.content.decode(errors="replace").splitlines()
    number = pin.version.removeprefix("v")
    is_release = bool(number) and number in _RELEASE.findall(pin.raw)
    value = number if is_release else pin.raw
    text = _plain(lines[pin.line - 1], is_release=is_release) if 0 < pin.line <= len(lines) else ""
    if not value or value not in text:
        return None
    line = _Line(tuple(text.split(value)), is_release)
    alike = [place for place, each in enumerate(lines, 1) if line.value_in(each)]
    return line._replace(place=alike.index(pin.line), alike=len(alike)) if pin.line in alike else None


def _plain(line: str, *, is_release: bool) -> str:
    """Return a line without indentation and comment. A digest says nothing of a release."""
    text = _COMMENT.sub("", line).strip()
    return _DIGEST.sub("", text) if is_release else text


def _values(line: _Line, content: bytes) -> Sequence[str]:
    """Return the values that the line may have had: one, if as many lines look alike as before."""
    values = list(filter(None, map(line.value_in, content.decode(errors="replace").splitlines())))
    return values[line.place : line.place + 1] if len(values) == line.alike else values
