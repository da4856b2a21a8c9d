"""The `profile` of a process in which nothing is recorded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, TypeVar

    T = TypeVar("T")


class NullProfiler:
    """A `profile` that leaves functions as they are."""

    def __call__(self, function: T) -> T:
        """Return `function` itself."""
        return function

    def __enter__(self) -> Self:
        """Measure nothing."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Measure nothing."""

    def __getattr__(self, name: str) -> object:
        """Return other attributes of a profiler from one that records nothing."""
        from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415  # seldom used

        self.__dict__["_idle"] = idle = self.__dict__.get("_idle") or LineProfiler()
        return getattr(idle, name)
