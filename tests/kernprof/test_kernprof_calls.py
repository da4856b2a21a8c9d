"""Call profiles by cProfile: the calls recorded; decorated functions work as before."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import io
import pstats
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

import pytest
from as_python import kernprof as run_kernprof
from as_python import write

import kernprof
from kernprof import ContextualProfile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


def work() -> int:
    """Return 1: a function to profile."""
    return 1


def table(profile: ContextualProfile) -> dict[str, Any]:
    """Numbers of cProfile by function name."""
    profile.create_stats()
    return {name: numbers for (_, _, name), numbers in profile.stats.items()}


def counts(profile: ContextualProfile) -> dict[str, int]:
    """Number of calls of this file's functions by name."""
    profile.create_stats()
    return {
        name: numbers[1]
        for (file, _, name), numbers in profile.stats.items()
        if file == __file__
    }


def test_the_public_names() -> None:
    assert dir(kernprof) == ["ContextualProfile", "__version__", "main"]
    assert kernprof.__version__
    with pytest.raises(AttributeError, match="no attribute 'execfile'"):
        kernprof.execfile  # noqa: B018  # type: ignore[attr-defined]


def test_nested_profiles_are_enabled_until_the_outermost_ends() -> None:
    profile = ContextualProfile()
    with profile as same:
        assert same is profile
        profile.enable_by_count()
        assert profile.enable_count == 2
        profile.disable_by_count()
        work()
    work()
    assert profile.enable_count == 0
    profile.disable_by_count()
    assert profile.enable_count == 0
    assert counts(profile) == {"work": 1}


def test_enable_and_disable_work_as_in_cprofile() -> None:
    profile = ContextualProfile()
    profile.enable()
    work()
    profile.disable()
    work()
    assert counts(profile) == {"work": 1}


def test_a_decorated_function_may_be_called_in_an_enabled_profile() -> None:
    profile = ContextualProfile()
    decorated = profile(work)
    profile.enable()
    decorated()
    work()
    profile.disable()
    work()
    with profile:
        profile.enable()
        work()
    work()
    profile.disable()
    assert counts(profile) == {"work": 4}


def test_runcall_runctx_and_run() -> None:
    profile = ContextualProfile()
    assert profile.runcall(work) == 1
    names: dict[str, Any] = {"work": work}
    assert profile.runctx("x = work()", names, names) is profile
    assert names["x"] == 1
    assert profile.run("import sys") is profile
    assert counts(profile)["work"] == 2


def test_a_decorated_function_is_counted() -> None:
    profile = ContextualProfile()
    decorated = profile(work)
    assert decorated() == 1
    assert decorated.__wrapped__ is work  # type: ignore[attr-defined]
    assert (decorated.__name__, decorated.__doc__) == ("work", work.__doc__)
    assert profile(decorated) is decorated

    @functools.wraps(decorated)
    def outer() -> int:
        return decorated()

    assert profile(outer) is not outer  # functools.wraps only copied the mark
    assert counts(profile) == {"work": 1}


@pytest.mark.smoke
def test_only_decorated_functions_and_their_callees_are_in_the_table() -> None:
    profile = ContextualProfile()

    @profile
    def outer() -> int:
        return inner() + inner()

    @profile
    def inner() -> int:
        return len([work()])

    outer()
    outer()
    stats = table(profile)
    assert set(stats) == {"outer", "inner", "work", "<built-in method builtins.len>"}
    assert {name: numbers[1] for name, numbers in stats.items()} == {
        "outer": 2,
        "inner": 4,
        "work": 4,
        "<built-in method builtins.len>": 4,
    }
    callers = {name: {key[2] for key in stats[name][4]} for name in stats}
    assert callers["inner"] == {"outer"}  # the wrapper is left out
    assert callers["work"] == {"inner"}
    assert callers["outer"] == set()
    assert sum(part[0] for part in stats["inner"][4].values()) == 4
    pstats.Stats(profile, stream=io.StringIO()).print_callers().print_callees()


def test_the_callers_of_a_wrapper_share_its_calls() -> None:
    profile = ContextualProfile()
    inner = profile(work)

    @profile
    def once() -> int:
        return inner()

    @profile
    def thrice() -> int:
        return inner() + inner() + inner()

    once()
    thrice()
    inner()
    _, calls, _, _, callers = table(profile)["work"]
    assert calls == 5
    parts = {key[2]: part[0] for key, part in callers.items()}
    assert parts == {"once": 1, "thrice": 3}


def test_recursion() -> None:
    profile = ContextualProfile()

    @profile
    def fib(n: int) -> int:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert fib(5) == 5
    primitive, calls, *_ = table(profile)["fib"]
    assert (primitive, calls) == (1, 15)


def numbers(start: int) -> Iterator[Any]:
    """Yield, accept sent values and thrown exceptions, and return."""
    got = start
    while got != "end":
        with contextlib.suppress(KeyError):
            got = yield got
            continue
        got = "caught"
    return "returned"


@pytest.mark.smoke
def test_a_generator_is_the_same_generator() -> None:
    profile = ContextualProfile()
    decorated = profile(numbers)
    assert inspect.isgeneratorfunction(decorated)
    steps: Any = decorated(1)
    assert next(steps) == 1
    assert profile.enable_count == 0
    assert steps.send(2) == 2
    assert steps.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration) as end:
        steps.send("end")
    assert end.value.value == "returned"
    steps = decorated(1)
    next(steps)
    with pytest.raises(ZeroDivisionError):
        steps.throw(ZeroDivisionError)
    steps = decorated(1)
    next(steps)
    steps.close()
    assert next(steps, None) is None
    assert profile.enable_count == 0
    assert counts(profile)["numbers"] == 8  # each step is a call


def test_close_runs_the_cleanup_of_a_generator() -> None:
    profile = ContextualProfile()
    ended = []

    @profile
    def cleans() -> Iterator[int]:
        try:
            yield 1
        finally:
            ended.append(work())

    steps: Any = cleans()
    next(steps)
    steps.close()
    assert ended == [1]
    assert counts(profile)["work"] == 1

    @profile
    def ignores() -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit:
            yield 2

    steps = ignores()
    next(steps)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        steps.close()


@pytest.mark.smoke
def test_a_coroutine_is_recorded_while_it_runs() -> None:
    profile = ContextualProfile()
    meanwhile = []

    async def other() -> None:
        meanwhile.append(profile.enable_count)
        work()

    @profile
    async def waits() -> int:
        work()
        await asyncio.sleep(0)
        return work()

    async def main() -> int:
        both = await asyncio.gather(waits(), other())
        return both[0]

    assert inspect.iscoroutinefunction(waits)
    assert asyncio.run(main()) == 1
    assert meanwhile == [0]
    assert counts(profile)["work"] == 2


def test_a_generator_based_coroutine() -> None:
    profile = ContextualProfile()

    @profile
    @types.coroutine
    def steps() -> Iterator[int]:
        got = yield 1
        return got

    async def main() -> object:
        return await steps()  # type: ignore[misc]

    run = main()
    assert run.send(None) == 1
    with pytest.raises(StopIteration) as end:
        run.send(5)  # type: ignore[arg-type]
    assert end.value.value == 5


@pytest.mark.smoke
def test_an_asynchronous_generator() -> None:
    profile = ContextualProfile()
    ended = []
    kept: list[Any] = []

    @profile
    async def items() -> AsyncIterator[Any]:
        got: Any = 1
        try:
            while True:
                await asyncio.sleep(0)
                try:
                    got = yield got
                except KeyError:
                    got = "caught"
        finally:
            await asyncio.sleep(0)
            ended.append(work())

    async def main() -> None:
        steps: Any = items()
        assert await steps.asend(None) == 1
        assert profile.enable_count == 0
        assert await steps.asend(2) == 2
        assert await steps.athrow(KeyError()) == "caught"
        await steps.aclose()
        assert ended == [1]
        kept.append(items())  # the event loop closes this generator
        await kept[0].asend(None)

    assert inspect.isasyncgenfunction(items)
    asyncio.run(main())
    assert ended == [1, 1]
    assert counts(profile)["work"] == 2


def test_methods_properties_and_classes() -> None:
    profile = ContextualProfile()

    @profile
    class Thing:
        def plain(self) -> int:
            return 1

        @classmethod
        def of_class(cls) -> type:
            return cls

        @staticmethod
        def static() -> int:
            return 2

        @property
        def prop(self) -> int:
            return 3

    thing = Thing()
    found = thing.plain(), thing.of_class(), thing.static(), thing.prop
    assert found == (1, Thing, 2, 3)
    assert profile(thing.plain)() == 1
    assert profile(functools.partial(work))() == 1
    expected = {"plain": 2, "of_class": 1, "static": 1, "prop": 1, "work": 1}
    assert counts(profile) == expected
    with pytest.raises(TypeError):
        profile(1)  # type: ignore[type-var]


@pytest.mark.smoke
def test_c_functions_and_caches() -> None:
    profile = ContextualProfile()
    assert profile(sorted)([2, 1]) == [1, 2]
    cached = profile(functools.lru_cache(maxsize=None)(work))
    assert cached() + cached() == 2
    assert cached.cache_info().hits == 1  # type: ignore[attr-defined]
    stats = table(profile)
    assert stats["<built-in method builtins.sorted>"][1] == 1
    assert stats["work"][1] == 1


@pytest.mark.smoke
def test_two_threads_at_the_same_time() -> None:
    profile = ContextualProfile()
    both, first_is_over = threading.Barrier(2), threading.Event()

    @profile
    def first() -> None:
        both.wait()

    @profile
    def second() -> None:
        both.wait()
        first_is_over.wait()

    hooks: list[object] = []

    def thread() -> None:
        first()
        first_is_over.set()
        hooks.append(sys.getprofile())

    other = threading.Thread(target=second)
    other.start()
    one = threading.Thread(target=thread)
    one.start()
    one.join()
    other.join()
    assert hooks == [None]
    assert profile.enable_count == 0
    assert {"first", "second"} & set(table(profile))


def test_tracebacks_of_decorated_functions(tmp_path: Path) -> None:
    program = """
        {decorator}
        def f():
            1 / 0
        {decorator}
        def g():
            try:
                yield 1
            except KeyError:
                yield f()
        def main():
            steps = g()
            try:
                next(steps)
                steps.throw(KeyError("thrown"))
            except ZeroDivisionError as error:
                raise OSError("last") from error
        main()
        """
    write(tmp_path, "x.py", program.format(decorator=""))
    plain = run_kernprof("-bq", "x.py", cwd=tmp_path)
    assert plain.err.splitlines()[-1] == "OSError: last"
    write(tmp_path, "x.py", program.format(decorator="@profile"))
    outcome = run_kernprof("-bq", "x.py", cwd=tmp_path)
    assert outcome == plain


def test_an_imported_profile(tmp_path: Path) -> None:
    program = """
        from lineprof import profile
        @profile
        def f():
            g()
        def g():
            pass
        f()
        g()
        """
    write(tmp_path, "x.py", program)
    for mode, of_g in (("-q", 2), ("-bq", 1)):
        outcome = run_kernprof(mode, "x.py", cwd=tmp_path)
        assert (outcome.status, outcome.err) == (0, "")
        stats = pstats.Stats(str(tmp_path / "x.prof")).stats  # type: ignore[attr-defined]
        count = {name: part[1] for (_, _, name), part in stats.items()}
        assert (count["f"], count["g"]) == (1, of_g)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"x.py", "x.prof"}
