"""Profilers and baselines that are compared, all with the same methods.

A tool is made for one copy of one workload.  `start` and `stop` are called before and
after every timed round, outside the measured time; `close` removes every trace of it.
"""

from __future__ import annotations

import cProfile
import gc
import importlib
import importlib.util
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from harness import baselines, copies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    Function = Callable[..., object]

MONITORING = sys.version_info >= (3, 12)
BASELINE_TOOL_ID = 5


class Tool(Protocol):
    """One tool, ready to measure one copy of a workload."""

    def start(self) -> None:
        """Prepare a round."""

    def stop(self) -> None:
        """Restore the interpreter to the state of a plain run."""

    def close(self) -> None:
        """Release everything."""


class Lineprof:
    """lineprof: as a decorator, or with functions registered by `add_function`."""

    def __init__(self, module: ModuleType, *, core: str, how: str) -> None:
        """Make the tool for one copy of a workload."""
        self.module, self.core, self.how = module, core, how
        self.plain = {name: getattr(module, name) for name in module.PROFILED}
        # From 3.12 on this hook traces as long as a profiler exists.
        self.is_per_round = core == "settrace" and MONITORING
        self.profiler: Any = None
        if not self.is_per_round:
            self.open()

    def open(self) -> None:
        """Make a profiler and register the functions."""
        profiler = importlib.import_module("lineprof.recording.profiler")
        self.profiler = profiler.LineProfiler(core=self.core)
        if self.how == "decorate":
            copies.decorate(self.module, self.profiler)
        else:
            for function in copies.profiled(self.module):
                self.profiler.add_function(function)

    def start(self) -> None:
        """Turn the profiler on, as a run under kernprof has it."""
        if self.profiler is None:
            self.open()
        self.profiler.enable()

    def stop(self) -> None:
        """Turn the profiler off."""
        self.profiler.disable()
        if self.is_per_round:
            self.close()

    def close(self) -> None:
        """Release the profiler, so that it ends."""
        vars(self.module).update(self.plain)
        self.profiler = None
        gc.collect()


class LineProfiler:
    """line_profiler: its decorator turns it on in every outermost call."""

    def __init__(self, module: ModuleType) -> None:
        """Make the tool for one copy of a workload."""
        copies.decorate(module, importlib.import_module("line_profiler").LineProfiler())

    def start(self) -> None:
        """Do nothing: the decorator turns it on and off."""

    def stop(self) -> None:
        """Do nothing: the decorator turns it on and off."""

    def close(self) -> None:
        """Do nothing."""


class Coverage:
    """coverage with its C tracer: neither counts nor times."""

    def __init__(self, module: ModuleType) -> None:
        """Make the tool for one copy of a workload."""
        coverage = importlib.import_module("coverage")
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, include=[module.__file__]
        )
        self.coverage.set_option("run:core", "ctrace")

    def start(self) -> None:
        """Start tracing."""
        self.coverage.start()

    def stop(self) -> None:
        """Stop tracing."""
        self.coverage.stop()

    def close(self) -> None:
        """Remove the data."""
        self.coverage.erase()


class CProfile:
    """cProfile: calls only, no lines."""

    def __init__(self) -> None:
        """Make the tool for one copy of a workload."""
        self.profile = cProfile.Profile()

    def start(self) -> None:
        """Start counting calls."""
        self.profile.enable()

    def stop(self) -> None:
        """Stop counting calls."""
        self.profile.disable()

    def close(self) -> None:
        """Do nothing."""


class SettraceBaseline:
    """Baseline: a C trace function that does nothing, during the whole round."""

    def __init__(self, folder: Path) -> None:
        """Make the tool for one copy of a workload."""
        self.module = baselines.load(folder, "baseline_settrace")

    def start(self) -> None:
        """Install the trace function."""
        self.module.on()

    def stop(self) -> None:
        """Remove the trace function."""
        self.module.off()

    def close(self) -> None:
        """Do nothing."""


class MonitoringBaseline:
    """Baseline: C callbacks that do nothing, for the events of a line profiler."""

    def __init__(self, module: ModuleType, folder: Path) -> None:
        """Make the tool for one copy of a workload."""
        self.monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        callback = baselines.load(folder, "baseline_monitoring").Callback()
        names = ("LINE", "PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD")
        self.events = [getattr(self.monitoring.events, name) for name in names]
        self.monitoring.use_tool_id(BASELINE_TOOL_ID, "baseline")
        for event in self.events:
            self.monitoring.register_callback(BASELINE_TOOL_ID, event, callback)
        self.codes = [f.__code__ for f in copies.profiled(module)]

    def start(self) -> None:
        """Set the events on the profiled code objects."""
        for code in self.codes:
            self.monitoring.set_local_events(BASELINE_TOOL_ID, code, sum(self.events))

    def stop(self) -> None:
        """Clear the events."""
        for code in self.codes:
            self.monitoring.set_local_events(BASELINE_TOOL_ID, code, 0)

    def close(self) -> None:
        """Release the tool id."""
        for event in self.events:
            self.monitoring.register_callback(BASELINE_TOOL_ID, event, None)
        self.monitoring.free_tool_id(BASELINE_TOOL_ID)


@dataclass(frozen=True)
class Entry:
    """Name of a tool, and a function that makes it for a copy of a workload."""

    name: str
    make: Callable[[ModuleType, Path], Tool]  # the copy; folder of the baselines
    needs: str = ""  # a package
    has_clock: bool = False  # measured with both clocks

    @property
    def missing(self) -> bool:
        """Whether a package that the tool needs is not installed."""
        return bool(self.needs) and importlib.util.find_spec(self.needs) is None


def lineprof(name: str, core: str, how: str = "decorate") -> Entry:
    """Make the entry of lineprof with one of its hooks."""
    return Entry(
        name,
        lambda module, _: Lineprof(module, core=core, how=how),
        needs="lineprof",
        has_clock=True,
    )


def entries() -> list[Entry]:
    """List the tools that this Python can run, baselines first."""
    found = [
        Entry(
            "no-op settrace", lambda _, folder: SettraceBaseline(folder), has_clock=True
        )
    ]
    if MONITORING:
        found += [
            Entry("no-op monitoring", MonitoringBaseline, has_clock=True),
            lineprof("lineprof monitoring", "monitoring"),
            lineprof("lineprof registered", "monitoring", "register"),
        ]
    else:
        found += [lineprof("lineprof registered", "settrace", "register")]
    return [
        *found,
        lineprof("lineprof settrace", "settrace"),
        Entry("line_profiler", lambda module, _: LineProfiler(module), "line_profiler"),
        Entry("coverage", lambda module, _: Coverage(module), "coverage"),
        Entry("cProfile", lambda *_: CProfile()),
    ]
