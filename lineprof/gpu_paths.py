"""The core's paths of open lines, as a profile sees them."""

from __future__ import annotations

from lineprof.gpu_records import NO_PATH, GpuPath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lineprof.records import Key

    RawPath = tuple[int, int, int]  # parent, serial of the code, line
    Lines = tuple[tuple[Key, int], ...]

_LINES = 1_000_000  # from a code object's serial to its lines' NVTX payloads


class Paths:
    """The core's paths as the profile sees them, once they are asked for.

    Lines that are open several times, in recursion, stay where they are
    innermost: so paths that differ in depth alone are one, and there are few.
    """

    def __init__(
        self,
        raw: Sequence[RawPath],
        keys: Mapping[int, Key],
        place_of: Callable[[int], int],
    ) -> None:
        self.found: list[GpuPath] = []
        self._raw = raw
        self._keys = keys
        self._place_of = place_of
        self._places = {0: NO_PATH}  # by the core's number
        self._equal: dict[GpuPath, int] = {}
        # By the core's number: its root's line, its own lines, the payload.
        self._open: dict[int, tuple[int, Lines, int]] = {}
        self._lines: dict[tuple[int, int], tuple[Key, int]] = {}

    def place(self, number: int) -> int:
        """Return the index in `found` of the core's path `number`, or NO_PATH."""
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = self._find(number)
        return place

    def _find(self, number: int) -> int:
        root, lines, payload = self._open_lines(number)
        if not lines:
            return NO_PATH
        path = GpuPath(
            thread=self._place_of(root >> 1),
            adopted=bool(root & 1),
            lines=lines,
            range=payload,
        )
        place = self._equal.setdefault(path, len(self.found))
        if place == len(self.found):
            self.found.append(path)
        return place

    def _open_lines(self, number: int) -> tuple[int, Lines, int]:
        chain = []
        while number not in self._open:
            parent, serial, line = self._raw[number]
            chain.append((number, serial, line))
            if not serial:  # a root, whose line says of which thread
                self._open[number] = (line, (), 0)
            else:
                number = parent
        state = self._open[number]
        for inner, serial, line in reversed(chain):
            if serial in self._keys:
                made = (self._keys[serial], line)
                own = self._lines.setdefault((serial, line), made)
                root, lines, _ = state
                lines = tuple([one for one in lines if one != own])
                state = (root, (*lines, own), serial * _LINES + line)
            self._open[inner] = state
        return state
