"""Memory of a program by call path, from its own log, without any hook.

The program is rewritten as `executions` does, so that each call knows its present
line. Names by which it allocates (`blocks.take`, `list`, `BYTES` and others) are those
of classes that log their size when they are made, and again when their last reference
goes: objects live as long as those of the program itself. Sums, live memory and the
peak are arithmetic over this log.

Lines that end in ``#~`` also allocate what nobody has modelled, such as tracebacks.
"""

from __future__ import annotations

import ast
import functools
import sys
import threading
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from executions import AT, Executions, Rewriter, Visit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import CodeType, FrameType

Line = tuple[int, str, int]
"""First line and qualified name of a function, and a line of it."""

Path = tuple[Line, ...]
"""Open lines, the outermost first, each where it was innermost."""

LOUD = "#~"
NATIVE = ("MALLOC", "CALLOC", "ALIGNED", "MAP")  # layers of the C library
LAYERS = ("OBJ", "OBJ_CALLOC", "MEM", "MEM_CALLOC", "RAW", "RAW_CALLOC", *NATIVE)
CHUNK = b"c" * 700
VALUES = {"TEXT": "x", "BYTES": b"x", "ROW": (None,), "ARRAY": bytearray(1)}
"""Constants whose multiples are made without anything else; a call makes a tuple."""
END = "__end__"
BOUND = sys.getsizeof("".join) if sys.version_info < (3, 12) else 0
"""Bytes of an object that 3.11 makes for each call of a method of C, if traced."""


class Sums(NamedTuple):
    """Memory of one call path, as in the profile."""

    allocs: int = 0
    alloc_bytes: int = 0
    freed_bytes: int = 0
    temp_bytes: int = 0

    def plus(self, *more: int) -> Sums:
        """Return the sums with these numbers added."""
        return Sums(*map(sum, zip(self, more, strict=True)))


class Call(Visit):
    """Visits of one call, with a number for each."""

    __slots__ = ("model", "number")

    def __init__(self, owner: Model, code: CodeType) -> None:
        super().__init__(owner, code)
        self.model, self.number = owner, 0

    def at(self, line: int, part: int) -> bool:
        """Count a visit, unless *part* belongs to the present one."""
        if line != self.last or part in self.seen:
            self.number += 1
            self.model.line_runs[self.model.thread(), id(self.code), line] += 1
        return super().at(line, part)

    def runs(self) -> int:
        """Return how often its present line has run on this thread, in all calls."""
        return self.model.line_runs[self.model.thread(), id(self.code), self.last]


class Block(NamedTuple):
    """A live block: whose it is, and by which execution."""

    path: Path
    size: int
    thread: object
    call: Call | None  # of the innermost line
    number: int  # of its visit
    runs: int  # of the line on this thread, up to now


class Model(Executions):
    """A stand-in for a profiler that measures memory, for rewritten programs.

    Args:
        native: count blocks of the C library as well.

    """

    def __init__(self, *, native: bool = True) -> None:
        super().__init__()
        self.native = native
        self.sums: dict[Path, Sums] = defaultdict(Sums)
        self.changes: list[tuple[Path, int]] = []  # of live memory, in order
        self.line_runs: Counter[tuple[object, int, int]] = Counter()
        self._calls: dict[int, Call] = {}  # by the id of their frame
        self._thread = threading.local()
        self._is_finished = False

    # Lines.

    def _visit(self) -> Callable[[int, int], bool]:
        frame = sys._getframe(1)
        call = self._calls[id(frame)] = Call(self, frame.f_code)
        return call.at

    def _end(self) -> None:
        """End the last visit of the calling function, whose frame must not be kept."""
        del self._calls[id(sys._getframe(1))]

    def open_calls(self) -> Iterator[Call]:
        """Yield the calls with an open line of the calling thread, innermost first."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            call = self._calls.get(id(frame))
            if call is not None and call.last and self.counts(call.code):
                yield call
            frame = frame.f_back

    # Blocks.

    def taken(self, size: int) -> Block:
        """Log a block of the open lines."""
        calls = [*self.open_calls()]
        lines = {
            (call.code.co_firstlineno, call.code.co_qualname, call.last): None
            for call in calls
        }
        path = tuple(reversed(lines))
        self.sums[path] = self.sums[path].plus(1, size, 0, 0)
        self.changes.append((path, size))
        innermost = calls[0] if calls else None
        number, runs = (innermost.number, innermost.runs()) if innermost else (0, 0)
        return Block(path, size, self.thread(), innermost, number, runs)

    def freed(self, block: Block, *, moved: bool = False) -> None:
        """Log that a block was freed, or moved by realloc."""
        if self._is_finished:
            return
        is_temp = not moved and self.is_in_its_line(block)
        temp = block.size if is_temp else 0
        self.sums[block.path] = self.sums[block.path].plus(0, 0, block.size, temp)
        self.changes.append((block.path, -block.size))

    def is_in_its_line(self, block: Block) -> bool:
        """Return whether the line that took a block goes on, on this thread.

        That of a suspended generator does not, nor one that runs again in a recursion.
        """
        call = block.call
        return (
            call is not None
            and block.thread is self.thread()
            and call in self.open_calls()
            and (call.number, call.runs()) == (block.number, block.runs)
        )

    def finish(self) -> None:
        """Log nothing from now on: what is live then, is live at the end."""
        self._is_finished = True

    def thread(self) -> object:
        """Return an object that stands for the calling thread."""
        if not hasattr(self._thread, "token"):
            self._thread.token = object()
        return self._thread.token

    # Peak.

    def peaks(self, slack: int) -> Iterator[Counter[Path]]:
        """Yield live memory by path at each moment that may be the process' peak.

        These are the moments at which at most *slack* bytes less were live than at
        the largest one.
        """
        total = largest = 0
        for _, change in self.changes:
            total += change
            largest = max(largest, total)
        live: Counter[Path] = Counter()
        total = 0
        if largest <= slack:
            yield Counter()
        for path, change in self.changes:
            live[path] += change
            total += change
            if total >= largest - slack:
                yield +live

    # The program.

    def namespace(self) -> dict[str, object]:
        """Return the globals that a rewritten program needs."""
        return super().namespace() | {END: self._end}

    def compile(self, text: str, file: str) -> CodeType:
        """Return the code of a program, rewritten."""
        rewriter = EndingRewriter(text)
        return compile(rewriter.program(), file, "exec", dont_inherit=True)

    def vocabulary(self, object_size: int) -> dict[str, object]:
        """Return stand-ins for what a program allocates with."""
        return {
            "take": lambda layer, size: Taken(self, object_size, layer, size),
            "list": lambda: Listed(self),
            **{name: Repeated(self, value) for name, value in VALUES.items()},
            "CHUNK": CHUNK,
            **{layer: layer for layer in LAYERS},
        }


class EndingRewriter(Rewriter):
    """Changes statements as its base does; each function says when it ends."""

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Change the body of a function."""
        super().function(node)
        begin = next(
            index
            for index, each in enumerate(node.body)
            if isinstance(each, ast.Assign)
            and isinstance(each.targets[0], ast.Name)
            and each.targets[0].id == AT
        )
        end = ast.Expr(ast.Call(ast.Name(END, ast.Load()), [], []))
        rest = ast.Try(node.body[begin + 1 :], [], [], [end])
        node.body[begin + 1 :] = [rest]


# Stand-ins: what they log goes when their last reference does.


def bound(method: Callable[..., None]) -> Callable[..., None]:
    """Return a method of C, for whose call Python may make an object."""
    if not BOUND:
        return method

    @functools.wraps(method)
    def call(self: Taken | Grown | Listed, *arguments: object) -> None:
        block = self.model.taken(BOUND)
        method(self, *arguments)
        self.model.freed(block)

    return call


class Taken:
    """That of an object of `blocks.take`."""

    __slots__ = ("layer", "memory", "model", "shell")

    def __init__(self, model: Model, object_size: int, layer: str, size: int) -> None:
        self.model, self.layer = model, layer
        self.memory: Block | None = None
        self.shell = model.taken(object_size)
        self._take(size)

    def _take(self, size: int) -> None:
        if self.model.native or self.layer not in NATIVE:
            self.memory = self.model.taken(size)

    def _leave(self) -> None:
        if self.memory is not None:
            self.model.freed(self.memory)
            self.memory = None

    @bound
    def resize(self, size: int) -> None:
        """Log a realloc; of a mapping it is a new one, then the old one goes."""
        before, self.memory = self.memory, None
        if self.layer == "MAP":
            self._take(size)
        if before is not None:
            self.model.freed(before, moved=self.layer != "MAP")
        if self.layer != "MAP":
            self._take(size)

    @bound
    def strain(self) -> None:
        """Log nothing: a realloc that fails changes nothing."""

    @bound
    def release(self) -> None:
        """Log that the block goes."""
        self._leave()

    def __del__(self) -> None:
        self._leave()
        self.model.freed(self.shell)


class Sized:
    """That of an object of one block."""

    __slots__ = ("block", "model")

    def __init__(self, model: Model, size: int) -> None:
        self.model = model
        self.block = model.taken(size)

    def __del__(self) -> None:
        self.model.freed(self.block)


class Repeated:
    """That of a value of `VALUES`."""

    def __init__(self, model: Model, value: Sequence[object]) -> None:
        self.model, self.value = model, value

    def __mul__(self, count: int) -> Sized | Grown:
        made = self.value * count  # type: ignore[operator]
        if isinstance(made, bytearray):
            return Grown(self.model, made)
        return Sized(self.model, sys.getsizeof(made))


class Grown:
    """That of a bytearray: an object and a buffer, which grows by realloc."""

    __slots__ = ("buffer", "model", "shell", "value")

    def __init__(self, model: Model, value: bytearray) -> None:
        self.model, self.value = model, value
        self.shell = model.taken(sys.getsizeof(bytearray()))
        self.buffer = model.taken(self._size())

    def _size(self) -> int:
        return sys.getsizeof(self.value) - sys.getsizeof(bytearray())

    @bound
    def extend(self, chunk: bytes) -> None:
        """Log a realloc if the buffer was full."""
        self.value.extend(chunk)
        if self._size() != self.buffer.size:
            self.model.freed(self.buffer, moved=True)
            self.buffer = self.model.taken(self._size())

    def __del__(self) -> None:
        self.model.freed(self.buffer)
        self.model.freed(self.shell)


class Listed(list[object]):
    """That of a list: its items' block, which grows by realloc; not the list itself."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model
        self.block: Block | None = None

    @bound
    def append(self, item: object) -> None:
        """Log a realloc if the block of items was full."""
        super().append(item)
        size = list.__sizeof__(self) - list.__sizeof__([]) - self._extra
        if self.block is None or size != self.block.size:
            if self.block is not None:
                self.model.freed(self.block, moved=True)
            self.block = self.model.taken(size)

    @property
    def _extra(self) -> int:
        """What a list of this class has more than a plain one (bytes)."""
        return type(self).__basicsize__ - list.__basicsize__

    @bound
    def clear(self) -> None:
        """Log that the block of items goes."""
        self._leave()
        super().clear()

    def _leave(self) -> None:
        if self.block is not None:
            self.model.freed(self.block)
            self.block = None

    def __del__(self) -> None:
        self._leave()


# Comparison.


class Found(NamedTuple):
    """Memory that a profile has of one call path."""

    sums: Sums
    peak_bytes: int


def loud_lines(text: str) -> set[int]:
    """Return the lines that allocate more than a model knows."""
    return {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.endswith(LOUD)
    }


class OwnObjects(NamedTuple):
    """Objects that Python makes for events, and that lineprof cannot tell."""

    ints: bool = False  # of a trace function, from 3.12 on; freed at once
    lists: bool = False  # where the events of a function change, from 3.14 on; kept


LIST = 56  # bytes of a list without items, from 3.14 on
INTS = (28, 32)  # bytes of an int, by Python
FEW_INTS = 4 * INTS[1]  # of one event
CALLS_OF_OTHERS = ("ignored(", "taken_elsewhere(")  # functions without events


def lines_with_lists(text: str) -> set[int]:
    """Return the lines that call functions which are not profiled."""
    return {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if any(call in line for call in CALLS_OF_OTHERS)
    }


def are_ints(blocks: int, size: int, freed: int, temp: int) -> bool:
    """Return whether these may be ints that were freed at once."""
    least, most = INTS
    return least * blocks <= size <= most * blocks and size == freed == temp


def are_lists(blocks: int, size: int, freed: int, temp: int) -> bool:
    """Return whether these may be lists, of which some were freed."""
    return size == LIST * blocks and freed in range(0, size + 1, LIST) and temp == 0


def are_either(blocks: int, size: int, freed: int, temp: int) -> bool:
    """Return whether these may be ints and lists, of which some were freed."""
    return INTS[0] * blocks <= size <= LIST * blocks and 0 <= temp <= freed <= size


def differences(
    text: str,
    model: Model,
    found: dict[Path, Found],
    peak_bytes: int,
    own: OwnObjects,
) -> list[str]:
    """Return a line for each number of the profile that is not the model's.

    Of a path whose innermost line is loud the profile may have more, and of others
    what Python makes for its *own* events: lists alone on lines that call functions
    which are not profiled, and with ints on any line.
    """
    loud = loud_lines(text)
    with_lists = lines_with_lists(text) - loud if own.lists else set()
    nothing = Found(Sums(), 0)
    known = {path for path in [*model.sums, *found] if path}
    exact = {path for path in known if path[-1][2] not in loud}
    wrong = []
    for path in sorted(known):
        truth, has = model.sums.get(path, Sums()), found.get(path, nothing).sums
        more = [b - a for a, b in zip(truth, has, strict=True)]
        if own.ints and are_ints(*more):
            continue
        if own.lists and (
            are_either(*more)
            if own.ints
            else path[-1][2] in with_lists and are_lists(*more)
        ):
            exact.discard(path)
            continue
        if has != truth if path in exact else any(map(int.__lt__, has, truth)):
            word = "is" if path in exact else "is at least"
            wrong.append(f"{shown(path)}: {word} {truth}, the profile has {has}")
    ints = FEW_INTS if own.ints else 0
    return wrong or peak_differences(model, found, exact, peak_bytes, ints)


def peak_differences(
    model: Model, found: dict[Path, Found], exact: set[Path], peak_bytes: int, ints: int
) -> list[str]:
    """Return a line that says why the peak is not at a moment of the model.

    At the peak, blocks that the model does not know take *slack* bytes at most: it is
    at a moment at which at most so many bytes less were live than at the largest.
    """
    total = sum(one.peak_bytes for one in found.values())
    if total != peak_bytes:
        return [f"the peak is {peak_bytes}, that of all paths together {total}"]
    tried = 0
    for live in model.peaks(peak_bytes - sum_of_known(found, exact) + ints):
        tried += 1
        more = {
            path: found[path].peak_bytes - live[path]
            for path in model.sums.keys() & found.keys()
            if path
        }
        if all(
            0 <= size <= ints if path in exact else size >= 0
            for path, size in more.items()
        ):
            return []
    at = {shown(path): one.peak_bytes for path, one in found.items() if one.peak_bytes}
    best = next(model.peaks(0), Counter())
    truth = {shown(path): size for path, size in best.items()}
    return [f"peak: {at} at none of {tried} moments; the largest is {truth}"]


def sum_of_known(found: dict[Path, Found], exact: Iterable[Path]) -> int:
    """Return the bytes at the peak of lines that the model knows wholly."""
    return sum(found[path].peak_bytes for path in exact if path in found)


def shown(path: Path) -> str:
    """Return a path for people."""
    return " > ".join(f"{name}:{line}" for _, name, line in path) or "(outside)"
