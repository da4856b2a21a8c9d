"""NVTX ranges of functions and lines, as a tool receives them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gpu_pythons import run_with_doubles
from nvtx_spy import POP, Heard, Spy, make_spy, nesting
from running import plain, run_python

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nvtx_spy import Event

pytestmark = pytest.mark.usefixtures("hook")
SMOKE = pytest.mark.smoke

ORACLE = Path(__file__).parents[1] / "helpers" / "ranges_oracle.py"
PLAYER = """
import json
import sys
from pathlib import Path

from lineprof import _core
from running import new_profiler, play

file, mode, *functions = sys.argv[1:]
profiler = new_profiler()
on, reason = _core.nvtx_open(mode)
text = Path(file).read_text(encoding="utf-8")
output, result = play(text, file, profiler, functions)
print(json.dumps([on, _core.nvtx_mode(), output, result]))
"""
START = """
import sys
from lineprof import _core
from running import new_profiler
profile = new_profiler()
on, reason = _core.nvtx_open("line")
"""


@pytest.fixture(scope="module")
def spy(shared_folder: Path) -> Spy:
    """Give a tool that records NVTX ranges."""
    return make_spy(shared_folder)


def expected(file: Path, mode: str, functions: tuple[str, ...]) -> Any:
    """Return the oracle's threads, output and result of a program."""
    words = [str(ORACLE), str(file), mode, *functions]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    status, out, err = run_with_doubles(words, Path.cwd(), found)
    assert status == 0, err
    return json.loads(out)


def check_ranges(
    spy: Spy, folder: Path, program: str, *functions: str, mode: str = "line"
) -> Heard:
    """Compare the ranges of a program with the oracle's, thread by thread."""
    file = folder / "shown.py"
    file.write_text(plain(program), encoding="utf-8")
    threads, output, result = expected(file, mode, functions)
    heard = spy.check(PLAYER, str(file), mode, *functions, LINEPROF_NVTX=mode)
    assert json.loads(heard.output) == [True, mode, output, result]
    assert sorted(heard.threads().values()) == sorted(threads)
    assert any(threads), "a program without ranges shows nothing"
    for words in threads:
        assert nesting(words)[-1] == (), "not balanced"
    check_payloads(heard)
    return heard


def check_payloads(heard: Heard) -> None:
    """Check payloads, categories and colors of ranges.

    A payload has the number of the code and the line of the text. A category has one
    name, and a name one category; a function's ranges are of one category and color.
    """
    names = {event["category"]: event["text"] for event in heard.of("category")}
    assert len(heard.of("category")) == len(names) == len(set(names.values()))
    kinds: dict[int, set[tuple[str, int]]] = {}
    for push in heard.of("push"):
        serial, line = divmod(push["payload"], 1_000_000)
        name = names[push["category"]]
        kinds.setdefault(serial, set()).add((name, push["color"]))
        if push["text"].endswith(")") and "  " not in push["text"]:
            assert push["text"] == name
        place = push["text"].partition("  ")[0].rstrip(")")
        assert place.rpartition(":")[2] == str(line)
    assert all(len(kind) == 1 for kind in kinds.values())
    levels = [color.to_bytes(4, "big") for kind in kinds.values() for _, color in kind]
    assert all(a == 255 and max(rgb) - min(rgb) > 100 for a, *rgb in levels)


PROGRAMS = {
    "calls": """
def inner(n):
    total = 0
    for i in range(n):
        total += i
    return total

def outer(n):
    for i in range(n): inner(i)
    while n:
        n -= 1
        if n == 2: continue
        inner(n); inner(n)
    return (lambda x:
        inner(x))(3)

def recursive(n):
    if n == 0:
        return inner(2)
    return recursive(n - 1) + recursive(n - 1)

def main():
    print(outer(4), recursive(3))
""",
    "generators": """
def inner():
    got = yield 1
    while got:
        got = yield got
    return "end"

def outer(n):
    for i in range(n):
        yield i
    value = yield from inner()
    yield value

def interleaved():
    one, two = outer(2), outer(2)
    for g in one, two, one, two, one, two:
        print(next(g))
    print(one.send(7), two.send(8), one.send(9), next(one))
    del one, two, g
    for g in outer(2):
        break

def main():
    print(list(outer(3)))
    interleaved()
    return inner()
""",
    "generators that end early": """
def careful():
    try:
        yield 1
        yield 2
    except ValueError as error:
        yield str(error)
    finally:
        print("closed")

def careless():
    yield 1
    yield 2

def through():
    try:
        yield from careful()
    finally:
        print("through")

def main():
    for make in careful, careless, through:
        g = make()
        next(g)
        g.close()
        g = make()
        g.close()
        g = make()
        next(g)
        try:
            print(g.throw(ValueError("thrown")))
        except ValueError as error:
            print("came out", error)
        try:
            g.throw(KeyError("again"))
        except KeyError as error:
            print("came out", error)
""",
    "exceptions": """
def fails(n):
    if n == 0:
        raise ValueError("deep")
    try:
        fails(n - 1)
    finally:
        n += 1

def catches():
    try:
        fails(3)
    except KeyError:
        pass
    except ValueError as error:
        print(error)
    else:
        print("never")
    return 1

def passes():
    with open("/dev/null") as file:
        catches()
        1 / 0

def main():
    for function in fails, catches, passes:
        try:
            function(*[2] * (function is fails))
        except Exception as error:
            print(type(error).__name__)
""",
    "coroutines": """
import asyncio

async def step(n):
    await asyncio.sleep(0)
    return n

async def numbers(n):
    for i in range(n):
        yield await step(i)

async def worker(name):
    total = 0
    async for i in numbers(3):
        total += i
    await asyncio.gather(step(1), step(2))
    return name, total

async def cancelled():
    try:
        await asyncio.sleep(100)
    finally:
        await step(9)

async def all_of_it():
    task = asyncio.create_task(cancelled())
    result = await asyncio.gather(worker("a"), worker("b"))
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")
    return result

def main():
    print(asyncio.run(all_of_it()))
""",
    "threads": """
import threading

def work(n):
    if n:
        return work(n - 1) + 1
    for i in range(200):
        n += i
    return n

def steps(n):
    for i in range(n):
        yield work(i)

def consume(n):
    for value in steps(n):
        value += 1

def main():
    threads = []
    for i in range(4):
        threads.append(threading.Thread(target=consume, args=(i,)))
        threads[-1].start()
    consume(5)
    for thread in threads:
        thread.join()
""",
}
FUNCTIONS = {
    "calls": ("inner", "outer", "recursive"),
    "generators": ("inner", "outer"),
    "generators that end early": ("careful", "careless", "through"),
    "exceptions": ("fails", "catches", "passes"),
    "coroutines": ("step", "numbers", "worker", "cancelled", "all_of_it"),
    "threads": ("work", "steps", "consume"),
}


@pytest.mark.parametrize("mode", [pytest.param("line", marks=SMOKE), "func"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_registered_functions(spy: Spy, tmp_path: Path, name: str, mode: str) -> None:
    check_ranges(spy, tmp_path, PROGRAMS[name], *FUNCTIONS[name], mode=mode)


@pytest.mark.parametrize("name", PROGRAMS)
def test_registered_functions_and_their_caller(
    spy: Spy, tmp_path: Path, name: str
) -> None:
    check_ranges(spy, tmp_path, PROGRAMS[name], *FUNCTIONS[name], "main")


def test_decorated_functions(spy: Spy, tmp_path: Path) -> None:
    check_ranges(
        spy,
        tmp_path,
        """
import functools

@profile
class Shape:
    \"\"\"Has sides.\"\"\"

    @property
    def sides(self):
        return 3

    @classmethod
    def make(cls):
        return cls()

    @staticmethod
    def helper(n):
        return (
            n
            + 1
        )

    def area(self, scale=1):
        text = f"{self.sides}"
        return self.helper(
            len(text)
        ) * scale

@profile
def steps(n):
    if n:
        yield from steps(n - 1)
    yield n

@functools.lru_cache
@profile
def cached(n):
    return plain(n)

def plain(n):
    n += 1
    return n

profile.add_function(plain)
plain(1)
print(Shape.make().area(2), list(steps(3)), cached(1), cached(1), cached(2))
plain(2)
""",
    )


# -- stopping in a running function -------------------------------------------------


@pytest.mark.smoke
def test_disabled_and_enabled_again(spy: Spy, tmp_path: Path) -> None:
    check_ranges(
        spy,
        tmp_path,
        """
def inner(n):
    if n == 1:
        profile.disable()
    n += 1
    return n

def outer():
    for i in range(4):
        inner(i)
        if i == 2:
            profile.enable()
    return i

@profile
def decorated():
    inner(1)
    outer()
    inner(1)
    return outer()

profile.add_function(inner)
profile.add_function(outer)
profile.enable()
outer()
profile.disable()
decorated()
profile.disable()
""",
    )


def test_closed_in_a_running_function(spy: Spy) -> None:
    heard = spy.check(
        START
        + """
def f():
    x = 1
    profile._tracer.close()
    return x

profile.add_function(f)
with profile:
    f()
"""
    )
    assert shown(heard.ranges()) == [
        "f",
        "x = 1",
        POP,
        "profile._tracer.close()",
        POP,
        POP,
    ]


@pytest.mark.parametrize(
    "last",
    ["go.wait(60); go.wait(0)\n    go.wait(0)", "return go.wait(60)", "g(go.wait(60))"],
)
def test_another_thread_pops_at_its_next_event(spy: Spy, last: str) -> None:
    heard = spy.check(
        START
        + f"""
import threading

def f():
    ready.set()
    {last}

def g(x):
    return x

profile.add_function(f)
profile.add_function(g)
ready, go = threading.Event(), threading.Event()
thread = threading.Thread(target=f)
profile.enable()
thread.start()
ready.wait(60)
while not sys._current_frames().get(thread.ident, thread).f_back:
    pass
profile.disable()
go.set()
thread.join()
profile.enable()
g(1)
profile.disable()
"""
    )
    worker, main = map(shown, heard.threads().values())
    assert worker == ["f", "ready.set()", POP, last.partition("\n")[0], POP, POP]
    assert main == ["g", "return x", POP, POP]


def test_no_ranges_are_pushed_while_collection_is_off(spy: Spy) -> None:
    heard = spy.check(
        START
        + """
def f():
    a = 1
    _core.collect(False)
    a = 2
    g()
    _core.collect(True)
    g()
    return a

def g():
    return 1

profile.add_function(f)
profile.add_function(g)
with profile:
    f()
"""
    )
    assert shown(heard.ranges()) == [
        *["f", "a = 1", POP, "_core.collect(False)", POP, POP],
        *["f", "g()", "g", "return 1", POP, POP, POP, "return a", POP, POP],
    ]


def test_two_profilers_share_a_range(spy: Spy) -> None:
    heard = spy.check(
        START
        + """
other = new_profiler()
ends = [len, profile.disable, other.disable]

def f(n):
    g(ends[n])
    return n

def g(end):
    end() if end is not len else None
    return end

for profiler in profile, other:
    profiler.add_function(f)
    profiler.add_function(g)
for n in range(3):
    profile.enable()
    other.enable()
    f(n)
"""
    )
    begin = ["f", "g(ends[n])", "g", "end() if end is not len else None"]
    end = [POP, "return end", POP, POP, POP, "return n", POP, POP]
    # The tracer that pushed the ranges stops; the other tracer pushes them again.
    again = [POP, POP, POP, POP, *begin]
    assert shown(heard.ranges()) == [
        *[*begin, *end],
        *[*begin, *again, *end],
        *[*begin, *end],
    ]
    check_payloads(heard)


# -- forks, exits, threads, greenlets --------------------------------------------------


@pytest.mark.smoke
def test_open_ranges_continue_in_a_forked_child(spy: Spy) -> None:
    heard = spy.check(
        START
        + """
import os

def f():
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return g()

def g():
    return 1

profile.add_function(f)
profile.add_function(g)
with profile:
    f()
"""
    )
    parent, child = map(shown, heard.threads().values())
    inner = ["return g()", "g", "return 1", POP, POP, POP, POP]
    assert child == [POP, "if child:", POP, *inner]
    assert parent == [
        *["f", "child = os.fork()", POP, "if child:"],
        *[POP, "os.waitpid(child, 0)", POP, *inner],
    ]


def test_an_abrupt_end(spy: Spy) -> None:
    heard = spy.run(
        START
        + """
import os

def f():
    x = 1
    os._exit(7)

profile.add_function(f)
with profile:
    f()
"""
    )
    assert heard.status == 7
    assert shown(heard.ranges()) == ["f", "x = 1", POP, "os._exit(7)"]


def test_many_short_threads(spy: Spy) -> None:
    heard = spy.check(
        START
        + """
import threading

def f(n):
    return n

profile.add_function(f)
profile.enable()
for n in range(300):
    thread = threading.Thread(target=f, args=(n,))
    thread.start()
    thread.join()
profile.disable()
"""
    )
    whole = [word for words in heard.threads().values() for word in shown(words)]
    assert whole == ["f", "return n", POP, POP] * 300


@pytest.mark.smoke
def test_a_thread_pops_no_ranges_of_one_that_died_with_them(spy: Spy) -> None:
    """The 257th thread has the recorder of one that has ended."""
    heard = spy.check(
        START
        + """
import threading

def f():
    ready.set()
    go.wait(60)

def g(n):
    return n

ready, go = threading.Event(), threading.Event()
thread = threading.Thread(target=f)
profile.add_function(f)
profile.enable()
thread.start()
ready.wait(60)
while not sys._current_frames().get(thread.ident, thread).f_back:
    pass
del profile
assert _core.hook() is None  # so the thread pops nothing as it ends
go.set()
thread.join()
profile = new_profiler(g)
_core.nvtx_open("line")
profile.enable()
for n in range(300):
    thread = threading.Thread(target=g, args=(n,))
    thread.start()
    thread.join()
profile.disable()
"""
    )
    died, *others = map(shown, heard.threads().values())
    # Before 3.12 the thread pops them itself: its frame keeps the trace function.
    at_end = [POP, POP] if sys.version_info < (3, 12) else []
    assert died == ["f", "ready.set()", POP, "go.wait(60)", *at_end]
    whole = [word for words in others for word in words]
    assert whole == ["g", "return n", POP, POP] * 300


@pytest.mark.smoke
def test_ranges_of_switching_greenlets(spy: Spy) -> None:
    pytest.importorskip("greenlet")
    heard = spy.check(
        START
        + """
from greenlet import greenlet

def ping(n):
    for i in range(n):
        pongs.switch()

def pong():
    while True:
        pings.switch()

profile.add_function(ping)
profile.add_function(pong)
pings, pongs = greenlet(ping), greenlet(pong)
with profile:
    pings.switch(3)
"""
    )
    steps = [shown(step) for step in nesting(heard.ranges())]
    assert steps[-1] == []
    assert ["ping", "pongs.switch()"] in steps
    assert ["pong", "pings.switch()"] in steps
    assert not [step for step in steps if {"ping", "pong"} <= {*step}]


# -- names and payloads ---------------------------------------------------------------


def test_labels_of_ranges(spy: Spy) -> None:
    long = "x = " + " + ".join(["1"] * 60)
    odd = r'text = "\"quoted\" \\ \t"  # é中'
    heard = spy.check(
        START
        + f"""
def f():
    {long}
    {odd}
    return text

profile.add_function(f)
exec(compile("def g(): return 1", "<made>", "exec"))
profile.add_function(g)
profile.texts = {{"<known>": "def h(): return 2"}}
exec(compile(profile.texts["<known>"], "<known>", "exec"))
profile.add_function(h)
with profile:
    f(), g(), h()
"""
    )
    assert [push["text"] for push in heard.of("push")] == [
        "f (program.py:7)",
        f"program.py:8  {long[:80]}",
        f"program.py:9  {odd}",
        "program.py:10  return text",
        "g (<made>:1)",
        "<made>:1",
        "h (<known>:1)",
        "<known>:1  def h(): return 2",
    ]
    check_payloads(heard)


def test_payloads_have_the_serial_numbers_of_a_snapshot(spy: Spy) -> None:
    heard = spy.check(
        START
        + """
def f():
    return 1

profile.add_function(f)
with profile:
    f()
for key, *_, serial in profile._tracer.snapshot()[1]:
    print(serial, key[1])
"""
    )
    serial, line = map(int, heard.output.split())
    assert [push["payload"] for push in heard.of("push")] == [
        serial * 1_000_000 + line,
        serial * 1_000_000 + line + 1,
    ]


@pytest.mark.smoke
def test_comprehensions_stay_balanced(spy: Spy) -> None:
    heard = spy.check(
        START
        + """
def f(n):
    a = [g(i) for i in range(n)]
    return {
        g(i): [
            g(j)
            for j in range(i)
        ]
        for i in a
    }, sum(g(i) for i in a), all(g(i) for i in a)

def g(i):
    return i

profile.add_function(f)
profile.add_function(g)
with profile:
    f(4)
"""
    )
    steps = nesting(heard.ranges())
    assert steps[-1] == ()
    assert sum(shown(step)[-1:] == ["g"] for step in steps) > 10
    check_payloads(heard)


# -- tools -----------------------------------------------------------------------------


def test_without_a_tool_there_are_no_ranges() -> None:
    status, output, errors = run_python(
        START
        + """
import os

def f():
    return 1

print(on, _core.nvtx_mode(), profile._tracer.has_nvtx_ranges)
print(reason)
profile.add_function(f)
with profile:
    f()
print([row.hits for row in profile.get_stats().functions[0].rows])
print("lineprof.bytecode.labels" in sys.modules, "NVTX_INJECTION64_PATH" in os.environ)
"""
    )
    assert status == 0, errors
    answer, reason, hits, labels_and_variable = output.splitlines()
    assert answer == "False off False"
    assert reason in {"no tool listens to NVTX", "this lineprof was built without NVTX"}
    assert hits == "[1]"
    assert labels_and_variable == "False False"


@pytest.mark.parametrize("path", ["/nowhere/tool.so", "./.", sys.executable])
def test_a_library_that_is_no_tool(spy: Spy, path: str) -> None:
    heard = spy.check(START + "print(on, reason)", NVTX_INJECTION64_PATH=path)
    assert heard.output == "False no tool listens to NVTX\n"


@pytest.mark.parametrize(
    "lacks",
    [
        "DomainCreateA,",
        "DomainRegisterStringA,",
        "DomainNameCategoryA,",
        "DomainRangePushEx,",
        "DomainRangePop,",
        "DomainRangePushEx,DomainRangePop,",
    ],
)
def test_a_tool_that_lacks_a_function(spy: Spy, lacks: str) -> None:
    heard = spy.check(
        START
        + """
def f():
    return 1

profile.add_function(f)
with profile:
    f()
print(on, [row.hits for row in profile.get_stats().functions[0].rows])
""",
        NVTX_SPY_LACKS=lacks,
    )
    assert heard.output == f"{lacks != 'DomainCreateA,'} [1]\n"
    pushes = "Push" not in lacks and "Create" not in lacks
    assert len(heard.of("push")) == 2 * pushes
    if "String" in lacks:
        assert [push["text"] for push in heard.of("push")] == ["", ""]
        assert all(push["payload"] > 1_000_000 for push in heard.of("push"))


def test_switched_on_and_off(spy: Spy) -> None:
    heard = spy.check(
        """
import sys
from lineprof import _core
from running import new_profiler

def early():
    return late()

def late():
    _core.nvtx_open(modes.pop(0))
    return 1

_core.nvtx_open("off")
profile = new_profiler()
print(_core.nvtx_open("off"), _core.nvtx_mode())
profile.add_function(early)
print(_core.nvtx_open("auto"), _core.nvtx_mode())
profile.add_function(late)
modes = ["auto", "off", "func", "line", "line"]
with profile:
    while modes:
        early()
try:
    _core.nvtx_open("lines")
except ValueError as error:
    print(error)
""",
        LINEPROF_NVTX="off",
    )
    assert heard.output.splitlines() == [
        "(False, 'NVTX ranges were switched off') off",
        "(True, 'a tool listens to NVTX') line",
        "there is no NVTX mode 'lines', only auto, line, func and off",
    ]
    switch = "_core.nvtx_open(modes.pop(0))"
    assert shown(heard.ranges()) == [
        *["late", switch, POP, "return 1", POP, POP],
        *["late", switch, POP, POP],  # off in a running function
        # (off: no ranges), and on for the next calls
        *["late", POP],  # func before line
        *["late", switch, POP, "return 1", POP, POP],
    ]


def test_ranges_of_the_program_are_left_alone(spy: Spy) -> None:
    heard = spy.check(
        START
        + """
import ctypes
import os

tool = ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"])

def f():
    tool.nvtx_spy_push(b"outer")
    g()
    tool.nvtx_spy_pop()

def g():
    tool.nvtx_spy_push(b"inner")
    tool.nvtx_spy_pop()

profile.add_function(f)
profile.add_function(g)
with profile:
    f()
"""
    )
    (own,) = heard.threads("program").values()
    assert own == ["outer", "inner", POP, POP]
    assert nesting(heard.ranges())[-1] == ()
    open_then = {
        event["text"]: shown(open_before(heard, event))
        for event in heard.events
        if event["domain"] == "program" and event["text"]
    }
    assert open_then["outer"][-2:] == ["f", 'tool.nvtx_spy_push(b"outer")']
    assert open_then["inner"][-4:] == ["f", "g()", "g", 'tool.nvtx_spy_push(b"inner")']


def test_calibration_makes_no_ranges(spy: Spy) -> None:
    heard = spy.check(START + "profile.get_stats()")
    assert only_domain(heard)


def shown(words: Iterable[str]) -> list[str]:
    """Return the function name or source line of each range, without its place."""
    return [
        word.partition(" (")[0] if "  " not in word else word.partition("  ")[2]
        for word in words
    ]


def open_before(heard: Heard, last: Event) -> tuple[str, ...]:
    """Return lineprof's ranges that were open at an event of the program."""
    own = [
        POP if event["what"] == "pop" else event["text"]
        for event in heard.events[: heard.events.index(last)]
        if event["domain"] == "lineprof" and event["what"] in {"push", "pop"}
    ]
    return nesting(own)[-1]


def only_domain(heard: Heard) -> bool:
    """Return whether the domain was made without a range in it."""
    return [event["what"] for event in heard.events] == ["domain"]
