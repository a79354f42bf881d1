"""Values of the variables in `postBuild`, from ConfigMaps and Secrets that a cluster reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from flux_upgrade.clusters.graph.builds import Build, PlacedItem
from flux_upgrade.clusters.graph.flux_objects import value_sources
from flux_upgrade.clusters.graph.substitution import OTHERS
from flux_upgrade.config.config import Known
from flux_upgrade.kustomize.items import Item
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.kubernetes_objects import part
from flux_upgrade.snapshot.snapshot import Snapshot

_ENCRYPTED = "ENC["  # As SOPS writes a value


class SubstituteValues:
    """Values of one cluster, from what was built of it so far."""

    def __init__(self, tree: Snapshot, entries: Sequence[Known] = ()) -> None:
        self._tree = tree
        self._entries = entries  # Of the config file
        self.used: list[Known] = []  # Of them, those with values that are not in Git
        self._files = frozenset[str]()
        self._built: list[Item] = []  # ConfigMaps
        self._known: dict[tuple[str, str, str], Mapping[str, str | None]] = {}

    def add(self, build: Build) -> None:
        """Add what a Kustomization builds."""
        self._files |= build.files
        self._built += [item for item in build.items if item.current.kind == "ConfigMap"]

    def _map(self, kind: str, namespace: str, name: str) -> Mapping[str, str | None]:
        """Return the values of a ConfigMap that has been read so far, or is generated; of a Secret, only its keys."""
        key = kind, namespace, name
        if key not in self._known:
            found: dict[str, str | None] = {}
            is_there = False
            for data, is_certain in self._versions(kind, name):
                metadata = part(data, "metadata")
                if metadata.get("name") == name and metadata.get("namespace") in (None, "", namespace):
                    is_there = True
                    known = {**part(data, "data"), **part(data, "stringData")}
                    found |= {} if is_certain else {OTHERS: None}
                    # What a Secret holds is encoded, or encrypted.
                    for variable, value in known.items():
                        is_readable = kind == "ConfigMap" and is_certain and not str(value).startswith(_ENCRYPTED)
                        text = str(value) if is_readable else None
                        # Of several values, it is not known which one the cluster has.
                        found[variable] = text if found.get(variable, text) == text else None
            self._known[key] = found if is_there else {OTHERS: None}
        return self._known[key]

    def _versions(self, kind: str, name: str) -> Iterator[tuple[Mapping[str, Any], bool]]:
        """Yield the objects that may be one ConfigMap or Secret, and whether all steps over them are known.

        A ConfigMap counts as it is built: patches may change it.
        """
        maps = [each for each in self._built if each.current.name == name] if kind == "ConfigMap" else []
        for item in maps:
            yield data_of(item), not isinstance(item, PlacedItem) or item.is_certain
        if not maps:
            yield from ((data, True) for data in self._objects(kind, name))

    def _objects(self, kind: str, name: str) -> Iterator[Mapping[str, Any]]:
        """Yield the objects of a kind in the files that have been read so far."""
        marks = f"kind: {kind}".encode(), name.encode()
        for path in sorted(self._files):
            file = self._tree.at(path)
            if file is not None and all(mark in file.content for mark in marks):
                with suppress(Unreadable):  # a value that is none, such as a broken timestamp: Flux rejects the file
                    found = [each.data() for each in file.readable if each.text_at("kind") == kind]
                    yield from (each for each in found if isinstance(each, dict))

    def substituted(self, spec: Mapping[str, Any], namespace: str) -> Mapping[str, str | None]:
        """Return the values of ``postBuild``; ``substitute`` comes before ``substituteFrom``."""
        post_build = part(spec, "postBuild")
        found: dict[str, str | None] = {}
        for kind, name, _ in value_sources(post_build):
            found |= self._map(kind, namespace, name)
        values = found | {key: str(value) for key, value in part(post_build, "substitute").items()}
        for entry in self._entries:
            others = OTHERS in values
            lacking = {
                name: value
                for name, value in entry.variables.items()
                if values.get(name) is None and (name in values or others)
            }
            values |= lacking
            if lacking and entry not in self.used:
                self.used.append(entry)
        return values


def data_of(item: Item) -> Any:
    """Return the data of an object; empty if a step made no object of it, which kustomize reports."""
    try:
        return item.data
    except Unreadable:
        return {}
