"""``from lineprof import profile``: a decorator that does nothing until asked.

It is asked by the environment variable ``LINE_PROFILE``, by ``--line-profile``
among the program's arguments, by `GlobalProfiler.enable`, or by running under
``kernprof``, which takes it over. Off, it returns functions as they are.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as a type checker knows; importing typing takes 5 ms
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar

    from lineprof.profiler import LineProfiler

    F = TypeVar("F", bound=Callable[..., Any])

_OFF = frozenset(("", "0", "off", "false", "f", "no", "n"))


class GlobalProfiler:
    """The profiler that ``lineprof.profile`` is.

    `enabled` is None until the first decoration decides it. At the end of the
    program an enabled one prints a summary and writes ``<output_prefix>.txt``,
    a copy with the time in its name, and ``<output_prefix>.lprof``; which of
    these is told by `write_config`.
    """

    def __init__(self) -> None:
        """Stay undecided."""
        self.enabled: bool | None = None
        self.output_prefix = "profile_output"
        self.setup_config = {
            "environ_flags": ["LINE_PROFILE"],
            "cli_flags": ["--line-profile", "--line_profile"],
        }
        self.write_config = {
            "lprof": True,
            "text": True,
            "timestamped_text": True,
            "stdout": True,
        }
        self.show_config = {
            "sort": True,
            "stripzeros": True,
            "rich": True,
            "details": False,
            "summarize": True,
        }
        self._profile: LineProfiler | None = None
        self._registered = False
        self._taken_over = False
        self._before: tuple[LineProfiler | None, bool | None, bool] = (
            None,
            None,
            False,
        )

    def __call__(self, func: F) -> F:
        """Decorate `func` when profiling is on; else return it as it is."""
        if self.enabled is None:
            self._decide()
        if not self.enabled:
            return func
        return self._profiler()(func)

    def enable(self, output_prefix: str | None = None) -> None:
        """Profile the functions that are decorated from now on.

        `output_prefix` is the start of the paths of the files to write.
        """
        self.enabled = True
        if output_prefix is not None:
            self.output_prefix = output_prefix
        self._profiler()

    def disable(self) -> None:
        """Leave the functions that are decorated from now on as they are."""
        self.enabled = False

    def show(self) -> None:
        """Print and write what was measured so far, as at the program's end."""
        from lineprof.explicit_output import show  # noqa: PLC0415

        if self._profile is not None:
            show(self, self._profile.get_stats())

    def _decide(self) -> None:
        environ = any(
            os.environ.get(name, "").lower() not in _OFF
            for name in self.setup_config["environ_flags"]
        )
        flagged = set(self.setup_config["cli_flags"]).intersection(sys.argv)
        # A child that runs the script again is not the one that was asked.
        if (environ or flagged) and not _is_child():
            self.enable()
        else:
            self.enabled = False

    def _profiler(self) -> LineProfiler:
        if self._profile is None:
            from lineprof.profiler import LineProfiler  # noqa: PLC0415

            self._profile = LineProfiler()
        if not self._registered and not self._taken_over:
            import atexit  # noqa: PLC0415

            self._registered = True
            atexit.register(self._at_exit, os.getpid())
        return self._profile

    def _at_exit(self, owner: int) -> None:
        if os.getpid() == owner and not self._taken_over:
            self.show()

    def _kernprof_overwrite(self, profiler: LineProfiler) -> None:
        """Hand over to a runner's profiler, which writes its own file."""
        self._before = (self._profile, self.enabled, self._taken_over)
        self._profile = profiler
        self._taken_over = True
        self.enabled = True

    def _kernprof_release(self) -> None:
        """Undo `_kernprof_overwrite`."""
        self._profile, self.enabled, self._taken_over = self._before


def _is_child() -> bool:
    module = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


profile = GlobalProfiler()
