"""Results of test runs, and their report."""

from __future__ import annotations

import re
import threading
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tools.dev.envs import replay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PRINTING = threading.Lock()


@dataclass(frozen=True)
class Result:
    """Counts of one run of some tests."""

    name: str
    log: Path
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    reasons: tuple[str, ...] = ()  # one for each skipped test
    failures: tuple[str, ...] = ()  # a name and the head of the message of each


def say(line: str) -> None:
    """Print a line at once."""
    with PRINTING:
        print(line, flush=True)


def progress(log: Path) -> str:
    """Return the progress of the run of pytest that writes a log."""
    try:
        shares = re.findall(r"\[ *(\d+%)\]", log.read_text(errors="replace"))
    except OSError:
        shares = []
    return str(shares[-1]) if shares else "collecting tests"


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
            message = wrong.get("message", "").partition("\n")[0][:300]
            failures.append(f"{case.get('classname')}::{case.get('name')}: {message}")
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


def close(results: Sequence[Result]) -> int:
    """Print the reasons of skipped tests and the totals; return the exit status."""
    reasons = Counter(reason for result in results for reason in result.reasons)
    for reason, times in reasons.most_common():
        print(f"skipped {times} times: {reason}")
    for result in results:
        if result.failed:
            print(f"FAILED {result.name}; log: {result.log}")
            for failure in result.failures:
                print(f"  {failure}")
    passed = sum(result.passed for result in results)
    failed = sum(result.failed for result in results)
    skipped = sum(result.skipped for result in results)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0
