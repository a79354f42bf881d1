"""What a step of a kustomization is, and what it does to one set of objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flux_upgrade.impact.overlay.items import Item, Items
from flux_upgrade.impact.overlay.json_patch import Landing
from flux_upgrade.impact.overlay.result import CannotBuild, CannotTell
from flux_upgrade.model.values import NamedTuple


class Location(NamedTuple):
    """Where a step begins."""

    path: str
    line: int
    """1-based."""


class Touch(NamedTuple):
    """What a step did to one object."""

    before: Item
    after: Item | None
    """None: it is gone."""
    is_changed: bool
    landings: tuple[Landing, ...] = ()


class StepResult(NamedTuple):
    """What a step did to all objects."""

    items: Items
    touched: tuple[Touch, ...] = ()
    fault: CannotBuild | CannotTell | None = None
    """Why it was not taken; then the items are those that it was given."""


@dataclass(frozen=True)
class Step(ABC):
    """One entry of a kustomization."""

    location: Location
    is_reported = True
    """Whether it gets a verdict also where it does not fail."""

    @property
    @abstractmethod
    def what(self) -> str:
        """``patch of Deployment/source-controller``, without markup."""

    @abstractmethod
    def apply(self, items: Items) -> StepResult:
        """Raises CannotBuild, CannotTell, Unreadable."""


Changed = Callable[[Item], Touch]


def each_of(items: Items, targets: Sequence[Item], change: Changed) -> StepResult:
    """The items with ``change`` made to the targets. Raises what that raises, with the object's name."""
    touched = {id(item): _touch(item, change) for item in targets}
    after = (touched[id(item)].after if id(item) in touched else item for item in items)
    return StepResult(tuple(item for item in after if item is not None), tuple(touched.values()))


def _touch(item: Item, change: Changed) -> Touch:
    """What only a generator knows is taken to be changed."""
    if item.is_opaque:
        return Touch(item, item, is_changed=True)
    try:
        return change(item)
    except CannotBuild as error:
        raise CannotBuild(f"{item.current}: {error.message}", error.line, error.hint) from error


def mapping(value: Any) -> Mapping[str, Any]:
    """Of an object; empty where there is none. Raises CannotTell for what has no keys."""
    if value is None or isinstance(value, dict):
        return value or {}
    raise CannotTell("an object has a value or a list where a mapping should be")


def put(item: Item, data: Any) -> Touch:
    """The object with other data."""
    return Touch(item, item.with_data(data), is_changed=data != item.data)
