"""A progress line on a terminal, erased at the end of its task."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from lineprof.console.terminal import terminal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self, TextIO, TypeVar

    T = TypeVar("T")

_DELAY = 0.5  # s before the line appears: most tasks are done by then

_INTERVAL = 0.1  # s between two updates

_ERASE = "\r\x1b[K"
# After a program's output, which may end within a line: that stays as it is.
# The cursor is saved, and what follows it is erased.
_KEEP, _ERASE_AFTER = "\x1b7", "\x1b8\x1b[J"

_DEFAULT_WIDTH = 80  # columns


class Progress:
    """The progress line of one task, on standard error; a context manager.

    It appears on terminals alone, after half a second. The thread that does the
    work updates it; there is no other thread. `stream` and `clock` (in s) are for
    tests. `after_output` keeps the text before it on its line.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        after_output: bool = False,
    ) -> None:
        """Take the stream (default: standard error)."""
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._next = clock() + _DELAY
        terminal = terminal_of(self._stream)
        self._is_on = terminal.is_terminal
        width = terminal.width or _DEFAULT_WIDTH
        self._room = width - 1  # what wraps can't be erased
        self._shown = False
        self._first = _KEEP if after_output else _ERASE
        self._erase = _ERASE_AFTER if after_output else _ERASE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.erase()

    def each(self, items: Iterable[T], doing: str, total: int = 0) -> Iterator[T]:
        """Yield `items` and show the number of each, of `total` if that is known."""
        of_total = f" of {total:,}" if total else ""
        for number, item in enumerate(items, 1):
            self.say(lambda number=number: f"{doing} {number:,}{of_total}")  # type: ignore[misc]
            yield item

    def written(self, chunks: Iterable[bytes], doing: str) -> Iterator[bytes]:
        """Yield `chunks` and show how many megabytes they are so far."""
        size = 0
        for chunk in chunks:
            size += len(chunk)
            self.say(lambda size=size: f"{doing} {size / 1e6:,.1f} MB")  # type: ignore[misc]
            yield chunk

    def say(self, text: Callable[[], str]) -> None:
        """Show the result of `text`, unless an update is too early."""
        if not self._is_on or (now := self._clock()) < self._next:
            return
        self._next = now + _INTERVAL
        before = self._erase if self._shown else self._first
        self._write(before + f"lineprof: {text()}"[: self._room])
        self._shown = True

    def erase(self) -> None:
        """Erase the line, if it is shown."""
        if self._shown:
            self._shown = False
            self._write(self._erase)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone
            self._is_on = self._shown = False
