"""Running a statement or a cell under a profiler."""

from __future__ import annotations

import builtins
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any

    from lineprof.profiler import LineProfiler

    Names = dict[str, Any]

_ABSENT = object()


class Run:
    """What a user's code did under a profiler."""

    seconds = 0.0  # that it took
    message = ""  # how it ended; "" if it came to its end

    def __init__(self, profiler: LineProfiler) -> None:
        """Have run nothing yet."""
        self._profiler = profiler
        self._before: object = _ABSENT

    def execute(self, code: CodeType, global_names: Names, names: Names) -> None:
        """Run `code`; of what it raises, SystemExit and KeyboardInterrupt end here."""
        __tracebackhide__ = True  # IPython leaves the frame out
        with self:
            exec(code, global_names, names)  # noqa: S102

    async def await_(self, code: CodeType, global_names: Names, names: Names) -> None:
        """Run the `code` of a coroutine, see `execute`."""
        __tracebackhide__ = True  # IPython leaves the frame out
        with self:
            await eval(code, global_names, names)  # noqa: S307

    def __enter__(self) -> None:
        """Count from now on; ``profile`` is the profiler, as under kernprof."""
        self._before = vars(builtins).get("profile", _ABSENT)
        vars(builtins)["profile"] = self._profiler
        self._profiler.enable_by_count()
        self.seconds = -perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Leave all as it was; tell whether `error` is dealt with."""
        self.seconds += perf_counter()
        self._profiler.disable_by_count()
        if self._before is _ABSENT:
            vars(builtins).pop("profile", None)
        else:
            vars(builtins)["profile"] = self._before
        if kind is None or not issubclass(kind, (SystemExit, KeyboardInterrupt)):
            return False
        self.message = f"{kind.__name__} exception caught in code being profiled."
        return True
