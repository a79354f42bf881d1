"""Text → config; all problems of a file are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from yaml import MappingNode, Mark, Node, ScalarNode, SequenceNode

from flux_upgrade.config.config import Config, Governance, Group, Limits, Origin, Withheld
from flux_upgrade.config.flag_text import INSTALL_FLAGS, read_flag_text
from flux_upgrade.config.keys import GOVERNING, LIMITS, PROTECTED, RING, TOP, Key
from flux_upgrade.config.layers import Layer, ReadShared, bump_of, extended, merged, written
from flux_upgrade.config.values import read, read_mapping
from flux_upgrade.config.yaml_text import Entries, KeyReader, YamlText, quoted
from flux_upgrade.manifests.options import nearest, refuse
from flux_upgrade.model.errors import InvalidConfig
from flux_upgrade.model.text import enumeration
from flux_upgrade.policy.decision import Ring
from flux_upgrade.policy.policy import Policy
from flux_upgrade.policy.schedule import Schedule
from flux_upgrade.policy.semver_range import Constraint

_STRING = "tag:yaml.org,2002:str"
_NOWHERE = (Mark("", 0, 0, 0, None, 0),) * 2

_Groups = Mapping[str, Mapping[str, Any]]  # As the file sets them


def load(  # noqa: PLR0913 a file, what is above and below it, and whether it is believed
    text: str,
    path: str,
    readers: Mapping[str, KeyReader] | None = None,
    flags: Mapping[str, Any] | None = None,
    read_shared: ReadShared | None = None,
    *,
    doubt: Callable[[], str] | None = None,
) -> Config:
    """The config file ``path`` with the content ``text``; bytes that are no UTF-8 as surrogates (PEP 383).

    ``readers``: of the keys that another room owns; see ``YamlText``. ``flags``: by the names of their keys,
    as argparse has them; they beat the file everywhere in it. ``read_shared``: what reads the file that it
    extends; None: only its own keys count. ``doubt``: why the file is not trusted, empty if it is; asked only if
    it has a key that is protected, which is withheld then. None: the file is trusted.

    Raises InvalidConfig with all problems, a line ``path:line: problem`` for each, and UsageError. Raises
    SharedConfigUnusable for the file that it extends.
    """
    source = YamlText(readers)
    root = source.compose(text)
    given = {} if root is None else read_mapping(TOP, "the file", root, source) or {}
    if isinstance(root, MappingNode):
        _refuse_together(given, root, source)
    problems = [f"{path}:{line}: {message}" for line, message in source.problems()]
    if problems:
        raise InvalidConfig("\n".join(problems), hint="see docs/reference/config.md for every key")
    withheld = Withheld()
    protected = tuple(name for name in PROTECTED if name in given)
    if doubt is not None and protected and (why := doubt()):
        withheld = Withheld(protected, why)
        given = {name: value for name, value in given.items() if name not in protected}
    origins: tuple[Origin, ...] = ()
    if read_shared is not None and isinstance(root, MappingNode) and "extends" in given:
        own = Layer(path, given, written(root, source))
        line = source.entries(root)["extends"][0].start_mark.line + 1
        given, origins = extended(own, line, read_shared)
    keys = {key.name: key for key in GOVERNING}
    config = _config(given, {name: _read_flag(keys[name], value) for name, value in (flags or {}).items()})
    return config._replace(origins=origins, withheld=withheld)


def _refuse_together(given: Mapping[str, Any], root: MappingNode, source: YamlText) -> None:
    """Keys that are right by themselves, but not with each other."""
    groups, nodes = given.get("groups", {}), _groups(root, source).items()
    entries = {name: source.entries(value) for name, (_, value) in nodes if isinstance(value, MappingNode)}
    _refuse_order(groups, entries, source)
    _refuse_soak(groups, entries, source)
    _refuse_one_release(groups, entries, source)
    _refuse_skipped(given, given, source.entries(root), source)
    for name, group in groups.items():
        _refuse_skipped(given, group, entries.get(name, {}), source)


def _refuse_order(groups: _Groups, entries: Mapping[str, Entries], source: YamlText) -> None:
    """A group that comes after one that there is not, and groups that wait for each other."""
    after = {name: group.get("after", ()) for name, group in groups.items()}
    keys = {name: of_group["after"][0] for name, of_group in entries.items() if "after" in of_group}
    unknown = ((name, each) for name, before in after.items() for each in before if each not in groups)
    for name, each in unknown:
        source.refuse(
            keys[name], f"group {quoted(name)} comes after {quoted(each)}, which does not exist{nearest(each, groups)}"
        )
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        cycle = error.args[1]
        source.refuse(keys[cycle[0]], f"groups wait for each other: {' → '.join(cycle)}")


def _refuse_soak(groups: _Groups, entries: Mapping[str, Entries], source: YamlText) -> None:
    """A group that waits for a soak, but for no group: without an error, it would not wait at all."""
    for name, group in groups.items():
        if not group.get("soak"):
            continue
        is_first = not group["after"] if "after" in group else "after" not in entries[name]
        if is_first:
            behind = [quoted(other) for other, own in groups.items() if name in own.get("after", ())]
            source.refuse(
                entries[name]["soak"][0],
                f"soak has no effect in group {quoted(name)}, which has no after: move it to the group that comes "
                f"after it, {enumeration(behind, 'or') or 'or set after'}",
            )


def _refuse_one_release(groups: _Groups, entries: Mapping[str, Entries], source: YamlText) -> None:
    """A group that is to keep its release for the groups after it, of which there are none."""
    awaited = {before for group in groups.values() for before in group.get("after", ())}
    for name, group in groups.items():
        if group.get("one-release-at-a-time") and name not in awaited:
            source.refuse(
                entries[name]["one-release-at-a-time"][0],
                f"one-release-at-a-time has no effect in group {quoted(name)}, because no group has it in after: move "
                "it to a group that comes before another one",
            )


def _refuse_skipped(given: Mapping[str, Any], own: Mapping[str, Any], entries: Entries, source: YamlText) -> None:
    """A schedule of hours that the clock in its time zone always skips. ``own``: of the group, or of the top level."""
    keys = [name for name in ("schedule", "timezone") if name in entries]
    if not keys or not own.keys() >= set(keys):
        return
    both = {**given, **own}
    window = Schedule(both.get("schedule", ()), both.get("timezone", "UTC"))
    for cron in window.never_open:
        source.refuse(
            entries[keys[0]][0],
            f"schedule {quoted(cron)} never opens in {window.timezone}, because the clock skips that hour on each of "
            "these days: add another hour or change timezone",
        )


def _groups(root: Node | None, source: YamlText) -> Entries:
    node = source.entries(root).get("groups", (None, None))[1] if isinstance(root, MappingNode) else None
    return source.entries(node) if isinstance(node, MappingNode) else {}


def lines_of_groups(text: str) -> Mapping[str, int]:
    """Group → its line, counted from 1, in a file that ``load`` takes."""
    source = YamlText()
    groups = _groups(source.compose(text), source)
    return {name: key.start_mark.line + 1 for name, (key, _) in groups.items()}


def _read_flag(key: Key, given: str | bool | Sequence[str]) -> Any:  # noqa: FBT001 any flag's
    """A flag as argparse has it → what the file's key would be. Raises UsageError with all its problems."""
    if isinstance(given, bool):
        return given
    if key.name == "flags":
        return read_flag_text(str(given), "--flags", INSTALL_FLAGS)
    if key.name == "range":
        Constraint(str(given))
        return given
    source = YamlText()
    words = [ScalarNode(_STRING, each, *_NOWHERE) for each in ([given] if isinstance(given, str) else given)]
    node = words[0] if isinstance(given, str) else SequenceNode("tag:yaml.org,2002:seq", words, *_NOWHERE)
    value = read(key.shape, f"--{key.name}", node, source)
    refuse((message for _, message in source.problems()), key.hint or f"see docs/reference/config.md for {key.name}")
    return value


def _config(given: Mapping[str, Any], asked: Mapping[str, Any]) -> Config:
    groups = tuple(
        Group(name, own["paths"], _governance(merged(given, own, asked)), Ring(**_fields(own, RING, Ring._fields)))
        for name, own in given.get("groups", {}).items()
    )
    default = Group(governance=_governance(merged(given, asked)))
    limits = Limits(**_fields(given.get("limits", {}), LIMITS, Limits._fields))
    return Config(
        **{**_fields(given, TOP.keys, Config._fields), "default": default, "groups": groups, "limits": limits}
    )


def _governance(given: Mapping[str, Any]) -> Governance:
    return Governance(**{**_fields(given, GOVERNING, Governance._fields), "policy": _policy(given)})


def _fields(given: Mapping[str, Any], keys: Iterable[Key], names: Collection[str]) -> dict[str, Any]:
    found = {key.field or key.name.replace("-", "_"): given[key.name] for key in keys if key.name in given}
    return {name: value for name, value in found.items() if name in names}


def _policy(given: Mapping[str, Any]) -> Policy:
    found = _fields(given, GOVERNING, Policy._fields)
    found |= {f"{bump}_cool_down": age for bump, age in given["cool-down"].items()}
    found |= {"range": Constraint(given["range"])} if "range" in given else {}
    return Policy(**{**found, "bump": bump_of(given)})
