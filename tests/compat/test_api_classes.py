"""Classes: members that are decorated or added, and their number."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from running import hits_by_name, new_profiler

pytestmark = [pytest.mark.usefixtures("hook"), pytest.mark.smoke]


def unrelated(x: object) -> str:
    return str(x)


def make() -> Any:
    """Return a class with members of every kind."""

    class Box:
        convert = staticmethod(unrelated)
        size = 3
        kind = dict

        def __init__(self, item: int) -> None:
            self.item = item

        @property
        def twice(self) -> int:
            return 2 * self.item

        @functools.lru_cache  # noqa: B019 - a cached method is under test
        def cached(self) -> int:
            return self.item

        @classmethod
        def of(cls, item: int) -> Box:
            return cls(item)

        class Inner:
            def method(self) -> int:
                return 1

        itself = None

    Box.itself = Box  # type: ignore[assignment]
    return Box


def use(cls: Any) -> None:
    box = cls.of(1)
    assert (box.twice, box.cached(), box.Inner().method()) == (2, 1, 1)
    assert box.convert(3) == "3"


ALL = {"__init__": 1, "twice": 1, "cached": 1, "of": 1, "method": 1}


def test_a_decorated_class_counts_its_own_members() -> None:
    profiler, box = new_profiler(), make()
    assert profiler(box) is box
    assert profiler.add_callable(box) == 0, "all members are decorated"
    use(box)
    assert hits_by_name(profiler) == ALL
    assert box.convert is unrelated
    assert profiler.enable_count == 0


def test_underlying_functions_of_a_class_are_its_own_members() -> None:
    box = make()
    functions = new_profiler().get_underlying_functions(box)
    assert [function.__name__ for function in functions] == list(ALL)


def test_add_class_counts_members_and_wraps_nothing() -> None:
    profiler, box = new_profiler(), make()
    members = dict(vars(box))
    assert profiler.add_class(box, scoping_policy="children") == 5
    assert dict(vars(box)) == members
    use(box)
    assert hits_by_name(profiler) == dict.fromkeys(ALL, 0)
    with profiler:
        use(box)
    assert hits_by_name(profiler) == ALL


def test_siblings_of_a_class_belong_to_its_default_scope() -> None:
    profiler = new_profiler()
    assert profiler.add_class(make()) == 6
    assert unrelated in profiler.functions


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ("exact", {"__init__", "twice", "cached", "of"}),
        ("CHILDREN", {*ALL}),
        ("descendants", {*ALL}),
        ("siblings", {*ALL, "unrelated"}),
        (
            {"func": "none", "class": "exact", "module": "exact"},
            {"__init__", "twice", "cached", "of", "unrelated"},
        ),
    ],
)
def test_the_scoping_policy_limits_added_members(policy: Any, names: set[str]) -> None:
    profiler = new_profiler()
    profiler.add_class(make(), scoping_policy=policy)
    assert {function.__name__ for function in profiler.functions} == names


def test_add_class_with_wrap_decorates_in_place() -> None:
    profiler, box = new_profiler(), make()
    assert profiler.add_class(box, scoping_policy="children", wrap=True) == 5
    use(box)
    assert hits_by_name(profiler) == ALL
    assert profiler.add_class(box, scoping_policy="children") == 0


def test_a_class_method_that_is_a_class_counts_by_its_own_methods() -> None:
    profiler = new_profiler()

    class Box:
        @classmethod
        class Made:
            def __init__(self, cls: object, x: int) -> None:
                self.pair = cls, x

    assert profiler.add_class(Box) == 1
    with profiler:
        assert Box.Made(1).pair == (Box, 1)  # type: ignore[call-arg,arg-type]
    assert hits_by_name(profiler) == {"__init__": 1}


def test_builtin_classes_have_nothing_to_add() -> None:
    profiler = new_profiler()
    assert profiler(int) is int
    assert profiler.add_callable(int) == 0
    assert profiler.add_class(int) == 0


def test_a_member_that_cannot_be_replaced_gives_a_warning() -> None:
    class Stubborn(type):
        def __setattr__(cls, name: str, value: object) -> None:
            raise AttributeError(name)

    class Box(metaclass=Stubborn):
        def method(self) -> int:
            return 1

    profiler = new_profiler()
    with pytest.warns(UserWarning, match="method") as warned:
        assert profiler(Box) is Box
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="method"):
        assert profiler.add_class(Box, wrap=True) == 1
    assert Box().method() == 1


def test_two_members_with_one_function_count_once() -> None:
    class Box:
        def __repr__(self) -> str:
            return "box"

        __str__ = __repr__

    profiler = new_profiler()
    assert profiler.get_underlying_functions(Box) == [Box.__repr__]
    profiler(Box)
    assert [repr(Box()), str(Box())] == ["box", "box"]
    assert hits_by_name(profiler) == {"__repr__": 2}
