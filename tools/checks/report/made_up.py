"""Profiles with made-up times, for pages whose numbers no clock may decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.line_stats import LineStats
from lineprof.model.host_memory import NO_MEMORY, HostMemory
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    Process,
    SourceFile,
    Thread,
    ThreadLine,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

MS = 10**6


class Program(NamedTuple):
    """A program, and what each of its functions did in all of its calls.

    A function is called from one line at most. `hits` are those of lines with other
    hits than calls of their function.
    """

    texts: Mapping[str, str]  # of files, by their names
    calls: Mapping[Key, int]
    own_ms: Mapping[tuple[Key, int], int]  # own times of lines, in ms
    below: Mapping[Key, Sequence[tuple[int, Key]]]  # lines that call, and callees
    hits: Mapping[tuple[Key, int], int] = {}

    def own_ns(self, key: Key) -> int:
        """Return the own time of all lines of a function (ns)."""
        return sum(ms for (one, _), ms in self.own_ms.items() if one == key) * MS

    def total_ns(self, key: Key) -> int:
        """Return the time of a function with its callees (ns)."""
        callees = (one for _, one in self.below.get(key, ()))
        return self.own_ns(key) + sum(map(self.total_ns, callees))

    def _functions(self) -> list[FunctionStats]:
        functions = []
        for key, number in self.calls.items():
            rows = []
            for (one, line), ms in self.own_ms.items():
                if one != key:
                    continue
                callees = [to for at, to in self.below.get(key, ()) if at == line]
                ns = ms * MS + sum(map(self.total_ns, callees))
                rows.append(ThreadLine(line, 0, self.hits.get((key, line), number), ns))
            functions.append(FunctionStats(key[0], key[2], key[1], tuple(rows), number))
        return functions

    def _nodes(self) -> list[CallNode]:
        nodes: list[CallNode] = []
        todo = [(NO_NODE, 0, next(iter(self.calls)))]
        while todo:
            parent, line, key = todo.pop()
            number, ns = self.calls[key], self.total_ns(key)
            nodes.append(
                CallNode(parent, line, key, 0, number, number, self.own_ns(key), ns, ns)
            )
            at = len(nodes) - 1
            todo += [(at, place, callee) for place, callee in self.below.get(key, ())]
        return nodes

    def profile(self, processes: int = 1, memory: HostMemory = NO_MEMORY) -> Profile:
        """Return a profile: the first process has the times, which are its run's."""
        wall_ns = self.total_ns(next(iter(self.calls)))
        file = next(iter(self.texts))
        return LineStats.from_functions(
            self._functions(),
            processes=[_process(number, file, wall_ns) for number in range(processes)],
            threads=[Thread(process=0, native_id=1, name="MainThread")],
            sources={
                name: SourceFile(name, one, "") for name, one in self.texts.items()
            },
            calls=CallTree(tuple(self._nodes())),
            memory=memory,
        )


def _process(number: int, file: str, wall_ns: int) -> Process:
    return Process(
        pid=4711 + number,
        host="host",
        rank=None,
        argv=(file, "<b>"),
        cwd=file.rpartition("/")[0],
        python="3.13.0",
        start_unix_ns=1_700_000_000_000_000_000,
        wall_ns=wall_ns,
        core="monitoring",
        core_reason="",
        clock="monotonic",
        overhead_ns=MS,
        version="1",
        exit="",
        cpu_ns=wall_ns,
        is_whole=True,
    )
