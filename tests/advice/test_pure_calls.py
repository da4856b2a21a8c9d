"""The finding `repeated-call`: only calls whose result is proven to be the same."""

from __future__ import annotations

import textwrap

import pytest
from example_advice import FILE, MS, RUN, Called, found, made, places

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


def with_body(body: str, parameters: str = "size") -> str:
    """Return a program whose table() has another body."""
    inner = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return f"{CALLER}\n\ndef table({parameters}):\n{inner}\n"


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


PURE = (
    "return size * 2",
    '''
    """Text."""
    squares = [one * one for one in range(size) if one % 2]
    return sum(squares) + len(squares)
    ''',
    """
    found = {}
    for index, one in enumerate(range(size)):
        found[one] = found.get(one, 0) + index
    return sorted(found.items())
    """,
    """
    names = []
    while len(names) < size:
        names.append(f"{len(names)}".upper())
    return ", ".join(name for name in names)
    """,
    """
    best: int = 0
    if size is None:
        return best
    return max(one for one in range(size)) if size > 3 else best
    """,
    "return 1 if size < 2 else helper(size)\n\ndef helper(n):\n    return n + 1",
)


@pytest.mark.parametrize("body", PURE)
def test_a_function_that_only_computes_is_pure(body: str) -> None:
    parts = body.split("\n\n")
    text = with_body(parts[0]) + "".join(f"\n\n{part}\n" for part in parts[1:])
    assert is_found(text)


def test_deep_expressions_are_walked_without_recursion() -> None:
    assert is_found(with_body(f"return {' + '.join(['size'] * 900)}"))
    assert not is_found(with_body(f"return {' + '.join(['size'] * 900)} + LIMIT"))


IMPURE = (
    "return LIMIT * size",  # another module may set it
    "global last\n    last = size",
    "size.count = 1",
    "return size.real",
    "print(size)",
    "return unknown(size)",
    "return random.random()",
    "import os\n    return size",
    "yield size",
    "return lambda: size",
    "def inner():\n        return 1\n    return inner",
    "with size:\n        return 1",
    "try:\n        return 1\n    finally:\n        pass",
    "raise size",
    "del size",
    "assert size",
    "return size is 5",
    "return [one for one in range(2)], one",
    "return [one for one in one]",
    "return [a for b in a for a in b]",
    "return (one for one in range(size))",
    "return str(one for one in range(size))",
    "return f'{(one for one in range(size))}'",
    "return zip([size], [size])",
    "return sorted([size], key=helper)\n\ndef helper(n):\n    return n",
    "return max(*[size])",
    "return dict(**size)",
    "return helper(size)\n\ndef helper(n):\n    return n + LIMIT",
    "return helper(size)\n\nasync def helper(n):\n    return n",
    "return helper(size)\n\nhelper = abs",
    "return (y := size) + y",
    "return ''.__class__.__base__.__subclasses__()",
    "match size:\n        case 1:\n            return 2",
)


@pytest.mark.parametrize("body", IMPURE)
def test_a_function_that_leaves_doubt_is_not_pure(body: str) -> None:
    head, *rest = body.split("\n\n")
    text = f"{CALLER}\n\ndef table(size):\n    {head}\n"
    assert not is_found(text + "".join(f"\n\n{part}\n" for part in rest))


HEADS = (
    "size, *more",
    "size, **more",
    "size, cache=[]",
    "size, limit=LIMIT",
)


@pytest.mark.parametrize("parameters", HEADS)
def test_a_head_that_leaves_doubt_is_not_pure(parameters: str) -> None:
    assert not is_found(with_body("return size", parameters))
    assert is_found(with_body("return size + more", "size, *, more=2"))


SURE = (
    """
    def work(items):
        for item in items:
            use(table(3 * 4))
    """,
    """
    def work(items):
        size = len(items)
        double = 2 * size
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
                if table(size=5) > other:
                    use(other)
    """,
)
UNSURE = (
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
            use(item and table(5))
    """,
    """
    def work(items):
        for item in items:
            use(table(5),
                item)
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
)


@pytest.mark.parametrize("caller", SURE)
def test_constants_are_the_same_in_each_round(caller: str) -> None:
    assert is_found(with_caller(caller))


@pytest.mark.parametrize("caller", UNSURE)
def test_arguments_that_may_change_are_not_the_same(caller: str) -> None:
    assert not is_found(with_caller(caller))


@pytest.mark.parametrize(
    "line",
    [
        "table = cached(table)",
        "from tables import *",
        "globals()['table'] = len",
        "exec(code)",
        "import table",
        "range = xrange",
        "class table: pass",
        "sys.modules[__name__].table = len",
        "import builtins",
    ],
)
def test_a_module_that_may_bind_the_names_again_proves_nothing(line: str) -> None:
    assert not is_found(f"{CALLER}{TABLE}\n{line}\n")


@pytest.mark.parametrize(
    ("decorator", "expected"), [("profile", True), ("cache", False), ("a.b", False)]
)
def test_only_the_decorator_of_profilers_is_known(
    decorator: str, *, expected: bool
) -> None:
    text = CALLER + TABLE.replace("def table", f"@{decorator}\ndef table")
    stats = made(
        text,
        {"work": (1, {5: (300, 200 * MS)}), "table": (300, {9: (300, 100 * MS)})},
        [Called("work", 5, "table", 300, 100 * MS)],
    )
    assert bool(found(stats, "repeated-call")) is expected


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
