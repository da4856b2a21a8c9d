"""What the profiles of a file for speedscope share: its frames."""

from __future__ import annotations

from dataclasses import dataclass

from lineprof.exports.json_text import quoted
from lineprof.records import UNKNOWN_THREAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

    from lineprof.records import Key
    from lineprof.short_names import ShortNames

BY_FUNCTION, BY_LINE = "by function", "by line"
_EVENTED, _SAMPLED = ("events",), ("samples", "weights")


@dataclass(frozen=True)
class SpeedscopeProfile:
    """One profile; its arrays are in `Pieces`, by (key, name of the array)."""

    key: Hashable
    what: str  # it shows
    start: int  # ns
    end: int
    is_evented: bool
    thread: int = UNKNOWN_THREAD
    name: str = ""  # of what ran it; "": the thread's

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of its arrays."""
        return _EVENTED if self.is_evented else _SAMPLED


class Frames:
    """Functions, lines and kernels, each with its number."""

    def __init__(self, names: ShortNames) -> None:
        self._names = names
        self._lines: dict[Key, Lines] = {}
        self._texts: list[str] = []

    def lines(self, key: Key) -> Lines:
        """Return the numbers of a function's lines; line 0 is the function."""
        lines = self._lines.get(key)
        if lines is None:
            lines = self._lines[key] = Lines(self, key)
        return lines

    def named(self, name: str) -> int:
        """Return the number of what is no Python."""
        return self.lines(("", 0, name))[0]

    def text(self) -> str:
        """Return them in JSON, in the order of their numbers."""
        return ",\n".join(self._texts)

    def add(self, key: Key, line: int) -> int:
        """Return the number of a frame that is new."""
        file, first, _ = key
        name = self._names.alone(key)
        if line:
            name = f"{name}:{line}"
        place = f',"file":{quoted(file)},"line":{line or first}' if file else ""
        self._texts.append(f'{{"name":{quoted(name)}{place}}}')
        return len(self._texts) - 1


class Lines(dict[int, int]):
    """The numbers of a function's lines, each made when it is first asked for."""

    def __init__(self, frames: Frames, key: Key) -> None:
        super().__init__()
        self._frames = frames
        self._key = key

    def __missing__(self, line: int) -> int:
        """Return the number of a line that is new."""
        number = self[line] = self._frames.add(self._key, line)
        return number
