"""GPU work of a program that runs, as the program itself tells it.

Records of a device are in no live file: the program is asked for them, over its socket
(`lineprof.control`), if it listens.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from lineprof.control.client import Connection
from lineprof.control.place import place_of
from lineprof.errors import LineprofError
from lineprof.live.reading import Numbers

if TYPE_CHECKING:
    from lineprof.live.reading import Place, Sample

_COMMAND = "gpu"  # of `kernprof.control`
_NUMBERS = ("gpu_ns", "own_gpu_ns", "kernels")  # of a row of the answer
_PATIENCE = 1.0  # s for an answer; a later one is used by the next refresh


class GpuWork:
    """The GPU work of the lines of one program."""

    def __init__(self, pid: int) -> None:
        """Connect to the process if it listens."""
        self._pid = pid
        self._work: dict[Place, dict[str, int]] = {}  # by names of `Numbers`
        self._is_asked = False
        self._connection: Connection | None = None
        with suppress(LineprofError, OSError):  # it does not listen
            self._connection = Connection(pid, place_of(pid))

    def close(self) -> None:
        """End the connection."""
        connection, self._connection = self._connection, None
        if connection:
            connection.close()

    def added_to(self, sample: Sample) -> Sample:
        """Return the sample with the program's GPU work so far."""
        self._refresh()
        if not self._work:
            return sample
        lines, functions = dict(sample.lines), dict(sample.functions)
        for (key, line), work in self._work.items():
            table = lines if line else functions
            place = (key, line or key[1])
            table[place] = table.get(place, Numbers())._replace(**work)
        return sample._replace(lines=lines, functions=functions)

    def _refresh(self) -> None:
        """Ask for the present numbers; without an answer, the last ones stay."""
        if not self._connection:
            return
        try:
            if not self._is_asked:
                self._connection.send(_COMMAND)
                self._is_asked = True
            answer = self._connection.receive(_PATIENCE)
        except LineprofError:  # it has ended, or is of another version
            self.close()
            return
        if answer is None:
            return
        self._is_asked = False
        with suppress(TypeError, ValueError):  # of another version
            for file, start, name, line, *work in answer.get("rows", ()):
                numbers = dict(zip(_NUMBERS, map(int, work), strict=True))
                self._work[(str(file), int(start), str(name)), int(line)] = numbers
