"""What -vv tells of a run: what is run, by which means, and why by these."""

from __future__ import annotations

import os
import time

from kernprof import report
from kernprof.options import COMMAND, MODULE, SCRIPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.options import Plan

_VARIABLE = "LINE_PROFILER_DEBUG"  # line_profiler's: as -vv, but for the table
_ON = frozenset(("1", "on", "true", "yes"))


class Log:
    """Lines on standard output, in the form that line_profiler gives them."""

    def __init__(self, plan: Plan) -> None:
        """Log what `plan` asks for, if it asks for a log."""
        asked = os.environ.get(_VARIABLE, "").lower() in _ON
        self._plan = plan
        self._on = plan.verbosity > 1 or asked

    def begin(self, means: str, outfile: str) -> None:
        """Tell what is about to run, recorded by these `means` into `outfile`."""
        if not self._on:
            return
        plan = self._plan
        kinds = {SCRIPT: "script", MODULE: "module", COMMAND: "code"}
        lines = [
            f"Loaded configs from {plan.config!r}" if plan.config else "No config file",
            f"Profiling {kinds.get(plan.kind, 'standard input')}: {plan.target!r}",
            means,
            f"Output destination: {outfile!r}",
        ]
        if plan.setup:
            lines.append(f"Executing file {plan.setup!r} as pre-profiling setup")
        if plan.prof_mod:
            lines.append(f"Profiling targets: {', '.join(plan.prof_mod)}")
        if plan.output_interval:
            lines.append(f"Writing the profile every {plan.output_interval} s")
        for line in lines:
            report.say(_stamped(line, "DEBUG"))

    def informed(self, text: str) -> str:
        """Return `text` as it is printed: with the time, where there is a log."""
        return _stamped(text, "INFO") if self._on else f"{text}\n"


def _stamped(text: str, level: str) -> str:
    now = time.time()
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    return f"[kernprof {stamp},{int(now * 1000) % 1000:03d} {level}] {text}\n"
