"""Files of counts: another process makes the same profile from them."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING

import pytest

from lineprof import LineProfiler
from lineprof.errors import LineprofError
from lineprof.model.records import NO_CALLS
from lineprof.process_info import thread_names
from lineprof.recording.profiler import counts_of
from lineprof.recording.registry import Span
from lineprof.snapshot.counts import Counts, write_counts
from lineprof.snapshot.counts_reader import read_profile
from lineprof.snapshot.profile import profile_of_process

if TYPE_CHECKING:
    from lineprof._core import MemorySnapshot
    from lineprof.model.profile import Profile

NAMED = "counted \udcff.py"  # as of a file whose name is no UTF-8
TEXT = "def double(x):\n    return 2 * x  # \u00e4\n"


def counted() -> tuple[Counts, dict[str, str | None]]:
    """Counts of a function, one called by it, and a block; one text is left out."""
    names: dict[str, object] = {}
    exec(compile(TEXT, NAMED, "exec"), names)
    double = names["double"]

    def work() -> None:
        for number in range(5):
            double(number)  # type: ignore[operator]

    profiler = LineProfiler(work, double, gpu="off")
    with profiler, profiler.block("all"):
        work()
    profiler._registry.cut((NAMED, 1, "double"), Span(7, None, 9))
    found = counts_of(profiler)
    assert found
    counts, texts = found
    assert texts[__file__]
    return counts, {NAMED: TEXT}


def file_of(counts: Counts, texts: dict[str, str | None]) -> bytes:
    stream = io.BytesIO()
    write_counts(stream, counts, texts, thread_names())
    return stream.getvalue()


def read(data: bytes) -> Profile:
    return read_profile(io.BytesIO(data), "it")


def test_the_profile_is_that_which_the_process_would_make() -> None:
    counts, texts = counted()
    other = read(file_of(counts, texts))
    own = profile_of_process(counts)
    assert {function.name for function in own.functions} == {
        "all",
        "counted.<locals>.work",
        "double",
    }
    assert own.cuts
    assert {**vars(other), "sources": {}} == {**vars(own), "sources": {}}
    assert own.calls != NO_CALLS
    assert other.sources[NAMED].text == TEXT
    assert other.sources[__file__].is_left_out


def test_memory_is_that_which_the_process_would_have() -> None:
    counts, texts = counted()
    serial = counts.codes[0][6]
    raw: MemorySnapshot = {
        "paths": [(0, 0, 0), (0, serial, 2)],
        "sums": [(0, 1, 10, 0, 0, 10), (1, 2, 30, 20, 5, 10)],
        "peak_bytes": 20,
        "peak_ns": 9,
        "live_bytes": 20,
        "curve": [(8, 20, [(1, 10)])],
        "side_bytes": 64,
        "lost": 1,
        "sample": 0,
        "native": True,
        "notes": ["a note"],
    }
    counts = counts._replace(memory=(raw, 4))
    other, own = read(file_of(counts, texts)), profile_of_process(counts)
    assert own.memory.sums[1].alloc_bytes == 30
    assert other.memory == own.memory
    assert other.warnings == own.warnings
    assert "a note" in own.warnings


def test_damage_is_said() -> None:
    """Every cut, and every field that is missing or of another type."""
    data = file_of(*counted())
    head, _, rest = data.partition(b"\n")
    values = json.loads(head)
    wrong: list[object] = [None, 5, "text", [5], [[5]], {"x": 5}]
    heads: list[object] = [
        {**values, name: value} for name in values for value in wrong
    ]
    heads += [{key: values[key] for key in values if key != name} for name in values]
    files = [json.dumps(one).encode() + b"\n" + rest for one in [*heads, *wrong]]
    files += [data[:size] for size in range(0, len(head), 97)]
    files += [head + b"\n" + rest[: len(rest) // 2], os.urandom(2000), b""]
    said = [problem_of(file) for file in files]
    assert {*said} <= {"", "the counts in it are damaged"}
    # A few are as good as others: there may be no waits.
    assert said.count("") < len(files) * 0.2


def problem_of(file: bytes) -> str:
    """What is said of a file, without the details."""
    try:
        read(file)
    except LineprofError as error:
        return error.message.partition(":")[0]
    return ""


def test_a_damaged_part_is_said() -> None:
    counts, texts = counted()
    key, *rest = counts.codes[0]
    bad = counts._replace(codes=[(key, *rest[:4], b"123", *rest[5:])])
    with pytest.raises(LineprofError, match="the counts in it are damaged"):
        read(file_of(bad, texts))


@pytest.mark.parametrize("calls", [None, []])
def test_counts_without_calls_have_no_call_tree(calls: object) -> None:
    counts, texts = counted()
    empty = counts._replace(calls=calls)  # type: ignore[arg-type]
    assert read(file_of(empty, texts)).calls == NO_CALLS
