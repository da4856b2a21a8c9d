"""Results of test runs, and their report."""

from __future__ import annotations

import contextlib
import re
import threading
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from tools.dev.envs import replay, without_hosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

PRINTING = threading.Lock()
PROGRESS_S = 5
LAST_LINES = 5  # of the log of a check that says nowhere what failed
AGAIN = 2  # how often a failed test that is marked `timing` has to pass then


@dataclass(frozen=True)
class Failure:
    """A failed test."""

    name: str
    message: str  # the head of it
    timed: str = ""  # pytest's id, if the test is marked `timing`
    suspicion: str = ""  # of the mark: why such a test may fail by luck


@dataclass(frozen=True)
class Result:
    """Counts of one run of some tests."""

    name: str
    log: Path
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    reasons: tuple[str, ...] = ()  # one for each skipped test
    failures: tuple[Failure, ...] = ()
    unstable: tuple[str, ...] = ()  # failed once, then passed


def say(line: str) -> None:
    """Print a line at once."""
    with PRINTING:
        print(line, flush=True)


class Progress:
    """What goes on in a block, printed in one line every few seconds."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._doing: dict[str, Callable[[], str]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._print, daemon=True)

    @contextlib.contextmanager
    def doing(self, what: str, state: Callable[[], str] = lambda: "") -> Iterator[None]:
        """Tell of something, and of its state, while the block runs."""
        with self._lock:
            self._doing[what] = state
        try:
            yield
        finally:
            with self._lock:
                del self._doing[what]

    def _print(self) -> None:
        while not self._ended.wait(PROGRESS_S):
            with self._lock:
                doing = list(self._doing.items())
            texts = [f"{what} {state()}".strip() for what, state in doing]
            if texts:
                say(f"{time.monotonic() - self._began:6.0f} s: {'; '.join(texts)}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def progress(log: Path) -> str:
    """Return the progress of the run of pytest that writes a log."""
    try:
        shares = re.findall(r"\[ *(\d+%)\]", log.read_text(errors="replace"))
    except OSError:
        shares = []
    return str(shares[-1]) if shares else "0%"


def read_report(result: Result, report: Path, status: int) -> Result:
    """Add the counts of a JUnit report, and the runner's exit status, to a result.

    If a runner fails without a failed test, or runs no tests, that counts as one
    failure.
    """
    try:
        cases = list(ET.parse(report).getroot().iter("testcase"))  # noqa: S314 - our own file
    except (OSError, ET.ParseError):
        cases = []
    failures = []
    reasons = []
    for case in cases:
        tags = {child.tag: child for child in case}
        wrong = tags.get("failure", tags.get("error"))
        if wrong is not None:
            failures.append(failure(case, wrong))
        elif "skipped" in tags:
            reasons.append(tags["skipped"].get("message", ""))
    failed = len(failures)
    passed = len(cases) - failed - len(reasons)
    name = result.name
    if not failed and (status or not cases):
        failed = 1
        name += f": exit status {status} with {len(cases)} tests reported"
    return replace(
        result,
        name=name,
        passed=passed,
        failed=failed,
        skipped=len(reasons),
        reasons=tuple(reasons),
        failures=tuple(failures),
    )


def failure(case: ET.Element, wrong: ET.Element) -> Failure:
    """Return the failure of a test, from its case in a report."""
    properties = {p.get("name"): p.get("value", "") for p in case.iter("property")}
    return Failure(
        name=f"{case.get('classname')}::{case.get('name')}",
        message=wrong.get("message", "").partition("\n")[0][:300],
        timed=properties.get("timing test", ""),
        suspicion=properties.get("suspicion", ""),
    )


def again(result: Result, passes: Callable[[str], bool]) -> Result:
    """Return a result after its failed tests that are marked `timing` ran again.

    `passes` runs a test, by its id. One that passes each time is unstable, not failed.
    """
    unstable = [
        one
        for one in result.failures
        if one.timed and all(passes(one.timed) for _ in range(AGAIN))
    ]
    return replace(
        result,
        passed=result.passed + len(unstable),
        failed=result.failed - len(unstable),
        failures=tuple(one for one in result.failures if one not in unstable),
        unstable=tuple(f"{one.name}: {one.suspicion}" for one in unstable),
    )


def tell(result: Result, seconds: float) -> Result:
    """Print a result, after its whole log if something failed; return it."""
    with PRINTING:
        if result.failed:
            replay(result.log)
        counts = f"{result.passed} passed, {result.failed} failed"
        if result.skipped:
            counts += f", {result.skipped} skipped"
        print(f"{result.name}: {counts} in {seconds:.0f} s", flush=True)
    return result


def _why(result: Result) -> list[str]:
    """Return the failed tests of a result, or what the log of a check says of it."""
    if result.failures or not result.log.exists():
        return [f"{one.name}: {one.message}" for one in result.failures]
    text = without_hosts(result.log.read_text(encoding="utf-8", errors="replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [line for line in lines if "FAILED" in line] or lines[-LAST_LINES:]


def close(results: Sequence[Result]) -> int:
    """Print the reasons of skipped tests and the totals; return the exit status."""
    reasons = Counter(reason for result in results for reason in result.reasons)
    for reason, times in reasons.most_common():
        print(f"skipped {times} times: {reason}")
    for result in results:
        if result.failed:
            print(f"FAILED {result.name}; log: {result.log}")
            for line in _why(result):
                print(f"  {line}")
    for result in results:
        for line in result.unstable:
            print(f"UNSTABLE {result.name}: {line}")
    passed = sum(result.passed for result in results)
    failed = sum(result.failed for result in results)
    skipped = sum(result.skipped for result in results)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0
