"""Named tuples of the model are frozen and complete."""

from __future__ import annotations

import copy

import pytest

from flux_upgrade.model.values import NamedTuple


class Point(NamedTuple):
    """A point."""

    x: int
    y: int = 2

    @property
    def total(self) -> int:
        return self.x + self.y


def test_is_a_named_tuple() -> None:
    point = Point(1)
    assert point == (1, 2) == Point(y=2, x=1)
    assert (point.total, point._replace(x=5).total) == (3, 7)
    assert hash(point) == hash(Point(1))
    assert repr(point) == "Point(x=1, y=2)"
    assert copy.copy(point) == point
    assert (Point.__doc__, Point.__name__, Point.__module__) == ("A point.", "Point", __name__)


def test_is_frozen_and_complete() -> None:
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg] # what is tested
    with pytest.raises(AttributeError):
        Point(1).x = 3  # type: ignore[misc] # what is tested
    with pytest.raises(AttributeError):
        Point(1).z = 3  # type: ignore[attr-defined] # what is tested
