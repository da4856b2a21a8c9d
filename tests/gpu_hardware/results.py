"""Results of items in files: a line for each item as it ends, and merged records.

`--out FOLDER` has a file of lines, each a JSON object: first the machine, then the
items. It is complete as far as the run came. Beside it are tar files of what items
keep, such as the tables of a real program, and of the programs of those that failed.
`--merge` makes one record of several such folders, all of one machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab import KEPT
from verdicts import FAILED, NOT_RUN, PASSED, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

RECORDED = Path(__file__).resolve().parent / "recorded"
MAX_REASON = 1000  # max characters of a recorded reason
MAX_FILE, MAX_TAR = 1 << 20, 12 << 20  # bytes of what is kept
PACKAGES = (
    *("torch", "cupy", "jax", "numba", "numba-cuda", "triton", "tensorflow"),
    *("nvidia-cuda-cupti", "nvidia-cuda-runtime", "numpy"),
)
MACHINE = ("device", "driver", "date")  # what an origin must have
DRIVER = Path("/proc/driver/nvidia")  # tells the device where there is no nvidia-smi
FIELDS = {  # of a verdict, with their types
    **dict.fromkeys(("name", "what", "why"), str),
    "seconds": (int, float),
    "figures": dict,
    "seen": list,
}
AGAIN = "delete the line, or run its item again into a new folder"


class ResultsError(Exception):
    """Results that can't be used; the message has the cause and the remedy."""


def origin() -> dict[str, str]:
    """Return the device, the driver and versions of the machine."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(
            query, capture_output=True, text=True, check=True, timeout=60
        )
        device, _, driver = answer.stdout.splitlines()[0].partition(", ")
    except (OSError, subprocess.SubprocessError, IndexError):
        device = of_driver("gpus/*/information", r"Model:\s*(.+)")
        driver = of_driver("version", r"\bKernel Module.*?\s(\d+[.\d]+)\s")
    versions = {}
    for name in PACKAGES:
        versions.update(version_of(name))
    return {
        "device": device,
        "driver": driver,
        "cuda": cuda_of_driver(),
        "system": f"{platform.system()} {platform.machine()} {platform.release()}",
        "processors": str(os.cpu_count()),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **versions,
    }


def of_driver(files: str, pattern: str) -> str:
    """Return what a pattern finds first in files of the driver's kernel module."""
    for path in sorted(DRIVER.glob(files)):
        with contextlib.suppress(OSError):
            found = re.search(pattern, path.read_text("utf-8", "replace"))
            if found:
                return found[1].strip()
    return "unknown"


def cuda_of_driver() -> str:
    """Return the version of CUDA that the driver has, such as 13000."""
    version = ctypes.c_int()
    try:
        status = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except OSError:
        return "unknown"
    return str(version.value) if status == 0 else "unknown"


def version_of(name: str) -> dict[str, str]:
    """Return the version of an installed distribution by its name or name-cuda."""
    pattern = re.compile(rf"{name}(-cuda\d+x|-cu\d+)?")
    return dict([one for one in installed() if pattern.fullmatch(one[0])][:1])


@functools.cache
def installed() -> list[tuple[str, str]]:
    """Return the names and versions of all installed distributions, sorted."""
    from importlib.metadata import distributions  # noqa: PLC0415 - seldom needed

    found = {one.metadata["Name"] or "": one.version for one in distributions()}
    return sorted(found.items())


class Results:
    """Files in the folder of `--out`, which verdicts are added to."""

    def __init__(self, folder: Path, stem: str, where: dict[str, str]) -> None:
        self.lines = folder / f"{stem}.jsonl"
        self.failed = folder / f"{stem}.failed.tar"
        self.kept = folder / f"{stem}.kept.tar"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._end_whole()
            self._add({"origin": where})
        except OSError as error:
            why = f"{self.lines}: {error.strerror or error}"
            message = f"{why}; give --out a folder that can be written to"
            raise ResultsError(message) from error

    def add(self, verdict: Verdict, folder: Path | None) -> None:
        """Add a verdict; `folder` has the files of its item, if it was run.

        The list goes on if that fails: the verdicts are also printed.
        """
        try:
            self._add(asdict(verdict))
            if folder and verdict.seen:
                self._keep(self.failed, verdict.name, folder, "[0-9]*/*")
            if folder:
                self._keep(self.kept, verdict.name, folder, f"{KEPT}/*")
        except (OSError, tarfile.TarError) as error:
            why = f"{self.lines.parent}: the result of {verdict.name} is not kept whole"
            print(f"lineprof: {why}: {error}", file=sys.stderr, flush=True)

    def _end_whole(self) -> None:
        """Drop a line that was cut off, so that the next one is a line of its own."""
        if self.lines.exists():
            with self.lines.open("r+b") as file:
                file.truncate(file.read().rfind(b"\n") + 1)

    def _add(self, values: dict[str, Any]) -> None:
        with self.lines.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values, default=str) + "\n")
            file.flush()
            os.fsync(file.fileno())  # the machine may be gone the next moment

    def _keep(self, to: Path, name: str, folder: Path, pattern: str) -> None:
        for path in sorted(folder.glob(pattern)):
            if not path.is_file() or path.stat().st_size > MAX_FILE:
                continue
            if to.exists() and to.stat().st_size + MAX_FILE > MAX_TAR:
                return
            with tarfile.open(to, "a") as tar:
                tar.add(path, f"{name}/{path.relative_to(folder)}")


# -- read and merged ---------------------------------------------------------------


def merged(
    folders: list[Path], items: Collection[str]
) -> tuple[dict[str, str], list[Verdict]]:
    """Read the folders of `--out`; a later verdict replaces an earlier one.

    A verdict that an item was not run replaces none.  ResultsError if a folder has no
    results, a line has neither an origin nor the verdict of one of `items`, or the
    results are of several machines.
    """
    without = [str(folder) for folder in folders if not any(folder.glob("*.jsonl"))]
    if without:
        message = f"no results (*.jsonl) in {', '.join(without)}"
        raise ResultsError(f"{message}; give --merge the folders of --out")
    where: dict[str, str] = {}
    found: dict[str, Verdict] = {}
    files: dict[str, list[str]] = {}  # by machine
    for path in [path for folder in folders for path in sorted(folder.glob("*.jsonl"))]:
        known = False
        for place, values in lines_of(path):
            if isinstance(values, dict) and values.keys() == {"origin"}:
                known, where = True, {**where, **origin_of(values["origin"], place)}
                machine = "{device} with driver {driver}".format_map(where)
                files.setdefault(machine, []).append(str(path))
                continue
            one = verdict_of(values, place, items)
            if not known:
                message = f"{place}: no origin above the verdict"
                raise ResultsError(f"{message}; run the items again into a new folder")
            if one.what != NOT_RUN or one.name not in found:
                found[one.name] = one
    if len(files) > 1:
        of = [f"{one} ({', '.join(dict.fromkeys(files[one]))})" for one in files]
        message = f"results of different machines: {' and '.join(of)}"
        raise ResultsError(f"{message}; merge the folders of each machine alone")
    return where, list(found.values())


def lines_of(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the place and the value of each line of a file of JSON lines.

    A last line without an end is left out unless it is whole: the run was cut off.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        message = f"{path}: {error.strerror or error}; give --merge folders of --out"
        raise ResultsError(message) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                return
            not_text = isinstance(error, UnicodeDecodeError)
            what = "not text in UTF-8" if not_text else "not JSON"
            raise ResultsError(f"{path}:{number}: {what}; {AGAIN}") from error
        yield f"{path}:{number}", value


def origin_of(values: object, place: str) -> dict[str, str]:
    """Check the origin of a line."""
    if not isinstance(values, dict):
        raise ResultsError(f"{place}: the origin is not a JSON object; {AGAIN}")
    lacks = [name for name in MACHINE if not values.get(name)]
    if lacks:
        raise ResultsError(f"{place}: the origin lacks {', '.join(lacks)}; {AGAIN}")
    wrong = [name for name, value in values.items() if not isinstance(value, str)]
    if wrong:
        message = f"{place}: the origin's {', '.join(wrong)} is not text"
        raise ResultsError(f"{message}; {AGAIN}")
    return values


def verdict_of(values: object, place: str, items: Collection[str]) -> Verdict:
    """Check the verdict of a line."""
    if not isinstance(values, dict):
        message = f"{place}: neither an origin nor a verdict"
        raise ResultsError(f"{message}; {AGAIN}")
    lacks = [name for name in ("name", "what") if name not in values]
    unknown = [name for name in values if name not in FIELDS]
    wrong = [
        name
        for name, value in values.items()
        if name in FIELDS and not isinstance(value, FIELDS[name])
    ]
    for problem, names in (
        ("a verdict lacks", lacks),
        ("a verdict has no field", unknown),
        ("a verdict has a value of another type in", wrong),
    ):
        if names:
            raise ResultsError(f"{place}: {problem} {', '.join(names)}; {AGAIN}")
    one = Verdict(**values)
    if one.name not in items:
        message = f"{place}: no item is called {one.name!r}"
        raise ResultsError(f"{message}; --list has the items: {AGAIN}")
    if one.what not in (PASSED, FAILED, NOT_RUN):
        message = f"{place}: no verdict is called {one.what!r}, only"
        message = f"{message} {PASSED}, {FAILED} and {NOT_RUN}"
        raise ResultsError(f"{message}; {AGAIN}")
    return one


# -- recorded ----------------------------------------------------------------------


def record_of(where: dict[str, str], recorded: Path) -> Path:
    """Return the path of the record of a device and a day."""
    words = [where["device"], where["driver"], where["date"]]
    return recorded / f"{re.sub(r'[^a-z0-9.]+', '-', '-'.join(words).lower())}.json"


def recorded_items(path: Path) -> dict[str, dict[str, object]]:
    """Return the items of a record; none if there is no such file."""
    if not path.exists():
        return {}
    try:
        items = json.loads(path.read_text(encoding="utf-8"))["items"]
        return {str(name): {**one} for name, one in items.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        message = f"{path}: not a record of results"
        raise ResultsError(f"{message}; move the file away and try again") from None


def record(where: dict[str, str], verdicts: list[Verdict], recorded: Path) -> Path:
    """Write verdicts and their origin into the file of the device and the day."""
    path = record_of(where, recorded)
    items = {
        one.name: {"verdict": one.what, "why": one.why[:MAX_REASON], **one.figures}
        for one in verdicts
    }
    try:
        items = {**recorded_items(path), **items}  # the list may be run in parts
        text = json.dumps({"origin": where, "items": items}, indent=1)
        recorded.mkdir(exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.write_text(f"{text}\n", encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise ResultsError(
            f"{message}; give --into a folder that can be written to"
        ) from error
    return path
