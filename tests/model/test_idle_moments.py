"""Idle time of random timelines and traces, compared with a sum over each moment."""

from __future__ import annotations

import random
from array import array
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from lineprof.model.gpu import (
    KERNEL,
    KINDS,
    NO_PATH,
    WAIT,
    Gpu,
    GpuPath,
    GpuRun,
)
from lineprof.model.gpu_idle import Causes, device_idle
from lineprof.model.timelines import (
    EVENT_COLUMNS,
    SLICE_COLUMNS,
    UNSURE_COLUMN,
    WAIT_COLUMN,
    Launch,
    Timeline,
    Trace,
    pack_events,
    pack_slices,
)
from lineprof.snapshot.arithmetic import idle_sums

FUNCTIONS = tuple(("f.py", 10 * number, f"f{number}") for number in range(3))
END = 400  # of the axis


class Event(NamedTuple):
    """A kernel or a wait."""

    kind: str
    start: int
    ns: int
    path: int = NO_PATH
    launched: int = 0
    device: int = 0


class Slice(NamedTuple):
    """Time in a function, or on a line of it."""

    start: int
    ns: int
    function: int
    line: int


def timeline(events: list[Event]) -> Timeline:
    columns = {name: array(kind) for name, kind in EVENT_COLUMNS.items()}
    for one in events:
        values = {**one._asdict(), "kind": KINDS.index(one.kind), "path": one.path + 1}
        for name, column in columns.items():
            column.append(values.get(name, 0))
    return Timeline(
        process=0,
        count=len(events),
        origin_ns=0,
        first_path=0,
        names=("",),
        launches=(Launch(*[0] * 9),),
        batches=pack_events({name: one.tobytes() for name, one in columns.items()}),
    )


def trace(
    slices: list[Slice], waits: list[int], unsure: list[int] | None = None
) -> Trace:
    columns = {name: array(kind) for name, kind in SLICE_COLUMNS.items()}
    for one in slices:
        for name, column in columns.items():
            column.append(getattr(one, name, 0))
    packed = {name: one.tobytes() for name, one in columns.items()}
    packed[WAIT_COLUMN] = array("Q", waits).tobytes()
    if unsure is not None:  # files of earlier versions lack the column
        packed[UNSURE_COLUMN] = array("Q", unsure).tobytes()
    return Trace(
        process=0,
        count=len(slices),
        left_out=0,
        origin_ns=0,
        functions=FUNCTIONS,
        threads=(0,),
        batches=pack_slices(packed),
        min_line_ns=0,
    )


def random_slices(chance: random.Random) -> list[Slice]:
    """Return slices that are nested or apart, in the order of a trace."""
    found: list[Slice] = []

    def fill(start: int, end: int, depth: int, function: int, line: int) -> None:
        found.append(Slice(start, end - start, function, line))
        inner = chance.randrange(len(FUNCTIONS)) if line else function
        at = start
        while depth < 7 and at < end and chance.random() < 0.8:
            begin = chance.randint(at, end)
            at = chance.randint(begin, end)
            if begin < at:
                number = 0 if line else 10 * function + 1 + chance.randrange(3)
                fill(begin, at, depth + 1, inner, number)

    at = 0
    while at < END:
        start = at + chance.randrange(20)
        at = start + 1 + chance.randrange(120)
        fill(start, at, 0, chance.randrange(len(FUNCTIONS)), 0)
    return found


def moments(
    events: list[Event], slices: list[Slice], path: GpuPath
) -> dict[object, list[int]]:
    """Return the whole idle time by place, and what launches and waits have of it."""
    work = sorted((one for one in events if one.kind == KERNEL), key=lambda e: e.start)
    last = max(one.start + one.ns for one in work)
    found: dict[object, list[int]] = {}
    for now in range(work[0].start, last):
        if any(one.start <= now < one.start + one.ns for one in work):
            continue
        ends = next(one for one in work if one.start > now)
        place: object = None
        kind = 0
        if ends.launched and now >= ends.launched:
            place = path.lines[-1] if ends.path != NO_PATH else None
            kind = 1
        elif ends.path == NO_PATH or not ends.launched:
            pass
        elif any(
            one.kind == WAIT and one.start <= now < one.start + one.ns for one in events
        ):
            place, kind = path.lines[-1], 2
        else:
            open_now = [one for one in slices if one.start <= now < one.start + one.ns]
            if open_now:
                place = (FUNCTIONS[open_now[-1].function], open_now[-1].line)
        found.setdefault(place, [0, 0, 0])[kind] += 1
    return found


@pytest.mark.parametrize("seed", range(60))
def test_each_moment_is_charged_to_the_line_that_was_open(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a repeatable sequence
    path = GpuPath(
        thread=0, adopted=False, lines=((FUNCTIONS[0], 1), (FUNCTIONS[1], 11))
    )
    events = []
    # Of two that begin together either one may end the gap.
    for start in chance.sample(range(30, END + 1), chance.randint(1, 12)):
        launched = chance.choice([0, start - chance.randrange(30), start - 5])
        number = chance.choice([0, 0, 0, NO_PATH])
        events.append(Event(KERNEL, start, chance.randrange(25), number, launched))
    at = 0
    while at < END and chance.random() < 0.9:
        start = at + chance.randrange(60)
        at = start + 1 + chance.randrange(20)
        events.append(Event(WAIT, start, at - start, 0))
    chance.shuffle(events)
    slices = random_slices(chance)
    waits = [chance.randint(0, one.ns) if one.line else 0 for one in slices]
    unsure = [chance.randint(0, wait) for wait in waits]
    run = GpuRun(process=0, backend="cupti", reason="", present=True, cut_ns=0)
    profile = SimpleNamespace(
        gpu=Gpu(paths=(path,), runs=(run,), timelines=(timeline(events),)),
        traces=(trace(slices, waits, unsure),),
    )
    [device] = device_idle(profile, idle_sums)  # type: ignore[arg-type]
    expected = moments(events, slices, path)
    nowhere = expected.pop(None, [0, 0, 0])
    assert device.unattributed == Causes(launching=nowhere[1], unknown=nowhere[0])
    assert device.idle_ns == sum(map(sum, expected.values())) + sum(nowhere)
    made = {
        (one.key, one.line): [
            one.causes.computing + one.causes.waiting + one.causes.unknown,
            one.causes.launching,
            one.causes.syncing,
        ]
        for one in device.lines
        if one.causes.total
    }
    assert made == expected


def test_slices_in_any_order_give_the_same() -> None:
    chance = random.Random(5)  # noqa: S311
    by_extent = {(one.start, one.ns): one for one in random_slices(chance)}
    slices = [*by_extent.values()]  # of equal ones the order says which is the outer
    path = GpuPath(thread=0, adopted=False, lines=((FUNCTIONS[0], 1),))
    run = GpuRun(process=0, backend="cupti", reason="", present=True, cut_ns=0)
    events = [Event(KERNEL, 5, 1), Event(KERNEL, 390, 1, 0, 389)]

    def made(ones: list[Slice]) -> object:
        waits = [one.ns // 2 if one.line else 0 for one in ones]
        unsure = [one.ns // 5 if one.line else 0 for one in ones]
        profile = SimpleNamespace(
            gpu=Gpu(paths=(path,), runs=(run,), timelines=(timeline(events),)),
            traces=(trace(ones, waits, unsure),),
        )
        [device] = device_idle(profile, idle_sums)  # type: ignore[arg-type]
        assert device.idle_ns == 384
        return device

    assert made(slices) == made(chance.sample(slices, len(slices)))


def test_a_file_without_the_column_has_only_certain_waits() -> None:
    path = GpuPath(thread=0, adopted=False, lines=((FUNCTIONS[0], 1),))
    run = GpuRun(process=0, backend="cupti", reason="", present=True, cut_ns=0)
    events = [Event(KERNEL, 0, 10), Event(KERNEL, 110, 10, 0, 110)]

    def causes(unsure: list[int] | None) -> Causes:
        profile = SimpleNamespace(
            gpu=Gpu(paths=(path,), runs=(run,), timelines=(timeline(events),)),
            traces=(trace([Slice(10, 100, 0, 1)], [70], unsure),),
        )
        [device] = device_idle(profile, idle_sums)  # type: ignore[arg-type]
        [line] = device.lines
        return line.causes

    assert causes(None) == Causes(computing=30, waiting=70)
    assert causes([60]) == Causes(computing=30, waiting=10, unknown=60)
