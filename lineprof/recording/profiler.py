"""LineProfiler: decorates functions, switches counting on and off, gives results.

It is composed of parts: `core` (the session with the C core), `registry` (the code
objects that are counted), `discovery`, and `legacy` (attributes of older
versions of line_profiler).
"""

from __future__ import annotations

import gc
from _thread import get_ident  # as in threading, which imports warnings
from contextlib import suppress
from types import CodeType, FunctionType

from lineprof.bytecode.code_tables import unread
from lineprof.decorate.wrappers import ByCountProfilerMixin
from lineprof.errors import LineprofError
from lineprof.files import normal_path
from lineprof.held_signals import import_whole
from lineprof.later import Later
from lineprof.recording import legacy
from lineprof.recording.calibration import c_function_cost, remeasure
from lineprof.recording.core import (
    CoreSession,
    notify_first_use,
    on_first_use,
    own_blocks,
    start,
    stop,
)
from lineprof.recording.discovery import Cost, Overhead, discover
from lineprof.recording.gpu import gpu_notes, gpu_status
from lineprof.recording.registry import Registry, Span, functions_to_add

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType
    from typing import Any, TextIO, TypeVar

    from lineprof._core import Tracer
    from lineprof.decorate import callables
    from lineprof.decorate.callables import Policies, ScopingPolicy
    from lineprof.line_stats import LineStats
    from lineprof.model.records import Key
    from lineprof.recording import compiled, extensions
    from lineprof.recording.blocks import Block, Blocks
    from lineprof.recording.gpu import GpuOptions, GpuStatus
    from lineprof.recording.host_memory import MemoryRecorder, Numbers
    from lineprof.recording.legacy import Entry
    from lineprof.recording.live_file import LiveFile
    from lineprof.recording.trace import SliceRecorder, TraceOptions, TraceRecorder
    from lineprof.snapshot.calls import RawTree
    from lineprof.snapshot.counts import Counts
    from lineprof.snapshot.gpu import Taken
    from lineprof.snapshot.profile import Code, RawWait

    Counted = tuple[list[tuple[int, str]], Sequence[Code], RawTree, list[RawWait]]

    F = TypeVar("F", bound=Callable[..., Any])
    Path = str | os.PathLike[str]
    Scoping = ScopingPolicy | str | Policies | None
else:
    compiled = Later("lineprof.recording.compiled")
    extensions = Later("lineprof.recording.extensions")
    callables = Later("lineprof.decorate.callables")


# Methods that decorate a function: one that a subclass overrides is called at each
# decoration.
_DECORATING = frozenset(
    (
        *("add_callable", "add_function", "get_underlying_functions"),
        *("wrap_callable", "wrap_function", "wrap_generator", "wrap_coroutine"),
        "wrap_async_generator",
    )
)
# Methods that each call of a decorated function calls, if a subclass overrides one.
_SWITCHES = frozenset(("enable", "disable", "enable_by_count", "disable_by_count"))


class LineProfiler(ByCountProfilerMixin):
    """Counts and times the lines of the functions that are registered with it.

    ``LineProfiler(f, g)`` registers `f` and `g`; calling the profiler
    decorates a function. Lines are counted while the profiler is enabled:
    for the length of a decorated call, inside ``with profiler:``, or between
    `enable` and `disable`.

    `core` is the source of events: "monitoring" (Python 3.12 and later), with the
    cheaper of its LINE and INSTRUCTION events, "monitoring-line" or
    "monitoring-instruction" with one of them, "settrace", or "auto"; None takes the
    environment's ``LINEPROF_CORE``. `clock` is for tests: a capsule "lineprof.clock"
    with a C function that returns ns. `gpu` is "auto" (record GPU work if there is a
    GPU), "nvtx" (only ranges for other tools), "off", or a `lineprof.GpuOptions`;
    `nvtx` is "auto", "line", "func" or "off". None takes ``LINEPROF_GPU``,
    ``LINEPROF_NVTX``. Once a profiler records GPU work, the process does so until it
    ends. With `trace`, each slice of time in a function or on a line is kept, for a
    timeline: a `lineprof.TraceOptions` says which; None takes ``LINEPROF_TRACE``.
    With `memory`, what lines allocate is measured as well (Linux), from the first
    decoration or enable on; `memory_sample`, in bytes or as "512KB", counts a block
    about every so many bytes, which costs less than each one. None takes
    ``LINEPROF_MEMORY``, ``LINEPROF_MEMORY_SAMPLE``. A process has one profiler at a
    time that measures memory.

    `wrap_trace` and `set_frame_local_trace` are line_profiler's, and have no effect:
    other tracers always keep their events.

    Raises LineprofError if the core is not available, or if another profiler measures
    memory.
    """

    # For the profile, set by the runner of a program:
    exit = ""  # how the program ended, "" if normally
    from_start = True  # False if the program itself says when counting starts

    timer_unit = 1e-9  # seconds in a tick of get_stats().timings

    # Set by `__init_subclass__`:
    _direct = True  # neither _DECORATING nor _SWITCHES are overridden
    _by_code = True  # _SWITCHES are not overridden
    _own_switches = False  # `enable` or `disable` is overridden

    _blocks: Blocks | None = None
    _memory: MemoryRecorder | None = None  # to begin at the first use

    # Shared by all profilers, as they are in line_profiler.
    _tracing = {"wrap_trace": False, "set_frame_local_trace": False}  # noqa: RUF012

    def __init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401
        """Note which methods the subclass overrides."""
        super().__init_subclass__(**kwargs)
        place = cls.__mro__.index(LineProfiler)
        own = {name for base in cls.__mro__[:place] for name in vars(base)}
        cls._direct = not own & (_DECORATING | _SWITCHES)
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
        live: LiveFile | None = None,
        memory: MemoryRecorder | bool | None = None,
        memory_sample: int | str | None = None,
    ) -> None:
        """Register `functions` and choose the core; nothing is counted yet."""
        self._switching: set[int] = set()  # threads: see `_call_switch`
        notify_first_use(self)
        self._session = session = CoreSession(
            core, clock, gpu, nvtx, trace, live, memory, memory_sample
        )
        if session.memory is not memory:  # else its owner begins
            self._memory = session.memory
        self._tracer = session.tracer
        self._registry = Registry(session.module, session.tracer, session.live)
        self.warnings = self._registry.warnings  # sentences, for the profile
        self.core, self.core_reason = session.core, session.core_reason
        self.clock, self.clock_reason = session.clock, session.clock_reason
        if wrap_trace is not None:
            self.wrap_trace = wrap_trace
        if set_frame_local_trace is not None:
            self.set_frame_local_trace = set_frame_local_trace
        for function in functions:
            self.add_function(function)

    # -- decorating -----------------------------------------------------------------

    def __call__(self, func: F) -> F:
        """Decorate `func`: its lines count whenever it is called.

        `func` may be a function, method, generator, coroutine, property, partial
        object or class (whose members are decorated in place). Other callables, which
        have no Python code, are returned unchanged. Decorating twice has no further
        effect. Raises TypeError if `func` is not callable.
        """
        with own_blocks:
            return self._decorated(func)

    def _decorated(self, func: F) -> F:
        if (
            self._direct
            and isinstance(func, FunctionType)
            and "__wrapped__" not in func.__dict__
        ):
            if self._tracer.is_activating(func.__code__) or not self._register(func):
                return func
            return self._registry.copy_of(func)  # type: ignore[return-value]
        self.add_callable(func)
        return self.wrap_callable(func)  # type: ignore[no-any-return]

    def wrap_callable(self, func: Any) -> Any:  # noqa: ANN401
        """Return `func` such that calls of it enable the profiler.

        As `__call__` does, but nothing is registered. Callables without Python code
        are returned unchanged. Raises TypeError if `func` is not callable.
        """
        is_object = not isinstance(func, (FunctionType, type)) and callable(func)
        if is_object and callables.kind_of(func) == "function":
            return self._wrap_object(func)
        return super().wrap_callable(func)

    def _wrap_object(self, func: Any) -> Any:  # noqa: ANN401
        """Watch the functions in `func`, such as a cache, and return it unchanged."""
        for function in self.get_underlying_functions(func):
            if self._add_code(function.__code__):
                self._tracer.set_activating(function.__code__)
        return func

    def _wrapped(self, kind: str, func: Any) -> Any:  # noqa: ANN401
        if self._by_code and isinstance(func, FunctionType):
            return func if super()._already_a_wrapper(func) else self._copied(func)
        return super()._wrapped(kind, func)

    def _copied(self, func: FunctionType) -> FunctionType:
        """Return a copy of `func` whose calls enable the profiler.

        Returns `func` itself if its calls do so already.
        """
        if self._tracer.is_activating(func.__code__):
            return func
        inner = self._registry.wrapped_code(func)
        if inner is not None:
            self._watch_code(inner)
            return func
        return self._registry.copy_of(func)

    def _already_a_wrapper(self, func: object) -> bool:
        """Return whether calls of `func` already enable the profiler."""
        if isinstance(func, FunctionType):
            if self._tracer.is_activating(func.__code__):
                return True
            is_wrapper = "__wrapped__" in func.__dict__
            inner = callables.innermost(func) if is_wrapper else func
            if is_wrapper and self._tracer.is_activating(inner.__code__):
                return True
        return super()._already_a_wrapper(func)

    # -- registering ----------------------------------------------------------------

    @property
    def functions(self) -> list[Any]:
        """The functions whose lines are counted, in order of registration."""
        return self._registry.functions

    @functions.setter
    def functions(self, functions: list[Any]) -> None:
        self._registry.functions = functions

    @property
    def texts(self) -> Mapping[str, str]:
        """Source that is in no file (``python -c``), by the name of its code."""
        return self._registry.sources.texts

    @texts.setter
    def texts(self, texts: Mapping[str, str]) -> None:
        self._registry.sources.texts = texts

    def add_function(self, func: object) -> None:
        """Count the lines of `func` whenever the profiler is enabled.

        Nothing is wrapped: calls from anywhere count, on every thread. If a
        decorator made `func`, so that it has ``__wrapped__``, the function inside
        is counted, and a warning says so. Also warns if there are no lines to
        count.
        """
        with own_blocks:
            self._registry.note_compiled(func)
            for function in functions_to_add(func):
                self._register(function)

    def add_callable(
        self,
        obj: object,
        guard: Callable[[FunctionType], object] | None = None,
        name: str | None = None,  # noqa: ARG002  # what line_profiler logs
    ) -> int:
        """Count the lines of a callable, or of what holds callables, like a property.

        Functions for which `guard` returns true are left out: by default those
        that this profiler has decorated. Returns 1 if a function was added, else
        0. Raises TypeError if `obj` is not callable.
        """
        self._registry.note_compiled(obj)
        guard = guard or self._already_a_wrapper
        functions = [
            function
            for function in self.get_underlying_functions(obj)
            if not guard(function)
        ]
        for function in functions:
            self.add_function(callables.innermost(function))
        return 1 if functions else 0

    def add_class(
        self, cls: type, *, scoping_policy: Scoping = None, wrap: bool = False
    ) -> int:
        """Count the lines of the members of a class; return how many were added.

        `scoping_policy` says how near to the class they must be defined: see
        `ScopingPolicy`; None takes those defined in the same module. With `wrap`,
        members are also replaced by wrappers, which enable the profiler.
        """
        return self._add_namespace(cls, scoping_policy, wrap=wrap)

    def add_module(
        self, mod: ModuleType, *, scoping_policy: Scoping = None, wrap: bool = False
    ) -> int:
        """Count the lines of the members of a module, as `add_class` does.

        None takes members defined in the module's package, and no modules.
        """
        return self._add_namespace(mod, scoping_policy, wrap=wrap)

    def _add_namespace(
        self, namespace: type | ModuleType, scoping_policy: Scoping, *, wrap: bool
    ) -> int:
        policies = callables.ScopingPolicy.to_policies(scoping_policy)
        values = {kind: policy.value for kind, policy in policies.items()}
        registrar = callables.Registrar(
            self.add_callable,
            self._already_a_wrapper,
            values,
            replace=self._replace_members if wrap else None,
        )
        return registrar.add(namespace)

    def watch(self, target: object) -> int:
        """Count the lines of `target` in all its calls, on every thread.

        Nothing is replaced or wrapped: calls from anywhere enable the profiler
        for as long as they last. `target` is a code object, or anything that can be
        decorated: functions, methods, properties, partial objects, classes.
        Returns how many code objects were not watched before. Raises TypeError if
        `target` is not callable.
        """
        with own_blocks:
            return self._watched(target)

    def _watched(self, target: object) -> int:
        if isinstance(target, CodeType):
            return self._watch_code(target)
        self._registry.note_compiled(target)
        found = 0
        for function in [
            callables.innermost(function) for function in callables.functions_of(target)
        ]:
            if self._register(function):
                found += self._watch_code(function.__code__)
        return found

    def unwatch(self, code: CodeType) -> None:
        """Stop counting `code`; earlier counts stay. Calls under way end here."""
        self._tracer.ignore(code)

    def count_calls(self, code: CodeType) -> bool:
        """Count calls of `code` without lines from now on, which costs less.

        Time is then on the line at which the function begins; earlier counts stay.
        Returns False, and does nothing, if that is not possible: with the core
        "settrace", or if another profiler counts the code.
        """
        return self._tracer.count_calls(code)

    def cut(self, key: Key, *, lines_only: bool = False) -> None:
        """Record that the function `key` counts no more, from now to the run's end.

        With `lines_only`, its calls and total still count. `key` is that of `costs`.
        The profile has the time, and views show it. Code objects of the function are
        switched by `unwatch` and `count_calls`.
        """
        now = self._session.run_info.elapsed_ns
        span = self._registry.cuts.get(key, Span())
        if lines_only and span.lines_until_ns is None:
            self._registry.cut(key, span._replace(lines_until_ns=now))
        elif not lines_only and span.until_ns is None:
            self._registry.cut(key, span._replace(until_ns=now))

    def _register(self, function: FunctionType) -> bool:
        """Register a function to be shown; False if its line numbers are invalid."""
        if self._registry.has_function(function):
            return True
        self._note_use()
        return self._registry.add_function(function)

    def _add_code(self, code: CodeType) -> bool:
        """Register a code object; False if its line numbers are invalid."""
        self._note_use()
        return self._registry.add_code(code)

    def _watch_code(self, code: CodeType) -> int:
        """Watch a code object; return 1 if it was not watched before, else 0."""
        if self._tracer.is_activating(code):
            return 0
        self._note_use()
        return int(self._registry.watch(code))

    def _note_use(self) -> None:
        """Tell those who wait for it, and begin to measure memory, if it is asked for.

        Called before a function is registered, and before the profiler is enabled.
        """
        notify_first_use(self)
        self._begin_memory()

    def _begin_memory(self) -> None:
        memory, self._memory = self._memory, None
        if memory:
            memory.begin()

    # -- switching on and off -------------------------------------------------------

    @property
    def enable_count(self) -> int:
        """Number of decorated calls and ``with`` blocks that are running."""
        return self._tracer.enable_count

    def enable(self) -> None:
        """Count from now on, in every thread."""
        if get_ident() in self._switching:
            return
        self._note_use()
        self._session.enable()

    def disable(self) -> None:
        """Stop counting, whatever the count of enables; current lines end here."""
        if get_ident() not in self._switching:
            self._tracer.disable()

    def enable_by_count(self) -> None:
        """Enable, if not enabled yet; each call needs a `disable_by_count`."""
        if self._own_switches and not self.enable_count:
            self._call_switch(self.enable)
        if on_first_use:  # each decorated call comes here
            notify_first_use(self)
        self._tracer.enable_by_count()

    def disable_by_count(self) -> None:
        """Undo one `enable_by_count`; the last one disables."""
        if not self._own_switches:
            self._tracer.disable_by_count()
            return
        before = self.enable_count
        self._tracer.disable_by_count()
        if before == 1:
            self._call_switch(self.disable)

    def _call_switch(self, switch: Callable[[], None]) -> None:
        """Call the `enable` or `disable` of a subclass, which calls that of this class.

        The latter has no effect on this thread during the call.
        """
        self._switching.add(get_ident())
        try:
            switch()
        finally:
            self._switching.discard(get_ident())

    def start(self) -> None:
        """Resume counting after `stop`, in all profilers: see `lineprof.start`."""
        start()

    def stop(self) -> None:
        """Pause counting in all profilers, until `start`: see `lineprof.stop`."""
        stop()

    def block(self, name: str = "block") -> Block:
        """Return a context manager that counts the lines of its ``with`` statement.

        They are shown as one function called `name`. The statement may be anywhere,
        also at the top of a module, whether or not the code around it is counted.
        """
        self._note_use()
        with own_blocks:
            from lineprof.recording.blocks import Block, Blocks  # noqa: PLC0415  # seldom

            blocks = self._blocks
            if blocks is None:
                made = Blocks(self._session.module, self.core, self._registry.sources)
                # Another thread may also have made them.
                blocks = self.__dict__.setdefault("_blocks", made)
            return Block(blocks, name)

    def reset(self) -> None:
        """Set all counts to zero; functions stay registered."""
        self._session.reset()
        if self._blocks is not None:
            self._blocks.reset()

    # -- whole programs -------------------------------------------------------------

    def discover(
        self,
        decide: Callable[[CodeType], bool | None] | None,
        *,
        pause: Callable[[], int] | None = None,
    ) -> None:
        """Call `decide` at the first call of each code object that is not registered.

        It is called once for each, on the thread that makes the call, before the first
        line runs. If it returns true, the code is watched from that call on, as by
        `watch`; if false, it is not; if None, no code of the same file is. Exceptions
        in it are ignored, and the code is not watched. With None instead of a callable,
        discovery ends. A process has one discovery at a time: the last call counts.

        `pause` is called before a code object is watched. If it returns a number of ns,
        the code object is postponed: it is offered again at its first call after that
        time, and left out if it is called more than about a hundred times before. The
        profile has the time from which it was counted.
        """
        if decide is None:
            self._session.module.discover(None)
        else:
            discover(self._session, self._registry, decide, pause)
            self._begin_memory()

    def c_functions(self, *, on: bool = True, split: bool = False) -> None:
        """Count the calls that lines make of C functions, as edges of the call tree.

        This applies to functions that any profiler registers later, so call it first.
        It costs about 100 ns a call. Before Python 3.12, classes and other callables
        are not counted, and nothing is while the program has a profile function of its
        own; with the core "settrace" on a later Python, nothing is counted.

        With `split`, the time that lines and their C functions waited or spent in the
        kernel is also recorded, if they take more than 30 us; that costs 1 us each.
        """
        module, cost = self._session.module, 0
        if on and self._session.calibration.turn:  # 0 with a clock of tests
            cost = c_function_cost(module, self._session.core)
        module.c_functions(on, cost)
        module.split_times(on and split)

    def audit(
        self, call: Callable[[], int | None] | None, cost_ns: int = 10_000_000
    ) -> None:
        """Call `call` each time that measuring has cost a thread another `cost_ns`.

        The cost is an estimate, for all profilers together. The call is made on that
        thread, just before a profiled call. `call` may read `costs` and unwatch code;
        if it returns a number, that is the new `cost_ns`. Exceptions in it are ignored.
        With None instead of a callable, the calls end. Raises ValueError if `cost_ns`
        is less than 1.
        """
        if cost_ns < 1:
            message = f"a step of {cost_ns} ns: give 1 or more"
            raise ValueError(message)
        self._session.module.overhead_audit(call, cost_ns)

    def costs(self) -> list[Cost]:
        """Return the cost of measuring so far, by code object.

        Current lines count up to their last event. Any thread may call this; no other
        thread is stopped.
        """
        one, ns_per_tick = self._session.module.COST_ONE, self._session.module.scale()
        return [
            Cost(
                key=(str(key[0]), int(str(key[1])), str(key[2])),
                code=code,
                calls=calls,
                hits=hits,
                cost_ns=(cost // one * ns_per_tick) >> 32,
                time_ns=max(0, ((ticks - included // one) * ns_per_tick) >> 32),
            )
            for key, code, calls, hits, cost, ticks, included in self._tracer.costs()
        ]

    def overhead(self) -> Overhead:
        """Return what the profilers of this process have cost so far, in ns.

        It has the estimated cost of events, and the processor time of registering code
        objects that discovery found.
        """
        module = self._session.module
        ns_per_tick = module.scale()
        ticks, cpu_ns = module.python_calls()
        events = max(0, module.cost() // module.COST_ONE - ticks)
        return Overhead(
            events_ns=(events * ns_per_tick) >> 32,
            registering_ns=cpu_ns,
            left_out=module.left_out(),
        )

    # -- results --------------------------------------------------------------------

    @property
    def gpu_status(self) -> GpuStatus:
        """Whether GPU work is recorded, and why."""
        return gpu_status()

    @property
    def traced(self) -> bool:
        """Whether slices of time in functions and on lines are kept, for a timeline."""
        return self._session.trace is not None

    def note_run(self) -> None:
        """Note in the live file, if there is one, that this is the run's profiler."""
        self._session.note_run()

    def get_stats(self) -> LineStats:
        """Return all that was counted so far, times in ns.

        Current lines count up to now. Names of files are those of the code objects.
        """
        return self._read_out(str)

    def final_stats(self) -> LineStats:
        """Return the profile of a program that has ended.

        It is that of `get_stats`, but GPU work that still runs is unfinished, and names
        of files are normal: see `normal_path`.
        """
        end_memory(self)
        self._session.gpu.has_ended = True
        return self._read_out(normal_path)

    def stats_so_far(self) -> LineStats:
        """Return that of `final_stats` while the program runs, from another thread.

        No thread is stopped, and calibration is not repeated. No device is waited for:
        of GPU work the profile has the records that have come. The timeline, which may
        be long, is left out.
        """
        with own_blocks:
            memory = self._take_memory()
            gpu = self._session.gpu.take(so_far=True)
            counts = self._all_counts(memory, cost_factor=1.0, end="still running")
            return self._as_profile(counts, gpu, None, normal_path)

    def _read_out(self, file_name: Callable[[str], str]) -> LineStats:
        """Return all that was counted so far, with GPU work and the timeline.

        `file_name` gives the name of a file in the profile by that in its code objects.
        """
        session = self._session
        with own_blocks:
            memory = self._take_memory()
            gpu = session.gpu.take()
            with _PausedCollection():
                trace = session.trace or session.slices
                counts = self._final_counts(memory)
                return self._as_profile(counts, gpu, trace, file_name)

    def _take_memory(self) -> Numbers | None:
        """Return the numbers of memory so far; None without any.

        Called before the objects of a profile are made.
        """
        memory = self._session.memory
        return memory.take() if memory else None

    def _final_counts(self, memory: Numbers | None) -> Counts:
        """Return all that was counted so far, with `memory`, but no GPU work."""
        session = self._session
        cost_factor = remeasure(session.module, session.core, session.calibration)
        self._registry.note_compiled_by_numba()
        with _PausedCollection():  # it would visit all objects of the program again
            return self._all_counts(memory, cost_factor=cost_factor, end=self.exit)

    def _all_counts(
        self, memory: Numbers | None, *, cost_factor: float, end: str
    ) -> Counts:
        """Return all that was counted, with `memory`; `cost_factor` is for its costs.

        `end` says how the program ended, "" if it ended normally.
        """
        import_whole("lineprof.snapshot.counts")
        from lineprof.snapshot.counts import Counts  # noqa: PLC0415  # at the end

        session, registry = self._session, self._registry
        module, tracer, run = session.module, session.tracer, session.run_info
        ids, counted, calls, waits = _counted(tracer)
        codes: list[Code] = [row for row in counted if not registry.is_hidden(row[0])]
        block_codes: list[Code] = []
        if self._blocks is not None:
            block_codes = list(self._blocks.codes())
            waits += self._blocks.waits()
        scale = module.scale()
        cost_ns = (int(run.cost * cost_factor) // module.COST_ONE * scale) >> 32
        warnings = [
            *registry.warnings,
            *run.warnings(registry.functions, from_start=self.from_start),
            *_compiled_warnings(registry),
            *gpu_notes(),
            *memory_problems(self),
            *unread(),
            *registry.sources.warnings(
                {str(row[0][0]): None for row in [*codes, *block_codes]}
            ),
        ]
        if module.frames_switched():
            warnings.append("greenlets took turns: who called whom is partly a guess")
        return Counts(
            threads=ids,
            codes=codes,
            blocks=block_codes,
            calls=calls,
            c_functions=tracer.c_functions(),
            waits=waits,
            waits_unavailable=module.off_cpu_unavailable(),
            own_times=module.split_times(None),
            cuts=registry.cuts,
            scale=(scale, module.COST_ONE, cost_factor),
            process=run.process(overhead_ns=cost_ns, end=end),
            warnings=warnings,
            memory=memory,
        )

    def _as_profile(
        self,
        counts: Counts,
        gpu: Taken | None,
        trace: TraceRecorder | SliceRecorder | None,
        file_name: Callable[[str], str],
    ) -> LineStats:
        """Return `counts` as a profile, with GPU work and a timeline."""
        import_whole("lineprof.line_stats", "lineprof.snapshot.profile", "hashlib")
        if gpu or trace:
            import_whole("lineprof.snapshot.gpu", "lineprof.model.timelines")
        if counts.memory:
            import_whole("lineprof.snapshot.host_memory")
        from lineprof.line_stats import LineStats  # noqa: PLC0415  # at the end
        from lineprof.snapshot.profile import profile_of_process  # noqa: PLC0415  # at the end

        all_counts = [counts]
        del counts  # `profile_of_process` frees each part when it has been used
        return LineStats.of(
            profile_of_process(
                all_counts.pop(),
                gpu=gpu,
                trace=trace.of(self._session.tracer, gpu) if trace else None,
                read_source=self._registry.sources.read,
                file_name=file_name,
            )
        )

    def dump_stats(self, filename: Path) -> None:
        """Write a profile file; raises LineprofError if that fails."""
        with own_blocks:
            self.get_stats().to_file(filename)

    def print_stats(  # noqa: PLR0913, PLR0917  # line_profiler's signature
        self,
        stream: TextIO | None = None,
        output_unit: float | None = None,
        stripzeros: bool = False,  # noqa: FBT001, FBT002
        details: bool = True,  # noqa: FBT001, FBT002
        summarize: bool = False,  # noqa: FBT001, FBT002
        sort: bool = False,  # noqa: FBT001, FBT002
        rich: bool = False,  # noqa: FBT001, FBT002
        *,
        config: Path | bool | None = None,
    ) -> None:
        """Print the tables; `output_unit` in seconds, to `stream` or stdout.

        With `rich`, the package of that name colours them, if it is installed.
        `config` is the file with the columns' widths; None searches for one, False
        takes the defaults.
        """
        with own_blocks:
            self.get_stats().print(
                stream=stream,
                output_unit=output_unit,
                stripzeros=stripzeros,
                details=details,
                summarize=summarize,
                sort=sort,
                rich=rich,
                config=config,
            )

    # -- attributes of line_profiler's older versions ---------------------------------

    @property
    def wrap_trace(self) -> bool:
        """The value last set; no effect: other tracers always keep their events."""
        return self._tracing["wrap_trace"]

    @wrap_trace.setter
    def wrap_trace(self, value: bool) -> None:
        self._tracing["wrap_trace"] = bool(value)

    @property
    def set_frame_local_trace(self) -> bool:
        """The value last set; no effect: frames always keep their own tracers."""
        return self._tracing["set_frame_local_trace"]

    @set_frame_local_trace.setter
    def set_frame_local_trace(self, value: bool) -> None:
        self._tracing["set_frame_local_trace"] = bool(value)

    @property
    def code_map(self) -> dict[CodeType, dict[int, Entry]]:
        """Hits and times in ns, by code object and line; computed when read."""
        return legacy.code_map(self.functions, self.get_stats().timings)

    @property
    def c_code_map(self) -> dict[int, dict[int, Entry]]:
        """The same by the hash of each line; computed when read."""
        return legacy.c_code_map(self.functions, self.get_stats().timings)

    @property
    def code_hash_map(self) -> dict[CodeType, list[int]]:
        """The hashes of the lines of each code object; computed when read."""
        return legacy.code_hash_map(self.functions)

    @property
    def dupes_map(self) -> dict[bytes, list[CodeType]]:
        """Code objects by their bytecode; computed when read."""
        return legacy.dupes_map(self.functions)

    @property
    def last_time(self) -> dict[CodeType, Entry]:
        """The current line of this thread, by code object; empty while disabled."""
        return legacy.last_time(self.functions) if self._tracer.active else {}

    @property
    def c_last_time(self) -> dict[int, Entry]:
        """The same by the hash of the bytecode; KeyError without functions."""
        if not self.functions:
            msg = "no profiling data: no function is registered"
            raise KeyError(msg)
        return {hash(code.co_code): entry for code, entry in self.last_time.items()}


def is_live(profiler: LineProfiler) -> bool:
    """Return whether all that the profile would have is in a live file.

    GPU work, memory, timelines, blocks and the parts of lines' time are not.
    """
    session = profiler._session  # noqa: SLF001  # of this module
    return (
        session.live is not None
        and session.module.live_is_complete()
        and session.trace is None
        and session.memory is None
        and profiler.gpu_status.backend != "cupti"
        and profiler._blocks is None  # noqa: SLF001
        and not session.module.split_times(None)
    )


def counts_of(profiler: LineProfiler) -> tuple[Counts, dict[str, str | None]] | None:
    """Return all that was counted so far, and the texts of its source files.

    None if GPU work or a timeline may belong to the profile: see `Counts`. The texts
    are those that ``lineprof.snapshot.counts.write_counts`` takes.
    """
    session, sources = profiler._session, profiler._registry.sources  # noqa: SLF001
    if session.trace or session.slices or session.gpu.is_possible:
        return None
    memory = profiler._take_memory()  # noqa: SLF001  # of this module
    counts = profiler._final_counts(memory)  # noqa: SLF001
    files = {str(key[0]) for key, *_ in (*counts.codes, *counts.blocks)}
    return counts, {file: sources.text(file) for file in files if sources.keeps(file)}


def begin_in_child(profiler: LineProfiler, gpu: GpuOptions | None = None) -> None:
    """Forget what was counted in the process from which this one was forked.

    Lines that were open then are the parent's: a function counts again from its next
    line on. With `gpu`, GPU work is recorded from now on: that process did not.
    """
    profiler._session.begin_in_child(gpu)  # noqa: SLF001  # of this module
    if profiler._blocks is not None:  # noqa: SLF001
        profiler._blocks.reset()  # noqa: SLF001
    registry = profiler._registry  # noqa: SLF001
    for key, span in [*registry.cuts.items()]:
        until, lines = (None if one is None else 0 for one in span[1:])
        registry.cut(key, Span(until_ns=until, lines_until_ns=lines))


def adopt(profiler: LineProfiler, *, alone: bool = False) -> None:
    """Have `profiler` count functions that another process decorated and sent by value.

    A process has one profiler that does: that of ``@profile``. With `alone` it may be
    that nothing else is ever registered in the process.
    """

    def adopts() -> None:
        notify_first_use(profiler)

    profiler._registry.adopts = adopts  # noqa: SLF001  # of this module
    if alone:
        profiler._session.module.await_code_copies()  # noqa: SLF001


def close(profiler: LineProfiler) -> None:
    """End `profiler`: its counts are gone, and no code is instrumented for it."""
    end_memory(profiler)
    profiler._tracer.close()  # noqa: SLF001  # of this module


def memory_recorder_of(profiler: LineProfiler) -> MemoryRecorder | None:
    """Return what measures memory for `profiler`; None if it was not asked for.

    It can be given to a second profiler of the same run.
    """
    return profiler._session.memory  # noqa: SLF001  # of this module


def begin_memory(profiler: LineProfiler) -> None:
    """Measure memory from now on, if `profiler` was asked to and it is possible."""
    memory = memory_recorder_of(profiler)
    if memory:
        with suppress(LineprofError):  # it is the recorder's `problem`
            memory.begin()


def end_memory(profiler: LineProfiler) -> None:
    """Measure memory no more, and keep the numbers for the profile."""
    memory = memory_recorder_of(profiler)
    if memory:
        memory.end()


def memory_problems(profiler: LineProfiler) -> list[str]:
    """Return a sentence if memory was to be measured, and is not."""
    memory = memory_recorder_of(profiler)
    return [memory.problem] if memory and memory.problem else []


def calibration_of(profiler: LineProfiler) -> tuple[str, tuple[int, ...], float]:
    """Return the calibration of `profiler`, for `core.inherit_calibration`."""
    session = profiler._session  # noqa: SLF001  # of this module
    return session.core, tuple(session.calibration.costs), session.calibration.turn


def _counted(tracer: Tracer) -> Counted:
    """Return all counts of `tracer`, and the waits of lines."""
    with _PausedCollection():  # before 3.12 it may run the program's code in between
        return *tracer.snapshot(), tracer.off_cpu()


class _PausedCollection:
    """A ``with`` block in which Python's garbage collector does not run by itself."""

    def __enter__(self) -> None:
        """Pause it, unless the program has."""
        self._collects = gc.isenabled()
        gc.disable()

    def __exit__(self, *_exception: object) -> None:
        """Restore it."""
        if self._collects:
            gc.enable()


def extensions_in(profiler: LineProfiler) -> dict[str, str]:
    """Return functions of extension modules given to `profiler`, and their files."""
    return profiler._registry.extensions  # noqa: SLF001  # of this module


def _compiled_warnings(registry: Registry) -> list[str]:
    """Return warnings about compiled functions, whose lines are not profiled."""
    if not (registry.compiled or registry.extensions):
        return []
    return compiled.warnings_of(registry.compiled) + extensions.extension_warnings(
        registry.extensions
    )
