"""Small programs made at random from a seed, the same on every run.

Each has three functions under ``@profile`` (plain, generators or coroutines)
whose statements are nested at random, and a driver that calls them.  Loops are
short, a function calls only those that follow it, and every exception ends in
the driver: a program always ends.  The higher the seed, the longer.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from programs.around import DRIVER, PRELUDE

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Place:
    """Where a statement stands: what is allowed there."""

    indent: int
    depth: int  # how deep statements may still nest
    loop: bool = False  # break and continue may stand here

    def inner(self, *, loop: bool | None = None) -> Place:
        """Give the place of a block in a statement at this place."""
        inside = self.loop if loop is None else loop
        return Place(self.indent + 1, self.depth - 1, inside)


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - no secret here
        self.size = 2 + seed // 60
        self.lines = PRELUDE.strip().split("\n")
        self.kind = ""
        self.callees: list[str] = []
        self.fresh = 0

    # --- text ---------------------------------------------------------------

    def put(self, place: Place, text: str) -> None:
        """Write a statement, whose lines after the first may be indented."""
        pad = "    " * place.indent
        self.lines += [pad + line for line in text.split("\n")]

    def name(self) -> str:
        """Make a name that nothing else has."""
        self.fresh += 1
        return f"v{self.fresh}"

    def broken(self, parts: list[str], pair: str = "()") -> str:
        """Join parts with commas, over several lines or on one."""
        way = self.rng.randrange(4)
        if way == 0 or not parts:
            return pair[0] + ", ".join(parts) + pair[1]
        if way == 1:
            return pair[0] + ",\n  ".join(parts) + pair[1]
        return pair[0] + "\n  " + ",\n  ".join(parts) + ",\n" + pair[1]

    # --- expressions ----------------------------------------------------------

    def expression(self, depth: int = 2) -> str:
        """Write an expression whose value is an int."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(["n", "x", "y", "1", "3", "h(x, n)"])
        one, two = self.expression(depth - 1), self.expression(depth - 1)
        forms: list[Callable[[], str]] = [
            lambda: f"h{self.broken([one, two])}",
            lambda: f"h{self.broken([one, two, 'x'])}",
            lambda: f"({one} + {two})",
            lambda: f"({one}\n  + {two})",
            lambda: f"({one} if {two} else x)",
            lambda: f"({one} and {two})",
            lambda: f"({one}\n  if {two}\n  else y)",
            lambda: f"({one} or\n  {two})",
            lambda: f"(lambda z: z + {one if self.movable(one) else 'x'})(n)",
            lambda: f"len({self.broken([one, two], '[]')})",
            lambda: "len(f'{x}{n}')",
            lambda: self.comprehension(one, two),
        ]
        if self.callees and self.kind != "coroutine":
            forms.append(lambda: f"{rng.choice(self.callees)}(n)")
        if self.kind == "coroutine":
            forms.append(lambda: f"(await pause({one}))")
            forms.append(lambda: f"(await pause(\n  {one}))")
        if self.kind == "generator":
            forms.append(lambda: f"((yield {one}) or 0)")
        return rng.choice(forms)()

    @staticmethod
    def movable(text: str) -> bool:
        """Tell whether an expression may stand in a function of its own."""
        return not any(word in text for word in ("await", "async", "yield"))

    def comprehension(self, one: str, two: str) -> str:
        """Write a comprehension or a generator expression."""
        rng = self.rng
        if not self.movable(one) and (" for " in one or "yield" in one):
            return f"h({one}, {two})"
        head, tail = rng.choice([("[", "]"), ("{", "}"), ("(", ")")])
        between = rng.choice([" ", "\n  "])
        loop = f"for i in range(h({rng.choice(['n', 'x'])}) % 4)"
        if self.kind == "coroutine" and head != "(" and rng.random() < 0.4:
            loop = "async for i in numbers(3)"
        parts = [one if head != "(" or self.movable(one) else "i", loop]
        if rng.random() < 0.4:
            parts.append(f"if i != {rng.choice('012')}")
        if rng.random() < 0.3:
            parts.append("for j in range(2)")
        text = between.join(parts)
        call = "len" if head != "(" else "sum"
        return f"{call}({head}{text}{tail})" if head != "(" else f"sum({text})"

    # --- statements -----------------------------------------------------------

    def block(self, place: Place) -> None:
        """Write a few statements."""
        for _ in range(self.rng.randint(1, 3)):
            self.statement(place)

    def statement(self, place: Place) -> None:
        """Write one statement."""
        rng = self.rng
        if place.depth > 0 and rng.random() < 0.5:
            forms = [self.branch, self.loop, self.attempt, self.managed]
            forms += [self.one_line, self.choice]
            rng.choice(forms)(place)
        else:
            self.simple(place)

    def simple(self, place: Place) -> None:
        """Write a simple statement."""
        rng = self.rng
        forms = [
            f"x = {self.expression()}",
            f"y = {self.expression()}",
            f"x += {self.expression()}",
            f"x = {self.expression()}; y = n",
            f"x, y = {self.broken([self.expression(), self.expression()])}",
            f"h{self.broken([self.expression(), self.expression()])}",
            f"d = {self.broken(['1: n', '2: ' + self.expression()], '{}')}",
            f"assert x is not None, {self.expression(1)}",
            "pass",
        ]
        if rng.random() < 0.12:
            error = rng.choice(["KeyError", "ValueError"])
            forms = [
                f"if h(x) > 2: raise {error}(x)",
                f"raise {error}{self.broken(['x', 'n'])}",
                f"return {self.expression()}",
            ]
            if place.loop:
                forms += ["break", "continue", f"if {self.expression(1)}: continue"]
        self.put(place, rng.choice(forms))

    def branch(self, place: Place) -> None:
        """Write an if statement."""
        self.put(place, f"if h({self.expression()}) % 2:")
        self.block(place.inner())
        if self.rng.random() < 0.4:
            self.put(place, f"elif {self.expression()} > 3:")
            self.block(place.inner())
        if self.rng.random() < 0.5:
            self.put(place, "else:")
            self.block(place.inner())

    def loop(self, place: Place) -> None:
        """Write a loop of at most four rounds."""
        rng, name = self.rng, self.name()
        form = rng.randrange(4)
        if form == 0 and self.kind == "coroutine":
            self.put(place, f"async for {name} in numbers({rng.randrange(4)}):")
        elif form <= 1:
            self.put(place, f"for {name} in range(h({self.expression(1)}) % 4):")
        else:
            test = f"{name} > 0" if form == 2 else "True"
            self.put(place, f"{name} = {rng.randint(1, 3)}\nwhile {test}:")
            inner = place.inner(loop=True)
            self.put(inner, f"{name} -= 1")
            if form == 3:
                self.put(inner, f"if {name} < 0: break")
        self.block(place.inner(loop=True))
        if rng.random() < 0.3:
            self.put(place, "else:")
            self.block(place.inner())

    def attempt(self, place: Place) -> None:
        """Write a try statement."""
        rng = self.rng
        self.put(place, "try:")
        self.block(place.inner())
        if rng.random() < 0.5:
            self.put(place.inner(), f"raise {rng.choice(['KeyError', 'ValueError'])}")
        caught = rng.random() < 0.8
        if caught:
            self.put(place, rng.choice(["except KeyError:", "except KeyError as e:"]))
            self.block(place.inner())
            if rng.random() < 0.5:
                self.put(place, "except (\n  ValueError,\n  TypeError):")
                self.block(place.inner())
            if rng.random() < 0.3:
                self.put(place, "else:")
                self.block(place.inner())
        if not caught or rng.random() < 0.4:
            self.put(place, "finally:")
            self.put(place.inner(), f"y = {self.expression(1)}")

    def managed(self, place: Place) -> None:
        """Write a with statement."""
        rng = self.rng
        word = "with"
        if self.kind == "coroutine" and rng.random() < 0.5:
            word = "async with"
        item = f"managed({self.expression(1)}) as x"
        forms = [f"{word} {item}:", f"{word} managed(n), \\\n    {item}:"]
        self.put(place, rng.choice(forms))
        self.block(place.inner())
        if rng.random() < 0.3:
            self.put(place.inner(), "raise KeyError")

    def one_line(self, place: Place) -> None:
        """Write a compound statement on one line, more or less."""
        name = self.name()
        forms = [
            f"for {name} in range(3): x += {self.expression()}",
            f"for {name} in range(h(n) % 3): x = {name}; y = {self.expression(1)}",
            f"{name} = 3\nwhile {name}: {name} -= 1; x = {self.expression(1)}",
            f"if {self.expression(1)}: x = {self.expression()}",
            f"if {self.expression(1)}: x = 1\nelse: x = {self.expression()}",
            f"with managed(2): x = {self.expression()}",
            f"try: x = {self.expression()}\nfinally: y = n",
        ]
        self.put(place, self.rng.choice(forms))

    def choice(self, place: Place) -> None:
        """Write a match statement."""
        self.put(place, f"match h({self.expression(1)}) % 4:")
        inner = place.inner()
        for case in ("0 | 1", "k if k > 2", "_")[self.rng.randrange(3) :]:
            self.put(inner, f"case {case}:")
            self.block(inner.inner())

    # --- functions --------------------------------------------------------------

    def function(self, name: str) -> str:
        """Write a function; give the expression that calls it."""
        self.kind = self.rng.choice(["plain", "plain", "generator", "coroutine"])
        place = Place(1, 3)
        prefix = "async " if self.kind == "coroutine" else ""
        self.lines += ["", "@profile", f"{prefix}def {name}(n):"]
        self.put(place, "x = n; y = 1")
        for _ in range(self.rng.randint(1, self.size)):
            self.statement(place)
        if self.kind == "generator":
            self.put(place, "yield x\nyield y")
        self.put(place, "return x")
        if self.kind == "generator":
            return f"lambda n: consume({name}(n), n)"
        if self.kind == "coroutine":
            return f"lambda n: drive({name}(n))"
        self.callees.append(name)
        return name


def program(seed: int) -> str:
    """Write the program of *seed*."""
    writer = Writer(seed)
    calls = [writer.function(f"f{number}") for number in range(3)]
    return "\n".join([*writer.lines, "", f"calls = [{', '.join(calls)}]", DRIVER])
