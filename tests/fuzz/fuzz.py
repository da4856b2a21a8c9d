"""The fuzzer: damaged and hostile profiles, each through views and exports.

Cases come from `random` in the standard library, by the fuzzer's seed and the number of
the case, and from earlier cases that reached lines of lineprof that no case before had
reached (Python 3.12 and later). Workers read the files, in processes of their own.

Hypothesis and Atheris are not used. A case has to be plain data that another process
runs, because it may kill that process: then neither could go on, or make it smaller.
Atheris also needs clang and comes late for a new Python; the coverage for which one
would take it costs next to nothing by sys.monitoring.

usage: fuzz.py SECONDS SEED FOLDER
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz_cases import Case, file_of, random_case
from fuzz_checks import CANARY
from fuzz_seeds import seed_file
from fuzz_worker import make_places

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

ANSWER_S = 240.0  # for one case, on a busy machine
CASES_A_LIFE = 3000  # then a worker is replaced
MAX_POOL = 400
KEPT = 3  # files of one finding
PROGRESS_S = 60.0
SCRIPT = Path(__file__).with_name("fuzz_worker.py")
SECRET = "LINEPROF_FUZZ_SECRET"  # noqa: S105 - a variable, for /proc/self/environ

Finding = dict[str, Any]  # what, command, detail


class WorkerProcess:
    """A process that answers cases; it starts when needed. A context manager."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="lineprof-fuzz-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._answers = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, case: Case, chance: str | None = None) -> dict[str, Any]:
        """Return the worker's answer; its death is a finding.

        Without commands in the case, those of the seed `chance` are run.
        """
        process = self._started()
        assert process.stdin is not None
        request = {**case._asdict(), "chance": chance}
        answer = b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            answer = self._line(process)
        if answer:
            self._answers += 1
            found: dict[str, Any] = json.loads(answer)
            if any("MemoryError" in one["what"] for one in found["found"]):
                self._stop()  # much of its memory may be in use
            return found
        if process.poll() is None and process.returncode is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1)
        why = self._death(process)
        self._stop()
        return {
            "loaded": False,
            "views": 0,
            "exports": 0,
            "new_lines": 0,
            "found": [{"what": why, "command": self._now(), "detail": ""}],
        }

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        """Return the answer; nothing if the process ends, or takes too long."""
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], ANSWER_S)
        return process.stdout.readline() if ready else b""

    def _death(self, process: subprocess.Popen[bytes]) -> str:
        if process.returncode is None:
            return f"a command gives no answer in {ANSWER_S:g} s"
        if process.returncode < 0:
            return f"the process dies of {signal.Signals(-process.returncode).name}"
        return f"the process exits with status {process.returncode}"

    def _now(self) -> Any:
        """Return the command that ran when the process died."""
        text = ""
        with contextlib.suppress(FileNotFoundError):  # it died at its start
            text = (self._folder / "work" / "now").read_text(encoding="utf-8")
        return json.loads(text) if text.strip() else []

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process and self._answers == CASES_A_LIFE:
            self._stop()
        if not self._process:
            work = self._folder / "work"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            variables = ("COLUMNS", "TERM", "FORCE_COLOR", "NO_COLOR")
            kept = {k: v for k, v in os.environ.items() if k not in variables}
            self._answers = 0
            self._process = subprocess.Popen(
                [sys.executable, SCRIPT, work],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={
                    **kept,
                    SECRET: CANARY,
                    "TMPDIR": str(work),
                    "PYTHONPATH": os.pathsep.join(sys.path),
                },
            )
        return self._process

    def _stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None


def smaller(worker: WorkerProcess, case: Case, finding: Finding) -> Case:
    """Return the case with the changes that the finding needs."""
    for change in case.changes:
        others = tuple(one for one in case.changes if one is not change)
        without = case._replace(changes=others)
        if _shows(worker, without, finding):
            case = without
    return case


def _shows(worker: WorkerProcess, case: Case, finding: Finding) -> bool:
    found = worker.run(case)["found"]
    return any(one["what"] == finding["what"] for one in found)


def json_of(case: Case, what: str) -> str:
    """Return the case as a file of the corpus has it."""
    data = {"shows": what, **case._asdict()}
    return json.dumps(data, indent=1, ensure_ascii=True) + "\n"


@dataclass
class Run:
    """The numbers of a run, and its findings so far."""

    seed: str
    folder: Path
    end: float
    count: int = 0
    numbers: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    pool: list[Case] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Make the files that cases and commands name."""
        self.places = make_places(self.folder)
        self.other = self.folder / "other.lprof"
        self.other.write_bytes(seed_file("calls"))

    def cases(self) -> Iterator[tuple[int, Case]]:
        """Yield cases with their numbers, until the time is over."""
        while time.monotonic() < self.end:
            with self.lock:
                self.count += 1
                number = self.count
                chance = random.Random(f"{self.seed}:{number}")  # noqa: S311
                case = random_case(chance, self.pool)
            yield number, case

    def work(self) -> None:
        """Run cases in a worker of this thread."""
        with WorkerProcess() as worker:
            for number, case in self.cases():
                answer = worker.run(case, f"{self.seed}:{number}:commands")
                self._add(case, answer)
                for finding in answer["found"]:
                    self._keep(worker, case, finding)

    def _add(self, case: Case, answer: dict[str, Any]) -> None:
        with self.lock:
            self.numbers["loaded" if answer["loaded"] else "refused"] += 1
            for name in ("views", "exports", "new_lines"):
                self.numbers[name] += answer[name]
            if answer["new_lines"] and (answer["loaded"] or len(self.pool) % 4 == 0):
                self.pool.append(case)
                del self.pool[:-MAX_POOL]

    def _keep(self, worker: WorkerProcess, case: Case, finding: Finding) -> None:
        """Write the file and the case of a finding, unless there are several."""
        what = finding["what"]
        with self.lock:
            self.findings[what] += 1
            number = self.findings[what]
            kind = [*self.findings].index(what) + 1
        if number > KEPT:
            return
        case = case._replace(commands=(finding["command"],))
        is_sure = _shows(worker, case, finding)
        if is_sure:
            case = smaller(worker, case, finding)
        stem = self.folder / f"{kind:03}-{number}"
        data = file_of(case, self.places)
        stem.with_suffix(".lprof").write_bytes(data)
        stem.with_suffix(".json").write_text(json_of(case, what), encoding="utf-8")
        if finding["detail"]:
            stem.with_suffix(".txt").write_text(finding["detail"], "utf-8", "replace")
        words = [*finding["command"]]
        is_terminal = bool(words) and words[0].startswith("COLUMNS=")
        words[is_terminal:is_terminal] = ["python", "-m", "lineprof"]
        shown = " ".join(map(shlex.quote, words))
        for name, file in (("FILE", stem.with_suffix(".lprof")), ("OTHER", self.other)):
            shown = shown.replace(name, str(file))
        once = "" if is_sure else " (only once: not in a second run)"
        print(f"{what}{once}\n    {shown}", flush=True)

    def summary(self) -> str:
        """Return the numbers in one line."""
        n = self.numbers
        return (
            f"{n['loaded'] + n['refused']:,} files: {n['loaded']:,} loaded,"
            f" {n['refused']:,} refused; {n['views']:,} views,"
            f" {n['exports']:,} exports;"
            f" {len(self.findings)} findings ({self.findings.total():,} times)"
        )


def main() -> int:
    """Run for a time; return 1 if something was found."""
    seconds, seed, folder = float(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run = Run(seed, folder, time.monotonic() + seconds)
    count = min(len(os.sched_getaffinity(0)) if sys.platform == "linux" else 2, 8)
    print(f"{count} workers for {seconds:g} s, seed {seed}; findings go to {folder}")
    threads = [threading.Thread(target=run.work) for _ in range(count)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        try:
            for thread in threads:
                thread.join(PROGRESS_S / count)
        except KeyboardInterrupt:
            run.end = 0.0
        print(run.summary(), flush=True)
    for what, times in run.findings.most_common():
        print(f"{times:6,} times: {what}")
    return 1 if run.findings else 0


if __name__ == "__main__":
    sys.exit(main())
