"""Advice takes time in proportion to the source, also on long lines."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

import pytest
from example_advice import MS, RUN, Lines, advice, made

from lineprof.model.records import SourceFile
from lineprof.source_files import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof.line_stats import LineStats


def one_line(start: str, parts: str, count: int) -> LineStats:
    """Return the profile of a function whose last line repeats statements."""
    text = f"def work(a):\n    {start}\n    {parts * count}\n"
    return made(text, {"work": (1, {3: (100, RUN // 2)})})


def variables(count: int) -> LineStats:
    """Return the profile of a line that searches that many lists of the module."""
    names = [f"name{number}" for number in range(count)]
    text = "".join(f"{one} = []\n" for one in names)
    text += f"def work(a):\n    {'; '.join(f'a in {one}' for one in names)}\n"
    uses = "program" + ".name0" * count
    other = SourceFile(file="/project/other.py", text=uses, sha256=text_hash(uses))
    stats = made(text, {"work": (1, {count + 2: (100, RUN // 2)})})
    stats.sources = {**stats.sources, other.file: other}
    return stats


def loops(count: int) -> LineStats:
    """Return the profile of a function with that many loops."""
    text = "def work(a):\n" + "    for i in a:\n        a = i\n" * count
    lines: Lines = dict.fromkeys(range(2, 2 * count + 2), (100, MS))
    return made(text, {"work": (1, lines)})


def arguments(count: int) -> LineStats:
    """Return the profile of a call with that many arguments."""
    text = f"import re\nX = 1\nx = re.compile({'X, ' * count})\n"
    return made(text, {"<module>": (1, {3: (100, RUN // 2)})})


MANY: dict[str, Callable[[int], LineStats]] = {
    "statements": lambda count: one_line("pass", "a = 1;", 3 * count),
    "searches": lambda count: one_line("seen = (1, 2)", "a in seen;", count),
    "bindings": lambda count: one_line("pass", "seen |= a; a in seen;", count),
    "variables": variables,
    "loops": loops,
    "arguments": arguments,
}


@pytest.mark.serial
@pytest.mark.parametrize("name", MANY)
def test_ten_times_the_source_takes_about_ten_times_as_long(name: str) -> None:
    def seconds(count: int) -> float:
        stats, found = MANY[name](count), []
        for _ in range(3):
            began = process_time()
            advice(stats)
            found.append(process_time() - began)
        return min(found)

    assert seconds(7_000) < 30 * seconds(700)
