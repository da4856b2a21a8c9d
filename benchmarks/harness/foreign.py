"""Programs of PyPI's `pyperformance`, run in a small size.

The programs are loaded from the installed package and called directly. A stub takes the
place of `pyperf`, which normally runs them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Program:
    """Name of a benchmark, and a function that runs a small piece of it."""

    name: str
    run: Callable[[Any], object]


def packages() -> Path:
    """Return the benchmarks' folder; `ModuleNotFoundError` without pyperformance."""
    spec = importlib.util.find_spec("pyperformance")
    if spec is None or spec.origin is None:
        message = "pyperformance is not installed: pip install --no-deps pyperformance"
        raise ModuleNotFoundError(message)
    return Path(spec.origin).parent / "data-files" / "benchmarks"


def stub() -> ModuleType:
    """Make a `pyperf` whose clock never advances, so that results can be compared."""
    pyperf = ModuleType("pyperf")
    pyperf.perf_counter = lambda: 0.0  # type: ignore[attr-defined]
    return pyperf


def load(program: Program) -> Any:  # noqa: ANN401 - a module of unknown contents
    """Import a fresh copy of the program from its own file."""
    path = packages() / f"bm_{program.name}" / "run_benchmark.py"
    name = f"pyperformance_{program.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        message = f"cannot load {path}"
        raise ImportError(message)
    module = importlib.util.module_from_spec(spec)
    sys.modules["pyperf"] = stub()
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["pyperf"]
    return module


def execute(program: Program, module: ModuleType) -> tuple[object, str]:
    """Run the program; return its result and its output."""
    random.seed(42)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = program.run(module)
    return result, out.getvalue()


def functions(module: ModuleType) -> Iterator[FunctionType]:
    """Yield every function that the module's file defines, methods included."""
    file = module.__file__
    for value in vars(module).values():
        members = list(vars(value).values()) if isinstance(value, type) else [value]
        for member in members:
            found = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(found, FunctionType) and found.__code__.co_filename == file:
                yield found


def run_to_end(coroutine: Any) -> object:  # noqa: ANN401 - any coroutine
    """Run a coroutine that is never suspended."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration as done:
        return done.value


def chaos(m: Any) -> object:  # noqa: ANN401 - the program's module
    """Draw a small fractal over one spline."""
    points = [m.GVector(1.6, 3.3), m.GVector(1.57, 4.1), m.GVector(1.3, 5.3)]
    points += [m.GVector(1.6, 5.3), m.GVector(2.9, 5.5), m.GVector(2.4, 4.4)]
    spline = m.Spline(points, 3, [0, 0, 0, 1, 1, 1, 2, 2])
    m.Chaosgame([spline], 0.25).create_image_chaos(16, 16, 30, None, 1234)
    return [repr(spline(t / 7)) for t in range(7)]


def nbody(m: Any) -> object:  # noqa: ANN401
    """Move the planets a few steps."""
    m.bench_nbody(1, "sun", 40)
    return m.report_energy()


def go(m: Any) -> object:  # noqa: ANN401
    """Choose a move after two games."""
    m.GAMES = 2
    return m.versus_cpu()


def spectral_norm(m: Any) -> object:  # noqa: ANN401
    """Multiply small matrices."""
    m.DEFAULT_N = 6
    return m.bench_spectral_norm(1), m.eval_AtA_times_u([1.0] * 6)


def scimark(m: Any) -> object:  # noqa: ANN401
    """Run each kernel once."""
    m.bench_SOR(1, 6, 2, m.Array2D)
    m.bench_LU(1, 6)
    m.bench_FFT(1, 16, 1)
    m.bench_SparseMatMult(2, 10, 50)
    return m.MonteCarlo(100)


def comprehensions(m: Any) -> object:  # noqa: ANN401
    """Sort some widgets."""
    return repr(m.WidgetTray(1, m.make_some_widgets()).sorted_widgets)


def async_tree(m: Any) -> object:  # noqa: ANN401
    """Gather a small tree of tasks in a real event loop."""
    m.NUM_RECURSE_BRANCHES = 3
    m.NUM_RECURSE_LEVELS = 3
    return m.asyncio.run(m.NoneAsyncTree().run())


def raytrace(m: Any) -> object:  # noqa: ANN401
    """Render a few rays."""
    m.bench_raytrace(1, 5, 5, None)
    return repr(m.Point(1, 2, 3) - m.Point(3, 2, 1))


PROGRAMS = (
    Program("async_tree", async_tree),
    Program("chaos", chaos),
    Program("comprehensions", comprehensions),
    Program("coroutines", lambda m: run_to_end(m.fibonacci(9))),
    Program("deltablue", lambda m: m.delta_blue(8)),
    Program("fannkuch", lambda m: m.fannkuch(5)),
    Program("float", lambda m: repr(m.benchmark(300))),
    Program("generators", lambda m: list(m.tree(range(200)))),
    Program("go", go),
    Program("hexiom", lambda m: m.main(1, 2)),
    Program("nbody", nbody),
    Program("nqueens", lambda m: list(m.n_queens(5))),
    Program("raytrace", raytrace),
    Program("richards", lambda m: m.Richards().run(1)),
    Program("scimark", scimark),
    Program("spectral_norm", spectral_norm),
    Program("unpack_sequence", lambda m: m.bench_all(2)),
)
