"""The views of who called whom; made when asked for."""

from __future__ import annotations

from lineprof.views.call_flags import COUNT, DEPTH, LIMIT, MIN_PERCENT, TARGETS
from lineprof.views.gpu_flags import GPU_COLUMNS, GPU_SELF, SORT_BY, TOP_KERNELS
from lineprof.views.orders import OF_FUNCTIONS
from lineprof.views.text import MORE_COLUMNS, RICH, UNIT
from lineprof.views.view import SKIP_ZERO, Options, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineprof.source import Sources
    from lineprof.stats import Profile


def _functions(stats: Profile, _: Sources, options: Options) -> Iterable[str]:
    from lineprof.views.functions import functions  # noqa: PLC0415  # few ask for it

    return functions(stats, options)


def _drill(stats: Profile, sources: Sources, options: Options) -> Iterable[str]:
    from lineprof.views.drill import drill  # noqa: PLC0415

    return drill(stats, sources, options)


def _callers(stats: Profile, sources: Sources, options: Options) -> Iterable[str]:
    from lineprof.views.callers import callers  # noqa: PLC0415

    return callers(stats, sources, options)


def _tree(stats: Profile, sources: Sources, options: Options) -> Iterable[str]:
    from lineprof.views.tree import tree  # noqa: PLC0415

    return tree(stats, sources, options)


def _hot(stats: Profile, sources: Sources, options: Options) -> Iterable[str]:
    from lineprof.views.hot import hot  # noqa: PLC0415

    return hot(stats, sources, options)


def _remarks(stats: Profile, options: Options) -> Iterable[str]:
    from lineprof.views.call_remarks import of_calls  # noqa: PLC0415

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
    orders=OF_FUNCTIONS,
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
