"""The ways to look at a profile, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.report import json_report, text
from lineprof.report.options import (
    COUNT,
    CSV,
    DEPTH,
    GPU_COLUMNS,
    GPU_SELF,
    GRAPH_ORIGIN,
    KERNEL,
    LIMIT,
    MIN_PERCENT,
    OCCUPANCY,
    ORDERS_OF_FUNCTIONS,
    SKIP_ZERO,
    SORT_BY,
    TARGETS,
    TOP_KERNELS,
    UVM,
    Option,
    Options,
    View,
)
from lineprof.report.text import MORE_COLUMNS, RICH, UNIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineprof.model.profile import Profile
    from lineprof.source import Sources

__all__ = ["VIEWS", "Option", "Options", "View"]


# The views of who called whom; made when asked for.


def _functions(stats: Profile, _: Sources, options: Options) -> Iterable[str]:
    from lineprof.report.functions import functions  # noqa: PLC0415  # few ask for it

    return functions(stats, options)


def _drill(stats: Profile, sources: Sources, options: Options) -> Iterable[str]:
    from lineprof.report.drill_down import drill  # noqa: PLC0415

    return drill(stats, sources, options)


def _callers(stats: Profile, sources: Sources, options: Options) -> Iterable[str]:
    from lineprof.report.functions import callers  # noqa: PLC0415

    return callers(stats, sources, options)


def _tree(stats: Profile, sources: Sources, options: Options) -> Iterable[str]:
    from lineprof.report.call_tree import tree  # noqa: PLC0415

    return tree(stats, sources, options)


def _hot(stats: Profile, sources: Sources, options: Options) -> Iterable[str]:
    from lineprof.report.functions import hot  # noqa: PLC0415

    return hot(stats, sources, options)


def _remarks(stats: Profile, options: Options) -> Iterable[str]:
    from lineprof.report.functions import of_calls  # noqa: PLC0415

    return of_calls(stats, options)


HOT = View(
    name="hot",
    suffix=".hot.txt",
    help="the lines that took most time themselves, of all files: ten, or N",
    options=(),
    render=_hot,
    remarks=_remarks,
    has_tables=False,
    value=COUNT,
)

FUNCTIONS = View(
    name="functions",
    suffix=".functions.txt",
    help="each function with its calls, its own time and that of all it called, as"
    " cProfile",
    options=(SKIP_ZERO, SORT_BY, LIMIT),
    render=_functions,
    remarks=_remarks,
    has_tables=False,
    orders=ORDERS_OF_FUNCTIONS,
)

TREE = View(
    name="tree",
    suffix=".tree.txt",
    help="the calls as a tree, the longest first",
    options=(DEPTH, MIN_PERCENT),
    render=_tree,
    remarks=_remarks,
    has_tables=False,
)

DRILL = View(
    name="drill",
    suffix=".drill.txt",
    help="the tables of what a line (main.py:12) or a function (fit, model.py:fit,"
    " '*fit*') calls; given again, the next step down",
    options=(
        *(DEPTH, MIN_PERCENT, UNIT, RICH),
        *(MORE_COLUMNS, GPU_COLUMNS, GPU_SELF, TOP_KERNELS),
    ),
    render=_drill,
    remarks=_remarks,
    has_tables=False,
    value=TARGETS,
)

CALLERS = View(
    name="callers",
    suffix=".callers.txt",
    help="from where a function is called, how often, and what it cost",
    options=(),
    render=_callers,
    remarks=_remarks,
    has_tables=False,
    value=TARGETS,
)

CALL_VIEWS = (HOT, FUNCTIONS, TREE, DRILL, CALLERS)


# The views of GPU data alone, as nvprof prints them; made when asked for.


def _summary(stats: Profile, _: Sources, options: Options) -> Iterable[str]:
    from lineprof.report.gpu_summary import summary  # noqa: PLC0415  # few ask for it

    return summary(stats, options)


def _gpu_trace(stats: Profile, _: Sources, options: Options) -> Iterable[str]:
    from lineprof.report.gpu_trace import gpu_trace  # noqa: PLC0415

    return gpu_trace(stats, options)


def _api_trace(stats: Profile, _: Sources, options: Options) -> Iterable[str]:
    from lineprof.report.gpu_trace import api_trace  # noqa: PLC0415

    return api_trace(stats, options)


def _of_sums(stats: Profile, options: Options) -> Iterable[str]:
    from lineprof.report.gpu_summary import of_sums  # noqa: PLC0415

    return of_sums(stats, options)


def _of_activities(stats: Profile, options: Options) -> Iterable[str]:
    from lineprof.report.gpu_summary import of_activities  # noqa: PLC0415

    return of_activities(stats, options)


def _of_calls(stats: Profile, options: Options) -> Iterable[str]:
    from lineprof.report.gpu_summary import of_calls  # noqa: PLC0415

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


VIEWS = {
    view.name: view for view in (text.VIEW, json_report.VIEW, *CALL_VIEWS, *GPU_VIEWS)
}
