"""Lazy objects and proxies in modules and classes: they are not evaluated."""

from __future__ import annotations

import importlib.util
import sys
import weakref
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from as_python import hits_in, kernprof, write
from running import hits_by_name, new_profiler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


TEXT = """
import functools, weakref

evaluated = []

def evaluate(name):
    evaluated.append(name)
    raise RuntimeError(name)

class Lazy:  # as Django's SimpleLazyObject
    __class__ = property(lambda self: evaluate("class"))
    def __getattr__(self, name):
        return evaluate(name)
    def __call__(self):
        return evaluate("call")

class Everything:
    def __getattribute__(self, name):
        return evaluate(name)

class Local:  # as werkzeug's LocalProxy
    __wrapped__ = property(lambda self: evaluate("wrapped"))
    __class__ = property(lambda self: evaluate("class"))
    def __call__(self):
        return evaluate("call")

class Gone:
    def __call__(self):
        pass

def f():
    return 1

settings, everything, local = Lazy(), Everything(), Local()
dead = weakref.proxy(Gone())
held = functools.partial(settings)
method = staticmethod(local)
wrapper = lambda: 0
wrapper.__wrapped__ = settings

class C:
    settings, everything, local = settings, everything, local
    dead, held, method = dead, held, staticmethod(local)
    prop = property(settings)
    def g(self):
        return 2
"""


@pytest.fixture
def module() -> Iterator[ModuleType]:
    """Make a module full of objects that fail when they are looked at."""
    name = "full_of_lazy_objects"
    made = sys.modules[name] = ModuleType(name)
    exec(compile(TEXT, f"{name}.py", "exec"), vars(made))
    yield made
    del sys.modules[name]


@pytest.mark.parametrize("policy", [None, "exact", "children", "none"])
@pytest.mark.parametrize("wrap", [False, True])
def test_modules_and_classes_are_added_without_their_lazy_objects(
    module: ModuleType, policy: str | None, *, wrap: bool
) -> None:
    profiler = new_profiler()
    added = profiler.add_module(module, scoping_policy=policy, wrap=wrap)
    assert module.evaluated == []
    classes = policy != "exact"
    assert added >= (2 if classes else 1)
    with profiler:
        module.f()
        module.C().g()
    assert hits_by_name(profiler)["f"] == 1
    assert hits_by_name(profiler).get("g") == (1 if classes else None)
    again = new_profiler()
    assert again.add_class(module.C, scoping_policy=policy) == 1
    assert module.evaluated == []


def test_a_class_is_decorated_without_its_lazy_objects(module: ModuleType) -> None:
    profiler = new_profiler()
    profiler(module.C)
    profiler.watch(module.C)
    assert module.evaluated == []
    assert module.C().g() == 2
    assert hits_by_name(profiler)["g"] == 1


def test_a_module_that_is_loaded_later_is_not_loaded(tmp_path: Path) -> None:
    write(tmp_path, "outer_one/later.py", "raise RuntimeError('loaded')\n")
    file = tmp_path / "outer_one" / "later.py"
    name = "outer_one.later"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    later = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(later)
    outer = ModuleType("outer_one")
    vars(outer)["later"] = later
    profiler = new_profiler()
    for policy in ("descendants", "none", "siblings"):
        assert profiler.add_module(outer, scoping_policy=policy) == 0


def test_a_proxy_of_an_object_that_lives_is_left_out() -> None:
    class Live:
        def __call__(self) -> int:
            return 1

    live, outer = Live(), ModuleType(__name__)
    vars(outer)["proxy"] = weakref.proxy(live)
    assert new_profiler().add_module(outer) == 0


@pytest.mark.parametrize("words", [["-p", "lazies"], ["-p", "lazies.f,x.py"]])
def test_kernprof_evaluates_no_lazy_objects(tmp_path: Path, words: list[str]) -> None:
    write(tmp_path, "lazies.py", TEXT)
    program = """
    from lazies import C, dead, everything, evaluated, f, held, local, settings
    f()
    print(evaluated)
    """
    write(tmp_path, "x.py", program)
    outcome = kernprof("-lq", *words, "--prof-imports", "x.py", cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, "[]\n", "")
    assert sum(hits_in(tmp_path / "x.lprof")["f"].values()) == 1


def test_functions_that_wrapt_decorates_are_added() -> None:
    wrapt = pytest.importorskip("wrapt")

    @wrapt.decorator
    def decorate(wrapped: Callable[..., object], *rest: object) -> object:
        return wrapped(*rest[1], **rest[2])  # type: ignore[arg-type,call-arg]

    @decorate
    def f() -> int:
        return 1

    outer = ModuleType(__name__)
    vars(outer)["f"] = f
    assert new_profiler().add_module(outer) == 1
