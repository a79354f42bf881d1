"""The flux-operator's CLI: it is reported, and never changed to a release of Flux.

Its releases are the flux-operator's own (controlplaneio-fluxcd/flux-operator, actions/setup and docs/guides/cli).
Version managers call it ``flux-operator`` (aqua-registry, pkgs/controlplaneio-fluxcd/flux-operator; mise's
registry has the same), nixpkgs ``fluxcd-operator``. It does not decide which Flux the operator installs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flux_upgrade.manifests.nodes import MappingNode, ScalarNode
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.text import decoded, line_of
from flux_upgrade.pins.cli import devbox
from flux_upgrade.pins.cli.cli_image import Dockerfile, is_dockerfile
from flux_upgrade.pins.cli.cli_versions import base_name
from flux_upgrade.pins.cli.commands import commands_in, has_commands
from flux_upgrade.pins.cli.image_references import SCANNED, mappings
from flux_upgrade.pins.cli.toml_places import is_mise_file, tools
from flux_upgrade.pins.cli.toml_places import place_of as toml_place
from flux_upgrade.pins.cli.tool_versions import MOST, is_aqua_file, listed, packages
from flux_upgrade.pins.cli.workflow import is_workflow, steps
from flux_upgrade.pins.context import PinContext
from flux_upgrade.pins.formats import ranges
from flux_upgrade.pins.formats.readings import never_changed
from flux_upgrade.pins.pin import Pin, PinState, reported_pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import Object, Value

NAME = "flux-operator-cli"
change = never_changed

_REPOSITORY = "controlplaneio-fluxcd/flux-operator"
_TOOL = re.compile(rf"(?:flux-operator|(?:aqua|ubi|github):{_REPOSITORY})(?:\[[^]]*\])?")
_PACKAGE = "fluxcd-operator"  # Of nixpkgs
_USES = re.compile(rf"(?:https://github\.com/)?{_REPOSITORY}/actions/setup@\S+", re.IGNORECASE)
_IMAGE = re.compile(rf"(?:docker://)?(?:[\w.-]+(?::\d+)?/)*{_REPOSITORY}-cli(?:[:@](\S*))?")
_IMAGE_KEYS = ("image", "container", "uses", "name", "repository")
_TAG_KEYS = ("newTag", "tag", "digest")
_DOWNLOAD = re.compile(rf"{_REPOSITORY}/releases/(?:download/([^/\s\"'|;&<>]*)|latest/download)/flux-operator_")
_YAML = (".yaml", ".yml")
_REASON = "it is the version of the flux-operator's CLI, which follows the flux-operator, not Flux"
_HINT = "update it together with the flux-operator in your clusters"


def find(files: Sequence[File], context: PinContext) -> Iterator[Pin]:
    del context
    for file in files:
        seen: set[tuple[int, str]] = set()
        for where, line, text in _found(file):
            if (line, text) not in seen:  # an alias repeats a place
                seen.add((line, text))
                state = PinState.EXACT if ranges.is_exact(text.partition("@")[0]) else PinState.UNKNOWN
                state = PinState.FLOATING if text in ("", "latest") else state
                yield reported_pin(file, NAME, (line, where, text), _REASON, _HINT)._replace(state=state)


def _found(file: File) -> Iterator[tuple[str, int, str]]:
    """What each place is, its line, and its version."""
    name = base_name(file.path)
    if name == ".tool-versions":
        for tool, value, _ in listed(decoded(file.content)):
            if _TOOL.fullmatch(tool):
                yield f"tool {tool}", value.line, value.text
    elif is_mise_file(file.path):
        yield from _of_mise(file)
    elif name == devbox.FILE:
        found = (value for each in file.readable for value in devbox.places(each, _PACKAGE))
        yield from ((f"package {_PACKAGE}", value.line, value.text) for value in found)
    elif is_dockerfile(file.path):
        source = Dockerfile(decoded(file.content))
        arguments = ((f"ARG {each.name}", each.value) for each in source.arguments())
        yield from _images([*source.images(), *arguments])
    elif file.path.endswith(_YAML):
        yield from _of_yaml(file)
    if has_commands(file) or is_dockerfile(file.path):
        passage = commands_in(file)
        for match in _DOWNLOAD.finditer(passage.text):
            yield "address of the flux-operator's CLI", passage.line(match.start()), match[1] or "latest"


def _of_mise(file: File) -> Iterator[tuple[str, int, str]]:
    text = decoded(file.content)
    try:
        found = list(tools(text, _TOOL.fullmatch))
    except Unreadable:  # The kind tool-versions reports it if it names the Flux CLI
        return
    for count, (name, tool) in enumerate(found):
        version = tool.version if isinstance(tool.version, str) else ""
        value = toml_place(text, tool.path, version) if version and count < MOST else None
        # Without a place of its own, the first line that has the tool's name.
        line = value.line if value else line_of(text, max(text.find(name), 0))
        yield ".".join(step for step in tool.path if isinstance(step, str)), line, version


def _of_yaml(file: File) -> Iterator[tuple[str, int, str]]:
    for each in file.readable if _REPOSITORY.encode() in file.content else ():
        if is_aqua_file(file.path):
            for value in packages(each, _REPOSITORY):
                yield f"package {_REPOSITORY}", value.line, value.text
        for place in steps(each) if is_workflow(file.path) else ():
            if _USES.fullmatch(each.text_at(*place.step, "uses")):
                version = each.at(*place.step, "with", "version")
                line = version.line if version else each.line_at(*place.step, "uses")
                yield f"{place.where}, with.version", line, version.text if version else ""
        if each.text_at("kind") not in SCANNED:
            yield from _images([place for _, node in mappings(each.node) for place in _in_mapping(each, node)])


def _in_mapping(each: Object, node: MappingNode) -> Iterator[tuple[str, Value]]:
    """An image that has its tag in the same text, or next to it: in kustomize's ``images``, and in Helm's values."""
    keys = (*_IMAGE_KEYS, *_TAG_KEYS)
    found = {key.value: value for key, value in node.value if isinstance(value, ScalarNode) and key.value in keys}
    for key in _IMAGE_KEYS:
        match = _IMAGE.fullmatch(found[key].value) if key in found else None
        beside = next((name for name in _TAG_KEYS if name in found), "") if match and not match[1] else ""
        if match is not None:
            value = each.document.value(found[beside or key])
            yield (f"{key}, {beside}", value._replace(text=f"{match[0]}:{value.text}")) if beside else (key, value)


def _images(found: Sequence[tuple[str, Value]]) -> Iterator[tuple[str, int, str]]:
    for where, value in found:
        match = _IMAGE.fullmatch(value.text)
        if match is not None:
            yield where, value.line, match[1] or ""
