"""Versions of a FluxInstance that cannot be changed where they stand: in patches, ResourceSets, templates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.pins.formats.kustomize_patches import inline, operations, touches
from flux_upgrade.pins.formats.readings import unknown_pin
from flux_upgrade.pins.objects import helmfile
from flux_upgrade.pins.objects.flux_distribution import CHART, INLINE, INSTANCE, is_instance
from flux_upgrade.pins.pin import Pin
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Step, dotted, is_variable, readable

_FIELDS = ("version", "artifact")
_PLACES = tuple((*above, "distribution", field) for above in (INSTANCE, INLINE) for field in _FIELDS)
_KIND = re.compile(r"^kind:[ \t]*[\"']?(FluxInstance|HelmRelease)[\"']?[ \t\r]*$", re.MULTILINE)
_CHART = re.compile(r"^[ \t]+(?:name|chart):[ \t]*[\"']?flux-instance[\"']?[ \t\r]*$", re.MULTILINE)
_VERSION = re.compile(
    r"^([ \t]+)distribution:[ \t\r]*\n"
    # Atomic: were there two ways to read a line, a file without a version would take forever.
    r"(?:(?>\1[ \t].*|[ \t\r]*|[ \t]*\{[{%].*)\n)*?"
    r"\1[ \t]+version:[ \t]*(\S[^\r\n]*)",
    re.MULTILINE,
)
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})", re.MULTILINE)
_SEPARATOR = re.compile(r"^---", re.MULTILINE)


_PATCH = (
    "it is a patch of another version reference, so it is not what is installed",
    "edit the patch, or set the version in the FluxInstance",
)
_TEMPLATE = ("it is in a template", "edit the value that the template uses")


def of_patches(file: File, each: Object, kind: str) -> Iterator[Pin]:
    """Versions in patches that are written out in a kustomization, kustomize's or Flux's."""
    for text in inline(each, file.content):
        patch = File(file.path, text.content)
        found = [*of_json_patch(patch, kind)]
        for inner in readable(text.content):
            found += of_merge_patch(patch, inner, kind)
        for pin in found:
            yield pin._replace(content=file.content, line=pin.line + text.before)


def of_json_patch(file: File, kind: str) -> Iterator[Pin]:
    """Versions in a file that is a JSON patch."""
    for operation in operations(file.content):
        place = next((place for place in _PLACES if touches(operation, place)), None)
        if place is not None:
            spot = operation.line, f"JSON patch, {'.'.join(place)}", operation.text
            yield unknown_pin(file, kind, spot, *_PATCH)


def of_merge_patch(file: File, each: Object, kind: str) -> Iterator[Pin]:
    """Versions in an object that is a strategic merge patch."""
    above = INSTANCE if is_instance(each) else INLINE
    if above == INLINE and each.text_at("kind") != "HelmRelease":
        return
    name = each.text_at("metadata", "name")
    owner = f"patch of {each.text_at('kind')}{f' {name}' if name else ''}"
    for field in _FIELDS:
        place: tuple[Step, ...] = (*above, "distribution", field)
        if each.has(*place):
            spot = each.line_at(*place), f"{owner}, {dotted(place)}", each.text_at(*place)
            yield unknown_pin(file, kind, spot, *_PATCH)


def of_broken(file: File, broken: BrokenDocument, kind: str) -> Iterator[Pin]:
    """Versions in a document that is no YAML: a template, as a rule."""
    doubt = (f"the document is not readable: {broken.message}", "fix the file first")
    if is_variable(broken.text) and not _CONFLICT.search(broken.text):
        doubt = _TEMPLATE
    for line, written in _in_text(broken.text):
        yield unknown_pin(file, kind, (broken.line + line - 1, "distribution.version", written), *doubt)
    for line in helmfile.in_broken(broken, CHART):
        yield unknown_pin(file, kind, (line, f"chart {CHART}", ""), *doubt)


def _in_text(text: str) -> Iterator[tuple[int, str]]:
    """Line, 1-based, and value of each version in text that may be no YAML."""
    begin = 0
    for end in [*(match.start() for match in _SEPARATOR.finditer(text)), len(text)]:
        part = text[begin:end]
        kind, match = _KIND.search(part), _VERSION.search(part)
        if kind and match and (kind[1] == "FluxInstance" or _CHART.search(part)):
            yield text.count("\n", 0, begin + match.start(2)) + 1, match[2].strip("\"' ")
        begin = end
