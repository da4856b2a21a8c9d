"""The profile of this process, from the tuples of the core."""

from __future__ import annotations

import itertools
from array import array
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.later import Later
from lineprof.model.gpu import NO_GPU
from lineprof.model.host_memory import NO_MEMORY
from lineprof.model.profile import Profile
from lineprof.model.records import (
    CAUSES,
    OTHER,
    OWN_TIMES,
    PARTS,
    RUNNABLE,
    UNKNOWN_THREAD,
    Cut,
    FunctionStats,
    LineBreakdown,
    Process,
    Thread,
    ThreadLine,
    Wait,
    maker_of,
)
from lineprof.process_info import thread_names
from lineprof.snapshot.arithmetic import line_records
from lineprof.snapshot.calls import max_of_columns, of_c, remarks, tree_of
from lineprof.source import read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import ModuleType

    from lineprof._core import Tracer
    from lineprof.model import timelines
    from lineprof.model.records import Key, SourceFile
    from lineprof.model.timelines import Batch
    from lineprof.snapshot.counts import Counts
    from lineprof.snapshot.gpu import Taken

    # Tuples of the core, in the order of `CodeRow` and `WaitRow`.
    Code = tuple[tuple[object, ...], int, int, int, int, bytes, int]
    RawWait = tuple[int, int, int, int, int]

    KeyLine = tuple[Key, int]
    Place = tuple[Key, int, int]  # function, line and the index of a thread
else:
    timelines = Later("lineprof.model.timelines")


class LineRow(NamedTuple):
    """One line as one thread ran it, as the core counted it."""

    line: int
    thread: int  # the core's number
    hits: int
    ticks: int
    cost: int = 0  # of measuring, in parts of a tick
    await_ticks: int = 0
    min_ticks: int = -1  # of the shortest execution; below 0: no whole one known
    max_ticks: int = -1
    hit_cost: int = 0  # of one execution


# Fields of `LineRow` in the order of lp_line_row in csrc/module/line_records.h, and of
# `ThreadLine` in that of line_records there.
_ROW = (
    *("line", "thread", "hits", "ticks", "cost", "await_ticks"),
    *("min_ticks", "max_ticks", "hit_cost"),
)
_RECORD = (
    *("line", "thread", "hits", "time_ns", "await_ns", "raw_ns", "min_ns", "max_ns"),
)


def packed_lines(lines: Iterable[LineRow]) -> bytes:
    """Return lines as the core packs them."""
    rows = map(attrgetter(*_ROW), lines)
    return array("q", itertools.chain.from_iterable(rows)).tobytes()


def line_rows(packed: bytes) -> Iterator[LineRow]:
    """Yield the lines in the packed ones of the core."""
    numbers = iter(array("q", packed))
    return map(maker_of(LineRow, _ROW), zip(*[numbers] * len(_ROW)))


_TICKS = ("ticks", "await_ticks", "min_ticks", "max_ticks")


def max_line_ticks(codes: Iterable[CodeRow]) -> int:
    """Return the longest time of a line of `codes`, in ticks; 0 without lines."""
    lines = b"".join([code.lines for code in codes])
    return max_of_columns(lines, _ROW, _TICKS)


class CodeRow(NamedTuple):
    """One code object, as the core counted it."""

    key: tuple[object, ...]  # file, first line, name, ...
    calls: int
    ticks: int  # of all calls, recursion counted once
    cost: int
    recursed: int  # whether it ever did
    lines: bytes  # packed
    serial: int

    @property
    def function(self) -> Key:
        """The function that the code object belongs to."""
        file, line, name, *_ = self.key
        return (str(file), int(str(line)), str(name))


class WaitRow(NamedTuple):
    """Time of one line without a processor, or in the kernel, by cause."""

    serial: int  # of the code object
    line: int
    thread: int  # the core's number
    cause: int  # index in CAUSES, then _UNSEEN, then an index in PARTS
    ns: int


class TraceWindows(NamedTuple):
    """The windows of time in which the core hands out a trace's slices."""

    until: int  # ticks: when they were asked for; slices end by then
    left_out: int  # slices that there was no room for
    starts: Sequence[int]  # ticks; the last one is the end


class TickScale(NamedTuple):
    """Conversion of the core's ticks, and of costs in parts of a tick, to ns."""

    ns_per_tick: int  # times 2**32
    cost_one: int  # parts in a tick
    cost_share: float = 1.0  # of a calibrated cost that is taken out

    def ns(self, ticks: int) -> int:
        """Return `ticks` in ns, measuring included."""
        return (ticks * self.ns_per_tick) >> 32

    def cost_ns(self, cost: int) -> int:
        """Return a cost in ns."""
        return self.ns(int(cost * self.cost_share) // self.cost_one)

    def net_ns(self, ticks: int, cost: int) -> int:
        """Return `ticks` less their cost in ns, never below 0."""
        return max(0, self.ns(ticks) - self.cost_ns(cost))


def profile_of_process(  # noqa: PLR0913  # what was measured beside counts
    counts: Counts,
    *,
    gpu: Taken | None = None,
    trace: RawTrace | None = None,
    read_source: Callable[[str], SourceFile] = read_source,
    names: Mapping[int, str] | None = None,
    file_name: Callable[[str], str] = str,
) -> Profile:
    """Return the profile of a process.

    `read_source` gives a file by the name in code objects, `file_name` its name in the
    profile. `names` are the present names of threads by their native ids; None: those
    of this process. Calls and slices of code objects that are not in `counts` are left
    out, except those of C functions.
    """
    ids, warnings, process = counts.threads, counts.warnings, Process(**counts.process)
    ns_per_tick, cost_one, cost_share = counts.scale
    scale = TickScale(ns_per_tick=ns_per_tick, cost_one=cost_one, cost_share=cost_share)
    files = _FileNames(file_name)
    code_rows = list(map(files.renamed, map(CodeRow._make, counts.codes)))
    blocks = map(files.renamed, map(CodeRow._make, counts.blocks))
    shown_rows = [*code_rows, *blocks]
    # The memory of each part is free for the next, if the caller keeps no `counts`.
    counts = counts._replace(codes=(), blocks=())
    threads = _thread_indexes(shown_rows)
    functions = _functions(shown_rows, scale, threads)
    shown_files = dict.fromkeys(function.file for function in functions)
    shown = {code.serial: code.function for code in shown_rows}
    called = {code.serial: code.function for code in code_rows}
    called.update(of_c(counts.c_functions))
    cuts = {files.key(key): span for key, span in counts.cuts.items()}
    del code_rows, shown_rows

    def place_of(number: int) -> int:
        """Return the index of the core's thread; a new one if it ran no lines."""
        if not 0 <= number < len(ids):
            return UNKNOWN_THREAD
        return threads.setdefault(number, len(threads))

    calls = counts.calls or (0, b"")  # a file of counts may have null or []
    tree, functions = tree_of(calls, called, place_of, scale, functions)
    del calls
    counts = counts._replace(calls=(0, b""))
    gpu_data = NO_GPU
    memory = NO_MEMORY
    traces: tuple[timelines.Trace, ...] = ()
    if counts.memory:
        from lineprof.snapshot.host_memory import (  # noqa: PLC0415  # with --memory
            TakenMemory,
            memory_of,
            memory_warnings,
        )

        taken = TakenMemory._make(counts.memory)
        memory = memory_of(taken, shown)
        warnings = [*warnings, *memory_warnings(taken)]
    if gpu:
        from lineprof.snapshot.gpu import gpu_of  # noqa: PLC0415  # only with a GPU

        gpu_data = gpu_of(gpu, shown, place_of, scale)
        if gpu.torch:
            from lineprof.snapshot.torch_memory import unusable, with_torch  # noqa: PLC0415  # few have it

            try:
                gpu_data = with_torch(gpu_data, gpu.torch, functions, files.given)
            except Exception as error:  # noqa: BLE001  # a history of another structure
                warnings = [*warnings, unusable(error)]
    if trace and not trace.min_ns:
        traces = trace.read(called, place_of, scale.ns_per_tick)
        warnings = [*warnings, *trace.warnings(traces)]
    elif trace and gpu_data.timelines:
        slices = trace.read(called, place_of, scale.ns_per_tick)
        gpu_data = gpu_data._replace(slices=slices)
    wait_rows = list(map(WaitRow._make, counts.waits))
    waits = waits_of(wait_rows, shown, place_of, functions)
    wait_warnings = warnings_of(waits, functions, unavailable=counts.waits_unavailable)
    return Profile.from_functions(
        functions,
        processes=(process,),
        threads=_threads(ids, threads, thread_names() if names is None else names),
        sources={
            file: read_source(files.given(file))._replace(file=file)
            for file in shown_files
        },
        warnings=[*warnings, *remarks(tree), *wait_warnings],
        gpu=gpu_data,
        memory=memory,
        calls=tree,
        traces=traces,
        waits=waits,
        breakdowns=own_times_of(wait_rows, shown, place_of) if counts.own_times else (),
        cuts=[
            Cut(
                function=function.key,
                process=0,
                from_ns=cuts[function.key][0],
                until_ns=cuts[function.key][1],
                lines_until_ns=cuts[function.key][2],
            )
            for function in functions
            if function.key in cuts
        ],
    )


class _FileNames:
    """Names of files in a profile, by those in code objects."""

    def __init__(self, name_of: Callable[[str], str]) -> None:
        self._name_of = cache(name_of)
        self._given: dict[str, str] = {}

    def renamed(self, row: CodeRow) -> CodeRow:
        """Return the row of a code object with the file's name in the profile."""
        key = self.key(row.function)
        return row if key == row.function else row._replace(key=key)

    def key(self, key: Key) -> Key:
        """Return the key of a function in the profile."""
        return (self._name(key[0]), *key[1:])

    def given(self, name: str) -> str:
        """Return the name in code objects of a file of the profile."""
        return self._given.get(name, name)

    def _name(self, file: str) -> str:
        name = self._name_of(file)
        self._given.setdefault(name, file)
        return name


# Functions and threads.


def _functions(
    codes: Iterable[CodeRow], scale: TickScale, threads: Mapping[int, int]
) -> Sequence[FunctionStats]:
    """Return the functions in order of registration.

    Code objects of the same file, line and name are one function. `threads` has the
    index of a thread in the profile by the core's number.
    """
    groups: dict[Key, list[CodeRow]] = {}
    for code in codes:
        groups.setdefault(code.function, []).append(code)
    places = array("q", [UNKNOWN_THREAD]) * (max(threads, default=-1) + 1)
    for thread, index in threads.items():
        places[thread] = index
    return tuple(_function(key, group, scale, places) for key, group in groups.items())


def _function(
    key: Key, codes: Sequence[CodeRow], scale: TickScale, places: array[int]
) -> FunctionStats:
    file, first_line, name = key
    total = sum(scale.net_ns(code.ticks, code.cost) for code in codes)
    lines = b"".join([code.lines for code in codes])
    return FunctionStats(
        file=file,
        name=name,
        line=first_line,
        thread_lines=_thread_lines(lines, scale, places),
        calls=sum(code.calls for code in codes),
        recursive_ns=total if any(code.recursed for code in codes) else None,
    )


def _thread_lines(
    lines: bytes, scale: TickScale, places: array[int]
) -> tuple[ThreadLine, ...]:
    """Return the core's packed lines as those of a profile."""
    is_in_order = ThreadLine._fields == _RECORD
    found = line_records(
        lines,
        places,
        (scale.ns_per_tick, scale.cost_one, scale.cost_share),
        ThreadLine if is_in_order else tuple,
    )
    if is_in_order:
        return found  # type: ignore[return-value]
    return tuple(map(maker_of(ThreadLine, _RECORD), found))


def _thread_indexes(codes: Iterable[CodeRow]) -> dict[int, int]:
    """Return the index of each of the core's threads that ran profiled lines."""
    lines = b"".join([code.lines for code in codes])
    used = set(array("q", lines)[_ROW.index("thread") :: len(_ROW)]) - {UNKNOWN_THREAD}
    return {thread: index for index, thread in enumerate(sorted(used))}


def _threads(
    ids: Sequence[tuple[int, str]], numbers: Iterable[int], names: Mapping[int, str]
) -> Iterator[Thread]:
    """Yield the threads of the core's `numbers`, in that order.

    `ids` has the native ids and the names of when the threads were first seen;
    `names` the present names of those that still run.
    """
    for number in numbers:
        # (A recovered profile may lack threads.)
        native_id, name = ids[number] if number < len(ids) else (0, "")
        yield Thread(process=0, native_id=native_id, name=names.get(native_id) or name)


# Traces, from the core's slices.


class RawTrace(NamedTuple):
    """The slices that the core keeps for one profiler, before they are read."""

    core: ModuleType
    tracer: Tracer
    began: int  # ticks: when the profiler asked for the trace
    origin_ns: int | None  # where the time of GPU work begins, on CLOCK_MONOTONIC
    memory_mb: int
    min_ns: int = 0  # of a function that has a slice; above 0 for idle times alone
    min_line_ns: int | None = None  # of a line

    def read(
        self,
        keys: Mapping[int, Key],
        place_of: Callable[[int], int],
        scale: int,
    ) -> tuple[timelines.Trace, ...]:
        """Return all slices as one trace; () if there are none.

        `keys` has the functions by the serials of their codes; `place_of` returns
        the index in the profile of the core's thread number; `scale` is the core's
        own, from ticks to ns. Slices are packed as they are read, so that only a
        window of them is in memory unpacked.
        """
        functions: dict[Key, int] = {}
        wanted = array("I", bytes(4 * (max(keys, default=0) + 1)))
        for serial, key in keys.items():
            wanted[serial] = functions.setdefault(key, len(functions)) + 1
        windows = TraceWindows._make(
            self.tracer.trace_windows(wanted.tobytes(), 4 * timelines.ITEMS_PER_BATCH)
        )
        used: set[int] = set()
        batches = tuple(self._batches(wanted.tobytes(), windows, scale, used))
        count = sum(batch.events for batch in batches)
        if not count and not windows.left_out:
            return ()
        began_ns = self.core.monotonic_ns(self.began, scale)
        full_ns = 0
        if windows.left_out:
            full_ns = self.core.monotonic_ns(self.core.trace_full(), scale)
        return (
            timelines.Trace(
                process=0,
                count=count,
                left_out=windows.left_out,
                origin_ns=min(self.origin_ns or began_ns, began_ns),
                functions=tuple(functions),
                threads=tuple(
                    place_of(number) if number in used else UNKNOWN_THREAD
                    for number in range(max(used, default=-1) + 1)
                ),
                batches=batches,
                min_ns=self.min_ns,
                min_line_ns=self.min_line_ns,
                full_ns=full_ns,
            ),
        )

    def _batches(
        self,
        wanted: bytes,
        windows: TraceWindows,
        scale: int,
        used: set[int],
    ) -> Iterator[Batch]:
        """Yield all slices, window by window; the threads' numbers go to `used`."""
        for low, high in itertools.pairwise(windows.starts):
            columns = dict(
                zip(
                    (
                        *timelines.SLICE_COLUMNS,
                        timelines.WAIT_COLUMN,
                        timelines.UNSURE_COLUMN,
                    ),
                    self.tracer.trace_slices(wanted, windows.until, low, high, scale),
                )
            )
            used.update(array(timelines.SLICE_COLUMNS["thread"], columns["thread"]))
            yield from timelines.pack_slices(columns)

    def warnings(self, traces: Iterable[timelines.Trace]) -> list[str]:
        """Return a sentence for each trace that lacks slices."""
        return [
            f"the timeline ends early: its memory ({self.memory_mb} MB) was full;"
            f" {trace.left_out} later slices of functions and lines are left out"
            " of it (kernprof -l --trace-memory MB keeps more)"
            for trace in traces
            if trace.left_out
        ]


# Waits, from the core's raw ones.

_UNSEEN = len(CAUSES)  # the core's number of: blocked, of unknown cause
_FIRST_PART = 1 + _UNSEEN  # the core's number of the first of PARTS
_SUBSTANTIAL = 0.1  # of the time of all lines


def waits_of(
    rows: Iterable[WaitRow],
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    functions: Iterable[FunctionStats],
) -> tuple[Wait, ...]:
    """Return the waits of the lines of `functions`, from ``Tracer.off_cpu``.

    `keys` has the function of each of the core's code objects; waits of others
    are left out. `place_of` returns a thread's index in the profile. Waits of unknown
    cause are divided as the known ones of the same line. Waits are never longer than
    the line's time.
    """
    found: dict[Place, list[int]] = {}
    for row in rows:
        if row.serial in keys and row.cause <= _UNSEEN:
            place = (keys[row.serial], row.line, place_of(row.thread))
            found.setdefault(place, [0] * (_UNSEEN + 1))[row.cause] += row.ns
    known = _known_causes(found)
    waiting = {key for key, _, _ in found}
    times = {
        (function.key, cell.line, cell.thread): cell.time_ns
        for function in functions
        if function.key in waiting
        for cell in function.thread_lines
    }
    return tuple(
        Wait(function=key, line=line, thread=thread, cause=cause, ns=ns)
        for (key, line, thread), by_cause in found.items()
        for cause, ns in _limited(
            _divided(by_cause, known[key, line]), times.get((key, line, thread), 0)
        )
    )


def own_times_of(
    rows: Iterable[WaitRow],
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
) -> tuple[LineBreakdown, ...]:
    """Return the breakdown of lines' own times, from the same rows.

    If no time was measured, returns a breakdown of 0 ns, which shows that the run asked
    for breakdowns.
    """
    found = OWN_TIMES.added_up(
        LineBreakdown(
            function=keys[row.serial],
            line=row.line,
            thread=place_of(row.thread),
            part=PARTS[row.cause - _FIRST_PART],
            ns=row.ns,
        )
        for row in rows
        if row.serial in keys and row.cause >= _FIRST_PART
    )
    if found or not keys:
        return found
    key = next(iter(keys.values()))
    nothing = LineBreakdown(
        function=key, line=key[1], thread=UNKNOWN_THREAD, part=PARTS[0], ns=0
    )
    return (nothing,)


def warnings_of(
    waits: Iterable[Wait], functions: Iterable[FunctionStats], *, unavailable: bool
) -> list[str]:
    """Return a sentence if the system hides what threads waited for.

    Returns [] if they hardly waited.
    """
    if not unavailable:
        return []
    unknown = sum(wait.ns for wait in waits if wait.cause == OTHER)
    all_ns = sum(
        cell.time_ns for function in functions for cell in function.thread_lines
    )
    if not unknown or unknown < all_ns * _SUBSTANTIAL:
        return []
    why = "this system does not tell (/proc/self/task/*/syscall)"
    return [f"what lines waited for is not known: {why}"]


def _known_causes(found: Mapping[Place, Sequence[int]]) -> dict[KeyLine, list[int]]:
    """Return each line's times by known cause, all threads together; 0 if runnable."""
    sums: dict[KeyLine, list[int]] = {}
    for (key, line, _), times in found.items():
        total = sums.setdefault((key, line), [0] * _UNSEEN)
        for cause, ns in enumerate(times[:_UNSEEN]):
            if CAUSES[cause] != RUNNABLE:
                total[cause] += ns
    return sums


def _divided(times: Sequence[int], known: Sequence[int]) -> list[int]:
    """Return the times (ns) by cause, the unknown one divided as `known` is."""
    divided, left, known_left = list(times[:_UNSEEN]), times[_UNSEEN], sum(known)
    for cause, ns in enumerate(known):
        part = left * ns // known_left if known_left else 0
        divided[cause] += part
        left -= part
        known_left -= ns
    divided[CAUSES.index(OTHER)] += left
    return divided


def _limited(times: Sequence[int], max_ns: int) -> Iterator[tuple[str, int]]:
    """Yield the causes' names and times, scaled down to `max_ns` in all."""
    total = sum(times)
    for cause, ns in zip(CAUSES, times):
        kept = ns if total <= max_ns else ns * max_ns // total
        if kept:
            yield cause, kept
