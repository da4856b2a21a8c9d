"""Frozen values: as dataclasses are, made in less time."""

from __future__ import annotations

import copy
import pickle

import pytest
from lineprof.values import Value, replace


class Point(Value):
    """A value with a default."""

    x: int
    y: int = 5


def test_fields_are_given_by_position_or_by_name() -> None:
    assert vars(Point(1)) == {"x": 1, "y": 5}
    assert Point(1, 2) == Point(1, y=2) == Point(y=2, x=1)
    assert repr(Point(y=2, x=1)) == "Point(x=1, y=2)"
    assert list(vars(Point(y=2, x=1))) == ["x", "y"]


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((), {"y": 1}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1})],
)
def test_a_field_that_lacks_or_is_none_is_an_error(
    values: tuple[int, ...], named: dict[str, int]
) -> None:
    with pytest.raises(TypeError, match="Point takes x, y, each of them once"):
        Point(*values, **named)


def test_values_stay_as_they_are() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="Point is frozen"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Point is frozen"):
        del point.x
    assert replace(point, x=2) == Point(2)
    assert point == Point(1)


def test_equal_are_values_of_one_class() -> None:
    class Other(Value):
        x: int
        y: int = 5

    assert Point(1) != Other(1)
    assert Point(1) != (1, 5)
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_values_can_be_copied_and_pickled() -> None:
    for again in (copy.deepcopy(Point(1)), pickle.loads(pickle.dumps(Point(1)))):  # noqa: S301
        assert again == Point(1)
