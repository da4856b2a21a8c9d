"""LineProfiler: what users decorate with, switch on and off, and read out."""

from __future__ import annotations

import os
from threading import get_ident
from types import FunctionType

from lineprof.legacy import Legacy
from lineprof.switch import held_tool_ids, start, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar

    from lineprof.gpu import GpuOptions
    from lineprof.trace import TraceOptions

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["LineProfiler", "held_tool_ids", "start", "stop"]

# What a subclass may replace: then each decoration calls it.
_STEPS = frozenset(
    (
        *("add_callable", "add_function", "get_underlying_functions"),
        *("wrap_callable", "wrap_function", "wrap_generator", "wrap_coroutine"),
        "wrap_async_generator",
    )
)
# The same for each decorated call.
_SWITCHES = frozenset(("enable", "disable", "enable_by_count", "disable_by_count"))


class LineProfiler(Legacy):
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
    a profiler has once had recorded of a GPU is so for all of the process. With
    `trace`, stays in functions and on lines are kept one by one, for a timeline: a
    `lineprof.trace.TraceOptions` says which; None takes ``LINEPROF_TRACE``.

    `wrap_trace` and `set_frame_local_trace` are line_profiler's, and change
    nothing: other tracers always keep their events.

    Raises LineprofError when the core cannot be had.
    """

    _direct = True  # no subclass has a say in what decorating does,
    _by_code = True  # nor in what a decorated call does,
    _own_switches = False  # nor in what enabling is

    def __init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401
        """Find out which steps the subclass has taken over."""
        super().__init_subclass__(**kwargs)
        place = cls.__mro__.index(LineProfiler)
        own = {name for base in cls.__mro__[:place] for name in vars(base)}
        cls._direct = not own & (_STEPS | _SWITCHES)
        cls._by_code = not own & _SWITCHES
        cls._own_switches = bool(own & {"enable", "disable"})

    def __init__(  # noqa: PLR0913  # ours and line_profiler's
        self,
        *functions: object,
        wrap_trace: bool | None = None,
        set_frame_local_trace: bool | None = None,
        core: str | None = None,
        clock: object = None,
        gpu: GpuOptions | str | None = None,
        nvtx: str | None = None,
        trace: TraceOptions | bool | None = None,
    ) -> None:
        """Register `functions` and choose the core; nothing is counted yet."""
        self._counting: set[int] = set()  # threads: see `_tell`
        if trace or (trace is None and "LINEPROF_TRACE" in os.environ):
            from lineprof.trace import tracing  # noqa: PLC0415  # seldom asked for

            self._timeline = tracing(self._core, trace)
        super().__init__(core, clock, gpu, nvtx)
        if self._timeline is not None:
            self._timeline.begin()
        if wrap_trace is not None:
            self.wrap_trace = wrap_trace
        if set_frame_local_trace is not None:
            self.set_frame_local_trace = set_frame_local_trace
        for function in functions:
            self.add_function(function)

    def enable(self) -> None:
        """Count from now on, in every thread."""
        if get_ident() not in self._counting:
            super().enable()

    def disable(self) -> None:
        """Stop counting, whatever was enabled before; lines under way end here."""
        if get_ident() not in self._counting:
            super().disable()

    def enable_by_count(self) -> None:
        """Enable, unless it is enabled; each call wants a `disable_by_count`."""
        if self._own_switches and not self.enable_count:
            self._tell(self.enable)
        super().enable_by_count()

    def disable_by_count(self) -> None:
        """Undo one `enable_by_count`; the last one disables."""
        before = self.enable_count
        super().disable_by_count()
        if self._own_switches and before == 1:
            self._tell(self.disable)

    def _tell(self, switch: Callable[[], None]) -> None:
        """Call the `enable` or `disable` of a subclass, which calls ours.

        Ours does nothing then: this thread's count is what counts, and other
        threads have theirs.
        """
        self._counting.add(get_ident())
        try:
            switch()
        finally:
            self._counting.discard(get_ident())

    def __call__(self, func: F) -> F:
        """Decorate `func`: its lines count whenever it is called.

        Functions, methods, generators, coroutines, properties, partial
        objects and classes (whose members are decorated in place) are
        understood; a callable without Python code comes back as it is.
        Decorating twice gives the same object. Raises TypeError for what
        cannot be called.
        """
        if (
            self._direct
            and isinstance(func, FunctionType)
            and "__wrapped__" not in func.__dict__
        ):
            if self._tracer.is_enabling(func.__code__) or not self._register(func):
                return func
            return self._twin(func)  # type: ignore[return-value]
        self.add_callable(func)
        return self.wrap_callable(func)  # type: ignore[no-any-return]

    def wrap_callable(self, func: Any) -> Any:  # noqa: ANN401
        """Return `func` such that calls of it enable the profiler.

        As `__call__` does, but nothing is registered. Callables without Python
        code come back as they are. TypeError for what cannot be called.
        """
        if not isinstance(func, (FunctionType, type)) and callable(func):
            from lineprof.kinds import kind_of  # noqa: PLC0415  # seldom

            if kind_of(func) == "function":  # an object that can be called
                return self._wrap_object(func)
        return super().wrap_callable(func)

    def _wrap_object(self, func: Any) -> Any:  # noqa: ANN401
        """Leave `func`, a cache, say, as it is: what it calls is watched."""
        for function in self.get_underlying_functions(func):
            if self._add_code(function.__code__):
                self._tracer.set_enabling(function.__code__)
        return func

    def _wrapped(self, kind: str, func: Any) -> Any:  # noqa: ANN401
        if self._by_code and isinstance(func, FunctionType):
            return func if super()._already_a_wrapper(func) else self._twin(func)
        return super()._wrapped(kind, func)

    def _already_a_wrapper(self, func: object) -> bool:
        """Return whether calls of the function enable the profiler as it is."""
        if isinstance(func, FunctionType):
            if self._tracer.is_enabling(func.__code__):
                return True
            if "__wrapped__" in func.__dict__:
                from lineprof.targets import innermost  # noqa: PLC0415  # seldom

                if self._tracer.is_enabling(innermost(func).__code__):
                    return True
        return super()._already_a_wrapper(func)
