"""Tests of lineprof that need a GPU: a list of items, each with a verdict.

`make test-gpu` runs the list with an installed lineprof.  Each item is passed, failed
or not run, with a reason; the exit status is 1 if an item failed.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "helpers")]

from lab import PRELUDE, Lab, NotRunError  # noqa: E402

if TYPE_CHECKING:
    from types import ModuleType

# In the order in which items run: the most basic first.
ITEMS = (
    "environment",
    "quiet_attach",
    "records",
    "correlation",
    "attach_order",
    "clocks",
    "waiting",
    "overlap",
    "fork",
    "spawned",
    "two_threads",
    "many_threads",
    "worker_threads",
    "graphs",
    "memory",
    "managed_memory",
    "kernel_names",
    "endings",
    "at_exit",
    "flush",
    "many_kernels",
    "nvtx_ranges",
    "busy_neighbour",
    "launch_overhead",
    "torch_records",
    "torch_calls",
    "torch_waiting",
    "torch_autograd",
    "torch_loader",
    "torch_graphs",
    "torch_compiled",
    "torch_overhead",
    "triton_kernel",
    "cupy_kernel",
    "numba_kernel",
    "jax_step",
    "framework_threads",
    "mixed",
    "beside_torch_profiler",
    "beside_proton",
    "beside_nsys",
)
RECORDED = HERE / "recorded"
FOLDER = "tests/gpu_hardware/recorded"
MAX_REASON = 1000  # max characters of a recorded reason
PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


@dataclass(frozen=True)
class Verdict:
    """Result of an item."""

    name: str
    what: str  # PASSED, FAILED or NOT_RUN
    why: str = ""
    seconds: float = 0.0
    figures: dict[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        why = f": {self.why}" if self.why else ""
        lines = [f"{self.what:8}{self.name} ({self.seconds:.1f} s){why}"]
        lines += [f"{'':12}{name}: {value}" for name, value in self.figures.items()]
        return "\n".join(lines)


def load(name: str) -> ModuleType:
    """Import an item and compile its programs; SyntaxError if one is invalid."""
    item = importlib.import_module(f"items.{name}")
    for word, value in vars(item).items():
        texts = value.values() if isinstance(value, dict) else [value]
        for text in texts if word.isupper() else ():
            if isinstance(text, str) and "\n" in text:
                compile(PRELUDE + text, f"{name}.{word}", "exec", dont_inherit=True)
    return item


def gist(item: ModuleType) -> str:
    """Return the claim of an item, one line."""
    return (item.__doc__ or "").partition("\n")[0]


def judge(name: str, folder: Path, doubles: Path | None) -> Verdict:
    """Run an item and return its verdict; exceptions of the item make it fail."""
    begun = time.monotonic()
    lab = Lab(folder, doubles)
    what, why = FAILED, ""
    try:
        item = load(name)
        lab.need(*item.NEEDS)
        item.check(lab)
        lab.expect(lab.checks, "nothing was checked")
        what = FAILED if lab.wrong else PASSED
    except NotRunError as error:
        # An item that failed a check before this exception has failed.
        what, why = (FAILED if lab.wrong else NOT_RUN), str(error)
    except Exception as error:  # noqa: BLE001 - the list goes on
        [*_, last] = traceback.extract_tb(error.__traceback__)
        place = f"{Path(last.filename).name}:{last.lineno}"
        why = f"{type(error).__name__} in {place}: {error}"
    why = "; ".join(filter(None, [*lab.wrong, why]))
    return Verdict(name, what, why, time.monotonic() - begun, lab.figures)


def chosen(patterns: list[str]) -> list[str]:
    """Return the items whose names match these patterns; all without patterns."""
    unknown = [one for one in patterns if not fnmatch.filter(ITEMS, one)]
    if unknown:
        sys.exit(f"lineprof: no item is called {', '.join(unknown)}; --list has them")
    wanted = [n for n in ITEMS if any(fnmatch.fnmatch(n, one) for one in patterns)]
    return wanted or list(ITEMS)


def run(names: list[str], doubles: Path | None, within_s: float) -> list[Verdict]:
    """Run items in sequence and print each verdict at once."""
    begun = time.monotonic()
    verdicts = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="lineprof-gpu-") as folder:
            if time.monotonic() - begun < within_s:
                verdict = judge(name, Path(folder), doubles)
            else:
                verdict = Verdict(name, NOT_RUN, "the time of --within was over")
        print(verdict, flush=True)
        verdicts.append(verdict)
    return verdicts


def origin() -> dict[str, str]:
    """Return the device, the driver and versions of the machine."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True)
        device, _, driver = answer.stdout.splitlines()[0].partition(", ")
    except (OSError, subprocess.SubprocessError, IndexError):
        device, driver = "unknown", "unknown"
    versions = {}
    for name in ("torch", "cupy", "jax", "numba", "numba-cuda", "triton", "tensorflow"):
        versions.update(version_of(name))
    return {
        "device": device,
        "driver": driver,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **versions,
    }


def version_of(name: str) -> dict[str, str]:
    """Return the version of an installed distribution by its name or name-cuda."""
    from importlib.metadata import distributions  # noqa: PLC0415 - seldom needed

    found = {
        one.metadata["Name"]: one.version
        for one in distributions()
        if re.fullmatch(rf"{name}(-cuda\d+x)?", one.metadata["Name"] or "")
    }
    return dict(sorted(found.items())[:1])


def record(verdicts: list[Verdict]) -> Path:
    """Write verdicts and their origin into the file of the device and the day."""
    where = origin()
    words = [where["device"], where["driver"], where["date"]]
    name = re.sub(r"[^a-z0-9.]+", "-", "-".join(words).lower())
    items = {
        one.name: {"verdict": one.what, "why": one.why[:MAX_REASON], **one.figures}
        for one in verdicts
    }
    RECORDED.mkdir(exist_ok=True)
    path = RECORDED / f"{name}.json"
    if path.exists():  # the list may be run in parts
        items = {**json.loads(path.read_text(encoding="utf-8"))["items"], **items}
    text = json.dumps({"origin": where, "items": items}, indent=1, ensure_ascii=True)
    path.write_text(f"{text}\n", encoding="utf-8")
    return path


def read_words() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="make test-gpu ARGS=...", description=__doc__)
    add = parser.add_argument
    add("items", nargs="*", help="names or patterns like 'torch*'; all of them")
    add("--list", action="store_true", help="say what each item is; run nothing")
    add("--dry-run", action="store_true", help="import and compile all; run nothing")
    add("--record", action="store_true", help=f"write the figures to {FOLDER}")
    add("--within", type=float, default=1e9, metavar="S", help="begin none after S s")
    add("--double", type=Path, metavar="FOLDER", help="with the doubles of there")
    return parser.parse_args()


def main() -> int:
    """Run or list the items; return the exit status."""
    words = read_words()
    names = chosen(words.items)
    if words.list or words.dry_run:
        for name in names:
            item = load(name)
            needs = f" [{', '.join(item.NEEDS)}]" if item.NEEDS else ""
            print(f"{name}: {gist(item)}{needs}")
        return 0
    doubles = words.double.resolve() if words.double else None
    if doubles:
        print("with the tests' double, without a GPU")
    else:
        print(", ".join(f"{name} {value}" for name, value in origin().items()))
    # A program that crashes or is killed leaves no core file.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    begun = time.monotonic()
    verdicts = run(names, doubles, words.within)
    numbers = {
        what: sum(one.what == what for one in verdicts)
        for what in (PASSED, FAILED, NOT_RUN)
    }
    said = ", ".join(f"{number} {what}" for what, number in numbers.items())
    print(f"{said} in {time.monotonic() - begun:.0f} s")
    if words.record and not doubles:
        print(f"recorded in {record(verdicts).relative_to(HERE.parent.parent)}")
    return 1 if numbers[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main())
