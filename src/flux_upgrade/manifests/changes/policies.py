"""A NetworkPolicy in words: for which pods, and who may reach whom at which ports.

What its parts mean, and what is meant where they are absent:
https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flux_upgrade.manifests.changes.quote import listed, quoted
from flux_upgrade.manifests.changes.shapes import OtherShape, list_of, only, selector
from flux_upgrade.values import NamedTuple

ANY_PORT, ANYWHERE = "any port", "anywhere"
_ORDINARY = re.compile(r"[0-9]{1,5}")
_PROTOCOLS = ("TCP", "UDP", "SCTP")


class Direction(NamedTuple):
    """What comes in, or what goes out."""

    kind: str
    """As in ``policyTypes``."""
    field: str
    peers: str
    word: str
    preposition: str


DIRECTIONS = (
    Direction("Ingress", "ingress", "from", "in", "from"),
    Direction("Egress", "egress", "to", "out", "to"),
)


class Policy(NamedTuple):
    """A NetworkPolicy in words."""

    pods: str
    rules: Mapping[Direction, Mapping[str, tuple[str, ...]]]
    """For each direction that it restricts: peers → the ports that are open."""


def policy(data: Any) -> Policy:
    """Raises OtherShape where a field is none that the API server knows."""
    match data:
        case {"spec": dict(spec)}:
            only(spec, "podSelector", "policyTypes", *(each.field for each in DIRECTIONS))
        case _:
            raise OtherShape
    kinds = list_of(spec.get("policyTypes")) or ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    pods = selector(spec.get("podSelector"))
    return Policy(
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
    if protocol not in _PROTOCOLS:
        raise OtherShape
    if port is None:
        return f"any {protocol} port"
    last = "" if end is None else f"-{end}"
    return f"{protocol} {_plain(f'{port}{last}')}"


def _plain(port: str) -> str:
    """A number is no name that anybody chose."""
    return port if _ORDINARY.fullmatch(port) else quoted(port)


def _peer(value: Any) -> str:
    only(value, "ipBlock", "namespaceSelector", "podSelector")
    if "ipBlock" in value:
        return _block(value["ipBlock"])
    pods, namespaces = selector(value.get("podSelector")), selector(value.get("namespaceSelector"))
    chosen = f"pods {quoted(pods)} of " if pods else ""
    if "namespaceSelector" not in value:
        return f"{chosen}its own namespace"
    return chosen + (f"namespaces {quoted(namespaces)}" if namespaces else "every namespace")


def _block(value: Any) -> str:
    only(value, "cidr", "except")
    left_out = listed(list_of(value.get("except")))
    return quoted(value.get("cidr")) + (f" except {left_out}" if left_out else "")
