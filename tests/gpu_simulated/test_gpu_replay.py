"""Traces in the form of PyTorch's profiler, replayed: every number is the oracle's."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deadline import DEADLINE
from gpu_double import environment
from kineto_check import CALLS, KNOBS, PLAYER, Compared, compare
from kineto_made import BACKWARD, MADE, Made, at_random
from kineto_oracle import WHOLE, WORK, expected
from kineto_plan import NoTraceError, plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpu_rig import Rig

pytestmark = pytest.mark.usefixtures("hook")

SCRIPT = Path(__file__).parents[1] / "programs" / "replay_traces.py"


def replay(rig: Rig, made: Made, profiled: str = "all", order: str = "as made") -> Path:
    """Replay a trace in the folder of the rig; return the file of the trace."""
    trace = made.write(rig.folder / "trace.json")
    words = [str(PLAYER), trace.name, "replayed", profiled]
    knobs = {**(CALLS if profiled == "calls" else KNOBS), **ORDERS[order]}
    rig.run(words, **knobs).ok()
    return trace


def compared(rig: Rig, trace: Path, profiled: str = "all") -> Compared:
    """Compare the last replay with the numbers of a trace."""
    profile = rig.folder / "replayed.lprof"
    wanted = expected(trace, only=profiled == "only")
    program = profile.with_suffix(".py")
    return compare(profile, program, wanted, calls=profiled == "calls")


PROFILED = (
    "all",  # lines of all threads
    "calls",  # and records of the calls themselves
    "only",  # lines of the first thread
)


@pytest.mark.parametrize("profiled", PROFILED)
@pytest.mark.parametrize("name", MADE)
def test_every_number_of_a_trace_made_by_hand(
    rig: Rig, name: str, profiled: str
) -> None:
    trace = replay(rig, MADE[name](), profiled)
    found = compared(rig, trace, profiled)
    assert found.values > 50
    assert found.different == []


# In which records come.
ORDERS: dict[str, dict[str, object]] = {
    "as made": {},
    "reverse": {"FAKE_CUPTI_REVERSE": 1},
    "few": {"FAKE_CUPTI_AT_ONCE": 5, "FAKE_CUPTI_REVERSE": 1},
    "late": {"FAKE_CUPTI_LATE_MS": 10, "FAKE_CUPTI_BUFFER_LIMIT": 600},
}


@pytest.mark.parametrize("seed", range(24))
def test_every_number_of_a_trace_made_at_random(rig: Rig, seed: int) -> None:
    profiled, order = PROFILED[seed % 3], list(ORDERS)[seed % 4]
    trace = replay(rig, at_random(seed), profiled, order)
    assert compared(rig, trace, profiled).different == []


def test_the_work_of_backward_threads_is_that_of_the_open_line(rig: Rig) -> None:
    """The first thread waits on its last line of a step for the others' kernels."""
    trace = replay(rig, MADE["threads"](), "only")
    found = expected(trace, only=True)
    adopted = {
        line: one["adopted"] for line, one in found.lines.items() if "adopted" in one
    }
    assert sum(adopted.values()) == 3 * (4 * 25_000 + 1001)
    assert len(found.lines) == 3 * 4
    assert compared(rig, trace, "only").different == []


def test_the_wait_of_a_call_that_frees(tmp_path: Path) -> None:
    """It ends with the work that was launched before; the whole call is longer."""
    trace = MADE["frees"]().write(tmp_path / "trace.json")
    waits = {
        state: [
            one.get("wait", 0)
            for line, one in sorted(expected(trace, frees=state).lines.items())
            if line[0].endswith("100")
        ]
        for state in (WHOLE, WORK)
    }
    frees = [0, 2, 5, 8, 9, 11, 13]
    assert [waits[WHOLE][n] for n in frees] == [
        *(0, 30_000, 130_000, 20_000, 100_000, 0, 90_000),
    ]
    assert [waits[WORK][n] for n in frees] == [0, 0, 90_000, 20_000, 0, 0, 50_000]


# --- the check fails if anything differs ------------------------------------


def record(events: list[Any], cat: str) -> Any:
    """Return the first record of a kind."""
    return next(event for event in events if event.get("cat") == cat)


def of_call(events: list[Any], name: str) -> Any:
    """Return the first call of a function."""
    return next(event for event in events if event.get("name") == name)


def longer(cat: str) -> Callable[[list[Any]], None]:
    """Return a mistake: the first record of a kind takes 1 ns more."""

    def change(events: list[Any]) -> None:
        record(events, cat)["dur"] += 0.001

    return change


def other(cat: str, name: str, value: object) -> Callable[[list[Any]], None]:
    """Return a mistake: an argument of the first record of a kind is another."""

    def change(events: list[Any]) -> None:
        record(events, cat)["args"][name] = value

    return change


def later(name: str, what: str, us: float) -> Callable[[list[Any]], None]:
    """Return a mistake: the first call of a function is later, or longer."""

    def change(events: list[Any]) -> None:
        of_call(events, name)[what] += us

    return change


def renamed(cat: str, name: str) -> Callable[[list[Any]], None]:
    """Return a mistake: the first record of a kind has another name."""

    def change(events: list[Any]) -> None:
        record(events, cat)["name"] = name

    return change


def without(cat: str) -> Callable[[list[Any]], None]:
    """Return a mistake: the first record of a kind is missing."""

    def change(events: list[Any]) -> None:
        events.remove(record(events, cat))

    return change


def swapped(events: list[Any]) -> None:
    """Exchange the calls of two kernels, of one thread."""
    first, second = [one for one in events if one.get("cat") == "kernel"][:2]
    one, other = first["args"], second["args"]
    one["correlation"], other["correlation"] = other["correlation"], one["correlation"]


def to_the_other_thread(events: list[Any]) -> None:
    """Have the other thread make the first launch."""
    of_call(events, "cudaLaunchKernel")["tid"] = BACKWARD


def whole() -> Made:
    """Return a trace that has everything that a mistake changes."""
    made = MADE["threads"]()
    of = made.call("cudaMemcpyAsync", 1_300_000, 1_350_000)
    made.copy(of, 1_310_000, 1_340_000, "DtoH (Device -> Pageable)")
    return made


MISTAKES: dict[str, Callable[[list[Any]], None]] = {
    "the time of a kernel": longer("kernel"),
    "the time of a copy": longer("gpu_memcpy"),
    "the time of a memset": longer("gpu_memset"),
    "the start of a kernel": lambda events: record(events, "kernel").update(
        ts=1009.001
    ),
    "the bytes of a copy": other("gpu_memcpy", "bytes", 4097),
    "the bytes of a memset": other("gpu_memset", "bytes", 65),
    "the stream of a kernel": other("kernel", "stream", 8),
    "the device of a kernel": other("kernel", "device", 1),
    "the context of a kernel": other("kernel", "context", 2),
    "the grid of a kernel": other("kernel", "grid", [4, 3, 1]),
    "the registers of a kernel": other("kernel", "registers per thread", 33),
    "the direction of a copy": renamed(
        "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)"
    ),
    "a copy that does not block": renamed(
        "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)"
    ),
    "the name of a kernel": renamed("kernel", "another"),
    "a kernel too few": without("kernel"),
    "a memset too few": without("gpu_memset"),
    "the calls of two kernels": swapped,
    "the thread of a launch": to_the_other_thread,
    "a launch that begins later": later("cudaLaunchKernel", "ts", 0.001),
    "a wait that lasts longer": later("cudaDeviceSynchronize", "dur", 0.001),
    "a copy that lasts longer": later("cudaMemcpyAsync", "dur", 0.001),
    "a call without work that lasts longer": later(
        "cudaStreamIsCapturing", "dur", 0.001
    ),
}


def test_each_mistake_in_one_number_is_found(rig: Rig) -> None:
    trace = replay(rig, whole())
    assert compared(rig, trace).different == []
    text = trace.read_text(encoding="utf-8")
    unnoticed = []
    for name, change in MISTAKES.items():
        data = json.loads(text)
        change(data["traceEvents"])
        trace.write_text(json.dumps(data), encoding="utf-8")
        if not compared(rig, trace).different:
            unnoticed.append(name)
    assert unnoticed == []


# --- files --------------------------------------------------------------------

CALL = {"ph": "X", "cat": "cuda_runtime", "name": "f", "ts": 1, "dur": 4, "args": {}}
NO_TRACES: dict[str, tuple[bytes, str]] = {
    "text": (b"not JSON", "it cannot be read: "),
    "cut": (gzip.compress(b"[]" * 1000)[:20], "it cannot be read: "),
    "other": (b'{"a": 1}', "it has no traceEvents"),
    "number": (b"3", "it has no traceEvents"),
    "deep": (b"[" * 100_000, "it cannot be read: "),
    "no-args": (
        json.dumps([{**CALL, "args": None}]).encode(),
        "an event of cuda_runtime",
    ),
    "no-name": (json.dumps([{**CALL, "name": 7}]).encode(), "an event of cuda_runtime"),
    "words": (
        json.dumps([{**CALL, "tid": "a b"}]).encode(),
        "'None/a b' is no process",
    ),
    "late": (json.dumps([{**CALL, "ts": 10**30}]).encode(), "a time of 1000"),
    "empty": (b"[]", "it has no calls of CUDA"),
    "no-time": (json.dumps([{**CALL, "ts": "x"}]).encode(), "an event is unusual: "),
    "backward": (
        json.dumps([{**CALL, "dur": -1}]).encode(),
        "f ends before it begins",
    ),
    "overlap": (
        json.dumps([CALL, {**CALL, "ts": 3}]).encode(),
        "calls of thread None/None overlap: f",
    ),
}


@pytest.mark.parametrize("name", NO_TRACES)
def test_a_file_that_is_no_trace_has_a_reason(tmp_path: Path, name: str) -> None:
    data, reason = NO_TRACES[name]
    file = tmp_path / "no.json"
    file.write_bytes(data)
    with pytest.raises(NoTraceError) as caught:
        plan(file)
    assert str(caught.value).startswith(reason)


def script(
    doubles: Path, folder: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    """Run the check of a folder."""
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(folder), *words],
        capture_output=True,
        text=True,
        env={**environment(doubles), "LINEPROF_DOUBLES": str(doubles)},
        timeout=DEADLINE,
        check=False,
    )


def test_the_check_of_a_folder(doubles: Path, tmp_path: Path) -> None:
    """It has a line for each trace, and fails if a file is none."""
    trace = MADE["frees"]().write(tmp_path / "frees.json")
    (tmp_path / "threads.json.gz").write_bytes(gzip.compress(trace.read_bytes()))
    done = script(doubles, tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].startswith("frees: 15 calls, 6 records, ")
    assert lines[0].endswith(" values compared, 0 different")
    assert lines[-1] == "2 traces, 0 different or none"
    (tmp_path / "a.json").write_text("[]", encoding="utf-8")
    done = script(doubles, tmp_path)
    assert done.returncode == 1
    first, *_, last = done.stdout.splitlines()
    assert first.startswith(
        "a: no trace of PyTorch's profiler: it has no calls of CUDA"
    )
    assert last == "3 traces, 1 different or none"
    trace.unlink()


def test_the_check_of_a_folder_fails_if_a_number_differs(
    doubles: Path, tmp_path: Path
) -> None:
    """If the whole call were a wait, those that free would wait for longer."""
    MADE["frees"]().write(tmp_path / "frees.json")
    done = script(doubles, tmp_path, "--frees", "whole", "--show", "1000")
    assert done.returncode == 1
    assert "wait: 90000, expected 130000" in done.stdout
