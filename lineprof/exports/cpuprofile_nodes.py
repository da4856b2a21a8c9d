"""The call tree of a V8 profile, as a list of nodes."""

from __future__ import annotations

from lineprof.exports.json_text import quoted, url
from lineprof.exports.stacks import thread_name
from lineprof.exports.timeline_slices import MOST_DEEP
from lineprof.records import UNKNOWN_THREAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.records import Key
    from lineprof.short_names import ShortNames
    from lineprof.stats import Profile

ROOT = 1  # the number of the node that all others are below
_MOST = 4096  # nodes of a chunk


class Nodes:
    """All nodes: each is known by its number, from 1 on."""

    def __init__(self, stats: Profile, names: ShortNames) -> None:
        self._stats = stats
        self._names = names
        self._children: list[list[int]] = []
        self._parents: list[int] = []
        self._depths: list[int] = []
        self._frames: list[str] = []
        self._ticks: list[dict[int, int]] = []  # us of each line
        self._hits: list[int] = []  # us
        self._of_function: dict[Key, str] = {}
        self._scripts: dict[str, int] = {}
        self._threads: dict[int, int] = {}
        self._programs: dict[int, int] = {}
        self._new(0, _frame("(root)"))

    def __len__(self) -> int:
        return len(self._frames)

    def thread(self, thread: int) -> int:
        """Return the node of a thread; the root where there is but one."""
        if len(self._stats.threads) < 2:  # noqa: PLR2004  # nothing to tell apart
            return ROOT
        node = self._threads.get(thread)
        if node is None:
            name = "All threads"
            if thread != UNKNOWN_THREAD:
                name = thread_name(self._stats, thread)
            node = self._threads[thread] = self._new(ROOT, _frame(name))
        return node

    def program(self, thread: int) -> int:
        """Return the node of what a thread does outside of the profile."""
        parent = self.thread(thread)
        node = self._programs.get(parent)
        if node is None:
            node = self._programs[parent] = self._new(parent, _frame("(program)"))
        return node

    def above(self, node: int) -> int:
        """Return the node below which those go that `node` calls.

        That is itself, if it is not too deep for readers: they recurse.
        """
        if self._depths[node - 1] < MOST_DEEP:
            return node
        return self._parents[node - 1]

    def add(self, parent: int, key: Key) -> int:
        """Return a new node of a function; `parent` is from `above`."""
        frame = self._of_function.get(key)
        if frame is None:
            file, line, _ = key
            script = self._scripts.setdefault(file, len(self._scripts) + 1)
            frame = self._of_function[key] = _frame(
                self._names.alone(key), script if file else 0, url(file), line - 1
            )
        return self._new(parent, frame)

    def hit(self, node: int, us: int) -> None:
        """Charge a time (us) to a node."""
        self._hits[node - 1] += us

    def ticks(self, node: int) -> dict[int, int]:
        """Return a node's time (us) by line, to be changed; line 0 is none."""
        return self._ticks[node - 1]

    def chunks(self) -> Iterator[bytes]:
        """Yield them in JSON."""
        texts: list[str] = []
        for index, frame in enumerate(self._frames):
            children = ",".join(map(str, self._children[index]))
            ticks = ",".join(
                f'{{"line":{line},"ticks":{us}}}'
                for line, us in sorted(self._ticks[index].items())
                if line
            )
            texts.append(
                f'{"," if index else ""}\n{{"id":{index + 1},"callFrame":{frame},'
                f'"hitCount":{self._hits[index]},"children":[{children}]'
                + (f',"positionTicks":[{ticks}]}}' if ticks else "}")
            )
            if len(texts) == _MOST:
                yield "".join(texts).encode()
                texts = []
        yield "".join(texts).encode()

    def _new(self, parent: int, frame: str) -> int:
        self._children.append([])
        self._frames.append(frame)
        self._ticks.append({})
        self._hits.append(0)
        self._parents.append(parent)
        number = len(self._frames)
        self._depths.append(self._depths[parent - 1] + 1 if parent else 0)
        if parent:
            self._children[parent - 1].append(number)
        return number


def _frame(name: str, script: int = 0, address: str = "", line: int = -1) -> str:
    """Return a call frame in JSON; lines count from 0."""
    column = 0 if script else -1
    return (
        f'{{"functionName":{quoted(name)},"scriptId":"{script}",'
        f'"url":{quoted(address)},"lineNumber":{line},"columnNumber":{column}}}'
    )
