"""Public names of line_profiler: each exists in lineprof and works the same."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import run
from running import hook_name, new_profiler

import lineprof
import lineprof.line_profiler
from lineprof import profiler_mixin

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")

# line_profiler's __all__.
PACKAGE = """
    LineProfiler LineStats line_profiler load_ipython_extension load_stats main
    show_func show_text __version__ profile
    """.split()  # noqa: SIM905 - a list would be long
MODULE = """
    LineProfiler LineStats load_stats show_func show_text is_generated_code main
    load_ipython_extension ByCountProfilerMixin ScopingPolicy ScopingPolicyDict
    ConfigSource is_c_level_callable __version__
    """.split()  # noqa: SIM905
KINDS = """
    is_coroutine is_function is_generator is_async_generator is_classmethod
    is_staticmethod is_boundmethod is_partialmethod is_partial is_property
    is_cached_property is_c_level_callable is_cython_callable C_LEVEL_CALLABLE_TYPES
    """.split()  # noqa: SIM905


def plain(n: int) -> int:
    return n


@pytest.mark.parametrize("name", PACKAGE)
def test_the_package_has_each_name(name: str) -> None:
    assert name in lineprof.__all__
    assert name in dir(lineprof)
    assert getattr(lineprof, name)


@pytest.mark.parametrize("name", MODULE)
def test_the_module_line_profiler_has_each_name(name: str) -> None:
    assert getattr(lineprof.line_profiler, name)
    exec(f"from lineprof.line_profiler import {name}", {})


@pytest.mark.parametrize("name", KINDS)
def test_the_mixins_module_has_each_name(name: str) -> None:
    thing = getattr(profiler_mixin, name)
    assert isinstance(thing, tuple) or thing(plain) is (name == "is_function")


@pytest.mark.parametrize("module", [lineprof, lineprof.line_profiler, profiler_mixin])
def test_unknown_names_raise_attribute_errors(module: object) -> None:
    with pytest.raises(AttributeError, match="nonesuch"):
        module.nonesuch  # type: ignore[attr-defined]  # noqa: B018


def test_the_package_offers_its_submodule_without_importing_it(tmp_path: Path) -> None:
    code = """
import sys, lineprof
print("lineprof.recording.profiler" in sys.modules)
print(lineprof.line_profiler.LineProfiler is lineprof.LineProfiler)
"""
    assert run(["-c", code], cwd=tmp_path).out.split() == ["False", "True"]


def test_main_is_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["lineprof", "--version"])
    assert lineprof.main() is None  # type: ignore[func-returns-value]
    assert capsys.readouterr().out.strip() == lineprof.__version__
    monkeypatch.setattr(sys, "argv", ["lineprof", "nonesuch.lprof"])
    with pytest.raises(SystemExit) as ended:
        lineprof.main()
    assert ended.value.code


def test_generated_code_is_known_by_its_file_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_generated = lineprof.line_profiler.is_generated_code
    monkeypatch.setattr("tempfile.tempdir", "/temp")
    for name in ("<generated: 'f'>", "<ipython-input-1-ab>", "/temp/ipykernel_7/1.py"):
        assert is_generated(name)
    for name in ("a.py", "<string>", "/temp/a.py", "/elsewhere/ipykernel_7/1.py"):
        assert not is_generated(name)


def test_the_maps_of_line_profiler_have_the_counts() -> None:
    profiler = new_profiler()
    assert (profiler.code_map, profiler.c_code_map) == ({}, {})
    decorated = profiler(plain)
    code = plain.__code__
    assert profiler.code_map == {code: {}}
    decorated(1)
    line = code.co_firstlineno + 1
    ((_, (row,)),) = profiler.get_stats().timings.items()
    entry = profiler.code_map[code][line]
    assert set(entry) == {"code", "lineno", "total_time", "nhits"}
    assert (entry["code"], entry["lineno"], entry["nhits"]) == (code, *row[:2])
    numbers = profiler.code_hash_map[code]
    found = [one for number in numbers for one in profiler.c_code_map[number].items()]
    assert [(number, one["nhits"]) for number, one in found] == [(line, 1)]
    assert profiler.dupes_map == {code.co_code: [code]}
    assert profiler.timer_unit == 1e-9


def test_open_lines_can_be_read_by_the_profiled_function() -> None:
    profiler = new_profiler()
    with pytest.raises(KeyError, match="no profiling data"):
        profiler.c_last_time  # noqa: B018

    @profiler
    def f() -> object:
        return profiler.last_time, profiler.c_last_time

    last, c_last = f()  # type: ignore[misc]
    code = f.__wrapped__.__code__  # type: ignore[attr-defined]
    assert list(last) == [code]
    assert last[code]["f_lineno"] == code.co_firstlineno + 2
    assert list(c_last) == [hash(code.co_code)]
    assert (profiler.last_time, profiler.c_last_time) == ({}, {})
    with profiler:
        assert profiler.last_time == {}


def test_switches_for_tracers_are_taken_and_shared() -> None:
    profiler = new_profiler()
    assert (profiler.wrap_trace, profiler.set_frame_local_trace) == (False, False)
    other = type(profiler)(wrap_trace=True, core=profiler.core)
    try:
        assert (profiler.wrap_trace, other.wrap_trace) == (True, True)
        profiler.set_frame_local_trace = True
        assert other.set_frame_local_trace is True
    finally:
        other.wrap_trace = other.set_frame_local_trace = False


def test_print_stats_accepts_all_arguments_of_line_profiler() -> None:
    profiler = new_profiler(plain)
    with profiler:
        plain(1)
    stream = io.StringIO()
    profiler.print_stats(stream, 1e-6, False, True, True, True, False, config=False)
    assert "Function: plain at line" in stream.getvalue()


def test_methods_that_run_code_return_the_same_as_in_line_profiler() -> None:
    profiler = new_profiler(plain)
    space = {"plain": plain}
    assert profiler.runctx("x = plain(2)", space, space) is profiler
    assert profiler.run("1 + 1") is profiler
    assert profiler.runcall(plain, n=3) == 3
    with pytest.raises(SyntaxError):
        profiler.runctx("1 +", {}, {})
    with profiler as same:
        assert same is profiler
    assert profiler.enable_count == 0
    ((_, (row,)),) = profiler.get_stats().timings.items()
    assert row[1] == 2


def test_importing_the_profiler_imports_no_rarely_used_modules(tmp_path: Path) -> None:
    code = """
import sys
from lineprof import _core  # the fallback of 3.12 wants threading, which it imports
_core.Tracer(%r).close()
before = set(sys.modules)
from lineprof.recording.profiler import LineProfiler
profile = LineProfiler()
profile(lambda: 1)()
seldom = {"enum", "warnings", "lineprof.decorate.callables"}
print(sorted(seldom & (set(sys.modules) - before)))
"""
    assert run(["-c", code % hook_name()], cwd=tmp_path).out.strip() == "[]"
