"""What one content of an installation's file puts into a cluster: its CRDs, and the release that they are of.

The history of a file has up to a hundred contents of half a megabyte. What is told of their
CRDs stands at a few known places in Flux's own form, and is read there, without YAML;
what has another form is parsed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from flux_upgrade.errors import Unreadable
from flux_upgrade.manifests.crds import crds_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.values import NamedTuple
from flux_upgrade.versions import is_tag

_KIND = b"CustomResourceDefinition"
_SEPARATOR = b"\n---\n"
_VERSIONS = b"\n  versions:\n"
_ENTRY = b"\n  - "
_NAME = re.compile(
    rb"apiVersion: apiextensions\.k8s\.io/v1(?:beta1)?\nkind: CustomResourceDefinition\nmetadata:\n"
    rb"(?:  (?!name:).*\n)*  name: ([a-z0-9.-]+)\n"
)
_END = re.compile(rb"^ {0,3}[^ \n-]", re.MULTILINE)
"""What follows the list of versions: ``status`` in old releases, a comment."""
_FIELD = re.compile(rb"\n    (name|served|storage): ([a-z0-9]+)(?=\n)")
_FIELDS = [b"name", b"served", b"storage"]
_LABEL = re.compile(rb"app\.kubernetes\.io/version: ['\"]?(v[0-9A-Za-z.+-]+)")
_HEADER = re.compile(rb"^# Flux [Vv]ersion:[ \t]*(v[0-9A-Za-z.+-]+)", re.MULTILINE)
_CONFLICT = (b"\n<<<<<<< ", b"\n>>>>>>> ")


class Definition(NamedTuple):
    """What a CRD says of its versions."""

    storage: str
    """The version that objects are stored in."""
    versions: frozenset[str]
    """All names in ``spec.versions``, served or not."""


class Installed(NamedTuple):
    """What a content puts into a cluster."""

    tag: str
    """As most of its labels have it, else its header; empty where they name no release."""
    crds: Mapping[str, Definition]
    """By name."""


def installed(content: bytes) -> Installed | None:
    """None for what installs no CRDs, or never could: a stub, a merge that was not resolved."""
    is_merging = any(marker in content for marker in _CONFLICT)
    crds = None if is_merging else _plain(content)
    if crds is None:
        crds = dict(_parsed(content))
    return Installed(_tag(content), crds) if crds else None


def _tag(content: bytes) -> str:
    """Bots raise headers and images, and leave the labels that came with the CRDs."""
    labels = Counter(filter(is_tag, map(bytes.decode, _LABEL.findall(content))))
    if labels:
        return labels.most_common(1)[0][0]
    header = _HEADER.search(content)
    told = header[1].decode() if header is not None else ""
    return told if is_tag(told) else ""


def _plain(content: bytes) -> dict[str, Definition] | None:
    """The CRDs of a file in Flux's own form; None where any of them may be in another one."""
    found: dict[str, Definition] = {}
    for document in content.split(_SEPARATOR):
        if _KIND not in document:
            continue
        name, definition = _NAME.match(document), _definition(document)
        if name is None or definition is None or document.count(_KIND) > 1:
            return None
        found[name[1].decode()] = definition
    return found


def _definition(document: bytes) -> Definition | None:
    entries = (b"\n" + document.partition(_VERSIONS)[2]).split(_ENTRY)
    end = _END.search(entries[-1], 1)
    if end is not None:
        entries[-1] = entries[-1][: end.start()]
    versions, storage = [], []
    for entry in entries[1:]:
        fields = sorted(_FIELD.findall(b"\n    %b\n" % entry))
        if [name for name, _ in fields] != _FIELDS:
            return None
        name = fields[0][1].decode()
        versions.append(name)
        if fields[2][1] == b"true":
            storage.append(name)
    return Definition(storage[0], frozenset(versions)) if len(storage) == 1 else None


def _parsed(content: bytes) -> Iterator[tuple[str, Definition]]:
    try:
        documents = parse(content).documents
    except Unreadable:
        return
    for document in documents:
        try:
            for name, crd in crds_of([document]).items():
                yield name, Definition(crd.storage, frozenset(each.name for each in crd.versions))
        except (Unreadable, LookupError, TypeError, AttributeError):
            continue  # no object, or a CRD that no API server would take
