"""Lines of the screen of `lineprof top`, from samples that are written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lineprof.console.terminal import Terminal
from lineprof.live.devices import Device
from lineprof.live.layout import State, View, screen
from lineprof.live.rates import Row, Scope, never_less, ordered, rows_of
from lineprof.live.reading import Numbers, OpenLine, Sample

pytestmark = pytest.mark.once  # text of fixed samples

MS = 1_000_000  # ns
S = 1000 * MS

MAIN, WORK = ("/home/me/run/train.py", 1, "main"), ("/opt/lib/pkg/work.py", 10, "Net.f")
SOURCE = {
    (MAIN, 3): "    net.f(batch)  # \x1b[2J\u202e",
    (MAIN, 4): "\ttime.sleep(1)",
    (WORK, 11): "    return sum(x for x in batch)",
}

BEFORE = Sample(
    at_ns=100 * S,
    ran_ns=8 * S,
    lines={
        (MAIN, 3): Numbers(hits=70, time_ns=6 * S, own_ns=35 * MS),
        (WORK, 11): Numbers(hits=70_000, time_ns=5 * S, own_ns=5 * S),
    },
    functions={
        (MAIN, 1): Numbers(hits=1, time_ns=8 * S, own_ns=35 * MS),
        (WORK, 10): Numbers(hits=70, time_ns=5 * S, own_ns=5 * S),
    },
    threads=2,
)

NOW = Sample(
    at_ns=102 * S,
    ran_ns=10 * S,
    lines={
        (MAIN, 3): Numbers(hits=100, time_ns=7 * S, own_ns=50 * MS),
        (MAIN, 4): Numbers(
            hits=1, time_ns=S, own_ns=S, wait_ns=990 * MS, own_wait_ns=990 * MS
        ),
        (WORK, 11): Numbers(hits=1_100_000, time_ns=6 * S, own_ns=6 * S),
    },
    functions={
        (MAIN, 1): Numbers(hits=1, time_ns=10 * S, own_ns=1050 * MS),
        (WORK, 10): Numbers(hits=100, time_ns=6 * S, own_ns=6 * S),
    },
    open_lines=(
        OpenLine(thread="MainThread", place=(WORK, 11), open_ns=3725 * S),
        OpenLine(thread="pool\x1b[1m", place=(MAIN, 4), open_ns=S),
    ),
    callers=frozenset({(MAIN, 3)}),
    threads=2,
)

VIEW = View(
    command="train.py --epochs 3",
    pid=4711,
    cwd="/home/me/run",
    sample=NOW,
    before=BEFORE,
    line=lambda place: SOURCE.get(place, ""),
)

TERMINAL = Terminal(is_terminal=True, width=110)

LINES = """\
lineprof top: train.py --epochs 3  pid 4711  running 10.0 s  2 threads  every 1 s
own time of lines since the program began, by %NOW
now: MainThread on pkg/work.py:11 for 1:02:05, pool\\x1b[1m on train.py:4 for 1.0 s

     %NOW    %ALL      TIME   HITS/S       HITS   PER HIT      WAIT  FILE:LINE       SOURCE
>    50.0    60.0   6.000 s   515.0k  1,100,000  5.455 us            pkg/work.py:11  return sum(x for x in ba…
>    50.0    10.0   1.000 s      0.5          1   1.000 s  990.0 ms  train.py:4      time.sleep(1)
|     0.8     0.5  50.00 ms     15.0        100  500.0 us            train.py:3      net.f(batch)  # \\x1b[2J\\…
"""  # noqa: E501

FUNCTIONS = """\
    %NOW    %ALL      TIME   HITS/S       HITS   PER HIT  FILE:LINE       FUNCTION
   100.0   100.0   10.00 s        0          1   10.00 s  train.py:1      main
    50.0    60.0   6.000 s     15.0        100  60.00 ms  pkg/work.py:10  Net.f
"""

LAST = """\
     %NOW    %ALL      TIME   HITS/S       HITS   PER HIT      WAIT  FILE:LINE       SOURCE
>    50.0    10.0   1.000 s      0.5          1   1.000 s  990.0 ms  train.py:4      time.sleep(1)
|     0.8     0.5  15.00 ms     15.0         30  500.0 us            train.py:3      net.f(batch)  # \\x1b[2J\\u202e
>    50.0    60.0   1.000 s   515.0k  1,030,000  970.9 ns            pkg/work.py:11  return sum(x for x in batch)
"""  # noqa: E501

NARROW = """\
lineprof top: train.py --epochs 3  pid 4711  running 10.0 s\x20
own time of lines since the program began, by %NOW
now: MainThread on pkg/work.py:11 for 1:02:05, pool\\x1b[1m o

     %NOW      TIME  FILE:LINE      SOURCE
>    50.0   6.000 s  pkg/wo….py:11  return sum(x for x in b…
>    50.0   1.000 s  train.py:4     time.sleep(1)
|     0.8  50.00 ms  train.py:3     net.f(batch)  # \\x1b[2J…
"""


def text(view: View, state: State, **more: object) -> str:
    lines = screen(view, state, **more)  # type: ignore[arg-type]
    return "".join(f"{line.text}\n" for line in lines)


def table(view: View, state: State) -> str:
    return text(view, state).partition("\n\n")[2]


def test_the_screen_has_a_title_what_is_open_and_the_hottest_lines() -> None:
    assert text(VIEW, State(), terminal=TERMINAL) == LINES
    styles = [line.style for line in screen(VIEW, State())]
    assert styles == ["title", "", "", "", "head", "hot", "hot", ""]


def test_functions_have_their_names_and_times_with_callees() -> None:
    state = State(scope=Scope(by_function=True, is_inclusive=True))
    quiet = NOW._replace(lines={})  # nothing waited
    assert table(VIEW._replace(sample=quiet), state) == FUNCTIONS


def test_times_and_hits_may_be_those_of_the_last_interval() -> None:
    state = State(scope=Scope(is_total=False), sort="each")
    assert table(VIEW, state) == LAST


def test_a_narrow_terminal_has_fewer_columns() -> None:
    terminal = Terminal(is_terminal=True, width=60)
    assert text(VIEW, State(), terminal=terminal) == NARROW


@pytest.mark.parametrize("height", range(31))
@pytest.mark.parametrize("width", [1, 7, 30, 200])
def test_the_screen_fits_any_terminal(height: int, width: int) -> None:
    terminal = Terminal(is_terminal=True, width=width)
    device = Device(number=0, name="NVIDIA H100", busy=3, used_bytes=0, total_bytes=1)
    view = VIEW._replace(devices=[device])
    for state in (State(), State(has_help=True), State(top=2), State(text="none")):
        lines = screen(view, state, height, terminal)
        assert len(lines) <= height
        assert all(len(line.text) <= width for line in lines)
        if height >= 12 and not state.has_help:
            assert len(lines) == height
            assert lines[-1].style == "keys"


def test_rows_are_scrolled_filtered_and_limited() -> None:
    assert table(VIEW, State(top=1)).count("\n") == 3
    assert table(VIEW, State(limit=1)).count("\n") == 2
    assert "train.py:4" in table(VIEW, State(text="SLEEP"))
    assert table(VIEW, State(text="SLEEP")).count("\n") == 2
    assert table(VIEW, State(text="x", scope=Scope(by_function=True))) == (
        "no row has this text\n"
    )
    assert "with: sl_" in text(VIEW, State(text="sl", is_typing=True))


def test_the_end_of_the_program_is_in_the_title() -> None:
    ended = VIEW._replace(sample=NOW._replace(ended="", open_lines=(), callers=()))
    title, *_ = text(ended, State()).splitlines()
    assert title.endswith("  pid 4711  ended; final counts after 10.0 s")
    killed = VIEW._replace(sample=NOW._replace(ended="it died of SIGABRT"))
    assert "ended: it died of SIGABRT; final counts" in text(killed, State())
    other = VIEW._replace(sample=NOW._replace(is_seen=False, is_complete=False))
    assert "of another machine or container 10.0 s" in text(other, State())
    assert "the live file has no more room" in text(other, State())
    fresh = VIEW._replace(sample=Sample(0, 0, {}, {}), before=None, command="")
    assert "(has not begun)" in text(fresh, State())
    assert table(fresh, State()) == "no line has run yet\n"
    assert "  paused\n" in text(VIEW, State(is_paused=True))


def test_the_first_screen_has_no_interval() -> None:
    first = VIEW._replace(before=None)
    [row] = [row for row in table(first, State()).splitlines() if "sleep" in row]
    assert row.split()[:3] == [">", "10.0", "1.000"]


# Rates.


def test_totals_never_go_backwards() -> None:
    place = (MAIN, 3)
    late = replace_line(NOW, Numbers(hits=100, time_ns=6 * S, own_ns=20 * MS))
    kept = never_less(late, BEFORE).lines
    assert kept[place] == Numbers(hits=100, time_ns=6 * S, own_ns=35 * MS)
    assert kept[MAIN, 4] == NOW.lines[MAIN, 4]
    gone = never_less(BEFORE, NOW)
    assert gone.lines[MAIN, 4] == NOW.lines[MAIN, 4]
    assert gone.ran_ns == NOW.ran_ns


def replace_line(sample: Sample, numbers: Numbers) -> Sample:
    return sample._replace(lines={**sample.lines, (MAIN, 3): numbers})


def test_a_line_that_begins_anew_has_its_new_counts() -> None:
    anew = replace_line(NOW, Numbers(hits=2, time_ns=MS, own_ns=MS))
    assert never_less(anew, NOW).lines[MAIN, 3] == anew.lines[MAIN, 3]
    [row] = [
        one for one in rows_of(anew, NOW, Scope()) if one.place == (MAIN, 3)
    ]  # there is no interval: both are of the same time
    assert (row.share, row.rate, row.hits) == (None, None, 2)
    later = anew._replace(at_ns=anew.at_ns + S)
    [row] = [one for one in rows_of(later, NOW, Scope()) if one.place == (MAIN, 3)]
    assert (row.share, row.rate) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("column", "first"),
    [
        ("now", (MAIN, 4)),
        ("all", (WORK, 11)),
        ("time", (WORK, 11)),
        ("rate", (WORK, 11)),
        ("hits", (WORK, 11)),
        ("each", (MAIN, 4)),
        ("wait", (MAIN, 4)),
        ("line", (MAIN, 3)),
    ],
)
def test_each_column_sorts(column: str, first: tuple[object, int]) -> None:
    rows = rows_of(NOW, BEFORE, Scope(is_total=False))
    longer = [row._replace(share=0.6) if row.place[1] == 4 else row for row in rows]
    assert ordered(longer, column)[0].place == first


def test_a_row_without_hits_has_its_whole_time_per_hit() -> None:
    row = Row(
        place=(MAIN, 4),
        share=None,
        total_share=0.0,
        time_ns=S,
        rate=None,
        hits=0,
        wait_ns=0,
    )
    assert row.per_hit_ns == S


def test_a_device_has_its_load_and_memory() -> None:
    device = Device(
        number=1,
        name="NVIDIA H100",
        busy=87,
        used_bytes=12 * 10**9,
        total_bytes=80 * 10**9,
    )
    assert "\nGPU 1 NVIDIA H100  87 % busy  12.0 of 80.0 GB used\n" in text(
        VIEW._replace(devices=[device]), State()
    )
    unknown = replace(State(), interval=0.5)
    assert "every 0.5 s" in text(VIEW, unknown)
