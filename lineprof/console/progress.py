"""A line on a terminal that says how far a long task is, and goes with its end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from lineprof.console.terminal import terminal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self, TextIO, TypeVar

    T = TypeVar("T")

_PATIENCE = 0.5  # s without a word: most tasks are done by then

_PAUSE = 0.1  # s between two looks of the line

_ERASE = "\r\x1b[K"

_USUAL_WIDTH = 80  # columns


class Progress:
    """One task's line on standard error; used as a context manager.

    It is shown on terminals alone, from half a second on. What is shown is
    counted as it goes by, by the thread that does the work: nothing runs beside
    it. `stream` and `clock` (in s) are for tests.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the stream (default: standard error)."""
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._next = clock() + _PATIENCE
        screen = terminal_of(self._stream)
        self._is_on = screen.terminal
        self._room = (screen.width or _USUAL_WIDTH) - 1  # what wraps can't be erased
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.erase()

    def each(self, items: Iterable[T], doing: str, whole: int = 0) -> Iterator[T]:
        """Yield `items` and say which one it is, of `whole` if that is known."""
        of_whole = f" of {whole:,}" if whole else ""
        for number, item in enumerate(items, 1):
            self.say(lambda number=number: f"{doing} {number:,}{of_whole}")  # type: ignore[misc]
            yield item

    def written(self, chunks: Iterable[bytes], doing: str) -> Iterator[bytes]:
        """Yield `chunks` and say how many megabytes they are so far."""
        size = 0
        for chunk in chunks:
            size += len(chunk)
            self.say(lambda size=size: f"{doing} {size / 1e6:,.1f} MB")  # type: ignore[misc]
            yield chunk

    def say(self, text: Callable[[], str]) -> None:
        """Show what `text` returns, unless it is too early, or was just shown."""
        if not self._is_on or (now := self._clock()) < self._next:
            return
        self._next = now + _PAUSE
        self._write(_ERASE + f"lineprof: {text()}"[: self._room])
        self._shown = True

    def erase(self) -> None:
        """Take the line away, if it is there."""
        if self._shown:
            self._shown = False
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone
            self._is_on = self._shown = False
