"""cProfile as a decorator and a context manager."""

from __future__ import annotations

import cProfile
import functools
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    F = TypeVar("F", bound=Callable[..., object])


_HERE = os.path.dirname(__file__)


def _ours(function: tuple[str, int, str]) -> bool:
    return os.path.dirname(function[0]) == _HERE


class CallProfile(cProfile.Profile):
    """A cProfile that records while at least one of its users wants it to."""

    _users = 0

    def enable_by_count(self) -> None:
        """Turn it on, unless it is."""
        if not self._users:
            self.enable()
        self._users += 1

    def disable_by_count(self) -> None:
        """Turn it off when this was the last user."""
        if self._users:
            self._users -= 1
            if not self._users:
                self.disable()

    def create_stats(self) -> None:
        """Gather the numbers, those of kernprof's own functions left out."""
        super().create_stats()
        for function, (cc, nc, tt, ct, callers) in list(self.stats.items()):
            theirs = {f: numbers for f, numbers in callers.items() if not _ours(f)}
            self.stats[function] = (cc, nc, tt, ct, theirs)
            if _ours(function):
                del self.stats[function]

    def __call__(self, function: F) -> F:
        """Return `function`, recorded whenever it is called."""

        @functools.wraps(function)
        def recorded(*args: object, **kwargs: object) -> object:
            self.enable_by_count()
            try:
                return function(*args, **kwargs)
            finally:
                self.disable_by_count()

        return recorded  # type: ignore[return-value]

    def __enter__(self) -> CallProfile:
        """Record until the end of the block."""
        self.enable_by_count()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Record no longer."""
        self.disable_by_count()
