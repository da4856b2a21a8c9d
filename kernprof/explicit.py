"""`lineprof.profile` in a program that kernprof runs."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lineprof.global_profiler import GlobalProfiler


class Explicit:
    """What ``lineprof.profile`` does for as long as a program is run."""

    def __init__(self, profiler: object) -> None:
        """Change nothing yet; `profiler` is what is to decorate."""
        self._profiler: Any = profiler
        self._taken: GlobalProfiler | None = None

    def take_over(self) -> None:
        """Have ``lineprof.profile`` decorate with the profiler."""
        from lineprof.global_profiler import profile  # noqa: PLC0415  # only now

        self._taken = profile
        profile._kernprof_overwrite(self._profiler)  # noqa: SLF001

    @staticmethod
    def is_of_others() -> bool:
        """Tell whether the program imported the `profile` of line_profiler itself."""
        from lineprof.global_profiler import profile  # noqa: PLC0415

        theirs = sys.modules.get("line_profiler")
        return theirs is not None and getattr(theirs, "profile", None) is not profile

    def release(self) -> bool:
        """Undo that; tell whether there was anything to undo."""
        taken, self._taken = self._taken, None
        if taken is None:
            return False
        taken._kernprof_release()  # noqa: SLF001
        return True
