"""Small programs made at random from a seed, the same on every run.

Each has three functions under ``@profile`` (plain, generators, coroutines or
asynchronous generators) whose statements are nested at random, and a driver that
calls them.  Loops are short, a function calls only those before it, and every
exception ends in the driver: a program always ends.  The higher the seed, the longer.

Every statement of Python occurs, and every way out of every kind of block.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from programs.around import DRIVER, PRELUDE
from programs.occurrences import LOOPS, WITH_IF, Exit, every_exit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ERRORS = ("KeyError", "ValueError")
EXITS = sorted(every_exit())

# Lines up to the head of each kind of block; "": some statement.
WHILE = "while ({0} := {0} - 1) >= 0:"
RAISE = "    if c(2): raise KeyError"
WAYS_IN = {
    "for": ("for {} in range(h(n, 1)):",),
    "while": ("{} = 3", WHILE),
    "async for": ("async for {} in numbers(3):",),
    "else of for": ("for {} in range(2):", "", "else:"),
    "else of while": ("{} = 3", WHILE, "", "else:"),
    "else of async for": ("async for {} in numbers(3):", "", "else:"),
    "if": ("if c(2):",),
    "elif": ("if c(3):", "", "elif c(2):"),
    "else of if": ("if c(2):", "", "else:"),
    "with": ("with managed(n):",),
    "async with": ("async with managed(n):",),
    "try": ("try:",),
    "except": ("try:", "", RAISE, "except KeyError:"),
    "except*": ("try:", "", RAISE, "except* KeyError:"),
    "else of try": ("try:", "", "except KeyError:", "", "else:"),
    "finally": ("try:", "", RAISE, "finally:"),
    "case": ("match c(2), n:", "    case [True, k] if k:"),
}


@dataclass(frozen=True)
class Place:
    """Where a statement stands: what is allowed there."""

    indent: int
    depth: int  # how deep statements may still nest
    loop: bool = False  # break and continue may stand here
    returns: bool = True  # return may stand here
    handler: bool = False  # a raise without an exception may stand here

    def inner(self) -> Place:
        """Give the place of a block in a statement at this place."""
        return replace(self, indent=self.indent + 1, depth=self.depth - 1)


class Writer:
    """Writes one program; *flat*: with each head and simple statement on one line."""

    def __init__(self, seed: int, *, flat: bool = False) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - no secret here
        self.flat = flat
        self.size = 2 + seed % 300 // 60
        # The compiler copies short blocks to all places from which they are reached.
        self.short = seed % 2 == 0
        self.lines = PRELUDE.strip().split("\n")
        self.kind = ""
        self.callees: list[str] = []
        self.fresh = 0

    # --- text ---------------------------------------------------------------

    def put(self, place: Place, text: str) -> None:
        """Write a logical line, whose lines after the first may be indented."""
        if self.flat:
            first, *more = (line.rstrip(" \\") for line in text.split("\n"))
            text = " ".join([first, *(line.lstrip() for line in more)])
        pad = "    " * place.indent
        self.lines += [pad + line for line in text.split("\n")]

    def name(self, prefix: str = "v") -> str:
        """Make a name that nothing else has."""
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def chance(self, share: float) -> bool:
        """Return True in a share of the cases."""
        return self.rng.random() < share

    def pick(self, *forms: str | Callable[[], str]) -> str:
        """Choose a text, or write that of a function."""
        form = self.rng.choice(forms)
        return form if isinstance(form, str) else form()

    def broken(self, parts: Sequence[str], pair: str = "()") -> str:
        """Join parts with commas, over several lines or on one."""
        way = self.rng.randrange(5)
        if way <= 1 or not parts:
            return pair[0] + ", ".join(parts) + pair[1]
        if way == 2:
            return pair[0] + ",\n  ".join(parts) + pair[1]
        return pair[0] + "\n  " + ",\n  ".join(parts) + ",\n" + pair[1]

    # --- expressions ----------------------------------------------------------

    def expression(self, depth: int = 2) -> str:
        """Write an expression whose value is an int."""
        rng = self.rng
        if depth == 0 or self.chance(0.9 if self.short else 0.3):
            return self.pick("n", "x", "y", "1", "3", "h(x, n)", "c(2)")
        one, two = self.expression(depth - 1), self.expression(depth - 1)
        forms: list[Callable[[], str]] = [
            lambda: f"h{self.broken([one, two])}",
            lambda: f"h{self.broken([one, two, 'x'])}",
            lambda: f"({one} + {two})",
            lambda: f"({one}\n  + {two})",
            lambda: f"({one} if {two} else x)",
            lambda: f"({one} if {self.test(1)} else {two})",
            lambda: f"({one} and {two})",
            lambda: f"({one}\n  if {two}\n  else y)",
            lambda: f"({one} or\n  {two})",
            lambda: f"h({one} < {two} < 5, not {one})",
            lambda: f"(lambda z: z + {one if self.movable(one) else 'x'})(n)",
            lambda: f"len({self.broken([one, two], '[]')})",
            lambda: f"len({self.broken(['1: ' + one, '2: ' + two], '{}')})",
            lambda: "len(f'{x}{n}')",
            lambda: f"h(*{self.broken([one, two], '[]')}, y)",
            lambda: self.comprehension(one, two),
        ]
        if self.movable(one):
            forms.append(lambda: f"(w := {one})")
        if self.callees and self.kind not in ("coroutine", "async generator"):
            forms.append(lambda: f"call({rng.choice(self.callees)}, n)")
        if self.kind in ("coroutine", "async generator"):
            forms.append(lambda: f"(await pause({one}))")
            forms.append(lambda: f"(await pause(\n  {one}))")
        if self.kind in ("generator", "async generator"):
            forms.append(lambda: f"((yield {one}) or 0)")
        if self.kind == "generator":
            forms.append(lambda: f"(yield from inner({one}))")
        return rng.choice(forms)()

    def test(self, depth: int = 2) -> str:
        """Write a condition that is now true, now false."""
        one = self.pick("c(2)", "c(3)", "c(2)", "not c(2)", "x > 2", "n")
        if depth == 0 or self.chance(0.9 if self.short else 0.5):
            return one
        two, expression = self.test(depth - 1), self.expression(1)
        return self.pick(
            f"h({expression}) % 2",
            f"{expression} > 2",
            f"{one} and {two}",
            f"{one} or {two}",
            f"({one}\n  and {two})",
            f"({one}\n  or {two})",
            f"not ({one} and {two})",
            f"({one} if {two} else y)",
            f"({one} or {two} if c(2) else x)",
            f"c{self.broken(['2'])}",
            f"1 < {expression} < 9",
        )

    @staticmethod
    def movable(text: str) -> bool:
        """Tell whether an expression may stand in a function of its own."""
        return not any(word in text for word in ("await", "async", "yield", ":="))

    def comprehension(self, one: str, two: str) -> str:
        """Write a comprehension or a generator expression."""
        if not self.movable(one) and (" for " in one or "yield" in one or ":=" in one):
            return f"h({one}, {two})"
        head, tail = self.rng.choice([("[", "]"), ("{", "}"), ("(", ")")])
        between = self.pick(" ", "\n  ")
        loop = f"for i in range(h({self.pick('n', 'x')}) % 4)"
        asynchronous = self.kind in ("coroutine", "async generator")
        if asynchronous and head != "(" and self.chance(0.4):
            loop = "async for i in numbers(3)"
        parts = [one if head != "(" or self.movable(one) else "i", loop]
        if self.chance(0.4):
            parts.append(f"if i != {self.pick('0', '1', '2')}")
        if self.chance(0.3):
            parts.append("for j in range(2)")
        text = between.join(parts)
        return f"sum({text})" if head == "(" else f"len({head}{text}{tail})"

    # --- simple statements ------------------------------------------------------

    def simple(self, place: Place) -> None:
        """Write a simple statement, sometimes two on a line."""
        text = self.simple_text()
        if self.chance(0.12) and not text.startswith(("raise", "return")):
            text += "; " + self.simple_text()
        self.put(place, text)

    def simple_text(self) -> str:
        """Return a simple statement that goes on with the next one."""
        fresh = self.name()
        more = [
            "pass",
            "pass",
            "...",
            "1",
            "'a text'",
            "n",
            "None",
            f"{fresh}: int",
            f"{fresh}: int = {self.expression(1)}",
            "box.item: int",
            f"box.item: int = {self.expression(1)}",
            f"del {self.broken([f'[*range({self.expression(1)})][:]'])}",
            f"{fresh} = {self.expression(1)}; del {fresh}",
            "import os",
            "import os.path as path, sys",
            f"from os import {self.broken(['sep', 'path'])}",
            f"assert ({self.test(1)}) is not None, {self.expression(1)}",
            f"assert not c(15), {self.broken(['x', 'n'])}",
        ]
        if sys.version_info >= (3, 12):
            more.append(f"type T{self.fresh} = {self.broken(['n', 'x'])}")
        usual = [
            f"x = {self.expression()}",
            f"y = {self.expression()}",
            f"x += {self.expression()}",
            f"x, y = {self.broken([self.expression(), self.expression()])}",
            f"x = y = {self.expression()}",
            f"h{self.broken([self.expression(), self.expression()])}",
            f"d = {self.broken(['1: n', '2: ' + self.expression()], '{}')}",
            f"[x, y][\n  {self.expression(1)} % 2\n]",
        ]
        return self.rng.choice(more if self.chance(0.4) else usual)

    # --- ways out -----------------------------------------------------------------

    def way_out(self, place: Place) -> str:
        """Return a statement that leaves a block."""
        return self.exit(self.pick(*self.words(place)), place)

    @staticmethod
    def words(place: Place) -> list[str]:
        """Return the ways out that a place has, the usual ones more often."""
        words = ["raise"]
        if place.returns:
            words.append("return")
        if place.loop:
            words += ["break", "continue", "break", "continue"]
        return words

    def exit(self, word: str, place: Place) -> str:
        """Return a statement that begins with *word* and leaves a block."""
        if word == "raise":
            error = self.rng.choice(ERRORS)
            return self.pick(
                "raise" if place.handler and self.chance(0.6) else f"raise {error}",
                f"raise {error}{self.broken(['x', 'n'])}",
                f"raise {error}(x) from None",
            )
        if word == "return" and self.kind != "async generator" and self.chance(0.7):
            return f"return {self.expression(1)}"
        return word

    def leave(self, place: Place, way: Exit) -> None:
        """Write a block out of which a way leads, and what catches it."""
        caught = way.exit in ("raise", "return")
        around = self.around(place, way)
        self.filler(around)
        self.leaving(self.way_in(around, way.block), way)
        if way.block == "try":
            self.suite(around, self.pick("except KeyError:", "finally:"))
        elif self.chance(0.3):
            if way.block in ("if", "elif"):
                self.suite(around, "else:")
            elif way.block in ("except", "except*", "else of try"):
                self.suite(around, "finally:")
        if self.chance(0.6):
            self.statement(replace(around, depth=1))
        if caught:
            self.suite(place, self.pick("except KeyError:", "except:", "finally:"))
        if self.chance(0.7):
            self.statement(replace(place, depth=1))
        elif self.chance(0.5):
            self.put(place, self.exit(self.pick("return", "raise"), place))

    def filler(self, place: Place) -> None:
        """Write a statement without others in it."""
        self.statement(replace(place, depth=0))

    def around(self, place: Place, way: Exit) -> Place:
        """Write the loop or the try statement that a way out leads to."""
        if way.exit in ("raise", "return"):
            self.put(place, "try:")
            return place.inner()
        if way.block in LOOPS.values():
            return place
        self.put(place, f"for {self.name()} in range(3):")
        return replace(place.inner(), loop=True)

    def way_in(self, place: Place, block: str) -> Place:
        """Write a statement up to the block of a kind; return the block's place."""
        name = self.name()
        for head in WAYS_IN[block]:
            if head:
                self.put(place, head.format(name))
            else:
                self.filler(place.inner())
        inside = replace(place.inner(), depth=1)
        if block == "case":
            return inside.inner()
        if block in LOOPS.values():
            return replace(inside, loop=True)
        if block == "except*":
            return replace(inside, loop=False, returns=False, handler=True)
        return replace(inside, handler=inside.handler or block == "except")

    def leaving(self, place: Place, way: Exit) -> None:
        """Write the statements of a block, with the way out of it."""
        if self.chance(0.6):
            self.statement(place)
        text = self.exit(way.exit, place)
        if way.form == WITH_IF:
            self.put(place, f"if {self.pick('c(2)', 'c(3)', self.test())}: {text}")
            if self.chance(0.5):
                self.statement(place)
        else:
            self.put(place, text)

    def leave_perhaps(self, place: Place) -> None:
        """Write a conditional way out: on one line, or on lines of its own."""
        if self.chance(0.5):
            self.put(place, f"if {self.test(1)}: {self.way_out(place)}")
            return
        self.put(place, f"if {self.test(1)}:")
        if self.chance(0.5):
            self.simple(place.inner())
        self.put(place.inner(), self.way_out(place))
        if self.chance(0.3):
            self.put(place, "else:")
            self.put(
                place.inner(),
                self.way_out(place) if self.chance(0.5) else self.simple_text(),
            )

    # --- statements -----------------------------------------------------------

    def block(self, place: Place) -> None:
        """Write a few statements, perhaps with a way out at the end."""
        for _ in range(self.rng.choice([0, 1, 1, 2, 2, 3])):
            self.statement(place)
        if self.chance(0.12):
            self.put(place, self.way_out(place))
            if self.chance(0.1):
                self.simple(place)  # never runs
        else:
            self.statement(replace(place, depth=0) if self.chance(0.7) else place)

    def suite(self, place: Place, head: str) -> None:
        """Write the head of a statement and its block, now and then on one line."""
        if self.chance(0.12):
            text = self.simple_text()
            if self.chance(0.25):
                text = self.way_out(place.inner())
            elif self.chance(0.3):
                text += f"; {self.simple_text()}"
            self.put(place, f"{head} {text}")
        else:
            self.put(place, head)
            self.block(place.inner())

    def statement(self, place: Place) -> None:
        """Write one statement."""
        if self.chance(0.12):
            self.leave_perhaps(place)
        elif place.depth > 0 and self.chance(0.6):
            forms: list[Callable[[Place], None]] = [
                self.branch,
                self.for_loop,
                self.while_loop,
                self.search,
                self.search,
                self.attempt,
                self.attempt_groups,
                self.managed,
                self.choice,
            ]
            if place.depth > 1:
                forms.append(self.definition)
            if self.kind in ("coroutine", "async generator"):
                forms += [self.async_loop, self.async_managed]
            self.rng.choice(forms)(place)
        else:
            self.simple(place)

    def branch(self, place: Place) -> None:
        """Write an if statement."""
        constant = self.chance(0.08)
        test = self.pick("True", "0", "__debug__", "None") if constant else self.test()
        self.suite(place, f"if {test}:")
        if self.chance(0.35):
            self.suite(place, f"elif {self.test()}:")
        if self.chance(0.5):
            self.suite(place, "else:")

    def otherwise(self, place: Place) -> None:
        """Write the else of a loop, perhaps."""
        if self.chance(0.4):
            self.suite(place, "else:")

    def for_loop(self, place: Place) -> None:
        """Write a loop of at most three rounds."""
        inside = replace(place, loop=True)
        name = self.name()
        head = self.pick(
            f"for {name} in range(h({self.expression(1)}) % 4):",
            f"for {name} in {self.broken(['n', self.expression(1), '1'])}:",
            f"for {name}, {name}b in zip(range(3), range(2)):",
        )
        self.loop(place, inside, head)

    def async_loop(self, place: Place) -> None:
        """Write an asynchronous loop of at most three rounds."""
        head = f"async for {self.name()} in numbers(h({self.expression(1)}) % 4):"
        self.loop(place, replace(place, loop=True), head)

    def loop(self, place: Place, inside: Place, head: str) -> None:
        """Write a loop; only its block is inside."""
        self.suite_of_loop(place, inside, head)
        self.otherwise(place)

    def suite_of_loop(self, place: Place, inside: Place, head: str) -> None:
        """Write the head and the block of a loop."""
        if self.chance(0.15):
            text = self.simple_text()
            if self.chance(0.3):
                text = self.way_out(inside)
            self.put(place, f"{head} {text}")
        else:
            self.put(place, head)
            self.block(inside.inner())

    def while_loop(self, place: Place) -> None:
        """Write a loop whose variable goes down from 3 or less."""
        name = self.name()
        inside = replace(place, loop=True).inner()
        self.put(place, f"{name} = {self.rng.randint(1, 3)}")
        if self.chance(0.2):
            text = self.simple_text()
            self.put(place, f"while {name} > 0: {name} -= 1; {text}")
        elif self.chance(0.6):
            test = self.pick(
                f"{name} > 0",
                f"{name}",
                f"{name} > 0 and ({self.test(1)})",
                f"({name} > 0\n  and ({self.test(1)}))",
                f"not ({name} <= 0 or {self.test(1)})",
            )
            self.put(place, f"while {test}:")
            self.put(inside, f"{name} -= 1")
            self.block(inside)
        elif self.chance(0.1):
            self.suite(place, f"while {self.pick('0', 'False')}:")
        else:
            self.put(place, f"while {self.pick('True', '1', '__debug__')}:")
            self.put(inside, f"{name} -= 1")
            self.put(inside, f"if {name} < 0: break")
            self.block(inside)
        self.otherwise(place)

    def search(self, place: Place) -> None:
        """Write a loop that ends in a way out, and go on shortly or not at all.

        CPython has a copy of what follows for each way to it.
        """
        inside = replace(place, loop=True).inner()
        name = self.name()
        heads = [
            f"for {name} in range({self.pick('2', '3', 'n', 'n')}):",
            "while c(2):",
        ]
        if self.kind in ("coroutine", "async generator"):
            heads.append(f"async for {name} in numbers(3):")
        self.put(place, self.pick(*heads))
        if self.chance(0.3):
            self.simple(inside)
        self.put(inside, f"if {self.test(0)}:")
        word = self.pick("break", "continue", "return", "break")
        if word == "return" and not place.returns:
            word = "break"
        self.put(inside.inner(), word)
        if self.chance(0.4):
            self.put(place, self.exit(self.pick(*self.words(place)), place))
        elif self.chance(0.5):
            self.put(place, self.pick("x = n", "pass", "y += 1", "if n: y = 2"))

    def attempt(self, place: Place) -> None:
        """Write a try statement."""
        self.put(place, "try:")
        self.block(place.inner())
        if self.chance(0.3):
            self.put(place.inner(), f"if {self.test(1)}: raise {self.pick(*ERRORS)}")
        caught = self.chance(0.8)
        inside = replace(place, handler=True)
        if caught:
            self.suite(inside, self.pick("except KeyError:", "except KeyError as e:"))
            if self.chance(0.5):
                types = self.broken(["ValueError", "TypeError"])
                self.suite(inside, f"except {types}:")
            if self.chance(0.3):
                self.suite(inside, self.pick("except:", "except Exception as e:"))
            if self.chance(0.5):
                self.suite(place, "else:")
        if not caught or self.chance(0.5):
            self.suite(place, "finally:")

    def attempt_groups(self, place: Place) -> None:
        """Write a try statement with except*."""
        self.put(place, "try:")
        self.block(place.inner())
        if self.chance(0.6):
            groups = self.broken(["KeyError()", "ValueError()"], "[]")
            self.put(place.inner(), f"if c(2): raise ExceptionGroup('', {groups})")
        inside = replace(place, loop=False, returns=False, handler=True)
        self.suite(inside, self.pick("except* KeyError:", "except* KeyError as e:"))
        if self.chance(0.6):
            types = self.broken(["ValueError", "TypeError"])
            self.suite(inside, f"except* {types}:")
        if self.chance(0.5):
            self.suite(place, "else:")
        if self.chance(0.5):
            self.suite(place, "finally:")

    def items(self) -> str:
        """Return the managers of a with statement."""
        items = [
            f"managed({self.expression(1)})" + (" as x" if self.chance(0.5) else "")
            for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3]))
        ]
        way = self.rng.randrange(4)
        if way == 0:
            return self.broken(items)
        return ", \\\n    ".join(items) if way == 1 else ", ".join(items)

    def managed(self, place: Place) -> None:
        """Write a with statement."""
        self.suite(place, f"with {self.items()}:")

    def async_managed(self, place: Place) -> None:
        """Write an async with statement."""
        self.suite(place, f"async with {self.items()}:")

    def choice(self, place: Place) -> None:
        """Write a match statement."""
        subject = f"h({self.expression(1)}) % 4"
        pair = self.chance(0.3)
        if pair:
            subject = f"h({self.expression(1)}) % 3, c(2)"
        self.put(place, f"match {subject}:")
        if pair:
            cases = ["(0, k)", "[1, True] | [2, False]", "(k, other)"]
        else:
            cases = ["0", "(\n  1\n  | 2)", f"k if {self.test(1)}", "int(real=3)"]
        last = self.pick("_", "k", "")
        for case in cases[self.rng.randrange(len(cases)) :]:
            self.suite(place.inner(), f"case {case}:")
        if last or not cases:
            self.suite(place.inner(), f"case {last}:")

    # --- definitions in functions ---------------------------------------------------

    def decorators(self, place: Place) -> None:
        """Write none to three decorators."""
        for _ in range(self.rng.choice([0, 0, 1, 1, 2, 3])):
            marked = f"@marked{self.broken([self.expression(1)])}"
            self.put(place, self.pick("@same", marked))

    def definition(self, place: Place) -> None:
        """Write a definition in a function, and perhaps a call."""
        form = self.rng.randrange(4)
        name = self.name("g")
        inside = Place(place.indent + 1, 1)
        kind, self.kind = self.kind, "plain"
        default = self.expression(1)
        if form == 0:
            self.decorators(place)
            self.put(
                place, f"class {name}:" if self.chance(0.5) else f"class {name}(Box):"
            )
            self.put(inside, "item = 2")
            self.put(inside, f"def get(self, n=1): return {self.pick('n', '2')}")
            call = f"{name}().get(2)"
        elif form == 1:
            self.decorators(place)
            self.put(place, f"async def {name}(n, x=2): return n")
            call = f"h({name})"
        else:
            self.decorators(place)
            if form == 2:
                self.put(place, "@profile")
            head = self.pick(
                f"def {name}(n, x=2):", f"def {name}(\n    n,\n    x={default},\n):"
            )
            if not self.movable(default) or "c(" in default:
                head = f"def {name}(n, x=2):"
            self.put(place, head)
            if self.chance(0.3):
                self.put(inside, "'Docstring.'")
            self.put(inside, "nonlocal y")
            self.put(inside, "global made")
            self.put(inside, f"made = y = {self.expression(1)}")
            self.block(inside)
            self.put(inside, "return x")
            call = f"{name}(n)"
        self.kind = kind
        if self.chance(0.8):
            self.put(place, f"x = h({call})")

    # --- functions --------------------------------------------------------------

    def function(self, name: str, way: Exit) -> str:
        """Write a function with a way out; give the expression that calls it."""
        kinds = ["coroutine", "async generator"]
        if "async" not in way.block:
            kinds += ["plain", "plain", "generator"]
        self.kind = self.rng.choice(kinds)
        place = Place(1, 3)
        prefix = "async " if self.kind in ("coroutine", "async generator") else ""
        self.lines += ["", "@profile", f"{prefix}def {name}(n):"]
        if self.chance(0.2):
            self.put(place, self.pick("'Docstring.'", "'''Docstring\n\n  of lines.'''"))
        if self.chance(0.2):
            self.put(place, "global made")
        self.put(place, "x = n; y = 1")
        if self.chance(0.5):
            self.simple(place)
        self.leave(place, way)
        for _ in range(self.rng.randint(2, 1 + self.size)):
            self.statement(place)
        if "generator" in self.kind:
            self.put(place, "yield x")
            self.put(place, "yield y")
        if self.kind != "async generator":
            self.put(place, "return x")
        return self.caller(name)

    def caller(self, name: str) -> str:
        """Return the expression that calls a function."""
        if self.kind == "generator":
            return f"lambda n: consume({name}(n), n)"
        if self.kind == "coroutine":
            return f"lambda n: drive({name}(n))"
        if self.kind == "async generator":
            return f"lambda n: drive(consume_async({name}(n), n))"
        self.callees.append(name)
        return name


def program(seed: int, *, flat: bool = False) -> str:
    """Write the program of *seed*; *flat*: no logical line has several lines."""
    writer = Writer(seed, flat=flat)
    calls = [
        writer.function(f"f{number}", EXITS[(seed * 3 + number) % len(EXITS)])
        for number in range(3)
    ]
    return "\n".join([*writer.lines, "", f"calls = [{', '.join(calls)}]", DRIVER])
