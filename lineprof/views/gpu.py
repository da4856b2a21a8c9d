"""The views of GPU data alone, as nvprof prints them; made when asked for."""

from __future__ import annotations

from lineprof.views.gpu_flags import CSV, GRAPH_ORIGIN, KERNEL, OCCUPANCY, UVM
from lineprof.views.view import Options, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineprof.source import Sources
    from lineprof.stats import Profile


def _summary(stats: Profile, _: Sources, options: Options) -> Iterable[str]:
    from lineprof.views.gpu_summary import summary  # noqa: PLC0415  # few ask for it

    return summary(stats, options)


def _gpu_trace(stats: Profile, _: Sources, options: Options) -> Iterable[str]:
    from lineprof.views.gpu_trace import gpu_trace  # noqa: PLC0415

    return gpu_trace(stats, options)


def _api_trace(stats: Profile, _: Sources, options: Options) -> Iterable[str]:
    from lineprof.views.api_trace import api_trace  # noqa: PLC0415

    return api_trace(stats, options)


def _of_sums(stats: Profile, options: Options) -> Iterable[str]:
    from lineprof.views.gpu_remarks import of_sums  # noqa: PLC0415

    return of_sums(stats, options)


def _of_activities(stats: Profile, options: Options) -> Iterable[str]:
    from lineprof.views.gpu_remarks import of_activities  # noqa: PLC0415

    return of_activities(stats, options)


def _of_calls(stats: Profile, options: Options) -> Iterable[str]:
    from lineprof.views.gpu_remarks import of_calls  # noqa: PLC0415

    return of_calls(stats, options)


SUMMARY = View(
    name="gpu-summary",
    suffix=".gpu-summary.txt",
    help="each kernel, copy, memset and CUDA call with its time, as nvprof",
    options=(KERNEL, GRAPH_ORIGIN, UVM, CSV),
    render=_summary,
    remarks=_of_sums,
)
GPU_TRACE = View(
    name="gpu-trace",
    suffix=".gpu-trace.txt",
    help="each activity of a GPU in order of its start, as nvprof",
    options=(KERNEL, GRAPH_ORIGIN, UVM, OCCUPANCY, CSV),
    render=_gpu_trace,
    remarks=_of_activities,
)
API_TRACE = View(
    name="api-trace",
    suffix=".api-trace.txt",
    help="each CUDA call in order of its start, as nvprof",
    options=(CSV,),
    render=_api_trace,
    remarks=_of_calls,
)
GPU_VIEWS = (SUMMARY, GPU_TRACE, API_TRACE)
