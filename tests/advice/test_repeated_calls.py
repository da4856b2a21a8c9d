"""The finding `repeated-call`: calls in loops with the same arguments in each round."""

from __future__ import annotations

import textwrap

import pytest
from example_advice import FILE, MS, RUN, Called, advice, found, made, places

from lineprof.line_stats import LineStats
from lineprof.model.records import Cut

CALLER = """
def work(items):
    size = 5
    for item in items:
        use(item, table(size))
"""
TABLE = """
def table(size):
    total = 0
    for number in range(size):
        total += number
    return total
"""


def profile(
    text: str,
    *,
    hits: int = 300,
    calls: int = 300,
    ns: int = 100 * MS,
    entered: int = 1,
) -> LineStats:
    """Return the profile of a program in which work() calls table() from one line.

    The line has the only ``table(`` that is not behind a ``def``.
    """
    text = textwrap.dedent(text)
    numbered = [*enumerate(text.splitlines(), 1)]
    [line] = [n for n, one in numbered if "table(" in one and "def " not in one]
    first = next(n for n, one in numbered if "def table(" in one)
    return made(
        text,
        {
            "work": (entered, {line: (hits, ns + MS)}),
            "table": (calls, {first + 1: (calls, ns)}),
        },
        [Called("work", line, "table", calls, ns)],
    )


def is_found(text: str, **numbers: int) -> bool:
    return bool(found(profile(text, **numbers), "repeated-call"))


def with_caller(caller: str) -> str:
    """Return a program whose work() is another one."""
    return f"{textwrap.dedent(caller)}\n{TABLE}"


def test_a_repeated_call_has_its_numbers() -> None:
    [one] = found(profile(CALLER + TABLE), "repeated-call")
    assert one.cost_ns == 100 * MS
    assert one.share == 0.1
    assert dict(one.numbers) == {
        "calls": 300,
        "inclusive_ns": 100 * MS,
        "caller_calls": 1,
    }
    assert one.places == (((FILE, 2, "work"), 5), ((FILE, 7, "table"), 7))
    assert one.measured.startswith(
        "table was called 300 times from this line, in 1 call of work, for 100.0 ms,"
        " 10.0 % of the run; "
    )
    assert one.advice.startswith("If its result depends on them alone, ")


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"ns": RUN // 20}, True),
        ({"ns": RUN // 20 - 1}, False),
        ({"hits": 30, "calls": 30, "entered": 3}, True),
        ({"hits": 29, "calls": 29, "entered": 3}, False),
        ({"hits": 299}, False),  # one call came from something else on the line
        ({"hits": 301}, False),
        ({"entered": 0}, False),  # the calls of work() are not known
    ],
)
def test_the_numbers_have_to_prove_the_repetition(
    numbers: dict[str, int], *, expected: bool
) -> None:
    assert is_found(CALLER + TABLE, **numbers) is expected


SAME = (
    """
    def work(items):
        for item in items:
            use(table(3 * 4))
    """,
    """
    def work(items):
        double = 2 * 5
        while items:
            total = table(-double)
            items.pop()
    """,
    """
    def work(items):
        size: int = 5
        while table(size) > items:
            items += 1
    """,
    """
    @profile
    def work(items):
        for item in items:
            for other in item:
                if table(size=(5, "a")) > other:
                    use(other)
    """,
)
OTHERS = (
    """
    def work(items):
        size = 5
        for item in items:
            use(table(size))
            with item as size:
                pass
    """,
    """
    def work(items):
        size = 5
        for item in items:
            use(table(size))
            match item:
                case [*size]:
                    pass
    """,
    """
    def work(items):
        size = 5
        for item in items:
            use(table(size))
            import os as size
    """,
    """
    def work(items):
        size = 5
        for item in items:
            use(table(size))
            class Inner:
                nonlocal size
                size = item
    """,
    """
    def work(items):
        for item in items:
            use(table(**{"size": 5}))
    """,
    """
    def work(size, items):
        for item in items:
            use(table(size))  # a parameter may be an object that changes
    """,
    """
    def work(items):
        size = 5
        for item in items:
            use(table(size))
            size += 1
    """,
    """
    def work(items):
        size = 5
        for item in items:
            for size in item:
                pass
            use(table(size))
    """,
    """
    def work(items):
        for item in items:
            size = 5
            use(table(size))
    """,
    """
    def work(items):
        size = [5]
        for item in items:
            use(table(size))
    """,
    """
    def work(items):
        size = items
        for item in items:
            use(table(size))
    """,
    """
    def work(items):
        size = 5
        def change():
            nonlocal size
            size += 1
        for item in items:
            use(table(size))
    """,
    """
    def work(items):
        global size
        size = 5
        for item in items:
            use(table(size))
    """,
    """
    def work(items):
        size = 5
        [size := item for item in items]
        for item in items:
            use(table(size))
    """,
    """
    def work(items):
        for item in items:
            use(table(item))
    """,
    """
    def work(items):
        for item in items:
            use(table(*[5]))
    """,
    """
    def work(items):
        for item in items:
            use([table(5) for _ in range(2)])
    """,
    """
    def work(items):
        for item in items:
            use(item); use(table(5))
    """,
    """
    def work(items):
        for item in items: use(table(5))
    """,
    """
    def work(items):
        use(table(5))  # in no loop
    """,
    """
    def work(items):
        for item in table(5):
            use(item)
    """,
    """
    def work(items):
        len = items.len
        size = len(items)
        for item in items:
            use(table(size))
    """,
    """
    def work(items):
        for item in items:
            use(table())  # without arguments it has its result from elsewhere
    """,
    """
    def work(items):
        size = 5
        for item in items:
            use(table(size.bits))
    """,
)


@pytest.mark.parametrize("caller", SAME)
def test_constants_are_the_same_in_each_round(caller: str) -> None:
    assert is_found(with_caller(caller))


@pytest.mark.parametrize("caller", OTHERS)
def test_other_arguments_may_differ(caller: str) -> None:
    assert not is_found(with_caller(caller))


def test_names_of_a_module_are_anyones_to_change() -> None:
    text = "size = 5\nfor item in range(300):\n    x = table({})\n" + TABLE
    numbers = {"<module>": (1, {3: (300, 200 * MS)}), "table": (300, {6: (300, MS)})}
    called = [Called("<module>", 3, "table", 300, 100 * MS)]
    constant = made(text.format(5), numbers, called)
    assert places(constant, "repeated-call") == [("<module>", 3)]
    assert not found(made(text.format("size"), numbers, called), "repeated-call")


def test_a_line_that_calls_another_function_proves_nothing() -> None:
    text = f"{CALLER}{TABLE}\ndef other():\n    pass\n"
    stats = made(
        text,
        {
            "work": (1, {5: (300, 200 * MS)}),
            "table": (300, {8: (300, 100 * MS)}),
            "other": (300, {14: (300, MS)}),
        },
        [
            Called("work", 5, "table", 300, 100 * MS),
            Called("work", 5, "other", 300, MS),
        ],
    )
    assert not found(stats, "repeated-call")


def test_functions_that_were_counted_for_a_part_prove_nothing() -> None:
    stats = profile(CALLER + TABLE)
    for name in ("work", "table"):
        [key] = [one.key for one in stats.functions if one.name == name]
        cut = LineStats.of(stats)
        cut.cuts = (Cut(function=key, process=0, until_ns=10 * MS),)
        assert not found(cut, "repeated-call")


def test_a_loop_in_a_function_that_is_called_alike_each_time_is_not_listed() -> None:
    text = CALLER + TABLE
    lines = {"work": (1, {5: (300, 400 * MS)}), "table": (300, {9: (999, 400 * MS)})}
    stats = made(text, lines, [Called("work", 5, "table", 300, 399 * MS)])
    assert [one.kind for one in advice(stats).findings] == ["repeated-call"]


# Calls of functions that the profile has no lines of.


def constant(line: str, first: str = "import re, time, random", **numbers: int) -> bool:
    """Return whether a line of work() is one; `first` are the lines before it."""
    text = f"{first}\n\ndef work(item):\n    {line}\n    return x\n"
    hits, ns = numbers.get("hits", 300), numbers.get("ns", 100 * MS)
    [one] = [n for n, part in enumerate(text.splitlines(), 1) if line in part]
    stats = made(text, {"work": (hits, {one: (hits, ns)})})
    return bool(found(stats, "repeated-call"))


def test_an_imported_function_that_is_called_with_the_same_constants() -> None:
    text = "import re\nWORD = 'a+'\n\ndef work():\n    x = re.compile(WORD)\n"
    [one] = found(made(text, {"work": (1, {5: (300, 100 * MS)})}), "repeated-call")
    assert one.places == (((FILE, 4, "work"), 5),)
    assert dict(one.numbers) == {
        "own_ns": 100 * MS,
        "hits": 300,
        "callee": "re.compile",
    }
    assert one.measured == (
        "This line took 100.0 ms itself, 10.0 % of the run, in 300 executions, 333.3 us"
        " each; all of them call re.compile with the same arguments."
    )


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("x = re.compile('a+')", "import re"),
        ("x = re.compile('a+', re=2)", "import re"),
        (
            "x: int = Lark(GRAMMAR, parser='lalr')",
            "from lark import Lark\nGRAMMAR = ''",
        ),
        ("x = a.b.c.load('x', 2 * 3)", "import a.b.c"),
    ],
)
def test_constants_of_the_module_are_the_same_in_each_call(
    line: str, first: str
) -> None:
    assert constant(line, first)


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("x = re.compile(item)", "import re"),
        ("x = re.compile()", "import re"),
        ("x = re.compile(WORD)", "import re\nWORD = 'a'\nWORD = 'b'"),
        ("x = re.compile(WORD)", "import re\nWORD = load()"),
        ("x = re.compile(WORD)", "import re\nfrom words import WORD"),
        ("x = re.compile('a').match('b')", "import re"),
        ("x = re.compile(*'ab')", "import re"),
        ("x = re.compile('a', **{})", "import re"),
        ("x = item.compile('a')", "import re"),
        ("x = compile('a')", "import re"),
        ("re.compile('a')", "import re"),  # perhaps for what it does
        ("x = random.randint(1, 6)", "import random"),
        ("x = time.time_ns(1)", "import time"),
        ("x = re.compile('a'); y = 1", "import re"),
    ],
)
def test_other_calls_of_imported_functions_may_differ(line: str, first: str) -> None:
    assert not constant(line, first)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"ns": RUN // 20 + 1}, True),
        ({"ns": RUN // 20}, False),
        ({"hits": 10}, True),
        ({"hits": 9}, False),
    ],
)
def test_the_thresholds_of_constant_calls(
    numbers: dict[str, int], *, expected: bool
) -> None:
    assert constant("x = re.compile('a+')", **numbers) is expected
