"""Records are built and taken apart by the names of their fields, never by position."""

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
    """Return a class like `kind`, its fields in reverse order after a new one."""
    fields = ("added", *reversed(kind._fields))
    defaults = {"added": 0, **dict.fromkeys(kind._fields), **kind._field_defaults}
    plain = namedtuple(kind.__name__, fields, defaults=[defaults[f] for f in fields])  # type: ignore[misc]
    own = {name: value for name, value in vars(kind).items() if name == "time_ns"}
    return type(kind.__name__, (plain,), own if kind is TimeSplit else {})


def named(value: Any) -> Any:
    """Return `value` with every record in it as a dict."""
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
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the fields of all records into another order, with one more in front."""
    import lineprof.storage.reader  # noqa: PLC0415  # which `load` imports late
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
    request.getfixturevalue("elsewhere")
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


@pytest.mark.usefixtures("elsewhere")
def test_the_core_has_each_cost_in_its_place() -> None:
    numbers = {name: place for place, name in enumerate(Costs._fields)}
    given: list[int] = []

    class Core:
        def set_costs(self, *costs: int) -> None:
            given.extend(costs)

    set_costs(Core(), reordered(Costs)(**numbers))  # type: ignore[arg-type]
    assert given == list(range(len(numbers)))
