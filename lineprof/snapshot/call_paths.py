"""Call paths of the core: the profile's lines that are open on each of them.

The process has one table of call paths, to which both the work of devices and blocks of
memory are charged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lineprof.model.records import Key

    Lines = tuple[tuple[Key, int], ...]

_LINES = 1_000_000  # from a code object's serial to its lines' NVTX payloads


class PathRow(NamedTuple):
    """One line of a call path, or the root of one, as the core has it."""

    parent: int  # the core's number of the path above
    serial: int  # of the code object; 0: a root
    line: int  # of a root: twice the thread's number, plus 1 if it is adopted


class OpenLines(NamedTuple):
    """The profile's lines that are open on one of the core's paths."""

    root: int  # the line of the path's root
    lines: Lines = ()
    payload: int = 0  # of the innermost line's NVTX range


class LinesOfPaths:
    """The open lines of each path, computed when they are asked for.

    A line that is open several times, in recursion, is kept only where it is innermost,
    so that paths which differ only in depth become equal.
    """

    def __init__(self, rows: Iterable[Iterable[int]], keys: Mapping[int, Key]) -> None:
        """Take the core's paths, and the function of each code serial of the profile.

        Lines of other code objects are left out.
        """
        self._rows = [*map(PathRow._make, rows)]
        self._keys = keys
        self._open: dict[int, OpenLines] = {}  # by the core's number
        # Each place once: by the code object's serial, and line.
        self._lines: dict[tuple[int, int], tuple[Key, int]] = {}

    def of(self, number: int) -> OpenLines:
        """Return the open lines of the core's path `number`."""
        unknown: list[tuple[int, PathRow]] = []  # the innermost first
        while number not in self._open:
            row = self._rows[number]
            if row.serial:
                unknown.append((number, row))
                number = row.parent
            else:
                self._open[number] = OpenLines(root=row.line)
        opened = self._open[number]
        for inner, row in reversed(unknown):
            if row.serial in self._keys:
                place = (self._keys[row.serial], row.line)
                place = self._lines.setdefault((row.serial, row.line), place)
                outer = [line for line in opened.lines if line != place]
                opened = OpenLines(
                    root=opened.root,
                    lines=(*outer, place),
                    payload=row.serial * _LINES + row.line,
                )
            self._open[inner] = opened
        return opened
