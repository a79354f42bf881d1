"""Dockerfiles: where they name images (docs.docker.com/reference/dockerfile)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.model.text import line_of
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.formats.yaml_places import Value

_ESCAPE = re.compile(r"(?:\ufeff?#[ \t]*\w+=[^\n]*\n)*?\ufeff?#[ \t]*escape[ \t]*=[ \t]*`", re.IGNORECASE)
_HEREDOC = re.compile(r"(?<=[ \t])\d*<<(-?)([\"']?)(\w+)\2(?=\s|\Z)")
"""A word by itself (moby/buildkit, frontend/dockerfile/parser/parser.go)."""
_ROW = re.compile(r"[^\n]*\n|[^\n]+")
_BLACK = re.compile(r"[^\n]")
_START = r"^\ufeff?[ \t]*(?:ONBUILD[ \t]+)?"
_FLAGS = r"[ \t]+(?:--\S+[ \t]+)*?"
_FROM = re.compile(rf"{_START}FROM{_FLAGS}[\"']?([^-\s\"'][^\s\"']*)", re.MULTILINE | re.IGNORECASE)
_COPY = re.compile(rf"{_START}COPY{_FLAGS}--from=[\"']?([^\s\"']+)", re.MULTILINE | re.IGNORECASE)
_OPTIONS = re.compile(rf"{_START}RUN((?:[ \t]+--\S+)+)", re.MULTILINE | re.IGNORECASE)
_MOUNT = re.compile(r"--mount=\S+")
_MOUNTED = re.compile(r"[=,]from=[\"']?([^\s\"',]+)")
_ARGUMENT = re.compile(rf"{_START}ARG[ \t]+(\w+)=[\"']?([^\s\"']+)", re.MULTILINE | re.IGNORECASE)
_SET = re.compile(rf"{_START}(?:ARG|ENV)[ \t]+(\w+)", re.MULTILINE | re.IGNORECASE)
_RUN = re.compile(rf"{_START}RUN[ \t]([^\n]*)", re.MULTILINE | re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?(\w+)")


class Argument(NamedTuple):
    """``ARG name=value``."""

    name: str
    value: Value


class Dockerfile:
    """A file's instructions, each in one line, at the offsets that they have in the file."""

    def __init__(self, text: str) -> None:
        self._lines = text
        self._text = _unfolded(text)

    def images(self) -> Iterator[tuple[str, Value]]:
        """Instruction and image, in the order of the file: of stages, copies and mounts."""
        found = [("FROM", each) for each in _FROM.finditer(self._text)]
        found += [("COPY --from", each) for each in _COPY.finditer(self._text)]
        for options in _OPTIONS.finditer(self._text):
            for mount in _MOUNT.finditer(self._text, *options.span(1)):
                mounted = _MOUNTED.search(self._text, *mount.span())
                found += [("RUN --mount", mounted)] if mounted is not None else []
        for where, match in sorted(found, key=lambda each: each[1].start(1)):
            yield where, self._value(match, 1)

    def arguments(self) -> Iterator[Argument]:
        """The build arguments that have a default."""
        for match in _ARGUMENT.finditer(self._text):
            yield Argument(match[1], self._value(match, 2))

    def argument_in(self, text: str) -> Argument | None:
        """The one that gives a variable in ``text`` its value."""
        names = _VARIABLE.findall(text)
        return next((each for each in self.arguments() if each.name in names), None)

    def sets(self, name: str) -> bool:
        """Whether an ARG or an ENV is of that name."""
        return any(match[1] == name for match in _SET.finditer(self._text))

    def commands(self) -> Iterator[Value]:
        """What RUN runs; the bodies of here-documents are left out."""
        for match in _RUN.finditer(self._text):
            yield self._value(match, 1)

    def _value(self, match: re.Match[str], group: int) -> Value:
        start, end = match.span(group)
        return Value(match[group], start, end, line_of(self._lines, start))


def _unfolded(text: str) -> str:
    """The text with blanks for comments, for line ends within an instruction and for here-documents."""
    escape = "`" if _ESCAPE.match(text) else "\\"
    done: list[str] = []
    last = {match[0].strip("\t\r\n"): match.start() for match in _ROW.finditer(text)}
    waiting: list[re.Pattern[str]] = []
    instruction = ""
    for match in _ROW.finditer(text):
        row = match[0]
        if waiting and not instruction:
            if waiting[0].fullmatch(row.rstrip("\r\n")):
                waiting.pop(0)
            done.append(_BLACK.sub(" ", row))
        elif row.lstrip().startswith("#") or (instruction and not row.strip()):
            done.append(" " * len(row) if instruction else _BLACK.sub(" ", row))
        elif row.rstrip().endswith(escape):
            kept = row.rstrip()[: -len(escape)]
            done.append(kept + " " * (len(row) - len(kept)))
            instruction += kept
        else:
            done.append(row)
            # Only here-documents whose ends are there.
            waiting += [
                re.compile((r"\t*" if dash else "") + word)
                for dash, _, word in _HEREDOC.findall(instruction + row)
                if last.get(word, -1) >= match.end()
            ]
            instruction = ""
    return "".join(done)
