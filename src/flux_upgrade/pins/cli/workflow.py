"""Workflows and composite actions that install the Flux CLI with ``fluxcd/flux2/action``.

Its input ``version`` names the release with or without ``v``; without one, and for
``latest``, it takes the newest; ``version-file`` names a file to read it from
(fluxcd/flux2, action/action.yml). The ref behind ``@`` chooses the action's own code, which
other bots move, and is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flux_upgrade.pins.cli.cli_versions import NEWEST, base_name, cli_pin, of_script, place_of
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.ranges import respelled, tag_of
from flux_upgrade.pins.formats.readings import Reading, floating, unknown
from flux_upgrade.pins.formats.yaml_places import BrokenDocument, Object, Step, Value, is_variable, objects
from flux_upgrade.pins.pin import Pin, PinChange, PinState, SourceFile

NAME = "workflow"

_WORKFLOW = re.compile(r"(?:.*/)?\.(?:github|gitea|forgejo)/workflows/[^/]+")
_USES = re.compile(r"(?:https://github\.com/)?fluxcd/flux2/action@(\S+)", re.IGNORECASE)
"""Owner and repository in any case; with the host for the runners of Gitea and Forgejo."""
_LOOSE = re.compile(
    r"^[ \t-]*uses:[ \t]*[\"']?(?:https://github\.com/)?fluxcd/flux2/action@", re.MULTILINE | re.IGNORECASE
)
_EXPRESSION = re.compile(r"\$\{\{\s*(env|matrix|inputs)\.([\w-]+)\s*\}\}")
_LISTED = re.compile(
    r"^[ \t]*[\"']?(?:flux2|(?:aqua|ubi|github):fluxcd/flux2)[\"']?[ \t]*[ \t=][ \t]*(\S.*)$", re.MULTILINE
)
"""A line of .tool-versions or mise.toml."""
_PINNED_FILES = (".tool-versions", ".flux-version")


class _WorkflowStep(NamedTuple):
    root: Object
    job: tuple[Step, ...]  # Path of its job; empty in an action
    step: tuple[Step, ...]
    where: str


def find(files: Sequence[SourceFile], context: PinContext) -> Iterator[Pin]:
    """Every step of a workflow or composite action that installs the Flux CLI."""
    del context
    for file in files:
        if _WORKFLOW.fullmatch(file.path) or base_name(file.path) in ("action.yaml", "action.yml"):
            yield from _pins_in(file)


def change(pin: Pin, target: str, context: PinContext) -> PinChange:
    """Write the release with or without ``v``, as the old one."""
    del context
    value = place_of(pin)
    written = respelled(target, value.text)
    return PinChange((value.replaced(written),), written)


def _pins_in(file: SourceFile) -> Iterator[Pin]:
    seen: set[int] = set()
    for each in objects(file.content):
        if isinstance(each, BrokenDocument):
            yield from _loose(file, each)
            continue
        for place in _steps(each):
            for pin in _of_step(file, place):
                start = pin.details.start if isinstance(pin.details, Value) else -1
                if start not in seen:  # a step that an alias repeats is one place
                    seen.add(start)
                    yield pin


def _loose(file: SourceFile, broken: BrokenDocument) -> Iterator[Pin]:
    for match in _LOOSE.finditer(broken.text):
        line = broken.line + broken.text.count("\n", 0, match.start() + len(match[0]))
        reading = unknown("the file is not valid YAML (it may be a template)", "fix the file, or edit the version")
        yield cli_pin(NAME, file, Value("", 0, 0, line), "uses: fluxcd/flux2/action", reading)


def _steps(root: Object) -> Iterator[_WorkflowStep]:
    for name in root.keys("jobs"):
        job: tuple[Step, ...] = ("jobs", name)
        for number, step in enumerate(root.entries(*job, "steps"), 1):
            yield _WorkflowStep(root, job, step, f"job {name}, step {_name(root, step) or number}")
    for number, step in enumerate(root.entries("runs", "steps"), 1):
        yield _WorkflowStep(root, (), step, f"step {_name(root, step) or number}")


def _name(root: Object, step: tuple[Step, ...]) -> str:
    return root.text_at(*step, "name").strip()


def _of_step(file: SourceFile, place: _WorkflowStep) -> Iterator[Pin]:
    root, step = place.root, place.step
    uses = _USES.fullmatch(root.text_at(*step, "uses"))
    if uses is not None:
        yield _of_action(file, place, uses[1])
    for name in ("tool_versions", "mise_toml"):
        yield from _of_listed(file, place, name)
    yield from _of_script(file, place)


def _of_action(file: SourceFile, place: _WorkflowStep, ref: str) -> Pin:
    root, step = place.root, place.step
    inputs = {key.lower(): key for key in root.keys(*step, "with")}
    path = (*step, "with", inputs.get("version", "version"))
    value = root.at(*path)
    where = f"{place.where}, with.version"
    if value is not None and value.text not in ("", "~", "null"):
        reading = _reading(place, value)
        if tag_of(ref):
            reading = reading._replace(remarks=(f"the action's own version stays at {ref}",))
        return cli_pin(NAME, file, value, where, reading)
    if value is None and root.has(*path):
        at = _empty(place, "uses")._replace(line=root.line_at(*path))
        return cli_pin(NAME, file, at, where, unknown("it is not plain text"))
    return _without_version(file, place, ref, inputs)


def _without_version(file: SourceFile, place: _WorkflowStep, ref: str, inputs: dict[str, str]) -> Pin:
    root, step = place.root, place.step
    source = root.at(*step, "with", inputs.get("version-file", "version-file"))
    if source is not None and source.text:
        where = f"{place.where}, with.version-file"
        if base_name(source.text) in _PINNED_FILES:
            reading = floating(f"it uses the version in {source.text}")
        else:
            reading = unknown(f"the version is in {source.text}", f"edit that file, or rename it to {_PINNED_FILES[1]}")
        return cli_pin(NAME, file, source, where, reading)
    follows = f"; {ref} is only the version of the action" if tag_of(ref) else ""
    reading = floating(
        f"no version is set, so the newest CLI is installed{follows}",
        "set `with.version` to keep the CLI within one minor version of its clusters",
    )
    at = _empty(place, "uses")
    return cli_pin(NAME, file, at, f"{place.where}, uses: fluxcd/flux2/action@{ref}", reading)


def _empty(place: _WorkflowStep, *path: Step) -> Value:
    """Where something stands in a step that names no version."""
    value = place.root.at(*place.step, *path)
    line = place.root.line_at(*place.step, *path)
    return Value("", 0, 0, line) if value is None else value._replace(text="")


def _reading(place: _WorkflowStep, value: Value) -> Reading:
    if value.reason:
        return unknown(value.reason)
    if is_variable(value.text):
        return unknown("an expression sets it", _source(place, value.text))
    if value.text == "latest":
        return NEWEST
    version = tag_of(value.text)
    if not version:
        return unknown("the action accepts only complete versions, like 2.9.4", "write the complete version in quotes")
    return Reading(PinState.EXACT, version)


def _source(place: _WorkflowStep, text: str) -> str:
    """Where an expression gets its value from: said, never followed."""
    match = _EXPRESSION.fullmatch(text.strip())
    if match is not None:
        context, name = match.groups()
        for path in _candidates(place, context, name):
            if place.root.has(*path):
                line, said = place.root.line_at(*path), place.root.text_at(*path)
                return f"edit line {line}, which sets {context}.{name}{f' to {said}' if said else ''}"
    return "edit the value that the expression uses"


def _candidates(place: _WorkflowStep, context: str, name: str) -> Iterator[tuple[Step, ...]]:
    if context == "env":
        yield from ((*place.step, "env", name), (*place.job, "env", name), ("env", name))
    elif context == "matrix":
        yield (*place.job, "strategy", "matrix", name)
    else:
        yield from (("on", event, "inputs", name, "default") for event in ("workflow_dispatch", "workflow_call"))
        yield ("inputs", name, "default")


def _of_listed(file: SourceFile, place: _WorkflowStep, name: str) -> Iterator[Pin]:
    """``tool_versions`` of asdf's and mise's actions, ``mise_toml`` of mise's: files within the file."""
    match = _LISTED.search(place.root.text_at(*place.step, "with", name))
    if match is not None:
        at = _empty(place, "with", name)._replace(text=match[1].strip().strip('"').strip("'"))
        reading = unknown(f"it is in the text of {name}", "edit the text, or move it to a file")
        yield cli_pin(NAME, file, at, f"{place.where}, with.{name}", reading)


def _of_script(file: SourceFile, place: _WorkflowStep) -> Iterator[Pin]:
    is_set = any(place.root.has(*each) for each in _candidates(place, "env", "FLUX_VERSION"))
    found = of_script(place.root.text_at(*place.step, "run"), is_set=is_set)
    if found is not None:
        written, reading = found
        at = _empty(place, "run")._replace(text=written)
        yield cli_pin(NAME, file, at, f"{place.where}, run: install.sh", reading)
