"""Arrows from what launched to what was launched, in a stream of slices.

The slice that launched comes long before what a device makes of it, and a
writer has to know of an arrow where it starts. So the last so many slices are
kept back, and go on in their order once that many came after them.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from lineprof.exports.timeline_labels import Label

MOST_KEPT = 50_000  # slices; some 20 MB
NO_ARROW = 0


class Span(NamedTuple):
    """One interval on a row: a tuple, for there may be millions."""

    row: int  # its Row's number
    start: int  # ns, on the axis of `Clock`
    ns: int
    label: Label
    correlation: int = 0  # of a call and what it launched; 0: none
    ends: int = NO_ARROW  # the number of the arrow that ends here
    starts: tuple[int, ...] = ()  # those of the arrows that start here


class Arrows:
    """The slices that are kept back; `numbers` counts the arrows of all processes."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._kept: deque[tuple[Span, Hashable]] = deque()
        self._gone = 0  # slices that went on; the first one kept has this index
        self._sources: dict[Hashable, int] = {}  # by what they may launch, an index
        self._starts: dict[int, list[int]] = {}  # arrows, by index

    def add(self, span: Span, source: Hashable = None) -> Iterator[Span]:
        """Take a slice, and yield what goes on now.

        `source` names what may be launched from it: the last slice of a name
        is meant by it.
        """
        if source is not None:
            self._sources[source] = self._gone + len(self._kept)
        self._kept.append((span, source))
        if len(self._kept) > MOST_KEPT:
            yield self._next()

    def knows(self, source: Hashable) -> bool:
        """Tell whether a slice is kept that launches what `source` names."""
        return source in self._sources

    def end(self, *sources: Hashable) -> int:
        """Return the number of a new arrow from the first of `sources` that is there.

        NO_ARROW where none is: it was never, or too long ago.
        """
        for source in sources:
            index = self._sources.get(source)
            if index is not None:
                number = next(self._numbers)
                self._starts.setdefault(index, []).append(number)
                return number
        return NO_ARROW

    def rest(self) -> Iterator[Span]:
        """Yield what is left."""
        while self._kept:
            yield self._next()

    def _next(self) -> Span:
        span, source = self._kept.popleft()
        index = self._gone
        self._gone += 1
        if source is not None and self._sources.get(source) == index:
            del self._sources[source]
        starts = self._starts.pop(index, None)
        return span if starts is None else span._replace(starts=tuple(starts))
