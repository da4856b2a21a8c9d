"""The profiler of a run, as its options say; of a child, as those of its parent say."""

from __future__ import annotations

from lineprof.recording.core import new_memory_recorder
from lineprof.recording.gpu import GpuOptions
from lineprof.recording.profiler import LineProfiler, memory_recorder_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.run_options import ChildOptions
    from lineprof.recording.host_memory import MemoryRecorder
    from lineprof.recording.live_file import LiveFile
    from lineprof.recording.trace import TraceOptions


def gpu_options(options: ChildOptions) -> GpuOptions:
    """Return how GPU work is to be recorded."""
    return GpuOptions(
        choice=options.gpu,
        calls=options.gpu_api,
        memory=options.gpu_memory,
        migrations=options.uvm,
        graphs=options.cuda_graph,
        clock=options.gpu_clock,
        events=options.gpu_events,
    )


def new_profiler(
    options: ChildOptions,
    live: LiveFile | None = None,
    gpu: GpuOptions | None = None,
    *,
    beside: LineProfiler | None = None,
) -> LineProfiler:
    """Return a profiler as `options` say; LineprofError if it is not available.

    Its counts are in the file `live`, if there is one; `gpu` is in place of what
    `options` say of GPU work. It shares the measurement of memory with the profiler
    `beside` it, if there is one.
    """
    profiler = LineProfiler(
        core=options.core,
        gpu=gpu or gpu_options(options),
        nvtx=options.nvtx,
        trace=_timeline(options),
        live=live,
        memory=_memory(options, beside) or False,
    )
    profiler.from_start = options.from_start
    if options.builtins or options.split:
        profiler.c_functions(split=options.split)
    return profiler


def _memory(
    options: ChildOptions, beside: LineProfiler | None
) -> MemoryRecorder | None:
    """Return what measures memory, whose owner lets it begin; None if nothing does."""
    if beside:
        return memory_recorder_of(beside)
    return new_memory_recorder(options.memory, options.memory_sample)


def _timeline(options: ChildOptions) -> TraceOptions | bool | None:
    """Return the parts of a timeline to record; None: as the environment says."""
    details = (options.trace_lines, options.trace_memory)
    if options.trace is False or (options.trace is None and details == (None, None)):
        return options.trace
    from lineprof.recording.trace import TraceOptions  # noqa: PLC0415  # seldom asked for

    return TraceOptions(*details)
