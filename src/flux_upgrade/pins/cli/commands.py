"""Commands in scripts and pipelines that install Flux, or its CLI, at a release.

``kubectl apply -f …/releases/download/v2.9.4/install.yaml``, ``kubectl apply -k github.com/fluxcd/flux2/…``,
``flux install --version``, ``flux bootstrap --version``, ``curl …/flux_2.9.4_linux_amd64.tar.gz``,
``curl https://fluxcd.io/install.sh | FLUX_VERSION=2.9.4 bash``, ``helm upgrade … flux2 --version``.

They are reported. A variable is changed if nothing but the installation of the Flux CLI uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from flux_upgrade.model.text import decoded
from flux_upgrade.model.versions import Version, is_tag
from flux_upgrade.pins.cli.cli_versions import cli_pin, place_of
from flux_upgrade.pins.cli.command_versions import OF_CHART, OF_CLI, CommandVersion, versions_in
from flux_upgrade.pins.cli.script_variables import Assignment, Variables, blank, code, has_checksum, of_renovate
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.flux2_repository import judge
from flux_upgrade.pins.formats.passages import Passage, whole
from flux_upgrade.pins.formats.ranges import respelled
from flux_upgrade.pins.formats.readings import Reading, never_changed
from flux_upgrade.pins.formats.yaml_places import Value
from flux_upgrade.pins.pin import Pin, PinChange, PinState, Role, SourceFile, reported_pin

NAME = "commands"
_YAML = (".yaml", ".yml")

_PIPELINE = re.compile(
    r"(?:.*/)?(?:\.(?:github|gitea|forgejo)/(?:workflows|actions)/.*|action\.ya?ml|\.?[Tt]askfiles?\b.*|[Tt]askfile.*"
    r"|\.gitlab-ci\.ya?ml|\.gitlab/.*|azure-pipelines.*|bitbucket-pipelines\.yml|\.circleci/.*|\.woodpecker.*"
    r"|\.drone\.ya?ml|(?:.*/)?(?:tasks|handlers|playbooks?|roles|ansible)/.*|playbook.*|site\.ya?ml)"
)
"""YAML whose texts are commands."""
_WORKFLOW = re.compile(r"(?:.*/)?(?:\.(?:github|gitea|forgejo)/workflows/[^/]+|action\.ya?ml)")
_PROSE = re.compile(
    r"^[ \t-]*(?:name|desc|description|summary|msg|title|label|prompt)[ \t]*:.*"
    r"|^[ \t@-]*(?:echo|printf|log|info|Write-\w+)\b.*",
    re.MULTILINE,
)
_CONTINUED = re.compile(r"[\\`][ \t]*\r?\n")
_SCRIPT_NAME = re.compile(r"(?:.*/)?(?:[^/]*\.[^/]*|[^/]*(?:akefile|ustfile|askfile|Jenkinsfile|Tiltfile))")
_REASON = "a command is reported but never changed"


def find(files: Sequence[SourceFile], context: PinContext) -> Iterator[Pin]:
    """Every version in a command. A variable that several commands use is one pin."""
    seen: set[tuple[str, int, str]] = set()
    for pin in (pin for file in files if _has_commands(file) for pin in _pins(file, context)):
        if (pin.path, pin.line, pin.raw) not in seen:
            seen.add((pin.path, pin.line, pin.raw))
            yield pin


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the release as the old one was spelled, with or without ``v``. Raises UnsupportedPin."""
    if pin.role is Role.REPORTED:
        return never_changed(pin, target, context)
    value = place_of(pin)
    written = respelled(target, value.text)
    return PinChange((value.replaced(written),), written)


def _has_commands(file: SourceFile) -> bool:
    """A file without extension is a script if it says which program reads it."""
    if file.path.endswith(_YAML):
        return _PIPELINE.fullmatch(file.path) is not None
    return file.content.startswith(b"#!") or _SCRIPT_NAME.fullmatch(file.path) is not None


def _pins(file: SourceFile, context: PinContext) -> Iterator[Pin]:
    original = decoded(file.content)
    text = _CONTINUED.sub(blank, _PROSE.sub(blank, code(original)))
    variables, is_workflow = Variables(file, context.tree), _WORKFLOW.fullmatch(file.path) is not None
    asked = sorted(versions_in(text, is_workflow=is_workflow), key=lambda each: each.start)
    passage = replace(whole(original), text=text)
    found = [(each, _inline(file, passage, each) or variables.of(_written(each))) for each in asked]
    # What also installs Flux in a cluster is not the CLI's alone; an action's input is of the kind of workflows.
    kept = {_spot(variable) for each, variable in found if variable and each.hint != OF_CLI}
    is_shared = is_workflow and "flux2/action" in text
    for command, variable in found:
        is_of_cli = variable and command.hint == OF_CLI and _spot(variable) not in kept and not is_shared
        if variable and is_of_cli:
            yield _of_cli(variable, command.where)
        else:
            yield _reported(file, passage, command, variable)
    for variable in () if is_shared else of_renovate(file):
        if _spot(variable) not in kept:
            yield _of_cli(variable, "comment for Renovate")


def _spot(variable: Assignment) -> tuple[str, int]:
    return variable.file.path, variable.value.start


def _inline(file: SourceFile, passage: Passage, command: CommandVersion) -> Assignment | None:
    """A variable that the command itself sets: ``| FLUX_VERSION=2.9.4 bash``."""
    if not command.sets or not is_tag(f"v{command.text.removeprefix('v')}"):
        return None
    end = command.start + len(command.text)
    return Assignment(file, command.sets, Value(command.text, command.start, end, passage.line(command.start)))


def _written(command: CommandVersion) -> str:
    written = command.text.rstrip("\"',]")
    return written if "(" in written else written.rstrip(")")


def _of_cli(variable: Assignment, where: str) -> Pin:
    tag = f"v{variable.value.text.removeprefix('v')}"
    where = f"{where}, {variable.name}"
    if is_tag(tag) and not has_checksum(variable):
        return cli_pin(NAME, variable.file, variable.value, where, Reading(PinState.EXACT, tag))
    reason, hint = "it is not a Flux release", "write a release, like 2.9.4"
    if is_tag(tag):
        reason, hint = "a checksum in the file belongs to this release", "edit the version and the checksum"
    return reported_pin(variable.file, NAME, (variable.value.line, where, variable.value.text), reason, hint)


def _reported(file: SourceFile, passage: Passage, command: CommandVersion, variable: Assignment | None) -> Pin:
    """The release, where it is written out, or one assignment says what a variable is."""
    value = Value(_written(command), command.start, 0, passage.line(command.start))
    where, written = command.where, value.text
    if variable is not None:
        file, where, value = variable.file, f"{where}, {variable.name}", variable.value
        written = value.text
    pin = reported_pin(file, NAME, (value.line, where, written), "", command.hint)
    if command.hint == OF_CHART:
        return pin._replace(reason="it is a chart version in a command")
    if written == "latest":
        stands = written if passage.text.startswith(written, command.start) else ""
        return pin._replace(raw=stands, state=PinState.FLOATING, reason="it has no release and installs the newest")
    tag = f"v{written.removeprefix('v')}"
    if is_tag(tag):
        return pin._replace(state=PinState.EXACT, version=Version(tag), reason=_REASON)
    meaning = judge(written)
    return pin._replace(state=meaning.state, reason=meaning.reason)
