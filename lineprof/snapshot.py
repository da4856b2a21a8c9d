"""From the core's raw counters to a profile's values."""

from __future__ import annotations

from typing import NamedTuple

from lineprof.call_records import NO_CALLS
from lineprof.gpu_records import NO_GPU
from lineprof.process import thread_names
from lineprof.records import UNKNOWN_THREAD, Cell, FunctionStats, Thread
from lineprof.snapshot_calls import of_c, remarks, tree_of
from lineprof.source_file import read_source
from lineprof.stats import Profile
from lineprof.wait_snapshot import own_times_of, waits_of, warnings_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof.gpu_records import Gpu
    from lineprof.gpu_snapshot import Taken
    from lineprof.records import Key, Process
    from lineprof.snapshot_calls import RawTree
    from lineprof.trace_records import Trace
    from lineprof.trace_snapshot import RawTrace
    from lineprof.wait_snapshot import RawWait

    # number, thread, hits, ticks, cost, awaited, least, most, cost of a hit
    Line = tuple[int, int, int, int, int, int, int, int, int]
    # key, calls, total, its cost, recursed, lines, serial
    Code = tuple[tuple[object, ...], int, int, int, int, Sequence[Line], int]


class Scale(NamedTuple):
    """From ticks of the core's clock, and costs in parts of one, to ns."""

    ns_per_tick: int  # times 2**32
    cost_one: int  # parts in a tick
    holds: float = 1.0  # how much of a calibrated cost is taken out

    def ns(self, ticks: int) -> int:
        """Return `ticks` in ns, as the clock saw them."""
        return (ticks * self.ns_per_tick) >> 32

    def cost_ns(self, cost: int) -> int:
        """Return a cost in ns."""
        return self.ns(int(cost * self.holds) // self.cost_one)

    def net_ns(self, ticks: int, cost: int) -> int:
        """Return `ticks` less their cost in ns, never below 0."""
        return max(0, self.ns(ticks) - self.cost_ns(cost))


class Parts(NamedTuple):
    """What there may be beside lines, as the core gives it."""

    gpu: Taken | None = None
    blocks: Sequence[Code] = ()  # shown as functions, too
    calls: RawTree | None = None
    natives: Iterable[tuple[int, str]] = ()  # functions of C, by their serials
    trace: RawTrace | None = None
    waits: Iterable[RawWait] = ()
    blind: bool = False  # nobody could look what threads waited for
    split: bool = False  # `waits` have lines' own times, too


def profile_of(  # noqa: PLR0913, PLR0917  # the parts of what was measured
    ids: Sequence[tuple[int, str]],
    codes: Sequence[Code],
    scale: Scale,
    process: Process,
    warnings: Iterable[str],
    parts: Parts,
) -> Profile:
    """Return the profile of a process from what ``Tracer.snapshot`` gives.

    `ids` has the native ids and the names of threads when they were first seen.
    Of the core's tree and trace all but `codes` and functions of C is left out.
    """
    everything = [*codes, *parts.blocks]
    places = _places(everything)
    functions = _functions(everything, scale, places)
    files = dict.fromkeys(function.file for function in functions)
    place_of = _placing(places, len(ids))
    own, shown = {**_keys(codes), **of_c(parts.natives)}, _keys(everything)
    tree, gpu = NO_CALLS, NO_GPU
    traces: tuple[Trace, ...] = ()
    if parts.calls:
        tree, functions = tree_of(parts.calls, own, place_of, scale, functions)
    if parts.trace:
        traces = parts.trace.read(own, place_of, scale.ns_per_tick)
        warnings = [*warnings, *parts.trace.warnings(traces)]
    if parts.gpu:
        gpu = _gpu(parts.gpu, shown, place_of, scale)
    rows = list(parts.waits)
    waits = waits_of(rows, shown, place_of, functions)
    said = warnings_of(waits, functions, blind=parts.blind)
    return Profile.from_functions(
        functions,
        processes=(process,),
        threads=_threads(ids, places, thread_names()),
        sources={file: read_source(file) for file in files},
        warnings=[*warnings, *remarks(tree), *said],
        gpu=gpu,
        calls=tree,
        traces=traces,
        waits=waits,
        own_times=own_times_of(rows, shown, place_of) if parts.split else (),
    )


def _placing(places: dict[int, int], known: int) -> Callable[[int], int]:
    """Return what gives a thread its place: one without lines, too, the next one."""

    def place_of(number: int) -> int:
        if not 0 <= number < known:
            return UNKNOWN_THREAD
        return places.setdefault(number, len(places))

    return place_of


def _key(code: Code) -> Key:
    """Return what tells the function of a code object from others."""
    file, line, name, *_ = code[0]
    return (str(file), int(str(line)), str(name))


def _keys(codes: Iterable[Code]) -> dict[int, Key]:
    """Return the functions of code objects by their serials."""
    return {code[6]: _key(code) for code in codes}


def _gpu(
    taken: Taken,
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    scale: Scale,
) -> Gpu:
    """Return the GPU data; threads that only launched get places, too."""
    from lineprof.gpu_snapshot import gpu_of  # noqa: PLC0415  # only with a GPU

    return gpu_of(taken, keys, place_of, scale)


def _functions(
    codes: Sequence[Code], scale: Scale, threads: Mapping[int, int]
) -> Sequence[FunctionStats]:
    """Return a `FunctionStats` per function, in order of registration.

    Code objects of the same file, line and name are one function. `threads`
    maps the core's thread numbers to the profile's.
    """
    parts: dict[Key, list[Code]] = {}
    for code in codes:
        parts.setdefault(_key(code), []).append(code)
    return tuple(
        _function(name, group, scale, threads) for name, group in parts.items()
    )


def _function(
    key: Key, codes: Sequence[Code], scale: Scale, threads: Mapping[int, int]
) -> FunctionStats:
    file, line, name = key
    total = sum(scale.net_ns(code[2], code[3]) for code in codes)
    return FunctionStats(
        file=file,
        name=name,
        line=line,
        cells=tuple(
            Cell(
                line=number,
                thread=threads.get(thread, UNKNOWN_THREAD),
                hits=hits,
                time_ns=scale.net_ns(ticks, cost),
                await_ns=scale.ns(awaited),
                raw_ns=scale.ns(ticks),
                min_ns=None if least < 0 else scale.net_ns(least, weight),
                max_ns=None if most < 0 else scale.net_ns(most, weight),
            )
            for code in codes
            for number, thread, hits, ticks, cost, awaited, least, most, weight in (
                code[5]
            )
        ),
        calls=sum(code[1] for code in codes),
        recursive_ns=total if any(code[4] for code in codes) else None,
    )


def _places(codes: Sequence[Code]) -> dict[int, int]:
    """Return the place of each of the core's threads that ran profiled lines."""
    used = {line[1] for code in codes for line in code[5]} - {UNKNOWN_THREAD}
    return {thread: place for place, thread in enumerate(sorted(used))}


def _threads(
    known: Sequence[tuple[int, str]], places: Iterable[int], names: Mapping[int, str]
) -> Iterator[Thread]:
    """Yield the threads of the core's numbers in `places`, in that order.

    `known` has the core's native ids and names of when the threads were first
    seen; `names` what those that still run are called now.
    """
    for number in places:
        native_id, name = known[number]
        yield Thread(process=0, native_id=native_id, name=names.get(native_id) or name)
