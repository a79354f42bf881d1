"""What the kinds for the Flux CLI share: how its releases are spelled, and how a pin is made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import is_tag
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.yaml_places import Value
from flux_upgrade.pins.pin import Pin, PinState, Role, SourceFile

BY_HAND = "change it by hand"
_ASKED = re.compile(r"FLUX_VERSION=[\"']?([^\s\"'|;&]+)")


class CliVersion(NamedTuple):
    """What the text at a place comes to; the fields are those of ``Pin``."""

    state: PinState
    version: str = ""
    reason: str = ""
    hint: str = ""
    remarks: tuple[str, ...] = ()


def unknown(reason: str, hint: str = BY_HAND, version: str = "") -> CliVersion:
    """A version that is unknown, or cannot be changed safely."""
    return CliVersion(PinState.UNKNOWN, version, reason, hint)


def tag_of(text: str) -> str:
    """The release that ``2.9.4`` or ``v2.9.4`` names, as a tag; empty for anything else."""
    tag = text if text.startswith("v") else f"v{text}"
    return tag if is_tag(tag) and "+" not in tag else ""


def respelled(tag: str, like: str) -> str:
    """The tag with or without its ``v``, as ``like`` has it."""
    return tag if like.startswith("v") else tag.removeprefix("v")


def cli_pin(kind: str, file: SourceFile, value: Value, where: str, cli_version: CliVersion) -> Pin:
    """The pin at a place, which ``place_of`` gives again."""
    return Pin(
        file.path,
        kind,
        file.content,
        value.line,
        _one_line(where),
        _one_line(value.text),
        cli_version.state,
        Role.CLI,
        cli_version.version,
        _one_line(cli_version.reason),
        _one_line(cli_version.hint),
        cli_version.remarks,
        details=value,
    )


def _one_line(text: str) -> str:
    """Names and values of a file may hold line ends."""
    return " ".join(text.split())


def place_of(pin: Pin) -> Value:
    """Where the version stands in the file."""
    if not isinstance(pin.details, Value):
        raise TypeError(f"{pin.path}:{pin.line} is another kind's")
    return pin.details


def of_script(script: str, *, is_set: bool) -> tuple[str, CliVersion] | None:
    """What ``curl -s https://fluxcd.io/install.sh | FLUX_VERSION=2.7.0 bash`` says (fluxcd.io/flux/cmd).

    ``is_set``: whether FLUX_VERSION is set around the script. None: it runs no install.sh.
    """
    text = "\n".join(row for row in script.split("\n") if not row.lstrip().startswith("#"))
    if "fluxcd.io/install.sh" not in text:
        return None
    asked = _ASKED.search(text)
    if asked is None and not is_set:
        return "", CliVersion(
            PinState.FLOATING, reason="install.sh without FLUX_VERSION installs the newest CLI"
        )
    return asked[1] if asked else "", unknown("a script installs it", "change FLUX_VERSION by hand")


def base_name(path: str) -> str:
    """The file's own name."""
    return path.rpartition("/")[2]


def more_files(
    files: Sequence[SourceFile], name: re.Pattern[str], context: PinContext
) -> Iterator[SourceFile]:
    """More files of the tree: their whole paths fit ``name``, which the kind's row cannot express."""
    known = {file.path for file in files}
    for path in context.tree.named(("",)):
        if path not in known and name.fullmatch(path):
            try:
                yield SourceFile(path, context.tree.read(path))
            except Unreadable:
                continue
