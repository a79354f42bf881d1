"""Two versions of a NetworkPolicy → who may reach what from now on, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flux_upgrade.impact.diff.changes import Changes, ObjectChange, listed, quoted
from flux_upgrade.impact.diff.objects import OtherShape, by_meaning, list_of, only, selector
from flux_upgrade.manifests.documents import Document, ObjectKey
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.policy.decision import ChangeKind

ANY_PORT, ANYWHERE = "any port", "anywhere"
_ORDINARY = re.compile(r"[0-9]{1,5}")


class Direction(NamedTuple):
    """What comes in, or what goes out."""

    kind: str  # As in `policyTypes`
    field: str
    peers: str  # The field of its peers, and the preposition in front of them
    word: str


DIRECTIONS = (Direction("Ingress", "ingress", "from", "in"), Direction("Egress", "egress", "to", "out"))


class NetworkPolicy(NamedTuple):
    pods: str
    rules: Mapping[Direction, Mapping[str, tuple[str, ...]]]
    """For each direction that it restricts: peers → the ports that are open."""


def network_policy(data: Any) -> NetworkPolicy:
    """Raises OtherShape where a field is none that the API server knows."""
    match data:
        case {"spec": dict(spec)}:
            only(spec, "podSelector", "policyTypes", *[each.field for each in DIRECTIONS])
        case _:
            raise OtherShape
    kinds = list_of(spec.get("policyTypes")) or ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    pods = selector(spec.get("podSelector"))
    return NetworkPolicy(
        f"pods {quoted(pods)}" if pods else "all pods",
        {each: _rules(each, spec.get(each.field)) for each in DIRECTIONS if each.kind in kinds},
    )


def _rules(direction: Direction, rules: Any) -> dict[str, tuple[str, ...]]:
    """A rule with many peers is many rules, and many rules for one peer are one."""
    found: dict[str, set[str]] = {}
    for rule in list_of(rules):
        only(rule, direction.peers, "ports")
        ports = set(map(_port, list_of(rule.get("ports")))) or {ANY_PORT}
        for peer in list(map(_peer, list_of(rule.get(direction.peers)))) or [ANYWHERE]:
            found.setdefault(peer, set()).update(ports)
    return {peer: (ANY_PORT,) if ANY_PORT in ports else tuple(sorted(ports)) for peer, ports in found.items()}


def _port(value: Any) -> str:
    only(value, "endPort", "port", "protocol")
    protocol, port, end = value.get("protocol") or "TCP", value.get("port"), value.get("endPort")
    if protocol not in ("TCP", "UDP", "SCTP"):
        raise OtherShape
    if port is None:
        return f"any {protocol} port"
    ports = str(port) if end is None else f"{port}-{end}"
    # A port number is not quoted; a name is.
    return f"{protocol} {ports if _ORDINARY.fullmatch(ports) else quoted(ports)}"


def _peer(value: Any) -> str:
    only(value, "ipBlock", "namespaceSelector", "podSelector")
    if "ipBlock" in value:
        block = only(value["ipBlock"], "cidr", "except")
        left_out = listed(list_of(block.get("except")))
        return quoted(block.get("cidr")) + (f" except {left_out}" if left_out else "")
    pods, namespaces = selector(value.get("podSelector")), selector(value.get("namespaceSelector"))
    chosen = f"pods {quoted(pods)} of " if pods else ""
    if "namespaceSelector" not in value:
        return f"{chosen}its own namespace"
    return chosen + (f"namespaces {quoted(namespaces)}" if namespaces else "every namespace")


def network_policy_changes(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    """Of one policy. Raises Unreadable."""
    return by_meaning((key, before, after), ChangeKind.NETWORK_POLICY, lambda edit: edit.path[0] == "spec", _compared)


def _compared(key: ObjectKey, before: Document | None, after: Document | None) -> Changes:
    old, new = [network_policy(each.data) if each else None for each in (before, after)]
    found = [ObjectChange(ChangeKind.NETWORK_POLICY, str(key), *each) for each in _differences(old, new)]
    return Changes(others=tuple(found))


def _differences(before: NetworkPolicy | None, after: NetworkPolicy | None) -> Iterator[tuple[str, str]]:
    if before is None or after is None:
        for state, each in (("added", after), ("removed", before)):
            if each is not None:
                rules = ", ".join(_open(direction, rules) for direction, rules in each.rules.items())
                yield "", f"{state} (for {each.pods}, {rules})"
        return
    if before.pods != after.pods:
        yield "spec.podSelector", f"now for {after.pods} (was {before.pods})"
    for direction in DIRECTIONS:
        old, new = before.rules.get(direction), after.rules.get(direction)
        if old is None and new is not None:
            yield f"spec.{direction.field}", f"{_open(direction, new)} (was everything)"
        elif old is not None and new is None:
            yield f"spec.{direction.field}", f"lets everything {direction.word}, no longer restricted"
        elif old is not None and new is not None and old != new:
            differences = "; ".join(_difference(direction, old, new))
            yield f"spec.{direction.field}", f"lets {direction.word} {differences}"


def _open(direction: Direction, rules: Mapping[str, tuple[str, ...]]) -> str:
    openings = " and ".join(_ports(direction, peers, ports) for peers, ports in rules.items())
    only = "" if rules.get(ANYWHERE) == (ANY_PORT,) else " only"
    return f"lets {direction.word} {openings}{only}" if openings else f"lets {direction.word} nothing"


def _ports(direction: Direction, peers: str, ports: tuple[str, ...]) -> str:
    return f"{', '.join(ports)} {direction.peers} {peers}"


def _difference(
    direction: Direction, old: Mapping[str, tuple[str, ...]], new: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    if not new:
        yield f"nothing (was {' and '.join(_ports(direction, *each) for each in old.items())})"
        return
    for peers in dict.fromkeys([*new, *old]):
        was, now = old.get(peers), new.get(peers)
        if was is None and now is not None:
            yield f"also {_ports(direction, peers, now)}"
        elif was is not None and now is None:
            yield f"no longer {_ports(direction, peers, was)}"
        elif was is not None and now is not None and was != now:
            only = "only " if was == (ANY_PORT,) or set(now) < set(was) else ""
            yield f"{only}{', '.join(now)} {direction.peers} {peers} (was {', '.join(was)})"
