"""Workflows and composite actions that install the Flux CLI with ``fluxcd/flux2/action``, or with ControlPlane's.

Its input ``version`` names the release with or without ``v``; without one, and for
``latest``, it takes the newest; ``version-file`` names a file to read it from
(fluxcd/flux2, action/action.yml). The ref behind ``@`` chooses the action's own code, which
other bots move, and is left alone.

``actions/setup`` of controlplaneio-fluxcd/distribution downloads the same CLI from Flux's own releases, by
the same ``version``. ``actions/update`` writes a manifest with it, ``actions/migrate`` the API versions of a minor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.model.values import NamedTuple
from flux_upgrade.pins.cli.cli_versions import NEWEST, base_name, cli_pin, of_script, respelled
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats.ranges import tag_of
from flux_upgrade.pins.formats.readings import Reading, floating, unknown
from flux_upgrade.pins.pin import Pin, PinState, reported_pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Step, Value, is_variable

NAME = "workflow"
change = respelled

_WORKFLOW = re.compile(r"(?:.*/)?\.(?:github|gitea|forgejo)/workflows/[^/]+")
_ENTERPRISE = "controlplaneio-fluxcd/distribution/actions"
_ACTION = rf"(?:https://github\.com/)?(fluxcd/flux2/action|{_ENTERPRISE}/(?:setup|update|migrate))@"
_USES = re.compile(rf"{_ACTION}(\S+)", re.IGNORECASE)
"""Owner and repository in any case; with the host for the runners of Gitea and Forgejo."""
_LOOSE = re.compile(rf"^[ \t-]*uses:[ \t]*[\"']?{_ACTION}", re.MULTILINE | re.IGNORECASE)
_EXPRESSION = re.compile(r"\$\{\{\s*(env|matrix|inputs)\.([\w-]+)\s*\}\}")
_LISTED = re.compile(
    r"^[ \t]*[\"']?(?:flux2|(?:aqua|ubi|github):fluxcd/flux2)[\"']?[ \t]*[ \t=][ \t]*(\S.*)$", re.MULTILINE
)
"""A line of .tool-versions or mise.toml."""
_REMOVE_WRITER = "remove the step, so that only one program writes the manifest"
_PINNED_FILES = (".tool-versions", ".flux-version")


class WorkflowStep(NamedTuple):
    root: Object
    job: tuple[Step, ...]  # Path of its job; empty in an action
    step: tuple[Step, ...]
    where: str


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    """Every step of a workflow or composite action that installs the Flux CLI."""
    del context
    for file in files:
        if is_workflow(file.path):
            yield from _pins_in(file)


def is_workflow(path: str) -> bool:
    return _WORKFLOW.fullmatch(path) is not None or base_name(path) in ("action.yaml", "action.yml")


def _pins_in(file: File) -> Iterator[Pin]:
    seen: set[int] = set()
    for each in file.objects:
        if isinstance(each, BrokenDocument):
            reading = unknown("the file is not valid YAML (it may be a template)", "fix the file, or edit the version")
            for match in _LOOSE.finditer(each.text):
                line = each.line + each.text.count("\n", 0, match.end())
                yield cli_pin(NAME, file, Value("", 0, 0, line), f"uses: {match[1]}", reading)
            continue
        for place in steps(each):
            for pin in _of_step(file, place):
                start = pin.details.start if isinstance(pin.details, Value) else -1
                if start not in seen:  # a step that an alias repeats is one place
                    seen.add(start)
                    yield pin


def steps(root: Object) -> Iterator[WorkflowStep]:
    """The steps of a workflow's jobs, or of a composite action."""
    for name in root.keys("jobs"):
        job: tuple[Step, ...] = ("jobs", name)
        for number, step in enumerate(root.entries(*job, "steps"), 1):
            yield WorkflowStep(root, job, step, f"job {name}, step {_name(root, step) or number}")
    for number, step in enumerate(root.entries("runs", "steps"), 1):
        yield WorkflowStep(root, (), step, f"step {_name(root, step) or number}")


def _name(root: Object, step: tuple[Step, ...]) -> str:
    return root.text_at(*step, "name").strip()


def _of_step(file: File, place: WorkflowStep) -> Iterator[Pin]:
    root, step = place.root, place.step
    uses = _USES.fullmatch(root.text_at(*step, "uses"))
    action = uses[1].lower() if uses is not None else ""
    if uses is not None and action.endswith(("/update", "/migrate")):
        yield from _written_by(file, place, action)
    elif uses is not None:
        yield _of_action(file, place, *uses.groups())
    # `tool_versions` of asdf's and mise's actions, `mise_toml` of mise's: files within the file.
    for name in ("tool_versions", "mise_toml"):
        match = _LISTED.search(root.text_at(*step, "with", name))
        if match is not None:
            at = _empty(place, "with", name)._replace(text=match[1].strip().strip('"').strip("'"))
            reading = unknown(f"it is in the text of {name}", "edit the text, or move it to a file")
            yield cli_pin(NAME, file, at, f"{place.where}, with.{name}", reading)
    is_set = any(root.has(*each) for each in _candidates(place, "env", "FLUX_VERSION"))
    found = of_script(root.text_at(*step, "run"), is_set=is_set)
    if found is not None:
        at = _empty(place, "run")._replace(text=found[0])
        yield cli_pin(NAME, file, at, f"{place.where}, run: install.sh", found[1])


def _written_by(file: File, place: WorkflowStep, action: str) -> Iterator[Pin]:
    """ControlPlane's actions that write Flux's manifest, or its resources, in a version of their own."""
    value = place.root.at(*_input(place, "version"))
    at = _empty(place, "uses") if value is None else value
    spot = at.line, f"{place.where}, {'uses' if value is None else 'with.version'} of {action}", at.text
    if action.endswith("/update"):
        path = place.root.text_at(*_input(place, "path")) or "a directory"
        what = f"{at.text or 'the newest release'} of ControlPlane's distribution"
        reason, hint = f"the action writes {what} into {path}", _REMOVE_WRITER
        yield reported_pin(file, NAME, spot, reason, hint)._replace(details=at)
    elif value is not None:
        reason = "it is the minor whose API versions the action writes, not a version of the CLI"
        yield reported_pin(file, NAME, spot, reason, "use the minor that your clusters run")._replace(details=at)


def _input(place: WorkflowStep, name: str) -> tuple[Step, ...]:
    """The path of an input, which may be spelled in any case."""
    inputs = {key.lower(): key for key in place.root.keys(*place.step, "with")}
    return (*place.step, "with", inputs.get(name, name))


def _of_action(file: File, place: WorkflowStep, action: str, ref: str) -> Pin:
    path = _input(place, "version")
    value = place.root.at(*path)
    where = f"{place.where}, with.version"
    if value is not None and value.text not in ("", "~", "null"):
        reading = _reading(place, value)
        if tag_of(ref):
            reading = reading._replace(remarks=(f"the action's own version stays at {ref}",))
        return cli_pin(NAME, file, value, where, reading)
    if value is None and place.root.has(*path):
        at = _empty(place, "uses")._replace(line=place.root.line_at(*path))
        return cli_pin(NAME, file, at, where, unknown("it is not plain text"))
    return _without_version(file, place, f"{action}@{ref}")


def _without_version(file: File, place: WorkflowStep, uses: str) -> Pin:
    """``uses``: the action and its ref."""
    is_enterprise, ref = uses.lower().startswith(_ENTERPRISE), uses.rpartition("@")[2]
    source = place.root.at(*_input(place, "version-file"))
    if source is not None and source.text and not is_enterprise:
        where = f"{place.where}, with.version-file"
        if base_name(source.text) in _PINNED_FILES:
            reading = floating(f"it uses the version in {source.text}")
        else:
            reading = unknown(f"the version is in {source.text}", f"edit that file, or rename it to {_PINNED_FILES[1]}")
        return cli_pin(NAME, file, source, where, reading)
    follows = f"; {ref} is only the version of the action" if tag_of(ref) else ""
    newest = "the CLI of the newest release of ControlPlane's distribution" if is_enterprise else "the newest CLI"
    reading = floating(
        f"no version is set, so {newest} is installed{follows}",
        "set `with.version` to keep the CLI within one minor version of its clusters",
    )
    at = _empty(place, "uses")
    return cli_pin(NAME, file, at, f"{place.where}, uses: {uses}", reading)


def _empty(place: WorkflowStep, *path: Step) -> Value:
    """Where something stands in a step that names no version."""
    value = place.root.at(*place.step, *path)
    line = place.root.line_at(*place.step, *path)
    return Value("", 0, 0, line) if value is None else value._replace(text="")


def _reading(place: WorkflowStep, value: Value) -> Reading:
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


def _source(place: WorkflowStep, text: str) -> str:
    """Where an expression gets its value from: said, never followed."""
    match = _EXPRESSION.fullmatch(text.strip())
    if match is not None:
        context, name = match.groups()
        for path in _candidates(place, context, name):
            if place.root.has(*path):
                line, said = place.root.line_at(*path), place.root.text_at(*path)
                return f"edit line {line}, which sets {context}.{name}{f' to {said}' if said else ''}"
    return "edit the value that the expression uses"


def _candidates(place: WorkflowStep, context: str, name: str) -> Iterator[tuple[Step, ...]]:
    if context == "env":
        yield from ((*place.step, "env", name), (*place.job, "env", name), ("env", name))
    elif context == "matrix":
        yield (*place.job, "strategy", "matrix", name)
    else:
        yield from (("on", event, "inputs", name, "default") for event in ("workflow_dispatch", "workflow_call"))
        yield ("inputs", name, "default")
