"""Waits in the table: columns of --columns, and the line below a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import viewer
from example_calls import example
from example_stats import example as without_waits
from view_text import lines_of

from lineprof.errors import LineprofError
from lineprof.line_stats import LineStats
from lineprof.model.records import CAUSES, GIL, IO, LOCK, OTHER, SLEEP, Wait
from lineprof.report.options import parse_columns

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.once  # text of fixed profiles

WAITING = "Waiting: 24.3 % of these times: 1.500 ms for locks"


def table(stats: LineStats, **options: object) -> list[str]:
    return lines_of(
        stats, "text", unit=1e-6, gpu_columns=(), **{"waiting": True, **options}
    )


def with_waits(*waits: Wait) -> LineStats:
    """Return a profile of the example's functions, with these waits and no GPU."""
    stats = example()
    return LineStats.from_functions(
        stats.functions, sources=stats.sources, waits=waits, calls=stats.calls
    )


def row(lines: list[str], source: str) -> list[str]:
    """Return the words of the row with this source."""
    rows = [line.split() for line in lines if line.endswith(source)]
    return max(rows, key=len)


def test_the_time_of_a_line_is_on_a_processor_or_waiting() -> None:
    lines = table(example(), columns=("cpu", "wait", "lock", "gil", "io"))
    title = next(line for line in lines if line.startswith("Line #"))
    assert title.split()[-7:-2] == ["CPU", "Wait", "Lock", "GIL", "IO"]
    joining = row(lines, "worker.join()")
    assert joining[2] == "1540.9"
    assert joining[5:9] == ["20.9", "1520.0", "1500.0", "20.0"]
    assert row(lines, "worker.start()")[5:] == ["90.0", "worker.start()"]


def test_a_line_that_waited_longer_than_it_took_has_no_time_on_a_processor() -> None:
    main = next(one for one in example().functions if one.name == "main")
    lines = table(with_waits(Wait(main.key, 11, 0, LOCK, 90_001)), columns=("cpu",))
    assert row(lines, "worker.start()")[5:] == ["0.0", "worker.start()"]


def test_each_cause_is_a_column() -> None:
    assert parse_columns(",".join(("cpu", "wait", *CAUSES)))
    with pytest.raises(LineprofError, match="cpu, wait, gil, lock, sleep, io"):
        parse_columns("nothing")


def test_the_line_below_a_table_has_the_wait_and_its_causes() -> None:
    lines = table(example())
    assert [line for line in lines if line.startswith("Waiting")] == [
        WAITING.replace("24.3", "24.2"),
        WAITING,
    ]
    place = lines.index(next(line for line in lines if line.startswith(WAITING)))
    assert lines[place - 1].endswith("return report(model)")
    assert lines[place + 1] == ""


def test_a_short_wait_has_no_line() -> None:
    main = next(one for one in example().functions if one.name == "main")
    ms = Wait(main.key, 12, 0, SLEEP, 1_000_000)  # more than 1 % of the function
    less = Wait(main.key, 12, 0, LOCK, 999_999)
    assert not [line for line in table(with_waits(less)) if "Waiting" in line]
    assert [line for line in table(with_waits(ms)) if "Waiting" in line]


def test_a_wait_of_one_percent_of_a_function_has_no_line() -> None:
    main = next(one for one in example().functions if one.name == "main")
    cell = main.thread_lines[0]._replace(time_ns=10**9)
    long = main._replace(thread_lines=(cell,))

    def has_line(ns: int) -> bool:
        waits = [Wait(main.key, cell.line, 0, SLEEP, ns)]
        stats = LineStats.from_functions((long,), waits=waits)
        return any("Waiting" in line for line in table(stats))

    assert not has_line(10_000_000)
    assert has_line(10_100_000)


@pytest.mark.parametrize(
    ("us", "expected"),
    [
        ({LOCK: 20_000, OTHER: 1}, "20.00 ms for locks"),
        ({LOCK: 20_000, OTHER: 9_000}, "20.00 ms for locks"),  # of a function of 1 s
        ({LOCK: 20_000, OTHER: 11_000}, "20.00 ms for locks, 11.00 ms for something"),
        (
            {GIL: 9_000, IO: 8_000, OTHER: 1, SLEEP: 12_000},
            "17.00 ms for something else, 12.00 ms asleep",
        ),
        ({GIL: 7_000, SLEEP: 7_000}, "14.00 ms"),  # neither cause has most of it
        ({OTHER: 11_000}, "11.00 ms for something else"),
    ],
)
def test_causes_of_short_waits_are_not_named(us: dict[str, int], expected: str) -> None:
    main = next(one for one in example().functions if one.name == "main")
    cell = main.thread_lines[0]._replace(time_ns=10**9)
    waits = [Wait(main.key, cell.line, 0, cause, n * 1000) for cause, n in us.items()]
    stats = LineStats.from_functions(
        (main._replace(thread_lines=(cell,)),), waits=waits
    )
    [line] = [line for line in table(stats) if line.startswith("Waiting")]
    assert line.partition(" of these times: ")[2].startswith(expected)
    assert line.count(",") == expected.count(",")


def test_the_table_of_line_profiler_has_no_line_about_waits() -> None:
    assert not [line for line in table(example(), waiting=False) if "Waiting" in line]


def test_a_cause_of_a_newer_version_is_named() -> None:
    main = next(one for one in example().functions if one.name == "main")
    lines = table(with_waits(Wait(main.key, 12, 0, "mpi", 1_000_000)))
    assert [line for line in lines if line.endswith(": 1.000 ms for mpi")]


def test_columns_without_data_are_empty_and_the_footer_has_the_cause() -> None:
    note = "The profile does not say how long lines waited: CPU and waits are not known"
    lines = table(without_waits(), columns=("cpu",))
    assert lines[-1] == note
    assert note not in table(without_waits())
    assert note not in table(example(), columns=("cpu",))
    assert len(row(lines, "return stream.read()")) == 7


def test_without_waits_the_table_is_unchanged() -> None:
    assert (
        table(with_waits())
        == [line for line in table(example()) if not line.startswith("Waiting")][
            : len(table(with_waits()))
        ]
    )


def test_the_wait_line_is_shown_with_wait_columns_alone(
    tmp_path: Path,
) -> None:
    example().to_file(tmp_path / "x.lprof")

    def shown(*words: str) -> bool:
        done = viewer("view", *words, "x.lprof", cwd=tmp_path)
        assert done.status == 0
        return "Waiting: " in done.out

    assert not shown()
    assert not shown("--columns", "min")
    assert shown("--columns", "wait")
    assert shown("--drill", "main")
