"""cProfile as a decorator and a context manager."""

from __future__ import annotations

import _thread
import cProfile
import sys

from kernprof.call_stats import stats_of
from lineprof.profiler_mixin import ByCountProfilerMixin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar

    from kernprof.call_stats import Stats

    F = TypeVar("F", bound=Callable[..., object])

_BY_THREAD = sys.version_info < (3, 12)  # later cProfile sees all threads at once


class ContextualProfile(ByCountProfilerMixin, cProfile.Profile):  # type: ignore[misc]
    """A cProfile that records while at least one of its users wants it to.

    Users are calls of the functions that it decorates, ``with`` blocks, and
    `enable_by_count`. Before Python 3.12 a cProfile sees one thread: that of
    the first user; those of other threads meanwhile change nothing.
    """

    stats: Stats  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Take cProfile's own arguments; nothing is recorded yet."""
        super().__init__(*args, **kwargs)
        self.enable_count = 0
        self._thread = 0
        self._by_hand = False

    def enable(self, subcalls: bool = True, builtins: bool = True) -> None:  # noqa: FBT001, FBT002
        """Turn it on until `disable`, whatever is called meanwhile.

        Raises ValueError where another profiler is on (from Python 3.12 on).
        """
        if not (self._by_hand or self.enable_count):
            super().enable(subcalls=subcalls, builtins=builtins)
        self._by_hand = True

    def disable(self) -> None:
        """Turn it off."""
        self._by_hand = False
        super().disable()

    def enable_by_count(self, subcalls: bool = True, builtins: bool = True) -> None:  # noqa: FBT001, FBT002
        """Turn it on, unless it is.

        Raises ValueError where another profiler is on (from Python 3.12 on).
        """
        if not self.enable_count:
            self._thread = _thread.get_ident()
            if not self._by_hand:
                super().enable(subcalls=subcalls, builtins=builtins)
        elif _BY_THREAD and self._thread != _thread.get_ident():
            return
        self.enable_count += 1

    def disable_by_count(self) -> None:
        """Turn it off when this was the last user."""
        if not self.enable_count:
            return
        if _BY_THREAD and self._thread != _thread.get_ident():
            return
        self.enable_count -= 1
        if not (self.enable_count or self._by_hand):
            super().disable()

    def snapshot_stats(self) -> None:
        """Gather the numbers, those of kernprof's own functions left out."""
        self.stats = stats_of(self.getstats())  # type: ignore[arg-type]

    def __call__(self, func: F) -> F:
        """Return `func`, recorded whenever it is called."""
        return self.wrap_callable(func)  # type: ignore[no-any-return]
