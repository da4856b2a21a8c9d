"""LineProfiler: registers functions, switches the core on and off, reads it out."""

from __future__ import annotations

import sys
from types import FunctionType

from lineprof import _core
from lineprof.calibrate import remeasure
from lineprof.cores import open_core, wanted_core
from lineprof.gpu import gpu_status, open_ranges
from lineprof.gpu_work import GpuWork
from lineprof.register import add_code
from lineprof.run import Run
from lineprof.twins import Twins, identity, twin_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from types import TracebackType
    from typing import Any, Callable, TextIO, TypeVar, Union

    from lineprof.gpu import GpuOptions, GpuStatus
    from lineprof.stats import LineStats

    F = TypeVar("F", bound=Callable[..., Any])
    T = TypeVar("T")
    Self = TypeVar("Self", bound="LineProfiler")
    Path = Union[str, "os.PathLike[str]"]


def _functions_of(target: object) -> Iterable[FunctionType]:
    """Return the Python functions that a call of `target` runs."""
    if isinstance(target, FunctionType):
        return (target,)
    from lineprof.targets import functions_of  # noqa: PLC0415  # seldom needed

    return tuple(functions_of(target))


def held_tool_ids() -> set[int]:
    """Return the ids of ``sys.monitoring`` that lineprof holds just now."""
    if _core.hook() != "monitoring":
        return set()
    get_tool = sys.monitoring.get_tool  # type: ignore[attr-defined]
    return {number for number in range(6) if get_tool(number) == "lineprof"}


def start() -> None:
    """Count lines and GPU work from now on, after `stop`; as cudaProfilerStart does.

    Functions under way count from their next line on.
    """
    _core.collect(True)


def stop() -> None:
    """Count nothing from now on, in any profiler, until `start`.

    Lines under way end here; by cudaProfilerStop, those of its thread alone.
    """
    _core.collect(False)


class LineProfiler:
    """Counts and times the lines of the functions that are registered with it.

    ``LineProfiler(f, g)`` registers `f` and `g`; calling the profiler
    decorates a function. Lines are counted while the profiler is enabled:
    for the length of a decorated call, inside ``with profiler:``, or between
    `enable` and `disable`.

    `core` says where events come from: "monitoring" (Python 3.12 and later),
    "settrace", or "auto"; None takes the environment's ``LINEPROF_CORE``. `clock`
    is for tests: a capsule "lineprof.clock" with a C function that gives ns.
    `gpu` is "auto" (record GPU work where there is a GPU), "nvtx" (ranges for
    other tools alone), "off", or a `lineprof.gpu.GpuOptions`; `nvtx` is "auto",
    "line", "func" or "off". None takes ``LINEPROF_GPU``, ``LINEPROF_NVTX``. What
    a profiler has once had recorded of a GPU is so for all of the process.

    Raises LineprofError when the core cannot be had.
    """

    exit = ""  # how the program ended, for the profile: set by who runs it
    from_start = True  # False where the program is to say when to count

    def __init__(
        self,
        *functions: object,
        core: str | None = None,
        clock: object = None,
        gpu: GpuOptions | str | None = None,
        nvtx: str | None = None,
    ) -> None:
        """Register `functions` and choose the core; nothing is counted yet."""
        self.functions: list[Any] = []
        self._warnings: list[str] = []
        self._twins = Twins()
        self.texts: Mapping[str, str] = {}  # of no file (``python -c``), by its name
        self._known: set[tuple[object, ...]] = set()
        self._run = Run(_core)
        opened = open_core(_core, core or wanted_core(), clock)
        self._tracer, self._calibration = opened.tracer, opened.calibration
        self._run.opened()
        self.core, self.core_reason = opened.name, opened.reason
        self.clock, self.clock_reason = _core.clock()
        open_ranges(_core, nvtx)
        self._gpu = GpuWork(_core, gpu)
        for function in functions:
            self.add_function(function)

    # -- what is counted --------------------------------------------------------

    def __call__(self, func: F) -> F:
        """Decorate `func`: its lines count whenever it is called.

        Functions, methods, generators, coroutines, properties, partial
        objects and classes (whose members are decorated in place) are
        understood; a callable without Python code comes back as it is.
        Decorating twice gives the same object.
        """
        if isinstance(func, FunctionType):
            return self._decorated(func)  # type: ignore[return-value]
        from lineprof.targets import rewrap  # noqa: PLC0415  # seldom needed

        return rewrap(func, self._wrap)  # type: ignore[no-any-return]

    def _wrap(self, func: Any) -> Any:  # noqa: ANN401
        if isinstance(func, FunctionType):
            return self._decorated(func)
        # A cache, an object with __call__: it stays, what it calls is watched.
        for function in _functions_of(func):
            if self._add(function):
                self._tracer.set_enabling(function.__code__)
        return func

    def _decorated(self, func: FunctionType) -> FunctionType:
        """Return a twin of `func` with a code object of its own.

        Calls of the twin enable the profiler: by its code object the core
        tells them from calls of `func`. There is nothing in between that a
        call, a traceback or `inspect` would have to pass.
        """
        code = func.__code__
        if self._tracer.is_enabling(code) or not self._add(func):
            return func
        twin = self._twins.get(code)
        if not self._tracer.is_enabling(twin):
            key = (*identity(twin), "twin")
            for tracer, enabling in _core.tracers_of(code):
                add_code(tracer, twin, key, self.texts.get(code.co_filename))
                if enabling or tracer is self._tracer:
                    tracer.set_enabling(twin)
        return twin_function(func, twin)

    def add_function(self, func: object) -> None:
        """Count the lines of `func` whenever the profiler is enabled.

        Nothing is wrapped: every caller's calls count, on every thread.
        Raises TypeError when `func` has no Python code.
        """
        functions = _functions_of(func)
        if not functions:
            msg = f"{func!r} has no Python code whose lines could be counted"
            raise TypeError(msg)
        for function in functions:
            self._add(function)

    def _add(self, function: FunctionType) -> bool:
        """Register a function; False when its lines can't be counted."""
        code = function.__code__
        if self._tracer.has_code(code):
            return True
        _core.set_strict("greenlet" in sys.modules)
        text = self.texts.get(code.co_filename)
        if not add_code(self._tracer, code, identity(code), text):
            self._warnings.append(
                f"{code.co_filename}:{code.co_firstlineno} {code.co_name}: "
                "its lines can't be counted, their numbers make no sense"
            )
            return False
        if (key := identity(code)) not in self._known:
            self._known.add(key)
            self.functions.append(function)
        return True

    # -- on and off ---------------------------------------------------------------

    @property
    def gpu_status(self) -> GpuStatus:
        """Whether GPU work is recorded, and why."""
        return gpu_status()

    @property
    def enable_count(self) -> int:
        """How many decorated calls and ``with`` blocks are under way."""
        return self._tracer.enable_count

    def enable(self) -> None:
        """Count from now on, in every thread."""
        _core.set_strict("greenlet" in sys.modules)
        self._tracer.enable()

    def disable(self) -> None:
        """Stop counting, whatever was enabled before; lines under way end here."""
        self._tracer.disable()

    def enable_by_count(self) -> None:
        """Enable, unless it is enabled; each call wants a `disable_by_count`."""
        self._tracer.enable_by_count()

    def disable_by_count(self) -> None:
        """Undo one `enable_by_count`; the last one disables."""
        self._tracer.disable_by_count()

    def __enter__(self: Self) -> Self:
        """Enable for the length of a ``with`` block."""
        self.enable_by_count()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Disable again."""
        self.disable_by_count()

    def runcall(self, func: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:  # noqa: ANN401
        """Return ``func(*args, **kwargs)``, counted."""
        with self:
            return func(*args, **kwargs)

    def runctx(
        self: Self,
        cmd: str,
        globals: dict[str, Any],  # noqa: A002
        locals: dict[str, Any],  # noqa: A002
    ) -> Self:
        """Run the statements `cmd` in these namespaces, counted; returns self."""
        with self:
            exec(cmd, globals, locals)  # noqa: S102
        return self

    def run(self: Self, cmd: str) -> Self:
        """Run the statements `cmd` in ``__main__``, counted; returns self."""
        import __main__  # noqa: PLC0415

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    # -- results ------------------------------------------------------------------

    timer_unit = 1e-9  # seconds in a tick of get_stats().timings

    def reset(self) -> None:
        """Forget all that was counted; functions stay registered."""
        self._tracer.reset()
        self._gpu.restart()

    def get_stats(self) -> LineStats:
        """Return all that was counted so far, times in ns.

        Lines that are under way count up to now.
        """
        from lineprof.snapshot import Scale, profile_of  # noqa: PLC0415  # at the end

        gpu = self._gpu.take()
        holds = remeasure(_core, self.core, self._calibration)
        ids, codes = self._tracer.snapshot()
        scale = Scale(_core.scale(), _core.COST_ONE, holds)
        core, cost = (self.core, self.core_reason), scale.cost_ns(self._run.cost)
        run = self._run.process(core=core, overhead_ns=cost, end=self.exit)
        said = self._run.warnings(self.functions, from_start=self.from_start)
        warnings = [*self._warnings, *said]
        return profile_of(ids, codes, scale, run, warnings=warnings, gpu=gpu)

    def dump_stats(self, filename: Path) -> None:
        """Write a profile file; LineprofError when that fails."""
        self.get_stats().to_file(filename)

    def print_stats(  # noqa: PLR0913, PLR0917  # line_profiler's signature
        self,
        stream: TextIO | None = None,
        output_unit: float | None = None,
        stripzeros: bool = False,  # noqa: FBT001, FBT002
        details: bool = True,  # noqa: FBT001, FBT002
        summarize: bool = False,  # noqa: FBT001, FBT002
        sort: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        """Print the tables; `output_unit` in seconds, to `stream` or stdout."""
        self.get_stats().print(
            stream=stream,
            output_unit=output_unit,
            stripzeros=stripzeros,
            details=details,
            summarize=summarize,
            sort=sort,
        )
