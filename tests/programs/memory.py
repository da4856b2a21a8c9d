"""Small programs that allocate, made at random from a seed, the same on every run.

Each has functions under ``@profile`` that take blocks of stated sizes from stated
allocators, keep them, hand them on, resize and free them: in lists, caches, cycles,
generators, recursion, exceptions and threads. A thread runs while another one waits
for it, so that the order of all blocks is the same on every run.

Names that allocate are those of `memory_model`. A line that also allocates what is not
modelled ends in ``#~``.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from memory_model import LAYERS, LOUD

if TYPE_CHECKING:
    from collections.abc import Callable

PRELUDE = """
import gc
from queue import SimpleQueue
from threading import Lock, Thread

class Failure(Exception):
    pass

def taken_elsewhere(layer, size):
    return take(layer, size)

def ignored(block):
    return None

shelf = [None] * 8
cache = {}
inbox = SimpleQueue()
go, done = Lock(), Lock()
go.acquire()
done.acquire()
"""
NAMES = ("a", "b", "c")
SMALL = (1, 2, 15, 16, 17, 24, 64, 100, 256, 300, 400, 511, 512)
LARGE = (513, 600, 1000, 2000, 4096, 5000, 30_000, 131_072, 200_000)
HUGE = (1_000_003, 2_500_007, 5_000_011)  # these make the peak


class Writer:
    """Writes one program."""

    def __init__(self, seed: int, features: tuple[str, ...]) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - no secret here
        self.features = features
        self.size = 3 + seed % 5
        self.lines = PRELUDE.strip().split("\n")
        self.indent = 0
        self.plain: list[str] = []  # functions that return a block or None
        self.raising: list[str] = []  # functions that may raise Failure
        self.generators: list[str] = []
        self.bytearrays = 0

    # Text.

    def put(self, text: str, *, loud: bool = False) -> None:
        """Write one line."""
        self.lines.append("    " * self.indent + text + (f"  {LOUD}" if loud else ""))

    def bytes_(self) -> int:
        """Return a size."""
        kind = self.rng.random()
        sizes = SMALL if kind < 0.55 else LARGE if kind < 0.9 else HUGE
        return self.rng.choice(sizes) + self.rng.randrange(3)

    def name(self) -> str:
        """Return a local variable."""
        return self.rng.choice(NAMES)

    def slot(self) -> str:
        """Return a place that outlives the call."""
        return f"shelf[{self.rng.randrange(8)}]"

    def new(self) -> str:
        """Return an expression that makes a block."""
        layer, size = self.rng.choice(LAYERS), self.bytes_()
        kind = self.rng.random()
        if kind < 0.6:
            return f"take({layer}, {size})"
        if kind < 0.7:
            return f"taken_elsewhere({layer}, {size})"
        if kind < 0.8:
            return f"BYTES * {size + 2}"
        if kind < 0.9:
            return f"TEXT * {size + 2}"
        return f"ROW * {50 + size}"

    def block(self, write: Callable[[], None]) -> None:
        """Write an indented block."""
        self.indent += 1
        write()
        self.indent -= 1

    # Statements.

    def statement(self, depth: int) -> None:
        """Write a statement of some kind."""
        kinds = [*FEATURES] if depth else [*SIMPLE]
        getattr(self, f"write_{self.rng.choice(kinds)}")(depth)

    def statements(self, count: int, depth: int) -> None:
        """Write several."""
        for _ in range(count):
            self.statement(depth)

    def write_take(self, _: int) -> None:
        self.put(f"{self.name()} = {self.new()}")

    def write_temporary(self, _: int) -> None:
        form = self.rng.choice(("{}", "ignored({})", "{0}; {1}"))
        self.put(form.format(self.new(), self.new()))

    def write_resize(self, _: int) -> None:
        name = self.name()
        self.put(f"{name} = take({self.rng.choice(LAYERS)}, {self.bytes_()})")
        for _ in range(self.rng.randrange(1, 4)):
            way = self.rng.choice(("resize({})", "strain()", "release()", "resize({})"))
            self.put(f"{name}.{way.format(self.bytes_())}")

    def write_delete(self, _: int) -> None:
        self.put(
            self.rng.choice(("{0} = None", "del {0}; {0} = None", "{0} = {1}")).format(
                self.name(), self.name()
            )
        )

    def write_swap(self, _: int) -> None:
        self.put(f"{self.name()}, {self.slot()} = {self.slot()}, {self.name()}")

    def write_keep(self, _: int) -> None:
        self.put(f"{self.slot()} = {self.rng.choice((self.name(), self.new()))}")

    def write_bytearray(self, _: int) -> None:
        self.bytearrays += 1
        name = f"grown{self.bytearrays}"
        self.put(f"{name} = ARRAY * {self.bytes_() % 9000 + 2}")
        for _ in range(self.rng.randrange(1, 4)):
            self.put(f"{name}.extend(CHUNK)")
        self.put(self.rng.choice((f"{self.slot()} = {name}", f"{name} = None")))

    def write_list(self, _: int) -> None:
        self.put("row = list()", loud=True)
        self.put(f"i = {self.rng.randrange(2, 20)}")
        self.put("while i:")
        self.indent += 1
        self.put(f"a = {self.new()}")
        self.put("row.append(a)")
        self.put("i -= 1")
        self.indent -= 1
        ends = ("row.clear()", f"{self.slot()} = row", "row = None", "a = row[0]")
        self.put(self.rng.choice(ends))
        self.put("row = a = None")

    def write_comprehension(self, _: int) -> None:
        size = self.bytes_() % 5000 + 2
        self.put(f"{self.slot()} = [BYTES * {size} for _ in (1, 2, 3)]", loud=True)

    def write_cache(self, _: int) -> None:
        key = self.rng.randrange(30)
        self.put(f"if {key} not in cache:")
        self.indent += 1
        self.put(f"a = {self.new()}")
        self.put(f"cache[{key}] = a", loud=True)
        self.indent -= 1
        self.put(f"a = cache[{key}]")
        if self.rng.random() < 0.3:
            self.put("cache.clear()", loud=True)

    def write_cycle(self, _: int) -> None:
        self.put(f"a = {self.new()}")
        self.put("ring = [a]", loud=True)
        self.put("ring.append(ring)", loud=True)
        self.put("del ring; a = None", loud=True)
        if self.rng.random() < 0.7:
            self.put("gc.collect()", loud=True)

    def write_call(self, _: int) -> None:
        if not self.plain:
            return self.write_take(0)
        argument = self.rng.choice((self.name(), self.new(), self.slot()))
        target = self.rng.choice((f"{self.name()} = ", f"{self.slot()} = ", ""))
        return self.put(f"{target}{self.rng.choice(self.plain)}(2, {argument})")

    def write_raise(self, _: int) -> None:
        self.put("try:")
        self.indent += 1
        self.put(f"b = {self.new()}")
        if self.raising and self.rng.random() < 0.6:
            self.put(f"c = {self.rng.choice(self.raising)}(1, b)", loud=True)
        else:
            self.put("raise Failure", loud=True)
        self.indent -= 1
        self.put("except Failure:", loud=True)
        self.block(lambda: self.put(f"{self.name()} = {self.new()}"))

    def write_generator(self, _: int) -> None:
        if not self.generators:
            return self.write_take(0)
        generator = f"{self.rng.choice(self.generators)}({self.rng.randrange(1, 5)})"
        if self.rng.random() < 0.5:
            self.put(f"for a in {generator}:", loud=True)
            self.block(lambda: self.statements(2, 0))
        else:
            self.put(f"it = {generator}", loud=True)
            for _ in range(self.rng.randrange(1, 4)):
                self.put(f"{self.name()} = next(it, None)", loud=True)
                self.statement(0)
            self.put("it = None", loud=True)
        return None

    def write_closure(self, depth: int) -> None:
        self.put("@profile", loud=True)
        self.put("def inner(n, given):", loud=True)
        self.indent += 1
        self.put("a = b = c = None")
        self.statements(2, depth - 1)
        self.put(f"return {self.rng.choice((self.name(), self.new()))}")
        self.indent -= 1
        self.put(f"{self.name()} = inner(1, {self.new()})")
        self.put("inner = None", loud=True)

    def write_while(self, depth: int) -> None:
        variable = f"i{depth}"
        self.put(f"{variable} = {self.rng.randrange(2, 5)}")
        self.put(f"while {variable}:")
        self.indent += 1
        self.statements(2, depth - 1)
        self.put(f"{variable} -= 1")
        self.indent -= 1

    def write_for(self, depth: int) -> None:
        self.put("for _ in (1, 2, 3):", loud=True)
        self.block(lambda: self.statements(2, depth - 1))

    def write_if(self, depth: int) -> None:
        self.put("if n % 2:")
        self.block(lambda: self.statements(2, depth - 1))
        self.put("else:")
        self.block(lambda: self.statements(1, depth - 1))

    # Functions.

    def begin(self, head: str) -> None:
        """Write the head of a function."""
        self.lines.append("")
        self.put("@profile")
        self.put(f"def {head}:")
        self.indent += 1

    def function(self, number: int) -> None:
        """Write a function; a third of them call themselves."""
        name, is_recursive = f"f{number}", self.rng.random() < 0.4
        self.begin(f"{name}(n, given)")
        self.put("a = b = c = None")
        self.statements(self.size, 2)
        if is_recursive:
            self.put("if n:")
            self.block(lambda: self.put(f"c = {name}(n - 1, {self.new()})"))
            self.statement(0)
        self.put(f"return {self.rng.choice((self.name(), self.new(), 'given'))}")
        self.indent -= 1
        self.plain.append(name)

    def raiser(self) -> None:
        """Write a function that raises."""
        self.begin("failing(n, given)")
        self.put("a = b = c = None")
        self.statements(2, 1)
        self.put("raise Failure", loud=True)
        self.indent -= 1
        self.raising.append("failing")

    def generator(self) -> None:
        """Write a generator."""
        self.begin("several(n)")
        self.put("a = b = c = None")
        self.put("while n:")
        self.indent += 1
        self.statements(2, 1)
        self.put(f"yield {self.rng.choice(('a', 'b', self.new()))}", loud=True)
        self.put("n -= 1")
        self.indent -= 2
        self.generators.append("several")

    def threads(self) -> None:
        """Write threads: one takes turns with its starter, one reads a queue."""
        called = self.rng.choice(self.plain)
        self.begin("turns(n)")
        self.put("while n:", loud=True)
        self.indent += 1
        self.put("go.acquire()", loud=True)
        self.put(f"{called}(1, shelf[0])")
        self.put(f"shelf[1] = {self.new()}")
        self.put("shelf[2] = None")
        self.put("done.release()", loud=True)
        self.put("n -= 1")
        self.indent -= 2
        self.begin("reads(n)")
        self.put("while n:", loud=True)
        self.indent += 1
        self.put("ignored(inbox.get())", loud=True)
        self.put("done.release()", loud=True)
        self.put("n -= 1")
        self.indent -= 2
        self.begin("start()")
        self.put("thread = Thread(target=turns, args=(3,))", loud=True)
        self.put("thread.start()", loud=True)
        for _ in range(3):
            self.put(f"shelf[2] = {self.new()}")
            self.put(f"shelf[0] = {self.new()}")
            self.put("go.release()", loud=True)
            self.put("done.acquire()", loud=True)
            self.put("shelf[1] = None")
        self.put("thread.join()", loud=True)
        self.put("thread = Thread(target=reads, args=(2,))", loud=True)
        self.put("thread.start()", loud=True)
        for _ in range(2):
            self.put(f"inbox.put({self.new()})", loud=True)
            self.put("done.acquire()", loud=True)
        self.put("thread.join()", loud=True)
        self.put("thread = None", loud=True)
        self.indent -= 1

    def program(self) -> str:
        """Return the program."""
        self.raiser()
        self.generator()
        for number in range(2 + self.size % 3):
            self.function(number)
        has_threads = self.rng.random() < 0.35 or "threads" in self.features
        if has_threads:
            self.threads()
        self.begin("main(n)")
        self.put("a = b = c = None")
        for feature in self.features:
            getattr(self, f"write_{feature}", self.write_take)(2)
        self.statements(self.size, 2)
        if has_threads:
            self.put("start()")
        self.statements(2, 2)
        for name in self.plain:
            self.put(f"a = {name}(3, {self.new()})")
        self.put(f"{self.slot()} = a")
        self.put("return None")
        self.indent -= 1
        # Python makes its tables of a function, for monitoring, when it runs first.
        self.lines += ["", "ignored(taken_elsewhere(OBJ, 1))", "main(1)"]
        return "\n".join(self.lines) + "\n"


SIMPLE = (
    *("take", "take", "temporary", "resize", "delete", "swap", "keep", "keep"),
    *("bytearray", "call"),
)
FEATURES = (
    *SIMPLE,
    *("list", "comprehension", "cache", "cycle", "raise", "generator", "closure"),
    *("while", "for", "if"),
)
KINDS = (*dict.fromkeys(FEATURES), "threads")


def program(seed: int, *features: str) -> str:
    """Return the text of a program; *features*: kinds that it has in any case."""
    return Writer(seed, features).program()
