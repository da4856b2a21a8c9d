"""The GPU columns of the table, kernels under lines, and the footer."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from example_gpu import (
    ADD,
    EVIL,
    FIT,
    GEMM,
    PROCESS,
    RUNS,
    TOTAL_COPY_NS,
    TOTAL_GPU_NS,
    UNATTRIBUTED_GPU_NS,
    example,
    without_gpu,
)
from view_text import text_of

from lineprof.console.terminal import Terminal
from lineprof.model.gpu import NO_GPU, NO_PATH, Gpu, GpuDevice, GpuPath, GpuRun, GpuSum
from lineprof.report.gpu_table import GPU_COLUMNS
from lineprof.report.options import MORE_GPU_COLUMNS, USUAL_GPU_COLUMNS

if TYPE_CHECKING:
    from lineprof.line_stats import LineStats

GOLDEN = Path(__file__).parents[1] / "golden"
ALL = (*USUAL_GPU_COLUMNS, *MORE_GPU_COLUMNS)
GOLDENS: list[tuple[str, str, dict[str, object]]] = [
    ("gpu_table.txt", "text", {"unit": 1e-6}),
    ("gpu_table_all_columns.txt", "text", {"unit": 1e-6, "gpu_columns": ALL}),
    (
        "gpu_table_self.txt",
        "text",
        {
            "unit": 1e-3,
            "gpu_self": True,
            "top_kernels": 2,
            "sort_by": "gpu",
            "summarize": True,
            "columns": ("await",),
        },
    ),
]


def shown(stats: LineStats, **options: object) -> str:
    return text_of(stats, **{"unit": 1e-6, **options})  # type: ignore[arg-type]


def with_gpu(gpu: Gpu) -> LineStats:
    stats = example()
    stats.gpu = gpu
    return stats


def with_sums(*sums: GpuSum) -> LineStats:
    return with_gpu(example().gpu._replace(sums=sums))


def section(text: str, function: str) -> list[str]:
    """Return the rows of one function, after its header."""
    rows = text.split(f"Function: {function} at")[1].split("\n\n")[1].split("\n")
    return [row for row in rows if not row.startswith("===")]


def titles(text: str, function: str) -> list[str]:
    """Return the titles of the columns that line_profiler does not have."""
    head = section(text, function)[0]
    between = head.split("% Time")[1].split("Line Contents")[0]
    return [title for title in between.split("  ") if title.strip()]


def row(text: str, function: str, line: int) -> str:
    """Return the row of one line."""
    number = f"{line:6d} "
    (found,) = [row for row in section(text, function) if row.startswith(number)]
    return found


def functions(text: str) -> list[str]:
    return [
        line.split()[1] for line in text.split("\n") if line.startswith("Function: ")
    ]


def footer(stats: LineStats, **options: object) -> list[str]:
    return shown(stats, **options).split("\n\n")[-1].rstrip("\n").split("\n")


@pytest.mark.parametrize(("name", "view", "options"), GOLDENS)
def test_the_table_is_the_same_as_the_golden_files(
    name: str, view: str, options: dict[str, object]
) -> None:
    golden = (GOLDEN / name).read_text(encoding="utf-8")
    assert view == "text"
    assert shown(example(), **options) == golden


def test_a_profile_without_gpu_data_has_no_gpu_columns() -> None:
    plain = shown(with_gpu(NO_GPU))
    assert "GPU" not in plain
    assert shown(without_gpu()) == plain


def test_a_function_without_gpu_data_has_no_gpu_columns() -> None:
    plain = section(shown(with_gpu(NO_GPU)), "quiet")
    assert section(shown(example()), "quiet") == plain
    assert section(shown(example(), gpu_columns=ALL), "quiet") == plain


def test_without_gpu_data_no_gpu_modules_are_imported() -> None:
    code = (
        "import io, sys; from lineprof.line_stats import LineStats;"
        "LineStats({('a.py', 1, 'f'): [(1, 1, 1)]}, 1e-9).print(io.StringIO());"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "lineprof.report.text" in loaded
    assert "ctypes" not in loaded
    assert not [name for name in loaded if name.startswith("lineprof.report.gpu_")]
    assert not {"lineprof.model.timelines", "lineprof.recording.gpu"} & loaded


def test_columns_without_data_are_left_out_unless_they_are_named() -> None:
    text = shown(example())
    assert titles(text, "tree") == [" GPU Time", "GPU %", "Kernels"]
    of_copies = [" GPU Time", "GPU %", "Copy Time", "Copy MB", "GPU Alloc"]
    assert titles(text, "upload") == of_copies
    assert titles(text, "quiet") == []
    named = shown(example(), gpu_columns=("wait", "free"))
    assert [title.strip() for title in titles(named, "tree")] == ["Wait", "GPU Freed"]
    assert titles(shown(example(), gpu_columns=()), "fit") == []


def test_there_is_a_column_for_each_name() -> None:
    assert tuple(GPU_COLUMNS) == tuple(dict.fromkeys(GPU_COLUMNS))
    assert set(GPU_COLUMNS) == set(ALL)


def test_a_line_in_recursion_counts_each_kernel_once() -> None:
    text = shown(example(), unit=1e-9)
    assert " 2800000.0   96.6       30 " in row(text, "tree", 15)
    assert " 2800000.0   96.6       30 " in row(text, "tree", 16)


def test_a_line_with_gpu_data_alone_is_shown_without_hits() -> None:
    numbers = row(shown(example()), "upload", 9).split("mask")[0].split()
    assert numbers == ["9", "50.0", "100.0", "2.097", "MB"]


@pytest.mark.parametrize(("adopted", "mark"), [(50, ""), (51, "~"), (1000, "~")])
def test_a_line_is_marked_if_more_than_five_percent_is_adopted(
    adopted: int, mark: str
) -> None:
    paths = [GpuPath(0, one, ((FIT, 35),)) for one in (False, True)]
    sums = [
        GpuSum(place, NO_PATH, "kernel", "k", 0, 1, ns, ns, ns)
        for place, ns in enumerate((1000 - adopted, adopted))
    ]
    gpu = example().gpu._replace(paths=tuple(paths), sums=tuple(sums))
    assert f" {mark}1000.0 " in row(shown(with_gpu(gpu), unit=1e-9), "fit", 35)


def test_self_numbers_of_a_line_exclude_its_callees() -> None:
    text = shown(example(), gpu_self=True)
    assert titles(text, "fit")[0].strip() == "GPU Self"
    assert row(text, "fit", 34).split("loss")[0].split()[-1] == "12.7"  # % Time
    assert "5100.0" in row(text, "step", 22)
    of_copies = ["GPU Self", "GPU %", "Copy Time", "Copy MB", "GPU Alloc"]
    assert [title.strip() for title in titles(text, "upload")] == of_copies


def test_kernels_are_below_their_line_the_longest_first() -> None:
    rows = section(shown(example(), top_kernels=1), "step")
    place = next(place for place, row in enumerate(rows) if "y = model" in row)
    column = rows[0].index("Line Contents")
    kernel = "| 10 x 500.00us = 5.0000ms (98.0 %) gemm(float const*, float const*"
    assert rows[place + 1].startswith(" " * column + kernel)
    assert rows[place + 2].lstrip().startswith("23 ")
    text = shown(example(), top_kernels=9)
    assert text.count("| ") == 15
    assert "| 1 x 100.00us = 100.00us (2.0 %) evil\\x1b[2J kernel" in text


def test_names_are_escaped_on_a_terminal() -> None:
    bad = "\x1b[2J\x07\x9b\n\t\u202e"
    run = GpuRun(0, "none", f"no{bad}", present=True)
    device = GpuDevice(0, 0, f"H{bad}", 1, True)
    copy = GpuSum(0, NO_PATH, "memcpy", bad, 0, 1, 1, 1, 1, 1)
    kernel = GpuSum(0, NO_PATH, "kernel", f"k{bad}", 0, 1, 1, 1, 1)
    gpu = example().gpu._replace(
        sums=(copy, kernel), devices=(device,), runs=(run, *RUNS)
    )
    for terminal in (Terminal(), Terminal(is_terminal=True, width=500)):
        text = shown(with_gpu(gpu), top_kernels=9, kernel=f"*{bad}*", terminal=terminal)
        assert not set("\x1b\x07\x9b\t\u202e") & set(text)
        assert text.count("\\x1b[2J\\x07\\x9b\\n\\t\\u202e") == 5


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("gpu", "quiet upload tree step fit"),
        ("time", "quiet tree upload step fit"),
        ("hits", "quiet upload step fit tree"),
        ("wait", "upload tree step quiet fit"),
        ("line", "upload tree step quiet fit"),
    ],
)
def test_functions_are_sorted_in_ascending_order(order: str, names: str) -> None:
    assert functions(shown(example(), sort_by=order)) == names.split()


def test_sort_by_overrides_sort_which_is_by_time() -> None:
    both = shown(example(), sort_by="line", sort=True)
    assert functions(both) == functions(shown(example(), sort_by="line"))
    by_time = shown(example(), sort_by="time")
    assert shown(example(), sort=True) == by_time


def test_kernels_can_be_chosen_by_mangled_and_demangled_names() -> None:
    for pattern in ("_Z4gemm*", "gemm(*", "gemm*float[*], int)"):
        text = shown(example(), kernel=pattern, unit=1e-9)
        assert "5000000.0" in row(text, "step", 22)
        assert row(text, "step", 21).split("x =")[0].split()[-1] == "16.0"  # % Time
    text = shown(example(), kernel="GEMM*")
    assert "No kernel's name matches 'GEMM*'; try '*part*'" in text
    assert "in 0 kernels and 11 memsets" in text


def test_kernels_of_a_graph_can_count_on_the_line_of_its_capture() -> None:
    text = shown(example(), graph_origin=True, unit=1e-9)
    assert "6000000.0" in row(text, "step", 22)
    assert "250000.0" in row(text, "step", 21)
    assert row(text, "fit", 37).split("model")[0].split()[-1] == "0.9"  # % Time


def test_the_footer_has_the_devices_totals() -> None:
    lines = footer(example())
    assert lines[0] == (
        f"GPU time: {TOTAL_GPU_NS / 1e9:g} s in 104 kernels and 11 memsets"
    )
    assert lines[1].startswith(
        f"Copies: {TOTAL_COPY_NS / 1e9:g} s: HtoD 50.336MB in 13"
    )
    (rest,) = [line for line in lines if line.startswith("Unattributed: ")]
    assert rest.startswith(f"Unattributed: {UNATTRIBUTED_GPU_NS / 1e9:g} s (2.4 %)")


def test_the_footer_leaves_out_lines_without_data() -> None:
    path = GpuPath(0, False, ((FIT, 34),))
    gpu = Gpu((path,), (GpuSum(0, NO_PATH, "kernel", ADD, 0, 2, 4_000, 1, 2),))
    assert footer(with_gpu(gpu)) == ["GPU time: 4e-06 s in 2 kernels"]
    device = GpuDevice(0, 0, "H200", 4_000, True)
    gpu = gpu._replace(devices=(device,))
    assert footer(with_gpu(gpu))[1:] == [
        "Busy: H200 (0) 4e-06 s, 0.0 % of the run's 0.025 s"
    ]
    stats = with_gpu(gpu)
    stats.processes = (PROCESS._replace(wall_ns=0),)
    assert footer(stats)[1:] == ["Busy: H200 (0) 4e-06 s"]


def test_migrations_of_managed_memory_have_a_line_and_columns() -> None:
    one = GpuSum(0, NO_PATH, "migration", "HtoD", 0, 3, 5_000, 1, 2, 2_000_000)
    path = GpuPath(0, False, ((FIT, 34),))
    gpu = Gpu((path,), (one,))
    text = shown(with_gpu(gpu), gpu_columns=("uvm", "uvm-mb"))
    assert "Migrations: 5e-06 s: HtoD 2.0000MB in 3" in text
    assert "   5.0      2.0 " in row(text, "fit", 34)


def test_many_devices_share_a_line() -> None:
    devices = [GpuDevice(0, n, "H200", 1_000_000 * n, n != 3) for n in range(9)]
    lines = footer(with_gpu(example().gpu._replace(devices=tuple(devices))))
    busy = [line for line in lines if line.startswith("Busy")]
    assert busy == ["Busy: 9 x H200 >= 0.036 s, 16.0 % of the runs' 0.225 s"]


def test_a_gpu_without_numbers_has_one_line_with_the_cause() -> None:
    why = "CUPTI is held by nsys"
    runs = [GpuRun(0, "nvtx", why, present=True), GpuRun(0, "none", why, present=True)]
    stats = with_gpu(Gpu(runs=tuple(runs)))
    assert footer(stats) == [f"GPU columns off: {why}"]
    assert shown(stats, summarize=True).endswith(
        f"- /project/model.py:32 - fit\n\nGPU columns off: {why}\n"
    )
    assert footer(with_gpu(example().gpu._replace(runs=tuple(runs))))[-1] == (
        f"GPU columns off: {why}"
    )


@pytest.mark.parametrize(
    ("buffers", "taken", "start"),
    [
        (0, 700, "CUPTI has stopped bringing records, as if another tool took them"),
        (2, 700, "Another tool took CUPTI's records"),
        (2, 0, "Another tool also used CUPTI"),
    ],
)
def test_another_tool_that_shares_cupti_is_named(
    buffers: int, taken: int, start: str
) -> None:
    (run,) = RUNS
    run = run._replace(foreign_buffers=buffers, taken=taken)
    [line] = [line for line in footer(with_gpu(Gpu(runs=(run,)))) if "PyTorch" in line]
    assert line.startswith(f"{start} (PyTorch's profiler does from 2.15 on): ")
    assert ("the last 700 launches have no record" in line) == (taken > 0)
    assert line.endswith("; profile without that tool")


def test_a_gpu_that_was_idle_is_not_mentioned() -> None:
    (run,) = RUNS
    fine = run._replace(dropped=0, invalid=0, outstanding=0, left_out=0)
    idle = with_gpu(Gpu(runs=(fine,)))
    assert shown(idle) == shown(with_gpu(NO_GPU))
    assert shown(idle, summarize=True) == shown(with_gpu(NO_GPU), summarize=True)


def test_print_also_has_the_footer() -> None:
    stream = io.StringIO()
    example().print(stream, 1e-6)
    assert stream.getvalue() == (GOLDEN / "gpu_table.txt").read_text(encoding="utf-8")


def test_raw_keeps_the_gpu_columns() -> None:
    assert "5100.0" in row(shown(example(), raw=True), "step", 22)


def test_functions_with_gpu_data_alone_are_not_skipped() -> None:
    stats = example()
    stats.functions = tuple(one._replace(thread_lines=()) for one in stats.functions)
    assert functions(shown(stats, skip_zero=True)) == ["upload", "tree", "step", "fit"]
    assert functions(shown(stats)) == ["upload", "tree", "step", "quiet", "fit"]


def test_lines_without_source_are_shown_up_to_the_last_with_gpu_data() -> None:
    stats = with_sums(*example().gpu.sums)
    stats.sources = {}
    rows = shown(stats).split("Total time:")[1].split("\n\n")[-2].split("\n")
    assert [row.split()[0] for row in rows if not row.startswith("=")] == [
        *("Line", "6", "7", "8", "9", "10")
    ]


def test_on_a_terminal_lines_fit_and_hot_lines_are_red() -> None:
    terminal = Terminal(is_terminal=True, width=160, colour=True)
    text = shown(example(), terminal=terminal, top_kernels=9)
    tables = text.split("GPU time:")[0].split("\n")
    assert max(len(line) for line in tables if "\x1b" not in line) == 160
    red = [line for line in text.split("\n") if line.startswith("\x1b[1;31m")]
    assert any(line.startswith("\x1b[1;31m    35 ") for line in red)
    assert any(line.startswith("\x1b[1;31m     9 ") for line in red)  # by its GPU time


def test_a_terminal_too_narrow_for_source_wraps_lines() -> None:
    narrow, whole = (
        shown(example(), terminal=Terminal(is_terminal=True, width=width))
        for width in (100, None)
    )
    assert section(narrow, "fit") == section(whole, "fit")
    assert section(narrow, "tree") != section(whole, "tree")


def test_the_example_has_names_of_every_kind() -> None:
    names = {one.name for one in example().gpu.sums}
    assert {GEMM, ADD, EVIL} <= names
