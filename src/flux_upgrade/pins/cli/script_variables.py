"""What scripts, Makefiles, Taskfiles and justfiles set variables to, in the file or in one that it includes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from flux_upgrade.model.text import decoded, joined_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.passages import Passage, whole
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import Value

_COMMENT = re.compile(r"^[ \t]*(?:#|//|<#).*|(?<=[ \t])#.*", re.MULTILINE)
VARIABLE = re.compile(
    r"v?(?:\$\{\{ *(?:env|vars)\.(\w+) *\}\}|\{\{ *\.?(\w+) *\}\}|\$\{(\w+)(?:#v)?\}|\$\((\w+)\)|\$(\w+))"
)
"""A reference to one, in any of their languages, perhaps behind a ``v``."""
_SET = re.compile(
    r"^[ \t-]*(?:export |readonly |local |ARG |ENV |\$(?:env:)?)*(\w+)[ \t]*(?:\?=|:=|=|:)[ \t]*(.*)$", re.MULTILINE
)
_RELEASE = re.compile(r"[\"']?(?:\$\{(\w+):?[-=])?(v?\d+\.\d+\.\d+[\w.-]*)\}?[\"']?[ \t\r]*")
"""Also ``${FLUX_VERSION:-2.9.4}``, a default."""
_INCLUDE = re.compile(
    r"^[ \t-]*(?:source|\.|source_env|dotenv|-?include|sinclude|import|dotenv:|set dotenv-filename :=)[ \t]+"
    r"([^\n;&|]*)",
    re.MULTILINE,
)
_NAME = re.compile(r"[^\s\"'\[\],]+")
_RENOVATE = re.compile(
    r"^[ \t-]*(?:#|//)[ \t]*renovate:[^\n]*\b(?:depName|packageName|lookupName)=fluxcd/flux(?:2|-cli)(?![\w-])[^\n]*\n",
    re.MULTILINE,
)
_HASH = re.compile(r"\b[0-9a-f]{64}\b")
_MOST_INCLUDED = 10


class Assignment(NamedTuple):
    """Where a variable is set to a release."""

    file: File
    name: str
    value: Value


class Variables:
    """The variables of a file, each with the one place that sets it."""

    def __init__(self, file: File, tree: Snapshot) -> None:
        self._set: dict[str, Assignment | None] = {}
        """None: it is set in several places, or to something else than a release."""
        for each in (file, *_included(file, tree)):
            original = decoded(each.content)
            passage = whole(original)
            for match in _SET.finditer(code(original)):
                self._set[match[1]] = None if match[1] in self._set else _assignment(each, passage, match)

    def of(self, written: str) -> Assignment | None:
        """Where what is written refers to a variable: the place that sets it to a release."""
        match = VARIABLE.fullmatch(written)
        return self._set.get(next(name for name in match.groups() if name)) if match else None


def code(text: str) -> str:
    """A text with blanks for its comments."""
    return _COMMENT.sub(blank, text)


def blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def of_renovate(file: File) -> Iterator[Assignment]:
    """The variables behind a comment by which Renovate updates them as the Flux CLI.

    docs.renovatebot.com/modules/manager/regex: ``# renovate: datasource=github-releases depName=fluxcd/flux2``.
    """
    text = decoded(file.content)
    passage = whole(text)
    for match in _RENOVATE.finditer(text):
        found = _SET.match(text, match.end())
        assignment = _assignment(file, passage, found) if found else None
        if assignment is not None:
            yield assignment


def has_checksum(assignment: Assignment) -> bool:
    """Whether the file that sets the version has a checksum of Flux, which is of that version only."""
    return _has_checksum(assignment.file.content)


@lru_cache(maxsize=8)  # For each variable of a file
def _has_checksum(content: bytes) -> bool:
    before = ""
    for line in decoded(content).split("\n"):
        *_, end = (0, *(match.end() for match in _HASH.finditer(line)))
        if end and "flux" in f"{before}\n{line[:end]}".lower():
            return True
        before = line
    return False


def _assignment(file: File, passage: Passage, match: re.Match[str]) -> Assignment | None:
    found = _RELEASE.fullmatch(code(match[2]))
    if found is None or found[1] not in (None, match[1]):
        return None
    start = match.start(2) + found.start(2)
    return Assignment(file, match[1], Value(found[2], start, start + len(found[2]), passage.line(start)))


def _plain(path: str) -> str:
    """The part after `$(dirname "$0")/` or `${BASH_SOURCE%/*}/`, if one of these begins a path."""
    computed = max(path.rfind("}"), path.rfind(")")) + 1
    return path[computed:].removeprefix('"').lstrip("/") if computed else path


def _included(file: File, tree: Snapshot) -> Iterator[File]:
    """The files that it sources or includes, as far as their names are plain."""
    folder, seen = posixpath.dirname(file.path), {file.path}
    for match in islice(_INCLUDE.finditer(code(decoded(file.content))), _MOST_INCLUDED):
        for name in _NAME.findall(_plain(match[1]))[:_MOST_INCLUDED]:
            for path in (joined_path(folder, name), joined_path("", name)):
                included = None if path in seen or path.startswith("..") else tree.at(path)
                if included is not None:
                    seen.add(path)
                    yield included
                    break
