"""Several files, one config: whose key wins, and what a shared file must not loosen. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from flux_upgrade.config.config import Origin, SharedFile
from flux_upgrade.config.keys import SHARED, Key, MappingShape
from flux_upgrade.config.values import read, read_mapping
from flux_upgrade.config.yaml_text import YamlText, quoted
from flux_upgrade.model.errors import InvalidConfig, SharedConfigUnusable
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.policy import MaxBump, Policy

_MAPS = ("cool-down", "flags", "limits")
_LOOSER = "set the key in {path} yourself if you want that value, or pin a shared file with a stricter one"
_WRONG = "fix the shared file, and put the new commit into `extends`"

ReadShared = Callable[[SharedFile], str]
"""The text of a shared file; bytes that are no UTF-8 as surrogates (PEP 383). Raises SharedConfigUnusable."""


class Layer(NamedTuple):
    """What one file sets."""

    file: str  # As messages name it
    values: Mapping[str, Any]
    written: Mapping[str, str]


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Keys → values; each layer beats those before."""
    values = {name: value for layer in layers for name, value in layer.items()}
    maps = {name: [layer[name] for layer in layers if name in layer] for name in _MAPS}
    return values | {name: {key: each[key] for each in found for key in each} for name, found in maps.items()}


def bump_of(given: Mapping[str, Any]) -> MaxBump:
    """The key ``policy``, or what holds without it."""
    bump: MaxBump = given.get("policy", MaxBump.MAJOR if "range" in given else Policy().bump)
    return bump


def extended(own: Layer, line: int, read_shared: ReadShared) -> tuple[dict[str, Any], tuple[Origin, ...]]:
    """The keys of a file over those of the one that it extends, and where each comes from.

    ``line``: of the key ``extends``. Raises SharedConfigUnusable, and InvalidConfig for what would be loosened.
    """
    repository_and_path, _, commit = own.values["extends"].partition("@")
    owner, name, path = repository_and_path.split("/", 2)
    file = SharedFile(f"{owner}/{name}", path, commit)
    shared = _read(read_shared(file), str(file))
    problems = [
        f"{own.file}:{line}: {key} {quoted(value)} in {file} is looser than {quoted(default)}, which holds without it"
        for key, value, default in _looser(shared, own)
    ]
    if problems:
        raise InvalidConfig("\n".join(problems), hint=_LOOSER.format(path=own.file))
    origins = [Origin(key, value, own.file, shared.written.get(key, "")) for key, value in own.written.items()]
    origins += (Origin(key, value, shared.file) for key, value in shared.written.items() if key not in own.written)
    return merged(shared.values, own.values), tuple(origins)


def _read(text: str, name: str) -> Layer:
    source = YamlText()
    root = source.compose(text)
    values = {} if root is None else read_mapping(SHARED, "the file", root, source) or {}
    problems = [f"{name}:{line}: {message}" for line, message in source.problems()]
    if problems:
        raise SharedConfigUnusable("\n".join(problems), hint=_WRONG)
    return Layer(name, values, {} if root is None else written(root, source))


def written(node: Node, source: YamlText, key: str = "") -> dict[str, str]:
    """Key → its value as the file has it, entries of mappings as ``cool-down.minor``. The file has no problems."""
    if isinstance(node, MappingNode):
        return {
            path: text
            for word, (_, value) in source.entries(node).items()
            for path, text in written(value, source, f"{key}.{word}" if key else word).items()
        }
    if isinstance(node, SequenceNode):
        return {key: f"[{', '.join(each.value for each in node.value if isinstance(each, ScalarNode))}]"}
    return {key: str(node.value)}


def _looser(shared: Layer, own: Layer) -> Iterator[tuple[str, str, str]]:
    """Keys, what the shared file sets them to, and what holds without it, which is their default.

    What the file sets itself wins, so the shared file cannot loosen it. That is true in its groups, too.
    """
    without, with_it = _in_effect(own.values), _in_effect(merged(shared.values, own.values))
    for path, key in _leaves(SHARED):
        if key.shared is not None and key.shared.is_looser(with_it[path], without[path]):
            # Only `policy` has an effect without being written: see `bump_of`.
            yield path, shared.written.get(path, f"{with_it[path]} (range without policy)"), key.default


def _in_effect(given: Mapping[str, Any]) -> dict[str, Any]:
    given = {**given, "policy": bump_of(given)}
    found = {}
    for path, key in _leaves(SHARED):
        name, _, entry = path.partition(".")
        value = given.get(name, {}).get(entry) if entry else given.get(name)
        found[path] = _default(key) if value is None else value
    return found


def _leaves(shape: MappingShape, before: str = "") -> Iterator[tuple[str, Key]]:
    for key in shape.keys:
        if isinstance(key.shape, MappingShape):
            yield from _leaves(key.shape, f"{before}{key.name}.")
        else:
            yield f"{before}{key.name}", key


def _default(key: Key) -> Any:
    source = YamlText()
    node = source.compose(key.default) if key.default else None
    return None if node is None else read(key.shape, key.name, node, source)
