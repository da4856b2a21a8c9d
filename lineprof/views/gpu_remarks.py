"""What a reader of the GPU views should know beside their rows, a line each.

It ends a text; beside CSV, which has no place for it, the command says it.
"""

from __future__ import annotations

from lineprof.errors import printable
from lineprof.gpu_records import DRIVER, RUNTIME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.gpu_records import Gpu
    from lineprof.stats import Profile
    from lineprof.views.view import Options

NO_CALLS = "not recorded; kernprof -l --gpu-api records them"


def has_calls(gpu: Gpu) -> bool:
    """Tell whether calls of CUDA's API were recorded."""
    return any(one.kind in {RUNTIME, DRIVER} for one in gpu.sums)


def of_sums(stats: Profile, options: Options) -> Iterable[str]:
    """Return what is to be said beside the summary as CSV."""
    if not options.csv:
        return
    yield from nothing(stats.gpu)
    if stats.gpu.sums and not has_calls(stats.gpu):
        yield f"API calls were {NO_CALLS}"


def of_activities(stats: Profile, options: Options) -> Iterable[str]:
    """Return what is to be said beside the trace of activities as CSV."""
    return left_out(stats.gpu) if options.csv else ()


def of_calls(stats: Profile, options: Options) -> Iterable[str]:
    """Return what is to be said beside the trace of calls as CSV."""
    return calls_left_out(stats.gpu) if options.csv else ()


def nothing(gpu: Gpu) -> Iterator[str]:
    """Yield that, and why, there is nothing to show, if so."""
    if not gpu.sums:
        reasons = [run.reason for run in gpu.runs if run.backend != "cupti"]
        why = "".join(f": {printable(reason)}" for reason in dict.fromkeys(reasons))
        yield f"No GPU activity was recorded{why}"


def left_out(gpu: Gpu) -> Iterator[str]:
    """Yield what a trace does not show."""
    yield from nothing(gpu)
    if gpu.sums and not any(timeline.count for timeline in gpu.timelines):
        yield "The profile has no timeline; --gpu-summary shows the sums"
    count = sum(run.left_out for run in gpu.runs)
    if count:
        yield (
            f"The timeline was full: {count} records are in --gpu-summary alone;"
            " kernprof -l --gpu-events N keeps more"
        )


def calls_left_out(gpu: Gpu) -> Iterator[str]:
    """Yield what a trace of calls does not show."""
    if gpu.sums and not has_calls(gpu):
        yield f"API calls were {NO_CALLS}"
    else:
        yield from left_out(gpu)
