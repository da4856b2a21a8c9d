"""Time of a single short line: the true time, and the time that a profiler reports."""

from __future__ import annotations

import importlib.util
import itertools
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness import pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

MANY = 40
ROUNDS = 3
NUMBER = itertools.count()


@dataclass(frozen=True)
class Line:
    """A statement, and whether the error of its reported time has a bound."""

    text: str
    has_bound: bool = False
    loops: int = 1500  # so that a run takes a millisecond or so


LINES = (
    Line("y = 1"),
    Line("y = x + 1", has_bound=True),
    Line('d["k"] = x'),
    Line("y = abs(x)"),
    Line("y = sum(t)", loops=60),
    Line("y = p.b", has_bound=True),
    Line("p.b = x"),
    Line("y = range"),
    Line("y = t[1]"),
    Line("y = t[1:3]", has_bound=True),
    Line("y = d.get(1)"),
)


def program(line: Line) -> str:
    """Return two functions: `many` has the line 40 times in a loop, `half` 20 times."""
    head = "    d = {}\n    t = tuple(range(100))\n    x = 3\n"
    head += "    p = type('Place', (), {})()\n    p.b = 1\n"
    loop = f"    for _ in range({line.loops}):\n"
    body = f"        {line.text}\n"
    return (
        f"def many():\n{head}{loop}{body * MANY}\n\n"
        f"def half():\n{head}{loop}{body * (MANY // 2)}"
    )


def load(line: Line, folder: Path) -> ModuleType:
    """Import a new copy of the line's program."""
    name = f"line_{next(NUMBER)}"
    path = folder / f"{name}.py"
    path.write_text(program(line), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        message = f"cannot load {path}"
        raise ImportError(message)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def true_ns(line: Line, plain: ModuleType) -> float:
    """Return the time of one execution of the line without a profiler, in ns."""
    differences = [
        pairs.calm(plain.many) - pairs.calm(plain.half) for _ in range(ROUNDS)
    ]
    return statistics.median(differences) / (MANY // 2) / line.loops


def sample(line: Line, make: Callable[[], Any], folder: Path) -> tuple[float, float]:
    """Return the true and the reported time of one execution of the line, in ns."""
    plain, module = load(line, folder), load(line, folder)
    plain.many()
    plain.half()
    before = true_ns(line, plain)
    profiler = make()
    profiler.add_function(module.many)
    with profiler:
        pairs.calm(module.many, before=profiler.reset)
    rows = profiler.get_stats().functions[0].rows
    del profiler  # some hooks trace as long as a profiler exists
    reported = [row.time_ns / row.hits for row in rows[-MANY:]]
    return (before + true_ns(line, plain)) / 2, statistics.median(reported)


def measure(
    line: Line,
    profiler_of: Callable[[str], Any],
    core: str,
    folder: Path,
    samples: int,
) -> tuple[float, float, float]:
    """Return true time, reported time and error of a line: median ns of samples."""

    def taken() -> Iterator[tuple[float, float]]:
        for _ in range(samples):
            yield sample(line, lambda: profiler_of(core), folder)

    both = list(taken())
    truth = statistics.median(true for true, _ in both)
    reported = statistics.median(said for _, said in both)
    error = statistics.median(said - true for true, said in both)
    return truth, reported, error
