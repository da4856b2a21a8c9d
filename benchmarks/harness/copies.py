"""Copies of the workloads: each tool gets code objects of its own."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType, ModuleType

HOME = Path(__file__).resolve().parent.parent / "workloads"
FAR = 300


@dataclass(frozen=True)
class Workload:
    """A program of `workloads/`, below `shift` lines of comment."""

    title: str
    name: str
    shift: int = 0


WORKLOADS = (
    Workload("tight loop", "tight_loop"),
    Workload("tight loop, line > 256", "tight_loop", FAR),
    Workload("two tiny callees a line", "small_callees"),
    Workload("heavy plain helper", "heavy_helper"),
    Workload("recursion", "recursion"),
    Workload("generators", "generators"),
    Workload("coroutines", "coroutines"),
    Workload("lines of 5 µs", "long_lines"),
    Workload("script, 1 of 10 functions", "script"),
    Workload("call of two lines, per call", "tiny_calls"),
)


@dataclass
class Copies:
    """Modules made from workloads, each from a file of its own in `folder`."""

    folder: Path
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def load(self, workload: Workload) -> ModuleType:
        """Import a new copy; its file stays in the folder, where tools can read it."""
        text = (HOME / f"{workload.name}.py").read_text(encoding="utf-8")
        name = f"{workload.name}_{next(self.numbers)}"
        path = self.folder / f"{name}.py"
        path.write_text("# far down\n" * workload.shift + text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            message = f"cannot load {path}"
            raise ImportError(message)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def profiled(module: ModuleType) -> list[Callable[..., object]]:
    """Return the functions of a workload that are to be profiled."""
    return [getattr(module, name) for name in module.PROFILED]


def decorate(
    module: ModuleType,
    decorator: Callable[[Callable[..., object]], Callable[..., object]],
) -> None:
    """Decorate the functions of a workload that are to be profiled."""
    for name in module.PROFILED:
        setattr(module, name, decorator(getattr(module, name)))


def count_events(module: ModuleType) -> int:
    """Count the line events of the profiled functions in one round."""
    codes: set[CodeType] = {f.__code__ for f in profiled(module)}
    events = 0

    def local(_frame: FrameType, event: str, _arg: object) -> Any:  # noqa: ANN401 - a tracer gives itself
        nonlocal events
        events += event == "line"
        return local

    def trace(frame: FrameType, _event: str, _arg: object) -> Any:  # noqa: ANN401 - as sys.settrace has it
        return local if frame.f_code in codes else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        module.run()
    finally:
        sys.settrace(before)
    return events
