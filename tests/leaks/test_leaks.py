"""Leaks of public callables: memory does not grow with repeated calls."""

from __future__ import annotations

import contextlib
import functools
import io
import sys
from typing import TYPE_CHECKING, Any

import pytest
from growth import ROUNDS, must_not_grow, numbers, work
from running import new_profiler

import lineprof
from lineprof import LineProfiler, LineStats, load_stats
from lineprof.errors import LineprofError
from lineprof.explicit_profiler import GlobalProfiler

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.usefixtures("hook"), pytest.mark.serial]


class Members:
    def method(self) -> int:
        return 1

    @property
    def item(self) -> int:
        return 2


class Bench:
    """Objects that the entries below use."""

    def __init__(self, folder: Path) -> None:
        self.profiler = new_profiler()
        self.function = self.profiler(work)
        self.generator = self.profiler(numbers)
        self.function(3)
        self.stats = self.profiler.get_stats()
        self.path = folder / "a.lprof"
        self.stats.to_file(self.path)
        self.namespace = {"work": work}


def enabled(bench: Bench, *names: str) -> None:
    for name in names:
        getattr(bench.profiler, name)()


def fresh(bench: Bench) -> LineProfiler:
    """Create a profiler, decorate and register functions, call them."""
    profiler = new_profiler(work)
    profiler(numbers)
    with profiler:
        bench.function(2)
        list(profiler(numbers)(2))
    profiler.get_stats()
    return profiler


def data_frame(stats: LineStats) -> object:
    """Return a DataFrame if pandas is installed."""
    with contextlib.suppress(LineprofError):
        return stats.to_pandas()
    return None


def blocked(profiler: LineProfiler) -> None:
    """Count a block in this function."""
    with profiler.block("block"):
        work(1)


def of_global_profiler(method: str) -> Callable[[Bench], object]:
    """Return an entry that calls a method of the global profiler."""

    def call(bench: Bench) -> object:
        decorator = GlobalProfiler()
        decorator._kernprof_overwrite(bench.profiler)
        with contextlib.redirect_stdout(io.StringIO()):
            decorator.write_config = dict.fromkeys(decorator.write_config, False)
            getattr(decorator, method)()
        return decorator(work)(1)

    return call


def in_block(profiler: Any) -> None:
    """Count a block, of one place each time."""
    with profiler.block("leaks"):
        work(1)


def version() -> None:
    """Run the command lineprof like its console script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["lineprof", "--version"])
        with contextlib.redirect_stdout(io.StringIO()):
            lineprof.main()


ENTRIES: dict[str, Callable[[Bench], object]] = {
    "listen": lambda _: lineprof.listen(),
    "LineProfiler": fresh,
    "LineProfiler.__call__": lambda b: b.profiler(work)(2),
    "LineProfiler.__enter__": lambda b: b.profiler.__enter__().disable_by_count(),
    "LineProfiler.__exit__": lambda b: (
        b.profiler.enable_by_count(),
        b.profiler.__exit__(None, None, None),
    ),
    "LineProfiler.add_function": lambda b: b.profiler.add_function(work),
    "LineProfiler.add_callable": lambda b: b.profiler.add_callable(work),
    "LineProfiler.add_class": lambda b: b.profiler.add_class(Members),
    "LineProfiler.add_module": lambda b: b.profiler.add_module(
        contextlib, scoping_policy="exact"
    ),
    "LineProfiler.audit": lambda b: (
        b.profiler.audit(int, 1),
        work(2),
        b.profiler.audit(None),
    ),
    "LineProfiler.block": lambda b: blocked(b.profiler),
    "LineProfiler.c_code_map": lambda b: b.profiler.c_code_map,
    "LineProfiler.c_last_time": lambda b: b.profiler.c_last_time,
    "LineProfiler.c_functions": lambda b: b.profiler.c_functions(on=False),
    "LineProfiler.code_hash_map": lambda b: b.profiler.code_hash_map,
    "LineProfiler.code_map": lambda b: b.profiler.code_map,
    "LineProfiler.costs": lambda b: b.profiler.costs(),
    "LineProfiler.overhead": lambda b: b.profiler.overhead(),
    "LineProfiler.discover": lambda b: (
        b.profiler.discover(lambda _: False),
        work(2),
        b.profiler.discover(None),
    ),
    "LineProfiler.dupes_map": lambda b: b.profiler.dupes_map,
    "LineProfiler.get_underlying_functions": lambda b: (
        b.profiler.get_underlying_functions(Members)
    ),
    "LineProfiler.last_time": lambda b: b.profiler.last_time,
    "LineProfiler.set_frame_local_trace": lambda b: b.profiler.set_frame_local_trace,
    "LineProfiler.unwatch": lambda b: (
        b.profiler.watch(Members),
        b.profiler.unwatch(Members.method.__code__),
    ),
    "LineProfiler.watch": lambda b: b.profiler.watch(Members),
    "LineProfiler.wrap_async_generator": lambda b: b.profiler.wrap_async_generator(
        work
    )(1),
    "LineProfiler.wrap_boundmethod": lambda b: b.profiler.wrap_boundmethod(
        Members().method
    )(),
    "LineProfiler.wrap_cached_property": lambda b: b.profiler.wrap_cached_property(
        functools.cached_property(work)
    ),
    "LineProfiler.wrap_callable": lambda b: b.profiler.wrap_callable(work)(1),
    "LineProfiler.wrap_class": lambda b: b.profiler.wrap_class(Members),
    "LineProfiler.wrap_classmethod": lambda b: b.profiler.wrap_classmethod(
        classmethod(work)
    ),
    "LineProfiler.wrap_coroutine": lambda b: b.profiler.wrap_coroutine(work)(1),
    "LineProfiler.wrap_function": lambda b: b.profiler.wrap_function(divmod)(3, 2),
    "LineProfiler.wrap_generator": lambda b: list(
        b.profiler.wrap_generator(numbers)(2)
    ),
    "LineProfiler.wrap_partial": lambda b: b.profiler.wrap_partial(
        functools.partial(work, 1)
    )(),
    "LineProfiler.wrap_partialmethod": lambda b: b.profiler.wrap_partialmethod(
        functools.partialmethod(work)
    ),
    "LineProfiler.wrap_property": lambda b: b.profiler.wrap_property(property(work)),
    "LineProfiler.wrap_staticmethod": lambda b: b.profiler.wrap_staticmethod(
        staticmethod(work)
    ),
    "LineProfiler.wrap_trace": lambda b: b.profiler.wrap_trace,
    "line_profiler": lambda _: lineprof.line_profiler.is_generated_code("<generated>"),
    "show_func": lambda _: lineprof.show_func(
        __file__, 1, "f", [(1, 1, 1)], 1e-6, stream=io.StringIO()
    ),
    "show_text": lambda b: lineprof.show_text(
        b.stats.timings, 1e-9, stream=io.StringIO()
    ),
    "LineProfiler.clock": lambda b: b.profiler.clock,
    "LineProfiler.clock_reason": lambda b: b.profiler.clock_reason,
    "LineProfiler.core": lambda b: b.profiler.core,
    "LineProfiler.core_reason": lambda b: b.profiler.core_reason,
    "LineProfiler.disable": lambda b: enabled(b, "enable", "disable"),
    "LineProfiler.disable_by_count": lambda b: enabled(
        b, "enable_by_count", "enable_by_count", "disable_by_count", "disable_by_count"
    ),
    "LineProfiler.dump_stats": lambda b: b.profiler.dump_stats(b.path),
    "LineProfiler.count_calls": lambda b: (
        b.profiler.watch(Members),
        b.profiler.count_calls(Members.method.__code__),
    ),
    "LineProfiler.cut": lambda b: b.profiler.cut((__file__, 1, "work")),
    "LineProfiler.enable": lambda b: enabled(b, "enable", "disable"),
    "LineProfiler.enable_by_count": lambda b: enabled(
        b, "enable_by_count", "disable_by_count"
    ),
    "LineProfiler.enable_count": lambda b: b.profiler.enable_count,
    "LineProfiler.exit": lambda b: b.profiler.exit,
    "LineProfiler.from_start": lambda b: b.profiler.from_start,
    "LineProfiler.functions": lambda b: b.profiler.functions,
    "LineProfiler.note_run": lambda b: b.profiler.note_run(),
    "LineProfiler.get_stats": lambda b: b.profiler.get_stats(),
    "LineProfiler.gpu_status": lambda b: str(b.profiler.gpu_status),
    "LineProfiler.print_stats": lambda b: b.profiler.print_stats(io.StringIO()),
    "LineProfiler.reset": lambda b: b.profiler.reset(),
    "LineProfiler.run": lambda b: b.profiler.run("1 + 1"),
    "LineProfiler.runcall": lambda b: b.profiler.runcall(work, 2),
    "LineProfiler.runctx": lambda b: b.profiler.runctx("work(1)", b.namespace, {}),
    "LineProfiler.start": lambda b: b.profiler.start(),
    "LineProfiler.final_stats": lambda b: b.profiler.final_stats(),
    "LineProfiler.stats_so_far": lambda b: b.profiler.stats_so_far(),
    "LineProfiler.stop": lambda b: (b.profiler.stop(), b.profiler.start()),
    "LineProfiler.texts": lambda b: b.profiler.texts,
    "LineProfiler.traced": lambda b: b.profiler.traced,
    "LineProfiler.timer_unit": lambda b: b.profiler.timer_unit,
    "LineStats": lambda _: LineStats({("f.py", 1, "f"): [(2, 1, 3)]}, 1e-6),
    "LineStats.__add__": lambda b: b.stats + b.stats,
    "LineStats.__eq__": lambda b: b.stats == b.stats + b.stats,
    "LineStats.__iadd__": lambda b: b.stats.__iadd__(LineStats({}, 1e-9)),
    "LineStats.__repr__": lambda b: repr(b.stats),
    "LineStats.from_files": lambda b: LineStats.from_files(b.path, b.path),
    "LineStats.from_functions": lambda b: LineStats.from_functions(b.stats.functions),
    "LineStats.from_stats_objects": lambda b: LineStats.from_stats_objects(b.stats),
    "LineStats.functions": lambda b: b.stats.functions,
    "LineStats.is_empty": lambda b: b.stats.is_empty,
    "LineStats.is_whole": lambda b: b.stats.is_whole,
    "LineStats.of": lambda b: LineStats.of(b.stats),
    "LineStats.of_functions": lambda b: b.stats.of_functions(()),
    "LineStats.print": lambda b: b.stats.print(io.StringIO()),
    "LineStats.reading_below": lambda b: b.stats.reading_below("."),
    "LineStats.timings": lambda b: b.stats.timings,
    "LineStats.to_file": lambda b: b.stats.to_file(b.path),
    "LineStats.to_pandas": lambda b: data_frame(b.stats),
    "LineStats.unit": lambda b: b.stats.unit,
    "LineStats.why_empty": lambda b: b.stats.why_empty,
    "LineStats.why_nothing": lambda b: b.stats.why_nothing(is_partial=True),
    "LineStats.with_functions": lambda b: b.stats.with_functions(()),
    "LineStats.with_processes": lambda b: b.stats.with_processes(b.stats.processes),
    "LineStats.with_timelines": lambda b: b.stats.with_timelines(
        b.stats.threads, b.stats.traces, b.stats.gpu
    ),
    "LineStats.with_warnings": lambda b: b.stats.with_warnings(["a"]),
    "GpuOptions": lambda _: lineprof.GpuOptions(),
    "TraceOptions": lambda _: lineprof.TraceOptions(),
    "gpu_status": lambda _: lineprof.gpu_status(),
    "main": lambda _: version(),
    "load_stats": lambda b: load_stats(b.path),
    "profile": lambda _: GlobalProfiler(),
    "profile.__call__": lambda _: lineprof.profile(work)(1),
    "profile.disable": of_global_profiler("disable"),
    "profile.block": lambda b: blocked(b.profiler),
    "profile.reset": of_global_profiler("reset"),
    "profile.start": of_global_profiler("start"),
    "profile.stop": lambda b: (of_global_profiler("stop")(b), lineprof.start()),
    "profile.enable": of_global_profiler("enable"),
    "profile.show": of_global_profiler("show"),
    "start": lambda _: lineprof.start(),
    "stop": lambda _: (lineprof.stop(), work(1), lineprof.start()),
}


SLOW = dict.fromkeys(
    (
        "LineProfiler.dump_stats",
        "LineStats.from_files",
        "LineStats.to_file",
        "load_stats",
    ),
    30,
)


def public_names() -> set[str]:
    """Return the public names of the package and of its classes."""
    names: set[str] = set()
    for name in set(lineprof.__all__) - {"__version__", *NEED_A_SHELL}:
        thing = getattr(lineprof, name)
        names.add(name)
        owner = thing if isinstance(thing, type) else type(thing)
        if owner.__module__.startswith("lineprof"):
            names |= {
                f"{name}.{member}"
                for base in owner.__mro__
                if base.__module__.startswith("lineprof")
                for member, value in vars(base).items()
                if callable(value) or isinstance(value, (property, classmethod))
                if not member.startswith("_") or member in OPERATORS
            }
    return names


NEED_A_SHELL = ("load_ipython_extension", "unload_ipython_extension")
OPERATORS = ("__call__", "__enter__", "__exit__", "__add__", "__iadd__", "__eq__")


def test_every_public_callable_has_an_entry() -> None:
    assert public_names() - set(ENTRIES) == set()


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_a_public_callable_leaks_no_memory(name: str, tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    entry = ENTRIES[name]
    must_not_grow(lambda: entry(bench) and None, SLOW.get(name, ROUNDS))
