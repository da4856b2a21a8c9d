"""What to stop measuring, once measuring takes more than it may.

Nothing here looks at a clock or a program: from what things cost follows what is
switched off, the same each time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lineprof.discovery import Cost
    from lineprof.records import Key

_LEAST_NS = 10_000_000  # of cost in all, before anything is switched off
_SHARE = 50  # who takes less than a fiftieth of the cost is asked last


class Usage:
    """What the code objects of one function took so far, times in ns."""

    def __init__(self, hits: int = 0, cost_ns: int = 0, time_ns: int = 0) -> None:
        """Begin with these."""
        self.hits, self.cost_ns, self.time_ns = hits, cost_ns, time_ns

    def add(self, cost: Cost) -> None:
        """Add those of one code object."""
        self.hits += cost.hits
        self.cost_ns += cost.cost_ns
        self.time_ns += cost.time_ns

    def since(self, before: Usage) -> Usage:
        """Return what came on top of an earlier usage."""
        return Usage(
            self.hits - before.hits,
            self.cost_ns - before.cost_ns,
            self.time_ns - before.time_ns,
        )


class Budget:
    """How much slower a program may get by being measured."""

    def __init__(self, limit: float) -> None:
        """Let it take `limit` times as long as alone; 1 or more."""
        self._limit = limit
        self._elapsed = 0
        self._before: dict[Key, Usage] = {}
        self._off: set[Key] = set()

    def choose(self, elapsed_ns: int, costs: Iterable[Cost]) -> dict[Key, Usage]:
        """Return the functions to switch off now, with what each took so far.

        `elapsed_ns` is the time since the beginning, `costs` are those since then.
        None while the program is within the budget, or would come back to it if it
        went on as it did since the last call; else those that cost most for the
        time that they take themselves, as many as it needs for that.
        """
        usage: dict[Key, Usage] = {}
        for cost in costs:
            usage.setdefault(cost.key, Usage()).add(cost)
        recent = {k: u.since(self._before.get(k, Usage())) for k, u in usage.items()}
        lately = elapsed_ns - self._elapsed
        self._elapsed, self._before = elapsed_ns, usage
        total = sum(one.cost_ns for one in usage.values())
        if total < _LEAST_NS or self._excess(elapsed_ns, total) <= 0:
            return {}
        spent = sum(one.cost_ns for one in recent.values())
        excess = self._excess(lately, spent)
        chosen = {}
        for key in self._worst_first(recent, spent):
            if excess <= 0:
                break
            excess -= recent[key].cost_ns
            chosen[key] = usage[key]
        self._off.update(chosen)
        return chosen

    def _excess(self, elapsed: int, cost: int) -> int:
        """Return by how much `cost` is more than it may be in that time, in ns."""
        return cost - round(max(0, elapsed - cost) * (self._limit - 1))

    def _worst_first(self, recent: dict[Key, Usage], spent: int) -> Sequence[Key]:
        """Return what has cost anything lately: most for its own time first."""

        def order(key: Key) -> tuple[bool, float, int, Key]:
            one = recent[key]
            ratio = one.cost_ns / max(1, one.time_ns)
            return one.cost_ns * _SHARE < spent, -ratio, -one.cost_ns, key

        some = [k for k, u in recent.items() if u.cost_ns > 0 and k not in self._off]
        return sorted(some, key=order)
