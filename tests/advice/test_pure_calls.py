"""The finding `repeated-call`: only calls whose result is proven to be the same."""

from __future__ import annotations

import textwrap
from itertools import pairwise

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
    return len(sorted(found.items()))
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
    "return f'{size:n}'",  # the locale may change
    "return f'{size:{size}}'",
)


@pytest.mark.parametrize("body", IMPURE)
def test_a_function_that_leaves_doubt_is_not_pure(body: str) -> None:
    head, *rest = body.split("\n\n")
    text = f"{CALLER}\n\ndef table(size):\n    {head}\n"
    assert not is_found(text + "".join(f"\n\n{part}\n" for part in rest))


FROZEN = (
    "return",
    "return 'abc'[size % 3:] * 2 + f'{size:>4}'",
    "return size, 'abc', (None, b'x')",
    "return tuple(n * n for n in range(size))",
    "return frozenset(str(n) for n in range(size))",
    "return divmod(size, 7)[0] - size",
    "return max([n % 7 for n in range(size)], default=None)",
    "return min(sorted(str(size).split('1')))",
    "return sum([[1, 2][n % 2] for n in range(size)])",
    "return sum(((n, n) for n in range(size)), ())",
    "low, high = 0, size\n    while low < high:\n        low += 1\n    return low",
    "a = b = 0\n    for i, c in enumerate('ab'):\n        a, b = b, i\n    return a",
    "for i, (c, d) in enumerate(zip('ab', 'cd')):\n        i = c, d\n    return i",
    "row = [1]\n    row.append(size)\n    return row.count(1) or row[0] // 2",
    "row, s = [size], ''\n    for one in row:\n        s += one\n    return s",
    "return helper(size, 2)\n\ndef helper(n, k):\n    return helper(n - k, k) or k",
    "return helper((size,))\n\ndef helper(pair):\n    return pair[0], pair",
)
CHANGEABLE = (
    "return [size]",
    "return {size: 1}",
    "return {size}",
    "return size, [size]",
    "return [size] * 2",
    "return size * [2]",
    "return [size] + [2]",
    "return [1, 2][:size]",
    "return [[1], 2][0]",
    "return sorted(range(size))",
    "return [n for n in range(size)]",
    "return list(range(size)) if size > 3 else 0",
    "return size and {}",
    "return 'a b'.split()",
    "return {1: 2}.items()",
    "return {1: []}.get(1)",
    "return {1: 2}.keys() - 'a'",
    "return 'a' - {1: 2}.keys()",
    "return tuple([n] for n in range(size))",
    "return sum(([n] for n in range(size)), [])",
    "return sum((([n],) for n in range(size)), ())",
    "return max([size], [2])",
    "return max([n] for n in range(size))",
    "return min((), default=[])",
    "row = []\n    for n in range(size):\n        row.append(n)\n    return row",
    "row = size\n    other = row\n    row = other\n    other = []\n    return row",
    "row = 2\n    row *= [size]\n    return row",
    "row = []\n    row += 'abc'\n    return row",
    "a, b = 1, [2]\n    return b",
    "a, (b, c) = 1, (2, [3])\n    return c",
    "for a, b in zip('ab', [[1], [2]]):\n        pass\n    return b",
    "for a, b in enumerate([[1], [2]]):\n        pass\n    return b",
    "for a in zip('ab', [[1], [2]]):\n        pass\n    return a",
    "for a in enumerate([[1], [2]]):\n        return a",
    "return helper(size)\n\ndef helper(n):\n    return [n]",
    "return helper([size])\n\ndef helper(row):\n    return row",
    "return helper(size)\n\ndef helper(n):\n    return helper(n - 1) if n else []",
)


@pytest.mark.parametrize("body", FROZEN)
def test_a_result_that_nothing_can_change_may_stand_for_all(body: str) -> None:
    head, *rest = body.split("\n\n")
    text = f"{CALLER}\n\ndef table(size):\n    {head}\n"
    assert is_found(text + "".join(f"\n\n{part}\n" for part in rest))


@pytest.mark.parametrize("body", CHANGEABLE)
def test_a_result_that_a_caller_may_change_is_needed_anew(body: str) -> None:
    head, *rest = body.split("\n\n")
    text = f"{CALLER}\n\ndef table(size):\n    {head}\n"
    assert not is_found(text + "".join(f"\n\n{part}\n" for part in rest))


def test_text_in_which_levels_rise_for_long_proves_nothing() -> None:
    names = [f"v{number}" for number in range(3000)]
    chain = [f"{one} = {other}" for one, other in pairwise(names)]
    body = "\n".join(
        ["v2999 = 0", "while size > v2999:", *(f"    {one}" for one in chain)]
    )
    assert not is_found(with_body(f"{body}\n    v2999 = size\nreturn v0"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("use(len(table(5)), item)", True),
        ("use(item + sum(table(5)))", True),
        ("text = str(table(5)).upper()", True),
        ("if table(5): use(item)", False),  # shares its line
        ("if table(5):\n            use(item)", True),
        ("while table(5):\n            use(item)", True),
        ("table(5)", True),
        ("row = table(5)", False),
        ("use(max(table(5)))", False),
        ("use(sum(table(5), item))", False),
        ("use(table(5)[0])", False),
        ("for one in table(5):\n            use(one)", False),
        ("if table(5) == item:\n            use(item)", False),  # of any type
    ],
)
def test_a_list_that_is_only_read_may_stand_for_all(
    line: str, *, expected: bool
) -> None:
    caller = f"def work(items):\n    for item in items:\n        {line}\n"
    body = "def table(size):\n    return [[n] for n in range(size)]\n"
    assert is_found(f"{caller}\n\n{body}") is expected


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
    def work(items):
        for item in items:
            try:
                use(table(5))
            except ValueError:  # which each call may raise
                use(item)
    """,
    """
    def work(items):
        for item in items:
            for other in item:
                with suppress(ValueError):
                    if other:
                        use(table(5))
    """,
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
        "from unittest import mock",
        "from unittest.mock import patch",
        "def test(mocker): mocker.patch('a.table')",
        "sys.modules[__name__].__setattr__('table', len)",
        "for table in []: pass",
        "del table",
    ],
)
def test_a_module_that_may_bind_the_names_again_proves_nothing(line: str) -> None:
    assert not is_found(f"{CALLER}{TABLE}\n{line}\n")


@pytest.mark.parametrize(
    "line",
    [
        "table.__defaults__ = (2,)",
        "table.__kwdefaults__['size'] = 2",
        "table.__code__ = len.__code__",
        "table.__dict__.clear()",
        "table.__closure__[0].cell_contents = 2",
        "table.__globals__['range'] = len",
        "getattr(table, '__kwdefaults__')['size'] = 2",
        "operator.attrgetter('table.__kwdefaults__')(this)['size'] = 2",
        "sys._getframe().f_locals['size'] = 2",
        "sys._getframe().f_globals['table'] = len",
        "inspect.getargvalues(frame).locals['size'] = 2",
        "from inspect import getargvalues as values",
        "vars(this)['table'] = len",
        "setattr(this, 'table', len)",
    ],
)
def test_a_module_that_may_change_functions_or_frames_proves_nothing(line: str) -> None:
    caller = CALLER.replace("use(", f"{line}\n        use(")
    assert not is_found(f"{caller}{TABLE}")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("same = first is second", False),
        ("same = None is not first is second", False),
        ("same = id(first) == id(second)", False),
        ("same = map(id, firsts)", False),
        ("from operator import is_", False),
        ("same = operator.is_not(first, second)", False),
        ("same = first is None or True is not second", True),
        ("same = type(first) is int or text is first.__class__", True),
        ("for id in range(3): print(id)", True),
    ],
)
def test_a_module_that_tells_equal_results_apart_proves_nothing(
    line: str, *, expected: bool
) -> None:
    assert is_found(f"{CALLER}{TABLE}\n{line}\n") is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("from lineprof import profile", True),
        ("from line_profiler import profile", True),
        ("from tools import profile", False),
        ("from tools import trace as profile", False),
        ("profile = lambda f: lambda *a: f(*a) + random()", False),
    ],
)
def test_a_decorator_of_the_same_name_may_be_another(
    line: str, *, expected: bool
) -> None:
    text = f"{CALLER}{TABLE}".replace("def work", "@profile\ndef work")
    text = text.replace("def helper", "@profile\ndef helper")
    text = text.replace("total += number", "total += helper(number)")
    helper = "@profile\ndef helper(n):\n    return n"
    assert is_found(f"{text}\n{helper}\n{line}\n") is expected


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
