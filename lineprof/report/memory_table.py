"""Memory columns of the tables of lines, and the totals below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.model.host_memory import (
    NO_BYTES,
    memory_of_functions,
    memory_of_lines,
    outside_memory,
    total_memory,
)
from lineprof.report.line_table import MEMORY_COLUMNS, Line, LineMemory, scale_of
from lineprof.report.memory_format import OUTSIDE_OF_LINES, marker, peak_words
from lineprof.report.text_grid import ABOUT, counted, in_bytes, percent, percent_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.report.line_table import FunctionTable
    from lineprof.report.options import Options

_USUAL = ("host-alloc", "host-live", "host-peak")  # columns, if none is chosen

_HOT_PERCENT = 20  # of the bytes at the peak


def with_memory(
    tables: list[FunctionTable], profile: Profile, options: Options
) -> list[FunctionTable]:
    """Return `tables`, with columns of memory for the functions that allocated any."""
    memory, scale = profile.memory, scale_of(profile.unit, options)
    every, own = memory_of_lines(memory), memory_of_lines(memory, alone=True)
    functions = memory_of_functions(memory)
    peak_bytes = total_memory(memory).peak_bytes
    names = () if MEMORY_COLUMNS.keys() & {*options.columns} else _USUAL
    columns = [MEMORY_COLUMNS[name] for name in names]

    def with_columns(table: FunctionTable) -> FunctionTable:
        lines = {line.number: line for line in table.lines}
        alone = own.get(table.key, {})
        for number, numbers in sorted(every[table.key].items()):
            line = lines.get(number) or Line(number=number)
            lines[number] = line._replace(
                memory=LineMemory(
                    every=numbers,
                    own=alone.get(number, NO_BYTES),
                    is_estimate=memory.is_estimate,
                )
            )
        return table._replace(
            lines=tuple(lines.values()),
            memory=functions[table.key],
            columns=tuple(
                column
                for column in columns
                if any(column.text(line, scale) for line in lines.values())
            ),
            hot=frozenset(
                number
                for number, numbers in alone.items()
                if percent_of(numbers.peak_bytes, peak_bytes) > _HOT_PERCENT
            ),
        )

    return [with_columns(table) if table.key in every else table for table in tables]


def memory_footer(profile: Profile) -> Iterator[str]:
    """Yield the totals of memory, blocks outside of lines, and what marks mean."""
    memory = profile.memory
    mark, total = marker(memory), total_memory(memory)
    peak = peak_words(profile)
    yield (
        f"Memory: {f'{peak}; ' if peak else ''}{in_bytes(mark(total.alloc_bytes))}"
        f" allocated in {counted(total.allocs, 'block')},"
        f" {in_bytes(mark(total.live_bytes))} live at the end"
    )
    outside = outside_memory(memory)
    if outside.allocs:
        yield (
            f"{OUTSIDE_OF_LINES.capitalize()}:"
            f" {in_bytes(mark(outside.alloc_bytes))} allocated"
            f" ({percent(outside.alloc_bytes, total.alloc_bytes)}),"
            f" {in_bytes(mark(outside.live_bytes))} live at the end,"
            f" {in_bytes(mark(outside.peak_bytes))} at the peak"
        )
    if len(memory.runs) > 1:
        yield f"Peak: a line's is the sum of its parts of {len(memory.runs)} peaks"
    yield from estimate_note(profile)


def estimate_note(profile: Profile) -> Iterator[str]:
    """Yield how often blocks were sampled, if numbers of memory are estimates."""
    samples = [run.sample_bytes for run in profile.memory.runs if run.sample_bytes]
    if samples:
        size = in_bytes(max(samples))
        yield f"{ABOUT}: memory is estimated from samples, one in {size} on average"
