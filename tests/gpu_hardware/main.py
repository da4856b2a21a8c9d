"""Tests of lineprof that need a GPU: a list of items, each with a verdict.

`make test-gpu` runs the list with an installed lineprof.  Each item is passed, failed
or not run, with a reason; the exit status is 1 if an item failed, 2 if the arguments or
the results to merge can't be used.  The list can be run in three parts, each of which
ends within eight minutes: with `--part 1 --out FOLDER` and so on, then
`--merge FOLDER...`.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "helpers")]

from lab import look_for  # noqa: E402
from results import (  # noqa: E402
    RECORDED,
    Results,
    ResultsError,
    merged,
    origin,
    record,
    record_of,
    recorded_items,
)
from verdicts import (  # noqa: E402
    FAILED,
    NOT_RUN,
    PASSED,
    Judging,
    Verdict,
    load,
)

TRIES, PAUSE_S = 50, 0.02  # to remove a folder

# In the order in which items run: the most basic first, the slowest last; of those that
# run side by side, the slowest early.
PARTS = {
    1: (  # by functions of the driver alone
        "environment",
        "quiet_attach",
        "records",
        "correlation",
        "subscribers",
        "endings",
        "attach_order",
        "late_attach",
        "clocks",
        "hardware_clock",
        "waiting",
        "overlap",
        "fork",
        "fork_exit",
        "line_sums",
        "spawned",
        "two_threads",
        "many_threads",
        "worker_threads",
        "graphs",
        "large_graph",
        "graph_nodes",
        "no_records",
        "streams_of_threads",
        "launches",
        "context_reset",
        "memory",
        "live_memory",
        "frees",
        "managed_memory",
        "kernel_names",
        "module_loading",
        "at_exit",
        "flush",
        "nvtx_ranges",
        "busy_neighbour",
        "gpu_idle",
        "stolen_callbacks",
        "other_cupti",
        "endless_kernel",
        "many_kernels",
        "thread_buffers",
        "graph_memory",
    ),
    2: (  # by frameworks
        "framework_libraries",
        "torch_calls",
        "torch_waiting",
        "torch_correlation",
        "torch_attach_order",
        "torch_autograd",
        "torch_threads",
        "torch_blocks",
        "torch_memory",
        "torch_loader",
        "torch_graphs",
        "torch_nvtx",
        "triton_kernel",
        "cupy_kernel",
        "numba_kernel",
        "jax_step",
        "framework_threads",
        "mixed",
        "beside_torch_profiler",
        "beside_proton",
        "torch_compiled",
        "workload_training",
        "workload_convolution",
        "workload_transformer",
        "workload_compiled",
        "workload_graph",
        "workload_streams",
        "workload_loader",
        "workload_jax",
        "workload_cupy",
        "workload_idle",
        "appearance",
    ),
    3: (  # overhead, other tools, and what takes long
        "launch_overhead",
        "torch_launches",
        "torch_overhead",
        "beside_nsys",
        "endurance",
    ),
}
ITEMS = tuple(name for names in PARTS.values() for name in names)
PART_S = 450  # within which a part ends
DOUBLES = ("fake_cuda", "fake_cupti", "fake_cupti_13_2", "fake_cupti_13_4")
REFUSED = 2  # exit status


def chosen(patterns: list[str], parts: list[int], raw: bool) -> list[str]:  # noqa: FBT001
    """Return the items whose names match these patterns; all without patterns.

    raw: only items without a framework.  ResultsError if there is none.
    """
    unknown = [one for one in patterns if not fnmatch.filter(ITEMS, one)]
    if unknown:
        raise ResultsError(f"no item is called {', '.join(unknown)}; --list has them")
    names = [name for part in parts or PARTS for name in PARTS[part]]
    wanted = [n for n in names if any(fnmatch.fnmatch(n, one) for one in patterns)]
    wanted = wanted if patterns else names
    wanted = [n for n in wanted if not (raw and needs_framework(n))]
    if not wanted:
        where = f" in part {' or '.join(map(str, parts))}" if parts else ""
        which = " without a framework" if raw else ""
        matches = f" matches {' or '.join(patterns)}" if patterns else ""
        raise ResultsError(f"no item{where}{which}{matches}; --list has the items")
    return wanted


def needs_framework(name: str) -> bool:
    """Return whether an item needs a framework, or one of several."""
    return bool(frameworks(name))


def frameworks(name: str) -> tuple[str, ...]:
    """Return the frameworks that an item uses; none if it can't be imported."""
    try:
        item = load(name)
    except Exception:  # noqa: BLE001 - its verdict says so
        return ()
    return (*item.NEEDS, *getattr(item, "ALSO", ()))


def run(
    names: list[str],
    doubles: Path | None,
    ends: float,
    jobs: int,
    results: Results | None,
) -> list[Verdict]:
    """Run items, `jobs` at a time; print and keep each verdict at once.

    Items that measure time or the device's memory run alone, after the others.  ends:
    by the clock time.monotonic().
    """
    alone = [name for name in names if jobs == 1 or is_alone(name)]
    verdicts: list[Verdict] = []
    with contextlib.closing(Pool(doubles, results)) as pool:
        for some, most in (([n for n in names if n not in alone], jobs), (alone, 1)):
            for name in some:
                while len(pool.running) >= most:
                    verdicts.append(pool.next())
                verdicts += pool.start(name, ends - time.monotonic())
            while pool.running:
                verdicts.append(pool.next())
    return verdicts


def is_alone(name: str) -> bool:
    """Return whether an item needs a device without the work of other items."""
    try:
        return getattr(load(name), "ALONE", False) is True
    except Exception:  # noqa: BLE001 - its verdict says so
        return False


class Pool:
    """Items that are being judged, each with a folder that is removed."""

    def __init__(self, doubles: Path | None, results: Results | None) -> None:
        self.doubles, self.results = doubles, results
        self.running: dict[Judging, contextlib.ExitStack] = {}

    def start(self, name: str, left_s: float) -> list[Verdict]:
        """Start to judge an item; return the verdict if there is one at once."""
        if left_s <= 0:
            why = "the time of --within was over"
            return [self.ended(Verdict(name, NOT_RUN, why), None)]
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(folder_of_item())
            try:
                judging = Judging(name, folder, self.doubles, left_s)
            except Exception as error:  # noqa: BLE001 - the list goes on
                why = f"{type(error).__name__}: {error}"
                return [self.ended(Verdict(name, FAILED, why), folder)]
            self.running[judging] = stack.pop_all()
        return []

    def next(self) -> Verdict:
        """Wait for the next verdict and return it."""
        least = min(one.left_s for one in self.running)
        ready, _, _ = select.select([one.fd for one in self.running], [], [], least)
        judging = min(self.running, key=lambda one: (one.fd not in ready, one.left_s))
        verdict = judging.verdict()
        with self.running.pop(judging):
            return self.ended(verdict, judging.folder)

    def ended(self, verdict: Verdict, folder: Path | None) -> Verdict:
        """Print a verdict, and keep it."""
        if self.results:
            self.results.add(verdict, folder)
        print(verdict, flush=True)
        return verdict

    def close(self) -> None:
        """Kill what still runs, because the list is ended."""
        while self.running:
            judging, stack = self.running.popitem()
            with stack:
                judging.kill()


@contextlib.contextmanager
def awake() -> Iterator[None]:
    """Keep the driver from shutting the device down between two programs.

    It does so where no daemon prevents it, and to start it again takes seconds.
    """
    text = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        stdin=subprocess.PIPE,  # closed also if this process is killed
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def folder_of_item() -> Iterator[Path]:
    """Give a folder that is removed, also if SIGTERM comes while it is."""
    folder = Path(tempfile.mkdtemp(prefix="lineprof-gpu-"))
    try:
        yield folder
    finally:
        usual: set[signal.Signals | int] = set()
        try:
            usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        finally:
            for _ in range(TRIES):  # a program that was killed may still write
                shutil.rmtree(folder, ignore_errors=True)
                if not folder.exists():
                    break
                time.sleep(PAUSE_S)
            signal.pthread_sigmask(signal.SIG_SETMASK, usual)


class Parser(argparse.ArgumentParser):
    """Parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end."""
        self.exit(REFUSED, f"lineprof: {message}; --help has the arguments\n")


def seconds(text: str) -> float:
    """Parse a number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not value > 0:  # nan is not
        message = f"{text!r} is not a number of seconds above 0"
        raise argparse.ArgumentTypeError(message)
    return value


def number(text: str) -> int:
    """Parse a number from 1 on."""
    if not (text.isascii() and text.isdigit() and int(text)):
        message = f"{text!r} is not a number from 1 on"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def read_words(argv: list[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line, checked, and the `names` of the items."""
    prog = "make test-gpu ARGS=..."
    parser = Parser(prog=prog, description=__doc__, allow_abbrev=False)
    add, place = parser.add_argument, RECORDED.relative_to(HERE.parent.parent)
    add("items", nargs="*", help="names or patterns like 'torch*'; all of them")
    add("--list", action="store_true", help="say what each item is; run nothing")
    add("--dry-run", action="store_true", help="import and compile all; run nothing")
    add(
        "--part",
        type=int,
        choices=PARTS,
        action="append",
        default=[],
        metavar="N",
        help="only items of part 1 (the driver alone), 2 (frameworks) or 3 (overhead, "
        "other tools and what takes long); can be given several times",
    )
    add("--raw", action="store_true", help="only items that need no framework")
    add(
        "--jobs",
        type=number,
        default=1,
        metavar="N",
        help="run N items at a time, but for those that measure time or memory",
    )
    add("--within", type=seconds, metavar="S", help=f"end after S s; a part: {PART_S}")
    add("--out", type=Path, metavar="FOLDER", help="add a line for each item to there")
    add(
        "--merge",
        type=Path,
        nargs="+",
        action="extend",
        metavar="FOLDER",
        help=f"record the results of folders of --out, of one machine, in {place}",
    )
    add("--record", action="store_true", help=f"write the figures to {place}")
    add(
        "--into",
        type=Path,
        default=RECORDED,
        metavar="FOLDER",
        help=f"where --merge and --record write to instead of {place}",
    )
    add(
        "--cupti",
        action="append",
        default=[],
        metavar="FILE",
        help="another libcupti, or a wheel of it, for the items other_cupti and "
        "subscribers; can be given several times",
    )
    add(
        "--double",
        type=Path,
        metavar="FOLDER",
        help="without a GPU, with the tests' doubles of its libraries in FOLDER, such "
        "as build/native/doubles after make demo-gpu-double",
    )
    words = parser.parse_args(argv)
    words.part = sorted({*words.part})
    try:
        words.names = [] if words.merge else chosen(words.items, words.part, words.raw)
        check(words)
    except (ResultsError, OSError) as error:
        parser.exit(REFUSED, f"lineprof: {error}\n")
    return words


def check(words: argparse.Namespace) -> None:
    """Check what goes together on the command line, and its files and folders."""
    alone = {"merge", "into", "names"}
    given = {**vars(words), "jobs": words.jobs > 1}
    more = [name for name, value in given.items() if value and name not in alone]
    if words.merge and more:
        options = ["ITEM" if one == "items" else f"--{one}" for one in more]
        named = ", ".join(options).replace("_", "-")
        message = f"--merge and {named}: --merge takes --into alone"
        raise ResultsError(f"{message}; run what else there is apart")
    if words.double:
        names = [f"{name}.so" for name in DOUBLES]
        lacks = [name for name in names if not (words.double / name).is_file()]
        if lacks:
            message = f"--double {words.double}: no {', '.join(lacks)} there"
            built = "make demo-gpu-double builds them in build/native/doubles"
            raise ResultsError(f"{message}; {built}")
    for name in words.cupti:
        if not Path(name).is_file():
            raise ResultsError(f"--cupti {name}: no such file; name a libcupti")
    if words.out:
        there = next(path for path in (words.out, *words.out.parents) if path.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            message = f"--out {words.out}: {there} is not a folder that can be written"
            raise ResultsError(f"{message} to; give another")
    if words.merge or words.record:
        place = words.into if words.into.exists() else words.into.parent
        if not place.is_dir():
            message = f"--into {words.into}: {place} is not a folder"
            raise ResultsError(f"{message}; give another, or make it first")


def merge(folders: list[Path], into: Path) -> int:
    """Record the results of several folders; return the exit status."""
    where, verdicts = merged(folders, ITEMS)
    if not verdicts:
        message = f"no results in {', '.join(map(str, folders))}"
        raise ResultsError(f"{message}: the runs were cut off before an item ended")
    path = record(where, verdicts, into)
    print(summary(verdicts))
    missing = [name for name in ITEMS if name not in {one.name for one in verdicts}]
    if missing:
        print(f"no result of {', '.join(missing)}")
    print(f"recorded in {path}")
    return 1 if any(one.what == FAILED for one in verdicts) else 0


def summary(verdicts: list[Verdict]) -> str:
    """Return how many items passed, failed and were not run."""
    return ", ".join(
        f"{sum(one.what == what for one in verdicts)} {what}"
        for what in (PASSED, FAILED, NOT_RUN)
    )


def handle_signals() -> None:
    """Let programs have the usual signal handlers, and SIGTERM end the item under way.

    A background job is started with SIGINT ignored, one under nohup with SIGHUP; so
    would the programs be. A handler becomes the default one again after exec.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
        elif number == signal.SIGTERM:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def run_list(words: argparse.Namespace) -> int:
    """Run the items, print and keep their verdicts; return the exit status."""
    doubles = words.double.resolve() if words.double else None
    os.environ["LINEPROF_LAB_CUPTI"] = os.pathsep.join(words.cupti)
    where = origin()
    if doubles:
        print("with the tests' double, without a GPU")
        where["device"] = "double"
    else:
        print(", ".join(f"{name} {value}" for name, value in where.items()))
    records = words.record and not doubles
    if records:
        recorded_items(record_of(where, words.into))  # before the run: can it be read?
    # A program that crashes or is killed leaves no core file.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    handle_signals()
    begun = time.monotonic()
    stem = "-".join(["part", *map(str, words.part)]) if words.part else "items"
    results = Results(words.out, stem, where) if words.out else None
    within = words.within or (PART_S * len(words.part) if words.part else 1e9)
    if not doubles:  # in this process, from which those of the items inherit it
        look_for(sorted({one for name in words.names for one in frameworks(name)}))
    verdicts = run(words.names, doubles, begun + within, words.jobs, results)
    print(f"{summary(verdicts)} in {time.monotonic() - begun:.0f} s")
    if records:
        print(f"recorded in {record(where, verdicts, words.into)}")
    return 1 if any(one.what == FAILED for one in verdicts) else 0


def main() -> int:
    """Run, list or merge the items; return the exit status."""
    words = read_words()
    if words.list or words.dry_run:
        for name in words.names:
            item = load(name)
            needs = f" [{', '.join(item.NEEDS)}]" if item.NEEDS else ""
            print(f"{name}: {(item.__doc__ or '').partition(chr(10))[0]}{needs}")
        return 0
    try:
        if words.merge:
            return merge(words.merge, words.into)
        with contextlib.nullcontext() if words.double else awake():
            return run_list(words)
    except ResultsError as error:
        print(f"lineprof: {error}", file=sys.stderr)
        return REFUSED


if __name__ == "__main__":
    sys.exit(main())
