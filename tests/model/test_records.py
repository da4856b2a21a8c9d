"""Records are built and taken apart by the names of their fields, never by position."""

from __future__ import annotations

import json
import pkgutil
import sys
from array import array
from collections import namedtuple
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import example_calls
import example_gpu
import example_memory
import pytest
from core_profiles import profile_of
from example_stats import everything
from report_page import Page

from lineprof.export import EXPORTS
from lineprof.line_stats import LineStats
from lineprof.model.gpu import GpuRun
from lineprof.model.records import CallNodes, LineBreakdown
from lineprof.model.timelines import SLICE_COLUMNS, EventRow, Launch, Trace, pack_slices
from lineprof.recording.calibration import Costs, set_costs
from lineprof.report import VIEWS, Options
from lineprof.snapshot.call_paths import PathRow
from lineprof.snapshot.gpu import DeviceRow, SumRow, Taken, baseline_of
from lineprof.snapshot.profile import (
    CodeRow,
    LineRow,
    RawTrace,
    TickScale,
    TraceWindows,
    WaitRow,
)
from lineprof.source import Sources
from lineprof.storage import load, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lineprof.model.profile import Profile

ROOMS = ("model", "snapshot", "storage", "report", "export")


def records() -> Iterator[Any]:
    """Yield all named tuples of the rooms below recording; import all of these."""
    for room in ROOMS:
        package = import_module(f"lineprof.{room}")
        for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for value in vars(import_module(info.name)).values():
                is_record = isinstance(value, type) and hasattr(value, "_make")
                if is_record and value is not EventRow:  # columns are in its order
                    yield value


def reordered(kind: Any) -> Any:
    """Return a class like `kind`, with a new field first and the others reversed."""
    names = ("one_more", *reversed(kind._fields))
    defaults = {"one_more": 0, **dict.fromkeys(kind._fields), **kind._field_defaults}
    plain = namedtuple(kind.__name__, names, defaults=[defaults[f] for f in names])  # type: ignore[misc]
    own = {
        name: value
        for name, value in vars(kind).items()
        if isinstance(value, (FunctionType, property))
        and not (name in vars(plain) or name.startswith("__"))
    }
    return type(kind.__name__, (plain,), own)


def named(value: Any) -> Any:
    """Return `value` with every record and dataclass in it as a dict."""
    if hasattr(value, "_asdict"):
        return named(value._asdict())
    if is_dataclass(value):
        return {
            field.name: named(getattr(value, field.name)) for field in fields(value)
        }
    if isinstance(value, (tuple, list, CallNodes)):
        return [named(one) for one in value]
    if isinstance(value, dict):
        return {key: named(one) for key, one in value.items() if key != "one_more"}
    return value


@pytest.fixture
def reordered_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reorder the fields of all record classes, and add a field in front."""
    others = {kind: reordered(kind) for kind in {*records(), Costs}}
    modules = [sys.modules[name] for name in sorted(sys.modules)]
    for module in modules:
        if module.__name__.startswith("lineprof."):
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value in others:
                    monkeypatch.setattr(module, name, others[value])


def example(kind: str) -> LineStats:
    stats = example_gpu.example() if kind == "gpu" else example_calls.example()
    key = stats.functions[0].key
    stats.breakdowns = (LineBreakdown(key, key[1] + 1, 0, "system", 12),)
    rows = {
        "thread": (0, 0, 0, 0),
        "function": (0, 0, 1, 0),
        "line": (0, key[1] + 1, 0, key[1] + 2),
        "start": (5_000_100, 5_000_101, 5_000_103, 5_000_020),
        "ns": (90, 80, 70, 30),
    }
    columns = {
        name: array(SLICE_COLUMNS[name], one).tobytes() for name, one in rows.items()
    }
    trace = Trace(
        process=0,
        count=4,
        left_out=3,
        origin_ns=5_000_000,
        functions=(key, stats.functions[1].key),
        threads=(0,),
        batches=pack_slices(columns),
    )
    stats.traces = (trace,)
    if kind == "memory":
        stats.memory = example_memory.of(key)
    return stats


@pytest.mark.parametrize("kind", ["gpu", "calls", "memory"])
def test_files_and_sums_have_each_number_in_its_field(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    file, again = tmp_path / "a.lprof", tmp_path / "b.lprof"
    save(example(kind), file)
    expected = LineStats.from_stats_objects(load(file), load(file))
    rows = [named(one.rows) for one in expected.functions]
    request.getfixturevalue("reordered_records")
    first = load(file)
    assert {type(c)._fields[0] for f in first.functions for c in f.thread_lines} == {
        "one_more"
    }
    assert named(everything(first)) == named(everything(example(kind)))
    found = LineStats.from_stats_objects(first, load(file))
    assert named(everything(found)) == named(everything(expected))
    assert named(found.breakdowns) == named(expected.breakdowns)
    assert [named(one.rows) for one in found.functions] == rows
    save(first, again)
    assert named(everything(load(again))) == named(everything(first))


@pytest.mark.parametrize("kind", ["gpu", "calls", "memory"])
def test_views_and_exports_show_each_number_in_its_place(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    def shown() -> dict[str, Any]:
        profile = load(tmp_path / "a.lprof")
        sources = Sources(profile.sources)
        found: dict[str, Any] = {
            name: b"".join(one.content(profile)) for name, one in EXPORTS.items()
        }
        for name, view in VIEWS.items():
            options = Options(
                targets=(profile.functions[0].name,),
                columns=("min", "max", "gil", "mpi", "system"),
                gpu_columns=("time", "h2d", "h2d-mb", "mean", "max", "uvm"),
                top_kernels=2,
                occupancy=True,
            )
            found[f"--{name}"] = list(view.render(profile, sources, options))
        found["json"] = named(json.loads(found["json"]))  # in the order of the records
        found["--json"] = named(json.loads("\n".join(found["--json"])))
        page = Page("\n".join(found["--html"]))
        found["--html"] = (named(page.data), page.blocks.keys())
        return found

    save(example(kind), tmp_path / "a.lprof")
    expected = shown()
    request.getfixturevalue("reordered_records")
    assert shown() == expected


def moved(kind: Any, row: tuple[Any, ...]) -> Any:
    """Return a tuple of the core as it would be with its fields in another order."""
    return tuple(reordered(kind)(**dict(zip(kind._fields, row))))


def from_core(ordered: Callable[[Any, tuple[Any, ...]], Any]) -> Profile:
    """Return the profile made of tuples of the core in the order of `ordered`."""
    f, g = ("a.py", 1, "f"), ("a.py", 10, "g")

    def raw(hits: int, busy_ns: int) -> Any:
        sums = [
            (2, 1, 1, 1, 0, 4 * hits, 90 * hits, 4, 9 + hits, 0),
            (1, 0, 2, 2, 0, 2 * hits, 70 * hits, 3, 8 + hits, 640),
            (2, 0, 4, 0, 0, 3 * hits, 60 * hits, 2, 7 + hits, 0),
            (0, 0, 5, 3, 0, hits, 50 * hits, 1, 6, 0),
        ]
        events = [
            (1, 1, 20, 6, 2, 1, 0, 3, 7, 11, 0, 1, 0, 0),
            (2, 2, 10, 5, 1, 0, 0, 3, 8, 12, 64, 0, 0x32, 0),
        ]
        return {
            "paths": [
                ordered(PathRow, one) for one in ((0, 0, 2), (0, 1, 3), (1, 2, 12))
            ],
            "sums": [ordered(SumRow, one) for one in sums],
            "names": ["", "k", "HtoD", "cuLaunchKernel"],
            "events": example_gpu.packed_columns(events[:hits]),
            "launches": [
                ordered(Launch, one)
                for one in ((0,) * 9, (4, 3, 2, 64, 5, 6, 32, 1024, 2048))
            ],
            "devices": [ordered(DeviceRow, (0, "H200", busy_ns, True, {"sms": 132}))],
            "origin_ns": example_gpu.ORIGIN_NS,
            "cut_ns": 77,
            "waits": {"path": b"", "start": b"", "ns": b""},
            "memory": None,
            **{name: place + hits for place, name in enumerate(COUNTS)},
        }

    lines = [(2, 1, 3, 400, 20, 5, 60, 90, 1), (3, 0, 1, 80, 2, 0, 80, 80, 1)]
    code = (f, 2, 500, 30, 1, [ordered(LineRow, one) for one in lines], 1)
    plain = ((*g, "copy"), 1, 50, 4, 0, [ordered(LineRow, (12, 1, 1, 40, *[0] * 5))], 2)
    nodes = [
        (-1, 0, 1, 1, 3, 2, 300, 9, 480, 20, 490, 22),
        (0, 2, 2, 1, 2, 1, 40, 3, 45, 4, 50, 5),
        (0, 2, 2, 1, 5, 4, 41, 2, 46, 3, 51, 4),
    ]
    tracer = SimpleNamespace(
        trace_windows=lambda _wanted, _max: ordered(
            TraceWindows, (900, 7, [0, 500, 900])
        ),
        trace_slices=lambda _wanted, until, low, high, _scale: tuple(
            array(kind, [value]).tobytes()
            for kind, value in zip(SLICE_COLUMNS.values(), (1, 0, 2, until + low, high))
        ),
    )
    return profile_of(
        [(700, "idle"), (701, "main")],
        [ordered(CodeRow, code), ordered(CodeRow, plain)],
        TickScale(ns_per_tick=3 << 31, cost_one=2),
        example_gpu.PROCESS,
        gpu=Taken(
            run=GpuRun(0, "cupti", "it is there", present=True),
            raw=raw(2, 900),
            baseline=baseline_of(raw(1, 300)),
        ),
        calls=(1, nodes),
        trace=RawTrace(
            core=SimpleNamespace(  # type: ignore[arg-type]
                monotonic_ns=lambda ticks, _: ticks, trace_full=lambda: 800
            ),
            tracer=tracer,  # type: ignore[arg-type]
            began=5,
            origin_ns=3,
            memory_mb=64,
        ),
        waits=[ordered(WaitRow, (1, 2, 1, place, 10 + place)) for place in range(9)],
        own_times=True,
    )


COUNTS = ("dropped", "invalid", "outstanding", "left_out", "version")
COUNTS += ("realigned", "undated", "unfinished", "foreign_buffers", "taken")


def test_profiles_have_each_number_of_the_core_in_its_field(
    request: pytest.FixtureRequest,
) -> None:
    made = from_core(lambda _, row: row)
    expected = named(everything(made)), named(made.breakdowns)
    assert made.gpu.sums
    assert made.gpu.timelines
    request.getfixturevalue("reordered_records")
    again = from_core(moved)
    assert type(again.gpu.sums[0])._fields[0] == "one_more"
    assert (named(everything(again)), named(again.breakdowns)) == expected


@pytest.mark.usefixtures("reordered_records")
def test_the_core_has_each_cost_in_its_place() -> None:
    numbers = {name: place for place, name in enumerate(Costs._fields)}
    given: list[int] = []

    class Core:
        def set_costs(self, *costs: int) -> None:
            given.extend(costs)

    set_costs(Core(), reordered(Costs)(**numbers))  # type: ignore[arg-type]
    assert given == list(range(len(numbers)))
