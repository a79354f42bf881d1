"""Objects that the flux-operator makes from a ResourceSet, and the inputs that fill their fields.

flux-operator docs/api/v1/resourceset.md: `resources` and `resourcesTemplate` are rendered once for each
of the `inputs`, with ``<< inputs.name >>`` for a value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from flux_upgrade.pins.formats.go_templates import helmfile_objects
from flux_upgrade.snapshot.file import File
from flux_upgrade.snapshot.yaml_places import BrokenDocument, Object, Step, Value, documents, objects_of

_INPUT = re.compile(r"<<-?[ \t]*inputs\.(\w+(?:\.\w+)*+)[ \t]*+(?:\|[ \t]*quote[ \t]*)?-?>>")

_NAMED = re.compile(r"\binputs\.(\w+(?:\.\w+)*+)")


def objects_and_made(file: File) -> Iterator[Object | BrokenDocument]:
    """Yield the objects of a file, which may be a helmfile, and after a ResourceSet the objects that it makes."""
    for each in helmfile_objects(file):
        yield each
        if isinstance(each, Object):
            yield from made(each)


def readable(file: File) -> Iterator[Object]:
    """Yield the ``objects_and_made`` that can be read."""
    return (each for each in objects_and_made(file) if isinstance(each, Object))


def made(each: Object) -> Iterator[Object | BrokenDocument]:
    """What a ResourceSet makes, by their places in the file; nothing for other objects."""
    if each.text_at("kind") != "ResourceSet" or not each.text_at("apiVersion").startswith("fluxcd.controlplane.io/"):
        return
    for entry in each.entries("spec", "resources"):
        inner = each.below(*entry)
        if inner is not None:
            yield replace(inner, maker=each)
    passage = each.passage_at("spec", "resourcesTemplate")
    for document in documents(passage) if passage else ():
        for found in objects_of(document):
            yield found if isinstance(found, BrokenDocument) else replace(found, maker=each)


def inputs(value: Value, maker: Object | None, *, is_read: bool = False) -> list[tuple[Value, tuple[Step, ...]]]:
    """The values of the inputs that fill a field, with their paths in the ResourceSet.

    Empty if the field is none that one input fills, or if the inputs are not all in the object. An input
    that has other uses must not be changed for this one: only the first is in the list, with the reason,
    unless the field is only to be read (``is_read``).
    """
    match = _INPUT.fullmatch(value.text.strip())
    if maker is None or match is None:
        return []
    is_shared = not is_read and _uses(maker.text)[match[1]] > 1
    reason = f"the input {match[1]} of the ResourceSet also fills other fields" if is_shared else ""
    found = []
    for entry in islice(maker.entries("spec", "inputs"), 1 if is_shared else None):
        path = (*entry, *match[1].split("."))
        value_of = maker.at(*path)
        if value_of is None:
            return []
        found.append((value_of._replace(reason=value_of.reason or reason), path))
    return found


@lru_cache(maxsize=2)
def _uses(text: str) -> Counter[str]:
    """How often each input is named in the text of a ResourceSet."""
    return Counter(_NAMED.findall(text))
