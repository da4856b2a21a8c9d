"""Lists that are searched or moved, and collections that are copied in rounds."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from example_advice import FILE, MS, RUN, Called, advice, found, made
from example_stats import PROCESS

from lineprof.line_stats import LineStats
from lineprof.model.records import CallNode, CallTree, SourceFile
from lineprof.source_files import text_hash

if TYPE_CHECKING:
    from lineprof.advice.finding import Finding

TENTH = RUN // 10
KINDS = {"list-search", "list-shift", "rebuilt-collection"}


def profile(text: str, *, hits: int = 1_000, ns: int = 2 * TENTH) -> LineStats:
    """Return the profile of a program whose line with ``# hot`` takes `ns`.

    It is a line of work(), or of the module.
    """
    text = textwrap.dedent(text).lstrip("\n")
    [line] = [n for n, one in enumerate(text.splitlines(), 1) if one.endswith("# hot")]
    name = "work" if "def work(" in text else "<module>"
    return made(text, {name: (1, {line: (hits, ns)})})


def of(text: str, **numbers: int) -> list[Finding]:
    """Return the findings about collections."""
    every = advice(profile(text, **numbers)).findings
    return [one for one in every if one.kind in KINDS]


def in_work(line: str, first: str = "", parameters: str = "items") -> str:
    """Return a program that has `line` in a loop, and `first` before it."""
    lines = [f"def work({parameters}):", *(f"    {one}" for one in first.split("; "))]
    return "\n".join([*lines, "    for item in items:", f"        {line}  # hot"])


LISTS = {
    "display": ("item in seen", "seen = []"),
    "call": ("item in seen", "seen = list(items)"),
    "sorted": ("item in seen", "seen = sorted(items)"),
    "comprehension": ("item in seen", "seen = [one for one in items]"),
    "of text": ("item in seen", "seen = text.split()"),
    "two": ("item in a and item in b", "a, b = [], []"),
    "not in": ("item not in seen", "seen = [1]; seen.append(2)"),
    "sum": ("item in seen", "seen = [] + list(items)"),
    "annotated": ("item in seen", "seen: list[int] = items"),
    "with None": ("item in seen", "seen = None; seen = []"),
    "added to": ("item in seen", "seen = []; seen += items"),
    "copy": ("item in seen", "seen = []; seen = seen.copy()"),
    "made again": ("item in list(items)", ""),
    "made again, sorted": ("item in sorted(items)", ""),
    "tuple": ("item in seen", "seen = tuple(items)"),
    "index": ("seen.index(item)", "seen = []"),
    "count": ("seen.count(item)", "seen = []"),
    "remove": ("seen.remove(item)", "seen = []"),
    "in a comprehension": ("x = [y for y in item if y in seen]", "seen = []"),
    "in a generator": ("x = any(y in seen for y in item)", "seen = []"),
    "two statements": ("if item not in seen: seen.append(item)", "seen = []"),
    "walrus": ("item in seen", "(seen := [])"),
}


@pytest.mark.parametrize("name", LISTS)
def test_what_is_surely_a_list_is_named(name: str) -> None:
    line, first = LISTS[name]
    is_whole = "=" in line or line.startswith(("seen.", "if "))
    line = line if is_whole else f"x = {line}"
    [one] = of(in_work(line, first or "pass"))
    assert one.kind == "list-search"
    assert dict(one.numbers)["type"] in {"list", "tuple"}


NO_LISTS = {
    "set": ("item in seen", "seen = set()"),
    "dict": ("item in seen", "seen = {}"),
    "dict comprehension": ("item in seen", "seen = {1: 2 for one in items}"),
    "text": ("item in seen", "seen = 'abc'"),
    "range": ("item in seen", "seen = range(9)"),
    "frozenset": ("item in seen", "seen = frozenset(items)"),
    "annotated": ("item in seen", "seen: set[int] = items"),
    "part of a text": ("'a' in seen", "seen = items"),
    "few constants": ("item in [1, 2, 3]", "pass"),
    "none": ("item in []", "pass"),
    "few constants by name": ("item in seen", "seen = (1, 2, 3)"),
    "keys": ("item in seen.keys()", "seen = {}"),
    "unknown index": ("seen.index(item)", "seen = items"),
    "index of a text": ("seen.index(item)", "seen = 'abc'"),
    "shadowed": ("item in list(items)", "list = set"),
    "lambda": ("f = lambda x: x in seen", "seen = []"),
}


@pytest.mark.parametrize("name", NO_LISTS)
def test_what_is_no_list_is_not_searched_one_by_one(name: str) -> None:
    line, first = NO_LISTS[name]
    line = line if " = " in line else f"x = {line}"
    assert not of(in_work(line, first), hits=10)


UNKNOWN = {
    "parameter": ("seen", "pass", "items, seen"),
    "two types": ("seen", "seen = []; seen = set(items)", "items"),
    "of a call": ("seen", "seen = load()", "items"),
    "loop variable": (
        "seen",
        "seen = []; [0 for seen in items]; seen = load()",
        "items",
    ),
    "unpacked": ("seen", "seen, other = items", "items"),
    "attribute": ("items.seen", "pass", "items"),
    "with": ("seen", "seen = open(items)", "items"),
    "deleted from the set": ("seen", "seen = load(); seen -= items", "items"),
    "other function's": ("seen", "global seen", "items"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_may_be_no_list_is_not_called_one(name: str) -> None:
    value, first, parameters = UNKNOWN[name]
    text = in_work(f"x = item in {value}", first, parameters)
    [one] = of(text)
    assert one.measured.endswith(
        f"it does little but search `{value}`, whose type the source does not tell."
    )
    assert one.advice.startswith(f"If `{value}` is a list,")
    assert dict(one.numbers)["type"] == ""
    # A set of slow elements, or a text, may take as long as that.
    assert of(text, hits=1_000, ns=TENTH + 1)
    assert not of(text, hits=40_001, ns=2 * TENTH)
    assert not of(in_work(f"x = item in {value} or f()", first, parameters))


@pytest.mark.parametrize(
    "line",
    [
        "if item in seen: continue",
        "x = not item in seen",
        "x = item.name not in seen or None",
        "x = item.name in seen and self.ready",
        "x = (item, 1) in seen",
    ],
)
def test_a_line_that_only_searches_is_named(line: str) -> None:
    assert len(of(in_work(line, "pass", "items, seen, self"))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "x = 3 ** (item + 20000) in seen",
        "x = str(item) in seen",
        "x = repr(item) in seen",
        "x = int(item) in seen",
        "x = f'{item}' in seen",
        "x = f'{item}!' + item in seen",
        "x = items[item] in seen",
        "x = items[1:] in seen",
        "x = -item in seen",
        "x = [*item] in seen",
        "x = item == items or item in seen",
        "x = items < item in seen",
        "x = (await item) in seen",
        "x = item in seen; import this",
        "items += item in seen",
        "x = item in seen; y = item @ item",
        "x[item] = item in seen",
        "if item in seen: del items[0]",
    ],
)
def test_a_line_that_does_other_work_beside_an_unsure_search_is_not_named(
    line: str,
) -> None:
    text = in_work(line, "pass", "items, seen")
    assert not of(text.replace("def", "async def") if "await" in line else text)


@pytest.mark.parametrize("call", ["str", "repr", "int", "float", "near"])
def test_calls_beside_a_search_are_named(call: str) -> None:
    [one] = of(in_work(f"x = {call}(item) in seen", "seen = []"))
    assert f"includes calls of {call}." in one.measured


@pytest.mark.parametrize(
    ("calls", "type_"),
    [
        ("work([])", "list"),
        ("work(seen=[])\nwork(list(x))", "list"),
        ("work(load())\n\ndef load():\n    return []", "list"),
        ("work(make())\n\ndef make():\n    x = sorted(y)\n    return x", "list"),
        ("work([])\nwork(set())", ""),
        ("work(make())\n\ndef make():\n    yield 1", "other"),
        ("work(make())\n\ndef make():\n    return f()", ""),
        ("work(*[])", ""),
        ("work(**{})", ""),
        ("work([])\nf = work", ""),
        ("f(work)", ""),
        ("", ""),
    ],
)
def test_a_parameter_has_the_type_that_all_calls_give_it(
    calls: str, type_: str
) -> None:
    text = f"def work(seen):\n    return x in seen  # hot\n\n{calls}\n"
    assert types_of(called_by_module(text)) == ([] if type_ == "other" else [type_])


def called_by_module(text: str, *, calls: int = 1_000, lines: bool = True) -> LineStats:
    """Return a profile in which the module called work() from its line 4."""
    ns = 2 * TENTH
    module = {"<module>": (1, {4: (1, ns)})} if lines else {}
    return made(
        text,
        {**module, "work": (1_000, {2: (1_000, ns)})},
        [Called("<module>", 4, "work", calls, ns)] if lines else [],
    )


def types_of(stats: LineStats) -> list[object]:
    """Return the type in each finding about collections."""
    every = advice(stats).findings
    return [dict(one.numbers)["type"] for one in every if one.kind in KINDS]


@pytest.mark.parametrize(("calls", "lines"), [(999, True), (1_000, False)])
def test_a_parameter_of_a_function_that_unprofiled_code_calls_has_no_known_type(
    calls: int, *, lines: bool
) -> None:
    text = "def work(seen):\n    return x in seen  # hot\n\nwork([])\n"
    assert types_of(called_by_module(text)) == ["list"]
    assert types_of(called_by_module(text, calls=calls, lines=lines)) == [""]


def test_an_argument_that_came_from_unprofiled_code_has_no_known_type() -> None:
    text = """
    def work(seen):
        return x in seen  # hot

    def between(seen):
        work(seen)

    between([])
    """
    ns = 2 * TENTH
    text = textwrap.dedent(text).lstrip("\n")
    functions = {
        "<module>": (1, {7: (1, ns)}),
        "between": (2, {5: (1_000, ns)}),
        "work": (1_000, {2: (1_000, ns)}),
    }
    inner = Called("between", 5, "work", 1_000, ns)
    both = made(text, functions, [Called("<module>", 7, "between", 2, ns), inner])
    assert types_of(both) == ["list"]
    other = made(text, functions, [Called("<module>", 7, "between", 1, ns), inner])
    assert types_of(other) == [""]


def test_a_parameter_of_a_function_that_other_files_call_has_no_known_type() -> None:
    stats = profile("def work(seen):\n    return x in seen  # hot\n\nwork([])\n")
    [function] = stats.functions
    other = function._replace(file="/project/other.py", name="main", thread_lines=())
    calls = [
        CallNode(-1, 0, other.key, 0, 1, 1, 0, RUN, RUN),
        CallNode(0, 1, function.key, 0, 1, 1, 2 * TENTH, 2 * TENTH, 2 * TENTH),
    ]
    both = LineStats.from_functions(
        [function, other],
        processes=stats.processes,
        threads=stats.threads,
        sources=stats.sources,
        calls=CallTree(tuple(calls)),
    )
    [one] = found(both, "list-search")
    assert dict(one.numbers)["type"] == ""


def test_a_variable_that_an_inner_function_sets_has_no_known_type() -> None:
    text = """
    def work(items):
        seen = []
        def change():
            nonlocal seen
            seen = set()
        for item in items:
            x = item in seen  # hot
    """
    [one] = of(text)
    assert dict(one.numbers)["type"] == ""


@pytest.mark.parametrize(
    ("rest", "type_"),
    [
        ("", "list"),
        ("\n\ndef change():\n    global SEEN\n    SEEN = set()\n", ""),
        ("\n\nSEEN = set(SEEN)\n", ""),
        ("\n\ndef other():\n    SEEN = set()\n", "list"),
    ],
)
def test_a_variable_of_the_module_has_the_type_that_all_code_gives_it(
    rest: str, type_: str
) -> None:
    text = f"SEEN = []\n\ndef work(item):\n    return item in SEEN  # hot\n{rest}"
    [one] = of(text)
    assert dict(one.numbers)["type"] == type_


@pytest.mark.parametrize(
    "rest",
    [
        "from other import *",
        "import program\nprogram.SEEN = set()",
        "sys.modules[__name__].SEEN = set()",
        "setattr(sys.modules[__name__], 'SEEN', set())",
        "setattr(sys.modules[__name__], name, set())",
        "globals()['SEEN'] = set()",
        "globals().update(SEEN=set())",
        "vars()['SEEN'] = set()",
        "def f():\n    globals()[name] = set()",
        "exec(code)",
    ],
)
def test_a_variable_that_may_be_set_by_its_text_has_no_known_type(rest: str) -> None:
    text = f"SEEN = []\n\ndef work(item):\n    return item in SEEN  # hot\n\n{rest}\n"
    assert [dict(one.numbers)["type"] for one in of(text)] == [""]


@pytest.mark.parametrize(
    "rest",
    [
        "def f():\n    print(locals())",
        "x = globals()['y']",
        "exec(code, {})",
        "x.items = 1",
    ],
)
def test_what_only_reads_variables_leaves_them_their_types(rest: str) -> None:
    text = f"SEEN = []\n\ndef work(item):\n    return item in SEEN  # hot\n\n{rest}\n"
    assert [dict(one.numbers)["type"] for one in of(text)] == ["list"]


@pytest.mark.parametrize(
    ("start", "annotation", "type_"),
    [
        ("", "'list[str]'", "list"),
        ("", "'list[str] | None'", "list"),
        ("", "'list[str] | set[str]'", ""),
        ("", "'list | deque'", ""),
        ("", "list['list | set']", "list"),
        ("", "'list ['", ""),
        ("import typing as t", "'t.List[int]'", "list"),
        ("from typing import List", "List[int]", "list"),
        ("from collections.abc import Sequence", "Sequence[int]", ""),
        ("from mine import List", "List[int]", ""),
        ("from mine import list", "list", ""),
        ("from mine import *", "list", ""),
        ("import polars as pl", "pl.List", ""),
        ("class List: pass", "List", ""),
        ("", "List", ""),
    ],
)
def test_an_annotation_is_read_as_python(
    start: str, annotation: str, type_: str
) -> None:
    text = f"{start}\ndef work(seen: {annotation}):\n    return x in seen  # hot\n"
    stats = made(text, {"work": (1_000, {3: (1_000, 2 * TENTH)})})
    assert types_of(stats) == [type_]


@pytest.mark.parametrize(
    "value",
    [
        "items.split(10)",
        "items.split(split_size=10)",
        "items.split(sizes)",
        "KFold(3).split(items)",
        "items.rsplit(10)",
        "items.splitlines(10)",
        "items.str.split()",
        "np.char.split('a b')",
        "np.char.rsplit('a b')",
        "own.split()",
    ],
)
def test_what_is_split_may_be_no_text(value: str) -> None:
    start = "def split(self): ..." if "own" in value else "import numpy as np"
    text = f"{in_work('x = item in seen', f'seen = {value}')}\n\n{start}\n"
    assert [dict(one.numbers)["type"] for one in of(text)] == [""]


@pytest.mark.parametrize(
    ("methods", "type_"),
    [
        ("self.seen = []", "list"),
        ("self.seen: list[int] = items", "list"),
        ("self.seen = None\n        self.seen = []", "list"),
        ("self.seen = []\n        self.seen = set()", ""),
        ("self.seen = []\n        other.seen = items", ""),
        ("self.seen = load()", ""),
        ("self.other = []", ""),
    ],
)
def test_an_attribute_has_the_type_that_its_class_gives_it(
    methods: str, type_: str
) -> None:
    text = (
        f"class Jobs:\n    def __init__(self, items):\n        {methods}\n\n"
        "    def work(self, item):\n        return item in self.seen  # hot\n\n"
        "class Other:\n    def __init__(self):\n        self.seen = set()\n"
    )
    [one] = of(text)
    assert dict(one.numbers)["type"] == type_


@pytest.mark.parametrize(
    ("rest", "type_"),
    [
        ("class Fast(Jobs):\n    seen = set()", ""),
        ("class Fast(Jobs):\n    def __init__(self):\n        self.seen = set()", ""),
        ("class A(Jobs): ...\nclass Fast(A):\n    seen = set()", ""),
        ("class Fast(program.Jobs):\n    seen = set()", ""),
        ("class Fast(mixed(Jobs)):\n    seen = set()", ""),
        ("Alias = Jobs\nclass Fast(Alias):\n    seen = set()", ""),
        ("class Mixed:\n    seen = set()\nclass Fast(Jobs, Mixed): ...", ""),
        ("class Fast(Jobs):\n    def f(self):\n        self.seen = load()", ""),
        ("def f(self):\n    setattr(self, 'seen', set())", ""),
        ("def f(self):\n    vars(self)[name] = set()", ""),
        ("def f(self):\n    self.__dict__.update(items)", ""),
        ("def f(self):\n    setattr(self, 'other', set())", "list"),
        ("class Fast(Jobs):\n    def f(self):\n        setattr(self, n, 1)", ""),
        ("class Other:\n    def f(self):\n        setattr(self, n, 1)", "list"),
        ("class Fast(Jobs):\n    seen = []", "list"),
        ("class Other(dict):\n    seen = set()", "list"),
        ("class Other(Generic[T]):\n    seen = set()\nT = Jobs", "list"),
    ],
)
def test_an_attribute_has_the_type_that_related_classes_give_it(
    rest: str, type_: str
) -> None:
    text = (
        "class Jobs:\n    def __init__(self, items):\n        self.seen = []\n\n"
        "    def work(self, item):\n        return item in self.seen  # hot\n\n"
    )
    [one] = of(f"{text}{rest}\n")
    assert dict(one.numbers)["type"] == type_


@pytest.mark.parametrize(
    ("other", "in_class", "in_module"),
    [
        ("from program import Jobs\nclass Fast(Jobs):\n    seen = set()\n", "", "list"),
        ("class Fast(p.Jobs):\n    def f(self):\n        self.seen = 1\n", "", "list"),
        ("class Base:\n    def f(self):\n        self.seen, x = 1, 2\n", "", "list"),
        ("from program import Jobs\nx = Jobs()\nx.seen: set = y\n", "", ""),
        ("import program\nprogram.seen = set()\n", "list", ""),
        ("class Other:\n    seen = set()\n", "list", "list"),
        ("from program import Jobs\nx = Jobs(seen=1)\n", "list", "list"),
        ("from program import Jobs\nx = Jobs().seen == program\n", "list", "list"),
        ("import program\nprogram.seen2 = Jobs.seen\n", "list", "list"),
    ],
)
def test_what_another_file_of_the_profile_sets_has_no_known_type(
    other: str, in_class: str, in_module: str
) -> None:
    jobs = """
    class Jobs(Base):
        seen = []
        def work(self, item):
            return item in self.seen  # hot
    """
    module = "seen = []\ndef work(item):\n    return item in seen  # hot\n"
    file = "/project/other.py"
    for text, type_ in ((jobs, in_class), (module, in_module)):
        stats = profile(text)
        stats.sources = {
            **stats.sources,
            file: SourceFile(file=file, text=other, sha256=text_hash(other)),
        }
        assert types_of(stats) == [type_]


def test_a_field_of_a_data_class_has_the_type_of_its_annotation() -> None:
    text = """
    @dataclass
    class Jobs:
        seen: list[int] = field(default_factory=list)

        def work(self, item):
            return item in self.seen  # hot
    """
    [one] = of(text)
    assert dict(one.numbers)["type"] == "list"


@pytest.mark.parametrize(
    ("hits", "ns", "expected"),
    [
        (1_000, TENTH + 1, True),
        (1_000, TENTH, False),  # a tenth of the run, not more
        (10, 2 * TENTH, True),
        (9, 2 * TENTH, False),
        (400_000, 2 * TENTH, True),  # 500 ns each
        (400_001, 2 * TENTH, False),  # as fast as a search in a set
    ],
)
def test_the_thresholds_of_a_search(hits: int, ns: int, *, expected: bool) -> None:
    text = in_work("x = item in seen", "seen = []")
    assert bool(of(text, hits=hits, ns=ns)) is expected


def test_the_sentences_of_a_search() -> None:
    [one] = of(in_work("x = item in seen", "seen = []"))
    assert one.places == (((FILE, 1, "work"), 4),)
    assert dict(one.numbers) == {
        "own_ns": 2 * TENTH,
        "hits": 1_000,
        "collection": "seen",
        "type": "list",
    }
    assert one.measured == (
        "This line took 200.0 ms itself, 20.0 % of the run, in 1,000 executions, 200.0"
        " us each; it searches the list `seen`."
    )
    [two] = of(in_work("x = item in a or item in b or item in a", "a, b = [], []"))
    assert two.measured.endswith("it searches the list `a` and `b`.")
    [beside] = of(in_work("x = item in seen and graph.near(item)", "seen = []"))
    assert beside.measured.endswith(
        "the list `seen`; that time includes calls of near."
    )


def test_a_list_that_is_made_for_each_element_of_a_comprehension() -> None:
    text = """
    def work(graph, person):
        return [one for one in graph if one not in list(graph.near(person))]  # hot
    """
    [one] = of(text, hits=1)  # a comprehension is one execution
    assert one.measured.endswith(
        "in 1 execution; for each element of a comprehension it makes the list"
        " `list(graph.near(person))`, and searches it."
    )
    assert one.advice.startswith("It usually helps to search what it is made of,")


@pytest.mark.parametrize("name", ["<listcomp>", "<setcomp>", "<genexpr>", "<lambda>"])
def test_a_comprehension_that_is_a_function_has_the_finding_in_its_place(
    name: str,
) -> None:
    values = {
        "<listcomp>": "[x for x in items if x in seen]",
        "<setcomp>": "{x for x in items if x in seen}",
        "<genexpr>": "list(x for x in items if x in seen)",
        "<lambda>": "filter(lambda x: x in seen, items)",
    }
    text = f"def work(items):\n    seen = []\n    return {values[name]}\n"
    stats = made(text, {"work": (1, {3: (10, 2 * TENTH)})})
    [function] = stats.functions
    inner = function._replace(name=f"work.<locals>.{name}", line=3)
    keys = (function.key, inner.key)
    nodes = [
        CallNode(index - 1, 3 * index, key, 0, 1, 1, own, 2 * TENTH, 2 * TENTH)
        for index, (key, own) in enumerate(zip(keys, (0, 2 * TENTH)))
    ]
    both = LineStats.from_functions(
        [function, inner],
        processes=stats.processes,
        sources=stats.sources,
        threads=stats.threads,
        calls=CallTree(tuple(nodes)),
    )
    [one] = [one for one in advice(both).findings if one.kind == "list-search"]
    assert one.places[0][0] == inner.key


def test_the_line_of_a_statement_over_several_lines_is_the_one_that_searches() -> None:
    text = """
    def work(items):
        seen = []
        return [
            x
            for x in items
            if x in seen  # hot
        ]
    """
    [one] = of(text, hits=1)
    assert one.places[0][1] == 6
    other = text.replace("  # hot", "").replace("in items", "in items  # hot")
    assert not of(other, hits=1)


def test_the_longest_line_of_a_statement_may_be_one_that_searches_nothing() -> None:
    text = "def work(items):\n    seen = []\n    return [\n"
    text += "        f(x)\n        for x in items\n        if x in seen\n    ]\n"
    stats = made(text, {"work": (1, {4: (1, 5 * TENTH), 6: (1, 2 * TENTH)})})
    [one] = found(stats, "list-search")
    assert one.places == (((FILE, 1, "work"), 6),)


@pytest.mark.parametrize(
    ("python", "value", "line", "expected"),
    [
        ("CPython 3.12.1", "[{}]", 4, False),
        ("CPython 3.12.1", "[{}]", 6, True),
        ("CPython 3.11.7", "[{}]", 4, True),  # of the function that calls it
        ("CPython 3.12.1", "any({})", 4, True),
        ("CPython 3.11.7", "any({})", 4, True),
    ],
)
def test_a_comprehension_without_lines_is_part_of_the_line_that_calls_it(
    python: str, value: str, line: int, *, expected: bool
) -> None:
    inside = "\n        x\n        for x in items if x in seen\n    "
    text = f"def work(items):\n    seen = []\n\n    return {value.format(inside)}\n"
    process = PROCESS._replace(wall_ns=RUN, overhead_ns=0, python=python)
    stats = made(text, {"work": (1, {line: (1, 2 * TENTH)})}, processes=[process])
    assert bool(found(stats, "list-search")) is expected


def test_the_time_of_profiled_functions_is_not_that_of_a_search() -> None:
    text = (
        "def work(items):\n    seen = []\n    while f(items) in seen:\n        pass\n"
    )
    text += "\ndef f(items):\n    pass\n"
    lines = {"work": (1, {3: (1_000, 3 * TENTH)}), "f": (1_000, {7: (1_000, MS)})}
    slow = made(text, lines, [Called("work", 3, "f", 1_000, 2 * TENTH + 1)])
    assert not found(slow, "list-search")
    fast = made(text, lines, [Called("work", 3, "f", 1_000, TENTH)])
    assert found(fast, "list-search")


SHIFTS = ("seen.pop(0)", "seen.insert(0, item)", "del seen[0]")


@pytest.mark.parametrize("line", SHIFTS)
def test_a_change_at_the_front_of_a_list_moves_the_others(line: str) -> None:
    [one] = of(in_work(line, "seen = []"))
    assert one.kind == "list-shift"
    assert "it moves all other elements of the list `seen`" in one.measured
    assert not of(in_work(line, "seen = collections.deque()"))
    assert not of(in_work(line, "seen = {}"))
    for other in ("seen.pop()", "seen.pop(1)", "seen.insert(1, item)", "del seen[1]"):
        assert not of(in_work(other, "seen = []"))


@pytest.mark.parametrize(
    ("line", "first", "type_"),
    [
        ("seen = seen + [item]", "seen = []", "list"),
        ("seen = seen + [item]", "seen = load()", "list"),
        ("seen = [*seen, item]", "seen = []", "list"),
        ("seen = seen | {item}", "seen = set()", "set"),
        ("seen = {*seen, item}", "seen = set()", "set"),
        ("seen = {**seen, item: 1}", "seen = {}", "dict"),
        ("seen = seen | {item: 1}", "seen = {}", "dict"),
        ("seen = seen + (item,)", "seen = ()", "tuple"),
        ("seen += (item,)", "seen = ()", "tuple"),
        ("self.seen = self.seen + [item]", "pass", "list"),
        ("seen = seen + item + ' '", "seen = ''", "str"),
    ],
)
def test_a_collection_that_is_copied_to_add_to_it(
    line: str, first: str, type_: str
) -> None:
    [one] = of(in_work(line, first))
    assert (one.kind, dict(one.numbers)["type"]) == ("rebuilt-collection", type_)
    assert f"it makes the {type_} `" in one.measured


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("seen += [item]", "seen = []"),
        ("seen |= {item}", "seen = set()"),
        ("seen = other + [item]", "other = []"),
        ("seen = [item] + other", "other = []"),
        ("text += item", "text = ''"),  # CPython adds to the text itself
        ("seen = seen + item", "seen = 0"),
        ("self.seen = other.seen + [item]", "pass"),
    ],
)
def test_what_is_changed_itself_is_not_copied(line: str, first: str) -> None:
    assert not of(in_work(line, first))


def test_text_is_copied_unless_it_is_a_local_variable() -> None:
    module = "text = ''\nfor item in range(9):\n    text += str(item)  # hot\n"
    [one] = of(module)
    assert (one.kind, dict(one.numbers)["type"]) == ("rebuilt-collection", "str")
    text = """
    class Page:
        def __init__(self):
            self.text = ""

        def work(self, item):
            self.text += item  # hot
    """
    [two] = of(text)
    assert dict(two.numbers)["collection"] == "self.text"


def test_variables_that_are_bound_to_one_another_take_no_time() -> None:
    names = [f"a{index}" for index in range(40)]
    first = "; ".join(f"{a} = {b} + {b} + {b}" for a, b in pairwise(names))
    [one] = of(in_work("x = item in a0", first))
    assert dict(one.numbers)["type"] == ""


def test_deep_expressions_are_walked_without_recursion() -> None:
    deep = " + ".join(["a"] * 2_000)
    for line in (
        f"x = item in ({deep})",
        f"seen = {deep}; x = item in seen",
        f"seen: {deep.replace('+', '|')} = 1; x = item in seen",
        f"x = item in list({deep})",
    ):
        first, _, last = line.rpartition("; ")
        of(in_work(last, first or "pass"))
