"""The flags of all views of GPU data. What obeys them is imported when asked."""

from __future__ import annotations

from lineprof.errors import LineprofError
from lineprof.views.orders import parse_order
from lineprof.views.view import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

USUAL_COLUMNS = ("time", "percent", "kernels", "copy", "mb", "wait")
MORE_COLUMNS = (
    *("self", "adopted", "memset", "memsets", "max", "mean", "waits"),
    *("h2d", "h2d-mb", "d2h", "d2h-mb", "d2d", "d2d-mb", "uvm", "uvm-mb"),
    *("alloc", "free"),
)
ALL, NONE = "all", "none"
_COUNT_DIGITS = 9
_SWITCH = {"on": True, "off": False}


def _one_of(text: str, what: str, known: Iterable[str]) -> str:
    """Return `text`; LineprofError unless it is one of `known`."""
    if text not in known:
        raise LineprofError(
            f"there is no {what} {text!r}", hint=f"known are: {', '.join(known)}"
        )
    return text


def parse_gpu_columns(text: str) -> tuple[str, ...]:
    """Return names of columns; LineprofError for one that is not known."""
    known = (*USUAL_COLUMNS, *MORE_COLUMNS)
    if text == ALL:
        return known
    if text == NONE:
        return ()
    names = [name for name in text.split(",") if name]
    for name in names:
        _one_of(name, "GPU column", (*known, ALL, NONE))
        if name in {ALL, NONE}:
            raise LineprofError(f"{name!r} stands for itself", hint="name no others")
    return tuple(dict.fromkeys(names))


def parse_count(text: str) -> int:
    """Return a number above 0; LineprofError if it is none."""
    if text.isascii() and text.isdigit() and len(text) <= _COUNT_DIGITS and int(text):
        return int(text)
    raise LineprofError(f"{text!r} is not a number above 0", hint="give one like 5")


def parse_switch(text: str) -> bool:
    """Return whether `text` is on; LineprofError if it is not off either."""
    if text not in _SWITCH:
        raise LineprofError(f"{text!r} is neither on nor off", hint="give one of them")
    return _SWITCH[text]


KERNEL = Option(
    "kernel",
    ("--kernel",),
    "count only kernels whose name (demangled or not) matches, as of files:"
    " '*gemm*'; copies and memsets stay",
    default=None,
    metavar="GLOB",
    parse=str,
)
GRAPH_ORIGIN = Option(
    "graph_origin",
    ("--graph-origin",),
    "charge what a CUDA graph did to the line that captured it, not to the one"
    " that launched it",
)
CSV = Option("csv", ("--csv",), "values with commas between, and a row of units")
UVM = Option(
    "uvm",
    ("--uvm",),
    "on or off: migrations of managed memory, if they were recorded (default: on)",
    default=True,
    metavar="on|off",
    parse=parse_switch,
)
OCCUPANCY = Option(
    "occupancy",
    ("--occupancy",),
    "add the warps of a block and the theoretical occupancy",
)
SORT_BY = Option(
    "sort_by",
    ("--sort-by",),
    "order the functions, the greatest last: by gpu, time or wait (of the"
    " function), hits (of its lines), or by line (file and line); of --functions,"
    " the greatest first: by calls, primitive, self, cumulative, per-call, gpu, name"
    " or file. --sort with one of these names is the same",
    default="",
    metavar="ORDER",
    parse=parse_order,
)
GPU_COLUMNS = Option(
    "gpu_columns",
    ("--gpu-columns",),
    "columns where a function used a GPU, with commas between:"
    f" {', '.join(USUAL_COLUMNS)} (those that have data are the default),"
    f" {', '.join(MORE_COLUMNS)}; or all, or none",
    default=None,
    metavar="NAMES",
    parse=parse_gpu_columns,
)
GPU_SELF = Option(
    "gpu_self",
    ("--gpu-self",),
    "GPU numbers of the line itself, without what it called in other"
    " profiled functions",
)
TOP_KERNELS = Option(
    "top_kernels",
    ("--top-kernels",),
    "list the N kernels that took longest under each line",
    default=0,
    metavar="N",
    parse=parse_count,
)
TABLE = (SORT_BY, GPU_COLUMNS, GPU_SELF, TOP_KERNELS, KERNEL, GRAPH_ORIGIN)
