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
from flux_upgrade.config.config import BootstrapConfig, FlagValue
from flux_upgrade.config.keys import ChoiceShape, Key, MappingShape, TextShape
from flux_upgrade.config.schema import Schema, schema_of
from flux_upgrade.config.values import read as read_value
from flux_upgrade.config.values import read_mapping
from flux_upgrade.config.yaml_text import YamlText, kind, quoted

_NAME = TextShape(
    "the name of a cluster (a-z, A-Z, 0-9, and after the first '.', '_' and '-')",
    "[A-Za-z0-9][A-Za-z0-9._-]*",
    longest=63,
)


class _ClustersShape(NamedTuple):
    description: str = "mapping, name to [flags](#flags-of-a-bootstrap)"

    def schema(self) -> Schema:
        return {
            "type": "object",
            "minProperties": 1,
            "propertyNames": schema_of(_NAME),
            "additionalProperties": {"$ref": "#/$defs/bootstrap-flags"},
        }

    def read(self, name: str, node: Node, source: YamlText) -> dict[str, dict[str, FlagValue]] | None:
        if not isinstance(node, MappingNode):
            source.refuse(node, f"{name} wants a mapping, name to flags, not {kind(node)}")
            return None
        clusters, seen = {}, dict[str, str]()
        for word, (key, value) in source.entries(node).items():
            if read_value(_NAME, "cluster", key, source) is None:
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


TOP = MappingShape(
    (
        Key(
            "provider",
            ChoiceShape(tuple(Provider)),
            "The subcommand of `flux bootstrap`. Without it, `hostname`, `url` or the remote tells.",
        ),
        Key("source", ChoiceShape(tuple(From)), "What Flux reconciles the clusters from.", "git"),
        Key("flags", BootstrapFlags(), "Flags for all clusters.", "{}"),
        Key(
            "clusters",
            _ClustersShape(),
            "Clusters by name, each with the flags that differ. One pull request has all.",
        ),
    )
)


def schema() -> Schema:
    """The flags are ``#/$defs/bootstrap-flags``."""
    plain = schema_of(TOP)
    meaning = plain["properties"]["flags"]["description"]
    plain["properties"]["flags"] = {"description": meaning, "$ref": "#/$defs/bootstrap-flags"}
    return plain


def read(name: str, node: Node, source: YamlText) -> BootstrapConfig | None:
    """The value of the key; None where ``node`` is no such mapping, which ``source`` then reports."""
    given = read_mapping(TOP, name, node, source)
    if given is None:
        return None
    assert isinstance(node, MappingNode)  # noqa: S101 TOP takes nothing else
    provider, origin = given.get("provider", ""), given.get("source", "")
    entries = source.entries(node)
    for word, key in _flag_keys(entries, source):
        problem = misfit(FLAGS[word], Provider(provider) if provider else None, From(origin or From.GIT))
        if problem:
            source.refuse(key, problem)
    return BootstrapConfig(provider, origin, given.get("flags", {}), tuple(given.get("clusters", {}).items()))


def _flag_keys(entries: Mapping[str, tuple[Node, Node]], source: YamlText) -> Iterator[tuple[str, Node]]:
    maps = [entries["flags"][1]] if "flags" in entries else []
    if "clusters" in entries and isinstance(entries["clusters"][1], MappingNode):
        maps += [value for _, value in source.entries(entries["clusters"][1]).values()]
    for each in maps:
        for word, (key, _) in source.entries(each).items() if isinstance(each, MappingNode) else ():
            if word in FLAGS:
                yield word, key
