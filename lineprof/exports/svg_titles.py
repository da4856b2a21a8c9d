"""What is said of each box of a flame graph when the mouse is on it."""

from __future__ import annotations

from lineprof.source import Sources
from lineprof.units import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.exports.flames import Flame
    from lineprof.records import Key
    from lineprof.short_names import ShortNames
    from lineprof.stats import Profile

_LONGEST = 100  # characters of a line of source


class Titles:
    """The titles of a graph, of which all takes `whole_ns`."""

    def __init__(self, stats: Profile, names: ShortNames, whole_ns: int) -> None:
        self._names = names
        self._whole_ns = whole_ns
        self._sources = Sources(stats.sources)
        self._hottest = _hottest(stats)

    def name(self, flame: Flame) -> str:
        """Return what stands in the box."""
        return self._names.alone(flame.key)

    def of_all(self) -> str:
        """Return the title of the root."""
        return f"all\n{_text(self._whole_ns)}"

    def of(self, flame: Flame) -> str:
        """Return name and place, times, calls and the hottest line: one a line."""
        lines = [self._names.full(flame.key)]
        share = 100 * flame.ns / self._whole_ns
        lines.append(f"{_text(flame.ns)}, {share:.2f} % of all")
        if flame.below:
            lines.append(f"{_text(flame.own_ns)} of its own")
        if flame.calls:
            lines.append(f"{flame.calls:,} call{'s' if flame.calls > 1 else ''}")
        hottest = self._hottest.get(flame.key)
        if hottest is not None:
            ns, line = hottest
            source = (self._sources.line(flame.key[0], line) or "").strip()[:_LONGEST]
            text = f"hottest line {line}, {_text(ns)} in all: {source}"
            lines.append(text.removesuffix(": "))
        return "\n".join(lines)


def _text(ns: int) -> str:
    return readable(ns / 1e9).strip()


def _hottest(stats: Profile) -> dict[Key, tuple[int, int]]:
    """Return each function's line that took longest: (ns with what it called, line)."""
    found: dict[Key, tuple[int, int]] = {}
    for function in stats.functions:
        lines: dict[int, int] = {}
        for cell in function.cells:
            lines[cell.line] = lines.get(cell.line, 0) + cell.time_ns
        if any(lines.values()):
            ns, line = max((ns, -line) for line, ns in lines.items())
            found[function.key] = (ns, -line)
    return found
