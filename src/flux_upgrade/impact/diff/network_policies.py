"""Two versions of a NetworkPolicy → who may reach what from now on, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from flux_upgrade.manifests.changes.others import by_path, whole
from flux_upgrade.manifests.changes.policies import ANY_PORT, ANYWHERE, DIRECTIONS, Direction, Policy, policy
from flux_upgrade.manifests.changes.shapes import OtherShape
from flux_upgrade.manifests.changes.values import Change, Changes, Content
from flux_upgrade.manifests.changes.walk import LAYOUT, edits
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.manifests.residue import Edit


def changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one policy. Raises Unreadable."""
    found, noise = edits(before, after) if before and after else ([], Counter[str]())
    try:
        told = tuple(
            Change(Content.NETWORK_POLICY, str(key), path, phrase)
            for path, phrase in _compared(
                policy(before.data) if before else None, policy(after.data) if after else None
            )
        )
    except OtherShape:
        if before is None or after is None:
            return Changes(others=(whole(key, before, Content.NETWORK_POLICY),))
        return by_path(key, found, noise, lambda edit: Content.NETWORK_POLICY if _is_spec(edit) else None)
    rest = [each for each in found if not _is_spec(each)]
    # Defaults that are spelled out, and rules that were split or merged, come to the same.
    noise[LAYOUT] += not told and len(rest) < len(found)
    others = by_path(key, rest, +noise)
    return others._replace(others=told + others.others)


def _is_spec(edit: Edit) -> bool:
    return edit.path[0] == "spec"


def _compared(before: Policy | None, after: Policy | None) -> Iterator[tuple[str, str]]:
    """Path and phrase of each change."""
    if before is None or after is None:
        for state, each in (("added", after), ("removed", before)):
            if each is not None:
                yield "", f"{state} (for {each.pods}, {_all(each)})"
        return
    if before.pods != after.pods:
        yield "spec.podSelector", f"now for {after.pods}, before for {before.pods}"
    for direction in DIRECTIONS:
        old, new = before.rules.get(direction), after.rules.get(direction)
        if old is None and new is not None:
            yield f"spec.{direction.field}", f"{_open(direction, new)}, everything before"
        elif old is not None and new is None:
            yield f"spec.{direction.field}", f"lets everything {direction.word}, no restriction any more"
        elif old is not None and new is not None and old != new:
            told = "; ".join(_difference(direction, old, new))
            yield f"spec.{direction.field}", f"lets {direction.word} {told}"


def _all(each: Policy) -> str:
    return ", ".join(_open(direction, rules) for direction, rules in each.rules.items())


def _open(direction: Direction, rules: Mapping[str, tuple[str, ...]]) -> str:
    told = " and ".join(_ports(direction, peers, ports) for peers, ports in rules.items())
    only = "" if rules.get(ANYWHERE) == (ANY_PORT,) else " only"
    return f"lets {direction.word} {told}{only}" if told else f"lets {direction.word} nothing"


def _ports(direction: Direction, peers: str, ports: tuple[str, ...]) -> str:
    return f"{', '.join(ports)} {direction.preposition} {peers}"


def _difference(
    direction: Direction, old: Mapping[str, tuple[str, ...]], new: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    if not new:
        yield f"nothing, before {' and '.join(_ports(direction, *each) for each in old.items())}"
        return
    for peers in dict.fromkeys([*new, *old]):
        was, now = old.get(peers), new.get(peers)
        if was is None and now is not None:
            yield f"also {_ports(direction, peers, now)}"
        elif was is not None and now is None:
            yield f"no longer {_ports(direction, peers, was)}"
        elif was is not None and now is not None and was != now:
            only = " only" if was == (ANY_PORT,) or set(now) < set(was) else ""
            yield f"{', '.join(now)}{only} {direction.preposition} {peers}, {', '.join(was)} before"
