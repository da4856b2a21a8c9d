"""Verdicts on items: each item is judged in a process of its own for a limited time."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import select
import signal
import time
import traceback
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from lab import PRELUDE, Lab, NotRunError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, ModuleType

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
LIMIT_S = 150  # of an item that has no LIMIT_S of its own
GRACE_S = 20  # for an item over its limit, to end its programs and to report
STALLED = "stalled.txt"  # the traceback of an item that does not report


@dataclass(frozen=True)
class Verdict:
    """Result of an item."""

    name: str
    what: str  # PASSED, FAILED or NOT_RUN
    why: str = ""
    seconds: float = 0.0
    figures: dict[str, object] = field(default_factory=dict)
    seen: list[dict[str, object]] = field(default_factory=list)  # if it failed

    def __str__(self) -> str:
        why = f": {self.why}" if self.why else ""
        lines = [f"{self.what:8}{self.name} ({self.seconds:.1f} s){why}"]
        lines += [f"{'':12}{name}: {value}" for name, value in self.figures.items()]
        return "\n".join(lines)


class OverLimitError(Exception):
    """Exception of an item that runs for longer than it may."""


def load(name: str) -> ModuleType:
    """Import an item and compile its programs; SyntaxError if one is invalid."""
    item = importlib.import_module(f"items.{name}")
    for word, value in vars(item).items():
        texts = value.values() if isinstance(value, dict) else [value]
        for text in texts if word.isupper() else ():
            if isinstance(text, str) and "\n" in text:
                compile(PRELUDE + text, f"{name}.{word}", "exec", dont_inherit=True)
    return item


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
        frames = traceback.extract_tb(error.__traceback__)
        last = [frame for frame in frames if is_of_item(frame)] or frames
        place = f"{Path(last[-1].filename).name}:{last[-1].lineno}"
        why = f"{type(error).__name__} in {place}: {error}"
    why = "; ".join(filter(None, [*lab.wrong, why]))
    seen = [ran.seen for ran in lab.ran] if what == FAILED else []
    return Verdict(name, what, why, time.monotonic() - begun, lab.figures, seen)


def is_of_item(frame: traceback.FrameSummary) -> bool:
    """Return whether a frame is of an item, not of a function that it calls."""
    return Path(frame.filename).parent.name in {"items", ""}


# -- in a process of its own -------------------------------------------------------


class Judging:
    """Item that is judged in a process of its own, which is killed if it hangs.

    `fd` can be read as soon as the verdict is there, or the process has ended.
    """

    def __init__(
        self, name: str, folder: Path, doubles: Path | None, within_s: float
    ) -> None:
        """Start the process; any exception of importing the item."""
        usual_s = getattr(load(name), "LIMIT_S", LIMIT_S)
        limit_s = min(usual_s, within_s)
        self.is_cut = within_s < usual_s
        self.name, self.folder = name, folder
        self.begun, self.most_s = time.monotonic(), limit_s + GRACE_S
        self.fd, theirs = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            os.close(self.fd)
            report(name, folder, doubles, limit_s, theirs)
        os.close(theirs)

    @property
    def left_s(self) -> float:
        """Seconds in which the process may still give its verdict; 0 if over."""
        return max(0.0, self.begun + self.most_s - time.monotonic())

    def verdict(self) -> Verdict:
        """Return the verdict once `fd` can be read or the time is over; end all."""
        ready, _, _ = select.select([self.fd], [], [], 0)
        try:
            with open(self.fd, encoding="utf-8", closefd=False) as file:
                text = file.read() if ready else ""
        finally:
            self.kill()
        if text:
            return self.unless_cut(Verdict(**json.loads(text)))
        why = f"the item gave no verdict within {self.most_s:.0f} s"
        if ready:
            why = "the item's process ended without a verdict"
        why += stalled(self.folder)
        verdict = Verdict(self.name, FAILED, why, time.monotonic() - self.begun)
        return verdict if ready else self.unless_cut(verdict)

    def unless_cut(self, verdict: Verdict) -> Verdict:
        """Return a verdict, or that the item was not run if its time was cut short."""
        over = verdict.why.startswith((OverLimitError.__name__, "the item gave no"))
        if not (self.is_cut and over):
            return verdict
        why = "the time of --within was over before it ended"
        return replace(verdict, what=NOT_RUN, why=why)

    def kill(self) -> None:
        """Kill the process and its programs; nothing if that was done."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            kill_session(self.child)
            os.waitpid(self.child, 0)


def report(
    name: str, folder: Path, doubles: Path | None, limit_s: float, to: int
) -> NoReturn:
    """Judge an item, write the verdict into a pipe and end this process."""
    try:
        os.setsid()
        with (folder / STALLED).open("w", encoding="utf-8") as file:
            faulthandler.dump_traceback_later(limit_s + GRACE_S / 2, file=file)
            with limited(limit_s):
                verdict = judge(name, folder, doubles)
            faulthandler.cancel_dump_traceback_later()
        with open(to, "w", encoding="utf-8") as pipe:
            json.dump(asdict(verdict), pipe, default=str)
    finally:
        os._exit(0)


@contextlib.contextmanager
def limited(limit_s: float) -> Iterator[None]:
    """Raise OverLimitError in the block when the time is over."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise OverLimitError(f"it runs for over {limit_s:g} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(limit_s, 0.1))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def kill_session(leader: int) -> None:
    """Kill all processes of a session, and the leader also before it is one."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(leader, signal.SIGKILL)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            session = int(stat.read_text("utf-8").rpartition(")")[2].split()[3])
            if session == leader:
                os.kill(int(stat.parent.name), signal.SIGKILL)


def stalled(folder: Path) -> str:
    """Return where an item that did not report was, as the end of a sentence."""
    try:
        text = (folder / STALLED).read_text("utf-8", "replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.startswith("  File ")]
    return f"; it was in {', '.join(lines[:3])}" if lines else ""
