"""The Flux CLI's container image: in Dockerfiles, and where Kubernetes or CI runs it.

Instructions of a Dockerfile: docs.docker.com/reference/dockerfile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from flux_upgrade.model.errors import ReleaseNotFound, UnsupportedPin
from flux_upgrade.model.text import decoded
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.cli.cli_versions import base_name, cli_pin, of_script
from flux_upgrade.pins.cli.image_references import CliImageReference, loose, reading_of, reference_of, references
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.ranges import respelled
from flux_upgrade.pins.formats.readings import unknown
from flux_upgrade.pins.pin import Pin, PinChange
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.passages import whole
from flux_upgrade.snapshot.snapshot import Snapshot
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Value

NAME = "cli-image"

_YAML = (".yaml", ".yml")
_DOCKERFILE = re.compile(r"(?:.*\.)?(?:Dockerfile|Containerfile)(?:\..*)?", re.IGNORECASE)

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


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every reference to the image of the Flux CLI, and every ``RUN`` of install.sh in a Dockerfile."""
    tree = context.tree
    for file in files:
        if file.path.endswith(_YAML):
            yield from _of_yaml(file, tree)
        else:
            yield from _of_dockerfile(file)


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Change the tag, and the digest behind it. The registry has to have the image: mirrors lag behind."""
    image = pin.details
    if not isinstance(image, CliImageReference):
        raise TypeError(f"{pin.path}:{pin.line} belongs to another kind of reference")
    tag = respelled(target, image.tag)
    digest = context.artifacts.digest(image.repository, tag)
    if digest is None:
        raise ReleaseNotFound(
            f"the registry has no image {image.repository}:{tag}", hint="run again once it is published"
        )
    if not image.digest:
        return PinChange((image.version.replaced(tag),), tag)
    if context.artifacts.digest(image.repository, image.tag) != image.digest:
        raise UnsupportedPin(
            f"{image.repository}: the digest {image.digest[:19]}… does not belong to the tag {image.tag}",
            hint="use the tag's current digest, or remove the digest",
        )
    written = f"{tag}@{digest}"
    return PinChange((image.version.replaced(written),), written)


def is_dockerfile(path: str) -> bool:
    return _DOCKERFILE.fullmatch(base_name(path)) is not None


def _of_yaml(file: File, tree: Snapshot) -> Iterator[Pin]:
    rows = decoded(file.content).split("\n")
    for each in file.objects:
        found = loose(each) if isinstance(each, BrokenDocument) else references(each, file.content, rows)
        is_patch, patch = file.path in tree.patch_files, unknown("the file is a patch of another object")
        yield from (_pin(file, image._replace(known=patch) if is_patch else image) for image in found)


def _of_dockerfile(file: File) -> Iterator[Pin]:
    if not is_dockerfile(file.path):
        return
    source = Dockerfile(decoded(file.content))
    for where, value in source.images():
        image = reference_of(where, value)
        if image is not None:
            yield _pin(file, _explained(image, source))
    for name, value in source.arguments():
        image = reference_of(f"ARG {name}", value)
        if image is not None:
            yield _pin(file, image._replace(known=unknown("it is the default of a build argument")))
    is_set = source.sets("FLUX_VERSION")
    for value in source.commands():
        found = of_script(value.text, is_set=is_set)
        if found is not None:
            yield cli_pin(NAME, file, value._replace(text=found[0]), "RUN install.sh", found[1])


def _explained(image: CliImageReference, source: Dockerfile) -> CliImageReference:
    """With the line of the ARG that a variable gets its value from: said, never followed."""
    argument = image.known and source.argument_in(image.version.text)
    if not argument:
        return image
    line, default = argument.value.line, argument.value.text
    reading = unknown("it is set by a build argument", f"edit line {line}, ARG {argument.name}={default}")
    return image._replace(known=reading)


def _pin(file: File, image: CliImageReference) -> Pin:
    pin = cli_pin(NAME, file, image.version, image.where, reading_of(image))
    return pin._replace(details=image)


class Argument(NamedTuple):
    """``ARG name=value``."""

    name: str
    value: Value


class Dockerfile:
    """A file's instructions, each in one line, at the offsets that they have in the file."""

    def __init__(self, text: str) -> None:
        self._lines = whole(text)
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
        for match in _ARGUMENT.finditer(self._text):
            yield Argument(match[1], self._value(match, 2))

    def argument_in(self, text: str) -> Argument | None:
        """The one that gives a variable in ``text`` its value."""
        found = (self._arguments[name] for name in _VARIABLE.findall(text) if name in self._arguments)
        return min(found, key=lambda each: each.value.start, default=None)

    @cached_property
    def _arguments(self) -> dict[str, Argument]:
        return {each.name: each for each in reversed([*self.arguments()])}

    def sets(self, name: str) -> bool:
        return any(match[1] == name for match in _SET.finditer(self._text))

    def commands(self) -> Iterator[Value]:
        """What RUN runs; the bodies of here-documents are left out."""
        for match in _RUN.finditer(self._text):
            yield self._value(match, 1)

    def _value(self, match: re.Match[str], group: int) -> Value:
        start, end = match.span(group)
        return Value(match[group], start, end, self._lines.line(start))


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
