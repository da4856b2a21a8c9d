"""Tools of an item of the list: it runs programs, reads profiles and checks them.

An item is a module of items/ with a docstring, whose first line is the claim; NEEDS,
the frameworks without which the item is not run; and ``check(lab)``.  ALSO has the
frameworks that it uses if they are there, LIMIT_S the seconds that it may take, and
ALONE is true if it measures time or memory, so that others must not run meanwhile.

Programs of an item are texts; each runs in a process of its own for a limited time, so
that no program can end the list.  Programs use ``gpu`` and ``say`` of inside/raw.py.

Expected numbers are at the end of a line of a program::

    gpu.empty()  #> kernels=1

Words: kernels=NUMBER  memsets=NUMBER  alloc=BYTES  free=BYTES  HtoD=BYTES/NUMBER, or
another direction.  A line without an expectation must have none of these.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_double import TORCH, environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof import LineStats
    from lineprof.model.gpu import GpuNumbers, GpuRun
    from lineprof.model.timelines import GpuEvent

HERE = Path(__file__).resolve().parent
INSIDE = HERE / "inside"
KEPT = "kept"  # a folder of an item
LIMIT_S = 120  # of one program; reached only if a program hangs
SHORT_S = 60  # the same, of a program that imports no framework
SAY_S = 10  # for the traceback of a program that hangs
# Max characters, of either end of a text, and lines of what a failure shows.
SEEN, SEEN_LINES = 2000, 30
SMALLER = 100  # divisor of large numbers for the double
CRASHES = ("Fatal Python error", "GPU double", "free()", "corruption")
MARK = re.compile(r"#> ([^\"']+)$")

# In front of each program, on its first line: `profile` does nothing without kernprof.
PRELUDE = "try: profile\nexcept NameError: profile = lambda function: function\n"
PRELUDE += "from raw import clock, cupti, cupti_path, gpu, mapped, resident, say"
PRELUDE += ", threads, turns\n"

# A framework can be used if its program runs a kernel without an error.
PROBES = {
    "torch": """
import torch
assert torch.cuda.is_available(), "PyTorch sees no GPU"
assert torch.ones(3, device="cuda").sum().item() == 3
""",
    "cupy": """
import cupy
assert cupy.ones(3).sum().item() == 3
""",
    "jax": """
import jax
assert jax.default_backend() != "cpu", "JAX sees no GPU"
assert float(jax.numpy.ones(3).sum()) == 3
""",
    "numba": """
from numba import cuda
import numpy
numpy.row_stack = numpy.vstack  # numba-cuda 0.30 needs it, NumPy 2.5 lacks it
assert cuda.is_available(), "Numba sees no GPU"
@cuda.jit
def add(x):
    x[cuda.threadIdx.x] += 1
ones = numpy.ones(32, numpy.float32)
add[1, 32](ones)
assert ones.sum() == 64
""",
    "triton": """
import torch, triton, triton.language as tl
assert torch.cuda.is_available(), "PyTorch, which Triton needs, sees no GPU"
""",
    "tensorflow": """
import tensorflow
assert tensorflow.config.list_physical_devices("GPU"), "TensorFlow sees no GPU"
""",
}

ON_THE_DOUBLE = ("torch", "triton")  # can be used without a GPU

LACKS: dict[str, str] = {}  # why a framework can't be used; '' if it can


class NotRunError(Exception):
    """Exception of an item that can't be run here; the message says why."""


@dataclass(frozen=True)
class Ran:
    """Result of a program that has ended or was killed."""

    status: int | str  # a text if the program was killed
    out: str
    err: str
    text: str
    folder: Path
    command: str = ""
    seconds: float = 0.0

    @property
    def said(self) -> dict[str, Any]:
        """Figures that the program printed; later ones replace earlier ones."""
        found: dict[str, Any] = {}
        for line in self.out.splitlines():
            word, colon, rest = line.partition("said: ")
            if colon and not word:
                found.update(json.loads(rest))
        return found

    @property
    def gist(self) -> str:
        """Exit status and last line of the errors, in one line."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        crash = [line for line in lines if any(word in line for word in CRASHES)]
        if crash and not isinstance(self.status, str):
            frames = [line for line in lines if line.startswith("  File ")]
            lines = [" ".join(word.strip() for word in [*crash[:2], *frames[:1]])]
        if isinstance(self.status, str):  # the innermost frame of its traceback
            lines = [line for line in lines if line.startswith("  File ")][:1]
        return f"its status is {self.status}: {' '.join(lines[-1:]).strip()[-300:]}"

    @functools.cached_property
    def stats(self) -> LineStats:
        """Profile that the program wrote; FileNotFoundError if there is none."""
        from lineprof import LineStats  # noqa: PLC0415 - a dry run needs none

        if not (self.folder / "program.lprof").exists():
            raise FileNotFoundError(f"there is no profile; {self.gist}")
        return LineStats.from_files(self.folder / "program.lprof")

    @property
    def seen(self) -> dict[str, object]:
        """All that a reader of a failure has to know, in few words."""
        found: dict[str, object] = {
            "command": self.command,
            "status": self.status,
            "seconds": round(self.seconds, 2),
            "out": ends_of(self.out),
            "err": ends_of(self.err),
        }
        try:
            found["run"] = str(self.run)
            found["warnings"] = list(self.stats.warnings)
            found["unattributed"] = str(self.unattributed)
            source = self.text.splitlines()
            rows = [row for one in self.stats.functions for row in one.rows]
            found["times_ns"] = {
                source[row.line - 1].strip(): row.time_ns for row in rows[:SEEN_LINES]
            }
            found["lines"] = {
                source[number - 1].strip(): str(one)
                for number, one in list(self.lines().items())[:SEEN_LINES]
            }
        except Exception as error:  # noqa: BLE001 - not of the item
            found["profile"] = f"{type(error).__name__}: {error}"
        return found

    def lines(self, **chosen: Any) -> dict[int, GpuNumbers]:
        """Numbers by line, of all functions; `chosen` goes to numbers_of_lines()."""
        from lineprof.model.gpu import numbers_of_lines  # noqa: PLC0415

        found: dict[int, GpuNumbers] = {}
        for lines in numbers_of_lines(self.stats.gpu, **chosen).values():
            found.update(lines)
        return found

    def line(self, words: str, **chosen: Any) -> GpuNumbers:
        """Numbers of the only line of the program with these words; zeros if none."""
        from lineprof.model.gpu import GpuNumbers  # noqa: PLC0415

        return self.lines(**chosen).get(self.number(words), GpuNumbers())

    def number(self, words: str) -> int:
        """Number of the only line of the program with these words."""
        lines = enumerate(self.text.splitlines(), 1)
        [number] = [number for number, line in lines if words in line]
        return number

    def time_ns(self, words: str) -> int:
        """Time (not GPU time) of the only line with these words."""
        number = self.number(words)
        rows = [row for function in self.stats.functions for row in function.rows]
        return sum(row.time_ns for row in rows if row.line == number)

    def names(self, words: str, *kinds: str) -> dict[str, int]:
        """Names of records of these kinds, with counts on the line with these words."""
        gpu, number = self.stats.gpu, self.number(words)
        found: dict[str, int] = {}
        for one in gpu.sums:
            on = gpu.paths[one.path].lines if one.path >= 0 else ()
            if one.kind in kinds and number in {line for _, line in on}:
                found[one.name] = found.get(one.name, 0) + one.count
        return found

    def events(self, *kinds: str) -> list[GpuEvent]:
        """Records of these kinds, in the order of their start."""
        found = [e for timeline in self.stats.gpu.timelines for e in timeline]
        return [event for event in found if event.kind in kinds]

    @property
    def totals(self) -> GpuNumbers:
        """Numbers of all records."""
        from lineprof.model.gpu import totals  # noqa: PLC0415

        return totals(self.stats.gpu)

    @property
    def unattributed(self) -> GpuNumbers:
        """Numbers of unattributed work."""
        from lineprof.model.gpu import unattributed  # noqa: PLC0415

        return unattributed(self.stats.gpu)

    @property
    def run(self) -> GpuRun:
        """GPU run of the program; of several processes, that which is recorded."""
        runs = self.stats.gpu.runs
        [run] = [one for one in runs if one.backend == "cupti"] or runs[:1]
        return run


@dataclass(frozen=True)
class Command:
    """Program and its command, for Lab.in_turn().

    words: from alone() or profiled(); knobs: changes of the environment.
    """

    text: str
    words: Sequence[object]
    knobs: Mapping[str, object] = field(default_factory=dict)


class Program:
    """Program that was started; its output goes into files of its folder."""

    def __init__(
        self,
        words: Sequence[object],
        text: str,
        folder: Path,
        environment: dict[str, str],
        *,
        turns: bool,
    ) -> None:
        """Start it; turns: it takes turns, see turns() of raw.py."""
        self.text, self.folder = text, folder
        self.words = [str(word) for word in words]
        self.paths = [folder / name for name in ("out.txt", "err.txt")]
        self.begun = time.monotonic()
        self._reading = self._writing = -1  # its pipes, if it takes turns
        theirs: list[int] = []
        if turns:
            here, self._writing = os.pipe()
            self._reading, there = os.pipe()
            theirs = [here, there]
            environment = {**environment, "LAB_TURNS": f"{here} {there}"}
        try:
            with self.paths[0].open("wb") as out, self.paths[1].open("wb") as err:
                self.process = subprocess.Popen(
                    self.words,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    process_group=0,
                    pass_fds=theirs,
                )
        finally:
            for fd in theirs:
                os.close(fd)

    def wait_for_end_of_turn(self, ends: float) -> None:
        """Wait until the program has ended its turn, or has ended itself.

        ends: by the clock time.monotonic().
        """
        left = max(0.0, ends - time.monotonic())
        if self._writing >= 0:
            ready, _, _ = select.select([self._reading], [], [], left)
            if not (ready and os.read(self._reading, 1)):
                self.take_no_more_turns()

    def take_turn(self, ends: float) -> None:
        """Let the program have a turn, and wait for its end; nothing if it has none."""
        if self._writing >= 0:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._writing, b".")
            self.wait_for_end_of_turn(ends)

    def take_no_more_turns(self) -> None:
        """Have turns() of the program end."""
        for fd in (self._reading, self._writing):
            if fd >= 0:
                os.close(fd)
        self._reading = self._writing = -1

    def ended(self, limit_s: float) -> Ran:
        """Wait for the end for at most limit_s seconds, then kill all its processes."""
        try:
            status: int | str = self.process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            status = f"none after {limit_s:g} s"
            self.process.send_signal(signal.SIGABRT)  # Python prints a traceback
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=SAY_S)
        finally:
            self.kill()
        said, errors = [path.read_text("utf-8", "replace") for path in self.paths]
        return Ran(
            *(status, said, errors, self.text, self.folder),
            command=" ".join(self.words[1:]),
            seconds=time.monotonic() - self.begun,
        )

    def kill(self) -> None:
        """Kill the program and its processes, unless they have ended."""
        self.take_no_more_turns()
        end(self.process)


class Lab:
    """Folder, checks and figures of one item."""

    def __init__(self, folder: Path, doubles: Path | None = None) -> None:
        self.folder = folder
        self.runs = 0  # each in a folder of its own, the last one's is `here`
        self.here = folder
        self.doubles = doubles  # instead of a GPU
        self.torch = False  # on the doubles: PyTorch is used
        self.limit_s: float = LIMIT_S if doubles else SHORT_S  # of a program
        self.figures: dict[str, object] = {}
        self.wrong: list[str] = []
        self.checks = 0
        self.ran: list[Ran] = []

    # -- checks and figures --------------------------------------------------------

    def figure(self, **figures: object) -> None:
        """Add figures to the report."""
        self.figures.update(figures)

    def expect(self, holds: object, otherwise: str) -> bool:
        """Check a condition; the item continues, and fails if it is false."""
        self.checks += 1
        if not holds and otherwise not in self.wrong:
            self.wrong.append(otherwise)
        return bool(holds)

    def expect_computed(self, holds: object, otherwise: str) -> bool:
        """Check what kernels have computed: nothing, if they are the double's."""
        return self.expect(holds or self.doubles, otherwise)

    def expect_well(self, ran: Ran) -> bool:
        """Check that a program ended with status 0."""
        return self.expect(ran.status == 0, ran.gist)

    def need(self, *modules: str) -> None:
        """End the item as not run unless these frameworks can be used."""
        for module in modules:
            lack = self.lack(module)
            if lack:
                raise NotRunError(lack)

    def lack(self, module: str) -> str:
        """Return why a framework can't be used; '' if it can."""
        if module not in PROBES:
            raise KeyError(module)
        self.limit_s = LIMIT_S  # its programs import it
        if self.doubles:  # other frameworks would find no device
            able = module in ON_THE_DOUBLE and (self.doubles / TORCH).is_file()
            self.torch = self.torch or able
            return "" if able else f"{module} can't use the double"
        look_for([module])
        return LACKS[module]

    def compiled(self, name: str, *sources: Path) -> Path:
        """Compile a shared library in C; the item is not run without a compiler."""
        compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            raise NotRunError("there is no C compiler")
        library = self.folder / f"{name}.so"
        command = [*compiler.split(), "-std=gnu11", "-O2", "-shared", "-fPIC"]
        command += [*map(str, sources), "-o", str(library), "-ldl", "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotRunError(f"{name} can't be compiled: {done.stderr[-300:]}")
        return library

    def at_most(self, time: float) -> float:
        """Return a bound of time, wider with the double, whose machine is shared."""
        return 50 * time if self.doubles else time

    def many(self, number: int) -> int:
        """Return `number` for a device, a smaller number for the double."""
        return max(1, number // SMALLER) if self.doubles else number

    # -- programs ------------------------------------------------------------------

    def environment(self, **knobs: object) -> dict[str, str]:
        """Return the environment of a program; a knob with the value "" is removed."""
        found = dict(os.environ)
        if self.doubles:
            found = environment(self.doubles, torch=self.torch)
        paths = [str(INSIDE), *filter(None, [found.get("PYTHONPATH")])]
        found["PYTHONPATH"] = os.pathsep.join(paths)
        found["LINEPROF_GPU_FORCE"] = "1"  # item environment finds out if it is needed
        found["PYTHONFAULTHANDLER"] = "1"
        found["PYTHONDONTWRITEBYTECODE"] = "1"
        found["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        # PyTorch's pool of compilers can hang at the end of a program.
        found["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
        # Files that frameworks compile are in the item's folder.
        for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUPY_CACHE_DIR"):
            found[name] = str(self.folder / "cache")
        found.update({name: str(value) for name, value in knobs.items()})
        return {name: value for name, value in found.items() if value}

    def run(
        self,
        words: Sequence[object],
        text: str = "",
        *,
        limit_s: float = 0,
        **knobs: object,
    ) -> Ran:
        """Run a command for at most limit_s seconds, then kill all its processes.

        With 0 it is the usual limit of the item.
        """
        with self.started(words, text, knobs) as program:
            ran = program.ended(limit_s or self.limit_s)
        self.ran.append(ran)
        return ran

    @contextlib.contextmanager
    def started(
        self,
        words: Sequence[object],
        text: str,
        knobs: Mapping[str, object],
        *,
        turns: bool = False,
    ) -> Iterator[Program]:
        """Start a command in the current folder; it is killed at the block's end."""
        environment = self.environment(**knobs)
        program = Program(words, text, self.here, environment, turns=turns)
        try:
            yield program
        finally:
            program.kill()

    def in_turn(
        self,
        programs: Mapping[str, Command],
        rounds: int,
        limit_s: float = LIMIT_S,
        *,
        one_by_one: bool = False,
    ) -> dict[str, Ran]:
        """Run programs side by side, each in its turn; return the results by name.

        A program takes its turns with turns() of raw.py. None works while another has
        its turn, and all have one in each round, so that what changes with time, such
        as the clock rate of the device, is the same for all. The sequence is reversed
        in every other round. A program that fails has no more turns.

        one_by_one: each gets ready before the next one starts, because it chooses
        kernels by their time, or because the next one uses what it has compiled.
        """
        ends = time.monotonic() + limit_s
        with contextlib.ExitStack() as stack:
            started = {}
            for name, command in programs.items():
                text = self.write(command.text)
                program = self.started(command.words, text, command.knobs, turns=True)
                started[name] = stack.enter_context(program)
                if one_by_one:
                    started[name].wait_for_end_of_turn(ends)
            if not one_by_one:
                for one in started.values():
                    one.wait_for_end_of_turn(ends)
            for number in range(rounds):
                sequence = list(started.values())
                for one in sequence[::-1] if number % 2 else sequence:
                    one.take_turn(ends)
            for one in started.values():
                one.take_no_more_turns()
            ran = {
                name: one.ended(max(1.0, ends - time.monotonic()))
                for name, one in started.items()
            }
        self.ran += ran.values()
        return ran

    def keep(self, name: str, made: str | bytes) -> None:
        """Keep a file for the reader of the results, also if the item passes."""
        folder = self.folder / KEPT
        folder.mkdir(exist_ok=True)
        data = made.encode() if isinstance(made, str) else made
        (folder / name).write_bytes(data)

    def write(self, program: str) -> str:
        """Write program.py into a new folder; return its text."""
        text = PRELUDE + textwrap.dedent(program).lstrip("\n")
        (self.new_folder() / "program.py").write_text(text, encoding="utf-8")
        return text

    def new_folder(self) -> Path:
        """Make a new folder for the commands from now on, and return it."""
        self.runs += 1
        self.here = self.folder / str(self.runs)
        self.here.mkdir()
        return self.here

    def python(self, program: str, *arguments: object, **settings: Any) -> Ran:
        """Run a program alone; the settings go to run()."""
        text = self.write(program)
        return self.run(alone(*arguments), text, **settings)

    def kernprof(
        self,
        program: str,
        *arguments: object,
        options: Sequence[str] = ("-q",),
        **settings: Any,
    ) -> Ran:
        """Run a program under ``kernprof -l`` with these options."""
        text = self.write(program)
        return self.run(profiled(*arguments, options=options), text, **settings)

    @contextlib.contextmanager
    def beside(self, program: str) -> Iterator[None]:
        """Run a program as long as the block, which begins after the first output."""
        path = self.folder / "beside.py"
        text = PRELUDE + textwrap.dedent(program).lstrip("\n")
        path.write_text(text, encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, str(path)],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        try:
            assert process.stdout is not None
            self.expect(process.stdout.readline(), "the program beside it ended")
            yield
            self.expect(process.poll() is None, "the program beside it ended")
        finally:
            end(process)

    # -- checks of many items ------------------------------------------------------

    def expect_recorded(self, ran: Ran) -> bool:
        """Check that the backend records GPU work."""
        runs = ran.stats.gpu.runs
        why = runs[0].reason if runs else "there is no GPU"
        on = any(run.backend == "cupti" for run in runs)
        return self.expect(on, f"the GPU is not recorded: {why}")

    def expect_whole(self, ran: Ran) -> None:
        """Check that no record was lost, and that lines and footer sum to the total."""
        from lineprof.model.gpu import numbers_of_lines  # noqa: PLC0415

        if not self.expect_recorded(ran):
            return
        run = ran.run
        lost = (run.dropped, run.invalid, run.outstanding)
        self.expect(
            lost == (0, 0, 0),
            f"records that were dropped, have no times, are outstanding: {lost}",
        )
        parts = [ran.unattributed]
        for lines in numbers_of_lines(ran.stats.gpu, alone=True).values():
            parts += lines.values()
        for name in ("self_ns", "kernels", "memsets", "memcpy_ns", "memcpy_bytes"):
            whole, found = getattr(ran.totals, name), [getattr(p, name) for p in parts]
            self.expect(
                sum(found) == whole,
                f"lines and footer have {sum(found)} {name}, the device {whole}",
            )

    def idle_time(self, ran: Ran) -> dict[str, Any]:
        """Return ``view --gpu-idle --json``, with the devices that worked; {} if not.

        Busy and idle time have to add up to the span, and the rows to the idle time.
        """
        words = [sys.executable, "-m", "lineprof", "view", "--gpu-idle"]
        for more in ([], ["--json"]):  # the table is for a reader of a failure
            view = self.run([*words, *more, "program.lprof"], ran.text)
            if not self.expect_well(view):
                return {}
        made: dict[str, Any] = json.loads(view.out)
        made["devices"] = [one for one in made["devices"] if one["span_ns"]]
        [device] = made["devices"]
        busy = sum(one.busy_ns for one in ran.stats.gpu.devices)
        idle, parts = device["idle_ns"], sum(row["idle_ns"] for row in made["rows"])
        self.expect(
            idle == device["span_ns"] - busy,
            f"idle {idle} ns and busy {busy} ns of {device['span_ns']}",
        )
        self.expect(parts == idle, f"the rows sum to {parts} ns, the device has {idle}")
        return made

    def expect_marks(self, ran: Ran, unattributed: str = "", **chosen: Any) -> None:
        """Compare counts with the expectations in the program's lines.

        `unattributed` has the counts of unattributed work.
        """
        if not self.expect_recorded(ran):
            return
        known = marks(ran.text)
        found = {number: counts(one) for number, one in ran.lines(**chosen).items()}
        source = dict(enumerate(ran.text.splitlines(), 1))
        for number in sorted({*known, *found}):
            wanted, had = known.get(number, {}), found.get(number, {})
            line = source[number].partition("#>")[0].strip()
            what = f"{spelled(had)}, not {spelled(wanted)}"
            self.expect(had == wanted, f"`{line}` has {what}")
        had, wanted = counts(ran.unattributed), words_of(unattributed)
        what = f"{spelled(had)}, not {spelled(wanted)}"
        self.expect(had == wanted, f"no line has caused {what}")


def ends_of(text: str) -> str:
    """Return a text without what is in its middle, if it is long."""
    if len(text) <= 2 * SEEN:
        return text
    return f"{text[:SEEN]}\n[...]\n{text[-SEEN:]}"


def alone(*arguments: object) -> list[object]:
    """Return the command of a program with these arguments."""
    return [sys.executable, "program.py", *arguments]


def profiled(*arguments: object, options: Sequence[str] = ("-q",)) -> list[object]:
    """Return the command of a program under ``kernprof -l`` with these options."""
    kernprof = [sys.executable, "-m", "kernprof", "-l"]
    return [*kernprof, *options, "program.py", *arguments]


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its group, unless it has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def look_for(modules: Iterable[str]) -> None:
    """Find out at once which of these frameworks can be used; LACKS has the answers."""
    started = {
        module: subprocess.Popen(
            [sys.executable, "-c", PROBES[module]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
        )
        for module in modules
        if module not in LACKS
    }
    for module, process in started.items():
        try:
            _, errors = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            why = f"its first kernel takes over {LIMIT_S} s"
        else:
            last = [line for line in errors.splitlines() if line.strip()][-1:]
            why = " ".join(last)[:200] or str(process.returncode)
        good = process.returncode == 0
        LACKS[module] = "" if good else f"{module} can't be used: {why}"


def words_of(text: str) -> dict[str, str]:
    """Parse words like ``kernels=1 HtoD=64/1``."""
    words = dict(word.split("=") for word in text.split())
    return {name: value for name, value in words.items() if value != "0"}


def marks(text: str) -> dict[int, dict[str, str]]:
    """Return the expectations in the lines of a program."""
    found = ((n, MARK.search(line)) for n, line in enumerate(text.splitlines(), 1))
    return {number: words_of(match[1]) for number, match in found if match}


def counts(numbers: GpuNumbers) -> dict[str, str]:
    """Return the counts that expectations may name, as words."""
    words = {
        "kernels": numbers.kernels,
        "memsets": numbers.memsets,
        "alloc": numbers.alloc_bytes,
        "free": numbers.free_bytes,
    }
    found = {name: str(value) for name, value in words.items() if value}
    found.update({name: f"{size}/{n}" for name, n, _, size in numbers.copies})
    return found


def spelled(words: Mapping[str, str]) -> str:
    """Return words as written in a program."""
    return " ".join(f"{name}={value}" for name, value in words.items()) or "nothing"
