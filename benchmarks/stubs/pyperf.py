"""Stub of `pyperf`: runs a benchmark's jobs and writes down their processor time.

Environment: `BENCH_RUNS`, how often each job runs (default 1); `BENCH_RESULT`, the
file that the seconds are appended to. There is no warm-up, and one process.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

perf_counter = time.perf_counter


class Runner:
    """The methods of `pyperf.Runner` that the benchmarks call."""

    def __init__(self, *_args: object, **_options: object) -> None:
        """Start with an empty command line."""
        self.argparser = argparse.ArgumentParser()
        self.metadata: dict[str, object] = {}
        self.args: Any = None

    def parse_args(self, *_args: object) -> Any:  # noqa: ANN401 - a Namespace
        """Return the defaults."""
        if self.args is None:
            self.args = self.argparser.parse_args([])
        return self.args

    def bench_func(
        self, _name: str, job: Callable[..., object], *values: object, **_: object
    ) -> None:
        """Run a job."""
        self._run(lambda: job(*values))

    def bench_time_func(
        self, _name: str, job: Callable[..., object], *values: object, **_: object
    ) -> None:
        """Run a job that takes its number of loops."""
        self._run(lambda: job(1, *values))

    @staticmethod
    def _run(job: Callable[[], object]) -> None:
        start = time.process_time()
        for _ in range(int(os.environ.get("BENCH_RUNS", "1"))):
            job()
        spent = time.process_time() - start
        with Path(os.environ["BENCH_RESULT"]).open("a", encoding="ascii") as stream:
            stream.write(f"{spent}\n")
