"""kernprof --trace: a timeline in the profile's file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, kernprof_forked, write
from check_trace import nested

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof.model.timelines import Trace

pytestmark = pytest.mark.usefixtures("hook")

PROGRAM = """\
import threading, time

@profile
def leaf(n):
    return sum(range(n))

@profile
def work(n):
    for i in range(n):
        leaf(i)

@profile
def main():
    thread = threading.Thread(target=work, args=(50,), name="worker")
    thread.start()
    work(100)
    thread.join()
    time.sleep(0.02)

main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a small program."""
    write(tmp_path, "x.py", PROGRAM)
    return tmp_path


def trace_of(folder: Path, *flags: str, **options: object) -> Trace | None:
    """Run the program and return its trace."""
    done = kernprof_forked("-l", *flags, "x.py", cwd=folder, **options)
    assert (done.status, done.err) == (0, "")
    traces = load_stats(folder / "x.lprof").traces
    assert len(traces) <= 1
    return traces[0] if traces else None


def counts(trace: Trace | None, *, lines: bool = False) -> dict[str, int]:
    """Return the number of slices of each function, or of its lines."""
    found: dict[str, int] = {}
    for one in nested(trace) if trace else ():
        if (one.line != 0) == lines:
            found[one.function[2]] = found.get(one.function[2], 0) + 1
    return found


@pytest.mark.smoke
def test_each_call_is_in_the_file(folder: Path) -> None:
    trace = trace_of(folder, "--trace")
    assert counts(trace) == {"leaf": 150, "work": 2, "main": 1}
    assert trace is not None
    assert trace.left_out == 0
    assert len({one.thread for one in trace}) == 2
    outer = next(iter(trace))
    assert (outer.function[2], outer.line) == ("main", 0)
    assert 0 <= outer.start_ns < 60_000_000_000
    assert outer.ns >= 20_000_000
    sleeps = [one for one in trace if one.line == 18]
    assert [one.ns >= 20_000_000 for one in sleeps] == [True]


def test_a_run_without_the_flag_has_no_timeline(folder: Path) -> None:
    assert trace_of(folder) is None
    assert trace_of(folder, "--trace", "--no-trace") is None
    assert trace_of(folder, "--no-trace", "--trace-lines", "1") is None


def test_trace_lines_chooses_the_lines_that_have_slices(folder: Path) -> None:
    assert counts(trace_of(folder, "--trace-lines", "off"), lines=True) == {}
    every = counts(trace_of(folder, "--trace-lines=0"), lines=True)
    assert every == {"leaf": 150, "work": 2 * 150 + 2, "main": 5}
    trace = trace_of(folder, "--trace", "--trace-lines=15e3")
    assert trace is not None
    long = [one for one in trace if one.line]
    assert [one.ns for one in long if one.ns < 15_000_000] == []
    assert [one.function[2] for one in long if one.line == 18] == ["main"]


def test_a_variable_turns_the_timeline_on(folder: Path) -> None:
    every = {"LINEPROF_TRACE": "1", "LINEPROF_TRACE_LINES": "0"}
    assert counts(trace_of(folder, env=every), lines=True)["leaf"] == 150
    assert trace_of(folder, "--no-trace", env=every) is None
    assert trace_of(folder, env={"LINEPROF_TRACE": "off"}) is None


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("LINEPROF_TRACE", "perhaps", "give yes or no"),
        ("LINEPROF_TRACE_LINES", "-1", "give microseconds, or off"),
        ("LINEPROF_TRACE_LINES", "nan", "give microseconds, or off"),
        ("LINEPROF_TRACE_MB", "0", "give megabytes from 1 on"),
        ("LINEPROF_TRACE_MB", "much", "give megabytes from 1 on"),
    ],
)
def test_an_invalid_variable_is_reported(
    folder: Path, name: str, value: str, hint: str
) -> None:
    env = {"LINEPROF_TRACE": "1", name: value}
    done = kernprof_forked("-l", "x.py", cwd=folder, env=env)
    assert done.status != 0
    assert done.err == f"kernprof: {value!r} is no value of {name}; {hint}\n"


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--trace-lines=soon", "bad time 'soon'; give microseconds, or off"),
        ("--trace-lines=-1", "bad time '-1'; give microseconds, or off"),
        ("--trace-memory=0", "bad size '0'; give megabytes from 1 on"),
        ("--trace-memory=1.5", "bad size '1.5'; give megabytes from 1 on"),
        ("--trace=perhaps", "--trace takes yes or no, not 'perhaps'"),
    ],
)
def test_an_invalid_flag_is_reported(folder: Path, flag: str, said: str) -> None:
    done = kernprof_forked("-l", flag, "x.py", cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_a_full_buffer_is_reported_and_earlier_slices_are_kept(tmp_path: Path) -> None:
    program = """\
        @profile
        def f():
            pass

        @profile
        def main():
            for i in range(400_000):
                f()

        main()
        """
    write(tmp_path, "x.py", program)
    done = kernprof_forked("-lv", "--trace-memory", "1", "x.py", cwd=tmp_path)
    stats = load_stats(tmp_path / "x.lprof")
    (trace,) = stats.traces
    made = [one for one in trace if not one.line]
    left_out = 400_001 - len(made)
    assert trace.left_out >= left_out > 0
    assert (made[0].function[2], len(made) > 100_000) == ("main", True)
    ends = [one.start_ns + one.ns for one in made]
    assert ends[0] == max(ends)
    assert "the timeline ends early: its memory (1 MB) was full" in done.err
    assert (tmp_path / "x.lprof").stat().st_size < 20 * trace.count
    calls = {function.name: function.calls for function in stats.functions}
    assert calls == {"f": 400_000, "main": 1}


def test_a_program_with_a_timeline_runs_as_under_python(folder: Path) -> None:
    write(folder, "x.py", PROGRAM.replace("@profile\n", "") + "print(open)\n")
    check_same("x.py", cwd=folder, mode="-lq", env={"LINEPROF_TRACE": "1"})


def test_a_program_ended_by_sigterm_has_its_timeline(tmp_path: Path) -> None:
    program = """\
        import os, signal

        @profile
        def f():
            os.kill(os.getpid(), signal.SIGTERM)

        f()
        """
    write(tmp_path, "x.py", program)
    kernprof_forked("-l", "--trace", "x.py", cwd=tmp_path)
    (trace,) = load_stats(tmp_path / "x.lprof").traces
    assert counts(trace) == {"f": 1}


def test_a_periodic_dump_says_that_it_has_no_timeline(
    tmp_path: Path,
) -> None:
    program = """\
        import os, shutil, sys, time

        @profile
        def f():
            while not os.path.exists("x.lprof"):
                time.sleep(0.01)
            shutil.copy("x.lprof", "so_far.lprof")

        f()
        """
    write(tmp_path, "x.py", program)
    done = kernprof_forked("-l", "--trace", "-i1", "x.py", cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    so_far, whole = (load_stats(tmp_path / f"{n}.lprof") for n in ("so_far", "x"))
    assert so_far.traces == ()
    assert any("timeline" in warning for warning in so_far.warnings)
    (trace,) = whole.traces
    outer, *_ = nested(trace)
    assert counts(trace) == {"f": 1}
    # One slice, although a dump was written, a second after it was asked for.
    assert outer.ns >= 900_000_000
    assert not any("timeline" in warning for warning in whole.warnings)


def test_a_configuration_file_turns_the_timeline_on(folder: Path) -> None:
    write(folder, "lineprof.toml", "[tool.lineprof.kernprof]\ntrace = true\n")
    assert counts(trace_of(folder)) == {"leaf": 150, "work": 2, "main": 1}
    text = "[tool.lineprof.kernprof]\ntrace-lines = 0\ntrace-memory = 2\n"
    write(folder, "lineprof.toml", text)
    assert counts(trace_of(folder), lines=True)["leaf"] == 150


def test_hundreds_of_threads_fit_in_a_small_memory(tmp_path: Path) -> None:
    program = """\
        import threading

        @profile
        def f(done):
            done.wait()

        done = threading.Event()
        threads = [threading.Thread(target=f, args=(done,)) for _ in range(200)]
        for thread in threads: thread.start()
        done.set()
        for thread in threads: thread.join()
        """
    write(tmp_path, "x.py", program)
    kernprof_forked("-l", "--trace", "--trace-memory", "1", "x.py", cwd=tmp_path)
    (trace,) = load_stats(tmp_path / "x.lprof").traces
    assert counts(trace) == {"f": 200}
    assert trace.left_out == 0
    assert len({one.thread for one in trace}) <= 200


def test_the_module_of_timelines_is_imported_only_with_trace(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        "import sys; print('lineprof.recording.trace' in sys.modules)\n",
    )
    for flags, asked in (((), False), (("--trace",), True)):
        done = kernprof_forked("-lq", *flags, "x.py", cwd=tmp_path)
        assert (done.out, done.err) == (f"{asked}\n", ""), sys.version
