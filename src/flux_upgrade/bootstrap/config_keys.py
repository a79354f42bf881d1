"""The key ``bootstrap``: what is set up, for one cluster or many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from yaml import MappingNode, Node

from flux_upgrade.bootstrap.config_flags import BootstrapFlags
from flux_upgrade.bootstrap.flag_table import FLAGS
from flux_upgrade.bootstrap.options import Provider
from flux_upgrade.bootstrap.options import Source as From
from flux_upgrade.bootstrap.validation import misfit
from flux_upgrade.config.shapes import Choice, Key, Mapped, Schema, Text
from flux_upgrade.config.source import Source, kind, quoted
from flux_upgrade.config.values import BootstrapConfig, FlagValue

_NAME = Text(
    "the name of a cluster (a-z, A-Z, 0-9, and after the first '.', '_' and '-')",
    "[A-Za-z0-9][A-Za-z0-9._-]*",
    longest=63,
)


class _Clusters(NamedTuple):
    """Clusters by their names."""

    told: str = "mapping, name to [flags](#flags-of-a-bootstrap)"

    def schema(self) -> Schema:
        """See Shape."""
        return {
            "type": "object",
            "minProperties": 1,
            "propertyNames": _NAME.schema(),
            "additionalProperties": {"$ref": "#/$defs/bootstrap-flags"},
        }

    def read(self, name: str, node: Node, source: Source) -> dict[str, dict[str, FlagValue]] | None:
        """See Shape."""
        if not isinstance(node, MappingNode):
            source.refuse(node, f"{name} wants a mapping, name to flags, not {kind(node)}")
            return None
        clusters, seen = {}, dict[str, str]()
        for word, (key, value) in source.entries(node).items():
            if _NAME.read("cluster", key, source) is None:
                continue
            # What its secret of GitHub Actions would be called.
            first = seen.setdefault(re.sub("[^A-Z0-9]", "_", word.upper()), word)
            if first != word:
                source.refuse(
                    key, f"cluster {quoted(word)} would have the secrets of cluster {quoted(first)}"
                )
            clusters[word] = BootstrapFlags().read(f"cluster {quoted(word)}", value, source) or {}
        if not node.value:
            source.refuse(node, f"{name} is empty")
        return clusters


TOP = Mapped(
    (
        Key(
            "provider",
            Choice(tuple(Provider)),
            "The subcommand of `flux bootstrap`. Without it, `hostname`, `url` or the remote tells.",
        ),
        Key("source", Choice(tuple(From)), "What Flux reconciles the clusters from.", "git"),
        Key("flags", BootstrapFlags(), "Flags for all clusters.", "{}"),
        Key(
            "clusters",
            _Clusters(),
            "Clusters by name, each with the flags that differ. One pull request has all.",
        ),
    )
)


def schema() -> Schema:
    """See Shape; the flags are ``#/$defs/bootstrap-flags``."""
    plain = TOP.schema()
    meaning = plain["properties"]["flags"]["description"]
    plain["properties"]["flags"] = {"description": meaning, "$ref": "#/$defs/bootstrap-flags"}
    return plain


def read(name: str, node: Node, source: Source) -> BootstrapConfig | None:
    """See Shape."""
    given = TOP.read(name, node, source)
    if given is None:
        return None
    assert isinstance(node, MappingNode)  # noqa: S101 TOP takes nothing else
    provider, origin = given.get("provider", ""), given.get("source", "")
    entries = source.entries(node)
    for word, key in _flag_keys(entries, source):
        told = misfit(FLAGS[word], Provider(provider) if provider else None, From(origin or From.GIT))
        if told:
            source.refuse(key, told)
    return BootstrapConfig(provider, origin, given.get("flags", {}), tuple(given.get("clusters", {}).items()))


def _flag_keys(entries: Mapping[str, tuple[Node, Node]], source: Source) -> Iterator[tuple[str, Node]]:
    maps = [entries["flags"][1]] if "flags" in entries else []
    if "clusters" in entries and isinstance(entries["clusters"][1], MappingNode):
        maps += [value for _, value in source.entries(entries["clusters"][1]).values()]
    for each in maps:
        for word, (key, _) in source.entries(each).items() if isinstance(each, MappingNode) else ():
            if word in FLAGS:
                yield word, key
