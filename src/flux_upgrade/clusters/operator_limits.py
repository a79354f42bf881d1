"""What a FluxInstance can get from the flux-operator of its cluster, whose version is in another place.

Without ``distribution.artifact``, Flux's manifests come from the flux-operator's image: flux-operator
internal/controller/fluxinstance_controller.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flux_upgrade.clusters.clusters import Member, clusters_of
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.context import OperatorRelease, PinContext
from flux_upgrade.pins.pin import Pin, Role
from flux_upgrade.snapshot.snapshot import Snapshot

_INSTANCE, _OPERATOR = "flux-instance", "flux-operator"


def with_operators(
    found: Sequence[Pin], tree: Snapshot, context: PinContext, prefix: str, is_ignored: Callable[[str], bool]
) -> tuple[Pin, ...]:
    """All that was found, each FluxInstance with the releases that the flux-operator of its cluster includes.

    ``tree``, ``prefix``: as ``assign``. ``is_ignored``: of a path in the repository. Raises as ``KindModule.find``.
    """
    if not {_INSTANCE, _OPERATOR} <= {each.kind for each in found}:
        return tuple(found)
    from flux_upgrade.pins.flux_instance.pin import limited  # late: few repositories have one

    # As if they were updated: then they are in the cluster that they would be updated with.
    placed = {id(each): each._replace(role=Role.OPERATOR) for each in found if each.kind == _OPERATOR}
    members = [Member(placed.get(id(each), each), prefix + each.path) for each in found]
    able = [each for each in members if each.pin.role is not Role.REPORTED and not is_ignored(each.path)]
    changed: dict[int, Pin] = {}
    for cluster in clusters_of(able, tree):
        operators = [each for each in cluster.members if each.pin.kind == _OPERATOR and not _is_artifact(each.pin)]
        operator = _newest([_release(each, context) for each in operators])
        if operator is not None:
            instances = (each.pin for each in cluster.members if each.pin.kind == _INSTANCE)
            changed |= {id(pin): limited(pin, operator, context) for pin in instances}
    return tuple(changed.get(id(each), each) for each in found)


def _is_artifact(pin: Pin) -> bool:
    """Whether only one FluxInstance takes it, whatever the operator's image is."""
    from flux_upgrade.pins.flux_operator.places import OperatorPlace  # late: as above

    return isinstance(pin.details, OperatorPlace) and pin.details.is_artifact


def _release(member: Member, context: PinContext) -> OperatorRelease | None:
    """None where it is unknown what is installed."""
    pin = member.pin
    if isinstance(pin.details, OperatorRelease):
        return pin.details._replace(place=member.place)
    if not pin.version:
        return None
    # The registry was asked for the highest one, which a mirror of Flux's releases may not have.
    lower = (Version(tag) for tag in context.regenerator.stable_tags() if Version(tag) < pin.version)
    return OperatorRelease(pin.raw, member.place, (*sorted(lower), pin.version))


def _newest(found: Sequence[OperatorRelease | None]) -> OperatorRelease | None:
    """Of the places in a cluster; None where there is none, or one of them may be newer."""
    known = [each for each in found if each is not None]
    return max(known, key=lambda each: each.releases[-1]) if known and len(known) == len(found) else None
