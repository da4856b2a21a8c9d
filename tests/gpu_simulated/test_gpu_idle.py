"""Idle time of a simulated GPU, charged to lines by cause: ``view --gpu-idle``.

Expected idle times are in a comment at the end of a line::

    load()  #> waiting=2000 inclusive=2500

Words: the causes of `Causes`, in ns, and `inclusive` if it is more than their sum. A
line without a mark must have caused nothing.
"""

from __future__ import annotations

import csv
import io
import json
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpu_rig import Rig, marks

from lineprof.cli.main import main
from lineprof.model.gpu_idle import Causes, DeviceIdle, device_idle
from lineprof.snapshot.arithmetic import idle_sums

if TYPE_CHECKING:
    from gpu_rig import Ran

PRELUDE = """\
from gpu_double import frozen_processor
compute = frozen_processor()
# What the first long line of a thread waits is not known: the clock of the processor is
# read for the first time at its end.
profile(lambda: compute(100000))()
"""


@pytest.fixture
def rig(doubles: Path, tmp_path: Path) -> Rig:
    """Give a runner of programs that use the doubles."""
    return Rig(doubles, tmp_path)


def run(rig: Rig, program: str, *flags: str, **knobs: object) -> Ran:
    """Run a program whose processor time is frozen like the clock."""
    text = PRELUDE + textwrap.dedent(program)
    return rig.kernprof(text, *flags, FROZEN_CLOCK_CPU=1, **knobs).ok()


def idle_of(ran: Ran) -> list[DeviceIdle]:
    """Return the idle time of each device, whose parts must add up."""
    devices = [*device_idle(ran.stats(), idle_sums)]
    for device in devices:
        own = sum(one.causes.total for one in device.lines)
        assert own + device.unattributed.total == device.idle_ns
        assert all(one.causes.total <= one.inclusive_ns for one in device.lines)
    return devices


def check(ran: Ran, device: DeviceIdle, nowhere: Causes = Causes()) -> None:  # noqa: B008
    """Compare the idle time of a device with the marks in the program."""
    found = {}
    for one in device.lines:
        if one.line:
            words = {name: f"{ns}" for name, ns in one.causes._asdict().items() if ns}
            if one.inclusive_ns != one.causes.total:
                words["inclusive"] = f"{one.inclusive_ns}"
            found[one.line] = words
    assert found == marks(ran.text)
    assert device.unattributed == nowhere


CAUSES = """\
def train():
    for _ in range(3):
        gpu.fk_launch(b"step", 0, 5000)  #> launching=100000
        gpu.fk_sync(1, 0, -1)
        compute(1000000)  #> computing=2000000
        tick(2000000)  #> waiting=4000000
        gpu.fk_sync(1, 0, 300000)  #> syncing=600000
        gpu.fk_at(gpu.fk_clock() + 50000)

profile(train)()
"""


@pytest.mark.parametrize("flags", [[], ["--trace"]])
def test_idle_time_is_charged_to_lines_by_cause(rig: Rig, flags: list[str]) -> None:
    ran = run(rig, CAUSES, *flags)
    [device] = idle_of(ran)
    check(ran, device)
    assert (device.idle_ns, device.span_ns, device.gaps) == (6_700_000, 6_715_000, 2)


EXAMPLE = Path(__file__).parents[2] / "examples" / "starved_gpu.py"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        # Lines 48 and 49 of load(): it waits for 3 ms, then computes for 1 ms.
        ([], {48: Causes(waiting=297_000_000), 49: Causes(computing=99_000_000)}),
        (["--prefetch"], {}),
    ],
)
def test_the_example_names_the_lines_that_load_data(
    rig: Rig, flags: list[str], expected: dict[int, Causes]
) -> None:
    words = ["-m", "kernprof", "-lq", "-o", "program.lprof", str(EXAMPLE), *flags]
    ran = rig.run(words, FROZEN_CLOCK_CPU=1)
    [device] = idle_of(ran)
    assert ran.out == f"simulated: the GPU was idle for {device.idle_ns} ns\n"
    assert device.idle_ns == sum(causes.total for causes in expected.values())
    assert expected == {
        one.line: one.causes for one in device.lines if one.causes.total
    }


SHORT_WAITS = """\
@profile
def load():
    compute(31000)  #> unknown=124000

@profile
def train():
    for _ in range(4):
        gpu.fk_launch(b"step", 0, 5000)
        gpu.fk_sync(1, 0, -1)
        tick(29000)
        load()  #> inclusive=124000
        gpu.fk_launch(b"step", 0, 10000)
        gpu.fk_sync(1, 0, -1)
        compute(40000)  #> computing=120000 unknown=40000
        gpu.fk_launch(b"step", 0, 10000)
        gpu.fk_sync(1, 0, -1)
        # It is off the processor for 500000 to 510000 ns.
        tick(500000); compute(90000)  #> computing=320000 waiting=2000000 unknown=40000
    gpu.fk_launch(b"step", 0, 5000)

train()
"""


def test_waits_of_short_lines_are_not_certain_waits_of_the_next_line(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(rig, SHORT_WAITS)
    [device] = idle_of(ran)
    check(ran, device)
    titles = view(capsys, ran, "--gpu-idle").splitlines()[2]
    assert titles.split()[2::2][:3] == ["Python", "Wait", "Python/Wait"]


def test_the_wait_of_a_line_is_unknown_while_nobody_measured_it(rig: Rig) -> None:
    """Here a snapshot divides the line, in others waits are not measured at all."""
    program = """\
        from lineprof import _core

        @profile
        def train():
            for _ in range(2):
                gpu.fk_launch(b"step", 0, 5000)
                gpu.fk_sync(1, 0, -1)
                tick(300000); {}; tick(100000)  #> unknown=400000

        train()
        """
    for snapshot, knobs in (
        ("profile.get_stats()", {}),
        ("None", {"LINEPROF_WAITS": "off"}),
    ):
        ran = run(rig, program.format(snapshot), **knobs)
        [device] = idle_of(ran)
        check(ran, device)


def test_a_wait_is_not_computing_where_two_profilers_count_the_line(rig: Rig) -> None:
    """It is not known in which of the line's two frames the wait was read."""
    program = """\
        from running import new_profiler

        @profile
        def train():
            for _ in range(2):
                gpu.fk_launch(b"step", 0, 5000)
                gpu.fk_sync(1, 0, -1)
                tick(400000)  #> unknown=400000

        other = new_profiler(train)
        other.enable()
        train()
        """
    ran = run(rig, program)
    [device] = idle_of(ran)
    check(ran, device)


SHORT_WAIT = """\
@profile
def train():
    for _ in range(2):
        gpu.fk_launch(b"step", 0, 1000)
        gpu.fk_sync(1, 0, -1)
        tick(2000000); compute(9000)  #> waiting=2000000 unknown=1000 computing=8000

train()
"""


def test_a_small_time_of_either_cause_has_no_column(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(rig, SHORT_WAIT)
    [device] = idle_of(ran)
    check(ran, device)
    titles = view(capsys, ran, "--gpu-idle").splitlines()[2]
    assert titles.split()[::2][:4] == ["Idle", "Python", "Wait", "Line"]


def test_callers_have_the_idle_time_of_their_callees_once(rig: Rig) -> None:
    program = """\
        @profile
        def load(depth):
            if depth:
                return load(depth - 1)  #> inclusive=900000
            compute(300000)  #> computing=900000

        @profile
        def train():
            for _ in range(4):
                load(2)  #> inclusive=900000
                gpu.fk_launch(b"step", 0, 5_000)
                gpu.fk_sync(1, 0, -1)

        train()
        """
    ran = run(rig, program)
    [device] = idle_of(ran)
    check(ran, device)


def test_work_that_overlaps_leaves_no_gap(rig: Rig) -> None:
    program = """\
        @profile
        def train():
            for i in range(4):
                gpu.fk_launch(b"step", i % 2, 900000)
                compute(500000)

        train()
        """
    [device] = idle_of(run(rig, program))
    assert (device.idle_ns, device.gaps, device.lines) == (0, 0, ())


def test_each_device_has_its_own_gaps_and_another_one_is_waited_for(rig: Rig) -> None:
    program = """\
        @profile
        def train():
            for _ in range(2):
                gpu.fk_set_device(0)
                gpu.fk_launch(b"here", 0, 100000)
                gpu.fk_set_device(1)
                gpu.fk_launch(b"there", 0, 400000)
                gpu.fk_sync(1, 0, -1)  #> waiting=300000
                compute(50000)  #> computing=50000

        train()
        """
    ran = run(rig, program)
    first, second = idle_of(ran)
    check(ran, first)
    assert (first.device, first.idle_ns) == (0, 350_000)
    assert (second.device, second.idle_ns) == (1, 50_000)
    [line] = [one for one in second.lines if one.line]
    assert line.causes == Causes(computing=50_000)


def test_time_outside_of_profiled_lines_is_unattributed(rig: Rig) -> None:
    program = """\
        @profile
        def step():
            gpu.fk_launch(b"step", 0, 5000)

        for _ in range(3):
            step()
            tick(105000)
        gpu.fk_launch(b"nowhere", 0, 5000)
        """
    ran = run(rig, program)
    [device] = idle_of(ran)
    check(ran, device, Causes(unknown=300_000))


def test_the_launches_of_worker_threads_end_gaps_of_the_only_thread_with_lines(
    rig: Rig,
) -> None:
    program = """\
        import threading

        @profile
        def backward():
            thread = threading.Thread(target=gpu.fk_launch, args=(b"step", 0, 5000))
            thread.start()
            thread.join()

        @profile
        def train():
            for _ in range(2):
                backward()
                gpu.fk_sync(1, 0, -1)
                compute(100000)  #> computing=100000

        train()
        """
    ran = run(rig, program)
    [device] = idle_of(ran)
    check(ran, device)
    [line] = [one for one in device.lines if one.line]
    assert line.adopted_ns == 100_000


def test_a_full_timeline_ends_the_time_that_is_known(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    program = """\
        @profile
        def train():
            for _ in range(10):
                gpu.fk_launch(b"step", 0, 5000)
                gpu.fk_sync(1, 0, -1)
                compute(100000)  #> computing=300000

        train()
        """
    ran = run(rig, program, "--gpu-events", "4")
    [device] = idle_of(ran)
    check(ran, device)
    assert device.is_cut
    out = view(capsys, ran, "--gpu-idle")
    assert "the timeline was full: idle time is known up to the first of 6" in out


def view(capsys: pytest.CaptureFixture[str], ran: Ran, *flags: str) -> str:
    """Return what ``lineprof view`` prints."""
    status = main(["view", *flags, str(ran.folder / "program.lprof")])
    found = capsys.readouterr()
    assert (status, found.err) == (0, "")
    return found.out


def test_the_view_shows_lines_causes_and_their_sum(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(rig, CAUSES)
    table = view(capsys, ran, "--gpu-idle").splitlines()
    assert table[0].endswith(
        ": idle for 6.700 ms of 6.715 ms (99.8 %) between its first and last work,"
        " in 2 gaps"
    )
    rows = [line.split() for line in table[2:7]]
    assert rows[0][::2][:5] == ["Idle", "Python", "Wait", "Sync", "Launch"]
    assert [row[0] for row in rows[1:]] == [
        "4000.000",
        "2000.000",
        "600.000",
        "100.000",
    ]
    assert rows[1][1:4] == ["4000.000", "program.py:15", "tick(2000000)"]

    made = json.loads(view(capsys, ran, "--gpu-idle", "--json"))
    [device] = made["devices"]
    assert (device["idle_ns"], device["unattributed_ns"]) == (6_700_000, 0)
    assert sum(row["idle_ns"] for row in made["rows"]) == device["idle_ns"]
    assert made["rows"][0]["waiting_ns"] == 4_000_000

    text = view(capsys, ran, "--gpu-idle", "--csv", "--limit", "1")
    [row] = csv.DictReader(io.StringIO(text))
    assert (row["waiting_ns"], row["launching_ns"]) == ("4000000", "0")


def test_the_column_and_the_note_below_the_tables_name_the_line(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    program = """\
        @profile
        def load():
            tick(9000000)

        @profile
        def train():
            for _ in range(3):
                load()
                gpu.fk_launch(b"step", 0, 5000)
                gpu.fk_sync(1, 0, -1)

        train()
        """
    ran = run(rig, program)
    table = view(capsys, ran, "--gpu-columns", "idle")
    rows = {line.split()[-1]: line.split() for line in table.splitlines() if line}
    assert rows["tick(9000000)"][5] == "18000.0"
    assert rows["load()"][5] == "18000.0"
    [note] = [line for line in table.splitlines() if line.startswith("Idle: ")]
    line = ran.text[: ran.text.index("tick(9000000)")].count("\n") + 1
    start, _, command = note.partition(f" because of program.py:{line}: ")
    assert start.endswith(
        " for 99.9 % of the time between its first and last work, 18.00 ms of it"
    )
    assert command.split()[-4:-1] == ["lineprof", "view", "--gpu-idle"]
    alone = view(capsys, ran, "--gpu-columns", "idle", "--gpu-self")
    rows = {line.split()[-1]: line.split() for line in alone.splitlines() if line}
    assert rows["tick(9000000)"][5] == "18000.0"
    assert rows["load()"][5] == "load()"


@pytest.mark.parametrize(
    ("knobs", "pieces"),
    [
        ({"FAKE_CUPTI_DROP": 3}, "1 piece"),
        ({"FAKE_CUPTI_CLOCK": "none"}, "3 pieces"),
    ],
)
def test_records_that_the_timeline_lacks_are_said(
    rig: Rig, capsys: pytest.CaptureFixture[str], knobs: dict[str, object], pieces: str
) -> None:
    ran = run(rig, CAUSES, **knobs)
    *_, note = view(capsys, ran, "--gpu-idle").splitlines()
    assert note == (
        f"Note: the timeline lacks {pieces} of GPU work: a GPU may have been idle less"
    )


def test_the_first_table_has_the_command_of_its_profile(rig: Rig) -> None:
    program = CAUSES.replace("tick(2000000)", "tick(9000000)")
    ran = rig.kernprof(PRELUDE + program, "-v")
    [note] = [line for line in ran.out.splitlines() if line.startswith("Idle: ")]
    assert note.endswith(" -m lineprof view --gpu-idle program.lprof")


def test_a_profile_without_gpu_work_has_one_line(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(rig, "@profile\ndef f():\n    pass\n\nf()\n")
    assert view(capsys, ran, "--gpu-idle") == "No GPU activity was recorded\n"
    made = json.loads(view(capsys, ran, "--gpu-idle", "--json"))
    assert made["notes"] == ["No GPU activity was recorded"]


def test_the_note_is_on_the_gpu_that_is_idle_for_a_large_share(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    program = """\
        @profile
        def train():
            for i in range(10):
                gpu.fk_set_device(0)
                gpu.fk_launch(b"long", 0, 90_000_000)
                if i < 2:
                    gpu.fk_set_device(1)
                    gpu.fk_launch(b"short", 0, 1_000_000)
                gpu.fk_set_device(0)
                gpu.fk_sync(1, 0, -1)
                compute(20_000_000)

        train()
        """
    ran = run(rig, program)
    first, second = idle_of(ran)
    assert (first.idle_ns, first.span_ns) == (180_000_000, 1_080_000_000)
    assert (second.idle_ns, second.span_ns) == (109_000_000, 111_000_000)
    table = view(capsys, ran)
    [note] = [line for line in table.splitlines() if line.startswith("Idle: ")]
    assert note.startswith("Idle: GPU 1 (NVIDIA H200) for 98.2 % of the time")


NO_SLICES = (
    "Note: there are no slices of lines: no line took 30 us, or --no-trace was given;"
    " idle time before launches is unattributed"
)


def test_idle_time_has_no_lines_without_slices(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    for flags, knobs in ((["--no-trace"], {}), ([], {"LINEPROF_TRACE": "no"})):
        ran = run(rig, CAUSES, *flags, **knobs)
        *_, note = view(capsys, ran, "--gpu-idle").splitlines()
        assert note == NO_SLICES
        [device] = idle_of(ran)
        assert device.unattributed == Causes(unknown=6_000_000)


def test_slices_that_had_no_room_are_said(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(rig, CAUSES)
    stats = ran.stats()
    [trace] = stats.gpu.slices
    full = replace(trace, left_out=7, full_ns=trace.origin_ns)
    stats.gpu = stats.gpu._replace(slices=(full,))
    stats.to_file(ran.folder / "program.lprof")
    *_, note = view(capsys, ran, "--gpu-idle").splitlines()
    assert note == (
        "Note: the memory of slices was full, 7 are missing: later idle time is"
        " unattributed; kernprof -l --trace --trace-memory MB keeps more"
    )
    [device] = idle_of(ran)
    assert device.unattributed == Causes(unknown=6_000_000)


def test_it_may_not_be_known_when_work_was_launched(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    """Profiles of older versions have no such column."""
    ran = run(rig, CAUSES)
    stats = ran.stats()
    [timeline] = stats.gpu.timelines
    batches = tuple(
        one._replace(columns=tuple(c for c in one.columns if c[0] != "launched"))
        for one in timeline.batches
    )
    stats.gpu = stats.gpu._replace(timelines=(replace(timeline, batches=batches),))
    stats.to_file(ran.folder / "program.lprof")
    *_, note = view(capsys, ran, "--gpu-idle").splitlines()
    assert note == (
        "Note: it is not known when work was launched, as in profiles of older"
        " versions: idle time has no causes"
    )
    [device] = idle_of(ran)
    assert device.unattributed == Causes(unknown=6_700_000)
    assert "Idle: " not in view(capsys, ran)


def test_a_profile_of_waits_alone_says_so(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run(rig, "@profile\ndef f():\n    gpu.fk_sync(1, 0, 40_000)\n\nf()\n")
    out = view(capsys, ran, "--gpu-idle")
    assert out == "No kernel, copy or memset was recorded\n"
