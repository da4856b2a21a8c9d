"""Fields of records: code uses them by name, never by position."""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import TYPE_CHECKING, Any

import example_calls
import example_gpu
import pytest
from example_stats import everything

from lineprof.line_stats import LineStats
from lineprof.model.gpu import GpuDevice, GpuPath, GpuRun, GpuSum
from lineprof.model.records import (
    CallNode,
    LineBreakdown,
    LineTotals,
    Process,
    SourceFile,
    Thread,
    ThreadLine,
    Wait,
)
from lineprof.model.time_split import TimeSplit
from lineprof.recording.calibration import Costs, set_costs
from lineprof.storage import load, save

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = (
    *(
        ThreadLine,
        LineTotals,
        Process,
        Thread,
        SourceFile,
        CallNode,
        Wait,
        LineBreakdown,
        TimeSplit,
        Costs,
    ),
    *(GpuDevice, GpuPath, GpuRun, GpuSum),
)


def reordered(kind: Any) -> Any:
    """Return a class like `kind`, with a new field first and the others reversed."""
    fields = ("added", *reversed(kind._fields))
    defaults = {"added": 0, **dict.fromkeys(kind._fields), **kind._field_defaults}
    plain = namedtuple(kind.__name__, fields, defaults=[defaults[f] for f in fields])  # type: ignore[misc]
    own = {name: value for name, value in vars(kind).items() if name == "time_ns"}
    return type(kind.__name__, (plain,), own if kind is TimeSplit else {})


def named(value: Any) -> Any:
    """Return `value` with a dict in place of each record in it."""
    if hasattr(value, "_asdict"):
        fields = value._asdict()
        fields.pop("added", None)
        return {name: named(fields[name]) for name in sorted(fields)}
    if isinstance(value, (tuple, list)):
        return [named(one) for one in value]
    if isinstance(value, dict):
        return {key: named(one) for key, one in value.items()}
    return value


@pytest.fixture
def reordered_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reorder the fields of all record classes, and add a field in front."""
    import lineprof.storage.reader  # noqa: PLC0415  # `load` imports it late
    import lineprof.storage.reader_gpu  # noqa: F401, PLC0415

    others = {kind: reordered(kind) for kind in RECORDS}
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
    return stats


@pytest.mark.parametrize("kind", ["gpu", "calls"])
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
        "added"
    }
    assert named(everything(first)) == named(everything(example(kind)))
    found = LineStats.from_stats_objects(first, load(file))
    assert named(everything(found)) == named(everything(expected))
    assert named(found.breakdowns) == named(expected.breakdowns)
    assert [named(one.rows) for one in found.functions] == rows
    save(first, again)
    assert named(everything(load(again))) == named(everything(first))


@pytest.mark.usefixtures("reordered_records")
def test_the_core_gets_each_cost_at_its_position() -> None:
    numbers = {name: place for place, name in enumerate(Costs._fields)}
    given: list[int] = []

    class Core:
        def set_costs(self, *costs: int) -> None:
            given.extend(costs)

    set_costs(Core(), reordered(Costs)(**numbers))  # type: ignore[arg-type]
    assert given == list(range(len(numbers)))
