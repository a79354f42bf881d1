"""Commands in scripts and pipelines that install Flux, or its CLI, at a release.

``kubectl apply -f …/releases/download/v2.9.4/install.yaml``, ``kubectl apply -k github.com/fluxcd/flux2/…``,
``flux install --version``, ``flux bootstrap --version``, ``curl …/flux_2.9.4_linux_amd64.tar.gz``,
``curl https://fluxcd.io/install.sh | FLUX_VERSION=2.9.4 bash``, ``helm upgrade … flux2 --version``.

The address of a file of Flux's repository is changed, and so is a variable that only such addresses and the
installation of the Flux CLI use. The others are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from flux_upgrade.model.text import TextEdit, decoded
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pins.cli.cli_versions import base_name, cli_pin, place_of
from flux_upgrade.pins.cli.command_versions import OF_CHART, OF_CLI, CommandVersion, file_names_in, versions_in
from flux_upgrade.pins.cli.script_variables import Assignment, Variables, blank, code, has_checksum, of_renovate
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.flux2_repository import judge
from flux_upgrade.pins.formats.ranges import respelled
from flux_upgrade.pins.formats.readings import Reading, never_changed
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role, reported_pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.passages import Passage, whole
from flux_upgrade.snapshot.yaml_places import Value

NAME = "commands"
_YAML = (".yaml", ".yml", ".gotmpl")

_PIPELINE = re.compile(
    r"(?:.*/)?(?:\.(?:github|gitea|forgejo)/(?:workflows|actions)/.*|action\.ya?ml|\.?[Tt]askfiles?\b.*|[Tt]askfile.*"
    r"|\.gitlab-ci\.ya?ml|\.gitlab/.*|azure-pipelines.*|bitbucket-pipelines\.yml|\.circleci/.*|\.woodpecker.*"
    r"|\.drone\.ya?ml|(?:.*/)?(?:helmfile[^/]*|helmfile\.d/.*|(?:cloud-(?:init|config)|user-data)[^/]*)|(?:.*/)?(?:tasks|handlers|playbooks?|roles|ansible)/.*|playbook.*|site\.ya?ml)"
)
"""YAML whose texts are commands."""
_IMAGE_FILES = {"dockerfile", "containerfile"}
_WORKFLOW = re.compile(r"(?:.*/)?(?:\.(?:github|gitea|forgejo)/workflows/[^/]+|action\.ya?ml)")
_PROSE = re.compile(
    r"^[ \t-]*(?:name|desc|description|summary|msg|title|label|prompt)[ \t]*:.*"
    r"|^[ \t@-]*(?:echo|printf|log|info|Write-\w+)\b.*",
    re.MULTILINE,
)
_CONTINUED = re.compile(r"[\\`][ \t]*\r?\n")
_SCRIPT_NAME = re.compile(
    r"(?:.*/)?(?:[^/]*\.[^/]*|[^/]*(?:akefile|ustfile|askfile|[Dd]ockerfile|[Cc]ontainerfile|Jenkinsfile|Tiltfile))"
)
_RANKS = (Role.CLI, Role.INSTALLS, Role.REPORTED)
_SPLIT = "the name of the archive has its version from another place"
_JOIN = "set both versions with one variable, or write both"
_REASON = "a command is reported but never changed"


class _Commands(NamedTuple):
    file: File
    passage: Passage  # The file, with blanks for comments and prose
    found: list[tuple[CommandVersion, Assignment | None]]  # Each with the variable that says its version

    @property
    def is_of_action(self) -> bool:
        """Whether an input of Flux's action may have the same variable: the kind of workflows has that."""
        text = self.passage.text
        has_action = "flux2/action" in text or "distribution/actions/setup" in text
        return has_action and _WORKFLOW.fullmatch(self.file.path) is not None


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every version in a command. A variable that several commands use is one pin."""
    read = [_read(file, context) for file in files if has_commands(file)]
    # What also installs Flux in a cluster, here or in another file, does not only set the CLI.
    uses: dict[tuple[str, int], Role] = {}
    for each in read:
        for command, variable in each.found:
            if variable is not None:
                role, spot = _role(each, command), _spot(variable)
                uses[spot] = max(role, uses.get(spot, role), key=_RANKS.index)
    seen: set[tuple[str, int, str, int]] = set()
    for pin in (pin for each in read for pin in _pins(each, uses)):
        start = pin.details.start if isinstance(pin.details, Value) else 0
        if (pin.path, pin.line, pin.raw, start) not in seen:
            seen.add((pin.path, pin.line, pin.raw, start))
            yield pin


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the release as the old one was spelled, with or without ``v``. Raises UnsupportedPin."""
    if pin.role is Role.REPORTED:
        return never_changed(pin, target, context)
    value = place_of(pin)
    written = respelled(target, value.text)
    edits = [value.replaced(written)]
    # An archive has the version in its name, too: `/v2.9.4/flux_2.9.4_linux_amd64.tar.gz`.
    old, begin = value.text.removeprefix("v"), value.end + len("/flux_")
    if decoded(pin.content).startswith(f"/flux_{old}_", value.end):
        edits.append(TextEdit(begin, begin + len(old), old, target.removeprefix("v")))
    return PinChange(tuple(edits), written)


def has_commands(file: File) -> bool:
    """A file without extension is a script if it says which program reads it."""
    if file.path.endswith(_YAML):
        return _PIPELINE.fullmatch(file.path) is not None
    return file.content.startswith(b"#!") or _SCRIPT_NAME.fullmatch(file.path) is not None


def commands_in(file: File) -> Passage:
    """The file, with blanks for comments and prose."""
    original = decoded(file.content)
    return replace(whole(original), text=_CONTINUED.sub(blank, _PROSE.sub(blank, code(original))))


def _read(file: File, context: PinContext) -> _Commands:
    passage = commands_in(file)
    variables = Variables(file, context.tree)
    # The kinds of workflows and of images look for runs of install.sh themselves.
    is_of_image = not _IMAGE_FILES.isdisjoint(base_name(file.path).lower().split("."))
    is_theirs = is_of_image or _WORKFLOW.fullmatch(file.path) is not None
    asked = sorted(versions_in(passage.text, is_workflow=is_theirs), key=lambda each: each.start)
    if any(each.is_split for each in asked) and any(file_names_in(passage.text)):
        # Which of the names belongs to which address is unknown.
        asked = [each._replace(is_split=each.is_split or each.is_archive) for each in asked]
    found = [(each, _inline(file, passage, each) or variables.of(_written(each))) for each in asked]
    return _Commands(file, passage, found)


def _role(commands: _Commands, command: CommandVersion) -> Role:
    """Of what a command has as its version."""
    if command.is_split:
        return Role.REPORTED
    if command.hint == OF_CLI:
        return Role.CLI
    # What a workflow installs is a cluster of that run, and not every token may change a workflow.
    is_workflow = _WORKFLOW.fullmatch(commands.file.path) is not None
    return Role.INSTALLS if command.is_address and not is_workflow else Role.REPORTED


def _pins(commands: _Commands, uses: Mapping[tuple[str, int], Role]) -> Iterator[Pin]:
    """Yield the pins of a file's commands. ``uses``: the role of a variable in all commands, by its ``_spot``."""
    downloaded = set[str]()  # The releases whose files the commands fetch; their names change, too
    is_of_action = commands.is_of_action  # Once: it goes through the file
    for command, variable in commands.found:
        place = variable or _literal(commands, command)
        role = uses[_spot(variable)] if variable else _role(commands, command)
        if place is None or role is Role.REPORTED or (variable is not None and is_of_action):
            yield _reported(commands, command, variable)
        else:
            where = f"{command.where}, {place.name}" if place.name else command.where
            pin = _changed(place, where, role)
            if pin.role is Role.CLI and command.is_archive:
                downloaded.add(place.value.text.removeprefix("v"))
            yield pin
    for version, start in file_names_in(commands.passage.text):
        if version in downloaded:
            value = Value(version, start, start + len(version), commands.passage.line(start))
            yield _changed(Assignment(commands.file, "", value), "name of a downloaded file", Role.CLI)
    for variable in () if is_of_action else of_renovate(commands.file):
        if uses.get(_spot(variable), Role.CLI) is Role.CLI:
            yield _changed(variable, f"comment for Renovate, {variable.name}", Role.CLI)


def _literal(commands: _Commands, command: CommandVersion) -> Assignment | None:
    """The release that is written out in an address."""
    ref = _written(command)
    tag = judge(ref).version
    if not command.is_address or not tag:
        return None
    start = command.start + len(ref) - len(tag)
    value = Value(tag, start, start + len(tag), commands.passage.line(start))
    return Assignment(commands.file, "", value)


def _spot(variable: Assignment) -> tuple[str, int]:
    return variable.file.path, variable.value.start


def _inline(file: File, passage: Passage, command: CommandVersion) -> Assignment | None:
    """A variable that the command itself sets: ``| FLUX_VERSION=2.9.4 bash``."""
    if not command.sets or not is_tag(f"v{command.text.removeprefix('v')}"):
        return None
    end = command.start + len(command.text)
    return Assignment(file, command.sets, Value(command.text, command.start, end, passage.line(command.start)))


def _written(command: CommandVersion) -> str:
    written = command.text.rstrip("\"',]")
    return written if "(" in written else written.rstrip(")")


def _changed(variable: Assignment, where: str, role: Role) -> Pin:
    tag = f"v{variable.value.text.removeprefix('v')}"
    if is_tag(tag) and not has_checksum(variable):
        pin = cli_pin(NAME, variable.file, variable.value, where, Reading(PinState.EXACT, tag))
        return pin._replace(role=role)
    reason, hint = "it is not a Flux release", "write a release, like 2.9.4"
    if is_tag(tag):
        reason, hint = "a checksum in the file belongs to this release", "edit the version and the checksum"
    return reported_pin(variable.file, NAME, (variable.value.line, where, variable.value.text), reason, hint)


def _reported(commands: _Commands, command: CommandVersion, variable: Assignment | None) -> Pin:
    """The release, where it is written out, or one assignment says what a variable is."""
    file, passage = commands.file, commands.passage
    value = Value(_written(command), command.start, 0, passage.line(command.start))
    where, written = command.where, value.text
    if variable is not None:
        file, where, value = variable.file, f"{where}, {variable.name}", variable.value
        written = value.text
    pin = reported_pin(file, NAME, (value.line, where, written), "", command.hint)
    if command.hint == OF_CHART:
        return pin._replace(reason="it is a chart version in a command")
    if written == "latest":
        shown = written if passage.text.startswith(written, command.start) else ""
        return pin._replace(raw=shown, state=PinState.FLOATING, reason="it has no release and installs the newest")
    tag = f"v{written.removeprefix('v')}"
    if is_tag(tag):
        pin = pin._replace(state=PinState.EXACT, version=Version(tag), reason=_REASON)
        return pin._replace(reason=_SPLIT, hint=_JOIN) if command.is_split else pin
    meaning = judge(written)
    return pin._replace(state=meaning.state, reason=meaning.reason)
