"""Modules and packages: members that are added, by scoping policy."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import TYPE_CHECKING, Any

import pytest
from running import hits_of, new_profiler

from lineprof.scoping_policy import DEFAULT_SCOPING_POLICIES, ScopingPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

pytestmark = pytest.mark.usefixtures("hook")

FILES = {
    "boxes/__init__.py": """
        import math, json
        from boxes import inner, beside
        from boxes.inner import deep, Deep
        from boxes.beside import other
        from json import dumps
        def top(): return 1
        class Top:
            def method(self): return 2
        number = 3
        """,
    "boxes/beside.py": "def other(): return 4\n",
    "boxes/inner.py": """
        from boxes.beside import other
        import boxes.beside as beside
        def deep(): return 5
        class Deep:
            def inside(self): return 6
        """,
}


@pytest.fixture
def boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Import a package with two modules."""
    (tmp_path / "boxes").mkdir()
    for name, text in FILES.items():
        lines = text.splitlines()
        (tmp_path / name).write_text("\n".join(line[8:] or line for line in lines))
    (tmp_path / "boxes/beside.py").write_text(FILES["boxes/beside.py"])
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("boxes")
    for name in [one for one in sys.modules if one.partition(".")[0] == "boxes"]:
        del sys.modules[name]


def added(module: ModuleType, policy: Any) -> tuple[int, set[str]]:
    profiler = new_profiler()
    count = profiler.add_module(module, scoping_policy=policy)
    return count, {function.__name__ for function in profiler.functions}


ALL = {"top", "method", "deep", "inside", "other"}


def id_of(value: object) -> str:
    """Return a parameter's id that is equal in all processes, although sets are not."""
    return repr(sorted(value) if isinstance(value, set) else value)


@pytest.mark.parametrize(
    ("policy", "count", "names"),
    [
        (None, 5, ALL),
        ("exact", 1, {"top"}),
        ("children", 4, ALL),
        ("descendants", 4, ALL),
        ("siblings", 5, ALL),
        ({**DEFAULT_SCOPING_POLICIES, "class": "exact"}, 3, ALL - {"method", "inside"}),
        ({**DEFAULT_SCOPING_POLICIES, "func": "exact"}, 3, {"top", "method", "inside"}),
    ],
    ids=id_of,
)
def test_the_scoping_policy_limits_added_members_of_a_package(
    boxes: ModuleType, policy: Any, count: int, names: set[str]
) -> None:
    found, functions = added(boxes, policy)
    assert functions == names
    assert found == count


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        (None, {"deep", "inside", "other"}),
        ("children", {"deep", "inside"}),
        ("descendants", {"deep", "inside"}),
        (
            {"func": "siblings", "class": "none", "module": "siblings"},
            {"deep", "inside", "other"},
        ),
    ],
    ids=id_of,
)
def test_a_module_of_a_package_has_siblings(
    boxes: Any, policy: Any, names: set[str]
) -> None:
    assert added(boxes.inner, policy)[1] == names


def test_add_module_with_wrap_decorates_in_place(boxes: Any) -> None:
    profiler = new_profiler()
    top = boxes.top
    assert profiler.add_module(boxes, scoping_policy="exact", wrap=True) == 1
    assert boxes.top.__wrapped__ is top
    assert boxes.top() == 1
    assert [sum(lines.values()) for lines in hits_of(profiler).values()] == [1]
    assert profiler.add_module(boxes, scoping_policy="exact", wrap=True) == 0


def test_members_that_are_already_decorated_are_not_added_again(boxes: Any) -> None:
    def put_around(function: Any) -> Any:
        @functools.wraps(function)
        def around() -> int:
            return int(function())

        return around

    boxes.top = put_around(boxes.top)
    profiler = new_profiler()
    assert profiler.add_module(boxes, scoping_policy="exact", wrap=True) == 1
    assert profiler.add_module(boxes, scoping_policy="exact", wrap=True) == 0
    assert boxes.top() == 1


def test_a_module_in_c_has_nothing_to_add() -> None:
    assert new_profiler().add_module(sys) == 0


def test_policies_are_found_by_name_and_mapping() -> None:
    assert ScopingPolicy("Children") is ScopingPolicy.CHILDREN == "children"
    assert str(ScopingPolicy.NONE) == "none"
    to_policies = ScopingPolicy.to_policies
    assert to_policies() == to_policies(None) == DEFAULT_SCOPING_POLICIES
    assert to_policies("EXACT") == dict.fromkeys(
        ("func", "class", "module"), ScopingPolicy.EXACT
    )
    given = {"func": "NONE", "class": ScopingPolicy.EXACT, "module": "siblings"}
    assert to_policies({**given, "more": "ignored"}) == {
        "func": ScopingPolicy.NONE,
        "class": ScopingPolicy.EXACT,
        "module": ScopingPolicy.SIBLINGS,
    }
    with pytest.raises(ValueError, match="elsewhere"):
        to_policies("elsewhere")
    with pytest.raises(KeyError, match="class"):
        to_policies({"func": "none"})


def test_every_policy_has_a_filter_for_every_kind_of_member() -> None:
    for policy in ScopingPolicy:
        for namespace in (sys, ScopingPolicy):
            for kind in ("func", "class", "module"):
                answer = policy.get_filter(namespace, kind)(sys)
                assert isinstance(answer, bool)
    child = ScopingPolicy.CHILDREN.get_filter(ScopingPolicy, "func")
    assert child(ScopingPolicy.get_filter)
    assert not child(pytest.raises)
    assert not child(object())


def test_the_type_of_mappings_can_be_imported() -> None:
    from lineprof.scoping_policy import ScopingPolicyDict  # noqa: PLC0415

    assert set(ScopingPolicyDict.__annotations__) == {"func", "class", "module"}
